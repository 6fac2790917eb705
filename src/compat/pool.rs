//! A pool of servers that routes as a real system does.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Debug;
use core::ops::ControlFlow;
use core::sync::atomic::Ordering::Relaxed;

use super::Layout;
use crate::wrap::bounded::{Counter, Lease};
use crate::{Change, Error, HashRanges, KeyHash, KeyHasher, Node, NodeId, Nodes, Router};

/// A server as a system's configuration has it.
///
/// ```
/// use hashroute::compat::Server;
/// let server = Server::new("10.0.0.1:6379").with_weight(2).with_label("cache-a");
/// assert_eq!((server.name(), server.label(), server.weight()), ("10.0.0.1:6379", "cache-a", 2));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    node: Node,
    label: Option<Box<str>>,
    down: bool,
}

impl Server {
    /// A server of weight 1 that is up and whose name is its label.
    ///
    /// ```
    /// assert!(!hashroute::compat::Server::new("10.0.0.1:80").is_down());
    /// ```
    pub fn new(name: impl Into<Box<str>>) -> Self {
        Node::new(name).into()
    }

    /// The same server with this weight; 0 is down.
    ///
    /// ```
    /// assert_eq!(hashroute::compat::Server::new("a").with_weight(3).weight(), 3);
    /// ```
    #[must_use]
    pub fn with_weight(self, weight: u32) -> Self {
        Self {
            down: self.down || weight == 0,
            node: self.node.with_weight(weight),
            ..self
        }
    }

    /// The same server with what the system hashes in place of its name.
    ///
    /// ```
    /// assert_eq!(hashroute::compat::Server::new("a").with_label("b").label(), "b");
    /// ```
    #[must_use]
    pub fn with_label(self, label: impl Into<Box<str>>) -> Self {
        Self {
            label: Some(label.into()),
            ..self
        }
    }

    /// The same server, down: known to the system with its weight, and passed over.
    ///
    /// ```
    /// assert!(hashroute::compat::Server::new("a").down().is_down());
    /// ```
    #[must_use]
    pub fn down(self) -> Self {
        Self { down: true, ..self }
    }

    /// The name: by default the address, as the system's configuration has it.
    ///
    /// ```
    /// assert_eq!(hashroute::compat::Server::new("a").name(), "a");
    /// ```
    pub fn name(&self) -> &str {
        self.node.name()
    }

    /// What the system hashes for it: its label, or its name.
    ///
    /// ```
    /// assert_eq!(hashroute::compat::Server::new("a").label(), "a");
    /// ```
    pub fn label(&self) -> &str {
        self.own_label().unwrap_or(self.name())
    }

    /// The label, if it has one.
    ///
    /// ```
    /// assert_eq!(hashroute::compat::Server::new("a").own_label(), None);
    /// ```
    pub fn own_label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    /// The weight in the configuration, which a server that is down keeps.
    ///
    /// ```
    /// assert_eq!(hashroute::compat::Server::new("a").down().weight(), 1);
    /// ```
    pub fn weight(&self) -> u32 {
        self.node.weight()
    }

    /// Whether it is down.
    ///
    /// ```
    /// assert!(hashroute::compat::Server::new("a").with_weight(0).is_down());
    /// ```
    pub fn is_down(&self) -> bool {
        self.down
    }

    /// As a member of a router: one that is down weighs nothing.
    ///
    /// ```
    /// assert_eq!(hashroute::compat::Server::new("a").down().to_node().weight(), 0);
    /// ```
    pub fn to_node(&self) -> Node {
        let weight = if self.down { 0 } else { self.weight() };
        self.node.clone().with_weight(weight)
    }
}

/// Its name is what the system's configuration calls the server; weight 0 is down.
///
/// ```
/// use hashroute::{Node, compat::Server};
/// assert!(Server::from(Node::new("a").with_weight(0)).is_down());
/// ```
impl From<Node> for Server {
    fn from(node: Node) -> Self {
        Self {
            down: node.weight() == 0,
            node,
            label: None,
        }
    }
}

/// How a real system routes: its options are the fields of the implementor.
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
    /// Where the servers are, given all of them in the order of the configuration. Those that
    /// are down must not own anything.
    ///
    /// # Errors
    /// [`Error`] for a server or a number of them that the system does not take.
    ///
    /// ```
    /// # use hashroute::{Error, NodeId, compat::{Layout, Server, System}};
    /// # #[derive(Debug)] struct Nobody;
    /// # impl System for Nobody {
    /// fn layout(&self, _: &[(NodeId, Server)]) -> Result<Layout, Error> {
    ///     Layout::cells(32, Vec::new())
    /// }
    /// #     fn hash(&self, _: &[u8], _: &[(NodeId, Server)], _: &Layout) -> Option<u64> { None }
    /// # }
    /// ```
    fn layout(&self, servers: &[(NodeId, Server)]) -> Result<Layout, Error>;

    /// The hash of a key, in as many bits as the system's own; `None` for a key that the system
    /// does not route by its bytes.
    ///
    /// ```
    /// # use hashroute::{Error, NodeId, compat::{Layout, Server, System}};
    /// # #[derive(Debug)] struct First;
    /// # impl System for First {
    /// #     fn layout(&self, _: &[(NodeId, Server)]) -> Result<Layout, Error> { Layout::cells(32, Vec::new()) }
    /// fn hash(&self, key: &[u8], _: &[(NodeId, Server)], _: &Layout) -> Option<u64> {
    ///     key.first().copied().map(u64::from)
    /// }
    /// # }
    /// ```
    fn hash(&self, key: &[u8], servers: &[(NodeId, Server)], layout: &Layout) -> Option<u64>;

    /// What decides the hash of every key, in words: two systems that say the same, each of its
    /// own servers and layout, give every key the same [hash](Self::hash), and their hashes
    /// fill the bits of the layout. `None`, as by default, promises nothing: of a hash that
    /// looks at the servers, or of a function with fewer bits.
    ///
    /// ```
    /// use hashroute::compat::{Pool, Server, twemproxy::Twemproxy};
    /// use hashroute::{Basis, Router, diff};
    ///
    /// let pool = |names: &[&str]| Pool::new(Twemproxy::default(), names.iter().map(|&name| Server::new(name)));
    /// let (old, new) = (pool(&["a:1", "b:1"])?, pool(&["a:1", "b:1", "c:1"])?);
    /// assert!(old.hash_words().is_some() && old.hash_words() == new.hash_words());
    /// assert_eq!(diff(&old, &new)?.basis(), Basis::Hashes);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    fn hash_words(&self, servers: &[(NodeId, Server)], layout: &Layout) -> Option<String> {
        let _ = (servers, layout);
        None
    }

    /// Whether [`choose`](Self::choose) looks at loads.
    ///
    /// ```
    /// use hashroute::compat::{System, haproxy::HaProxy};
    /// assert!(!HaProxy::default().looks_at_loads());
    /// ```
    fn looks_at_loads(&self) -> bool {
        false
    }

    /// The server for a hash, given how many requests each server has at this moment: the owner,
    /// unless the system bounds loads.
    ///
    /// ```
    /// use hashroute::compat::{Pool, Server, haproxy::HaProxy};
    /// use hashroute::Router;
    ///
    /// let pool = Pool::new(HaProxy::default(), ["10.0.0.1:80"].map(Server::new))?;
    /// let key = pool.hash_key(b"key");
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

/// A router that sends each key where a real [`System`] does.
///
/// The `KeyHash` of a key is the system's own value, as narrow as it is. What the system does
/// not route by the key's bytes (nginx: the empty key) has no owner here; where its hashes fill
/// all 64 bits, [`route`](Router::route) alone knows that, since no `KeyHash` is left to say it.
/// Every change makes the layout anew, as a change of the configuration does.
///
/// Where the system bounds loads, the pool counts what it [acquires](Self::acquire) until that is
/// [released](Self::release), and the owner of a key is the server that the system would choose
/// now; what it [places](Router::place) stays until the server leaves. [`choose`](Self::choose) takes the loads from whoever knows them.
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
#[derive(Debug)]
pub struct Pool {
    system: Box<dyn System>,
    nodes: Nodes,
    /// In the order of the configuration.
    servers: Vec<(NodeId, Server)>,
    layout: Layout,
    /// What is placed on each server, by index; empty where the system does not look at it.
    loads: Vec<Counter>,
}

impl Pool {
    /// A pool of these servers, in the order of the configuration.
    ///
    /// # Errors
    /// As [`Nodes::new`], and what the system refuses.
    ///
    /// ```
    /// use hashroute::compat::{Pool, Server, nginx::Nginx};
    /// let twice = ["10.0.0.1:80"; 2].map(Server::new);
    /// assert!(Pool::new(Nginx::default(), twice).is_err());
    /// ```
    pub fn new(
        system: impl System,
        servers: impl IntoIterator<Item = Server>,
    ) -> Result<Self, Error> {
        let servers: Vec<_> = servers.into_iter().collect();
        let nodes = Nodes::new(servers.iter().map(Server::to_node))?;
        let id = |server: &Server| nodes.id(server.name());
        let servers: Vec<_> = servers
            .into_iter()
            .filter_map(|server| Some((id(&server)?, server)))
            .collect();
        let counted = if system.looks_at_loads() {
            nodes.id_bound()
        } else {
            0
        };
        Ok(Self {
            layout: system.layout(&servers)?,
            loads: (0..counted).map(|_| Counter::new()).collect(),
            system: Box::new(system),
            nodes,
            servers,
        })
    }

    /// The servers in the order of the configuration.
    ///
    /// ```
    /// use hashroute::compat::{Pool, Server, nginx::Nginx};
    /// let pool = Pool::new(Nginx::default(), ["b:80", "a:80"].map(Server::new))?;
    /// assert_eq!(pool.servers().next().map(Server::name), Some("b:80"));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn servers(&self) -> impl Iterator<Item = &Server> {
        self.servers.iter().map(|(_, server)| server)
    }

    /// Where the servers are.
    ///
    /// ```
    /// use hashroute::compat::{Pool, Server, nginx::Nginx};
    /// let pool = Pool::new(Nginx::default(), ["a:80", "b:80"].map(Server::new))?;
    /// assert_eq!(pool.layout().len(), 320);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The server that the system chooses for a key when the servers have these loads, in
    /// requests. What the pool itself counts plays no part.
    ///
    /// ```
    /// use hashroute::compat::{Pool, Server, haproxy::HaProxy};
    /// use hashroute::Router;
    ///
    /// let system = HaProxy { balance_factor: 125, ..HaProxy::default() };
    /// let pool = Pool::new(system, ["s1", "s2"].map(Server::new))?;
    /// let key = pool.hash_key(b"key");
    /// let idle = pool.choose(key, &|_| 0);
    /// let busy = pool.choose(key, &|id| if Some(id) == idle { 50 } else { 0 });
    /// assert_ne!(idle, busy);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn choose(&self, key: KeyHash, loads: &dyn Fn(NodeId) -> u64) -> Option<NodeId> {
        self.system
            .choose(key.get(), &self.servers, &self.layout, loads)
    }

    /// How many keys a server holds, placed or acquired and not released; 0 where the system does not look
    /// at loads.
    ///
    /// ```
    /// use hashroute::compat::{Pool, Server, haproxy::HaProxy};
    /// use hashroute::Router;
    ///
    /// let system = HaProxy { balance_factor: 125, ..HaProxy::default() };
    /// let pool = Pool::new(system, ["s1"].map(Server::new))?;
    /// let id = pool.place(pool.hash_key(b"key")).expect("a server that is up");
    /// assert_eq!(pool.load(id), 1);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn load(&self, id: NodeId) -> u64 {
        let load = self.loads.get(id.index());
        load.map_or(0, |counter| counter.load.load(Relaxed) as u64)
    }

    /// Place a key on the server that the system chooses now, and count it there until the lease
    /// is [released](Self::release).
    ///
    /// ```
    /// use hashroute::compat::{Pool, Server, haproxy::HaProxy};
    /// use hashroute::Router;
    ///
    /// let system = HaProxy { balance_factor: 125, ..HaProxy::default() };
    /// let pool = Pool::new(system, ["s1"].map(Server::new))?;
    /// let lease = pool.acquire(pool.hash_key(b"key")).expect("a server that is up");
    /// assert_eq!(pool.load(lease.node()), 1);
    /// assert!(pool.release(lease));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn acquire(&self, key: KeyHash) -> Option<Lease> {
        let id = self.route_hash(key)?;
        let counter = self.loads.get(id.index());
        if let Some(counter) = counter {
            counter.load.fetch_add(1, Relaxed);
        }
        // Counters do not get as far as the last number.
        let stay = counter.map_or(usize::MAX, |counter| counter.stay);
        Some(Lease { id, stay })
    }

    /// Take an acquired key off its server. `false`, and nothing is taken, when the server has
    /// left since, the lease is another router's, or the system does not look at loads.
    ///
    /// ```
    /// use hashroute::compat::{Pool, Server, haproxy::HaProxy};
    /// use hashroute::{Change, Node, Router};
    ///
    /// let system = HaProxy { balance_factor: 125, ..HaProxy::default() };
    /// let mut pool = Pool::new(system, ["s1"].map(Server::new))?;
    /// let lease = pool.acquire(pool.hash_key(b"key")).expect("a server that is up");
    /// pool.apply(&Change::remove("s1"))?;
    /// pool.apply(&Change::Add(Node::new("s1")))?;
    /// assert!(!pool.release(lease));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a lease is spent by giving it back"
    )]
    pub fn release(&self, lease: Lease) -> bool {
        let counter = self.loads.get(lease.id.index());
        let Some(counter) = counter.filter(|counter| counter.stay == lease.stay) else {
            return false;
        };
        counter.load.fetch_sub(1, Relaxed);
        true
    }

    /// A counter for every server; a server that came anew starts at nothing.
    fn recount(&mut self, change: &Change, id: NodeId) {
        if !self.system.looks_at_loads() {
            return;
        }
        self.loads.resize_with(self.nodes.id_bound(), Counter::new);
        if !matches!(change, Change::Reweight(..)) {
            if let Some(load) = self.loads.get_mut(id.index()) {
                *load = Counter::new();
            }
        }
    }
}

/// What stands for a hash where a key has none.
const NONE: u64 = u64::MAX;

impl Router for Pool {
    fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    fn hasher(&self) -> Option<&KeyHasher> {
        None
    }

    fn hash_words(&self) -> Option<String> {
        self.system.hash_words(&self.servers, &self.layout)
    }

    fn hash_key(&self, key: &[u8]) -> KeyHash {
        let hash = self.system.hash(key, &self.servers, &self.layout);
        KeyHash::from_raw(hash.unwrap_or(NONE))
    }

    fn route_hash(&self, key: KeyHash) -> Option<NodeId> {
        if self.loads.is_empty() {
            return self.layout.owner(key.get());
        }
        self.choose(key, &|id| self.load(id))
    }

    fn place(&self, key: KeyHash) -> Option<NodeId> {
        self.acquire(key).map(|lease| lease.node())
    }

    fn keeps_loads(&self) -> bool {
        !self.loads.is_empty()
    }

    fn route(&self, key: &[u8]) -> Option<&Node> {
        let hash = self.system.hash(key, &self.servers, &self.layout)?;
        self.nodes.get(self.route_hash(KeyHash::from_raw(hash))?)
    }

    fn apply(&mut self, change: &Change) -> Result<(), Error> {
        let mut servers = self.servers.clone();
        let mut nodes = self.nodes.clone();
        let id = nodes.apply(change)?;
        match change {
            Change::Add(node) => servers.push((id, Server::from(node.clone()))),
            Change::Remove(_) => servers.retain(|(other, _)| *other != id),
            Change::Reweight(_, weight) => {
                for (_, server) in servers.iter_mut().filter(|(other, _)| *other == id) {
                    server.down = *weight == 0;
                    // One that is down keeps its weight in the configuration.
                    if *weight > 0 {
                        server.node = server.node.clone().with_weight(*weight);
                    }
                }
            }
        }
        let layout = self.system.layout(&servers)?;
        (self.nodes, self.servers, self.layout) = (nodes, servers, layout);
        self.recount(change, id);
        Ok(())
    }

    fn walk(&self, key: KeyHash, visit: &mut dyn FnMut(NodeId) -> ControlFlow<()>) {
        if !self.loads.is_empty() {
            if let Some(ControlFlow::Break(())) = self.route_hash(key).map(&mut *visit) {
                return;
            }
        }
        if self.layout.walk(key, visit).is_continue() {
            // A system may give a server no place at all, whatever its weight.
            let members = self.nodes.iter().filter(|(_, node)| node.weight() > 0);
            let _ = members.map(|(id, _)| id).try_for_each(visit);
        }
    }

    fn shares(&self) -> Option<Vec<f64>> {
        // Under load there are none.
        self.loads.is_empty().then_some(())?;
        self.layout.shares(self.nodes.id_bound())
    }

    fn ranges(&self) -> Option<HashRanges> {
        self.loads.is_empty().then_some(())?;
        self.layout.ranges()
    }

    fn explain(&self, key: KeyHash) -> Vec<(&'static str, String)> {
        self.layout.explain(key.get())
    }

    fn heap_bytes(&self) -> usize {
        let servers = self.servers.iter().map(|(_, server)| {
            size_of::<(NodeId, Server)>() + server.name().len() + server.label().len()
        });
        let loads = self.loads.len() * size_of::<Counter>();
        self.nodes.heap_bytes() + servers.sum::<usize>() + self.layout.heap_bytes() + loads
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compat::haproxy::HaProxy;

    #[test]
    fn there_are_no_shares_under_load() -> Result<(), Error> {
        for (balance_factor, known) in [(0, true), (125, false)] {
            let system = HaProxy {
                balance_factor,
                ..HaProxy::default()
            };
            let pool = Pool::new(system, ["s1", "s2"].map(Server::new))?;
            assert_eq!(pool.shares().is_some(), known, "{balance_factor}");
            assert_eq!(pool.keeps_loads(), !known, "{balance_factor}");
        }
        Ok(())
    }

    #[test]
    fn a_weight_brings_no_server_up() {
        let server = Server::new("a").down().with_weight(3);
        assert!(server.is_down());
        assert_eq!((server.weight(), server.to_node().weight()), (3, 0));
    }
}
