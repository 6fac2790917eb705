//! The result of a diagnosis.

use serde::{Deserialize, Serialize};

use super::counts::NodeCounts;
use super::finding::Finding;
use super::hashes::{HashStep, Residue};
use super::measures::{self, MeasureSkew};
use super::remedy::Remedy;
use crate::measure::{Estimated, is_zero};

/// Why a load is uneven, or that it is not.
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
    /// What is uneven and why, in a sentence.
    pub verdict: String,
    /// What to do, in a sentence.
    pub advice: String,
    /// The name of the strategy or dialect.
    pub strategy: String,
    /// The name of the key hash.
    pub hash: String,
    /// The number of nodes with weight.
    pub nodes: u64,
    /// The number of keys. A repeated key counts each time.
    pub keys: u64,
    /// The number of distinct keys, estimated if not all are in the sample.
    pub distinct_keys: u64,
    /// The number of distinct keys in the sample.
    pub sampled_keys: u64,
    /// How good the figures about all distinct keys are; `None` if all are in the sample. The loads
    /// of the nodes are always exact, and the tests of the stages are about the sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated: Option<Estimated>,
    /// The number of keys that no node took.
    pub unplaced: u64,
    /// The number of lines of the input without a readable key.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unreadable: u64,
    /// The probability of an alarm on even data, over all tests together.
    pub significance: f64,
    /// The number of tests.
    pub tests: u64,
    /// The p-value below which a test raises an alarm: `significance` divided by `tests`.
    pub threshold: f64,
    /// Keys, and bytes and requests if known.
    pub measures: Vec<MeasureSkew>,
    /// The finding on each stage of a key's way.
    pub stages: Vec<Finding>,
    /// The most frequent differences between the hashes of neighbouring keys.
    pub steps: Vec<HashStep>,
    /// The hashes modulo each prime power, up to the largest number of nodes looked at.
    pub residues: Vec<Residue>,
    /// The prime powers at which the hashes bunch, the smallest power of each prime.
    pub bunched: Vec<u64>,
    /// How the keys lie on other numbers of nodes.
    pub node_counts: NodeCounts,
    /// The changes that were tried, the best first; empty if nothing is uneven.
    pub remedies: Vec<Remedy>,
}

impl Skew {
    /// Returns the most uneven measure, if any is uneven.
    pub fn worst(&self) -> Option<&MeasureSkew> {
        measures::worst(&self.measures)
    }
}
