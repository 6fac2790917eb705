//! Leases of hot keys, compared with a slow model while nodes join and leave, and by threads.

use std::collections::BTreeMap;
use std::thread;

use hashroute::hot::HotKeys;
use hashroute::{Change, KeyHash, Lease, Loads, Node, Rendezvous, Router, RouterExt, Spread};
use proptest::collection::vec;
use proptest::prelude::{Strategy, any, prop_oneof};

use hashroute_test_support::{Outcome, for_all, keys, name};

#[derive(Clone, Debug)]
enum Step {
    Acquire(usize),
    Release(usize),
    Join(u32),
    Leave(usize),
    Weigh(usize, u32),
    Heat(Vec<usize>),
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => any::<usize>().prop_map(Step::Acquire),
        4 => any::<usize>().prop_map(Step::Release),
        1 => (0_u32..5).prop_map(Step::Join),
        1 => any::<usize>().prop_map(Step::Leave),
        1 => (any::<usize>(), 0_u32..5).prop_map(|(node, weight)| Step::Weigh(node, weight)),
        1 => vec(any::<usize>(), 0..4).prop_map(Step::Heat),
    ]
}

const COPIES: usize = 3;

/// The router, its leases with the stay of the node each is on, and the load of each stay.
struct Model {
    router: HotKeys<Rendezvous>,
    keys: Vec<KeyHash>,
    leases: Vec<(Lease, usize)>,
    stays: BTreeMap<String, usize>,
    loads: Vec<u64>,
}

impl Model {
    fn new() -> Result<Self, hashroute::Error> {
        Ok(Self {
            router: HotKeys::new(Rendezvous::new([] as [Node; 0])?, COPIES, 0.01)?,
            keys: keys(83, 8),
            leases: Vec::new(),
            stays: BTreeMap::new(),
            loads: Vec::new(),
        })
    }

    /// Returns the node of the next lease of a key.
    fn expected(&self, key: KeyHash) -> Option<String> {
        let inner = self.router.router();
        let copies = if self.router.is_hot(key) { COPIES } else { 1 };
        let list = inner.replicas_hash(key, copies, Spread::Nodes);
        let nodes = list.iter().filter_map(|&id| inner.nodes().get(id));
        let per_weight = |node: &Node| {
            let load = self.loads[self.stays[node.name()]] + 1;
            // Twelve is a multiple of every weight used here.
            (load * 12 / u64::from(node.weight()), node.name().to_owned())
        };
        let all = nodes.map(per_weight);
        all.min_by_key(|(load, _)| *load).map(|(_, name)| name)
    }

    fn name(&self, index: usize) -> Option<String> {
        let names: Vec<_> = self.stays.keys().collect();
        names
            .get(index % names.len().max(1))
            .map(|name| (*name).clone())
    }

    fn step(&mut self, step: &Step) -> Outcome {
        match step {
            Step::Acquire(key) => self.acquire(self.keys[key % self.keys.len()])?,
            Step::Release(index) if !self.leases.is_empty() => {
                let (lease, stay) = self.leases.swap_remove(index % self.leases.len());
                let there = self.stays.values().any(|&present| present == stay);
                assert_eq!(self.router.release(lease), there);
                self.loads[stay] -= u64::from(there);
            }
            Step::Release(_) => {}
            Step::Join(weight) => {
                let name = format!("node-{}", self.loads.len() % 9);
                let node = Node::new(name.as_str()).with_weight(*weight);
                if self.router.apply(&Change::Add(node)).is_ok() {
                    self.stays.insert(name, self.loads.len());
                }
                self.loads.push(0);
            }
            Step::Leave(index) => {
                if let Some(name) = self.name(*index) {
                    self.router.apply(&Change::remove(name.as_str()))?;
                    self.stays.remove(&name);
                }
            }
            Step::Weigh(index, weight) => {
                if let Some(name) = self.name(*index) {
                    self.router.apply(&Change::reweight(name, *weight))?;
                }
            }
            Step::Heat(keys) => {
                let hot = keys.iter().map(|key| self.keys[key % self.keys.len()]);
                self.router.set_hot(hot)?;
            }
        }
        Ok(())
    }

    fn acquire(&mut self, key: KeyHash) -> Outcome {
        let expected = self.expected(key);
        let Some(lease) = self.router.acquire_hash(key) else {
            assert_eq!(expected, None);
            return Ok(());
        };
        let name = name(&self.router, lease.node()).to_owned();
        assert_eq!(Some(&name), expected.as_ref());
        let stay = *self.stays.get(&name).ok_or("a stranger")?;
        self.loads[stay] += 1;
        self.leases.push((lease, stay));
        Ok(())
    }
}

#[test]
fn leases_go_to_the_least_loaded_copy_while_members_change() {
    for_all(200, &vec(steps(), 0..120), |steps| {
        let mut model = Model::new().expect("in range");
        for step in [
            Step::Join(2),
            Step::Join(1),
            Step::Join(3),
            Step::Heat(vec![0, 1]),
        ] {
            model.step(&step).expect("taken");
        }
        for step in &steps {
            model.step(step).expect("taken");
            for (id, node) in model.router.nodes() {
                let load = model.loads[model.stays[node.name()]];
                assert_eq!(model.router.load(id), load);
            }
        }
    });
}

#[test]
fn leases_of_racing_threads_can_be_released_to_a_clone() -> Outcome {
    let nodes = (0..6).map(|i| Node::new(format!("node-{i}")));
    let mut router = HotKeys::new(Rendezvous::new(nodes)?, 4, 0.01)?;
    let keys = keys(84, 10);
    router.set_hot(keys[..3].iter().copied())?;
    let next = router.clone();
    thread::scope(|scope| {
        for thread in 0..4 {
            let (router, next, keys) = (&router, &next, &keys);
            scope.spawn(move || {
                for turn in 0..5000 {
                    let lease = router.acquire_hash(keys[(turn * 7 + thread) % keys.len()]);
                    assert!(lease.is_some_and(|lease| next.release(lease)));
                }
            });
        }
    });
    for (id, _) in router.nodes() {
        assert_eq!((router.load(id), next.load(id)), (0, 0));
    }
    Ok(())
}
