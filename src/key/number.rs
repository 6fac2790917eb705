//! Key hashes for serde: hexadecimal text in text formats, a number in binary formats.

use alloc::string::String;

use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::KeyHash;

impl Serialize for KeyHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            serializer.serialize_u64(self.0)
        }
    }
}

impl<'de> Deserialize<'de> for KeyHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return u64::deserialize(deserializer).map(Self);
        }
        let text = String::deserialize(deserializer)?;
        let is_hex = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let value = u64::from_str_radix(&text, 16);
        value.ok().filter(|_| is_hex).map(Self).ok_or_else(|| {
            let found = Unexpected::Str(&text);
            D::Error::invalid_value(found, &"a key hash: 16 hexadecimal digits")
        })
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn json_keeps_every_digit() -> Result<(), serde_json::Error> {
        for value in [0, 0xbeef, (1 << 53) + 1, u64::MAX] {
            let hash = KeyHash::from_raw(value);
            let text = serde_json::to_string(&hash)?;
            assert_eq!(text.len(), 18, "{text}");
            assert_eq!(serde_json::from_str::<KeyHash>(&text)?, hash);
        }
        for wrong in ["1", "\"beef\"", "\"+00000000000beef\"", "\"\"", "null"] {
            assert!(serde_json::from_str::<KeyHash>(wrong).is_err(), "{wrong}");
        }
        let wrong = serde_json::from_str::<KeyHash>("\"beef\"").map_err(|error| error.to_string());
        let wrong = wrong.expect_err("4 digits");
        assert!(
            wrong.contains("expected a key hash: 16 hexadecimal digits"),
            "{wrong}"
        );
        Ok(())
    }
}
