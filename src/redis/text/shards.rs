//! The reply to `CLUSTER SHARDS`: each primary with its slots and its replicas.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::vec::Vec;

use super::reply::bad;
use super::{Endpoint, Protocol, Reply};
use crate::Error;
use crate::redis::{Address, ClusterNode, Flags, Role, SlotRange, SlotRule, Table};

impl Table {
    /// Reads the reply to `CLUSTER SHARDS` in RESP2 or RESP3. It contains no epochs.
    /// O(reply + slots).
    ///
    /// # Errors
    ///
    /// [`Error::Reply`] with the position in the reply; [`Error::Parameter`] for slots that do not exist;
    /// [`Error::DuplicateNode`]; [`Error::Capacity`] beyond [`MAX_NODES`](Self::MAX_NODES).
    ///
    /// ```
    /// use hashroute::redis::{Reply, SlotRule, Table};
    ///
    /// let reply = Reply::from_printed(
    ///     "1) 1# \"slots\" => \n      1) (integer) 0\n      2) (integer) 99\n   2# \"nodes\" => \n      1) 1# \"id\" => \"07c3\"\n         2# \"port\" => (integer) 6379\n         3# \"ip\" => \"10.0.0.1\"\n         4# \"role\" => \"master\"\n",
    /// )?;
    /// let table = Table::from_shards(&reply, SlotRule::REDIS)?;
    /// assert_eq!(table.ranges("07c3"), [0..=99]);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn from_shards(reply: &Reply, rule: SlotRule) -> Result<Self, Error> {
        let shards = reply.items().ok_or_else(|| bad("", "a list of shards"))?;
        let shards: Result<Vec<Shard>, _> = shards
            .iter()
            .enumerate()
            .map(|(i, reply)| shard(reply, i))
            .collect();
        let shards = shards?;
        let nodes = shards.iter().flat_map(|shard| shard.nodes.iter().cloned());
        let mut table = Self::with_nodes(rule, nodes)?;
        for (i, shard) in shards.iter().enumerate() {
            let owner = primary(&shard.nodes);
            for range in &shard.slots {
                let owner = owner.ok_or_else(|| bad(format!("[{i}]"), "a master for the slots"))?;
                table.assign(range.clone(), owner.id())?;
            }
        }
        Ok(table)
    }

    /// Builds the reply to `CLUSTER SHARDS`. Shards are sorted by the id of their primary, which
    /// comes first in its shard. A replica without a known primary has its own shard.
    /// O(slots + n log n).
    ///
    /// ```
    /// use hashroute::redis::{Endpoint, Protocol, Reply, SlotRule, Table};
    ///
    /// let table = Table::new(SlotRule::REDIS);
    /// assert_eq!(table.to_shards(Endpoint::Ip, Protocol::Resp3), Reply::Array(Vec::new()));
    /// ```
    pub fn to_shards(&self, endpoint: Endpoint, protocol: Protocol) -> Reply {
        let heads = self.nodes().iter().map(|node| {
            let primary = node.primary().and_then(|id| self.index_of(id));
            primary.filter(|at| self.nodes()[*at].role() == Role::Primary)
        });
        let mut order: Vec<_> = heads
            .enumerate()
            .map(|(i, head)| (head.unwrap_or(i), head.is_some(), i))
            .collect();
        order.sort_unstable();
        let mut slots = Vec::new();
        slots.resize_with(self.nodes().len(), Vec::new);
        for (range, owner) in self.runs() {
            if let Some(list) = owner.and_then(|owner| slots.get_mut(self.index_of(owner.id())?)) {
                list.extend(
                    [range.start(), range.end()].map(|slot| Reply::Integer((*slot).into())),
                );
            }
        }
        let shards = order.chunk_by(|a, b| a.0 == b.0).map(|group| {
            let nodes = group.iter().map(|(_, _, i)| &self.nodes()[*i]);
            let nodes = nodes.map(|node| entry(node, endpoint, protocol)).collect();
            let slots = slots.get_mut(group[0].0).map(core::mem::take);
            let pairs = [
                ("slots", Reply::Array(slots.unwrap_or_default())),
                ("nodes", Reply::Array(nodes)),
            ];
            Reply::from_pairs(pairs.into(), protocol)
        });
        Reply::Array(shards.collect())
    }
}

struct Shard {
    slots: Vec<SlotRange>,
    nodes: Vec<ClusterNode>,
}

/// Returns the primary of a shard. After a failover a shard may list two masters: the one that
/// works comes before the failed one.
fn primary(nodes: &[ClusterNode]) -> Option<&ClusterNode> {
    let primaries = nodes.iter().filter(|node| node.role() == Role::Primary);
    primaries.min_by_key(|node| node.flags().failed)
}

fn shard(reply: &Reply, i: usize) -> Result<Shard, Error> {
    let at = |rest: &str| format!("[{i}]{rest}");
    let pairs = reply
        .pairs()
        .ok_or_else(|| bad(at(""), "slots and nodes of a shard"))?;
    let list = |name: &str| pairs.iter().find(|(key, _)| *key == name)?.1.items();
    let slots = list("slots").ok_or_else(|| bad(at(".slots"), "a list of slots"))?;
    let number = |slot: &Reply| slot.integer().and_then(|slot| u32::try_from(slot).ok());
    let range = |pair: &[Reply]| Some(number(pair.first()?)?..=number(pair.get(1)?)?);
    let slots: Option<_> = slots.chunks(2).map(range).collect();
    let slots = slots.ok_or_else(|| bad(at(".slots"), "pairs of first and last slot"))?;
    let nodes = list("nodes").ok_or_else(|| bad(at(".nodes"), "a list of nodes"))?;
    let nodes = nodes.iter().enumerate();
    let nodes: Result<Vec<_>, _> = nodes
        .map(|(j, reply)| node(reply, &at(&format!(".nodes[{j}]"))))
        .collect();
    let nodes = nodes?;
    let head = primary(&nodes).map(|node| node.id().to_owned());
    let follow = |node: ClusterNode| match &head {
        Some(id) if node.role() == Role::Replica => node.with_primary(id.as_str()),
        _ => node,
    };
    let nodes = nodes.into_iter().map(follow).collect();
    Ok(Shard { slots, nodes })
}

fn node(reply: &Reply, at: &str) -> Result<ClusterNode, Error> {
    let pairs = reply
        .pairs()
        .ok_or_else(|| bad(at, "names and values of a node"))?;
    let find = |name: &str| {
        pairs
            .iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| *value)
    };
    let text = |name: &str| find(name).and_then(Reply::text);
    let id = text("id").ok_or_else(|| bad(format!("{at}.id"), "an id"))?;
    let node = ClusterNode::new(id).map_err(|_| bad(format!("{at}.id"), "one word"))?;
    // A server that accepts TLS only has no `port`.
    let port = find("port")
        .or_else(|| find("tls-port"))
        .and_then(Reply::integer);
    let port = port.and_then(|port| u16::try_from(port).ok());
    let port = port.ok_or_else(|| bad(format!("{at}.port"), "a port within 0-65535"))?;
    let role = match text("role") {
        Some("master") => Role::Primary,
        Some("replica" | "slave") => Role::Replica,
        _ => return Err(bad(format!("{at}.role"), "master or replica")),
    };
    let flags = Flags {
        failed: matches!(text("health"), Some("fail" | "failed")),
        ..Flags::default()
    };
    // A server that has not met another one does not know its own IP address.
    let ip = text("ip").filter(|ip| !ip.is_empty());
    let host = ip.or_else(|| text("endpoint").filter(|endpoint| *endpoint != "?"));
    let offset = find("replication-offset").and_then(Reply::integer);
    let node = node
        .with_address(Address::new(host.unwrap_or_default(), port))
        .with_hostname(text("hostname").unwrap_or_default())
        .with_role(role)
        .with_offset(offset.unwrap_or(0))
        .with_flags(flags);
    let tls = find("tls-port").filter(|_| find("port").is_some());
    Ok(match tls.and_then(Reply::integer) {
        Some(port) => node.with_extra("tls-port", format!("{port}")),
        None => node,
    })
}

fn entry(node: &ClusterNode, endpoint: Endpoint, protocol: Protocol) -> Reply {
    let mut pairs: Vec<(&str, Reply)> = Vec::new();
    pairs.push(("id", node.id().into()));
    pairs.push(("port", i64::from(node.address().port()).into()));
    if let Some(port) = node
        .extra("tls-port")
        .and_then(|port| port.parse::<u16>().ok())
    {
        pairs.push(("tls-port", i64::from(port).into()));
    }
    pairs.push(("ip", node.address().host().into()));
    pairs.push(("endpoint", endpoint.of(node).into()));
    if let Some(name) = node.hostname() {
        pairs.push(("hostname", name.into()));
    }
    let is_replica = node.role() == Role::Replica;
    let health = match node.flags().failed {
        true => "fail",
        false if is_replica && node.offset() == 0 => "loading",
        false => "online",
    };
    pairs.push(("role", if is_replica { "replica" } else { "master" }.into()));
    pairs.push(("replication-offset", node.offset().into()));
    pairs.push(("health", health.into()));
    Reply::from_pairs(pairs, protocol)
}
