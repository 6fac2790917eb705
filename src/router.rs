//! The trait that every strategy implements, and the changes it takes.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Debug;
use core::ops::ControlFlow;

use smallvec::SmallVec;

use crate::hash::scale;
use crate::{
    Error, HashFunction, HashRanges, KeyHash, KeyHasher, Node, NodeId, Nodes, Spread, replicas,
};

/// A change of membership.
///
/// ```
/// use hashroute::{Change, Node, Ring, Router};
///
/// let mut ring = Ring::new([Node::new("a")])?;
/// ring.apply(&Change::Add(Node::new("b").with_weight(2)))?;
/// ring.apply(&Change::reweight("b", 1))?;
/// ring.apply(&Change::remove("a"))?;
/// assert_eq!(ring.route(b"any key").map(Node::name), Some("b"));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
#[non_exhaustive]
pub enum Change {
    /// A node joins.
    Add(Node),
    /// The node of this name leaves.
    Remove(Box<str>),
    /// The node of this name gets this weight; 0 drains it.
    Reweight(Box<str>, u32),
}

impl Change {
    /// The node of this name leaves.
    ///
    /// ```
    /// assert_eq!(hashroute::Change::remove("a"), hashroute::Change::Remove("a".into()));
    /// ```
    pub fn remove(name: impl Into<Box<str>>) -> Self {
        Self::Remove(name.into())
    }

    /// The node of this name gets this weight; 0 drains it.
    ///
    /// ```
    /// assert_eq!(hashroute::Change::reweight("a", 2), hashroute::Change::Reweight("a".into(), 2));
    /// ```
    pub fn reweight(name: impl Into<Box<str>>, weight: u32) -> Self {
        Self::Reweight(name.into(), weight)
    }
}

/// Given a key and a set of nodes, which node?
///
/// Dyn-compatible: a program may hold a `Box<dyn Router>` and let its configuration choose.
/// Lookups take `&self`, never allocate and never panic; they are `None` only when no node
/// can take a key. Three methods are required; the others follow from them and are
/// overridden where a strategy does better.
///
/// An implementor promises that the same members, in a state that its
/// [`Caps`](crate::strategy::Caps) call shared, give the same answer in every process, on
/// every platform and in every version.
///
/// ```
/// use hashroute::{Jump, Node, Rendezvous, Ring, Router};
///
/// let nodes = || ["a", "b", "c"].map(Node::new);
/// let routers: Vec<Box<dyn Router>> =
///     vec![Box::new(Ring::new(nodes())?), Box::new(Rendezvous::new(nodes())?), Box::new(Jump::new(nodes())?)];
/// for router in &routers {
///     assert!(router.route(b"user:42").is_some());
/// }
/// # Ok::<(), hashroute::Error>(())
/// ```
pub trait Router: Debug + Send + Sync {
    /// The members.
    ///
    /// ```
    /// # use hashroute::{Node, Ring, Router};
    /// assert_eq!(Ring::new([Node::new("a")])?.nodes().len(), 1);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    fn nodes(&self) -> &Nodes;

    /// The owner of a key that is hashed already; `None` when no node has weight.
    ///
    /// ```
    /// # use hashroute::{KeyHash, Node, Ring, Router};
    /// let ring = Ring::new([])?;
    /// assert_eq!(ring.route_hash(KeyHash::from_bytes(b"key")), None);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    fn route_hash(&self, key: KeyHash) -> Option<NodeId>;

    /// Make one change, wholly or not at all.
    ///
    /// # Errors
    /// What [`Nodes::apply`] refuses, and what the strategy cannot do: its page says which.
    /// Nothing has changed then.
    ///
    /// ```
    /// # use hashroute::{Change, Node, Ring, Router};
    /// let mut ring = Ring::new([Node::new("a")])?;
    /// assert!(ring.apply(&Change::Add(Node::new("a"))).is_err());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    fn apply(&mut self, change: &Change) -> Result<(), Error>;

    /// How this router hashes keys; `None` when it has a way of its own, in
    /// [`hash_key`](Self::hash_key).
    ///
    /// ```
    /// # use hashroute::{HashFunction, KeyHasher, Node, Ring, Router};
    /// let ring = Ring::new([Node::new("a")])?;
    /// assert_eq!(ring.hasher().map(KeyHasher::function), Some(HashFunction::Xxh3));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    #[inline]
    fn hasher(&self) -> Option<&KeyHasher> {
        static DEFAULT: KeyHasher = KeyHasher::new(HashFunction::Xxh3);
        Some(&DEFAULT)
    }

    /// Its own way of hashing keys, in words, where [`hasher`](Self::hasher) is `None`: two
    /// routers of the same words make the same hash of every key, and their hashes fill the bits
    /// of their [ranges](Self::ranges). `None` where that is not known, or where the hash looks
    /// at more than the key. Allocates.
    ///
    /// ```
    /// # use hashroute::{Node, Ring, Router};
    /// assert_eq!(Ring::new([Node::new("a")])?.hash_words(), None); // it has a hasher
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    fn hash_words(&self) -> Option<String> {
        None
    }

    /// The hash of a key by this router's function.
    ///
    /// ```
    /// # use hashroute::{KeyHash, Node, Ring, Router};
    /// let ring = Ring::new([Node::new("a")])?;
    /// assert_eq!(ring.hash_key(b"key"), KeyHash::from_bytes(b"key"));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    #[expect(clippy::inline_always, reason = "a call costs a third of the hash")]
    #[inline(always)]
    fn hash_key(&self, key: &[u8]) -> KeyHash {
        match self.hasher() {
            Some(hasher) => hasher.spread(key),
            None => KeyHash::from_bytes(key),
        }
    }

    /// The owner of a key: the call that most users make.
    ///
    /// ```
    /// # use hashroute::{Node, Ring, Router};
    /// let ring = Ring::new([Node::new("a"), Node::new("b")])?;
    /// let node = ring.route(b"user:42").expect("a node with weight");
    /// assert!(["a", "b"].contains(&node.name()));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    #[inline]
    fn route(&self, key: &[u8]) -> Option<&Node> {
        self.nodes().get(self.route_hash(self.hash_key(key))?)
    }

    /// Offer nodes in order of preference, the owner first, until `visit` breaks or all have
    /// been offered. A node may be offered more than once; every member with weight is offered
    /// at least once, so that every search over a walk ends. Replicas, zones, bounded load and
    /// failover are built on it.
    ///
    /// By default the key is hashed anew for each further choice, which spreads what a failed
    /// node leaves over all the others.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// # use hashroute::{KeyHash, Node, Ring, Router};
    /// let ring = Ring::new(["a", "b", "c"].map(Node::new))?;
    /// let down = "b";
    /// let mut chosen = None;
    /// ring.walk(KeyHash::from_bytes(b"user:42"), &mut |id| {
    ///     if ring.nodes().name(id) == down {
    ///         return ControlFlow::Continue(());
    ///     }
    ///     chosen = Some(id);
    ///     ControlFlow::Break(())
    /// });
    /// assert!(chosen.is_some_and(|id| ring.nodes().name(id) != down));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    fn walk(&self, key: KeyHash, visit: &mut dyn FnMut(NodeId) -> ControlFlow<()>) {
        let _ = walk_by_rehash(self, key, visit);
    }

    /// The owners of many keys: `out[i]` for `keys[i]`, up to the shorter of the two.
    ///
    /// ```
    /// # use hashroute::{KeyHash, Node, Ring, Router};
    /// let ring = Ring::new([Node::new("a")])?;
    /// let keys = [1, 2, 3].map(KeyHash::from_integer);
    /// let mut owners = [None; 3];
    /// ring.route_batch(&keys, &mut owners);
    /// assert!(owners.iter().all(Option::is_some));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    #[inline]
    fn route_batch(&self, keys: &[KeyHash], out: &mut [Option<NodeId>]) {
        for (owner, &key) in out.iter_mut().zip(keys) {
            *owner = self.route_hash(key);
        }
    }

    /// The first `n` distinct nodes of a key's preference list, the owner first. The list for
    /// `n` is a prefix of the list for `n + 1`; it is shorter only when fewer nodes have weight.
    /// Allocates for more than eight.
    ///
    /// ```
    /// # use hashroute::{KeyHash, Node, Ring, Router, Spread};
    /// let ring = Ring::new([("a", "z1"), ("b", "z1"), ("c", "z2")].map(|(name, zone)| Node::new(name).with_zone(zone)))?;
    /// let key = ring.hash_key(b"user:42");
    /// let list = ring.replicas(key, 2, Spread::Zones);
    /// let zones: Vec<_> = list.iter().filter_map(|&id| ring.nodes().get(id)?.zone()).collect();
    /// assert!(zones == ["z1", "z2"] || zones == ["z2", "z1"]);
    /// assert_eq!(Some(list[0]), ring.route_hash(key));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    fn replicas(&self, key: KeyHash, n: usize, spread: Spread) -> SmallVec<[NodeId; 8]> {
        replicas::list(self, key, n, spread)
    }

    /// As [`replicas`](Self::replicas), into the caller's slice and without allocating: the
    /// number of nodes written, at the front.
    ///
    /// ```
    /// # use hashroute::{KeyHash, Node, Ring, Router, Spread};
    /// let ring = Ring::new(["a", "b"].map(Node::new))?;
    /// let mut list = [None; 3];
    /// let n = ring.replicas_into(ring.hash_key(b"user:42"), Spread::Nodes, &mut list);
    /// assert_eq!((n, list[2]), (2, None));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    #[inline]
    fn replicas_into(&self, key: KeyHash, spread: Spread, out: &mut [Option<NodeId>]) -> usize {
        replicas::fill(self, key, spread, out)
    }

    /// As [`route_hash`](Self::route_hash), and count the key as load where the strategy keeps
    /// loads: how a harness fills a router. There is nothing to give back later.
    ///
    /// ```
    /// # use hashroute::{BoundedLoad, KeyHash, Node, Ring, Router};
    /// let bounded = BoundedLoad::new(Ring::new(["a", "b"].map(Node::new))?, 1.25)?;
    /// let key = KeyHash::from_bytes(b"the same key");
    /// let placed: Vec<_> = (0..3).map(|_| bounded.place(key)).collect();
    /// assert_ne!(placed[0], placed[2]); // two are all that one of two nodes may have of three
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    fn place(&self, key: KeyHash) -> Option<NodeId> {
        self.route_hash(key)
    }

    /// Whether a key's node depends on the loads that the keys placed before it are: then
    /// [`place`](Self::place) counts, and the order of keys matters.
    ///
    /// ```
    /// # use hashroute::{BoundedLoad, Node, Ring, Router};
    /// let ring = Ring::new([Node::new("a")])?;
    /// assert!(!ring.keeps_loads() && BoundedLoad::new(ring, 1.25)?.keeps_loads());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    fn keeps_loads(&self) -> bool {
        false
    }

    /// The exact share of the hash space that each node owns, by [`NodeId::index`], where the
    /// structure gives it (arcs, cells, slots); the shares sum to 1 when a node has weight.
    ///
    /// ```
    /// # use hashroute::{Node, Ring, Router};
    /// let shares = Ring::new(["a", "b"].map(Node::new))?.shares().expect("a ring has arcs");
    /// assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    fn shares(&self) -> Option<Vec<f64>> {
        None
    }

    /// The whole hash space by owner, where the structure gives it (arcs, cells, slots); `None`
    /// where every hash has a way of its own (scores, jump, loads). [`HashRanges::owner`] of every
    /// hash is [`route_hash`](Self::route_hash). Allocates.
    ///
    /// ```
    /// # use hashroute::{KeyHash, Maglev, Node, Router};
    /// let router = Maglev::new(["a", "b"].map(Node::new))?;
    /// let ranges = router.ranges().expect("a table has cells");
    /// let key = KeyHash::from_bytes(b"user:42");
    /// assert_eq!(ranges.owner(key), router.route_hash(key));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    fn ranges(&self) -> Option<HashRanges> {
        None
    }

    /// What the strategy looks at on a key's way to its owner, as (name, value) pairs in order:
    /// for people, not for programs. Allocates.
    ///
    /// ```
    /// # use hashroute::{KeyHash, Node, Ring, Router};
    /// let ring = Ring::new([Node::new("a")])?;
    /// assert!(ring.explain(KeyHash::from_bytes(b"key")).iter().any(|(name, _)| *name == "point"));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    fn explain(&self, key: KeyHash) -> Vec<(&'static str, String)> {
        let _ = key;
        Vec::new()
    }

    /// Bytes on the heap, without the allocator's overhead.
    ///
    /// ```
    /// # use hashroute::{Node, Ring, Router};
    /// assert!(Ring::new([Node::new("a")])?.heap_bytes() > 160 * 12);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    fn heap_bytes(&self) -> usize {
        self.nodes().heap_bytes()
    }
}

/// What a wrapper leaves to the router inside: who the members are, and how keys are hashed.
macro_rules! as_inside {
    ($field:ident) => {
        #[inline]
        fn nodes(&self) -> &Nodes {
            self.$field.nodes()
        }

        #[inline]
        fn hasher(&self) -> Option<&KeyHasher> {
            self.$field.hasher()
        }

        fn hash_words(&self) -> Option<String> {
            self.$field.hash_words()
        }

        #[inline]
        fn hash_key(&self, key: &[u8]) -> KeyHash {
            self.$field.hash_key(key)
        }

        #[inline]
        fn route(&self, key: &[u8]) -> Option<&Node> {
            // A system with a hash of its own may route no key of this form.
            if self.$field.hasher().is_none() {
                self.$field.route(key)?;
            }
            self.nodes().get(self.route_hash(self.hash_key(key))?)
        }
    };
}
pub(crate) use as_inside;

/// So that what takes a router also takes one that was chosen at run time.
impl<R: Router + ?Sized> Router for Box<R> {
    #[inline]
    fn nodes(&self) -> &Nodes {
        (**self).nodes()
    }

    #[inline]
    fn route_hash(&self, key: KeyHash) -> Option<NodeId> {
        (**self).route_hash(key)
    }

    fn apply(&mut self, change: &Change) -> Result<(), Error> {
        (**self).apply(change)
    }

    #[inline]
    fn hasher(&self) -> Option<&KeyHasher> {
        (**self).hasher()
    }

    fn hash_words(&self) -> Option<String> {
        (**self).hash_words()
    }

    #[inline]
    fn hash_key(&self, key: &[u8]) -> KeyHash {
        (**self).hash_key(key)
    }

    #[inline]
    fn route(&self, key: &[u8]) -> Option<&Node> {
        (**self).route(key)
    }

    fn walk(&self, key: KeyHash, visit: &mut dyn FnMut(NodeId) -> ControlFlow<()>) {
        (**self).walk(key, visit);
    }

    #[inline]
    fn route_batch(&self, keys: &[KeyHash], out: &mut [Option<NodeId>]) {
        (**self).route_batch(keys, out);
    }

    fn replicas(&self, key: KeyHash, n: usize, spread: Spread) -> SmallVec<[NodeId; 8]> {
        (**self).replicas(key, n, spread)
    }

    fn replicas_into(&self, key: KeyHash, spread: Spread, out: &mut [Option<NodeId>]) -> usize {
        (**self).replicas_into(key, spread, out)
    }

    fn place(&self, key: KeyHash) -> Option<NodeId> {
        (**self).place(key)
    }

    fn keeps_loads(&self) -> bool {
        (**self).keeps_loads()
    }

    fn shares(&self) -> Option<Vec<f64>> {
        (**self).shares()
    }

    fn ranges(&self) -> Option<HashRanges> {
        (**self).ranges()
    }

    fn explain(&self, key: KeyHash) -> Vec<(&'static str, String)> {
        (**self).explain(key)
    }

    fn heap_bytes(&self) -> usize {
        (**self).heap_bytes()
    }
}

const ROUNDS: u64 = 256;

/// The default walk: the owner, then the owners of the key hashed anew, then whoever was
/// missed, in order of name from a place that the key chooses.
fn walk_by_rehash<R: Router + ?Sized>(
    router: &R,
    key: KeyHash,
    visit: &mut dyn FnMut(NodeId) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let nodes = router.nodes();
    if let Some(owner) = router.route_hash(key) {
        visit(owner)?;
    }
    // Twice the members finds most of them, and so many rounds all of a short list; the sweep
    // below finds the rest. Without a limit, one node of nearly all the weight would cost a large
    // cluster a lookup for each of the others.
    for round in 1..=ROUNDS.min(2 * nodes.weighted() as u64) {
        if let Some(id) = router.route_hash(key.rehash(round)) {
            visit(id)?;
        }
    }
    let start = scale(key.rehash(0).get(), nodes.weighted());
    let members = || {
        nodes
            .iter()
            .filter(|(_, node)| node.weight() > 0)
            .map(|(id, _)| id)
    };
    members()
        .skip(start)
        .chain(members().take(start))
        .try_for_each(visit)
}
