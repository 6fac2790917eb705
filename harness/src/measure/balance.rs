//! How a set of keys lies on the nodes.

use serde::{Deserialize, Serialize};

use super::figures::{ExactFigures, Figures};
use super::verdict::Verdict;
use crate::summary::{Census, LISTED, Sketch};

/// How a set of keys lies on the nodes: by keys, and by bytes and requests if known.
///
/// The fields are those of `hashroute balance --format json`.
///
/// ```
/// use hashroute_harness::{Keys, Assignment, balance};
/// use hashroute::{Node, Ring};
///
/// let keys = Keys::template("user:{i}", 0..10_000)?;
/// let ring = Ring::new(["a", "b", "c"].map(Node::new))?;
/// let balance = balance("ring", &ring, &keys, &Assignment::of(&ring, &keys));
/// assert_eq!((balance.keys, balance.distinct_keys, balance.figures.used), (10_000, 10_000, 3));
/// assert_eq!(serde_json::to_value(&balance).expect("plain data")["keys"], 10_000);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Balance {
    /// The strategy's name.
    pub strategy: String,
    /// The key hash's name.
    pub hash: String,
    /// All nodes, in order of name.
    pub nodes: Vec<NodeBalance>,
    /// The number of keys; a repeated key counts each time.
    pub keys: u64,
    /// The number of distinct keys, on which the noise depends.
    pub distinct_keys: u64,
    /// The number of keys that no node took.
    pub unplaced: u64,
    /// The number of lines of the input without a readable key.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unreadable: u64,
    /// How good the estimated figures are; `None` if all figures are exact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated: Option<Estimated>,
    /// The figures by keys.
    #[serde(flatten)]
    pub figures: Figures,
    /// The figures by bytes, if sizes are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Figures>,
    /// The figures by requests, if requests are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<Figures>,
    /// The figures of the exact shares, if the strategy has them: the unevenness that remains for
    /// any number of keys.
    pub exact: Option<ExactFigures>,
    /// Which measure is uneven, and why.
    pub verdict: Verdict,
}

/// A node and what it holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NodeBalance {
    /// The node's name.
    pub name: String,
    /// Its weight.
    pub weight: u32,
    /// Its zone.
    pub zone: Option<String>,
    /// Its rack.
    pub rack: Option<String>,
    /// The number of keys that it holds.
    pub keys: u64,
    /// Its share of all placed keys.
    pub share: f64,
    /// Its share of the total weight.
    pub fair_share: f64,
    /// Its exact share of the hash space, if the strategy has it.
    pub exact_share: Option<f64>,
    /// The bytes that it stores, if sizes are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The requests that it gets, if requests are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
}

/// How good the estimated figures are, if there are more distinct keys than are counted exactly.
/// What the nodes hold is always exact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Estimated {
    /// The relative standard error of `distinct_keys`.
    pub distinct_keys_error: f64,
    /// The relative standard error of `effective_keys`, on which noise and p-values rest.
    pub effective_keys_error: f64,
    /// The share from which on keys are listed in `largest`.
    pub largest_from: f64,
    /// The error of a listed share, as a share of all: exceeded at most one time in fifty. A share
    /// is never too small.
    pub share_error: f64,
}

impl Estimated {
    /// Returns the errors of what a census says; `None` while it counts every key by itself.
    pub(crate) fn of(census: &Census) -> Option<Self> {
        census.sketch.as_ref().map(|_| Self {
            distinct_keys_error: census.distinct_error(),
            effective_keys_error: Sketch::squares_error(),
            largest_from: 1.0 / LISTED as f64,
            share_error: Sketch::amount_error(),
        })
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
pub(crate) fn is_zero(number: &u64) -> bool {
    *number == 0
}
