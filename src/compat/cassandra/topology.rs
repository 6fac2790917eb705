//! Replicas by data centre and rack: `NetworkTopologyStrategy`.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::ControlFlow;

use crate::{KeyHash, Node, NodeId, Router};

/// Returns the natural replicas of `NetworkTopologyStrategy`: a given number in each data centre, on
/// different racks if possible. The data centre of a node is its zone.
///
/// Walks the ring once. A node is taken if its data centre lacks replicas and its rack has none yet.
/// If a data centre has fewer racks than replicas, as many nodes on used racks are taken as racks
/// are missing. So the list can differ from [`Spread::Zones`](crate::Spread::Zones). A data centre
/// with fewer nodes than replicas gives all its nodes. If a data centre is named twice, the last
/// number counts. O(points) at worst. In Cassandra replicas do not depend on which nodes are down,
/// so give a router in which no node is down.
///
/// ```
/// use hashroute::compat::{Pool, Server, cassandra::{Cassandra, network_topology}};
/// use hashroute::{Node, Router};
///
/// let nodes = [("a", "eu", "r1"), ("b", "eu", "r1"), ("c", "eu", "r2"), ("d", "us", "r1")];
/// let nodes = nodes.map(|(name, zone, rack)| Node::new(name).with_location(zone, rack).into());
/// let pool = Pool::new(Cassandra::default(), nodes)?;
/// let key = pool.hash_key(b"user:1").expect("every key has a token");
/// let list = network_topology(&pool, key, &[("eu", 2), ("us", 1)]);
/// let racks: Vec<_> = list.iter().filter_map(|&id| pool.nodes().get(id)?.rack()).collect();
/// assert_eq!(racks.len(), 3);
/// assert!(racks.contains(&"r2"));
/// # Ok::<(), hashroute::Error>(())
/// ```
pub fn network_topology<R: Router + ?Sized>(
    ring: &R,
    key: KeyHash,
    factors: &[(&str, usize)],
) -> Vec<NodeId> {
    let mut centres = centres(ring, factors);
    let mut lacking = centres.values().filter(|centre| centre.lacking > 0).count();
    let mut list = Vec::new();
    if lacking == 0 {
        return list;
    }
    ring.walk(key, &mut |id| {
        let node = ring.nodes().get(id);
        let centre = node.and_then(|node| Some((centres.get_mut(node.zone()?)?, node)));
        if let Some((centre, node)) = centre {
            if centre.takes(id, node, &list) {
                list.push(id);
                lacking -= usize::from(centre.lacking == 0);
            }
        }
        match lacking {
            0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    });
    list
}

/// The replicas that a data centre still needs.
#[derive(Default)]
struct Centre<'a> {
    /// Its racks, each with whether it has a replica.
    racks: BTreeMap<Option<&'a str>, bool>,
    /// The number of replicas still to find.
    lacking: usize,
    /// The number of replicas that may still be on a rack that already has one.
    repeats: usize,
}

fn centres<'a, R: Router + ?Sized>(
    ring: &'a R,
    factors: &[(&'a str, usize)],
) -> BTreeMap<&'a str, Centre<'a>> {
    let factors: BTreeMap<_, _> = factors.iter().copied().collect();
    let mut centres: BTreeMap<&str, Centre<'_>> = BTreeMap::new();
    for (_, node) in ring.nodes().iter().filter(|(_, node)| node.weight() > 0) {
        if let Some(zone) = node.zone().filter(|zone| factors.contains_key(zone)) {
            let centre = centres.entry(zone).or_default();
            centre.racks.insert(node.rack(), false);
            centre.lacking += 1;
        }
    }
    for (zone, centre) in &mut centres {
        let factor = factors.get(zone).copied().unwrap_or(0);
        centre.lacking = centre.lacking.min(factor);
        centre.repeats = factor.saturating_sub(centre.racks.len());
    }
    centres
}

impl<'a> Centre<'a> {
    /// Returns whether this node of the data centre becomes a replica, and counts it.
    fn takes(&mut self, id: NodeId, node: &'a Node, list: &[NodeId]) -> bool {
        if self.lacking == 0 {
            return false;
        }
        let first = match self.racks.get_mut(&node.rack()) {
            Some(has) => !core::mem::replace(has, true),
            None => return false,
        };
        if !first {
            if self.repeats == 0 || list.contains(&id) {
                return false;
            }
            self.repeats -= 1;
        }
        self.lacking -= 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;

    use super::*;
    use crate::Error;
    use crate::compat::Pool;
    use crate::compat::cassandra::{Cassandra, Tokens};

    /// Builds a ring of nodes "dc/rack/name", in the order of their tokens.
    fn ring(nodes: &[&str]) -> Result<Pool, Error> {
        let mut tokens: BTreeMap<&str, Vec<i128>> = BTreeMap::new();
        let mut servers = Vec::new();
        for (at, text) in nodes.iter().enumerate() {
            let parts: Vec<_> = text.split('/').collect();
            let known = tokens.entry(parts[2]).or_default();
            if known.is_empty() {
                servers.push(Node::new(parts[2]).with_location(parts[0], parts[1]).into());
            }
            known.push(at as i128);
        }
        let tokens = tokens
            .into_iter()
            .map(|(name, tokens)| (name.into(), tokens));
        let cassandra = Cassandra {
            tokens: Tokens::Map(tokens.collect()),
            ..Cassandra::default()
        };
        Pool::new(cassandra, servers)
    }

    /// Returns the names of the replicas of a key before all tokens.
    fn list(nodes: &[&str], factors: &[(&str, usize)]) -> Result<String, Error> {
        let ring = ring(nodes)?;
        let list = network_topology(&ring, KeyHash::from_raw(1 << 63), factors);
        let names = list.iter().filter_map(|id| ring.nodes().name(*id));
        Ok(names.fold(String::new(), |list, name| format!("{list}{name}")))
    }

    #[test]
    fn replicas_are_on_different_racks_while_there_are_enough() -> Result<(), Error> {
        let nodes = ["x/1/a", "x/1/b", "x/2/c", "x/3/d"];
        assert_eq!(list(&nodes, &[("x", 1)])?, "a");
        assert_eq!(list(&nodes, &[("x", 2)])?, "ac");
        assert_eq!(list(&nodes, &[("x", 3)])?, "acd");
        assert_eq!(list(&nodes, &[("x", 4)])?, "abcd");
        assert_eq!(list(&nodes, &[("x", 9)])?, "abcd");
        Ok(())
    }

    /// Two racks for three replicas: one rack has two.
    #[test]
    fn a_rack_is_used_twice_at_its_first_chance() -> Result<(), Error> {
        let nodes = ["x/1/a", "x/1/b", "x/1/c", "x/2/d"];
        assert_eq!(list(&nodes, &[("x", 3)])?, "abd");
        assert_eq!(list(&nodes, &[("x", 2)])?, "ad");
        Ok(())
    }

    #[test]
    fn a_node_is_taken_only_once() -> Result<(), Error> {
        let nodes = ["x/1/a", "x/1/a", "x/1/b", "x/1/c"];
        assert_eq!(list(&nodes, &[("x", 3)])?, "abc");
        Ok(())
    }

    #[test]
    fn each_data_centre_has_its_own_replicas() -> Result<(), Error> {
        let nodes = ["x/1/a", "y/1/b", "x/1/c", "y/2/d", "x/2/e", "z/1/f"];
        assert_eq!(list(&nodes, &[("x", 2), ("y", 2)])?, "abde");
        assert_eq!(list(&nodes, &[("y", 1)])?, "b");
        assert_eq!(list(&nodes, &[("y", 0), ("nowhere", 3)])?, "");
        assert_eq!(list(&nodes, &[("x", 1), ("x", 2)])?, "ae");
        assert_eq!(list(&nodes, &[])?, "");
        Ok(())
    }

    #[test]
    fn a_ring_without_zones_has_no_replicas() -> Result<(), Error> {
        let none = Pool::new(Cassandra::default(), [])?;
        assert!(network_topology(&none, KeyHash::from_raw(0), &[("x", 3)]).is_empty());
        let plain = Pool::new(Cassandra::default(), [Node::new("a").into()])?;
        assert!(network_topology(&plain, KeyHash::from_raw(0), &[("x", 3)]).is_empty());
        Ok(())
    }
}
