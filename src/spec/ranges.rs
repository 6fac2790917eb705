//! The slots of a node, as text: `0-5460,5470`.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::ops::{Deref, RangeInclusive};
use core::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Error, NodeId};

/// Ranges of slots, both ends included.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct Ranges(Vec<RangeInclusive<u32>>);

/// What each of the nodes `ids` owns, given the owner of every slot from 0.
pub(super) fn of_owners(
    ids: impl Iterator<Item = NodeId>,
    owners: impl Iterator<Item = Option<NodeId>>,
) -> Vec<Ranges> {
    let mut owned: Vec<(NodeId, Ranges)> = ids.map(|id| (id, Ranges::default())).collect();
    let places: Vec<_> = owned.iter().map(|(id, _)| id.index()).collect();
    let mut by_index = vec![None; places.iter().max().map_or(0, |last| last + 1)];
    for (place, index) in places.into_iter().enumerate() {
        by_index[index] = Some(place);
    }
    for (slot, owner) in (0..).zip(owners) {
        let place = owner.and_then(|id| *by_index.get(id.index())?);
        if let Some(place) = place {
            owned[place].1.push(slot);
        }
    }
    owned.into_iter().map(|(_, ranges)| ranges).collect()
}

impl Ranges {
    /// One more slot, after all others.
    fn push(&mut self, slot: u32) {
        match self.0.last_mut() {
            Some(range) if range.end().checked_add(1) == Some(slot) => {
                *range = *range.start()..=slot;
            }
            _ => self.0.push(slot..=slot),
        }
    }
}

impl Deref for Ranges {
    type Target = [RangeInclusive<u32>];

    fn deref(&self) -> &Self::Target {
        &self.0
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
        let range = |part: &str| {
            let (start, end) = part.split_once('-').unwrap_or((part, part));
            let range = start.parse().ok()?..=end.parse().ok()?;
            (!range.is_empty()).then_some(range)
        };
        let wrong = |part| Error::parameter("slots", part, "slots and ranges, such as 0-99,105");
        let parts = text.split(',').filter(|_| !text.is_empty());
        let ranges = parts.map(|part| range(part.trim()).ok_or_else(|| wrong(part)));
        ranges.collect::<Result<_, _>>().map(Self)
    }
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
    fn text_and_back() -> Result<(), Error> {
        for text in ["", "0", "0-5", "0-5,7,9-10", "4294967295"] {
            assert_eq!(text.parse::<Ranges>()?.to_string(), text);
        }
        for text in [",", "5-4", "-1", "1-", "1-2-3", "a", "4294967296", "1;2"] {
            let error = text.parse::<Ranges>().expect_err(text).to_string();
            assert!(error.contains("0-99,105"), "{error}");
        }
        Ok(())
    }
}
