//! The keys and the nodes, the same for all.

use std::fmt::Write;
use std::net::{Ipv4Addr, SocketAddr};

use hashroute::{Change, KeyHash, Node};

use crate::measure::Op;

/// Sizes that the goals name.
pub(crate) const SIZES: [usize; 4] = [10, 100, 1_000, 10_000];

const KEYS: u64 = 1_000_000;

/// 16 characters each, in one block as a log or a request has them.
pub(crate) fn keys() -> Vec<&'static str> {
    texts(KEYS, 16, |text, i| {
        write!(text, "{:016x}", KeyHash::from_integer(i).get())
    })
}

/// 16 characters, of which a Redis hash tag takes 9.
pub(crate) fn tagged_keys() -> Vec<&'static str> {
    texts(KEYS, 16, |text, i| {
        let tag = KeyHash::from_integer(i).get() & 0xfff_ffff;
        write!(text, "{{{tag:07x}}}:{:06}", i % 1_000_000)
    })
}

/// Addresses, since one of the peers knows no other names.
pub(crate) fn names(count: usize) -> Vec<&'static str> {
    let names = (0..count).map(|i| address(i).to_string().leak() as &str);
    names.collect()
}

pub(crate) fn address(i: usize) -> SocketAddr {
    let host = Ipv4Addr::from(0x0a00_0000 + u32::try_from(i).unwrap_or(u32::MAX));
    SocketAddr::from((host, 6379))
}

pub(crate) fn nodes(names: &[&str]) -> Vec<Node> {
    names.iter().copied().map(Node::new).collect()
}

/// How a node leaves and comes back.
pub(crate) struct Changes {
    add: Change,
    remove: Change,
}

impl Changes {
    pub(crate) fn of(&self, op: Op) -> &Change {
        match op {
            Op::Add => &self.add,
            Op::Remove => &self.remove,
        }
    }
}

pub(crate) fn changes(names: &[&'static str]) -> Vec<Changes> {
    let change = |&name| Changes {
        add: Change::Add(Node::new(name)),
        remove: Change::remove(name),
    };
    names.iter().map(change).collect()
}

/// Weights 1 to 4 in turn.
pub(crate) fn weight(i: usize) -> u32 {
    [1, 2, 3, 4][i % 4]
}

pub(crate) fn weighted_nodes(names: &[&str]) -> Vec<Node> {
    let weighted = |(i, node): (usize, Node)| node.with_weight(weight(i));
    nodes(names).into_iter().enumerate().map(weighted).collect()
}

fn texts(
    count: u64,
    width: usize,
    write: impl Fn(&mut String, u64) -> std::fmt::Result,
) -> Vec<&'static str> {
    let mut all = String::new();
    for i in 0..count {
        write(&mut all, i).expect("a string takes all that is written");
    }
    let all: &'static str = all.leak();
    let starts = (0..all.len()).step_by(width);
    starts.map(|start| &all[start..start + width]).collect()
}
