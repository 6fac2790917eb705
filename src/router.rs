//! The trait that every router implements: lookups, changes and facts.

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

/// Answers which node owns a key: the trait behind every strategy, dialect and wrapper.
///
/// Consistent hashing, sharding, partitioning and load balancing all ask this question. The trait
/// is dyn-compatible, so a program can hold a `Box<dyn Router>` and choose the strategy in its
/// configuration. Three methods are required. The others have defaults, which a router overrides
/// where it has a faster way.
///
/// | group | methods (required ones in bold) |
/// |---|---|
/// | lookups | [`hash_key`](Self::hash_key), **[`route_hash`](Self::route_hash)**, [`route`](Self::route), [`route_batch`](Self::route_batch), [`walk`](Self::walk), [`replicas_into`](Self::replicas_into) |
/// | changes | **[`apply`](Self::apply)** |
/// | facts | **[`nodes`](Self::nodes)**, [`hash_id`](Self::hash_id), [`ranges`](Self::ranges), [`loads`](Self::loads), [`explain`](Self::explain), [`heap_bytes`](Self::heap_bytes) |
///
/// [`RouterExt`](crate::RouterExt) returns preference lists (the replicas of a key) by value.
/// Lookups take `&self`, never allocate and never panic. `hash_key` turns a key into a
/// [`KeyHash`]. It returns `None` for a key that the router does not route: such a key has no
/// owner, no replicas and no load.
///
/// # Implementors
///
/// Two routers with the same members give the same answer in every process, on every platform and
/// in every version, as long as they also share what their [`Caps`](crate::registry::Caps) name.
/// A router that does not hash keys with [`KeyHash::from_bytes`] (XXH3, no seed) overrides both
/// `hash_key` and `hash_id`. No router overrides `route`. A wrapper uses
/// [`forward_router!`](crate::forward_router), which forwards every method.
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

    /// Hashes a key with the hash function of this router. `None` for a key that the router does
    /// not route, such as the empty key in nginx, or a key that is not a number in Guava.
    #[expect(clippy::inline_always, reason = "a call costs a third of the hash")]
    #[inline(always)]
    fn hash_key(&self, key: &[u8]) -> Option<KeyHash> {
        Some(KeyHash::from_bytes(key))
    }

    /// Returns the owner of a key hash; `None` if no node can take the key.
    fn route_hash(&self, key: KeyHash) -> Option<NodeId>;

    /// Returns the owner of a key. Most programs need only this method. For every router it
    /// equals `route_hash(hash_key(key)?)`.
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

    /// Routes many keys at once: `out[i]` becomes the owner of `keys[i]`. Stops at the end of the
    /// shorter slice.
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

    /// Offers the nodes of the key's preference list, the owner first, until `visit` breaks. May
    /// offer a node several times. Offers every member with a weight above 0 at least once.
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

    /// Replaces the contents of `out` by the first `n` distinct nodes of the key's preference list:
    /// its replicas, the owner first. The list for `n` is a prefix of the list for `n + 1`. It is
    /// shorter than `n` only if fewer nodes have a weight above 0. Allocates only if `out` has to
    /// grow, so a reused list stops allocating.
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

    /// Applies one change to the members, completely or not at all.
    ///
    /// # Errors
    /// The errors of [`Nodes::apply`], and those of the strategy, which its own page lists. After
    /// an error the router is as it was before.
    ///
    /// ```
    /// # use hashroute::{Change, Ring, Router};
    /// let mut ring = Ring::new(["a", "b"])?;
    /// ring.apply(&Change::remove("a"))?;
    /// assert!(ring.apply(&Change::add("b")).is_err()); // there is a "b"
    /// assert_eq!(ring.nodes().len(), 1);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    fn apply(&mut self, change: &Change) -> Result<(), Error>;

    // --- Facts ---

    /// Returns the members.
    fn nodes(&self) -> &Nodes;

    /// Returns the identity of the hash function of [`hash_key`](Self::hash_key). Two routers with
    /// equal identities give every key the same hash.
    fn hash_id(&self) -> HashId {
        HashId::Spread(KeyHasher::default())
    }

    /// Returns the hash space as ranges with their owners, for routers that consist of arcs, cells
    /// or slots. `None` for routers that compute each hash on its own (scores, jump, loads). For
    /// every hash, [`HashRanges::owner`] equals [`route_hash`](Self::route_hash). Allocates.
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

    /// Returns the loads of a router that balances by load, such as
    /// [`BoundedLoad`](crate::BoundedLoad): the owner of a key then depends on the keys placed
    /// before. `None` for a router that counts nothing.
    fn loads(&self) -> Option<&dyn Loads> {
        None
    }

    /// Describes how a key finds its owner, for people and not for programs. Allocates.
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

    /// Returns the number of bytes on the heap, without the overhead of the allocator.
    fn heap_bytes(&self) -> usize {
        self.nodes().heap_bytes()
    }
}

/// Describes how a key finds its owner: (name, value) pairs, in order.
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

/// Walks without knowledge of the strategy: the owner, then the owners of the key hashed again,
/// then all members in order of name, from an index that the key chooses.
fn walk_by_rehash<R: Router + ?Sized>(
    router: &R,
    key: KeyHash,
    visit: &mut dyn FnMut(NodeId) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let nodes = router.nodes();
    if let Some(owner) = router.route_hash(key) {
        visit(owner)?;
    }
    // Two rounds for each member find most members, and 256 rounds fill any short list. The sweep
    // below finds the rest. Without the limit, a large cluster in which one node has nearly all
    // the weight would pay a lookup for each of the other nodes.
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
