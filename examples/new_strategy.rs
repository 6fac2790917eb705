//! Write your own strategy: three methods, and replicas, batches and walks come with the trait.
//!
//! This one is multi-probe consistent hashing (Appleton and O'Reilly, arXiv:1505.00062): a
//! single point a node, several probes a key; the probe that lands closest before a point wins.
//!
//! `cargo run --example new_strategy`

use hashroute::hash::mix64;
use hashroute::{Change, Error, KeyHash, Node, NodeId, Nodes, Router, RouterExt, Spread};

const PROBES: u64 = 21;

#[derive(Clone, Debug)]
struct MultiProbe {
    nodes: Nodes,
    points: Vec<(u64, NodeId)>,
}

impl MultiProbe {
    fn new(nodes: impl IntoIterator<Item = Node>) -> Result<Self, Error> {
        let nodes = Nodes::sorted(nodes)?;
        let points = points(&nodes)?;
        Ok(Self { nodes, points })
    }

    /// The first point at or after the hash, and how far away it is.
    fn next(&self, hash: u64) -> Option<(u64, NodeId)> {
        let at = self.points.partition_point(|(point, _)| *point < hash);
        let (point, id) = self.points.get(at).or(self.points.first())?;
        Some((point.wrapping_sub(hash), *id))
    }
}

/// A point for every node with weight. A router checks what it cannot do before it agrees.
fn points(nodes: &Nodes) -> Result<Vec<(u64, NodeId)>, Error> {
    let mut points = Vec::new();
    for (id, node) in nodes.iter().filter(|(_, node)| node.weight() > 0) {
        if node.weight() > 1 {
            let (name, weight) = (node.name().into(), node.weight());
            return Err(Error::Weight {
                name,
                weight,
                expected: "0 or 1",
            });
        }
        points.push((mix64(KeyHash::from_bytes(node.name().as_bytes()).get()), id));
    }
    points.sort_by(|(a, x), (b, y)| a.cmp(b).then_with(|| nodes.name(*x).cmp(&nodes.name(*y))));
    Ok(points)
}

impl Router for MultiProbe {
    fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    fn route_hash(&self, key: KeyHash) -> Option<NodeId> {
        let probes = (0..PROBES).filter_map(|probe| self.next(key.rehash(probe).get()));
        // By distance alone: of equal distances the first probe wins.
        probes
            .min_by_key(|(distance, _)| *distance)
            .map(|(_, id)| id)
    }

    fn apply(&mut self, change: &Change) -> Result<(), Error> {
        let nodes = self.nodes.after(change)?;
        self.points = points(&nodes)?;
        self.nodes = nodes;
        Ok(())
    }
}

fn main() -> Result<(), Error> {
    let mut router = MultiProbe::new((0..10).map(|i| Node::new(format!("node-{i}"))))?;
    let keys: Vec<_> = (0..100_000).map(KeyHash::from_integer).collect();
    let mut before = vec![None; keys.len()];
    router.route_batch(&keys, &mut before);

    let mut counts = vec![0_u32; router.nodes().id_bound()];
    for id in before.iter().flatten() {
        counts[id.index()] += 1;
    }
    let most = counts.iter().max().copied().unwrap_or(0);
    println!(
        "the largest of 10 nodes has {:.3} of the mean",
        f64::from(most) / 10_000.0
    );

    router.apply(&Change::Add(Node::new("node-10")))?;
    let joined = router.nodes().id("node-10");
    let mut after = vec![None; keys.len()];
    router.route_batch(&keys, &mut after);
    let moved: Vec<_> = before
        .iter()
        .zip(&after)
        .filter(|(old, new)| old != new)
        .collect();
    assert!(
        moved.iter().all(|(_, new)| **new == joined),
        "keys move only to the new node"
    );
    println!(
        "node-10 took {:.1} % of the keys",
        moved.len() as f64 / 1000.0
    );

    let list = router.replicas_hash(keys[0], 3, Spread::Nodes);
    let name = |&id| router.nodes().name(id);
    let names: Vec<_> = list.iter().filter_map(name).collect();
    println!("three copies of the first key: {}", names.join(", "));
    Ok(())
}
