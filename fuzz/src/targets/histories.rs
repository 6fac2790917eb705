//! Random histories of changes: against a fresh build, against slow models, and the laws.

use core::ops::ControlFlow;

use arbitrary::Unstructured;
use hashroute::registry::{Agree, Caps, Leave, Params, Scheme, Weights};
use hashroute::{
    Change, KeyHash, Node, NodeId, NodeList, Ring, Router, RouterExt, Server, Spread, compat,
    strategy,
};

use super::nodes;
use crate::Outcome;
use crate::draw::Draw;

/// Dialects that build large tables whatever their parameters, left to rarer inputs.
const SLOW: [&str; 4] = ["trafficserver", "cassandra", "uhashring", "go-mpchash"];

/// A router with what it was built from.
struct History {
    row: &'static Scheme,
    params: Params,
    members: Vec<Server>,
    router: Box<dyn Router>,
    keys: Vec<KeyHash>,
    joined: usize,
}

fn name(router: &dyn Router, id: Option<NodeId>) -> Option<&str> {
    router.nodes().name(id?)
}

fn owners(router: &dyn Router, keys: &[KeyHash]) -> Vec<Option<String>> {
    let owner = |key: &KeyHash| name(router, router.route_hash(*key)).map(str::to_owned);
    keys.iter().map(owner).collect()
}

/// Returns the nodes that a walk offers, each once, in order.
fn walked(router: &dyn Router, key: KeyHash) -> Vec<NodeId> {
    let mut ids: Vec<NodeId> = Vec::new();
    router.walk(key, &mut |id| {
        if !ids.contains(&id) {
            ids.push(id);
        }
        ControlFlow::Continue(())
    });
    ids
}

/// Runs a history of changes of a strategy or a dialect.
pub(crate) fn changes(u: &mut Unstructured<'_>) -> Outcome {
    let row = if u.chance(40) {
        &compat::ALL[u.below(compat::ALL.len())]
    } else {
        &strategy::ALL[u.below(strategy::ALL.len())]
    };
    if SLOW.contains(&row.name) && !u.chance(16) {
        return Outcome::Refused;
    }
    let params = nodes::params(u, row);
    let members = if row.is_dialect() {
        nodes::servers(u, 4)
    } else {
        let count = u.below(7);
        let member = |number| {
            let name = nodes::name(u, number);
            Server::from(nodes::node(u, row, name))
        };
        (0..count).map(member).collect()
    };
    let Ok(router) = row.build(members.clone(), &params) else {
        return Outcome::Refused;
    };
    // Ranges speak of hashes that the function can give. Numbers are keys of every dialect that
    // hashes text.
    let key = |u: &mut Unstructured<'_>, router: &dyn Router| {
        router.hash_key(format!("{}", u.number() >> 2).as_bytes())
    };
    let keys: Vec<_> = (0..6).filter_map(|_| key(u, &*router)).collect();
    let mut history = History {
        row,
        params,
        members,
        router,
        keys,
        joined: 0,
    };
    history.check(u);
    for _ in 0..u.range(1, 10) {
        let change = history.draw(u);
        history.apply(u, &change);
    }
    history.check(u);
    Outcome::Accepted
}

impl History {
    fn caps(&self) -> Option<Caps> {
        self.row.caps()
    }

    fn member(&self, u: &mut Unstructured<'_>) -> String {
        let last = self.caps().is_some_and(|caps| caps.leave == Leave::Last) && u.chance(200);
        let at = if last {
            self.members.len().saturating_sub(1)
        } else {
            u.below(self.members.len())
        };
        match self.members.get(at) {
            Some(member) if !u.chance(8) => member.name().to_owned(),
            _ => "nobody".to_owned(),
        }
    }

    fn draw(&mut self, u: &mut Unstructured<'_>) -> Change {
        match u.byte() {
            0..=99 => {
                self.joined += 1;
                let name = match u.byte() {
                    0..=7 => self.member(u),
                    _ if self.row.is_dialect() => format!("10.9.0.{}:80", self.joined),
                    _ => format!("new-{}", self.joined),
                };
                Change::Add(nodes::node(u, self.row, name))
            }
            100..=179 => Change::remove(self.member(u)),
            _ => Change::reweight(self.member(u), nodes::weight(u, self.row)),
        }
    }

    /// Returns whether the model says that the change must fail, or `None` if it does not know.
    fn fails(&self, change: &Change) -> Option<bool> {
        let known = self
            .members
            .iter()
            .position(|member| member.name() == change.name());
        let caps = self.caps()?;
        let weight = match change {
            Change::Add(node) => node.weight(),
            Change::Reweight(_, weight) => *weight,
            _ => 1,
        };
        let fits = caps.weights == Weights::Any || weight == 1;
        Some(match (change, known) {
            (Change::Add(_), known) => known.is_some() || !fits,
            (_, None) => true,
            (Change::Remove(_), Some(at)) => {
                caps.leave == Leave::Last && at + 1 < self.members.len()
            }
            _ => !fits,
        })
    }

    fn apply(&mut self, u: &mut Unstructured<'_>, change: &Change) {
        let before = owners(&*self.router, &self.keys);
        let lists: Vec<_> = self.keys.iter().map(|key| self.names(*key)).collect();
        let fails = self.fails(change);
        let applied = self.router.apply(change);
        let (row, after) = (self.row.name, owners(&*self.router, &self.keys));
        assert!(
            fails.is_none_or(|fails| fails == applied.is_err()),
            "{row} {change:?}: {applied:?}"
        );
        if applied.is_ok() {
            Server::change(&mut self.members, change);
            self.check_moves(change, &before, &after, &lists);
        } else {
            assert_eq!(after, before, "{row} {change:?}");
        }
        assert_eq!(self.router.nodes().len(), self.members.len());
        if u.chance(60) {
            self.check(u);
        }
    }

    /// Returns the names of the preference list of a key.
    fn names(&self, key: KeyHash) -> Vec<String> {
        let ids = walked(&*self.router, key).into_iter();
        ids.filter_map(|id| self.router.nodes().name(id).map(str::to_owned))
            .collect()
    }

    /// Where there is no excess, keys move to the node or from it; and from a node that leaves they
    /// move to the next of their list, where the list shows it.
    fn check_moves(
        &self,
        change: &Change,
        before: &[Option<String>],
        after: &[Option<String>],
        lists: &[Vec<String>],
    ) {
        let Some(caps) = self.caps() else {
            return;
        };
        if !caps.excess.is_none() {
            return;
        }
        let node = Some(change.name());
        for ((old, new), list) in before.iter().zip(after).zip(lists) {
            let (old, new) = (old.as_deref(), new.as_deref());
            let fair = old == new
                || match change {
                    Change::Add(_) => new == node,
                    Change::Remove(_) => old == node,
                    _ => old == node || new == node,
                };
            assert!(fair, "{} {change:?}: {old:?} to {new:?}", self.row.name);
            let listed = ["ring", "rendezvous"].contains(&self.row.name);
            if listed && matches!(change, Change::Remove(_)) && old == node {
                assert_eq!(new, list.get(1).map(String::as_str), "{change:?} {list:?}");
            }
        }
    }

    /// Checks the laws of one state.
    fn check(&self, u: &mut Unstructured<'_>) {
        let (row, router) = (self.row, &*self.router);
        if self.is_repeatable() {
            let mut members = self.members.clone();
            if !row.minds_order() && members.len() > 1 {
                let at = u.below(members.len());
                members.rotate_left(at);
            }
            let fresh = row.build(members, &self.params);
            let fresh = fresh.unwrap_or_else(|error| panic!("{}: {error}", row.name));
            assert_eq!(
                owners(router, &self.keys),
                owners(&*fresh, &self.keys),
                "{}",
                row.name
            );
            assert_eq!(
                router.hash_id() == router.hash_id(),
                fresh.hash_id() == router.hash_id()
            );
            if let Some(&key) = self.keys.first() {
                let list = |router: &dyn Router| {
                    let ids = walked(router, key).into_iter();
                    ids.map(|id| name(router, Some(id)).map(str::to_owned))
                        .collect::<Vec<_>>()
                };
                assert_eq!(list(router), list(&*fresh), "{}", row.name);
            }
        }
        let weights: u64 = self
            .members
            .iter()
            .map(Server::to_node)
            .map(|node| u64::from(node.weight()))
            .sum();
        assert_eq!(router.nodes().total_weight(), weights, "{}", row.name);
        let mut batch = vec![None; self.keys.len()];
        router.route_batch(&self.keys, &mut batch);
        let ranges = router.ranges();
        for (&key, &owner) in self.keys.iter().zip(&batch) {
            assert_eq!(router.route_hash(key), owner, "{}", row.name);
            if let Some(ranges) = &ranges {
                assert_eq!(ranges.owner(key), owner, "{} {key}", row.name);
            }
            self.check_list(u, key, owner);
        }
        if let Some(ranges) = &ranges {
            let shares = ranges.shares(router.nodes().id_bound());
            let sum: f64 = shares.iter().sum();
            assert!((-1e-9..=1.0 + 1e-9).contains(&sum), "{} {sum}", row.name);
        }
    }

    /// Returns whether the members alone decide routes.
    fn is_repeatable(&self) -> bool {
        // A table has a history of its own.
        !matches!(self.row.agree(), Agree::Table | Agree::History)
    }

    fn check_list(&self, u: &mut Unstructured<'_>, key: KeyHash, owner: Option<NodeId>) {
        let (row, router) = (self.row, &*self.router);
        let walk = walked(router, key);
        assert!(
            owner.is_none() || walk.first() == owner.as_ref(),
            "{} {key}",
            row.name
        );
        let weighted = walk
            .iter()
            .filter(|id| router.nodes().weight(**id) > Some(0))
            .count();
        if owner.is_some() && !row.is_dialect() {
            assert_eq!(weighted, router.nodes().weighted(), "{} {key}", row.name);
        }
        let spread = u.pick(&[Spread::Nodes, Spread::Zones]);
        let (n, mut list) = (u.range(1, 5), NodeList::new());
        router.replicas_into(key, n, spread, &mut list);
        assert!(list.len() <= n);
        for (at, id) in list.iter().enumerate() {
            assert!(!list[..at].contains(id), "{} {key}: {list:?}", row.name);
            assert!(router.nodes().weight(*id) > Some(0), "{} {key}", row.name);
        }
        assert!(
            owner.is_none() || list.first() == owner.as_ref(),
            "{} {key}",
            row.name
        );
        let longer = router.replicas_hash(key, n + 1, spread);
        assert!(
            longer.starts_with(&list),
            "{} {key}: {list:?} {longer:?}",
            row.name
        );
    }
}

/// A ring of explicit tokens against a sorted list.
pub(crate) fn tokens(u: &mut Unstructured<'_>) -> Outcome {
    let wide = u.chance(128);
    let token = |u: &mut Unstructured<'_>| {
        if wide {
            u.number()
        } else {
            u64::from(u.byte()) << 56
        }
    };
    let count = u.range(1, 5);
    let mut members: Vec<(Node, Vec<u64>)> = Vec::new();
    for number in 0..count {
        let node = Node::new(format!("n{number}")).with_weight(u.below(4) as u32);
        let tokens = (0..u.range(1, 4)).map(|_| token(u)).collect();
        members.push((node, tokens));
    }
    let all = members
        .iter()
        .flat_map(|(node, tokens)| tokens.iter().map(|&token| (token, node.name())));
    let list = members.iter().map(|(node, _)| node.clone());
    let mut ring = Ring::from_tokens(list, all.collect::<Vec<_>>()).expect("a token for each");
    for step in 0..u.range(0, 6) {
        let at = u.below(members.len());
        match u.below(4) {
            0 => {
                let node = Node::new(format!("new{step}")).with_weight(u.below(3) as u32);
                let tokens: Vec<_> = (0..u.range(1, 3)).map(|_| token(u)).collect();
                ring.add_with_tokens(node.clone(), &tokens)
                    .expect("a new name");
                members.push((node, tokens));
            }
            1 if !members.is_empty() => {
                let (node, _) = members.remove(at);
                ring.apply(&Change::remove(node.name())).expect("a member");
            }
            2 if !members.is_empty() => {
                let weight = u.below(3) as u32;
                let node = members[at].0.clone().with_weight(weight);
                ring.apply(&Change::reweight(node.name(), weight))
                    .expect("a member");
                members[at].0 = node;
            }
            _ => {
                let node = Node::new("n0");
                let known = members.iter().any(|(member, _)| member.name() == "n0");
                if known {
                    ring.add_with_tokens(node, &[7]).expect_err("a member");
                }
            }
        }
    }
    let mut model: Vec<(u64, &str)> = Vec::new();
    for (node, tokens) in members.iter().filter(|(node, _)| node.weight() > 0) {
        model.extend(tokens.iter().map(|&token| (token, node.name())));
    }
    model.sort_unstable();
    assert!(
        ring.points()
            .map(|(point, node)| (point, node.name()))
            .eq(model.iter().copied())
    );
    for _ in 0..6 {
        let near = model
            .get(u.below(model.len()))
            .map_or(0, |(token, _)| *token);
        let hash = near.wrapping_add(u.below(3) as u64).wrapping_sub(1);
        let start = model.partition_point(|(token, _)| *token < hash);
        let mut order: Vec<&str> = Vec::new();
        for (_, name) in model[start..].iter().chain(&model[..start]) {
            if !order.contains(name) {
                order.push(name);
            }
        }
        let key = KeyHash::from_raw(hash);
        assert_eq!(name(&ring, ring.route_hash(key)), order.first().copied());
        let walk: Vec<_> = walked(&ring, key)
            .into_iter()
            .filter_map(|id| ring.nodes().name(id))
            .collect();
        assert_eq!(walk, order);
    }
    Outcome::Accepted
}
