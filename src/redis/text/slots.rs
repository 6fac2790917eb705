//! The reply to `CLUSTER SLOTS`: ranges, each with its primary and its working replicas.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::reply::bad;
use super::{Protocol, Reply};
use crate::Error;
use crate::redis::{Address, ClusterNode, SlotRange, SlotRule, Table};

/// The kind of address that servers send to clients (`cluster-preferred-endpoint-type`).
///
/// ```
/// use hashroute::redis::{Address, ClusterNode, Endpoint};
///
/// let node = ClusterNode::new("a")?.with_address(Address::new("10.0.0.1", 6379));
/// assert_eq!(Endpoint::Ip.of(&node), "10.0.0.1");
/// assert_eq!(Endpoint::Hostname.of(&node), "?");
/// assert_eq!(Endpoint::Unknown.of(&node), "");
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Endpoint {
    /// The IP address of the node.
    #[default]
    Ip,
    /// The host name that the node announces, or `?` without one.
    Hostname,
    /// An empty host: the client keeps the host that it just asked.
    Unknown,
}

impl Endpoint {
    /// Returns the host of a node as a redirection names it.
    pub fn of(self, node: &ClusterNode) -> &str {
        match self {
            Self::Ip => node.address().host(),
            Self::Hostname => node.hostname().unwrap_or("?"),
            Self::Unknown => "",
        }
    }
}

impl Table {
    /// Reads the reply to `CLUSTER SLOTS`. `asked` is the server that sent it; an empty host in the
    /// reply stands for its host. The reply contains no epochs, no failed replicas and no nodes
    /// without slots. O(reply + slots).
    ///
    /// Servers before version 4.0 send no ids; the address of a node becomes its id then.
    ///
    /// # Errors
    ///
    /// [`Error::Reply`] with the position in the reply; [`Error::Parameter`] for slots that do not exist;
    /// [`Error::Capacity`] beyond [`MAX_NODES`](Self::MAX_NODES).
    ///
    /// ```
    /// use hashroute::redis::{Reply, SlotRule, Table};
    ///
    /// let reply = Reply::from_printed("1) 1) (integer) 0\n   2) (integer) 99\n   3) 1) \"10.0.0.1\"\n      2) (integer) 6379\n      3) \"07c3\"")?;
    /// let table = Table::from_slots(&reply, SlotRule::REDIS, None)?;
    /// assert_eq!(table.ranges("07c3"), [0..=99]);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn from_slots(
        reply: &Reply,
        rule: SlotRule,
        asked: Option<&Address>,
    ) -> Result<Self, Error> {
        let runs = reply
            .items()
            .ok_or_else(|| bad("", "a list of slot ranges"))?;
        let mut nodes: BTreeMap<Box<str>, ClusterNode> = BTreeMap::new();
        let mut owners: Vec<(SlotRange, Box<str>)> = Vec::new();
        for (i, run) in runs.iter().enumerate() {
            let parts = run.items().unwrap_or_default();
            let [first, last, primary, replicas @ ..] = parts else {
                return Err(bad(format!("[{i}]"), "first slot, last slot, primary"));
            };
            let range = slot(first, i)?..=slot(last, i)?;
            let primary = node(primary, &format!("[{i}][2]"), asked)?;
            for (j, replica) in replicas.iter().enumerate() {
                let replica = node(replica, &format!("[{i}][{}]", j + 3), asked)?;
                if replica.id() != primary.id() {
                    let replica = replica.with_primary(primary.id());
                    nodes.entry(replica.id().into()).or_insert(replica);
                }
            }
            owners.push((range, primary.id().into()));
            // An owner of slots is a primary, even if another range lists it as a replica.
            nodes.insert(primary.id().into(), primary);
        }
        let mut table = Self::with_nodes(rule, nodes.into_values())?;
        for (i, (range, id)) in owners.into_iter().enumerate() {
            // A range of billions of slots must not be walked to be refused.
            if *range.end() < table.rule().slots()
                && range.clone().any(|slot| table.owner(slot).is_some())
            {
                return Err(bad(format!("[{i}]"), "slots that are in no other range"));
            }
            table.assign(range, &id)?;
        }
        Ok(table)
    }

    /// Builds the reply to `CLUSTER SLOTS`: ascending ranges, without failed replicas.
    /// O(slots + ranges x nodes).
    ///
    /// ```
    /// use hashroute::redis::{Endpoint, Protocol, Reply, SlotRule, Table};
    ///
    /// let table = Table::new(SlotRule::REDIS);
    /// assert_eq!(table.to_slots(Endpoint::Ip, Protocol::Resp2), Reply::Array(Vec::new()));
    /// ```
    pub fn to_slots(&self, endpoint: Endpoint, protocol: Protocol) -> Reply {
        let owned = self
            .runs()
            .filter_map(|(range, owner)| Some((range, owner?)));
        let reply = owned.map(|(range, owner)| {
            let mut parts: Vec<Reply> = Vec::new();
            parts.push(i64::from(*range.start()).into());
            parts.push(i64::from(*range.end()).into());
            parts.push(entry(owner, endpoint, protocol));
            let replicas = self
                .replicas(owner.id())
                .filter(|node| !node.flags().failed);
            parts.extend(replicas.map(|node| entry(node, endpoint, protocol)));
            Reply::Array(parts)
        });
        Reply::Array(reply.collect())
    }
}

fn slot(reply: &Reply, run: usize) -> Result<u32, Error> {
    let number = reply
        .integer()
        .and_then(|number| u32::try_from(number).ok());
    number.ok_or_else(|| bad(format!("[{run}]"), "a slot as first and second element"))
}

/// Reads a node: `host, port, id, [name, value..]`.
fn node(reply: &Reply, at: &str, asked: Option<&Address>) -> Result<ClusterNode, Error> {
    let Some([host, port, more @ ..]) = reply.items() else {
        return Err(bad(at, "host, port and id of a node"));
    };
    let told = match host {
        Reply::Null => "",
        host => host
            .text()
            .ok_or_else(|| bad(at, "a host as text, or nil"))?,
    };
    let port = port.integer().and_then(|port| u16::try_from(port).ok());
    let port = port.ok_or_else(|| bad(at, "a port within 0-65535"))?;
    let extra = more.get(1).and_then(Reply::pairs).unwrap_or_default();
    let extra = |name| extra.iter().find(|(key, _)| *key == name)?.1.text();
    let host = match (extra("ip"), told) {
        (Some(ip), _) => ip,
        (None, "") => asked.map_or("", Address::host),
        (None, told) => told,
    };
    let hostname = match (extra("hostname"), extra("ip"), told) {
        (Some(name), _, _) => name,
        (None, Some(_), told) if told != "?" => told,
        _ => "",
    };
    let address = Address::new(host, port);
    let id = more
        .first()
        .and_then(Reply::text)
        .map_or_else(|| address.to_string(), String::from);
    let node = ClusterNode::new(id).map_err(|_| bad(at, "a node id of one word"))?;
    Ok(node.with_address(address).with_hostname(hostname))
}

fn entry(node: &ClusterNode, endpoint: Endpoint, protocol: Protocol) -> Reply {
    let host = match endpoint.of(node) {
        "" => Reply::Null,
        host => host.into(),
    };
    let mut extra: Vec<(&str, Reply)> = Vec::new();
    if endpoint != Endpoint::Ip && !node.address().host().is_empty() {
        extra.push(("ip", node.address().host().into()));
    }
    if let Some(name) = node.hostname().filter(|_| endpoint != Endpoint::Hostname) {
        extra.push(("hostname", name.into()));
    }
    let port = i64::from(node.address().port());
    let extra = Reply::from_pairs(extra, protocol);
    Reply::Array([host, port.into(), node.id().into(), extra].into())
}
