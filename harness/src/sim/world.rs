//! The world: servers, keys, messages and clients.

use std::collections::BTreeMap;
use std::format;
use std::vec::Vec;

use hashroute::Error;
use hashroute::redis::{
    Address, Claim, Command, CoverageRule, Decision, Flags, Request, Role, SlotMap, Table,
};

use super::client::Client;
use super::counts::Counts;
use super::data::Data;
use super::keyset::KeySet;
use super::laws::Laws;
use super::moving::{Mistake, Moving};
use super::server::Server;

/// A cluster in memory, with its clients.
///
/// Build it from a table and keys, apply events with [`happen`](Self::happen), and read the
/// [laws](Self::laws). Equal events give equal worlds.
///
/// ```
/// use hashroute::redis::{ClusterNode, SlotRule, Table};
/// use hashroute_harness::sim::{Event, Operation, World};
///
/// let nodes = [ClusterNode::new("a")?, ClusterNode::new("b")?];
/// let mut table = Table::with_nodes(SlotRule::REDIS, nodes)?;
/// table.assign(0..=16_383, "a")?;
/// let mut world = World::new(&table, ["foo"])?.with_clients(1)?;
/// let write = Event::Request(0, Operation::Write, vec![0]);
/// // The slot of the key moves from a to b while the client writes.
/// for event in [write.clone(), Event::Begin(12_182, 1), Event::MoveKeys, write] {
///     world.happen(&event)?;
/// }
/// assert_eq!((world.counts().ask, world.laws().broken().count()), (1, 0));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct World {
    pub(super) servers: Vec<Server>,
    pub(super) by_address: BTreeMap<Address, usize>,
    pub(super) keys: KeySet,
    pub(super) data: Data,
    /// Claims on their way, each with its receiver.
    pub(super) inbox: Vec<(usize, Claim)>,
    pub(super) moving: Option<Moving>,
    pub(super) clients: Vec<Client>,
    /// The time, in steps since the start.
    pub(super) now: u64,
    /// Whether servers learn of a move from each other. Otherwise a command tells each of them.
    pub(super) gossips: bool,
    pub(super) mistake: Option<Mistake>,
    /// The number of keys in one `MIGRATE`.
    pub(super) batch: usize,
    pub(super) laws: Laws,
    pub(super) counts: Counts,
}

impl World {
    /// The maximum number of servers. Each has its own table of all slots.
    pub const MOST_SERVERS: usize = 1000;

    /// Builds a world with one server for every primary and replica of the table, in order of id.
    /// O(servers x slots + keys).
    ///
    /// All servers work and know the table. Their addresses are made from their ids. No key has a
    /// value yet.
    ///
    /// # Errors
    ///
    /// [`Error::Parameter`] for more than [`MOST_SERVERS`](Self::MOST_SERVERS) nodes, and for a
    /// table with slots that have no owner or that move.
    ///
    /// ```
    /// use hashroute::redis::{SlotRule, Table};
    /// use hashroute_harness::sim::World;
    ///
    /// assert!(World::new(&Table::new(SlotRule::REDIS), ["foo"]).is_err());
    /// ```
    pub fn new<K: AsRef<[u8]>>(
        table: &Table,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Self, Error> {
        check(table)?;
        let table = at_rest(table)?;
        let servers = servers(&table)?;
        let addresses = servers.iter().map(|server| address(server.id()));
        let keys = KeySet::new(table.rule(), keys);
        Ok(Self {
            by_address: addresses.zip(0..).collect(),
            data: Data::new(servers.len(), keys.len()),
            servers,
            keys,
            inbox: Vec::new(),
            moving: None,
            clients: Vec::new(),
            now: 0,
            gossips: true,
            mistake: None,
            batch: 1,
            laws: Laws::default(),
            counts: Counts::default(),
        })
    }

    /// Adds clients that know the addresses of the primaries, but no slot owner.
    ///
    /// # Errors
    ///
    /// None that a world built by [`new`](Self::new) can cause.
    pub fn with_clients(mut self, count: usize) -> Result<Self, Error> {
        let view = self.servers[0].view();
        let nodes = view.nodes().iter();
        let primaries = nodes.filter(|node| node.role() == Role::Primary);
        let seeds = primaries.map(|node| node.address().clone());
        let map = SlotMap::new(view.rule().clone(), seeds)?;
        let clients = core::iter::repeat_with(|| Client::new(map.clone()));
        self.clients.extend(clients.take(count));
        Ok(self)
    }

    /// Makes this mistake in every later move.
    ///
    /// ```
    /// use hashroute::redis::{ClusterNode, SlotRule, Table};
    /// use hashroute_harness::sim::{Event, Mistake, World};
    ///
    /// let nodes = [ClusterNode::new("a")?, ClusterNode::new("b")?];
    /// let mut table = Table::with_nodes(SlotRule::REDIS, nodes)?;
    /// table.assign(0..=16_383, "a")?;
    /// let world = World::new(&table, ["foo"])?;
    /// let mut world = world.with_mistake(Mistake::NoImporting);
    /// world.happen(&Event::Begin(12_182, 1))?;
    /// // The source sends writes to a target that sends them back.
    /// assert_eq!(world.laws().one_server.broken, 1);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    #[must_use]
    pub const fn with_mistake(mut self, mistake: Mistake) -> Self {
        self.mistake = Some(mistake);
        self
    }
}

impl World {
    /// Returns the results of the law checks so far.
    pub const fn laws(&self) -> &Laws {
        &self.laws
    }

    /// Returns the counts so far.
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Returns the number of servers.
    pub fn servers(&self) -> usize {
        self.servers.len()
    }

    /// Returns the table that a server believes, or `None` for an unknown server.
    pub fn view(&self, server: usize) -> Option<&Table> {
        self.servers.get(server).map(Server::view)
    }

    /// Returns a server's decision about a command with these keys.
    pub(super) fn decide(
        &self,
        server: usize,
        command: Command,
        keys: &[u32],
        asking: bool,
    ) -> Result<Decision<'_>, Error> {
        let bytes: Vec<_> = keys.iter().map(|key| self.keys.name(*key)).collect();
        let request = Request::new(command, &bytes).asking(asking);
        let holds = |name: &[u8]| {
            let key = keys.iter().find(|key| self.keys.name(**key) == name);
            key.is_some_and(|key| self.data.get(server, self.keys.entry(*key)).is_some())
        };
        let server = &self.servers[server];
        let (health, rule) = (server.health(), CoverageRule::default());
        let view = server.view();
        view.decide(server.id(), &request, health, rule, holds)
    }

    pub(super) fn index_of(&self, id: &str) -> Result<usize, Error> {
        let index = self.by_address.get(&address(id)).copied();
        index.ok_or_else(|| Error::UnknownNode { name: id.into() })
    }
}

/// Returns the address of a server, made from its id. Ids are distinct; announced addresses may not
/// be.
pub(super) fn address(id: &str) -> Address {
    Address::new(id, 1)
}

fn servers(table: &Table) -> Result<Vec<Server>, Error> {
    let nodes = table.nodes().iter();
    nodes.map(|node| Server::new(table, node.id())).collect()
}

fn check(table: &Table) -> Result<(), Error> {
    if table.nodes().len() > World::MOST_SERVERS {
        let expected = format!("at most {}", World::MOST_SERVERS);
        return Err(Error::parameter("nodes", table.nodes().len(), expected));
    }
    let unowned = table.coverage().unassigned;
    let open = table.open_slots();
    for (slots, expected) in [(unowned, "an owner"), (open, "no mark")] {
        if let Some(range) = slots.first() {
            let range = format!("{}-{}", range.start(), range.end());
            return Err(Error::parameter("slots", range, expected));
        }
    }
    Ok(())
}

/// Returns the table with all nodes working, each at the address made from its id.
fn at_rest(table: &Table) -> Result<Table, Error> {
    let mut rest = table.clone();
    for node in table.nodes() {
        let working = node.clone().with_flags(Flags::default());
        rest.replace(working.with_address(address(node.id())))?;
    }
    Ok(rest)
}
