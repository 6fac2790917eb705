//! Where a ring's points come from.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;

use md5::{Digest, Md5};

use crate::strategy::{draw, seed};

/// Where a node's points come from.
#[derive(Clone, Debug)]
pub(super) enum Labels {
    /// A sequence seeded by the hash of the name.
    Drawn { points: u32 },
    /// MD5 of "name#i"; the owner of a hash is the first point beyond it.
    Tutorial { points: u32 },
    /// Given, by name.
    Tokens(BTreeMap<Box<str>, Vec<u64>>),
}

impl Labels {
    /// How many points a node of this weight has.
    pub(super) fn count(&self, name: &str, weight: u32) -> u64 {
        match self {
            Self::Drawn { points } | Self::Tutorial { points } => {
                u64::from(*points) * u64::from(weight)
            }
            Self::Tokens(_) if weight == 0 => 0,
            Self::Tokens(by_name) => by_name.get(name).map_or(0, |tokens| tokens.len() as u64),
        }
    }

    /// A part of its sequence of points, in no order.
    pub(super) fn each(&self, name: &str, range: Range<u64>, mut point: impl FnMut(u64)) {
        match self {
            Self::Drawn { .. } => {
                let seed = seed(name);
                range.for_each(|index| point(draw(seed, index)));
            }
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
