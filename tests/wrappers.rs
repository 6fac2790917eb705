//! What a wrapper answers is what the router inside does, or its own for a reason.

use core::ops::ControlFlow;
use std::sync::Arc;

use hashroute::health::{Liveness, Policy};
use hashroute::hot::HotKeys;
use hashroute::plan::{Budget, Plan, Replicas, Transition};
use hashroute::shared::Shared;
use hashroute::strategy::Params;
use hashroute::{
    BoundedLoad, Change, Error, HashFunction, HashRanges, KeyHash, KeyHasher, Modulo, Node, NodeId,
    Nodes, Rendezvous, Router, Spread, compat,
};
use smallvec::SmallVec;

/// Answers nothing as the trait does by default.
#[derive(Clone, Debug)]
struct Probe {
    nodes: Nodes,
    hasher: KeyHasher,
    loads: bool,
}

impl Probe {
    fn new() -> Result<Self, Error> {
        Ok(Self {
            nodes: Nodes::new(["a", "b", "c"].map(Node::new))?,
            hasher: KeyHasher::new(HashFunction::Md5),
            loads: true,
        })
    }

    fn id(&self, name: &str) -> Option<NodeId> {
        self.nodes.id(name)
    }
}

impl Router for Probe {
    fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    fn route_hash(&self, _: KeyHash) -> Option<NodeId> {
        self.id("b")
    }

    fn apply(&mut self, _: &Change) -> Result<(), Error> {
        Err(Error::parameter("probe", "", "no change"))
    }

    fn hasher(&self) -> Option<&KeyHasher> {
        Some(&self.hasher)
    }

    fn hash_words(&self) -> Option<String> {
        Some("words of the probe".into())
    }

    fn hash_key(&self, _: &[u8]) -> KeyHash {
        KeyHash::from_raw(7)
    }

    fn route(&self, _: &[u8]) -> Option<&Node> {
        self.nodes.get(self.id("c")?)
    }

    fn walk(&self, _: KeyHash, visit: &mut dyn FnMut(NodeId) -> ControlFlow<()>) {
        let _ = ["b", "c", "a"]
            .iter()
            .filter_map(|name| self.id(name))
            .try_for_each(visit);
    }

    fn route_batch(&self, _: &[KeyHash], out: &mut [Option<NodeId>]) {
        out.fill(self.id("c"));
    }

    fn replicas(&self, _: KeyHash, _: usize, _: Spread) -> SmallVec<[NodeId; 8]> {
        self.id("c").into_iter().collect()
    }

    fn replicas_into(&self, _: KeyHash, _: Spread, out: &mut [Option<NodeId>]) -> usize {
        out[0] = self.id("c");
        1
    }

    fn place(&self, _: KeyHash) -> Option<NodeId> {
        self.id("c")
    }

    fn keeps_loads(&self) -> bool {
        self.loads
    }

    fn shares(&self) -> Option<Vec<f64>> {
        Some(vec![0.125, 0.25, 0.625])
    }

    fn ranges(&self) -> Option<HashRanges> {
        Some(HashRanges::cells(64, [(5, self.id("b"))]).with_lists())
    }

    fn explain(&self, _: KeyHash) -> Vec<(&'static str, String)> {
        vec![("probe", "explained".into())]
    }

    fn heap_bytes(&self) -> usize {
        1 << 30
    }
}

/// Every method of the trait with what it answers.
fn answers(router: &mut dyn Router) -> Vec<(&'static str, String)> {
    let key = KeyHash::from_raw(1);
    let applied = format!("{:?}", router.apply(&Change::remove("nobody")));
    let router = &*router;
    let names = |ids: &[NodeId]| {
        ids.iter()
            .map(|&id| router.nodes().name(id))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let name = |id: Option<NodeId>| names(id.as_slice());
    let mut walked = Vec::new();
    router.walk(key, &mut |id| {
        walked.push(id);
        ControlFlow::Continue(())
    });
    let (mut batch, mut list) = ([None], [None; 3]);
    router.route_batch(&[key], &mut batch);
    router.replicas_into(key, Spread::Nodes, &mut list);
    let list: Vec<_> = list.into_iter().flatten().collect();
    vec![
        ("nodes", format!("{:?}", router.nodes())),
        ("route_hash", name(router.route_hash(key))),
        ("apply", applied),
        ("hasher", format!("{:?}", router.hasher())),
        ("hash_words", format!("{:?}", router.hash_words())),
        ("hash_key", format!("{:?}", router.hash_key(b"key"))),
        (
            "route",
            format!("{:?}", router.route(b"key").map(Node::name)),
        ),
        ("walk", names(&walked)),
        ("route_batch", name(batch[0])),
        ("replicas", names(&router.replicas(key, 3, Spread::Nodes))),
        ("replicas_into", names(&list)),
        ("place", name(router.place(key))),
        ("keeps_loads", router.keeps_loads().to_string()),
        ("shares", format!("{:?}", router.shares())),
        ("ranges", format!("{:?}", router.ranges())),
        ("explain", format!("{:?}", router.explain(key))),
        ("heap_bytes", (router.heap_bytes() >= 1 << 30).to_string()),
    ]
}

/// The methods that answer otherwise than the probe.
fn own(probe: &Probe, mut wrapper: impl Router) -> Vec<&'static str> {
    let inside = answers(&mut probe.clone()).into_iter();
    let pairs = inside.zip(answers(&mut wrapper));
    let other = pairs.filter(|(inside, outside)| inside != outside);
    other.map(|((name, _), _)| name).collect()
}

/// A method that comes later must be thought of here, and in every wrapper.
#[test]
fn every_method_of_the_trait_is_asked() -> Result<(), Error> {
    let text = include_str!("../src/router.rs");
    let (_, text) = text.split_once("pub trait Router").expect("the trait");
    let (text, _) = text.split_once("\n}\n").expect("its end");
    let names = text.lines().filter_map(|line| line.strip_prefix("    fn "));
    let mut names: Vec<_> = names.filter_map(|line| line.split('(').next()).collect();
    let mut asked: Vec<_> = answers(&mut Probe::new()?)
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    names.sort_unstable();
    asked.sort_unstable();
    assert_eq!(asked, names);
    Ok(())
}

/// The probe is worth asking: the trait's own answers are none of its.
#[test]
fn the_probe_answers_nothing_by_default() -> Result<(), Error> {
    let of_probe = answers(&mut Probe::new()?);
    let plain = answers(&mut Bare(Probe::new()?));
    for (probe, plain) in of_probe.iter().zip(&plain) {
        let required = ["nodes", "route_hash", "apply"].contains(&probe.0);
        assert_eq!(probe == plain, required, "{probe:?}");
    }
    Ok(())
}

/// The probe with what the trait requires, and no more.
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
fn wrappers_answer_as_the_router_inside() -> Result<(), Error> {
    let probe = Probe::new()?;
    assert_eq!(own(&probe, Box::new(probe.clone())), [""; 0]);
    let boxed: Box<dyn Router> = Box::new(probe.clone());
    assert_eq!(own(&probe, boxed), [""; 0]);
    let shared = Shared::new(probe.clone());
    assert_eq!(own(&probe, (**shared.pin()).clone()), [""; 0]);
    // `route` goes by the hash.
    let liveness = Liveness::new(probe.clone(), Policy::default())?;
    assert_eq!(own(&probe, liveness), ["route"]);
    let hot = HotKeys::new(probe.clone(), 2, 0.1)?;
    assert_eq!(own(&probe, hot), ["route"]);
    // Loads decide, so that only its own answers hold, and there are no shares.
    let bounded = BoundedLoad::new(probe.clone(), 1.25)?;
    let by_load = [
        "route",
        "walk",
        "route_batch",
        "replicas",
        "replicas_into",
        "place",
        "shares",
        "ranges",
        "explain",
    ];
    assert_eq!(own(&probe, bounded), by_load);
    Ok(())
}

#[test]
fn a_moment_of_a_change_answers_as_its_routers() -> Result<(), Error> {
    let probe = Probe {
        loads: false,
        ..Probe::new()?
    };
    let side: Arc<dyn Router> = Arc::new(probe.clone());
    let plan = Plan::new(&*side, &*side, Replicas::default(), Budget::default())?;
    let change = Transition::new(side.clone(), side, &plan)?;
    let stage = change.router().expect("one hash");
    // It takes no change, and offers the nodes of both.
    let both = [
        "apply",
        "route",
        "walk",
        "route_batch",
        "place",
        "shares",
        "ranges",
    ];
    assert_eq!(own(&probe, stage), both);
    Ok(())
}

#[test]
fn loads_are_kept_through_all_wrappers() -> Result<(), Error> {
    let bounded = || BoundedLoad::new(Modulo::new(["a", "b"].map(Node::new))?, 1.25);
    let key = KeyHash::from_bytes(b"the same key");
    let places = |router: &dyn Router| (0..4).map(|_| router.place(key)).collect::<Vec<_>>();
    let expected = places(&bounded()?);
    let hot = |router| HotKeys::new(router, 2, 0.1);
    let live = |router| Liveness::new(router, Policy::default());
    let wrapped: [Box<dyn Router>; 3] = [
        Box::new(Box::new(bounded()?)),
        Box::new(live(bounded()?)?),
        Box::new(hot(bounded()?)?),
    ];
    for router in wrapped {
        assert_eq!(places(&router), expected, "{router:?}");
        refused(&router);
    }
    Ok(())
}

fn refused(router: &dyn Router) {
    let error = Plan::new(router, router, Replicas::default(), Budget::default());
    assert!(error.is_err_and(|error| error.to_string().contains("loads")));
}

/// With a plan of the routers inside, whose samples do not see the hot key.
#[test]
fn a_hot_key_goes_by_loads() -> Result<(), Error> {
    let inside =
        |names: &[&'static str]| Rendezvous::new(names.iter().map(|name| Node::new(*name)));
    let (old, new) = (inside(&["a", "b"])?, inside(&["a", "b", "c"])?);
    let plan = Plan::new(&old, &new, Replicas::default(), Budget::default())?;
    let mut hot = HotKeys::new(old, 2, 0.1)?;
    assert!(!hot.keeps_loads());
    hot.set_hot([hot.hash_key(b"hot")])?;
    refused(&hot);
    let change = Transition::new(Arc::new(hot), Arc::new(new), &plan);
    assert!(change.is_err_and(|error| error.to_string().contains("loads")));
    Ok(())
}

/// Of some systems a hash says no more than that the key has none.
#[test]
fn a_key_that_a_system_does_not_route_has_no_node() -> Result<(), Error> {
    let mut without = 0;
    for dialect in compat::ALL {
        let pool = || {
            dialect.build(
                ["10.0.0.1:80", "10.0.0.2:80"].map(Node::new),
                &Params::default(),
            )
        };
        // Some take other names.
        let Ok(plain) = pool() else { continue };
        let live = Liveness::new(pool()?, Policy::default())?;
        let (hot, bounded) = (
            HotKeys::new(pool()?, 2, 0.1)?,
            BoundedLoad::new(pool()?, 1.25)?,
        );
        let keys: [&[u8]; 4] = [b"", b"key", b"user:42", b"\xff\0"];
        for key in keys.into_iter().filter(|key| plain.route(key).is_none()) {
            without += 1;
            let wrapped: [&dyn Router; 3] = [&live, &hot, &bounded];
            for router in wrapped {
                assert_eq!(router.route(key), None, "{} {key:?}", dialect.name);
            }
        }
    }
    assert!(without > 0);
    Ok(())
}
