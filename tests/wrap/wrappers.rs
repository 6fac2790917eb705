//! Wrappers forward every method of the router inside that they do not decide themselves.

use core::ops::ControlFlow;
use core::time::Duration;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use hashroute::health::{Liveness, Policy};
use hashroute::hot::HotKeys;
use hashroute::plan::{Budget, Plan, Replicas, Transition};
use hashroute::shared::Shared;
use hashroute::strategy::ALL;
use hashroute::{
    BoundedLoad, Change, Error, Explanation, HashFunction, HashId, HashRanges, KeyHash, KeyHasher,
    Lease, Loads, Modulo, Node, NodeId, NodeList, Nodes, Rendezvous, Ring, Router, RouterExt,
    Spread,
};
use hashroute_test_support::{Outcome, build, keys, name, nodes, place, state, walked};

/// The methods of the trait by group, in their order.
const METHODS: [(&str, &[&str]); 3] = [
    (
        "Lookups",
        &[
            "hash_key",
            "route_hash",
            "route",
            "route_batch",
            "walk",
            "replicas_into",
        ],
    ),
    ("Changes", &["apply"]),
    (
        "Facts",
        &[
            "nodes",
            "hash_id",
            "ranges",
            "loads",
            "explain",
            "heap_bytes",
        ],
    ),
];

/// Methods without a default, and `route`, which no router overrides.
const NOT_OVERRIDDEN: [&str; 4] = ["route_hash", "route", "apply", "nodes"];

/// A router whose answers differ from every default of the trait.
#[derive(Clone, Debug)]
struct Probe {
    nodes: Nodes,
    counts: bool,
}

impl Probe {
    fn new() -> Result<Self, Error> {
        Ok(Self {
            nodes: Nodes::new(["a", "b", "c"])?,
            counts: true,
        })
    }

    fn id(&self, name: &str) -> Option<NodeId> {
        self.nodes.id(name)
    }
}

impl Router for Probe {
    fn hash_key(&self, _: &[u8]) -> Option<KeyHash> {
        Some(KeyHash::from_raw(7))
    }

    fn route_hash(&self, _: KeyHash) -> Option<NodeId> {
        self.id("b")
    }

    fn route_batch(&self, _: &[KeyHash], out: &mut [Option<NodeId>]) {
        out.fill(self.id("c"));
    }

    fn walk(&self, _: KeyHash, visit: &mut dyn FnMut(NodeId) -> ControlFlow<()>) {
        let _ = ["b", "c", "a"]
            .iter()
            .filter_map(|name| self.id(name))
            .try_for_each(visit);
    }

    fn replicas_into(&self, _: KeyHash, _: usize, _: Spread, out: &mut NodeList) {
        *out = self.id("c").into_iter().collect();
    }

    fn apply(&mut self, _: &Change) -> Result<(), Error> {
        Err(Error::parameter("probe", "", "no change"))
    }

    fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    fn hash_id(&self) -> HashId {
        HashId::Raw(KeyHasher::new(HashFunction::Xxh64))
    }

    fn ranges(&self) -> Option<HashRanges> {
        Some(HashRanges::cells(64, [(5, self.id("b"))]).with_lists())
    }

    fn loads(&self) -> Option<&dyn Loads> {
        self.counts.then_some(self as &dyn Loads)
    }

    fn explain(&self, _: KeyHash) -> Explanation {
        Explanation::default().with("probe", "explained")
    }

    fn heap_bytes(&self) -> usize {
        1 << 30
    }
}

/// It has no room, and loads that no other router has.
impl Loads for Probe {
    fn acquire(&self, _: &[u8]) -> Option<Lease> {
        None
    }

    fn acquire_hash(&self, _: KeyHash) -> Option<Lease> {
        None
    }

    fn acquire_on(&self, _: NodeId) -> Option<Lease> {
        None
    }

    fn release(&self, _: Lease) -> bool {
        true
    }

    fn load(&self, id: NodeId) -> u64 {
        40 + id.index() as u64
    }

    fn total_load(&self) -> u64 {
        123
    }
}

/// Returns every method of the trait with its answer.
fn answers(router: &mut dyn Router) -> Vec<(&'static str, String)> {
    let key = KeyHash::from_raw(1);
    let applied = format!("{:?}", router.apply(&Change::remove("nobody")));
    let router = &*router;
    let names = |ids: &[NodeId]| {
        let names: Vec<_> = ids.iter().map(|&id| name(router, id)).collect();
        names.join(" ")
    };
    let one = |id: Option<NodeId>| names(id.as_slice());
    let (mut batch, mut list) = ([None], NodeList::new());
    router.route_batch(&[key], &mut batch);
    router.replicas_into(key, 3, Spread::Nodes, &mut list);
    let loads = router.loads().map(|loads| {
        let each = router.nodes().iter().map(|(id, _)| loads.load(id));
        (loads.total_load(), each.collect::<Vec<_>>())
    });
    vec![
        ("hash_key", format!("{:?}", router.hash_key(b"key"))),
        ("route_hash", one(router.route_hash(key))),
        (
            "route",
            format!("{:?}", router.route(b"key").map(Node::name)),
        ),
        ("route_batch", one(batch[0])),
        ("walk", names(&walked(router, key))),
        ("replicas_into", names(&list)),
        ("apply", applied),
        ("nodes", format!("{:?}", router.nodes())),
        ("hash_id", format!("{:?}", router.hash_id())),
        ("ranges", format!("{:?}", router.ranges())),
        ("loads", format!("{loads:?}")),
        ("explain", format!("{:?}", router.explain(key))),
        ("heap_bytes", (router.heap_bytes() >= 1 << 30).to_string()),
    ]
}

/// Returns the methods whose answers differ from those of the probe.
fn own(probe: &Probe, mut wrapper: impl Router) -> Vec<&'static str> {
    let inside = answers(&mut probe.clone()).into_iter();
    let pairs = inside.zip(answers(&mut wrapper));
    let other = pairs.filter(|(inside, outside)| inside != outside);
    other.map(|((name, _), _)| name).collect()
}

/// A new method of the trait must be added here and to every wrapper.
#[test]
fn every_method_of_the_trait_is_tested_for_forwarding() -> Outcome {
    let text = include_str!("../../src/router.rs");
    let (_, text) = text.split_once("pub trait Router").ok_or("the trait")?;
    let (text, _) = text.split_once("\n}\n").ok_or("its end")?;
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in text.lines() {
        if let Some(group) = line.strip_prefix("    // --- ") {
            groups.push((group.strip_suffix(" ---").ok_or("a heading")?, Vec::new()));
        } else if let Some(method) = line.strip_prefix("    fn ") {
            let (_, methods) = groups.last_mut().ok_or("a method before all groups")?;
            methods.extend(method.split('(').next());
        }
    }
    let expected = METHODS.map(|(group, methods)| (group, methods.to_vec()));
    assert_eq!(groups, expected);
    let methods = groups.iter().flat_map(|(_, methods)| methods).copied();
    assert!(methods.clone().count() <= 13);
    let mut probe = Probe::new()?;
    assert!(methods.eq(answers(&mut probe).into_iter().map(|(name, _)| name)));
    Ok(())
}

/// `route` equals `route_hash(hash_key(key)?)` since no router can change it.
#[test]
fn no_router_overrides_route() -> Outcome {
    let src = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join("src");
    let mut found = Vec::new();
    let mut folders = vec![src.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let count = fs::read_to_string(&path)?.matches("fn route(&self").count();
            if count > 0 {
                found.push((path.strip_prefix(&src)?.to_owned(), count));
            }
        }
    }
    found.sort();
    assert_eq!(
        found,
        ["forward.rs", "router.rs"].map(|file| (file.into(), 1))
    );
    Ok(())
}

/// A probe that agreed with a default could not show a missing forward.
#[test]
fn the_probe_differs_from_every_default_of_the_trait() -> Result<(), Error> {
    let of_probe = answers(&mut Probe::new()?);
    let plain = answers(&mut Bare(Probe::new()?));
    for (probe, plain) in of_probe.iter().zip(&plain) {
        let same = NOT_OVERRIDDEN.contains(&probe.0);
        assert_eq!(probe == plain, same, "{probe:?}");
    }
    Ok(())
}

/// The probe with the required methods only.
#[derive(Debug)]
struct Bare(Probe);

impl Router for Bare {
    fn nodes(&self) -> &Nodes {
        self.0.nodes()
    }

    fn route_hash(&self, key: KeyHash) -> Option<NodeId> {
        self.0.route_hash(key)
    }

    fn apply(&mut self, change: &Change) -> Result<(), Error> {
        self.0.apply(change)
    }
}

#[test]
fn wrappers_forward_what_they_do_not_decide() -> Result<(), Error> {
    let probe = Probe::new()?;
    assert_eq!(own(&probe, Box::new(probe.clone())), [""; 0]);
    let boxed: Box<dyn Router> = Box::new(probe.clone());
    assert_eq!(own(&probe, boxed), [""; 0]);
    let shared = Shared::new(probe.clone());
    assert_eq!(own(&probe, (**shared.pin()).clone()), [""; 0]);
    // A change through a shared handle would be visible to others.
    assert_eq!(own(&probe, &probe), ["apply"]);
    assert_eq!(own(&probe, &probe as &dyn Router), ["apply"]);
    assert_eq!(own(&probe, Arc::new(probe.clone())), ["apply"]);
    let handle: Arc<dyn Router> = Arc::new(probe.clone());
    assert_eq!(own(&probe, handle), ["apply"]);
    let liveness = Liveness::new(probe.clone(), Policy::default())?;
    assert_eq!(own(&probe, liveness), [""; 0]);
    // These two wrappers count loads, so they refuse a router that counts.
    let probe = Probe {
        counts: false,
        ..probe
    };
    let hot = HotKeys::new(probe.clone(), 2, 0.1)?;
    assert_eq!(own(&probe, hot), [""; 0]);
    // Loads decide the route, so it answers itself and no node owns a range.
    let bounded = BoundedLoad::new(probe.clone(), 1.25)?;
    let by_load = [
        "route_batch",
        "walk",
        "replicas_into",
        "ranges",
        "loads",
        "explain",
    ];
    assert_eq!(own(&probe, bounded), by_load);
    Ok(())
}

#[test]
fn the_router_of_a_transition_forwards_what_it_does_not_decide() -> Result<(), Error> {
    let probe = Probe {
        counts: false,
        ..Probe::new()?
    };
    let side: Arc<dyn Router> = Arc::new(probe.clone());
    let plan = Plan::new(&*side, &*side, Replicas::default(), Budget::default())?;
    let change = Transition::new(side.clone(), side, &plan)?;
    let moment = change.router().expect("one hash");
    // It refuses changes and walks over the nodes of both routers.
    let both = ["route_batch", "walk", "apply", "ranges"];
    assert_eq!(own(&probe, moment), both);
    Ok(())
}

/// A shared handle answers lookups as its router does and refuses every change.
#[test]
fn a_shared_handle_looks_up_and_refuses_changes() {
    for strategy in ALL {
        let router = build(strategy, nodes(5));
        handles_are(&*router);
        let before = state(&*router);
        let shared: Arc<dyn Router> = Arc::from(router);
        refuses(&shared, &before);
        refuses(&*shared, &before);
        refuses(shared.clone(), &before);
        looks_up_as(&*shared, &shared);
    }
    let ring = Ring::new(nodes(5)).expect("nodes");
    let before = state(&ring);
    refuses(&ring, &before);
    let shared = Arc::new(ring);
    looks_up_as(&*shared, &shared);
    refuses(shared, &before);
}

fn handles_are(router: &dyn Router) {
    looks_up_as(router, &router);
    looks_up_as(router, &&router);
}

/// Checks that the handle refuses every change.
fn refuses(mut handle: impl Router, before: &str) {
    for change in [
        Change::add("new"),
        Change::remove("node-4"),
        Change::reweight("node-0", 2),
        Change::remove("nobody"),
    ] {
        let refused = handle.apply(&change);
        assert!(
            matches!(refused, Err(Error::Unsupported { .. })),
            "{change:?}: {refused:?}"
        );
        assert_eq!(state(&handle), before, "{change:?}");
    }
}

fn looks_up_as(router: &dyn Router, handle: &dyn Router) {
    let keys = keys(90, 50);
    let mut batches = [vec![None; keys.len()], vec![None; keys.len()]];
    router.route_batch(&keys, &mut batches[0]);
    handle.route_batch(&keys, &mut batches[1]);
    assert_eq!(batches[0], batches[1]);
    for key in keys {
        assert_eq!(handle.route_hash(key), router.route_hash(key));
        assert_eq!(walked(handle, key), walked(router, key));
        assert_eq!(handle.explain(key), router.explain(key));
        let lists = [router, handle].map(|router| router.replicas_hash(key, 3, Spread::Nodes));
        assert_eq!(lists[0], lists[1]);
    }
    for key in [&b""[..], b"user:42", b"\xff\0"] {
        assert_eq!(handle.hash_key(key), router.hash_key(key));
        assert_eq!(handle.route(key), router.route(key));
        assert_eq!(handle.owner(key), router.owner(key));
    }
    assert_eq!(handle.hash_id(), router.hash_id());
    assert_eq!(handle.ranges(), router.ranges());
    assert_eq!(handle.heap_bytes(), router.heap_bytes());
    assert_eq!(handle.loads().is_some(), router.loads().is_some());
    assert!(handle.nodes().iter().eq(router.nodes().iter()));
}

// --- Loads ---

const KEY: &[u8] = b"the same key";

fn bounded(count: usize) -> Result<BoundedLoad<Ring>, Error> {
    BoundedLoad::new(Ring::new(nodes(count))?, 1.25)
}

fn live<R: Router>(router: R) -> Result<Liveness<R>, Error> {
    let policy = Policy::default().with_fail_after(1);
    Liveness::new(router, policy)
}

#[test]
fn wrappers_keep_the_loads_of_the_router_inside() -> Result<(), Error> {
    let bounded = || BoundedLoad::new(Modulo::new(["a", "b"])?, 1.25);
    let key = KeyHash::from_bytes(KEY);
    let places = |router: &dyn Router| (0..4).map(|_| place(router, key)).collect::<Vec<_>>();
    let expected = places(&bounded()?);
    let one = bounded()?;
    let wrapped: [Box<dyn Router + '_>; 4] = [
        Box::new(Box::new(bounded()?)),
        Box::new(&one),
        Box::new(Arc::new(bounded()?)),
        Box::new(live(bounded()?)?),
    ];
    for router in &wrapped {
        assert_eq!(places(router), expected, "{router:?}");
        let total = router.loads().map(Loads::total_load);
        assert_eq!(total, Some(4), "{router:?}");
        refused(router);
    }
    assert_eq!(one.total_load(), 4);
    Ok(())
}

/// Returns ceil(5/4 m / n).
fn bound(present: u64, nodes: u64) -> u64 {
    (5 * present).div_ceil(4 * nodes)
}

/// Checks that wrapper and router inside report the same loads.
fn counts_alike(outside: &dyn Loads, inside: &BoundedLoad<Ring>, present: u64) {
    let count = inside.nodes().len() as u64;
    assert_eq!([outside.total_load(), inside.total_load()], [present; 2]);
    let mut sum = 0;
    for (id, node) in inside.nodes() {
        let load = inside.load(id);
        assert_eq!(outside.load(id), load, "{}", node.name());
        assert!(load <= bound(present, count), "{}", node.name());
        sum += load;
    }
    assert_eq!(sum, present);
}

/// Two wrappers that count would not see each other's keys, in either order.
#[test]
fn two_wrappers_that_count_loads_are_refused() -> Outcome {
    let hot = || {
        let mut hot = HotKeys::new(Ring::new(nodes(4))?, 2, 0.01)?;
        hot.set_hot(hot.hash_key(KEY))?;
        Ok::<_, Error>(hot)
    };
    let refused = |error: Option<Error>| {
        let error = error.expect("an error").to_string();
        assert!(error.contains("one wrapper counts"), "{error}");
    };
    refused(HotKeys::new(bounded(4)?, 2, 0.01).err());
    refused(HotKeys::new(live(bounded(4)?)?, 2, 0.01).err());
    refused(BoundedLoad::new(bounded(4)?, 1.25).err());
    refused(BoundedLoad::new(hot()?, 1.25).err());
    refused(BoundedLoad::new(live(hot()?)?, 1.25).err());
    assert!(BoundedLoad::new(live(Ring::new(nodes(4))?)?, 1.25).is_ok());
    Ok(())
}

/// Hot keys and other keys are counted alike.
#[test]
fn hot_keys_count_for_themselves_over_a_router_that_does_not() -> Outcome {
    let mut router = HotKeys::new(Ring::new(nodes(4))?, 2, 0.01)?;
    router.set_hot(router.hash_key(KEY))?;
    let leases = [KEY, b"other", KEY].map(|key| router.acquire(key).expect("a node"));
    assert_eq!(router.total_load(), 3);
    for lease in leases {
        assert!(router.release(lease));
    }
    assert_eq!(router.total_load(), 0);
    Ok(())
}

#[test]
fn a_key_is_counted_on_the_node_that_gets_it_while_its_owner_is_down() -> Outcome {
    let router = live(bounded(6)?)?;
    let owner = router.owner(KEY).ok_or("a node")?;
    let lease = router.acquire(KEY).ok_or("room")?;
    assert_eq!(lease.node(), owner);
    assert!(router.release(lease));
    assert!(router.failed(owner, Duration::ZERO));

    let mut leases = Vec::new();
    // Five nodes can take the keys of the sixth: a sixth is below the spare quarter.
    for (present, key) in (1..).zip(keys(92, 300)) {
        let foretold = router.route_hash(key);
        let lease = router.acquire_hash(key).ok_or("room")?;
        assert_eq!(Some(lease.node()), foretold);
        assert_ne!(lease.node(), owner);
        leases.push(lease);
        counts_alike(&router, router.router(), present);
    }
    assert_eq!(router.load(owner), 0);
    for lease in leases {
        assert!(router.release(lease));
    }
    counts_alike(&router, router.router(), 0);
    Ok(())
}

/// Without loads there is nothing to bound a lease by.
#[test]
fn health_over_a_router_without_loads_gives_no_leases() -> Outcome {
    let router = live(Ring::new(nodes(3))?)?;
    assert!(router.loads().is_none());
    assert!(router.acquire(KEY).is_none());
    let id = router.owner(KEY).ok_or("a node")?;
    assert!(router.acquire_on(id).is_none());
    assert_eq!((router.load(id), router.total_load()), (0, 0));
    Ok(())
}

fn refused(router: &dyn Router) {
    let error = Plan::new(router, router, Replicas::default(), Budget::default());
    assert!(error.is_err_and(|error| error.to_string().contains("loads")));
}

/// The sample of a plan does not contain the hot key, so the plan would be wrong for it.
#[test]
fn a_router_with_hot_keys_cannot_be_planned() -> Result<(), Error> {
    let (old, new) = (
        Rendezvous::new(["a", "b"])?,
        Rendezvous::new(["a", "b", "c"])?,
    );
    let plan = Plan::new(&old, &new, Replicas::default(), Budget::default())?;
    let mut hot = HotKeys::new(old, 2, 0.1)?;
    assert!(hot.loads().is_none());
    hot.set_hot(hot.hash_key(b"hot"))?;
    refused(&hot);
    let change = Transition::new(Arc::new(hot), Arc::new(new), &plan);
    assert!(change.is_err_and(|error| error.to_string().contains("loads")));
    Ok(())
}
