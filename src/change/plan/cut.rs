//! Cuts the keys into pieces. All keys of a piece have the same old and the same new list.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::Replicas;
use crate::change::Flows;
use crate::change::diff::sample;
use crate::change::union::Union;
use crate::hash::mix64;
use crate::space::{HashRanges, HashSpace, overlay};
use crate::{KeyHash, Node, NodeId, NodeList, Router, RouterExt};

/// The number that decides in which piece a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// The position of the hash of the key, which both routers share.
    Positions,
    /// The hash mixed once more. It is independent of the owners, so any range of it is a fair
    /// sample of all keys.
    Mixed,
    /// A separate hash of the key, because the routers use different hash functions.
    Bytes,
}

impl Cut {
    /// Returns the position of a key hash; `None` if the routers use different hash functions.
    #[inline]
    pub(super) fn position_of_hash(self, space: HashSpace, hash: KeyHash) -> Option<u64> {
        match self {
            Self::Positions => space.position(hash),
            Self::Mixed => Some(mix64(hash.get())),
            Self::Bytes => None,
        }
    }

    /// Returns the position of a key.
    #[inline]
    pub(super) fn position(self, space: HashSpace, old: &dyn Router, key: &[u8]) -> Option<u64> {
        match self {
            Self::Bytes => Some(KeyHash::from_bytes(key).get()),
            _ => self.position_of_hash(space, old.hash_key(key)?),
        }
    }
}

/// A run of positions of one kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) kind: u32,
}

/// What happens to the keys of a piece. All amounts are parts of [`Division::whole`].
#[derive(Clone, Debug, Default)]
pub(super) struct Kind {
    /// The keys with a list that changes.
    pub(super) moved: u128,
    /// The copies from node to node.
    pub(super) transfers: Vec<([NodeId; 2], u128)>,
    pub(super) deletes: Vec<(NodeId, u128)>,
    /// What each node takes in, and what it sends.
    pub(super) loads: [Vec<(NodeId, u128)>; 2],
}

#[derive(Debug)]
pub(super) struct Division {
    pub(super) cut: Cut,
    pub(super) space: HashSpace,
    /// Denominator of all fractions: 1 if exact, otherwise the sample size.
    pub(super) whole: u128,
    pub(super) kinds: Vec<Kind>,
    pub(super) pieces: Vec<Piece>,
}

/// The size of the sample for routers without common ranges. Estimated shares are within 1 % of all
/// keys in 99 of 100 cases.
const SAMPLE: u64 = 1 << 14;

impl Division {
    pub(super) fn new(
        members: &Union,
        routers: [&dyn Router; 2],
        replicas: Replicas,
        identities: [u64; 2],
    ) -> Self {
        let [old, new] = routers;
        let alike = old.hash_id() == new.hash_id();
        if let (true, Some(from), Some(to)) = (alike, old.ranges(), new.ranges()) {
            if let Some(pieces) = exact(members, routers, replicas, [&from, &to]) {
                return pieces;
            }
        }
        let mut division = Self {
            cut: if alike { Cut::Mixed } else { Cut::Bytes },
            ..estimated(members, routers, replicas)
        };
        // A sample in which nothing moves does not prove that nothing moves. Only equal routers, by
        // their identities, need no step.
        let moves = division.kinds.iter().any(|kind| kind.moved > 0);
        if !moves && alike && identities[0] == identities[1] {
            division.pieces.clear();
        }
        division
    }
}

/// Divides by ranges, if these determine the whole list of a key.
fn exact(
    members: &Union,
    routers: [&dyn Router; 2],
    replicas: Replicas,
    ranges: [&HashRanges; 2],
) -> Option<Division> {
    let [from, to] = ranges;
    if replicas.n > 1 && !(from.has_lists() && to.has_lists()) {
        return None;
    }
    // There are few kinds of change and many ranges, so equal pairs of lists share a kind.
    let mut known: BTreeMap<[NodeList; 2], u32> = BTreeMap::new();
    let (mut kinds, mut pieces) = (Vec::new(), Vec::<Piece>::new());
    let space = overlay(from, to, |first, last, owners| {
        let lists = if replicas.n == 1 {
            members.pair(owners).map(|id| id.into_iter().collect())
        } else {
            // All hashes of a range have one list, so its first hash gives it. A gap, a range
            // without an owner, has no replicas, although a walk from it would find nodes.
            [0, 1].map(|side| match owners[side] {
                Some(_) => list(members, routers, side, KeyHash::from_raw(first), replicas),
                None => NodeList::new(),
            })
        };
        if lists[0] == lists[1] {
            return;
        }
        let kind = *known.entry(lists).or_insert_with_key(|lists| {
            let mut tally = Tally::default();
            tally.add(members, lists);
            kinds.push(tally.kind());
            u32::try_from(kinds.len() - 1).unwrap_or(u32::MAX) // fewer than ranges
        });
        match pieces.last_mut() {
            Some(piece) if piece.kind == kind && piece.last + 1 == first => piece.last = last,
            _ => pieces.push(Piece { first, last, kind }),
        }
    })?;
    Some(Division {
        cut: Cut::Positions,
        space,
        whole: 1,
        kinds,
        pieces,
    })
}

/// Makes one piece of all keys. A sample estimates what happens in any part of it.
fn estimated(members: &Union, routers: [&dyn Router; 2], replicas: Replicas) -> Division {
    let mut tally = Tally::default();
    for key in sample(SAMPLE) {
        tally.add(members, &lists(members, routers, key.as_bytes(), replicas));
    }
    let kind = tally.kind();
    let all = Piece {
        first: 0,
        last: u64::MAX,
        kind: 0,
    };
    Division {
        cut: Cut::Mixed,
        space: HashSpace::CIRCLE,
        whole: SAMPLE.into(),
        pieces: [all].into(),
        kinds: [kind].into(),
    }
}

/// Returns the lists of a key in the old and in the new router; empty if the key has no owner.
pub(super) fn lists(
    members: &Union,
    routers: [&dyn Router; 2],
    key: &[u8],
    replicas: Replicas,
) -> [NodeList; 2] {
    [0, 1].map(|side| {
        let router = routers[side];
        let hash = router.hash_key(key);
        match hash.filter(|hash| router.route_hash(*hash).is_some()) {
            Some(hash) => list(members, routers, side, hash, replicas),
            None => NodeList::new(),
        }
    })
}

pub(super) fn list(
    members: &Union,
    routers: [&dyn Router; 2],
    side: usize,
    hash: KeyHash,
    replicas: Replicas,
) -> NodeList {
    let list = routers[side].replicas_hash(hash, replicas.n, replicas.spread);
    let ids = list.into_iter();
    ids.filter_map(|id| members.id(side, id)).collect()
}

/// Returns the copies of a key: each new replica gets it from the nearest old one.
pub(super) fn transfers<'a>(
    members: &'a Union,
    [old, new]: &'a [NodeList; 2],
) -> impl Iterator<Item = [NodeId; 2]> + 'a {
    let joins = new.iter().filter(|id| !old.contains(id));
    joins.filter_map(move |&to| {
        // At equal distance the first in order of preference, which is the most likely to have it.
        let from = old.iter().min_by_key(|&&from| distance(members, from, to));
        from.map(|&from| [from, to])
    })
}

/// Returns the nodes that no longer need a key after its move. None if no new node holds it, since
/// deleting it would lose it.
pub(super) fn deletes([old, new]: &[NodeList; 2]) -> impl Iterator<Item = NodeId> + '_ {
    let leave = old.iter().filter(|id| !new.contains(id));
    leave.filter(|_| !new.is_empty()).copied()
}

/// Returns 0 in the same rack, 1 in the same zone, 2 otherwise.
fn distance(members: &Union, a: NodeId, b: NodeId) -> u8 {
    let node = |id| members.nodes().get(id);
    let same = |of: fn(&Node) -> Option<&str>| node(a).and_then(of) == node(b).and_then(of);
    match (same(Node::zone), same(Node::rack)) {
        (true, true) => 0,
        (true, false) => 1,
        (false, _) => 2,
    }
}

/// Counts keys by what happens to them.
#[derive(Default)]
struct Tally {
    moved: u128,
    transfers: Flows<u128>,
    deletes: BTreeMap<NodeId, u128>,
}

impl Tally {
    fn add(&mut self, members: &Union, lists: &[NodeList; 2]) {
        self.moved += u128::from(lists[0] != lists[1]);
        for pair in transfers(members, lists) {
            self.transfers.add(pair.map(Some), 1);
        }
        for id in deletes(lists) {
            *self.deletes.entry(id).or_default() += 1;
        }
    }

    fn kind(self) -> Kind {
        let transfers = self.transfers.by_name().into_iter();
        let transfers = transfers.filter_map(|(pair, count)| Some(([pair[0]?, pair[1]?], count)));
        let transfers: Vec<_> = transfers.collect();
        // The second node of a pair takes in, the first one sends.
        let loads = [1, 0].map(|side| {
            let mut loads: BTreeMap<NodeId, u128> = BTreeMap::new();
            for (pair, count) in &transfers {
                *loads.entry(pair[side]).or_default() += count;
            }
            loads.into_iter().collect()
        });
        Kind {
            moved: self.moved,
            transfers,
            deletes: self.deletes.into_iter().collect(),
            loads,
        }
    }
}
