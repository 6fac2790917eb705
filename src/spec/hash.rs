//! The key hash of a spec, as text.

use alloc::format;
use alloc::string::{String, ToString};

use serde::{Deserialize, Serialize};

use super::text::Word;
use crate::hash::Secret;
use crate::{Error, HashFunction, HashTag, KeyHasher, Refusal};

/// The key hash: the function, and the seed or the key if the function takes one.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Hash {
    pub(super) function: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seed: Option<Word>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<Word>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tag: Option<String>,
}

impl From<&KeyHasher> for Hash {
    fn from(hasher: &KeyHasher) -> Self {
        let [low, high] = hasher.secret();
        let secret = hasher.function().secret();
        let seeded = matches!(secret, Secret::Seed32 | Secret::Seed64);
        let key = u128::from(low) | u128::from(high) << 64;
        Self {
            function: hasher.function().to_string(),
            seed: seeded.then(|| Word(low.to_string())),
            key: (secret == Secret::Key128).then(|| Word(format!("{:032x}", key.swap_bytes()))),
            tag: hasher.tag().map(tag_text),
        }
    }
}

impl Hash {
    /// Builds the hash with the secret key replaced by its hash of the empty key: two specs can be
    /// compared without revealing the key.
    pub(super) fn veiled(hasher: &KeyHasher) -> Self {
        let whole = KeyHasher::raw(hasher, b"").get();
        let hash = Self::from(hasher);
        Self {
            key: hash.key.map(|_| Word(format!("{whole:016x}"))),
            ..hash
        }
    }

    pub(super) fn hasher(&self) -> Result<KeyHasher, Error> {
        let function: HashFunction = self.function.parse()?;
        let mut hasher = KeyHasher::new(function);
        if let Some(Word(text)) = &self.seed {
            hasher = hasher.with_seed(seed(text)?)?;
        }
        match &self.key {
            Some(Word(text)) => hasher = hasher.with_key(key(text)?)?,
            None if function.secret() == Secret::Key128 => {
                return Err(Error::Unsupported {
                    what: Refusal::HashWithoutKey,
                    advice: "add `key` to `function`: 32 hexadecimal digits, which are 16 bytes",
                });
            }
            None => {}
        }
        match &self.tag {
            Some(text) => Ok(hasher.with_tag(tag(text)?)),
            None => Ok(hasher),
        }
    }
}

fn seed(text: &str) -> Result<u64, Error> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| Error::parameter("seed", text, "a whole number below 2^64, or 0x..."))
}

fn key(text: &str) -> Result<[u8; 16], Error> {
    let is_hex = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = u128::from_str_radix(text, 16).ok().filter(|_| is_hex);
    number.map(u128::to_be_bytes).ok_or_else(wrong_key)
}

/// Builds the error for a malformed key. It does not show the key, which may be almost correct, and
/// errors end up in logs.
fn wrong_key() -> Error {
    Error::parameter("key", "..", "32 hexadecimal digits, which are 16 bytes")
}

/// Writes the two bytes of a tag as text, or in hexadecimal digits if they are not UTF-8.
fn tag_text(tag: HashTag) -> String {
    let pair = tag.pair();
    match core::str::from_utf8(&pair) {
        Ok(text) => text.into(),
        Err(_) => format!("hex:{:02x}{:02x}", pair[0], pair[1]),
    }
}

fn tag(text: &str) -> Result<HashTag, Error> {
    let digits = text.strip_prefix("hex:").filter(|digits| digits.len() == 4);
    match digits.and_then(|digits| u16::from_str_radix(digits, 16).ok()) {
        Some(pair) => {
            let [open, close] = pair.to_be_bytes();
            Ok(HashTag::new(open, close))
        }
        None => text.parse(),
    }
}
