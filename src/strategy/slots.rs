//! Fixed hash slots, for sharding: the slot of a key never changes, and slots move between nodes
//! (Redis Cluster, Riak, Cassandra's tablets).
//!
//! | lookup | memory | change |
//! |---|---|---|
//! | O(1), one read | 4 B a slot | O(slots + n log n), moves the fewest slots |
//!
//! Peers must share the table, because the owners of slots depend on all changes so far.
//!
//! Every node has a quota of slots, by the method of largest remainder. A node gets the whole part
//! of slots x weight / total. The slots that are left go to the nodes with the largest fractions;
//! at ties to the node that owns the most slots beyond its whole part, then to the first name.
//! Every node with weight gets at least one slot, from the node with the most slots (at ties, the
//! first name). A change moves slots only from nodes above their quota to nodes below it. The
//! remainders depend on the total weight, so a change can also move slots between two other nodes:
//! fewer than one slot for each node.

use alloc::boxed::Box;
use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::fmt;
use core::ops::{Range, RangeInclusive};

use crate::digest::Digest;
use crate::registry::{Agree, Caps, Excess, Param, Params, Scheme, TableForm};
use crate::{
    Change, Error, Explanation, HashId, HashRanges, KeyHash, KeyHasher, Limit, Node, NodeId, Nodes,
    Router,
};

pub(super) const STRATEGY: Scheme = Scheme::strategy(
    "slots",
    "fixed hash slots with a table of owners: the fewest moves, and slots can be moved by hand",
    Caps::SET
        .with_agree(Agree::Table)
        .with_excess(Excess::AtMost(|nodes| {
            nodes as f64 / HashSlots::DEFAULT_SLOTS as f64
        })),
    |nodes, params| {
        let slots = slots_of(params)?;
        Ok(Box::new(
            HashSlots::with_slots(nodes, slots)?.with_hasher(params.hasher()),
        ))
    },
)
.with_params(&[Param::new(
    "slots",
    "16384",
    "number of slots, which never changes",
)])
.with_table(TableForm::new("slots", owners_of, restore));

/// Returns the number of slots. Refuses more slots than the hash function has values: the owners of
/// the others would get no key.
fn slots_of(params: &Params) -> Result<u32, Error> {
    let slots: u32 = params.get("slots", HashSlots::DEFAULT_SLOTS)?;
    let function = params.hasher().function();
    let values = 1_u64 << function.bits().min(63);
    if u64::from(slots) <= values {
        return Ok(slots);
    }
    let expected = alloc::format!("at most {values}, the number of values of {function}");
    Err(Error::parameter("slots", slots, expected))
}

/// Returns the owner of each slot: the owner of slot i is the owner of the hash i.
fn owners_of(router: &dyn Router, params: &Params) -> Result<Vec<Option<NodeId>>, Error> {
    let slots = slots_of(params)?;
    let owner = |slot: u32| router.route_hash(KeyHash::from_raw(slot.into()));
    Ok((0..slots).map(owner).collect())
}

fn restore(
    nodes: Vec<Node>,
    params: &Params,
    ranges: &[(RangeInclusive<u32>, &str)],
) -> Result<Box<dyn Router>, Error> {
    let slots = slots_of(params)?;
    let table = HashSlots::from_ranges(nodes, slots, ranges.iter().cloned())?;
    Ok(Box::new(table.with_hasher(params.hasher())))
}

/// A fixed number of slots and a table of their owners, for sharding.
///
/// The slot of a key is its hash modulo the number of slots. The hash is not mixed further, so with
/// [`KeyHasher::REDIS`] the slots are those of Redis Cluster.
///
/// ```
/// use hashroute::{HashSlots, KeyHasher, Node, Router};
///
/// let table = HashSlots::new(["a", "b", "c"].map(Node::new))?.with_hasher(KeyHasher::REDIS);
/// assert_eq!(table.slot(b"{user1000}.following"), table.slot(b"{user1000}.followers"));
/// assert_eq!(table.slot(b"foo"), 12_182);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone)]
pub struct HashSlots {
    nodes: Nodes,
    hasher: KeyHasher,
    owners: Vec<Option<NodeId>>,
}

impl fmt::Debug for HashSlots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            nodes,
            hasher,
            owners,
        } = self;
        f.debug_struct("HashSlots")
            .field("nodes", nodes)
            .field("hasher", hasher)
            .field("owners", &Digest(owners.len(), owners))
            .finish()
    }
}

impl HashSlots {
    /// The default number of slots, that of Redis Cluster.
    pub const DEFAULT_SLOTS: u32 = 16_384;

    /// The largest number of slots, which take 256 MiB.
    pub const MAX_SLOTS: u32 = 1 << 26;

    /// Builds a table of [`DEFAULT_SLOTS`](Self::DEFAULT_SLOTS) slots, in one contiguous range for
    /// each node, in order of name.
    ///
    /// # Errors
    /// The errors of [`with_slots`](Self::with_slots).
    ///
    /// ```
    /// # use hashroute::{HashSlots, Router};
    /// let table = HashSlots::new(["a", "b", "c"])?;
    /// let name = |slot| table.nodes().name(table.owner(slot)?);
    /// assert_eq!([name(0), name(5461), name(5462), name(16_383)], [Some("a"), Some("a"), Some("b"), Some("c")]);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn new(nodes: impl IntoIterator<Item = impl Into<Node>>) -> Result<Self, Error> {
        Self::with_slots(nodes, Self::DEFAULT_SLOTS)
    }

    /// Builds a table of `slots` slots. The number cannot change later.
    ///
    /// # Errors
    /// The errors of [`Nodes::new`]; [`Error::Parameter`] for 0 slots; [`Error::Capacity`] above
    /// [`MAX_SLOTS`](Self::MAX_SLOTS) or for more nodes with weight than slots.
    ///
    /// ```
    /// # use hashroute::{HashSlots, Node};
    /// assert!(HashSlots::with_slots(["a", "b"].map(Node::new), 1).is_err());
    /// ```
    pub fn with_slots(
        nodes: impl IntoIterator<Item = impl Into<Node>>,
        slots: u32,
    ) -> Result<Self, Error> {
        check_slots(slots)?;
        let nodes = Nodes::sorted(nodes)?;
        check_room(&nodes, slots as usize)?;
        let mut table = Self {
            nodes,
            hasher: KeyHasher::default(),
            owners: vec![None; slots as usize],
        };
        table.rebalance();
        Ok(table)
    }

    /// Builds a table from ranges of slots, each with the name of its owner. A slot that is in no
    /// range has no owner.
    ///
    /// # Errors
    /// The errors of [`with_slots`](Self::with_slots) and [`assign`](Self::assign);
    /// [`Error::Parameter`] for ranges that overlap.
    ///
    /// ```
    /// # use hashroute::{HashSlots, Node};
    /// let ranges = [(0..=9, "b"), (20..=99, "a")];
    /// let table = HashSlots::from_ranges(["a", "b"].map(Node::new), 100, ranges)?;
    /// assert!(table.owner(9).is_some() && table.owner(10).is_none());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn from_ranges<'a>(
        nodes: impl IntoIterator<Item = impl Into<Node>>,
        slots: u32,
        ranges: impl IntoIterator<Item = (RangeInclusive<u32>, &'a str)>,
    ) -> Result<Self, Error> {
        check_slots(slots)?;
        let nodes = Nodes::sorted(nodes)?;
        let owners = vec![None; slots as usize];
        let mut table = Self::from_owners(nodes, KeyHasher::default(), owners)?;
        for (range, name) in ranges {
            let wrong = |expected: &str| {
                let value = alloc::format!("{}-{}", range.start(), range.end());
                Error::parameter("slots", value, expected)
            };
            if *range.end() >= slots {
                return Err(wrong(&alloc::format!("slots from 0 to {}", slots - 1)));
            }
            let taken = |slot| table.owner(slot).is_some();
            if range.clone().any(taken) {
                return Err(wrong("slots that no other range has"));
            }
            table.assign(*range.start()..*range.end() + 1, name)?;
        }
        Ok(table)
    }

    /// Sets the hash function for keys. The table stays as it is. A slot gets no keys if its number
    /// is above all values of the function, and more keys than others if the number of values is no
    /// multiple of the number of slots; [`ranges`](Router::ranges) gives the exact shares.
    #[must_use]
    pub fn with_hasher(mut self, hasher: KeyHasher) -> Self {
        self.hasher = hasher;
        self
    }

    /// Returns the slot of a key. The slot may have no owner.
    ///
    /// ```
    /// # use hashroute::{HashSlots, KeyHasher};
    /// let table = HashSlots::new(["a"])?.with_hasher(KeyHasher::REDIS);
    /// assert_eq!((table.slot(b""), table.slot(b"bar")), (0, 5061));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn slot(&self, key: &[u8]) -> u32 {
        u32::try_from(self.slot_of(self.hasher.raw(key))).unwrap_or(u32::MAX) // at most 2^26
    }

    /// Returns the owner of a slot; `None` for a slot that has no owner or does not exist.
    pub fn owner(&self, slot: u32) -> Option<NodeId> {
        *self.owners.get(slot as usize)?
    }

    /// Assigns slots to a node by hand, regardless of its quota. The next change of the members
    /// moves slots from nodes above their quota to nodes below it, as always.
    ///
    /// # Errors
    /// [`Error::UnknownNode`]; [`Error::Weight`] for a node of weight 0; [`Error::Parameter`]
    /// for slots that do not exist.
    ///
    /// ```
    /// # use hashroute::{HashSlots, Node, Router};
    /// let mut table = HashSlots::new(["a", "b"].map(Node::new))?;
    /// table.assign(0..100, "b")?;
    /// assert_eq!(table.owner(99), table.nodes().id("b"));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn assign(&mut self, slots: Range<u32>, name: &str) -> Result<(), Error> {
        let id = self
            .nodes
            .id(name)
            .ok_or_else(|| Error::UnknownNode { name: name.into() })?;
        if self.nodes.weight_or_zero(id) == 0 {
            return Err(Error::Weight {
                name: name.into(),
                weight: 0,
                expected: "more than 0 before it can own slots",
            });
        }
        let range = slots.start as usize..slots.end as usize;
        let count = self.owners.len();
        let Some(owners) = self.owners.get_mut(range) else {
            let value = alloc::format!("{}..{}", slots.start, slots.end);
            return Err(Error::parameter(
                "slots",
                value,
                alloc::format!("an ascending range within 0..{count}"),
            ));
        };
        owners.fill(Some(id));
        Ok(())
    }

    /// Builds a table from the owners of all slots. Their ids are those of `nodes`.
    pub(crate) fn from_owners(
        nodes: Nodes,
        hasher: KeyHasher,
        owners: Vec<Option<NodeId>>,
    ) -> Result<Self, Error> {
        check_room(&nodes, owners.len())?;
        Ok(Self {
            nodes,
            hasher,
            owners,
        })
    }

    #[cfg(feature = "redis")]
    pub(crate) fn owners(&self) -> &[Option<NodeId>] {
        &self.owners
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "below the number of slots")]
    fn slot_of(&self, key: KeyHash) -> usize {
        let slots = self.owners.len() as u64;
        // Redis does the same: a division would take longer than the rest of a lookup.
        let slot = if slots.is_power_of_two() {
            key.get() & (slots - 1)
        } else {
            key.get() % slots
        };
        slot as usize
    }

    /// Moves slots from nodes that are above their quota, or have left, to nodes below their quota.
    fn rebalance(&mut self) {
        let mut owned = vec![0; self.nodes.id_bound()];
        for id in self
            .owners
            .iter()
            .flatten()
            .filter(|id| self.nodes.weight_or_zero(**id) > 0)
        {
            owned[id.index()] += 1;
        }
        let quotas = quotas(&self.nodes, &owned, self.owners.len());
        let takers = self.nodes.iter().flat_map(|(id, _)| {
            let missing = quotas[id.index()].saturating_sub(owned[id.index()]);
            core::iter::repeat_n(id, missing)
        });
        let mut takers = takers.collect::<Vec<_>>().into_iter();
        for owner in &mut self.owners {
            // A node that left has no weight. Its index may be above all others, so `owned` is read
            // only for nodes with weight.
            if let Some(id) = owner.filter(|id| self.nodes.weight_or_zero(*id) > 0) {
                if owned[id.index()] <= quotas[id.index()] {
                    continue;
                }
                owned[id.index()] -= 1;
            }
            *owner = takers.next();
        }
    }
}

fn check_slots(slots: u32) -> Result<(), Error> {
    match slots {
        0 => Err(Error::parameter("slots", slots, "at least 1")),
        1..=HashSlots::MAX_SLOTS => Ok(()),
        _ => Err(Error::Capacity {
            what: Limit::Slots,
            wanted: slots.into(),
            limit: HashSlots::MAX_SLOTS.into(),
            advice: "use fewer: a few hundred per node give even shares",
        }),
    }
}

fn check_room(nodes: &Nodes, slots: usize) -> Result<(), Error> {
    if nodes.weighted() <= slots {
        return Ok(());
    }
    Err(Error::Capacity {
        what: Limit::WeightedNodes,
        wanted: nodes.weighted() as u64,
        limit: slots as u64,
        advice: "each owns at least one slot, so build the table with more slots",
    })
}

/// Returns the quota of each node, by index, out of `total` slots; `owned` breaks ties.
fn quotas(nodes: &Nodes, owned: &[usize], total: usize) -> Vec<usize> {
    let mut quotas = vec![0; nodes.id_bound()];
    let weights = u128::from(nodes.total_weight());
    if weights == 0 {
        return quotas;
    }
    let mut weighted: Vec<_> = nodes.iter().filter(|(_, node)| node.weight() > 0).collect();
    let product = |node: &Node| total as u128 * u128::from(node.weight());
    for (id, node) in &weighted {
        quotas[id.index()] = (product(node) / weights) as usize;
    }
    // The sort is stable and the nodes come in order of name, so the first name breaks a last tie.
    let left = total - quotas.iter().sum::<usize>();
    let over = |id: NodeId, quotas: &[usize]| owned[id.index()] + total - quotas[id.index()];
    weighted.sort_by_key(|(id, node)| Reverse((product(node) % weights, over(*id, &quotas))));
    for (id, _) in weighted.iter().take(left) {
        quotas[id.index()] += 1;
    }
    // Every node with weight gets at least one slot, from the nodes with the largest quotas.
    let by_name = nodes.iter().zip((0..).map(Reverse));
    let mut richest: BinaryHeap<_> = by_name
        .map(|((id, _), rank)| (quotas[id.index()], rank, id))
        .collect();
    for (poor, _) in &weighted {
        if quotas[poor.index()] > 0 {
            continue;
        }
        if let Some(mut rich) = richest.peek_mut() {
            rich.0 -= 1;
            quotas[rich.2.index()] = rich.0;
            quotas[poor.index()] = 1;
        }
    }
    quotas
}

impl Router for HashSlots {
    fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    fn hash_key(&self, key: &[u8]) -> Option<KeyHash> {
        self.hasher.raw_some(key)
    }

    fn hash_id(&self) -> HashId {
        HashId::Raw(self.hasher.clone())
    }

    #[inline]
    fn route_hash(&self, key: KeyHash) -> Option<NodeId> {
        self.owners[self.slot_of(key)]
    }

    fn apply(&mut self, change: &Change) -> Result<(), Error> {
        let nodes = self.nodes.after(change)?;
        check_room(&nodes, self.owners.len())?;
        self.nodes = nodes;
        self.rebalance();
        Ok(())
    }

    fn ranges(&self) -> Option<HashRanges> {
        let slots = self.owners.iter().map(|owner| (1, *owner));
        Some(HashRanges::cells(self.hasher.function().bits(), slots))
    }

    fn explain(&self, key: KeyHash) -> Explanation {
        let slot = alloc::format!("{} of {}", self.slot_of(key), self.owners.len());
        Explanation::default().with("slot", slot)
    }

    fn heap_bytes(&self) -> usize {
        self.nodes.heap_bytes() + self.owners.capacity() * size_of::<Option<NodeId>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HashFunction;

    #[test]
    fn slots_that_no_hash_reaches_are_refused() {
        let params = |slots: u32| {
            let hasher = KeyHasher::new(HashFunction::Crc16);
            Params::default()
                .with("slots", alloc::format!("{slots}"))
                .with_hasher(hasher)
        };
        let nodes = || ["a", "b"].map(Node::new);
        assert!(STRATEGY.build(nodes(), &params(1 << 16)).is_ok());
        let error = STRATEGY.build(nodes(), &params((1 << 16) + 1)).unwrap_err();
        assert_eq!(
            alloc::format!("{error}"),
            "slots = \"65537\" cannot be used: expected at most 65536, the number of values of crc16"
        );
    }

    /// 60,000 slots and 65,536 hashes: the first 5,536 slots have two hashes each.
    #[test]
    fn shares_count_the_hashes_of_a_slot() -> Result<(), Error> {
        let hasher = KeyHasher::new(HashFunction::Crc16);
        let table = HashSlots::with_slots(["a", "b"].map(Node::new), 60_000)?.with_hasher(hasher);
        let shares = table.ranges().expect("slots").shares(2);
        assert_eq!(shares, [35_536.0 / 65_536.0, 30_000.0 / 65_536.0]);
        // Without an owner there is no share.
        let ranges = [(0..=29_999, "a")];
        let table = HashSlots::from_ranges(["a", "b"].map(Node::new), 60_000, ranges)?;
        let shares = table.ranges().expect("slots").shares(2);
        assert!((shares[0] - 0.5).abs() < 1e-9 && shares[1] == 0.0);
        Ok(())
    }

    fn counts(table: &HashSlots) -> Vec<usize> {
        let count = |id| {
            table
                .owners
                .iter()
                .filter(|owner| **owner == Some(id))
                .count()
        };
        table.nodes.iter().map(|(id, _)| count(id)).collect()
    }

    #[test]
    fn a_new_table_gives_every_node_its_quota() -> Result<(), Error> {
        let nodes = [("a", 1), ("b", 2), ("c", 4)]
            .map(|(name, weight)| Node::new(name).with_weight(weight));
        assert_eq!(
            counts(&HashSlots::with_slots(nodes.clone(), 10)?),
            [1, 3, 6]
        );
        // The light node still owns a slot, which the heavy node gives up.
        let nodes =
            [("a", 1), ("b", 1_000_000)].map(|(name, weight)| Node::new(name).with_weight(weight));
        assert_eq!(counts(&HashSlots::with_slots(nodes, 10)?), [1, 9]);
        Ok(())
    }

    #[test]
    fn two_hundred_nodes_that_join_one_node_all_get_their_quota() -> Result<(), Error> {
        let mut table = HashSlots::new([Node::new("full")])?;
        for i in 0..200 {
            table.apply(&Change::Add(Node::new(alloc::format!("empty-{i}"))))?;
        }
        assert!(counts(&table).iter().all(|count| [81, 82].contains(count)));
        Ok(())
    }

    #[test]
    fn a_change_moves_only_slots_above_a_quota() -> Result<(), Error> {
        let mut table = HashSlots::new(["a", "b", "c"].map(Node::new))?;
        table.assign(0..16_384, "a")?;
        table.apply(&Change::Add(Node::new("d").with_weight(0)))?;
        assert_eq!(counts(&table), [5462, 5461, 5461, 0]);
        let before = table.clone();
        table.apply(&Change::remove("d"))?;
        assert_eq!(table.owners, before.owners);
        table.apply(&Change::Add(Node::new("last")))?;
        table.apply(&Change::remove("last"))?;
        assert_eq!(counts(&table), [5462, 5461, 5461]);
        let before = table.clone();
        table.apply(&Change::reweight("a", 0))?;
        let moved = table
            .owners
            .iter()
            .zip(&before.owners)
            .filter(|(new, old)| new != old);
        assert_eq!(moved.count(), 5462);
        Ok(())
    }

    /// 7.5 and 2.5 of ten slots: the half goes to the node that keeps a slot by it, not to the
    /// heavier node.
    #[test]
    fn a_tie_goes_to_the_node_that_owns_more_slots() -> Result<(), Error> {
        let nodes = [Node::new("a").with_weight(3), Node::new("b")];
        let mut table = HashSlots::with_slots(nodes, 10)?;
        table.assign(0..6, "a")?;
        table.assign(6..10, "b")?;
        table.apply(&Change::Add(Node::new("c").with_weight(0)))?;
        assert_eq!(counts(&table), [7, 3, 0]);
        Ok(())
    }

    #[test]
    fn a_bad_assignment_is_refused_and_changes_nothing() -> Result<(), Error> {
        let mut table = HashSlots::with_slots([Node::new("a"), Node::new("b").with_weight(0)], 8)?;
        let before = alloc::format!("{table:?}");
        let inverted = Range { start: 3, end: 2 };
        for (range, name) in [
            (0..1, "x"),
            (0..1, "b"),
            (0..9, "a"),
            (inverted, "a"),
            (u32::MAX..u32::MAX, "a"),
        ] {
            assert!(table.assign(range, name).is_err());
        }
        assert_eq!(alloc::format!("{table:?}"), before);
        table.apply(&Change::remove("a"))?;
        assert_eq!(table.route_hash(KeyHash::from_raw(1)), None);
        Ok(())
    }

    /// Ids depend on the earlier changes in a process; the table must not.
    #[test]
    fn the_same_change_of_equal_tables_gives_equal_tables() -> Result<(), Error> {
        let heavy = |name: &str| Node::new(name).with_weight(1_000_000);
        let mut one = HashSlots::with_slots(["a", "b"].map(heavy), 10)?;
        let mut other = HashSlots::with_slots([heavy("b")], 10)?;
        other.apply(&Change::Add(heavy("a")))?;
        other.assign(0..5, "a")?;
        other.assign(5..10, "b")?;
        for table in [&mut one, &mut other] {
            table.apply(&Change::Add(Node::new("c")))?;
        }
        let names = |table: &HashSlots| -> Vec<Option<Box<str>>> {
            let name = |id: &Option<NodeId>| table.nodes.name((*id)?).map(Box::from);
            table.owners.iter().map(name).collect()
        };
        assert_eq!(names(&one), names(&other));
        Ok(())
    }
}
