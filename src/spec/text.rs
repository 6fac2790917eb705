//! The values of parameters, as text.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use core::fmt;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// A text. A file may also give it as a number or a boolean.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Word(pub(super) String);

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Words).map(Self)
    }
}

struct Words;

impl Visitor<'_> for Words {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a number")
    }

    fn visit_str<E>(self, text: &str) -> Result<String, E> {
        Ok(text.into())
    }

    fn visit_bool<E>(self, truth: bool) -> Result<String, E> {
        Ok(format!("{truth}"))
    }

    fn visit_i64<E>(self, number: i64) -> Result<String, E> {
        Ok(format!("{number}"))
    }

    fn visit_u64<E>(self, number: u64) -> Result<String, E> {
        Ok(format!("{number}"))
    }

    fn visit_f64<E>(self, number: f64) -> Result<String, E> {
        Ok(format!("{number}"))
    }
}

/// Names and values. A repeated name is refused: JSON parsers differ in which value they keep.
#[derive(Debug, Default, Serialize)]
pub(super) struct Values(pub(super) BTreeMap<String, Word>);

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Map).map(Self)
    }
}

struct Map;

impl<'de> Visitor<'de> for Map {
    type Value = BTreeMap<String, Word>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("names with values")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut values = BTreeMap::new();
        while let Some((name, value)) = entries.next_entry::<String, Word>()? {
            if values.contains_key(&name) {
                return Err(A::Error::custom(format_args!("{name:?} is given twice")));
            }
            values.insert(name, value);
        }
        Ok(values)
    }
}
