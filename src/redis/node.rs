//! The servers of a cluster.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use core::fmt;
use core::str::FromStr;

use crate::Error;

/// Where a server listens: a host (address or name) and a port.
///
/// Written as servers write it, `host:port`; an IPv6 address may stand in brackets when read and
/// has none when written, since that is what is on the wire. The host may be empty, which means
/// "where you just asked", or `?`, which means "not known".
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
    /// This host and port. Nothing is looked up.
    ///
    /// ```
    /// use hashroute::redis::Address;
    ///
    /// assert_eq!(Address::new("10.0.0.1", 6379).to_string(), "10.0.0.1:6379");
    /// ```
    pub fn new(host: impl Into<Box<str>>, port: u16) -> Self {
        Self {
            host: host.into(),
            port,
        }
    }

    /// The host, without brackets.
    ///
    /// ```
    /// assert_eq!(hashroute::redis::Address::new("::1", 1).host(), "::1");
    /// ```
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    ///
    /// ```
    /// assert_eq!(hashroute::redis::Address::new("::1", 7).port(), 7);
    /// ```
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Whether one can connect to it: a host that is neither empty nor `?`, and a port.
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

/// What a server does.
///
/// ```
/// use hashroute::redis::{ClusterNode, Role};
///
/// assert_eq!(ClusterNode::new("a")?.role(), Role::Primary);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[non_exhaustive]
pub enum Role {
    /// Serves slots (`master`).
    #[default]
    Primary,
    /// Copies a primary, and may take its place (`slave`).
    Replica,
    /// Known by address only, since no word of it came yet: neither flag.
    Unknown,
}

/// Whether the server that reports has a connection to another.
///
/// ```
/// assert_eq!(hashroute::redis::Link::default().to_string(), "connected");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[non_exhaustive]
pub enum Link {
    /// It has.
    #[default]
    Connected,
    /// It has not.
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

/// What a server is said to be, besides its role. All off at first.
///
/// ```
/// use hashroute::redis::Flags;
///
/// assert!(!Flags::default().with_myself(true).failed);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a word of its own on the wire"
)]
#[non_exhaustive]
pub struct Flags {
    /// The server that reports (`myself`).
    pub myself: bool,
    /// The reporting server alone cannot reach it (`fail?`).
    pub suspected: bool,
    /// A majority of primaries agreed that it failed (`fail`).
    pub failed: bool,
    /// Not yet trusted (`handshake`).
    pub handshake: bool,
    /// Its address is not known (`noaddr`).
    pub no_address: bool,
    /// A replica that never takes its primary's place (`nofailover`).
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
/// The **id** is the identity: 40 hexadecimal digits in Redis, here any word. Everything else may
/// change.
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
    /// A primary with this id, no address, epoch 0.
    ///
    /// # Errors
    ///
    /// [`Error::EmptyName`]; [`Error::Parameter`] for an id that could not stand in a line of
    /// `CLUSTER NODES`: more than 256 bytes, with spaces or control characters, or `-`.
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

/// Getters and builders in pairs.
impl ClusterNode {
    /// Its id.
    ///
    /// ```
    /// # use hashroute::redis::ClusterNode;
    /// assert_eq!(ClusterNode::new("a")?.id(), "a");
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Where it listens for clients.
    ///
    /// ```
    /// # use hashroute::redis::{Address, ClusterNode};
    /// assert!(!ClusterNode::new("a")?.address().is_known());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub const fn address(&self) -> &Address {
        &self.address
    }

    /// The same, listening there; the bus port becomes the port + 10,000 where it was 0, as
    /// servers choose it themselves (0 where that is no port).
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

    /// Where it listens for other servers.
    ///
    /// ```
    /// # use hashroute::redis::ClusterNode;
    /// assert_eq!(ClusterNode::new("a")?.bus_port(), 0);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub const fn bus_port(&self) -> u16 {
        self.bus_port
    }

    /// The same with that bus port.
    ///
    /// ```
    /// # use hashroute::redis::ClusterNode;
    /// assert_eq!(ClusterNode::new("a")?.with_bus_port(7).bus_port(), 7);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    #[must_use]
    pub const fn with_bus_port(mut self, port: u16) -> Self {
        self.bus_port = port;
        self
    }

    /// The name it announces (`cluster-announce-hostname`).
    ///
    /// ```
    /// # use hashroute::redis::ClusterNode;
    /// assert_eq!(ClusterNode::new("a")?.hostname(), None);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn hostname(&self) -> Option<&str> {
        self.hostname.as_deref()
    }

    /// The same with that name, or with none where it is empty.
    ///
    /// ```
    /// # use hashroute::redis::ClusterNode;
    /// assert_eq!(ClusterNode::new("a")?.with_hostname("a.example").hostname(), Some("a.example"));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    #[must_use]
    pub fn with_hostname(mut self, name: impl Into<Box<str>>) -> Self {
        self.hostname = Some(name.into()).filter(|name| !name.is_empty());
        self
    }

    /// What else it says of itself, by name: `shard-id`, `nodename`, `tls-port` and the like.
    ///
    /// ```
    /// # use hashroute::redis::ClusterNode;
    /// assert_eq!(ClusterNode::new("a")?.extra("shard-id"), None);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn extra(&self, name: &str) -> Option<&str> {
        self.extra.get(name).map(|value| &**value)
    }

    /// All of that, in order of name.
    ///
    /// ```
    /// # use hashroute::redis::ClusterNode;
    /// assert_eq!(ClusterNode::new("a")?.extras().count(), 0);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn extras(&self) -> impl Iterator<Item = (&str, &str)> {
        self.extra.iter().map(|(name, value)| (&**name, &**value))
    }

    /// Adds an auxiliary field, such as `shard-id=...`.
    ///
    /// ```
    /// # use hashroute::redis::ClusterNode;
    /// assert_eq!(ClusterNode::new("a")?.with_extra("shard-id", "7").extra("shard-id"), Some("7"));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    #[must_use]
    pub fn with_extra(mut self, name: impl Into<Box<str>>, value: impl Into<Box<str>>) -> Self {
        self.extra.insert(name.into(), value.into());
        self
    }

    /// What it does.
    ///
    /// ```
    /// # use hashroute::redis::{ClusterNode, Role};
    /// assert_eq!(ClusterNode::new("a")?.with_primary("b").role(), Role::Replica);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub const fn role(&self) -> Role {
        self.role
    }

    /// The id of the primary that it copies.
    ///
    /// ```
    /// # use hashroute::redis::ClusterNode;
    /// assert_eq!(ClusterNode::new("a")?.primary(), None);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn primary(&self) -> Option<&str> {
        self.primary.as_deref()
    }

    /// The same as a replica of that one; `-` or nothing where it is not known.
    ///
    /// ```
    /// # use hashroute::redis::ClusterNode;
    /// assert_eq!(ClusterNode::new("a")?.with_primary("b").primary(), Some("b"));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    #[must_use]
    pub fn with_primary(mut self, id: impl Into<Box<str>>) -> Self {
        self.role = Role::Replica;
        let id: Box<str> = id.into();
        self.primary = (!["", "-"].contains(&&*id)).then_some(id);
        self
    }

    /// The same in that role, copying nobody.
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

    /// What it is said to be.
    ///
    /// ```
    /// # use hashroute::redis::ClusterNode;
    /// assert!(!ClusterNode::new("a")?.flags().failed);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub const fn flags(&self) -> Flags {
        self.flags
    }

    /// The same with those flags.
    ///
    /// ```
    /// # use hashroute::redis::{ClusterNode, Flags};
    /// let failed = Flags::default().with_failed(true);
    /// assert!(ClusterNode::new("a")?.with_flags(failed).flags().failed);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    #[must_use]
    pub const fn with_flags(mut self, flags: Flags) -> Self {
        self.flags = flags;
        self
    }

    /// When a ping was sent that is not answered yet, and when the last answer came, in
    /// milliseconds since 1970; 0 for never.
    ///
    /// ```
    /// # use hashroute::redis::ClusterNode;
    /// assert_eq!(ClusterNode::new("a")?.pings(), (0, 0));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub const fn pings(&self) -> (u64, u64) {
        (self.ping_sent, self.pong_received)
    }

    /// The same with those times.
    ///
    /// ```
    /// # use hashroute::redis::ClusterNode;
    /// assert_eq!(ClusterNode::new("a")?.with_pings(0, 9).pings(), (0, 9));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    #[must_use]
    pub const fn with_pings(mut self, sent: u64, received: u64) -> Self {
        self.ping_sent = sent;
        self.pong_received = received;
        self
    }

    /// How many bytes of the replication stream it has, as `CLUSTER SHARDS` says; 0 where unknown.
    ///
    /// ```
    /// # use hashroute::redis::ClusterNode;
    /// assert_eq!(ClusterNode::new("a")?.offset(), 0);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub const fn offset(&self) -> i64 {
        self.offset
    }

    /// The same with that offset.
    ///
    /// ```
    /// # use hashroute::redis::ClusterNode;
    /// assert_eq!(ClusterNode::new("a")?.with_offset(851).offset(), 851);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    #[must_use]
    pub const fn with_offset(mut self, bytes: i64) -> Self {
        self.offset = bytes;
        self
    }

    /// Its configuration epoch: of two that claim a slot, the higher has it. A replica shows its
    /// primary's.
    ///
    /// ```
    /// # use hashroute::redis::ClusterNode;
    /// assert_eq!(ClusterNode::new("a")?.epoch(), 0);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The same with that epoch.
    ///
    /// ```
    /// # use hashroute::redis::ClusterNode;
    /// assert_eq!(ClusterNode::new("a")?.with_epoch(3).epoch(), 3);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    #[must_use]
    pub const fn with_epoch(mut self, epoch: u64) -> Self {
        self.epoch = epoch;
        self
    }

    /// Whether the reporting server has a connection to it.
    ///
    /// ```
    /// # use hashroute::redis::{ClusterNode, Link};
    /// assert_eq!(ClusterNode::new("a")?.link(), Link::Connected);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub const fn link(&self) -> Link {
        self.link
    }

    /// The same with that link.
    ///
    /// ```
    /// # use hashroute::redis::{ClusterNode, Link};
    /// let node = ClusterNode::new("a")?.with_link(Link::Disconnected);
    /// assert_eq!(node.link(), Link::Disconnected);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    #[must_use]
    pub const fn with_link(mut self, link: Link) -> Self {
        self.link = link;
        self
    }
}

/// An id that can stand in a line of `CLUSTER NODES`.
pub(super) fn check_id(id: &str) -> Result<(), Error> {
    if id.is_empty() {
        return Err(Error::EmptyName);
    }
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

/// Something that can stand between spaces.
pub(crate) fn is_word(text: &str) -> bool {
    !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || c.is_control() || c == ',')
}

/// Decimal digits alone: no sign, nothing empty.
pub(crate) fn number<N: FromStr>(text: &str) -> Option<N> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())?
}
