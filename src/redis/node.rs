//! The servers of a cluster.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use core::fmt;
use core::str::FromStr;

use crate::Error;

/// The address of a server: a host (IP address or name) and a port.
///
/// The text form is `host:port`, as servers write it. Brackets around an IPv6 address are accepted
/// on input and never written, because Redis sends none. An empty host means "the host that was
/// asked"; the host `?` means "not known".
///
/// ```
/// use hashroute::redis::Address;
///
/// let address: Address = "2001:db8::1:6379".parse()?;
/// assert_eq!((address.host(), address.port()), ("2001:db8::1", 6379));
/// assert_eq!("[2001:db8::1]:6379".parse::<Address>()?, address);
/// assert!("6379".parse::<Address>().is_err());
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    host: Box<str>,
    port: u16,
}

impl Address {
    /// Builds an address from a host and a port. Resolves no name.
    pub fn new(host: impl Into<Box<str>>, port: u16) -> Self {
        Self {
            host: host.into(),
            port,
        }
    }

    /// Returns the host, without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the port.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Returns whether a client can connect: the host is neither empty nor `?`, the port is not 0.
    ///
    /// ```
    /// use hashroute::redis::Address;
    ///
    /// assert!(Address::new("db.example", 6379).is_known());
    /// assert!(!Address::new("?", 6379).is_known());
    /// ```
    pub fn is_known(&self) -> bool {
        !self.host.is_empty() && &*self.host != "?" && self.port != 0
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = || Error::parameter("address", text, "host:port, such as 127.0.0.1:6379");
        let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
        let host = bare.unwrap_or(host);
        if !is_word(host) && !host.is_empty() {
            return Err(wrong());
        }
        Ok(Self::new(host, number(port).ok_or_else(wrong)?))
    }
}

/// The role of a server in the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[non_exhaustive]
pub enum Role {
    /// Serves slots (`master`).
    #[default]
    Primary,
    /// Copies a primary, and may replace it (`slave`).
    Replica,
    /// Known by its address only: it has sent no message yet, and has neither flag.
    Unknown,
}

/// The state of the connection from the reporting server to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[non_exhaustive]
pub enum Link {
    /// Connected.
    #[default]
    Connected,
    /// Not connected.
    Disconnected,
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connected => "connected",
            Self::Disconnected => "disconnected",
        })
    }
}

/// The flags of a server, apart from its role. All are off by default.
///
/// ```
/// use hashroute::redis::Flags;
///
/// assert!(!Flags::default().with_myself(true).failed);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a separate word on the wire"
)]
#[non_exhaustive]
pub struct Flags {
    /// The server that reports (`myself`).
    pub myself: bool,
    /// The reporting server alone cannot reach it (`fail?`).
    pub suspected: bool,
    /// A majority of the primaries agreed that it failed (`fail`).
    pub failed: bool,
    /// Not trusted yet (`handshake`).
    pub handshake: bool,
    /// Its address is not known (`noaddr`).
    pub no_address: bool,
    /// A replica that never replaces its primary (`nofailover`).
    pub no_failover: bool,
}

builder! { Flags:
    with_myself(myself: bool),
    with_suspected(suspected: bool),
    with_failed(failed: bool),
    with_handshake(handshake: bool),
    with_no_address(no_address: bool),
    with_no_failover(no_failover: bool),
}

/// One server of a cluster.
///
/// The **id** is its identity: 40 hexadecimal digits in Redis, any word here. All other properties
/// may change.
///
/// ```
/// use hashroute::redis::{Address, ClusterNode};
///
/// let primary = ClusterNode::new("07c3")?.with_address(Address::new("10.0.0.1", 6379)).with_epoch(2);
/// let replica = ClusterNode::new("e7d1")?.with_primary("07c3");
/// assert_eq!(replica.primary(), Some(primary.id()));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterNode {
    id: Box<str>,
    address: Address,
    bus_port: u16,
    hostname: Option<Box<str>>,
    extra: BTreeMap<Box<str>, Box<str>>,
    role: Role,
    primary: Option<Box<str>>,
    flags: Flags,
    ping_sent: u64,
    pong_received: u64,
    offset: i64,
    epoch: u64,
    link: Link,
}

impl ClusterNode {
    /// Builds a primary with this id, no address and epoch 0.
    ///
    /// # Errors
    ///
    /// [`Error::EmptyName`]; [`Error::Parameter`] for an id that would break a line of
    /// `CLUSTER NODES`: longer than 256 bytes, `vars`, with whitespace, commas or control
    /// characters, with `-` or `[` in front or `]` at the end.
    ///
    /// ```
    /// use hashroute::redis::ClusterNode;
    ///
    /// assert_eq!(ClusterNode::new("07c3")?.id(), "07c3");
    /// assert!(ClusterNode::new("two words").is_err());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn new(id: impl Into<Box<str>>) -> Result<Self, Error> {
        let id = id.into();
        check_id(&id)?;
        Ok(Self {
            id,
            address: Address::new("", 0),
            bus_port: 0,
            hostname: None,
            extra: BTreeMap::new(),
            role: Role::Primary,
            primary: None,
            flags: Flags::default(),
            ping_sent: 0,
            pong_received: 0,
            offset: 0,
            epoch: 0,
            link: Link::Connected,
        })
    }
}

impl ClusterNode {
    /// Gives the node another id.
    pub(super) fn renamed(mut self, id: Box<str>) -> Result<Self, Error> {
        check_id(&id)?;
        self.id = id;
        Ok(self)
    }
}

/// Getters, each with its builder method.
impl ClusterNode {
    /// Returns the id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the address for clients.
    pub const fn address(&self) -> &Address {
        &self.address
    }

    /// Sets the address for clients. A bus port of 0 becomes the client port + 10,000, the default
    /// of Redis; it stays 0 if that sum exceeds 65,535.
    ///
    /// ```
    /// # use hashroute::redis::{Address, ClusterNode};
    /// let node = ClusterNode::new("a")?.with_address(Address::new("10.0.0.1", 6379));
    /// assert_eq!(node.bus_port(), 16_379);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    #[must_use]
    pub fn with_address(mut self, address: Address) -> Self {
        if self.bus_port == 0 && address.port() > 0 {
            self.bus_port = address.port().checked_add(10_000).unwrap_or(0);
        }
        self.address = address;
        self
    }

    /// Returns the port for other servers.
    pub const fn bus_port(&self) -> u16 {
        self.bus_port
    }

    /// Sets the port for other servers.
    #[must_use]
    pub const fn with_bus_port(mut self, port: u16) -> Self {
        self.bus_port = port;
        self
    }

    /// Returns the host name that the server announces (`cluster-announce-hostname`).
    pub fn hostname(&self) -> Option<&str> {
        self.hostname.as_deref()
    }

    /// Sets the announced host name; an empty one removes it.
    #[must_use]
    pub fn with_hostname(mut self, name: impl Into<Box<str>>) -> Self {
        self.hostname = Some(name.into()).filter(|name| !name.is_empty());
        self
    }

    /// Returns an auxiliary field by its name, such as `shard-id`, `nodename` or `tls-port`.
    pub fn extra(&self, name: &str) -> Option<&str> {
        self.extra.get(name).map(|value| &**value)
    }

    /// Returns all auxiliary fields, sorted by name.
    pub fn extras(&self) -> impl Iterator<Item = (&str, &str)> {
        self.extra.iter().map(|(name, value)| (&**name, &**value))
    }

    /// Adds an auxiliary field, such as `shard-id=...`.
    #[must_use]
    pub fn with_extra(mut self, name: impl Into<Box<str>>, value: impl Into<Box<str>>) -> Self {
        self.extra.insert(name.into(), value.into());
        self
    }

    /// Returns the role.
    pub const fn role(&self) -> Role {
        self.role
    }

    /// Returns the id of the primary that it copies, if it is a replica and that id is known.
    pub fn primary(&self) -> Option<&str> {
        self.primary.as_deref()
    }

    /// Makes it a replica of this primary. `-` or an empty id means that the primary is not known.
    #[must_use]
    pub fn with_primary(mut self, id: impl Into<Box<str>>) -> Self {
        self.role = Role::Replica;
        let id: Box<str> = id.into();
        self.primary = (!["", "-"].contains(&&*id)).then_some(id);
        self
    }

    /// Sets the role and removes the primary that it copies.
    ///
    /// ```
    /// # use hashroute::redis::{ClusterNode, Role};
    /// let promoted = ClusterNode::new("a")?.with_primary("b").with_role(Role::Primary);
    /// assert_eq!(promoted.primary(), None);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    #[must_use]
    pub fn with_role(mut self, role: Role) -> Self {
        self.role = role;
        self.primary = None;
        self
    }

    /// Returns the flags.
    pub const fn flags(&self) -> Flags {
        self.flags
    }

    /// Sets the flags.
    #[must_use]
    pub const fn with_flags(mut self, flags: Flags) -> Self {
        self.flags = flags;
        self
    }

    /// Returns two times in milliseconds since 1970, 0 for none: when the ping was sent that is not
    /// answered yet, and when the last pong arrived.
    pub const fn pings(&self) -> (u64, u64) {
        (self.ping_sent, self.pong_received)
    }

    /// Sets the time of the pending ping and that of the last pong.
    #[must_use]
    pub const fn with_pings(mut self, sent: u64, received: u64) -> Self {
        self.ping_sent = sent;
        self.pong_received = received;
        self
    }

    /// Returns the replication offset in bytes, as `CLUSTER SHARDS` reports it; 0 if unknown.
    pub const fn offset(&self) -> i64 {
        self.offset
    }

    /// Sets the replication offset in bytes.
    #[must_use]
    pub const fn with_offset(mut self, bytes: i64) -> Self {
        self.offset = bytes;
        self
    }

    /// Returns the configuration epoch. Of two nodes that claim a slot, the one with the higher
    /// epoch gets it. A replica shows the epoch of its primary.
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Sets the configuration epoch.
    #[must_use]
    pub const fn with_epoch(mut self, epoch: u64) -> Self {
        self.epoch = epoch;
        self
    }

    /// Returns the state of the connection from the reporting server.
    pub const fn link(&self) -> Link {
        self.link
    }

    /// Sets the state of the connection from the reporting server.
    #[must_use]
    pub const fn with_link(mut self, link: Link) -> Self {
        self.link = link;
        self
    }
}

/// Refuses an id that would be misread in a line of `CLUSTER NODES`.
pub(super) fn check_id(id: &str) -> Result<(), Error> {
    if id.is_empty() {
        return Err(Error::EmptyName);
    }
    // `-` stands for "no primary", `[` opens a mark of a slot on the move, `vars` starts the last
    // line of `nodes.conf`.
    if is_word(id)
        && id.len() <= 256
        && !id.starts_with(['-', '['])
        && !id.ends_with(']')
        && id != "vars"
    {
        return Ok(());
    }
    let shown: alloc::string::String = id.chars().take(64).collect();
    Err(Error::parameter(
        "node id",
        shown,
        "one word, such as 40 hexadecimal digits",
    ))
}

/// Returns whether a text is one word: no spaces, commas or control characters, not empty.
pub(crate) fn is_word(text: &str) -> bool {
    !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || c.is_control() || c == ',')
}

/// Reads a number of decimal digits only: `parse` alone would also accept a `+`.
pub(crate) fn number<N: FromStr>(text: &str) -> Option<N> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())?
}
