//! Each of these rows has one flaw, and the law that the flaw breaks must catch it.

use core::ops::ControlFlow;
use core::sync::atomic::{AtomicU64, Ordering::SeqCst};

use hashroute::registry::{Agree, Caps, Excess, Params, Scheme, Weights};
use hashroute::{
    BoundedLoad, Change, Error, HashId, HashRanges, KeyHash, KeyHasher, Lease, Loads, Maglev,
    Modulo, Node, NodeId, NodeList, Nodes, Rendezvous, Ring, Router, Spread,
};
use hashroute_harness::laws::{self, Breach, LAWS};

/// The flaw of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Flaw {
    None,
    /// Every router hashes keys with another salt.
    OtherEachTime,
    BatchesElsewhere,
    CountsChanges,
    CountsFailures,
    PanicsAtEmptyKeys,
    CountsLookups,
    RepeatsReplicas,
    ForgetsANode,
    WalksToAnother,
    RoutesByAnotherHash,
    StatesAnotherHash,
    RangesOfOthers,
    KeepsLeases,
}

/// A router with one flaw.
#[derive(Debug)]
struct Flawed {
    router: Box<dyn Router>,
    flaw: Flaw,
    salt: u64,
    lookups: AtomicU64,
}

fn flawed(
    router: Result<impl Router + 'static, Error>,
    flaw: Flaw,
) -> Result<Box<dyn Router>, Error> {
    static BUILT: AtomicU64 = AtomicU64::new(0);
    let salt = match flaw {
        Flaw::OtherEachTime => BUILT.fetch_add(1, SeqCst),
        _ => 0,
    };
    Ok(Box::new(Flawed {
        router: Box::new(router?),
        flaw,
        salt,
        lookups: AtomicU64::new(0),
    }))
}

impl Flawed {
    /// Returns the last node with weight, by name.
    fn last(&self) -> Option<NodeId> {
        let nodes = self.router.nodes().iter();
        let mut weighted = nodes.filter(|(_, node)| node.weight() > 0);
        weighted.next_back().map(|(id, _)| id)
    }

    fn salted(&self, key: KeyHash) -> KeyHash {
        match self.salt {
            0 => key,
            salt => key.rehash(salt),
        }
    }
}

impl Router for Flawed {
    fn hash_key(&self, key: &[u8]) -> Option<KeyHash> {
        assert!(
            self.flaw != Flaw::PanicsAtEmptyKeys || !key.is_empty(),
            "an empty key"
        );
        self.router.hash_key(key)
    }

    fn route_hash(&self, key: KeyHash) -> Option<NodeId> {
        if self.flaw == Flaw::CountsLookups && self.lookups.fetch_add(1, SeqCst) % 97 == 96 {
            return self.last();
        }
        self.router.route_hash(self.salted(key))
    }

    fn route(&self, key: &[u8]) -> Option<&Node> {
        let mut hash = self.hash_key(key)?;
        if self.flaw == Flaw::RoutesByAnotherHash {
            hash = hash.rehash(1);
        }
        self.nodes().get(self.route_hash(hash)?)
    }

    fn route_batch(&self, keys: &[KeyHash], out: &mut [Option<NodeId>]) {
        for (owner, &key) in out.iter_mut().zip(keys) {
            *owner = match self.flaw {
                Flaw::BatchesElsewhere => self.last(),
                _ => self.route_hash(key),
            };
        }
    }

    fn walk(&self, key: KeyHash, visit: &mut dyn FnMut(NodeId) -> ControlFlow<()>) {
        let last = self.last();
        let mut flow = ControlFlow::Continue(());
        if self.flaw == Flaw::WalksToAnother {
            flow = last.map_or(flow, &mut *visit);
        }
        self.router.walk(self.salted(key), &mut |id| {
            if flow.is_continue() && !(self.flaw == Flaw::ForgetsANode && Some(id) == last) {
                flow = visit(id);
            }
            flow
        });
    }

    fn replicas_into(&self, key: KeyHash, n: usize, spread: Spread, out: &mut NodeList) {
        self.router.replicas_into(self.salted(key), n, spread, out);
        if let (Flaw::RepeatsReplicas, [first, _, ..]) = (self.flaw, &out[..]) {
            let first = *first;
            out.truncate(out.len() - 1);
            out.push(first);
        }
    }

    fn apply(&mut self, change: &Change) -> Result<(), Error> {
        let applied = self.router.apply(change);
        self.salt += match (self.flaw, &applied) {
            (Flaw::CountsChanges, Ok(())) | (Flaw::CountsFailures, Err(_)) => 1,
            _ => 0,
        };
        applied
    }

    fn nodes(&self) -> &Nodes {
        self.router.nodes()
    }

    fn hash_id(&self) -> HashId {
        match self.flaw {
            Flaw::StatesAnotherHash => HashId::Raw(KeyHasher::REDIS),
            _ => self.router.hash_id(),
        }
    }

    fn ranges(&self) -> Option<HashRanges> {
        let ranges = self.router.ranges()?;
        if self.flaw != Flaw::RangesOfOthers {
            return Some(ranges);
        }
        // Each range goes to the owner of the next range.
        let owners: Vec<_> = ranges.iter().map(|range| range.owner).collect();
        let next = owners.into_iter().cycle().skip(1);
        let lengths = ranges.iter().map(|range| range.last - range.first + 1);
        Some(HashRanges::cells(64, lengths.zip(next)))
    }

    fn loads(&self) -> Option<&dyn Loads> {
        self.router.loads().map(|_| self as &dyn Loads)
    }

    fn heap_bytes(&self) -> usize {
        self.router.heap_bytes()
    }
}

impl Loads for Flawed {
    fn acquire(&self, key: &[u8]) -> Option<Lease> {
        self.router.loads()?.acquire(key)
    }

    fn acquire_hash(&self, key: KeyHash) -> Option<Lease> {
        self.router.loads()?.acquire_hash(key)
    }

    fn acquire_on(&self, id: NodeId) -> Option<Lease> {
        self.router.loads()?.acquire_on(id)
    }

    fn release(&self, lease: Lease) -> bool {
        let loads = self.router.loads();
        self.flaw != Flaw::KeepsLeases && loads.is_some_and(|loads| loads.release(lease))
    }

    fn load(&self, id: NodeId) -> u64 {
        self.router.loads().map_or(0, |loads| loads.load(id))
    }

    fn total_load(&self) -> u64 {
        self.router.loads().map_or(0, Loads::total_load)
    }
}

/// Makes a row; without more, one over rendezvous, which makes every promise.
macro_rules! row {
    ($flaw:ident) => {
        row!($flaw, Caps::SET, |nodes, _| flawed(
            Rendezvous::new(nodes),
            Flaw::$flaw
        ))
    };
    ($flaw:ident, $caps:expr, $build:expr) => {{
        static ROW: Scheme = Scheme::strategy("flawed", stringify!($flaw), $caps, $build);
        &ROW
    }};
}

/// Returns the breaches of one law by a row.
fn breaches(law: usize, row: &'static Scheme) -> Vec<Breach> {
    LAWS[law - 1].check(row)
}

/// Checks that the law reports a breach of this clause, with its input and what was found.
fn caught(law: usize, clause: &str, row: &'static Scheme) {
    let breaches = breaches(law, row);
    let found = breaches.iter().any(|breach| breach.clause == clause);
    assert!(found, "law {law} of {}: {breaches:#?}", row.about);
    for breach in &breaches {
        let text = breach.to_string();
        assert!(text.contains(&format!("breaks law {law}, ")), "{text}");
        assert!(!breach.input.is_empty() && breach.expected != breach.found);
    }
}

#[test]
fn a_row_without_a_flaw_keeps_every_law() {
    assert_eq!(laws::check(row!(None)), []);
    laws::assert_holds(row!(None));
}

#[test]
#[should_panic(expected = "breaks law 10")]
fn assert_holds_names_the_breached_law() {
    laws::assert_holds(row!(StatesAnotherHash));
}

#[test]
fn law_1_catches_routers_that_answer_differently() {
    caught(1, "two routers of one list are alike", row!(OtherEachTime));
    let clause = "a batch, a single question and a handle give one answer";
    caught(1, clause, row!(BatchesElsewhere));
    let clause = "a changed router is alike to one built from its setup";
    caught(1, clause, row!(CountsChanges));
}

/// Modulo over the nodes in the order in which they joined.
#[derive(Clone, Debug)]
struct AsListed(Nodes);

impl Router for AsListed {
    fn route_hash(&self, key: KeyHash) -> Option<NodeId> {
        let mut ids: Vec<_> = self
            .0
            .iter()
            .filter(|(_, node)| node.weight() > 0)
            .collect();
        ids.sort_by_key(|(id, _)| *id);
        let count = (ids.len() as u64).max(1);
        let at = usize::try_from(key.get() % count).expect("below the count");
        ids.get(at).map(|(id, _)| *id)
    }

    fn apply(&mut self, change: &Change) -> Result<(), Error> {
        self.0.apply(change).map(|_| ())
    }

    fn nodes(&self) -> &Nodes {
        &self.0
    }
}

#[test]
fn law_2_catches_routers_that_depend_on_the_order_of_insertion() {
    let row = row!(None, Caps::SET, |nodes, _| Ok(Box::new(AsListed(
        Nodes::new(nodes)?
    ))));
    for clause in ["all orders of five nodes", "nodes join in any order"] {
        caught(2, clause, row);
    }
    caught(2, "any history that ends in the set", row!(CountsChanges));
    caught(2, "a large cluster, listed backwards", row);
}

/// A bound on excess that is too low for Maglev.
const LOW: Caps = Caps::SET.with_excess(Excess::AtMost(|_| 1e-4));

#[test]
fn law_3_catches_routers_that_move_too_many_keys() {
    let row = row!(None, Caps::SET, |nodes, _| flawed(
        Modulo::new(nodes),
        Flaw::None
    ));
    caught(3, "random histories of small clusters", row);
    caught(3, "a history of 1500 nodes", row);
    let row = row!(None, LOW, |nodes, _| flawed(Maglev::new(nodes), Flaw::None));
    let clause = "a stated bound at any size, with keys assigned one after the other";
    caught(3, clause, row);
}

/// Returns the nodes with squared weights.
fn squared(nodes: Vec<Node>) -> Vec<Node> {
    let square = |node: Node| {
        let weight = node.weight().saturating_mul(node.weight());
        node.with_weight(weight)
    };
    nodes.into_iter().map(square).collect()
}

/// Rendezvous by squared weights that reports the original weights.
#[derive(Debug)]
struct Squared(Nodes, Rendezvous);

impl Squared {
    fn new(nodes: Nodes) -> Result<Self, Error> {
        let list = nodes.iter().map(|(_, node)| node.clone()).collect();
        let inside = Rendezvous::new(squared(list))?;
        Ok(Self(nodes, inside))
    }
}

impl Router for Squared {
    fn route_hash(&self, key: KeyHash) -> Option<NodeId> {
        let id = self.1.route_hash(key)?;
        self.0.id(self.1.nodes().name(id)?)
    }

    fn apply(&mut self, change: &Change) -> Result<(), Error> {
        *self = Self::new(self.0.after(change)?)?;
        Ok(())
    }

    fn nodes(&self) -> &Nodes {
        &self.0
    }
}

#[test]
fn laws_4_and_5_catch_routers_that_favour_heavy_nodes() {
    let row = row!(None, Caps::SET, |nodes, _| {
        Ok(Box::new(Squared::new(Nodes::sorted(nodes)?)?))
    });
    caught(4, "as many keys move as the share that changes hands", row);
    caught(5, "keys fall by the exact shares, or by weight", row);
    assert_eq!(breaches(3, row), []);
    // A row may be as uneven as it states.
    let row = row!(None, Caps::SET.with_share_cv(|_| 5.0), |nodes, _| {
        Ok(Box::new(Squared::new(Nodes::sorted(nodes)?)?))
    });
    assert_eq!(breaches(5, row), []);
}

#[test]
fn law_5_catches_exact_shares_that_are_not_the_weights() {
    let row = row!(None, Caps::SET, |nodes, _| {
        let weigh = |node: Node| {
            let weight = node.weight();
            node.with_weight(weight.min(4))
        };
        flawed(Ring::new(nodes.into_iter().map(weigh)), Flaw::None)
    });
    caught(5, "exact shares are the weights' on average", row);
}

#[test]
fn law_5_catches_routers_that_exceed_their_bound_on_loads() {
    use hashroute::registry::Param;
    const LOAD: &[Param] = &[Param::new("load", "1.05", "the most a node may hold")];
    static ROW: Scheme = Scheme::strategy(
        "flawed",
        "a bound that is not kept",
        Caps::SET.with_agree(Agree::Load),
        |nodes, _| Ok(Box::new(BoundedLoad::new(Ring::new(nodes)?, 1.5)?)),
    )
    .with_params(LOAD);
    caught(5, "no node holds more than the bound on loads", &ROW);
}

#[test]
fn law_6_catches_routers_that_do_not_restore_routes() {
    let row = row!(CountsChanges);
    for clause in [
        "nodes that join and leave",
        "a weight that comes back",
        "a server that goes down and comes up",
        "two hundred nodes that leave and return",
    ] {
        caught(6, clause, row);
    }
}

#[test]
fn law_7_catches_panics_and_failures_that_change_something() {
    caught(7, "changes that fail", row!(CountsFailures));
    caught(7, "any names, weights and keys", row!(PanicsAtEmptyKeys));
    let row = row!(None, Caps::SET.with_weights(Weights::One), |nodes, _| {
        match nodes.iter().find(|node| node.weight() != 1) {
            Some(node) => Err(Error::parameter("weight", node.weight(), "1")),
            None => flawed(Rendezvous::new(nodes), Flaw::None),
        }
    });
    caught(
        7,
        "absurd weights are refused or work in little memory",
        row,
    );
    // Nodes of weight 0 keep their keys.
    let row = row!(None, Caps::SET, |nodes, _| {
        let nodes = nodes.into_iter().map(|node| node.with_weight(1));
        flawed(Rendezvous::new(nodes), Flaw::None)
    });
    caught(7, "nobody owns a key where nobody has weight", row);
}

#[test]
fn law_8_catches_lookups_that_change_something() {
    caught(8, "four threads see what one sees", row!(CountsLookups));
}

#[test]
fn law_9_catches_lists_that_repeat_or_omit_nodes() {
    caught(
        9,
        "random clusters in zones and racks",
        row!(RepeatsReplicas),
    );
    let clause = "a walk offers every member with weight and no other";
    caught(9, clause, row!(ForgetsANode));
    caught(9, clause, row!(WalksToAnother));
}

#[test]
fn law_10_catches_keys_routed_by_another_hash() {
    caught(
        10,
        "a key goes where its hash goes",
        row!(RoutesByAnotherHash),
    );
    caught(
        10,
        "the stated hash function is the one",
        row!(StatesAnotherHash),
    );
}

#[test]
fn law_11_catches_ranges_that_differ_from_routes() {
    let row = row!(RangesOfOthers, Caps::SET, |nodes, _| {
        flawed(Modulo::new(nodes), Flaw::RangesOfOthers)
    });
    caught(11, "ranges are the routes", row);
    caught(11, "ranges are the routes of narrow hashes", row);
}

#[test]
fn law_12_catches_loads_that_wrappers_cannot_rely_on() {
    let row = row!(
        KeepsLeases,
        Caps::SET.with_agree(Agree::Load),
        |nodes, _| {
            let bounded = BoundedLoad::new(Ring::new(nodes)?, 1.25);
            flawed(bounded, Flaw::KeepsLeases)
        }
    );
    caught(12, "each wrapper by itself", row);
    caught(12, "each wrapper over each other", row);
}

/// A strategy that cannot be built breaches every law that applies to it.
#[test]
fn a_row_that_builds_nothing_breaches_every_law() {
    let row = row!(None, Caps::SET, |_, _| Err(Error::EmptyName));
    for law in LAWS.iter().filter(|law| law.number != 5) {
        let first = law.check(row).into_iter().next();
        let first = first.unwrap_or_else(|| panic!("law {} holds", law.number));
        assert_eq!(first.law, law.number);
    }
    assert!(row.build(["a"], &Params::default()).is_err());
}
