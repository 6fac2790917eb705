//! Skew explained: is it real, of what, by whose fault, on which numbers of nodes, and what helps.

use serde::{Deserialize, Serialize};

use crate::keys::Keys;
use crate::measure::is_zero;
use crate::summary::Measure;
use crate::text::hash_name;
use hashroute::Error;
use hashroute::registry::Setup;

mod carriers;
mod chance;
mod counts;
mod evidence;
mod gatherer;
mod hashes;
mod measures;
mod placed;
mod remedies;
mod sentences;
mod stages;
mod templates;

pub use counts::{CountRow, NodeCounts};
pub(crate) use evidence::Sampled;
pub use evidence::{Evidence, Load};
pub use gatherer::Gatherer;
pub use hashes::{HashStep, Residue};
pub use measures::MeasureSkew;
pub use remedies::Remedy;
pub use stages::{Finding, KeyStage, Status};
pub use templates::TemplateShare;

use placed::{Cluster, Placed};
use remedies::Trial;
use stages::Tests;

/// How often even data may give an alarm, of all tests together.
///
/// ```
/// assert_eq!(hashroute_harness::skew::SIGNIFICANCE, 0.01);
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
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Diagnosis<'a> {
    /// The row with its members and parameters.
    pub setup: &'a Setup,
    /// The other numbers of nodes to look at; none stands for those nearby.
    pub node_counts: &'a [usize],
}

impl<'a> Diagnosis<'a> {
    /// Looks at this setup, and at numbers of nodes nearby.
    pub fn new(setup: &'a Setup) -> Self {
        Self {
            setup,
            node_counts: &[],
        }
    }

    /// Looks at these numbers of nodes.
    #[must_use]
    pub fn with_node_counts(self, node_counts: &'a [usize]) -> Self {
        Self {
            node_counts,
            ..self
        }
    }
}

/// Why keys lie unevenly, or that they do not.
///
/// The fields are those of `hashroute skew --format json`.
///
/// ```
/// use hashroute_harness::{Keys, skew::Diagnosis};
/// use hashroute::registry::{Params, Setup};
/// use hashroute::strategy;
///
/// let setup = Setup::new(strategy::find("rendezvous")?, ["a", "b", "c"], Params::default());
/// let skew = Diagnosis::new(&setup).analyse(&Keys::template("user:{i}", 0..10_000)?)?;
/// assert!(skew.verdict.starts_with("Even, within noise"));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
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
    /// Returns the most uneven measure, if any is uneven.
    ///
    /// ```
    /// # use hashroute::{registry::{Params, Setup}, strategy};
    /// # use hashroute_harness::{Keys, skew::Diagnosis};
    /// let setup = Setup::new(strategy::find("rendezvous")?, ["a", "b"], Params::default());
    /// assert!(Diagnosis::new(&setup).analyse(&Keys::template("user:{i}", 0..1000)?)?.worst().is_none());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn worst(&self) -> Option<&MeasureSkew> {
        measures::worst(&self.measures)
    }
}

impl Diagnosis<'_> {
    /// Gathers and judges at once.
    ///
    /// # Errors
    /// As [`Setup::build`].
    ///
    /// ```
    /// # use hashroute::{registry::{Params, Setup}, strategy};
    /// # use hashroute_harness::{Keys, skew::Diagnosis};
    /// let setup = Setup::new(strategy::find("jump")?, ["a", "b"], Params::default());
    /// assert_eq!(Diagnosis::new(&setup).analyse(&Keys::template("user:{i}", 0..1000)?)?.keys, 1000);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn analyse(&self, keys: &Keys) -> Result<Skew, Error> {
        self.judge(&Evidence::of(&*self.setup.build()?, keys))
    }

    /// Judges the evidence of a router that this setup builds.
    ///
    /// O(sample (log sample + prime powers)), one more assignment of all sampled keys for each
    /// number of nodes, up to 2^25 assignments in all, and of 65,536 keys for each
    /// remedy.
    ///
    /// # Errors
    /// As [`Setup::build`]; [`Error::Parameter`] when the evidence is of other nodes.
    ///
    /// ```
    /// # use hashroute_harness::skew::{Diagnosis, Evidence};
    /// # use hashroute::{Ring, registry::{Params, Setup}, strategy};
    /// let ring = Ring::new(["a", "b"])?;
    /// let mut evidence = Evidence::new(&ring);
    /// (0..1000).for_each(|i| evidence.add(&ring, format!("user:{i}").as_bytes(), None, None));
    /// let setup = Setup::new(strategy::find("ring")?, ["a", "b"], Params::default());
    /// assert_eq!(Diagnosis::new(&setup).judge(&evidence)?.distinct_keys, 1000);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn judge(&self, evidence: &Evidence) -> Result<Skew, Error> {
        let router = self.setup.build()?;
        evidence.check(&*router)?;
        let cluster = Cluster::of(&*router);
        let placed = Placed::of(&*self.setup.build()?, &cluster, evidence.sample());
        let mut measures = measures::measures(&cluster, evidence);
        let mut node_counts = counts::count(self, &*router, &placed);
        let most = node_counts.rows.iter().map(|row| row.nodes).max();
        let most = most.unwrap_or(0).max(cluster.len() as u64);
        let mut tests = Tests::of(&*self.setup.build()?, &cluster, &placed, evidence, most);
        let count = tests.count() + measures.len() + node_counts.rows.len();
        let threshold = SIGNIFICANCE / count as f64;
        for measure in &mut measures {
            measure.uneven = measure.p_value < threshold && measure.cv > SLIGHT;
        }
        tests.judge_residues(threshold);
        let bunched = tests.bunched();
        node_counts.judge(&bunched, threshold);
        let sentences = sentences::Stages {
            setup: self,
            tests: &tests,
            placed: &placed,
            cluster: &cluster,
            distinct: whole(evidence.distinct_keys()),
        };
        let stages = stages::findings(&sentences, &mut measures, threshold);
        let worst = measures::worst(&measures);
        let faults = faults(&stages, worst);
        let remedies = if worst.is_some() || !faults.is_empty() {
            let measure = worst.map_or(Measure::Keys, |worst| worst.measure);
            Trial::new(self, &*router, &placed, evidence, measure).against(&faults, &node_counts)
        } else {
            Vec::new()
        };
        let mut skew = Skew {
            strategy: self.setup.scheme().name.to_owned(),
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
        skew.verdict = sentences::verdict(&skew);
        skew.advice = sentences::advice(&skew);
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
