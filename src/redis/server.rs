//! What a server answers to a request.

use core::fmt;

use super::{Address, ClusterNode, CoverageRule, Endpoint, Mark, Role, Table};
use crate::Error;

/// What a command does, as far as it matters where it is served.
///
/// ```
/// assert_eq!(hashroute::redis::Command::default(), hashroute::redis::Command::Read);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Command {
    /// Reads keys.
    #[default]
    Read,
    /// Changes keys; so does a transaction or script that has such a command in it.
    Write,
    /// `MIGRATE`, which runs wherever the slot is open.
    Migrate,
    /// A sharded channel (`SPUBLISH`, `SSUBSCRIBE`): it stays with the owner until the slot is
    /// moved for good.
    Channel,
}

/// A request as a server gets it.
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
    /// What it does.
    pub command: Command,
    /// Its keys, or channels, in order.
    pub keys: &'r [&'r [u8]],
    /// `ASKING` was sent just before.
    pub asking: bool,
    /// `READONLY` was sent on this connection.
    pub readonly: bool,
}

impl<'r> Request<'r> {
    /// A request without `ASKING` and `READONLY`.
    ///
    /// ```
    /// use hashroute::redis::{Command, Request};
    ///
    /// assert_eq!(Request::new(Command::Read, &[b"foo"]).keys.len(), 1);
    /// ```
    pub const fn new(command: Command, keys: &'r [&'r [u8]]) -> Self {
        Self {
            command,
            keys,
            asking: false,
            readonly: false,
        }
    }

    /// The same with or without `ASKING`.
    ///
    /// ```
    /// use hashroute::redis::{Command, Request};
    ///
    /// assert!(Request::new(Command::Read, &[]).asking(true).asking);
    /// ```
    #[must_use]
    pub const fn asking(mut self, asking: bool) -> Self {
        self.asking = asking;
        self
    }

    /// The same with or without `READONLY`.
    ///
    /// ```
    /// use hashroute::redis::{Command, Request};
    ///
    /// assert!(Request::new(Command::Read, &[]).readonly(true).readonly);
    /// ```
    #[must_use]
    pub const fn readonly(mut self, readonly: bool) -> Self {
        self.readonly = readonly;
        self
    }
}

/// A server's decision. [`Display`](fmt::Display) is the error as it stands on the wire, with
/// addresses; [`wire`](Self::wire) with another kind of endpoint.
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
    /// It serves the request itself.
    Serve,
    /// The slot is another's for good.
    Moved {
        /// The slot.
        slot: u32,
        /// Its owner.
        to: &'t ClusterNode,
    },
    /// This once, the node that the slot moves to must be asked.
    Ask {
        /// The slot.
        slot: u32,
        /// Where it moves to.
        to: &'t ClusterNode,
    },
    /// The keys are on two servers while their slot moves.
    TryAgain,
    /// The keys are not in one slot.
    CrossSlot,
    /// The slot is nobody's.
    Unbound,
    /// The cluster is down.
    Down,
    /// The cluster is down and this is no read.
    DownReadOnly,
}

impl Decision<'_> {
    /// The error on the wire, without the leading `-`, with this kind of endpoint; `None` for
    /// [`Serve`](Self::Serve).
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

/// How a request finds its slot at a server.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Stable,
    Migrating,
    Importing,
}

impl Table {
    /// What the server `id`, with this table as its view, answers to a request; `holds` says
    /// whether it has a key, and is asked only where the slot is on the move. `health` is
    /// [`Table::health`] of the same view, which a server computes when something changes, not
    /// for each request. O(keys).
    ///
    /// For all servers of one table marks of each count, since every mark names its node.
    ///
    /// Source: Redis Cluster specification, "Redirection and resharding"; checked request by
    /// request against Redis 7.0.15.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownNode`] for a server that is not in the table.
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
        // In this order: a slot of nobody comes first, whatever the other keys are.
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

    /// What the server has said of the slot, as far as it counts: who owns it can hand it over,
    /// who does not can take it.
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

/// The answer while the slot moves, unless it is the one of a slot that does not.
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
    let many = request.keys.iter().any(|key| key != &request.keys[0]);
    match request.asking {
        true if many && missing => Some(Decision::TryAgain),
        true => Some(Decision::Serve),
        false => None,
    }
}

/// The answer of a cluster that is down.
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

/// The answer where the slot does not move.
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
