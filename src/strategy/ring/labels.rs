//! Where a ring's points come from.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use md5::{Digest, Md5};

use crate::Node;
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
    /// How many points a node has.
    pub(super) fn count(&self, node: &Node) -> u64 {
        match self {
            Self::Drawn { points } | Self::Tutorial { points } => {
                u64::from(*points) * u64::from(node.weight())
            }
            Self::Tokens(_) if node.weight() == 0 => 0,
            Self::Tokens(by_name) => by_name
                .get(node.name())
                .map_or(0, |tokens| tokens.len() as u64),
        }
    }

    /// Its points, in no order.
    pub(super) fn points<'a>(&'a self, node: &'a Node) -> Box<dyn Iterator<Item = u64> + 'a> {
        let count = self.count(node);
        match self {
            Self::Drawn { .. } => {
                let seed = seed(node);
                Box::new((0..count).map(move |index| draw(seed, index)))
            }
            Self::Tutorial { .. } => Box::new((0..count).map(|index| {
                let digest = Md5::digest(alloc::format!("{}#{index}", node.name()));
                digest[..8]
                    .iter()
                    .fold(0, |point, &byte| point << 8 | u64::from(byte))
            })),
            Self::Tokens(by_name) => {
                let tokens = by_name.get(node.name()).filter(|_| count > 0);
                Box::new(tokens.into_iter().flatten().copied())
            }
        }
    }
}
