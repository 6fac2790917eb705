//! The answer.

use serde::{Deserialize, Serialize};

use super::counts::NodeCounts;
use super::finding::Finding;
use super::hashes::{HashStep, Residue};
use super::measures::{self, MeasureSkew};
use super::remedy::Remedy;
use crate::measure::is_zero;

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
