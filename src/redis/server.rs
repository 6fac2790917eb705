//! The decision of a server about a request: serve, redirect or refuse.

use core::fmt;

use super::{Address, ClusterNode, CoverageRule, Endpoint, Mark, Role, Table};
use crate::Error;

/// The kind of a command, as far as it decides which server runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Command {
    /// Reads keys.
    #[default]
    Read,
    /// Changes keys. A transaction or script that contains such a command is a write.
    Write,
    /// `MIGRATE`, which runs at both ends of a slot on the move.
    Migrate,
    /// Uses a sharded channel (`SPUBLISH`, `SSUBSCRIBE`). The channel stays at the owner until the
    /// slot has a new one.
    Channel,
}

/// A request as a server receives it.
///
/// ```
/// use hashroute::redis::{Command, Request};
///
/// let request = Request::new(Command::Write, &[b"foo"]).asking(true);
/// assert!(request.asking && !request.readonly);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Request<'r> {
    /// The kind of its command.
    pub command: Command,
    /// Its keys or channels, in order.
    pub keys: &'r [&'r [u8]],
    /// Whether the client sent `ASKING` right before it.
    pub asking: bool,
    /// Whether the client sent `READONLY` on this connection.
    pub readonly: bool,
}

impl<'r> Request<'r> {
    /// Builds a request without `ASKING` and `READONLY`.
    pub const fn new(command: Command, keys: &'r [&'r [u8]]) -> Self {
        Self {
            command,
            keys,
            asking: false,
            readonly: false,
        }
    }

    /// Sets whether the client sent `ASKING` right before it.
    #[must_use]
    pub const fn asking(mut self, asking: bool) -> Self {
        self.asking = asking;
        self
    }

    /// Sets whether the client sent `READONLY` on this connection.
    #[must_use]
    pub const fn readonly(mut self, readonly: bool) -> Self {
        self.readonly = readonly;
        self
    }
}

/// The decision of a server about a request.
///
/// [`Display`](fmt::Display) writes the error as it is on the wire, with IP addresses;
/// [`wire`](Self::wire) writes it with another kind of endpoint.
///
/// ```
/// use hashroute::redis::Decision;
///
/// let text = "TRYAGAIN Multiple keys request during rehashing of slot";
/// assert_eq!(Decision::TryAgain.to_string(), text);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decision<'t> {
    /// This server serves the request.
    Serve,
    /// Another node owns the slot.
    Moved {
        /// The slot.
        slot: u32,
        /// Its owner.
        to: &'t ClusterNode,
    },
    /// The client asks the target of the moving slot, for this request only.
    Ask {
        /// The slot.
        slot: u32,
        /// The target of the move.
        to: &'t ClusterNode,
    },
    /// The keys are on two servers while their slot moves.
    TryAgain,
    /// The keys are in different slots.
    CrossSlot,
    /// The slot has no owner.
    Unbound,
    /// The cluster is down.
    Down,
    /// The cluster is down and serves reads only.
    DownReadOnly,
}

impl Decision<'_> {
    /// Returns the error as it is on the wire, without the leading `-`, with this kind of endpoint;
    /// `None` for [`Serve`](Self::Serve).
    ///
    /// ```
    /// use hashroute::redis::{Address, ClusterNode, Decision, Endpoint};
    ///
    /// let node = ClusterNode::new("a")?.with_address(Address::new("10.0.0.1", 6379));
    /// let moved = Decision::Moved { slot: 7, to: &node };
    /// assert_eq!(moved.to_string(), "MOVED 7 10.0.0.1:6379");
    /// assert_eq!(moved.wire(Endpoint::Unknown).as_deref(), Some("MOVED 7 :6379"));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn wire(&self, endpoint: Endpoint) -> Option<alloc::string::String> {
        let address = |node: &ClusterNode| Address::new(endpoint.of(node), node.address().port());
        match self {
            Self::Serve => None,
            Self::Moved { slot, to } => Some(alloc::format!("MOVED {slot} {}", address(to))),
            Self::Ask { slot, to } => Some(alloc::format!("ASK {slot} {}", address(to))),
            _ => Some(self.fixed().into()),
        }
    }

    const fn fixed(&self) -> &'static str {
        match self {
            Self::Serve => "OK",
            Self::Moved { .. } => "MOVED",
            Self::Ask { .. } => "ASK",
            Self::TryAgain => "TRYAGAIN Multiple keys request during rehashing of slot",
            Self::CrossSlot => "CROSSSLOT Keys in request don't hash to the same slot",
            Self::Unbound => "CLUSTERDOWN Hash slot not served",
            Self::Down => "CLUSTERDOWN The cluster is down",
            Self::DownReadOnly => "CLUSTERDOWN The cluster is down and only accepts read commands",
        }
    }
}

impl fmt::Display for Decision<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.wire(Endpoint::Ip) {
            Some(text) => f.write_str(&text),
            None => f.write_str(self.fixed()),
        }
    }
}

/// The state of a slot at one server.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Stable,
    Migrating,
    Importing,
}

impl Table {
    /// Decides what the server `id` answers to a request, with this table as its view. `holds`
    /// returns whether the server has a key; it is called only while the slot is on the move.
    /// `health` is the result of [`Table::health`] for this table: compute it once for each change
    /// of the table, not for each request. O(keys).
    ///
    /// One table serves for all servers, because every mark names its node.
    ///
    /// Source: Redis Cluster specification, "Redirection and resharding"; checked request by
    /// request against Redis 7.0.15.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownNode`] if the server is not in the table.
    ///
    /// ```
    /// use hashroute::redis::{ClusterNode, Command, Decision, Health, Mark, CoverageRule, Request, SlotRule, Table};
    ///
    /// let nodes = [ClusterNode::new("a")?, ClusterNode::new("b")?];
    /// let mut table = Table::with_nodes(SlotRule::REDIS, nodes)?;
    /// table.assign(0..=16_383, "a")?;
    /// table.mark(12_182, "a", Mark::Migrating("b".into()))?;
    /// let decide = |holds: bool| {
    ///     let request = Request::new(Command::Read, &[b"foo"]);
    ///     table.decide("a", &request, Health::Ok, CoverageRule::default(), |_| holds)
    /// };
    /// assert_eq!(decide(true)?, Decision::Serve);
    /// assert!(matches!(decide(false)?, Decision::Ask { slot: 12_182, .. }));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn decide(
        &self,
        id: &str,
        request: &Request<'_>,
        health: super::Health,
        policy: CoverageRule,
        holds: impl FnMut(&[u8]) -> bool,
    ) -> Result<Decision<'_>, Error> {
        let server = &self.nodes()[self.known(id)?];
        let Some((first, others)) = request.keys.split_first() else {
            return Ok(Decision::Serve);
        };
        let slot = self.rule().slot(first);
        // Redis checks in this order: the owner of the first key's slot comes before CROSSSLOT.
        let Some(owner) = self.owner(slot) else {
            return Ok(Decision::Unbound);
        };
        if others.iter().any(|key| self.rule().slot(key) != slot) {
            return Ok(Decision::CrossSlot);
        }
        if let Some(down) = refused(request.command, health, policy) {
            return Ok(down);
        }
        let moving = self.moving(server, owner, slot);
        if let Some(decision) = open(moving, slot, request, holds) {
            return Ok(decision);
        }
        Ok(settled(server, owner, slot, request))
    }

    /// Returns the state of a slot at a server, and the target of its move. Only the owner can
    /// migrate a slot, so a `MIGRATING` mark elsewhere is stale and does not count.
    fn moving(
        &self,
        server: &ClusterNode,
        owner: &ClusterNode,
        slot: u32,
    ) -> (Phase, Option<&ClusterNode>) {
        match self.mark_of(slot, server.id()) {
            Some(Mark::Migrating(to)) if owner.id() == server.id() => self
                .node(to)
                .map_or((Phase::Stable, None), |to| (Phase::Migrating, Some(to))),
            Some(Mark::Importing(_)) => (Phase::Importing, None),
            _ => (Phase::Stable, None),
        }
    }
}

/// Decides for a slot on the move; `None` if the slot's move makes no difference.
fn open<'t>(
    (phase, to): (Phase, Option<&'t ClusterNode>),
    slot: u32,
    request: &Request<'_>,
    mut holds: impl FnMut(&[u8]) -> bool,
) -> Option<Decision<'t>> {
    if phase == Phase::Stable {
        return None;
    }
    if request.command == Command::Migrate {
        return Some(Decision::Serve);
    }
    let counted = request.command != Command::Channel;
    let missing = counted && request.keys.iter().any(|key| !holds(key));
    if phase == Phase::Migrating {
        let present = missing && request.keys.iter().any(|key| holds(key));
        return match to {
            Some(_) if present => Some(Decision::TryAgain),
            Some(to) if missing => Some(Decision::Ask { slot, to }),
            _ => None,
        };
    }
    // One missing key is served: nobody else has it, and a write creates it here. With several,
    // some may still be at the source.
    let many = request.keys.iter().any(|key| key != &request.keys[0]);
    match request.asking {
        true if many && missing => Some(Decision::TryAgain),
        true => Some(Decision::Serve),
        false => None,
    }
}

/// Decides for a cluster that is down; `None` if the command is served in spite of it.
fn refused(
    command: Command,
    health: super::Health,
    policy: CoverageRule,
) -> Option<Decision<'static>> {
    if health.is_ok() {
        return None;
    }
    match command {
        Command::Channel if policy.channels_when_down => None,
        Command::Channel => Some(Decision::Down),
        _ if !policy.reads_when_down => Some(Decision::Down),
        Command::Write | Command::Migrate => Some(Decision::DownReadOnly),
        Command::Read => None,
    }
}

/// Decides for a slot that does not move.
fn settled<'t>(
    server: &ClusterNode,
    owner: &'t ClusterNode,
    slot: u32,
    request: &Request<'_>,
) -> Decision<'t> {
    let reads = match request.command {
        Command::Read => request.readonly,
        Command::Channel => true,
        Command::Write | Command::Migrate => false,
    };
    let copies = server.role() == Role::Replica && server.primary() == Some(owner.id());
    if owner.id() == server.id() || reads && copies {
        return Decision::Serve;
    }
    Decision::Moved { slot, to: owner }
}
