//! The labels of a ring: they determine the points of each node.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;

#[cfg(feature = "md5")]
use md5::{Digest, Md5};

use crate::strategy::{draw, seed};

/// The source of the points of a node.
#[derive(Clone, Debug)]
pub(super) enum Labels {
    /// A sequence of numbers, seeded with the hash of the name.
    Drawn { points: u32 },
    /// MD5 of "name#i". The owner of a hash is the first point strictly after it.
    #[cfg(feature = "md5")]
    Tutorial { points: u32 },
    /// Explicit tokens, by name of the node.
    Tokens(BTreeMap<Box<str>, Vec<u64>>),
}

impl Labels {
    /// Returns the number of points for each unit of weight; `None` for explicit tokens.
    pub(super) fn per_weight(&self) -> Option<u32> {
        match self {
            Self::Drawn { points } => Some(*points),
            #[cfg(feature = "md5")]
            Self::Tutorial { points } => Some(*points),
            Self::Tokens(_) => None,
        }
    }

    /// Returns true if a point excludes its own hash: the owner of a hash is then the first point
    /// strictly after it.
    #[inline]
    pub(super) fn beyond(&self) -> bool {
        match self {
            #[cfg(feature = "md5")]
            Self::Tutorial { .. } => true,
            Self::Drawn { .. } | Self::Tokens(_) => false,
        }
    }

    /// Returns the number of points of a node of this weight.
    pub(super) fn count(&self, name: &str, weight: u32) -> u64 {
        match (self, self.per_weight()) {
            (_, Some(points)) => u64::from(points) * u64::from(weight),
            (Self::Tokens(by_name), _) if weight > 0 => {
                by_name.get(name).map_or(0, |tokens| tokens.len() as u64)
            }
            _ => 0,
        }
    }

    /// Calls `point` for a range of a node's sequence of points, which is not sorted. The sequence
    /// depends on the name alone.
    pub(super) fn each(&self, name: &str, range: Range<u64>, mut point: impl FnMut(u64)) {
        match self {
            Self::Drawn { .. } => {
                let seed = seed(name);
                range.for_each(|index| point(draw(seed, index)));
            }
            #[cfg(feature = "md5")]
            Self::Tutorial { .. } => range.for_each(|index| {
                let digest = Md5::digest(alloc::format!("{name}#{index}"));
                point(
                    digest[..8]
                        .iter()
                        .fold(0, |point, &byte| point << 8 | u64::from(byte)),
                );
            }),
            Self::Tokens(by_name) => {
                let tokens = by_name.get(name).filter(|_| !range.is_empty());
                tokens.into_iter().flatten().copied().for_each(point);
            }
        }
    }
}
