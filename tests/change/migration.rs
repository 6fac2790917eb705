//! Simulated migrations of stored keys.
//!
//! Clients read and write during the migration and learn of each phase at different times. No write
//! may be lost and no read may be stale.

use std::collections::BTreeMap;

use hashroute::plan::{Budget, Plan, Replicas, Transition};
use hashroute::strategy::Params;
use hashroute::{Node, NodeId, Ring, Router, Spread, compat};
use proptest::prelude::RngCore;
use proptest::test_runner::{RngAlgorithm, TestRng};
use std::sync::Arc;

use crate::{plannable, states};
use hashroute_test_support::{Outcome, Step, nodes};

/// The copy of a key on a node: its version, and whether the key exists or was deleted.
type Value = (u64, bool);

struct World {
    nodes: BTreeMap<NodeId, BTreeMap<String, Value>>,
    truth: BTreeMap<String, Value>,
    clients: Vec<Transition>,
    random: TestRng,
    reads: u32,
}

impl World {
    fn new(change: &Transition) -> Self {
        Self {
            nodes: change
                .nodes()
                .iter()
                .map(|(id, _)| (id, BTreeMap::new()))
                .collect(),
            truth: BTreeMap::new(),
            clients: vec![change.clone(), change.clone(), change.clone()],
            random: TestRng::deterministic_rng(RngAlgorithm::ChaCha),
            reads: 0,
        }
    }

    fn draw(&mut self, below: usize) -> usize {
        usize::try_from(self.random.next_u64() % below as u64).unwrap_or(0)
    }

    /// A client writes, deletes or reads a key.
    fn act(&mut self) {
        let key = format!("user:{}", self.draw(150));
        let client = self.draw(self.clients.len());
        let lists = self.clients[client].lists(key.as_bytes());
        if self.draw(2) == 0 {
            let version = self.truth.get(&key).map_or(0, |value| value.0) + 1;
            let value = (version, self.draw(5) > 0);
            for id in lists.writers() {
                self.hold(id, &key, value);
            }
            self.truth.insert(key, value);
            return;
        }
        self.reads += 1;
        for id in &lists.now {
            let found = self.nodes[id].get(&key);
            assert_eq!(found, self.truth.get(&key), "{key} on {id:?}");
        }
        let owners = self.clients[client].owners(key.as_bytes());
        assert_eq!(owners.now, lists.now.first().copied());
    }

    /// Stores a copy on a node unless it has a newer version.
    fn hold(&mut self, id: NodeId, key: &str, value: Value) {
        let held = self.nodes.entry(id).or_default();
        let known = held.entry(key.to_owned()).or_insert(value);
        *known = value.max(*known);
    }

    /// Does the work of a phase, with reads and writes of clients in between.
    fn work(&mut self) {
        let change = self.clients[0].clone();
        let keys: Vec<_> = self.truth.keys().cloned().collect();
        for key in keys {
            for &[from, to] in &change.sources(key.as_bytes()) {
                let value = self.nodes[&from].get(&key).copied();
                self.hold(to, &key, value.expect("a source has the key"));
            }
            for (id, held) in &mut self.nodes {
                if change.may_delete(*id, key.as_bytes()) {
                    held.remove(&key);
                }
            }
            self.act();
        }
    }

    /// Announces the next phase to one client after the other, in a random order.
    fn advance(&mut self) -> bool {
        let mut waiting: Vec<_> = (0..self.clients.len()).collect();
        let mut more = false;
        while !waiting.is_empty() {
            let next = self.draw(waiting.len());
            let client = waiting.swap_remove(next);
            more = self.clients[client].advance();
            (0..20).for_each(|_| self.act());
        }
        more
    }

    fn run(mut self, what: &str) {
        (0..1000).for_each(|_| self.act());
        while self.advance() {
            if self.clients[0].phase() % 2 == 1 {
                self.work();
            }
            (0..100).for_each(|_| self.act());
        }
        assert!(self.reads > 500);
        // Every node has the keys that the new router gives it, and no others.
        let change = &self.clients[0];
        for (id, held) in &self.nodes {
            let own = self
                .truth
                .iter()
                .filter(|(key, _)| change.lists(key.as_bytes()).now.contains(id));
            let own: BTreeMap<_, _> = own.map(|(key, value)| (key.clone(), *value)).collect();
            assert_eq!(*held, own, "{what}: {id:?}");
        }
    }
}

fn migrate(what: &str, old: Arc<dyn Router>, new: Arc<dyn Router>, replicas: Replicas) -> Outcome {
    let budget = Budget::default().with_step(0.25).with_node_in(0.2);
    let plan = Plan::new(&*old, &*new, replicas, budget)?;
    assert!(plan.steps().len() > 0, "{what}: nothing moves");
    World::new(&Transition::new(old, new, &plan)?).run(what);
    Ok(())
}

fn migrate_all(n: usize) -> Outcome {
    let replicas = Replicas::new(n, Spread::Nodes);
    for strategy in plannable() {
        let change = [Step::Add(2), Step::Remove(1), Step::Add(1)];
        let [old, new] = states(strategy, &[1, 2, 1, 3, 1], &change);
        migrate(strategy.name, old, new, replicas)?;
    }
    Ok(())
}

/// While a phase spreads, one client writes to both nodes and then another to the old node alone.
/// A copy must therefore compare versions, those of deletions included.
#[test]
fn copying_only_missing_keys_loses_writes() -> Outcome {
    let [old, new] = ["a", "b"].map(|name| Ring::new([Node::new(name)]));
    let (old, new) = (Arc::new(old?), Arc::new(new?));
    let plan = Plan::new(&*old, &*new, Replicas::default(), Budget::default())?;
    let change = Transition::new(old, new, &plan)?;
    for last in [(2, true), (2, false)] {
        let mut world = World::new(&change);
        world.clients[0].advance();
        for (client, value) in [(0, (1, true)), (1, last)] {
            for id in world.clients[client].lists(b"key").writers() {
                world.hold(id, "key", value);
            }
        }
        let [from, to] = world.clients[0].sources(b"key")[0];
        let value = world.nodes[&from]["key"];
        let mut missing = world.nodes[&to].clone();
        missing.entry("key".into()).or_insert(value);
        world.hold(to, "key", value);
        assert_eq!((missing["key"], world.nodes[&to]["key"]), ((1, true), last));
    }
    Ok(())
}

#[test]
fn a_migration_loses_nothing_and_reads_nothing_stale() -> Outcome {
    migrate_all(1)
}

#[test]
fn a_migration_of_two_replicas_loses_nothing() -> Outcome {
    migrate_all(2)
}

#[test]
fn a_migration_of_three_replicas_loses_nothing() -> Outcome {
    migrate_all(3)
}

/// From the ring of twemproxy to ours, with other points, other hashes and another set of nodes.
#[test]
fn a_migration_between_hash_functions_loses_nothing() -> Outcome {
    let twemproxy = compat::find("twemproxy")?;
    for n in [1, 2] {
        let pool = twemproxy.build(nodes(5), &Params::default())?;
        let ring = Ring::new(
            nodes(6)
                .into_iter()
                .skip(1)
                .map(|node: Node| node.with_weight(2)),
        )?;
        let replicas = Replicas::new(n, Spread::Nodes);
        let (old, new) = (Arc::new(pool), Arc::new(ring));
        let plan = Plan::new(&*old, &*new, replicas, Budget::default())?;
        assert!(
            Transition::new(old.clone(), new.clone(), &plan)?
                .router()
                .is_none()
        );
        migrate("twemproxy to a ring", old, new, replicas)?;
    }
    Ok(())
}
