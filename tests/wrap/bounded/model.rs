//! Random histories of leases, releases and changes, compared with a sequential model.

use hashroute::{
    BoundedLoad, Change, HashSlots, Jump, KeyHash, Lease, Loads, Maglev, Modulo, Node, NodeId,
    Rendezvous, Ring, Router,
};
use proptest::prelude::{Strategy as _, any, prop_oneof};

use super::{Factor, bound_of, ids, sum};
use hashroute_test_support::{for_all, state, walked};

#[derive(Clone, Debug)]
enum Step {
    Acquire(u64),
    Release(usize),
    Change(Change),
}

fn steps() -> impl proptest::strategy::Strategy<Value = Vec<Step>> {
    let name = (0_u8..6).prop_map(|i| format!("n{i}"));
    let node =
        (name.clone(), 0_u32..5).prop_map(|(name, weight)| Node::new(name).with_weight(weight));
    let change = prop_oneof![
        2 => node.prop_map(Change::Add),
        1 => name.clone().prop_map(Change::remove),
        1 => (name, 0_u32..5).prop_map(|(name, weight)| Change::reweight(name, weight)),
    ];
    // Few different keys, so that nodes reach their bounds.
    let step = prop_oneof![
        6 => (0_u64..5).prop_map(Step::Acquire),
        3 => any::<usize>().prop_map(Step::Release),
        1 => change.prop_map(Step::Change),
    ];
    proptest::collection::vec(step, 0..120)
}

/// The sequential model, by names: the load of each node, and the stay of a node that each lease
/// belongs to.
struct Model<R> {
    plain: R,
    factor: Factor,
    cap: u64,
    loads: Vec<(String, u64, usize)>,
    stays: usize,
}

impl<R: Router> Model<R> {
    fn new(plain: R, factor: Factor, cap: u64) -> Self {
        let mut model = Self {
            plain,
            factor,
            cap,
            loads: Vec::new(),
            stays: 0,
        };
        let names: Vec<String> = model
            .plain
            .nodes()
            .iter()
            .map(|(_, n)| n.name().into())
            .collect();
        for name in names {
            model.join(name);
        }
        model
    }

    fn join(&mut self, name: String) {
        self.loads.push((name, 0, self.stays));
        self.stays += 1;
    }

    fn total(&self) -> u64 {
        self.loads.iter().map(|(_, load, _)| load).sum()
    }

    fn load(&mut self, id: NodeId) -> &mut (String, u64, usize) {
        let name = self.plain.nodes().name(id);
        self.loads
            .iter_mut()
            .find(|(known, ..)| Some(known.as_str()) == name)
            .expect("a member")
    }

    fn acquire(&mut self, key: KeyHash) -> Option<NodeId> {
        let present = self.total() + 1;
        let walk = walked(&self.plain, key);
        let id = walk.into_iter().find(|&id| {
            let bound = bound_of(&self.plain, self.factor, present, id).min(self.cap);
            self.load(id).1 < bound
        })?;
        self.load(id).1 += 1;
        Some(id)
    }

    fn release(&mut self, name: &str, stay: usize) -> bool {
        let held = self
            .loads
            .iter_mut()
            .find(|(known, _, now)| known == name && *now == stay);
        held.map(|(_, load, _)| *load -= 1).is_some()
    }

    fn change(&mut self, change: &Change) -> bool {
        let taken = self.plain.apply(change).is_ok();
        match change {
            Change::Add(node) if taken => self.join(node.name().into()),
            Change::Remove(gone) if taken => self.loads.retain(|(name, ..)| **name != **gone),
            _ => {}
        }
        taken
    }
}

/// Runs the steps on router and model and compares both after each step.
fn follows_the_model<R: Router + Clone>(router: R, factor: Factor, cap: u64, steps: Vec<Step>) {
    let c = factor.0 as f64 / factor.1 as f64;
    let mut bounded = BoundedLoad::new(router.clone(), c)
        .expect("a factor")
        .with_cap(cap);
    let mut model = Model::new(router, factor, cap);
    let mut leases: Vec<(Lease, String, usize)> = Vec::new();
    for step in steps {
        match step {
            Step::Acquire(key) => {
                let key = KeyHash::from_integer(key);
                let foretold = bounded.route_hash(key);
                let (lease, expected) = (bounded.acquire_hash(key), model.acquire(key));
                assert_eq!(lease.as_ref().map(Lease::node), expected);
                assert_eq!(foretold, expected);
                if let Some(lease) = lease {
                    let (name, _, stay) = model.load(lease.node()).clone();
                    leases.push((lease, name, stay));
                }
            }
            Step::Release(_) if leases.is_empty() => {}
            Step::Release(at) => {
                let (lease, name, stay) = leases.swap_remove(at % leases.len());
                assert_eq!(bounded.release(lease), model.release(&name, stay));
            }
            Step::Change(change) => {
                let before = state(&bounded);
                let taken = bounded.apply(&change).is_ok();
                assert_eq!(taken, model.change(&change));
                assert!(taken || state(&bounded) == before);
            }
        }
        assert_eq!(bounded.total_load(), model.total());
        for id in ids(&bounded) {
            assert_eq!(bounded.load(id), model.load(id).1);
            if bounded.nodes().total_weight() > 0 {
                let bound = bound_of(&bounded, factor, model.total() + 1, id).min(cap);
                assert_eq!(bounded.capacity(id), bound);
            }
        }
    }
    for (lease, name, stay) in leases {
        assert_eq!(bounded.release(lease), model.release(&name, stay));
    }
    assert_eq!((bounded.total_load(), sum(&bounded)), (0, 0));
}

#[test]
fn bounded_load_over_every_router_follows_the_sequential_model() {
    let factors = prop_oneof![
        proptest::strategy::Just((11_u128, 10_u128)),
        proptest::strategy::Just((5, 4)),
        proptest::strategy::Just((1_000_001, 1_000_000)),
        proptest::strategy::Just((2, 1)),
    ];
    let caps = prop_oneof![3 => proptest::strategy::Just(u64::MAX), 1 => 0_u64..4];
    let members = || ["n0", "n1", "n2"].map(Node::new);
    for_all(64, &(factors, caps, steps()), |(factor, cap, steps)| {
        let ring = Ring::with_points(members(), 7).expect("a ring");
        follows_the_model(ring, factor, cap, steps.clone());
        let rendezvous = Rendezvous::new(members()).expect("nodes");
        follows_the_model(rendezvous, factor, cap, steps.clone());
        let jump = Jump::new(members()).expect("nodes");
        follows_the_model(jump, factor, cap, steps.clone());
        let maglev = Maglev::with_table_size(members(), 31).expect("a prime");
        follows_the_model(maglev, factor, cap, steps.clone());
        let slots = HashSlots::with_slots(members(), 32).expect("slots");
        follows_the_model(slots, factor, cap, steps.clone());
        let modulo = Modulo::new(members()).expect("nodes");
        follows_the_model(modulo, factor, cap, steps);
    });
}
