//! Pools: routers that behave like a real system.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt::{self, Debug};
use core::ops::ControlFlow;

use super::Layout;
use crate::digest::Digest;
use crate::load::Counters;
use crate::{
    Change, Error, Explanation, HashId, HashRanges, KeyHash, Lease, Loads, NodeId, Nodes, Router,
    Server, SystemHash,
};

/// The routing rules of a real system. The implementor's fields are the system's options.
///
/// ```
/// use hashroute::compat::{Layout, Pool, Server, System};
/// use hashroute::{Error, Node, NodeId, Router};
///
/// /// The length of the key, modulo the number of servers.
/// #[derive(Clone, Debug)]
/// struct Lengths;
///
/// impl System for Lengths {
///     fn layout(&self, servers: &[(NodeId, Server)]) -> Result<Layout, Error> {
///         Layout::cells(64, servers.iter().map(|(id, _)| *id).collect())
///     }
///
///     fn hash(&self, key: &[u8], _: &[(NodeId, Server)], _: &Layout) -> Option<u64> {
///         Some(key.len() as u64)
///     }
/// }
///
/// let pool = Pool::new(Lengths, ["a", "b"].map(Server::new))?;
/// assert_eq!(pool.route(b"odd").map(Node::name), Some("b"));
/// # Ok::<(), Error>(())
/// ```
pub trait System: Debug + Send + Sync + 'static {
    /// Builds the layout of the servers, which are in the order of the configuration. A server that
    /// is down must not own anything.
    ///
    /// # Errors
    /// [`Error`] for a server, or a number of servers, that the system refuses.
    fn layout(&self, servers: &[(NodeId, Server)]) -> Result<Layout, Error>;

    /// Returns the hash of a key, with the same number of bits as in the system; `None` for a key
    /// that the system does not route by its bytes.
    fn hash(&self, key: &[u8], servers: &[(NodeId, Server)], layout: &Layout) -> Option<u64>;

    /// Returns the identity of the hash function. If two systems have equal identities, each with
    /// its own servers and layout, they give every key the same [hash](Self::hash), and hashes are
    /// uniform over the bits of the layout. The default, `None`, promises nothing: it is for a hash
    /// that depends on the servers, or that has fewer bits.
    ///
    /// ```
    /// use hashroute::compat::{Pool, Server, twemproxy::Twemproxy};
    /// use hashroute::{Basis, Router, diff};
    ///
    /// let pool = |names: &[&str]| Pool::new(Twemproxy::default(), names.iter().map(|&name| Server::new(name)));
    /// let (old, new) = (pool(&["a:1", "b:1"])?, pool(&["a:1", "b:1", "c:1"])?);
    /// assert_eq!(old.hash_id(), new.hash_id());
    /// assert_eq!(diff(&old, &new)?.basis(), Basis::Hashes);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    fn hash_id(&self, servers: &[(NodeId, Server)], layout: &Layout) -> Option<SystemHash> {
        let _ = (servers, layout);
        None
    }

    /// Returns facts about a hash in the form in which the system prints them. The default has none.
    ///
    /// ```
    /// use hashroute::Router;
    /// use hashroute::compat::{Pool, Server, cassandra::Cassandra};
    ///
    /// let pool = Pool::new(Cassandra::default(), ["a", "b"].map(Server::new))?;
    /// let key = pool.hash_key(b"user:1").expect("every key has a token");
    /// let facts = pool.explain(key);
    /// assert_eq!(facts[0], ("token", "6120565781388772718".into()));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    fn explain(&self, hash: u64) -> Explanation {
        let _ = hash;
        Explanation::default()
    }

    /// Returns whether [`choose`](Self::choose) depends on loads. The default is `false`.
    fn looks_at_loads(&self) -> bool {
        false
    }

    /// Returns the server for a hash, given the number of requests that each server holds now. The
    /// default is the owner; systems that bound loads override it.
    ///
    /// ```
    /// use hashroute::compat::{Pool, Server, haproxy::HaProxy};
    /// use hashroute::Router;
    ///
    /// let pool = Pool::new(HaProxy::default(), ["10.0.0.1:80"].map(Server::new))?;
    /// let key = pool.hash_key(b"key").expect("every key has a hash");
    /// assert_eq!(pool.choose(key, &|_| 9), pool.route_hash(key));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    fn choose(
        &self,
        hash: u64,
        servers: &[(NodeId, Server)],
        layout: &Layout,
        loads: &dyn Fn(NodeId) -> u64,
    ) -> Option<NodeId> {
        let _ = (servers, loads);
        layout.owner(hash)
    }
}

/// A router that sends each key to the same server as a real [`System`].
///
/// The `KeyHash` of a key is the value that the system computes, with all its limits, such as 32
/// bits. A key that the system does not route by its bytes (nginx: the empty key) has no hash. Every
/// change builds the layout again, as a change of the system's configuration does.
///
/// If the system bounds loads, the pool counts each [acquired](Loads::acquire) lease until it is
/// [released](Loads::release), and routes a key to the server that the system would choose now.
/// [`choose`](Self::choose) takes the loads from the caller instead.
///
/// ```
/// use hashroute::compat::{Pool, Server, nginx::Nginx};
/// use hashroute::{Change, Node, Router};
///
/// let mut pool = Pool::new(Nginx::default(), ["10.0.0.1:80", "10.0.0.2:80"].map(Server::new))?;
/// pool.apply(&Change::reweight("10.0.0.1:80", 0))?; // down
/// assert_eq!(pool.route(b"key").map(Node::name), Some("10.0.0.2:80"));
/// # Ok::<(), hashroute::Error>(())
/// ```
pub struct Pool {
    system: Box<dyn System>,
    nodes: Nodes,
    /// In the order of the configuration.
    servers: Vec<(NodeId, Server)>,
    layout: Layout,
    /// The number of leases on each server; empty if the system does not depend on loads.
    loads: Counters,
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            system,
            nodes,
            servers,
            layout,
            loads,
        } = self;
        f.debug_struct("Pool")
            .field("system", system)
            .field("nodes", nodes)
            .field("servers", &Digest(servers.len(), servers))
            .field("layout", layout)
            .field("loads", loads)
            .finish()
    }
}

impl Pool {
    /// Builds a pool of these servers, which are in the order of the configuration.
    ///
    /// # Errors
    /// Those of [`Nodes::new`] and of [`System::layout`].
    pub fn new(
        system: impl System,
        servers: impl IntoIterator<Item = Server>,
    ) -> Result<Self, Error> {
        let servers: Vec<_> = servers.into_iter().collect();
        let nodes = Nodes::new(servers.iter().map(Server::to_node))?;
        let servers = with_ids(&nodes, servers);
        let counted = if system.looks_at_loads() {
            nodes.id_bound()
        } else {
            0
        };
        Ok(Self {
            layout: system.layout(&servers)?,
            loads: Counters::new(counted),
            system: Box::new(system),
            nodes,
            servers,
        })
    }

    /// Returns the servers in the order of the configuration.
    pub fn servers(&self) -> impl Iterator<Item = &Server> {
        self.servers.iter().map(|(_, server)| server)
    }

    /// Returns the layout of the servers.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the server that the system chooses for a key if the servers have these loads, in
    /// requests. Ignores the pool's own counts.
    ///
    /// ```
    /// use hashroute::compat::{Pool, Server, haproxy::HaProxy};
    /// use hashroute::Router;
    ///
    /// let system = HaProxy::default().with_balance_factor(125);
    /// let pool = Pool::new(system, ["s1", "s2"].map(Server::new))?;
    /// let key = pool.hash_key(b"key").expect("every key has a hash");
    /// let idle = pool.choose(key, &|_| 0);
    /// let busy = pool.choose(key, &|id| if Some(id) == idle { 50 } else { 0 });
    /// assert_ne!(idle, busy);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn choose(&self, key: KeyHash, loads: &dyn Fn(NodeId) -> u64) -> Option<NodeId> {
        self.system
            .choose(key.get(), &self.servers, &self.layout, loads)
    }
}

/// Counts leases if the system bounds loads. Otherwise, nothing is counted, and [`Router::loads`]
/// returns `None`.
impl Loads for Pool {
    fn acquire(&self, key: &[u8]) -> Option<Lease> {
        self.acquire_hash(self.hash_key(key)?)
    }

    fn acquire_hash(&self, key: KeyHash) -> Option<Lease> {
        self.acquire_on(self.route_hash(key)?)
    }

    fn acquire_on(&self, id: NodeId) -> Option<Lease> {
        self.nodes.get(id)?;
        self.loads.acquire(id, usize::MAX)
    }

    fn release(&self, lease: Lease) -> bool {
        self.loads.release(lease)
    }

    fn load(&self, id: NodeId) -> u64 {
        self.loads.load(id) as u64
    }

    fn total_load(&self) -> u64 {
        self.loads.total()
    }
}

/// Returns the servers with their node ids.
fn with_ids(nodes: &Nodes, servers: Vec<Server>) -> Vec<(NodeId, Server)> {
    let servers = servers.into_iter();
    let with_id = servers.map(|server| Some((nodes.id(server.name())?, server)));
    with_id.flatten().collect()
}

impl Router for Pool {
    fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    fn hash_id(&self) -> HashId {
        let hash = self.system.hash_id(&self.servers, &self.layout);
        hash.map_or(HashId::PerKey, HashId::System)
    }

    fn hash_key(&self, key: &[u8]) -> Option<KeyHash> {
        let hash = self.system.hash(key, &self.servers, &self.layout)?;
        Some(KeyHash::from_raw(hash))
    }

    fn route_hash(&self, key: KeyHash) -> Option<NodeId> {
        if self.loads.is_empty() {
            return self.layout.owner(key.get());
        }
        self.choose(key, &|id| self.load(id))
    }

    fn apply(&mut self, change: &Change) -> Result<(), Error> {
        let nodes = self.nodes.after(change)?;
        let mut servers: Vec<_> = self.servers().cloned().collect();
        Server::change(&mut servers, change);
        let servers = with_ids(&nodes, servers);
        let layout = self.system.layout(&servers)?;
        let left = self.nodes.leaving(change);
        (self.nodes, self.servers, self.layout) = (nodes, servers, layout);
        if self.system.looks_at_loads() {
            self.loads.follow(left, self.nodes.id_bound());
        }
        Ok(())
    }

    fn walk(&self, key: KeyHash, visit: &mut dyn FnMut(NodeId) -> ControlFlow<()>) {
        if !self.loads.is_empty() {
            if let Some(ControlFlow::Break(())) = self.route_hash(key).map(&mut *visit) {
                return;
            }
        }
        if self.layout.walk(key, visit).is_continue() {
            // Every weighted member must be visited once, but a layout may give a server no point
            // at all, whatever its weight.
            let members = self.nodes.iter().filter(|(_, node)| node.weight() > 0);
            let _ = members.map(|(id, _)| id).try_for_each(visit);
        }
    }

    fn loads(&self) -> Option<&dyn Loads> {
        (!self.loads.is_empty()).then_some(self as &dyn Loads)
    }

    fn ranges(&self) -> Option<HashRanges> {
        self.loads.is_empty().then_some(())?;
        self.layout.ranges()
    }

    fn explain(&self, key: KeyHash) -> Explanation {
        let facts = self.system.explain(key.get()).into_iter();
        facts.chain(self.layout.explain(key.get())).collect()
    }

    fn heap_bytes(&self) -> usize {
        let servers = self.servers.iter().map(|(_, server)| {
            size_of::<(NodeId, Server)>() + server.name().len() + server.label().len()
        });
        self.nodes.heap_bytes()
            + servers.sum::<usize>()
            + self.layout.heap_bytes()
            + self.loads.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compat::haproxy::HaProxy;

    #[test]
    fn a_pool_that_bounds_loads_has_no_ranges() -> Result<(), Error> {
        for (balance_factor, known) in [(0, true), (125, false)] {
            let system = HaProxy {
                balance_factor,
                ..HaProxy::default()
            };
            let pool = Pool::new(system, ["s1", "s2"].map(Server::new))?;
            assert_eq!(pool.ranges().is_some(), known, "{balance_factor}");
            assert_eq!(pool.loads().is_some(), !known, "{balance_factor}");
        }
        Ok(())
    }

    #[test]
    fn a_server_that_is_down_stays_down_with_a_weight() {
        let server = Server::new("a").down().with_weight(3);
        assert!(server.is_down());
        assert_eq!((server.weight(), server.to_node().weight()), (3, 0));
    }
}
