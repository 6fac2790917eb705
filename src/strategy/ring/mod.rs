//! The ring: classic consistent hashing with virtual nodes.
//!
//! Every node has many points (also called virtual nodes, vnodes or tokens) on the circle of 64-bit
//! hashes. A point owns the hashes after the previous point, up to and including itself.
//!
//! Karger et al., "Consistent Hashing and Random Trees" (STOC 1997); preference lists as in
//! `DeCandia` et al., "Dynamo" (SOSP 2007, section 4.3).
//!
//! | lookup | memory | change |
//! |---|---|---|
//! | O(1) expected, one cache line | 24 to 32 B a point, more for tokens that are close together | O(points of the node), amortised |
//!
//! Peers must share the set of nodes with their weights (or the table of tokens).
//!
//! A node has `points` points (160 by default) for each unit of weight. They depend on its name
//! alone, so a change of one node never moves the points of another. Points are ordered by (point,
//! name, index), and equal points are all kept. A key goes to the first point at or after its hash;
//! past the last point, to the first. The coefficient of variation of the shares of equal nodes is
//! about 1 / sqrt(points).

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::ControlFlow;

mod labels;
mod points;

use self::labels::Labels;
use self::points::CIRCLE;
pub(crate) use self::points::Points;
use crate::registry::{Caps, Param, Scheme};
use crate::{
    Change, Error, Explanation, HashId, HashRanges, KeyHash, KeyHasher, Limit, Node, NodeId,
    NodeList, Nodes, Refusal, Router, Spread, replicas,
};

pub(super) const STRATEGY: Scheme = Scheme::strategy(
    "ring",
    "hash ring with weighted virtual nodes: the classic, any node may leave",
    Caps::SET,
    |nodes, params| {
        let points = params.get(POINTS.name, Ring::DEFAULT_POINTS)?;
        let ring = match params
            .get(LABELS.name, String::from(LABELS.default))?
            .as_str()
        {
            "drawn" => Ring::with_points(nodes, points)?,
            #[cfg(feature = "md5")]
            "tutorial" => Ring::tutorial(nodes, points)?,
            #[cfg(not(feature = "md5"))]
            "tutorial" => {
                let wanted = "drawn; tutorial needs the feature md5 of hashroute";
                return Err(Error::parameter(LABELS.name, "tutorial", wanted));
            }
            other => return Err(Error::parameter(LABELS.name, other, "drawn or tutorial")),
        };
        let hasher = params.hasher_or(&ring.hasher);
        Ok(Box::new(ring.with_hasher(hasher)))
    },
)
.with_params(&[POINTS, LABELS]);

pub(crate) const POINTS: Param = Param::new(
    "points",
    "160",
    "points on the ring for each unit of weight",
)
.with_finer(&["640"]);

const LABELS: Param = Param::new(
    "labels",
    "drawn",
    "drawn, or tutorial for MD5(\"name#i\") with keys hashed by MD5",
);

/// A consistent hash ring with weighted virtual nodes.
///
/// Its points are also called virtual nodes, vnodes or tokens. Use it for sharding and for load
/// balancing if nodes come and go: a node that joins takes keys from all others, and only these
/// keys move (minimal disruption). The [walk](Router::walk) along the circle gives the preference
/// list of a key.
///
/// ```
/// use hashroute::{Change, Node, Ring, Router};
///
/// let mut ring = Ring::new([Node::new("a"), Node::new("b").with_weight(2)])?;
/// let before = ring.route(b"user:42").map(|node| node.name().to_owned());
/// ring.apply(&Change::Add(Node::new("c")))?;
/// let after = ring.route(b"user:42").map(|node| node.name().to_owned());
/// assert!(after == before || after.as_deref() == Some("c")); // keys move to "c" only
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Ring {
    nodes: Nodes,
    hasher: KeyHasher,
    labels: Labels,
    points: Points,
}

impl Ring {
    /// The default number of points for each unit of weight.
    pub const DEFAULT_POINTS: u32 = 160;

    /// The largest number of points of a ring. They take two gigabytes.
    pub const MAX_POINTS: u64 = 1 << 26;

    /// Builds a ring with [`DEFAULT_POINTS`](Self::DEFAULT_POINTS) for each unit of weight. The
    /// order of the nodes does not matter.
    ///
    /// # Errors
    /// The errors of [`Nodes::new`]; [`Error::Capacity`] above [`MAX_POINTS`](Self::MAX_POINTS).
    pub fn new(nodes: impl IntoIterator<Item = impl Into<Node>>) -> Result<Self, Error> {
        Self::with_points(nodes, Self::DEFAULT_POINTS)
    }

    /// Builds a ring with `points` points for each unit of weight. More points give more even
    /// shares, but cost memory and make changes slower.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new); [`Error::Parameter`] for 0 points.
    ///
    /// ```
    /// # use hashroute::{Node, Ring};
    /// let ring = Ring::with_points([Node::new("a").with_weight(2)], 40)?;
    /// assert_eq!(ring.points().count(), 80);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn with_points(
        nodes: impl IntoIterator<Item = impl Into<Node>>,
        points: u32,
    ) -> Result<Self, Error> {
        Self::build(nodes, Labels::Drawn { points }, KeyHasher::default())
    }

    /// Builds the ring of a widely copied Python tutorial. The points of a node are the first eight
    /// bytes, big-endian, of MD5("name#i"). The hash of a key is the same part of MD5(key), and a
    /// key goes to the first point strictly greater than its hash.
    ///
    /// # Errors
    /// The errors of [`with_points`](Self::with_points).
    ///
    /// ```
    /// # use hashroute::{KeyHash, Ring, Router};
    /// let ring = Ring::tutorial(["cache-a", "cache-b"], 100)?;
    /// assert_eq!(ring.hash_key(b""), Some(KeyHash::from_raw(0xd41d_8cd9_8f00_b204)));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    #[cfg(feature = "md5")]
    pub fn tutorial(
        nodes: impl IntoIterator<Item = impl Into<Node>>,
        points: u32,
    ) -> Result<Self, Error> {
        Self::build(
            nodes,
            Labels::Tutorial { points },
            KeyHasher::new(crate::HashFunction::Md5),
        )
    }

    /// Builds a ring of explicit tokens, as in Cassandra. Each token is a point and the name of its
    /// node. Equal tokens are all kept, in order of name. A weight only decides whether a node
    /// takes part: the tokens of a node with weight 0 are left out until its weight rises again.
    ///
    /// Tokens should be spread over all 64 bits: otherwise lookups and walks are slow. For a 32-bit
    /// ring, shift the tokens and the key hashes left by 32. A change costs O(points log points).
    ///
    /// A new node joins with [`add_with_tokens`](Self::add_with_tokens).
    ///
    /// # Errors
    /// The errors of [`Nodes::new`]; [`Error::UnknownNode`] for a token of an unknown node;
    /// [`Error::Unsupported`] for a node without a token; [`Error::Capacity`] above
    /// [`MAX_POINTS`](Self::MAX_POINTS).
    ///
    /// ```
    /// # use hashroute::{KeyHash, Ring, Router};
    /// let ring = Ring::from_tokens(["a", "b"], [(100, "a"), (200, "b")])?;
    /// let owner = |hash| ring.nodes().name(ring.route_hash(KeyHash::from_raw(hash))?);
    /// assert_eq!([owner(100), owner(101), owner(201)], [Some("a"), Some("b"), Some("a")]);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn from_tokens<'a>(
        nodes: impl IntoIterator<Item = impl Into<Node>>,
        tokens: impl IntoIterator<Item = (u64, &'a str)>,
    ) -> Result<Self, Error> {
        let nodes: Vec<Node> = nodes.into_iter().map(Into::into).collect();
        let mut by_name: BTreeMap<Box<str>, Vec<u64>> = nodes
            .iter()
            .map(|node| (node.name().into(), Vec::new()))
            .collect();
        for (token, name) in tokens {
            let known = by_name
                .get_mut(name)
                .ok_or_else(|| Error::UnknownNode { name: name.into() })?;
            known.push(token);
        }
        if by_name.values().any(Vec::is_empty) {
            return Err(TOKENLESS);
        }
        for tokens in by_name.values_mut() {
            tokens.sort_unstable();
        }
        Self::build(nodes, Labels::Tokens(by_name), KeyHasher::default())
    }

    /// Sets the hash function for keys. The points stay where they are.
    #[must_use]
    pub fn with_hasher(mut self, hasher: KeyHasher) -> Self {
        self.hasher = hasher;
        self
    }

    /// Adds a node with its tokens to a ring of explicit tokens. O(points log points).
    ///
    /// # Errors
    /// The errors of [`Nodes::apply`]; [`Error::Unsupported`] without tokens, or if the ring draws
    /// its own points; [`Error::Capacity`] above [`MAX_POINTS`](Self::MAX_POINTS).
    ///
    /// ```
    /// # use hashroute::{KeyHash, Node, Ring, Router};
    /// let mut ring = Ring::from_tokens([Node::new("a")], [(100, "a")])?;
    /// ring.add_with_tokens(Node::new("b"), &[200, 300])?;
    /// assert_eq!(ring.points().map(|(point, _)| point).collect::<Vec<_>>(), [100, 200, 300]);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn add_with_tokens(&mut self, node: Node, tokens: &[u64]) -> Result<(), Error> {
        let Labels::Tokens(by_name) = &mut self.labels else {
            return Err(Error::Unsupported {
                what: Refusal::RingDrawsPoints,
                advice: "apply Change::Add, or build the ring from tokens",
            });
        };
        if tokens.is_empty() {
            return Err(TOKENLESS);
        }
        let name: Box<str> = node.name().into();
        let change = Change::Add(node);
        self.nodes.check(&change)?;
        let mut tokens = tokens.to_vec();
        tokens.sort_unstable();
        // The change counts the points of the node by its tokens, so they come first and leave
        // again if it fails.
        by_name.insert(name.clone(), tokens);
        self.change(&change).inspect_err(|_| {
            if let Labels::Tokens(by_name) = &mut self.labels {
                by_name.remove(&name);
            }
        })
    }

    /// Returns all points with their nodes, in order.
    ///
    /// ```
    /// # use hashroute::{Node, Ring};
    /// let ring = Ring::new(["a", "b"].map(Node::new))?;
    /// assert!(ring.points().map(|(point, _)| point).is_sorted());
    /// assert_eq!(ring.points().filter(|(_, node)| node.name() == "a").count(), 160);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn points(&self) -> impl Iterator<Item = (u64, &Node)> {
        self.points
            .iter()
            .filter_map(|(point, id)| Some((point, self.nodes.get(id)?)))
    }

    fn build(
        nodes: impl IntoIterator<Item = impl Into<Node>>,
        labels: Labels,
        hasher: KeyHasher,
    ) -> Result<Self, Error> {
        if labels.per_weight() == Some(0) {
            return Err(Error::parameter(POINTS.name, 0, "at least 1"));
        }
        let nodes = Nodes::sorted(nodes)?;
        let total = nodes.iter().fold(0, |sum: u64, (_, node)| {
            sum.saturating_add(labels.count(node.name(), node.weight()))
        });
        check_capacity(total)?;
        let points = lay_out(&nodes, &labels);
        Ok(Self {
            nodes,
            hasher,
            labels,
            points,
        })
    }

    /// Applies a change after all checks, so that a change that fails leaves everything as it was.
    fn change(&mut self, change: &Change) -> Result<(), Error> {
        self.nodes.check(change)?;
        let (name, weight) = match change {
            Change::Add(node) => (node.name(), node.weight()),
            Change::Remove(name) => (&**name, 0),
            Change::Reweight(name, weight) => (&**name, *weight),
        };
        let old = self
            .nodes
            .id(name)
            .map_or(0, |id| self.nodes.weight_or_zero(id));
        let (old, new) = (
            self.labels.count(name, old),
            self.labels.count(name, weight),
        );
        check_capacity((self.points.len() as u64 - old).saturating_add(new))?;
        let id = self.nodes.apply(change)?;
        if let Labels::Tokens(by_name) = &mut self.labels {
            if let Change::Remove(name) = change {
                by_name.remove(name);
            }
            self.points = lay_out(&self.nodes, &self.labels);
            return Ok(());
        }
        // The points of a node are a prefix of its sequence, and the weight gives the length. So a
        // new weight inserts or removes only the difference, and the others stay.
        let (nodes, points) = (&self.nodes, &mut self.points);
        let precedes = |a, b| nodes.name(a) < nodes.name(b);
        self.labels.each(name, old.min(new)..old.max(new), |point| {
            if old < new {
                points.insert((point, id), precedes);
            } else {
                points.remove((point, id));
            }
        });
        Ok(())
    }

    /// Returns the position of a key: its owner is the node of the first point at or after it.
    #[inline]
    fn position(&self, key: KeyHash) -> u64 {
        // "Strictly after h" is "at or after h + 1"; after the largest hash the circle starts
        // again.
        key.get().wrapping_add(self.labels.beyond().into())
    }
}

/// Builds the index of all points of all nodes.
fn lay_out(nodes: &Nodes, labels: &Labels) -> Points {
    let count = |node: &Node| labels.count(node.name(), node.weight());
    let total: u64 = nodes.iter().map(|(_, node)| count(node)).sum();
    // The callers have checked that there are at most 2^26.
    let mut entries = Vec::with_capacity(usize::try_from(total).unwrap_or(0));
    for (id, node) in nodes {
        labels.each(node.name(), 0..count(node), |point| {
            entries.push((point, id));
        });
    }
    Points::new(entries)
}

/// The longest preference list that is read directly from the blocks of points.
const SHORT_LIST: usize = 8;

const TOKENLESS: Error = Error::Unsupported {
    what: Refusal::NodeWithoutToken,
    advice: "give every node at least one token",
};

fn check_capacity(points: u64) -> Result<(), Error> {
    if points <= Ring::MAX_POINTS {
        return Ok(());
    }
    Err(Error::Capacity {
        what: Limit::Points,
        wanted: points,
        limit: Ring::MAX_POINTS,
        advice: "divide all weights by a common factor, or take fewer points per unit of weight",
    })
}

impl Router for Ring {
    #[inline]
    fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    #[expect(clippy::inline_always, reason = "a call costs a third of the hash")]
    #[inline(always)]
    fn hash_key(&self, key: &[u8]) -> Option<KeyHash> {
        self.hasher.spread_some(key)
    }

    fn hash_id(&self) -> HashId {
        HashId::Spread(self.hasher.clone())
    }

    #[inline]
    fn route_hash(&self, key: KeyHash) -> Option<NodeId> {
        self.points.owner(self.position(key))
    }

    fn apply(&mut self, change: &Change) -> Result<(), Error> {
        if let (Change::Add(_), Labels::Tokens(_)) = (change, &self.labels) {
            self.nodes.check(change)?;
            return Err(Error::Unsupported {
                what: Refusal::RingOfTokens,
                advice: "use Ring::add_with_tokens",
            });
        }
        self.change(change)
    }

    fn walk(&self, key: KeyHash, visit: &mut dyn FnMut(NodeId) -> ControlFlow<()>) {
        let _ = self.points.walk(self.position(key), |(_, id)| visit(id));
    }

    fn replicas_into(&self, key: KeyHash, n: usize, spread: Spread, out: &mut NodeList) {
        let wanted = n.min(self.nodes.weighted());
        if spread == Spread::Nodes && (1..=SHORT_LIST).contains(&wanted) {
            // Most short lists end in the block where they start, or in the next one.
            if self.points.distinct(self.position(key), out.space(wanted)) {
                return;
            }
        }
        replicas::fill(self, key, n, spread, out);
    }

    fn ranges(&self) -> Option<HashRanges> {
        // In a tutorial ring a point owns only hashes below it, so its arc ends one before it.
        let before = self.labels.beyond().into();
        let ends = self.points.iter();
        let ends = ends.map(|(point, id)| (point.wrapping_sub(before), id));
        Some(HashRanges::arcs(64, ends).with_lists())
    }

    fn explain(&self, key: KeyHash) -> Explanation {
        let mut first = None;
        let _ = self.points.walk(self.position(key), |(point, _)| {
            first = Some(point);
            ControlFlow::Break(())
        });
        let Some(point) = first else {
            return Explanation::default();
        };
        let distance = point.wrapping_sub(key.get()) as f64 / CIRCLE;
        let wrapped = if point < key.get() {
            "yes, past the last point"
        } else {
            "no"
        };
        let point = alloc::format!("{point:#018x}, of {}", self.points.len());
        Explanation::default()
            .with("point", point)
            .with("distance", alloc::format!("{distance:.6} of the circle"))
            .with("wrapped", wrapped)
    }

    fn heap_bytes(&self) -> usize {
        self.nodes.heap_bytes() + self.points.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn owner(ring: &Ring, hash: u64) -> Option<&str> {
        ring.route_hash(KeyHash::from_raw(hash))
            .and_then(|id| ring.nodes.name(id))
    }

    #[cfg(feature = "md5")]
    #[test]
    fn a_tutorial_ring_gives_a_hash_equal_to_a_point_to_the_next_point() -> Result<(), Error> {
        let ring = Ring::tutorial(["a", "b"].map(Node::new), 20)?;
        let points: Vec<_> = ring.points().collect();
        let nexts = points.iter().cycle().skip(1);
        for ((point, _), (_, next)) in points.iter().zip(nexts) {
            assert_eq!(owner(&ring, *point), Some(next.name()));
        }
        Ok(())
    }

    #[test]
    fn equal_tokens_belong_to_the_first_name_and_survive_changes() -> Result<(), Error> {
        let mut ring =
            Ring::from_tokens(["b", "c"].map(Node::new), [(5, "c"), (5, "b"), (9, "c")])?;
        assert_eq!(owner(&ring, 5), Some("b"));
        ring.add_with_tokens(Node::new("a"), &[5])?;
        assert_eq!(owner(&ring, 5), Some("a"));
        ring.apply(&Change::remove("a"))?;
        assert_eq!(owner(&ring, 5), Some("b"));
        ring.apply(&Change::remove("b"))?;
        assert_eq!(owner(&ring, 5), Some("c"));
        Ok(())
    }

    #[test]
    fn tokens_at_both_ends_of_the_hash_space_own_their_arcs() -> Result<(), Error> {
        let ring = Ring::from_tokens(["a", "b"].map(Node::new), [(0, "a"), (u64::MAX, "b")])?;
        let owners = [0, 1, u64::MAX - 1, u64::MAX].map(|hash| owner(&ring, hash));
        assert_eq!(owners, [Some("a"), Some("b"), Some("b"), Some("b")]);
        let ring = Ring::from_tokens([Node::new("a")], [(7, "a")])?;
        let shares = ring.ranges().map(|ranges| ranges.shares(1));
        assert_eq!(shares, Some(vec![1.0]));
        assert_eq!(owner(&ring, 8), Some("a"));
        Ok(())
    }

    #[test]
    fn a_refused_change_leaves_a_ring_of_tokens_as_it_was() -> Result<(), Error> {
        let mut ring = Ring::from_tokens(["a", "b"].map(Node::new), [(1, "a"), (2, "b")])?;
        let before = alloc::format!("{ring:?}");
        assert!(ring.apply(&Change::Add(Node::new("c"))).is_err());
        assert!(ring.add_with_tokens(Node::new("a"), &[3]).is_err());
        assert!(ring.add_with_tokens(Node::new("c"), &[]).is_err());
        assert_eq!(alloc::format!("{ring:?}"), before);
        ring.apply(&Change::reweight("a", 0))?;
        assert_eq!(owner(&ring, 1), Some("b"));
        ring.apply(&Change::reweight("a", 9))?;
        assert!(ring.points().map(|(point, _)| point).eq([1, 2]));
        assert!(Ring::from_tokens([Node::new("a")], [(1, "x"), (2, "a")]).is_err());
        assert!(Ring::from_tokens([Node::new("a")], []).is_err());
        Ok(())
    }

    #[test]
    fn incremental_changes_equal_a_fresh_build() -> Result<(), Error> {
        let mut ring = Ring::with_points(["m", "z"].map(Node::new), 20)?;
        ring.apply(&Change::Add(Node::new("a").with_weight(3)))?;
        ring.apply(&Change::reweight("a", 2))?;
        ring.apply(&Change::remove("m"))?;
        let fresh = Ring::with_points([Node::new("z"), Node::new("a").with_weight(2)], 20)?;
        assert!(ring.points().eq(fresh.points()));
        Ok(())
    }

    #[test]
    fn a_ring_may_have_exactly_max_points() {
        assert!(check_capacity(Ring::MAX_POINTS).is_ok());
        assert!(check_capacity(Ring::MAX_POINTS + 1).is_err());
    }

    #[test]
    fn tokens_close_together_keep_their_order_and_owners() -> Result<(), Error> {
        let names = ["a", "b", "c"];
        // Every point twice, and all of them close together.
        let tokens = |name| (0..30_000).map(move |i| (i / 2, name));
        let tokens: Vec<(u64, &str)> = names.into_iter().flat_map(tokens).collect();
        let mut ring = Ring::from_tokens(names.map(Node::new), tokens.iter().copied())?;
        ring.apply(&Change::remove("a"))?;
        ring.add_with_tokens(Node::new("a"), &(0..20_000).collect::<Vec<_>>())?;
        assert_eq!(ring.points().count(), 80_000);
        assert!(ring.points().map(|(point, _)| point).is_sorted());
        assert_eq!(owner(&ring, 19_999), Some("a"));
        assert_eq!(
            owner(&ring, 30_000),
            Some("a"),
            "a hash past the last point belongs to the first"
        );
        Ok(())
    }
}
