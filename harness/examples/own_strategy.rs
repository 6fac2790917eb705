//! Implements a strategy: three methods and a row. Replicas, batches and walks come with the trait;
//! the laws and the comparison with other rows come with the row.
//!
//! The strategy is multi-probe consistent hashing (Appleton and O'Reilly, arXiv:1505.00062). Every
//! node has one point, and a key has several probes. The probe closest to the next point decides.
//!
//! `cargo run --release -p hashroute-harness --example own_strategy`

use hashroute::hash::mix64;
use hashroute::registry::{Caps, Param, Params, Scheme, Weights};
use hashroute::{Change, Error, HashId, KeyHash, KeyHasher, Node, NodeId, Nodes, Router, scheme};
use hashroute_harness::{Contest, Keys, compare, laws};

/// The row: what others need to know about the strategy, and how to build it.
static OURS: Scheme = Scheme::strategy(
    "multi-probe",
    "a ring of one point a node, with several probes a key",
    // Any node may leave, there are no excess moves, and all nodes have the same weight. A node
    // shortly after another gets less: with k probes, shares vary by 1 / sqrt(2 k + 1) of the mean,
    // here by 15%.
    Caps::SET
        .with_weights(Weights::One)
        .with_share_cv(|_| 0.153),
    |nodes, params| {
        let probes = params.get(PROBES.name, 21)?;
        Ok(Box::new(MultiProbe::new(nodes, probes, params.hasher())?))
    },
)
.with_params(&[PROBES]);

const PROBES: Param = Param::new("probes", "21", "probes a key");

#[derive(Clone, Debug)]
struct MultiProbe {
    nodes: Nodes,
    points: Vec<(u64, NodeId)>,
    probes: u64,
    hasher: KeyHasher,
}

impl MultiProbe {
    fn new(nodes: Vec<Node>, probes: u64, hasher: KeyHasher) -> Result<Self, Error> {
        if !(1..=1000).contains(&probes) {
            return Err(Error::parameter(PROBES.name, probes, "1 to 1000"));
        }
        let nodes = Nodes::sorted(nodes)?;
        Ok(Self {
            points: points(&nodes)?,
            nodes,
            probes,
            hasher,
        })
    }

    /// Returns the first point at or after the hash, and its distance.
    fn next(&self, hash: u64) -> Option<(u64, NodeId)> {
        let at = self.points.partition_point(|(point, _)| *point < hash);
        let (point, id) = self.points.get(at).or(self.points.first())?;
        Some((point.wrapping_sub(hash), *id))
    }
}

/// Returns a point for every node with weight. Refuses a weight above 1, which this strategy cannot
/// follow.
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
        let probes = (0..self.probes).filter_map(|probe| self.next(key.rehash(probe).get()));
        // If distances are equal, the first probe wins.
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

    // These two belong together: peers compare the identity of the hash by which keys are routed.
    fn hash_key(&self, key: &[u8]) -> Option<KeyHash> {
        Some(self.hasher.spread(key))
    }

    fn hash_id(&self) -> HashId {
        HashId::Spread(self.hasher.clone())
    }
}

fn main() -> Result<(), Error> {
    // In a crate of your own this is a test: `laws::assert_holds(&OURS)`.
    for law in laws::LAWS {
        let breaches = law.check(&OURS);
        let verdict = if breaches.is_empty() {
            "kept"
        } else {
            "BROKEN"
        };
        println!("law {:>2}, {}: {verdict}", law.number, law.name);
        for breach in &breaches {
            println!("  {breach}");
        }
        for clause in law.clauses {
            if let Some(reason) = clause.waiver(&OURS) {
                println!("  waived \"{}\": {reason}", clause.name());
            }
        }
    }
    compare_with_others()
}

/// Compares our row, a strategy of the crate and a real system on the same nodes, keys and changes.
fn compare_with_others() -> Result<(), Error> {
    let keys = Keys::template("user:{i}", 0..100_000)?;
    let rows = [&OURS, scheme("ring")?, scheme("twemproxy")?];
    let nodes: Vec<_> = (1..=10)
        .map(|i| Node::new(format!("10.0.0.{i}:11211")))
        .collect();
    let contest = Contest::new(&keys)
        .with_nodes(nodes)
        .with_add([Change::add("10.0.0.11:11211")])
        .with_remove([Change::remove("10.0.0.4:11211")])
        .with_schemes(rows.map(|row| (row, Params::default())))
        .with_costs(false);
    let comparison = compare(&contest, &mut |_, _| {});
    println!("\nstrategy      cv (chance)       moved / ideal    excess");
    for row in &comparison.rows {
        let (Some(balance), Some(remove)) = (&row.balance, &row.remove) else {
            continue;
        };
        println!(
            "{:<12}  {:.4} ({:.4})   {:>6.3}           {:>5.2}%",
            row.strategy,
            balance.figures.cv,
            balance.figures.noise.cv,
            remove.moved_share / remove.ideal_share,
            100.0 * remove.excess_share,
        );
    }
    Ok(())
}
