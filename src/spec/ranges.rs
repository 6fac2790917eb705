//! The slots of a node, as text: `0-5460,5470`.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::RangeInclusive;
use core::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Error, HashSlots};

/// Ranges of slots, both ends included.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct Ranges(Vec<RangeInclusive<u32>>);

impl From<Vec<RangeInclusive<u32>>> for Ranges {
    fn from(ranges: Vec<RangeInclusive<u32>>) -> Self {
        Self(ranges)
    }
}

impl From<Ranges> for Vec<RangeInclusive<u32>> {
    fn from(ranges: Ranges) -> Self {
        ranges.0
    }
}

impl fmt::Display for Ranges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, range) in self.0.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            match (range.start(), range.end()) {
                (start, end) if start == end => write!(f, "{comma}{start}")?,
                (start, end) => write!(f, "{comma}{start}-{end}")?,
            }
        }
        Ok(())
    }
}

impl From<Ranges> for String {
    fn from(ranges: Ranges) -> Self {
        format!("{ranges}")
    }
}

impl FromStr for Ranges {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let parts = text.split(',').filter(|_| !text.is_empty());
        let ranges = parts.map(|part| range(part.trim()));
        ranges.collect::<Result<_, _>>().map(Self)
    }
}

fn range(part: &str) -> Result<RangeInclusive<u32>, Error> {
    let wrong = |expected: String| Error::parameter("slots", part, expected);
    let is_number = |end: &str| !end.is_empty() && end.bytes().all(|byte| byte.is_ascii_digit());
    let (start, end) = part.split_once('-').unwrap_or((part, part));
    if !is_number(start) || !is_number(end) {
        return Err(wrong("slots and ranges, such as 0-99,105".into()));
    }
    let (Ok(first), Ok(last)) = (start.parse(), end.parse()) else {
        let last = HashSlots::DEFAULT_SLOTS - 1;
        return Err(wrong(format!(
            "no slot after the last of the table, {last} unless `params` sets another"
        )));
    };
    if first > last {
        return Err(wrong(format!("the lower slot first: {last}-{first}")));
    }
    Ok(first..=last)
}

impl TryFrom<String> for Ranges {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn ranges_are_read_and_written_alike() -> Result<(), Error> {
        for text in ["", "0", "0-5", "0-5,7,9-10", "4294967295"] {
            assert_eq!(text.parse::<Ranges>()?.to_string(), text);
        }
        for text in [
            ",",
            "5-4",
            "-1",
            "1-",
            "1-2-3",
            "a",
            "4294967296",
            "1;2",
            "+1",
        ] {
            let error = text.parse::<Ranges>().expect_err(text).to_string();
            let expected = match text {
                "5-4" => "the lower slot first: 4-5",
                "4294967296" => "no slot after the last of the table, 16383",
                _ => "0-99,105",
            };
            assert!(error.contains(expected), "{error}");
        }
        Ok(())
    }
}
