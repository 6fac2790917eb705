//! Skew explained: is it real, of what, by whose fault, on which numbers of nodes, and what helps.
//!
//! Gathering and judging are apart: [`Evidence`] takes one pass over the keys in bounded memory
//! and merges with that of other passes; [`Diagnosis::judge`] does the rest. A [`Gatherer`] takes it of
//! keys beyond memory.
//!
//! Many things are tested at once. Each p-value stands as it is; an alarm needs one below
//! [`Skew::threshold`], the family-wise significance over the number of tests (Bonferroni), so
//! that even data gives any alarm at all less often than [`SIGNIFICANCE`]. What the hash and the
//! strategy do is tested on hashes each counted once, so that hot keys, large keys and tags are
//! never blamed on them.
//!
//! ```
//! use hashroute::harness::{Keys, skew::{Diagnosis, KeyStage, Status}};
//! use hashroute::{HashFunction, KeyHasher, Node, strategy::{self, Params}};
//!
//! let params = Params::default().with_hasher(KeyHasher::new(HashFunction::TwemproxyFnv1a64));
//! let nodes: Vec<_> = (0..87).map(|i| Node::new(format!("node-{i}"))).collect();
//! let setup = Diagnosis {
//!     name: "modulo",
//!     recipe: strategy::find("modulo")?,
//!     params: &params,
//!     nodes: &nodes,
//!     node_counts: &[61, 64],
//! };
//! let skew = setup.analyse(&Keys::template("metric:demo:{i}", 0..1000)?)?;
//! let at_fault = skew.stages.iter().filter(|finding| finding.status == Status::AtFault);
//! assert!(at_fault.map(|finding| finding.stage).eq([KeyStage::Hash]));
//! assert_eq!(skew.bunched, [3, 5, 29]);
//! assert!(skew.node_counts.rows.iter().all(|row| !row.dangerous));
//! # Ok::<(), hashroute::Error>(())
//! ```

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{Keys, Measure, Recipe};
use crate::strategy::Params;
use crate::{Error, Node, Router};

mod carriers;
mod chance;
mod counts;
mod evidence;
mod gatherer;
mod hashes;
mod measures;
mod part;
mod placed;
mod remedies;
mod stages;
mod templates;
mod words;

pub use counts::{CountRow, NodeCounts};
pub use evidence::{Evidence, Load};
pub use gatherer::Gatherer;
pub use hashes::{HashStep, Residue};
pub use measures::MeasureSkew;
pub use part::Part;
pub use remedies::Remedy;
pub use stages::{Finding, KeyStage, Status};
pub use templates::TemplateShare;

use super::balance::is_zero;
use placed::{Cluster, Placed};
use remedies::Trial;
use stages::Tests;

/// How often even data may give an alarm, of all tests together.
///
/// ```
/// assert_eq!(hashroute::harness::skew::SIGNIFICANCE, 0.01);
/// ```
pub const SIGNIFICANCE: f64 = 0.01;

/// Unevenness that nobody minds, however many keys prove it.
const SLIGHT: f64 = 0.01;

/// Whether what comes on top of chance is worth a warning: it must exceed what chance does by far.
fn stands_out(cv: f64, noise_cv: f64) -> bool {
    cv > SLIGHT.max(2.0 * noise_cv)
}

/// What keys are placed by: a strategy or dialect, its parameters, its nodes; and on which other
/// numbers of nodes to look.
#[derive(Clone, Copy)]
pub struct Diagnosis<'a> {
    /// The strategy's or dialect's name, for the reader.
    pub name: &'a str,
    /// What makes a router.
    pub recipe: &'a dyn Recipe,
    /// Its parameters.
    pub params: &'a Params,
    /// The nodes.
    pub nodes: &'a [Node],
    /// The numbers of nodes to look at. Empty stands for those around the present one: 64 on
    /// either side where a node is the hash modulo their number, else 8; none from 10,000 on.
    pub node_counts: &'a [usize],
}

impl core::fmt::Debug for Diagnosis<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let mut setup = f.debug_struct("Diagnosis");
        setup
            .field("name", &self.name)
            .field("params", &self.params);
        setup
            .field("nodes", &self.nodes.len())
            .finish_non_exhaustive()
    }
}

/// Why keys lie unevenly, or that they do not.
///
/// The fields are those of `hashroute skew --format json`.
///
/// ```
/// use hashroute::harness::{Keys, skew::Diagnosis};
/// use hashroute::{Node, strategy::{self, Params}};
///
/// let nodes = ["a", "b", "c"].map(Node::new);
/// let recipe = strategy::find("rendezvous")?;
/// let setup = Diagnosis { name: "rendezvous", recipe, params: &Params::default(), nodes: &nodes, node_counts: &[] };
/// let skew = setup.analyse(&Keys::template("user:{i}", 0..10_000)?)?;
/// assert!(skew.verdict.starts_with("Even, within noise"));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Skew {
    /// What is the matter, in a sentence.
    pub verdict: String,
    /// What to do, in a sentence.
    pub advice: String,
    /// The strategy's or dialect's name.
    pub strategy: String,
    /// The key hash's name.
    pub hash: String,
    /// How many nodes have weight.
    pub nodes: u64,
    /// All keys, each as often as it came.
    pub keys: u64,
    /// How many different ones, estimated where not all are in the sample.
    pub distinct_keys: u64,
    /// How many different ones were looked at one by one.
    pub sampled_keys: u64,
    /// Keys that no node took.
    pub unplaced: u64,
    /// Lines of the input that held no key that could be read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unreadable: u64,
    /// How often even data may give an alarm, of all tests together.
    pub significance: f64,
    /// How many tests were made.
    pub tests: u64,
    /// A test raises an alarm below this p-value: `significance` over `tests`.
    pub threshold: f64,
    /// Keys, and bytes and requests where known.
    pub measures: Vec<MeasureSkew>,
    /// Each stage of a key's way.
    pub stages: Vec<Finding>,
    /// The most frequent differences between the hashes of neighbouring keys.
    pub steps: Vec<HashStep>,
    /// How the hashes lie modulo each prime power, up to the largest number of nodes looked at.
    pub residues: Vec<Residue>,
    /// The prime powers at which they bunch, the smallest of each prime.
    pub bunched: Vec<u64>,
    /// How the keys fall on other numbers of nodes.
    pub node_counts: NodeCounts,
    /// What was tried, the best first; nothing where nothing is the matter.
    pub remedies: Vec<Remedy>,
}

impl Skew {
    /// The most uneven measure, if any is uneven.
    ///
    /// ```
    /// # use hashroute::{Node, harness::{Keys, skew::Diagnosis}, strategy::{self, Params}};
    /// # let nodes = [Node::new("a"), Node::new("b")];
    /// # let recipe = strategy::find("rendezvous")?;
    /// # let setup = Diagnosis { name: "rendezvous", recipe, params: &Params::default(), nodes: &nodes, node_counts: &[] };
    /// assert!(setup.analyse(&Keys::template("user:{i}", 0..1000)?)?.worst().is_none());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn worst(&self) -> Option<&MeasureSkew> {
        measures::worst(&self.measures)
    }
}

impl Diagnosis<'_> {
    /// Gather and judge at once.
    ///
    /// # Errors
    /// As [`Recipe::make`].
    ///
    /// ```
    /// # use hashroute::{Node, harness::{Keys, skew::Diagnosis}, strategy::{self, Params}};
    /// let nodes = [Node::new("a"), Node::new("b")];
    /// let setup = Diagnosis { name: "jump", recipe: strategy::find("jump")?, params: &Params::default(), nodes: &nodes, node_counts: &[] };
    /// assert_eq!(setup.analyse(&Keys::template("user:{i}", 0..1000)?)?.keys, 1000);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn analyse(&self, keys: &Keys) -> Result<Skew, Error> {
        self.judge(&Evidence::of(&*self.build()?, keys))
    }

    /// Judge what was gathered of a router that this setup makes.
    ///
    /// O(sample (log sample + prime powers)), one more assignment of all sampled keys for each
    /// number of nodes, up to 2^25 assignments in all, and of 65,536 keys for each
    /// remedy.
    ///
    /// # Errors
    /// As [`Recipe::make`]; [`Error::Parameter`] when the evidence is of other nodes.
    ///
    /// ```
    /// # use hashroute::{Node, Ring, harness::skew::{Evidence, Diagnosis}, strategy::{self, Params}};
    /// let nodes = [Node::new("a"), Node::new("b")];
    /// let ring = Ring::new(nodes.clone())?;
    /// let mut evidence = Evidence::new(&ring);
    /// (0..1000).for_each(|i| evidence.add(&ring, format!("user:{i}").as_bytes(), None, None));
    /// let setup = Diagnosis { name: "ring", recipe: strategy::find("ring")?, params: &Params::default(), nodes: &nodes, node_counts: &[] };
    /// assert_eq!(setup.judge(&evidence)?.distinct_keys, 1000);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn judge(&self, evidence: &Evidence) -> Result<Skew, Error> {
        let router = self.build()?;
        evidence.check(&*router)?;
        let cluster = Cluster::of(&*router);
        let placed = Placed::of(&*self.build()?, &cluster, evidence.sample());
        let mut measures = measures::measures(&cluster, evidence);
        let mut node_counts = counts::count(self, &*router, &placed);
        let most = node_counts.rows.iter().map(|row| row.nodes).max();
        let most = most.unwrap_or(0).max(cluster.len() as u64);
        let mut tests = Tests::of(&*self.build()?, &cluster, &placed, evidence, most);
        let count = tests.count() + measures.len() + node_counts.rows.len();
        let threshold = SIGNIFICANCE / count as f64;
        for measure in &mut measures {
            measure.uneven = measure.p_value < threshold && measure.cv > SLIGHT;
        }
        tests.judge_residues(threshold);
        let bunched = tests.bunched();
        node_counts.judge(&bunched, threshold);
        let words = words::Stages {
            setup: self,
            tests: &tests,
            placed: &placed,
            cluster: &cluster,
            distinct: whole(evidence.distinct_keys()),
        };
        let stages = stages::findings(&words, &mut measures, threshold);
        let worst = measures::worst(&measures);
        let faults = faults(&stages, worst);
        let remedies = if worst.is_some() || !faults.is_empty() {
            let measure = worst.map_or(Measure::Keys, |worst| worst.measure);
            Trial::new(self, &*router, &placed, evidence, measure).against(&faults, &node_counts)
        } else {
            Vec::new()
        };
        let mut skew = Skew {
            strategy: self.name.to_owned(),
            hash: hash_name(&*router).to_owned(),
            nodes: cluster.len() as u64,
            keys: evidence.total().keys,
            distinct_keys: whole(evidence.distinct_keys()),
            sampled_keys: placed.keys.len() as u64,
            unplaced: evidence.unplaced(),
            unreadable: evidence.unreadable(),
            significance: SIGNIFICANCE,
            tests: count as u64,
            threshold,
            remedies,
            measures,
            stages,
            steps: tests.steps,
            residues: tests.residues,
            bunched,
            node_counts,
            verdict: String::new(),
            advice: String::new(),
        };
        skew.verdict = words::verdict(&skew);
        skew.advice = words::advice(&skew);
        Ok(skew)
    }
}

/// What remedies have to do with: the causes of the worst measure, and weights.
fn faults(stages: &[Finding], worst: Option<&MeasureSkew>) -> Vec<KeyStage> {
    let nodes = |one: &&Finding| one.stage == KeyStage::Nodes && one.status == Status::AtFault;
    let nodes = stages.iter().filter(nodes).map(|one| one.stage);
    let because = worst.map_or(&[][..], |worst| &worst.because);
    because.iter().copied().chain(nodes).collect()
}

fn hash_name(router: &dyn Router) -> &'static str {
    let hasher = router.hasher();
    hasher.map_or("its own", |hasher| hasher.function().name())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count of keys"
)]
fn whole(count: f64) -> u64 {
    count.round() as u64
}

#[cfg(test)]
mod tests {
    use super::stands_out;

    #[test]
    fn what_stands_out_is_twice_chance_and_more_than_a_hundredth() {
        assert!(!stands_out(0.39, 0.2) && stands_out(0.41, 0.2));
        assert!(!stands_out(0.0099, 0.0) && stands_out(0.0101, 0.0));
    }
}
