//! The trait that every router implements: what a program asks, and what a wrapper forwards.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Debug;
use core::ops::{ControlFlow, Deref};

use crate::hash::scale;
use crate::replicas;
use crate::{
    Change, Error, HashId, HashRanges, KeyHash, KeyHasher, Loads, Node, NodeId, NodeList, Nodes,
    Spread,
};

/// Given a key and a set of nodes, which node?
///
/// Dyn-compatible: a program may hold a `Box<dyn Router>` and let its configuration choose.
/// Three methods are required; the others follow from them and are overridden where a router does
/// better.
///
/// | group | methods (required ones in bold) |
/// |---|---|
/// | lookups | [`hash_key`](Self::hash_key), **[`route_hash`](Self::route_hash)**, [`route`](Self::route), [`route_batch`](Self::route_batch), [`walk`](Self::walk), [`replicas_into`](Self::replicas_into) |
/// | changes | **[`apply`](Self::apply)** |
/// | facts | **[`nodes`](Self::nodes)**, [`hash_id`](Self::hash_id), [`ranges`](Self::ranges), [`loads`](Self::loads), [`explain`](Self::explain), [`heap_bytes`](Self::heap_bytes) |
///
/// [`RouterExt`](crate::RouterExt) adds preference lists by value. Lookups take `&self`, never
/// allocate and never panic. A key becomes a [`KeyHash`] through `hash_key`, which is `None` for a
/// key that the router does not route: such a key has no owner, no replicas and no load.
///
/// # Implementors
///
/// The same members, in a state that the router's [`Caps`](crate::registry::Caps) call shared, give
/// the same answer in every process, on every platform and in every version. A router that hashes
/// keys otherwise than by [`KeyHash::from_bytes`] (XXH3, no seed) overrides both `hash_key` and
/// `hash_id`. Nobody overrides `route`. A wrapper uses
/// [`forward_router!`](crate::forward_router), which forgets no method.
///
/// ```
/// use hashroute::{Jump, Rendezvous, Ring, Router};
///
/// let nodes = ["a", "b", "c"];
/// let routers: Vec<Box<dyn Router>> =
///     vec![Box::new(Ring::new(nodes)?), Box::new(Rendezvous::new(nodes)?), Box::new(Jump::new(nodes)?)];
/// for router in &routers {
///     assert!(router.route(b"user:42").is_some());
/// }
/// # Ok::<(), hashroute::Error>(())
/// ```
pub trait Router: Debug + Send + Sync {
    // --- Lookups ---

    /// Hashes a key as this router does. `None` for a key that it does not route, such as the
    /// empty key in nginx, or a key that is no number in Guava.
    ///
    /// ```
    /// # use hashroute::{KeyHash, Ring, Router};
    /// let ring = Ring::new(["a"])?;
    /// assert_eq!(ring.hash_key(b"key"), Some(KeyHash::from_bytes(b"key")));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    #[expect(clippy::inline_always, reason = "a call costs a third of the hash")]
    #[inline(always)]
    fn hash_key(&self, key: &[u8]) -> Option<KeyHash> {
        Some(KeyHash::from_bytes(key))
    }

    /// Returns the owner of a key that is hashed already; `None` when no node can take it.
    ///
    /// ```
    /// # use hashroute::{KeyHash, Node, Ring, Router};
    /// let ring = Ring::new([] as [Node; 0])?;
    /// assert_eq!(ring.route_hash(KeyHash::from_bytes(b"key")), None);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    fn route_hash(&self, key: KeyHash) -> Option<NodeId>;

    /// Returns the owner of a key: the call that most users make. It is
    /// `route_hash(hash_key(key)?)` for every router.
    ///
    /// ```
    /// # use hashroute::{Ring, Router};
    /// let ring = Ring::new(["a", "b"])?;
    /// let node = ring.route(b"user:42").expect("a node with weight");
    /// assert!(["a", "b"].contains(&node.name()));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    #[inline]
    fn route(&self, key: &[u8]) -> Option<&Node> {
        self.nodes().get(self.route_hash(self.hash_key(key)?)?)
    }

    /// Routes many keys at once: `out[i]` becomes the owner of `keys[i]`, as far as the shorter of
    /// the two slices reaches.
    ///
    /// ```
    /// # use hashroute::{KeyHash, Ring, Router};
    /// let ring = Ring::new(["a", "b"])?;
    /// let keys = [1, 2, 3].map(KeyHash::from_integer);
    /// let mut owners = [None; 3];
    /// ring.route_batch(&keys, &mut owners);
    /// assert_eq!(owners, keys.map(|key| ring.route_hash(key)));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    fn route_batch(&self, keys: &[KeyHash], out: &mut [Option<NodeId>]) {
        for (owner, &key) in out.iter_mut().zip(keys) {
            *owner = self.route_hash(key);
        }
    }

    /// Offers nodes in the key's order of preference, the owner first, until `visit` breaks. A
    /// node may be offered several times; every member with weight is offered at least once.
    ///
    /// ```
    /// # use core::ops::ControlFlow;
    /// # use hashroute::{KeyHash, Ring, Router};
    /// let ring = Ring::new(["a", "b"])?;
    /// let mut seen = std::collections::BTreeSet::new();
    /// ring.walk(KeyHash::from_bytes(b"user:42"), &mut |id| {
    ///     seen.insert(id);
    ///     ControlFlow::Continue(())
    /// });
    /// assert_eq!(seen.len(), 2);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    fn walk(&self, key: KeyHash, visit: &mut dyn FnMut(NodeId) -> ControlFlow<()>) {
        let _ = walk_by_rehash(self, key, visit);
    }

    /// Writes the first `n` distinct nodes of the key's preference list into `out`, whose contents
    /// it replaces. The list for `n` is a prefix of the list for `n + 1`; it is shorter only when
    /// fewer nodes have weight. Allocates only where `out` has to grow, so a list that is reused
    /// stops allocating.
    ///
    /// ```
    /// # use hashroute::{KeyHash, NodeList, Ring, Router, Spread};
    /// let ring = Ring::new(["a", "b"])?;
    /// let mut list = NodeList::new();
    /// ring.replicas_into(KeyHash::from_bytes(b"user:42"), 3, Spread::Nodes, &mut list);
    /// assert_eq!(list.len(), 2);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    #[inline]
    fn replicas_into(&self, key: KeyHash, n: usize, spread: Spread, out: &mut NodeList) {
        replicas::fill(self, key, n, spread, out);
    }

    // --- Changes ---

    /// Makes one change, wholly or not at all.
    ///
    /// # Errors
    /// What [`Nodes::apply`] refuses, and what the strategy cannot do: its page says which.
    /// Nothing has changed then.
    ///
    /// ```
    /// # use hashroute::{Change, Ring, Router};
    /// let mut ring = Ring::new(["a"])?;
    /// assert!(ring.apply(&Change::add("a")).is_err());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    fn apply(&mut self, change: &Change) -> Result<(), Error>;

    // --- Facts ---

    /// Returns the members.
    fn nodes(&self) -> &Nodes;

    /// Returns the identity of the function behind [`hash_key`](Self::hash_key): two routers with
    /// equal identities give every key the same hash.
    ///
    /// ```
    /// # use hashroute::{HashFunction, KeyHasher, Ring, Router};
    /// let ring = Ring::new(["a"])?;
    /// assert_eq!(ring.hash_id().hasher().map(KeyHasher::function), Some(HashFunction::Xxh3));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    fn hash_id(&self) -> HashId {
        HashId::Spread(KeyHasher::default())
    }

    /// Returns the whole hash space by owner, where the structure gives it (arcs, cells, slots);
    /// `None` where every hash has a way of its own (scores, jump, loads). [`HashRanges::owner`] of
    /// every hash is [`route_hash`](Self::route_hash). Allocates.
    ///
    /// ```
    /// # use hashroute::{KeyHash, Maglev, Router};
    /// let router = Maglev::new(["a", "b"])?;
    /// let ranges = router.ranges().expect("a table has cells");
    /// let key = KeyHash::from_bytes(b"user:42");
    /// assert_eq!(ranges.owner(key), router.route_hash(key));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    fn ranges(&self) -> Option<HashRanges> {
        None
    }

    /// Returns the loads, where the owner of a key depends on the keys placed before it. `None`
    /// where it does not: nothing is counted.
    ///
    /// ```
    /// # use hashroute::{BoundedLoad, Ring, Router};
    /// let ring = Ring::new(["a"])?;
    /// assert!(ring.loads().is_none() && BoundedLoad::new(ring, 1.25)?.loads().is_some());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    fn loads(&self) -> Option<&dyn Loads> {
        None
    }

    /// Describes a key's way to its owner: for people, not for programs. Allocates.
    ///
    /// ```
    /// # use hashroute::{KeyHash, Ring, Router};
    /// let ring = Ring::new(["a"])?;
    /// assert!(ring.explain(KeyHash::from_bytes(b"key")).iter().any(|(name, _)| *name == "point"));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    fn explain(&self, key: KeyHash) -> Explanation {
        let _ = key;
        Explanation::default()
    }

    /// Returns the bytes on the heap, without the allocator's overhead.
    fn heap_bytes(&self) -> usize {
        self.nodes().heap_bytes()
    }
}

/// The facts of a key's way to its owner, in order: (name, value) pairs.
///
/// ```
/// let explanation = hashroute::Explanation::default().with("slot", "7 of 16384");
/// assert_eq!(explanation[0], ("slot", String::from("7 of 16384")));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explanation(Vec<(&'static str, String)>);

impl Explanation {
    /// Adds a fact at the end.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.push(name, value);
        self
    }

    /// Adds a fact at the end.
    pub fn push(&mut self, name: &'static str, value: impl Into<String>) {
        self.0.push((name, value.into()));
    }
}

impl FromIterator<(&'static str, String)> for Explanation {
    fn from_iter<I: IntoIterator<Item = (&'static str, String)>>(facts: I) -> Self {
        Self(facts.into_iter().collect())
    }
}

impl Deref for Explanation {
    type Target = [(&'static str, String)];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl IntoIterator for Explanation {
    type Item = (&'static str, String);
    type IntoIter = alloc::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

const ROUNDS: u64 = 256;

/// The default walk: the owner, then the owners of the key hashed anew, then whoever was
/// missed, in order of name from an index that the key chooses.
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
