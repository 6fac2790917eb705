//! How the keys fall on the nodes.

use serde::{Deserialize, Serialize};

use super::figures::{ExactFigures, Figures};
use super::verdict::Verdict;

/// How a set of keys falls on nodes: by keys, and by bytes and requests where known.
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
    /// How many keys there are, repeated ones each time.
    pub keys: u64,
    /// How many different ones: what the noise depends on.
    pub distinct_keys: u64,
    /// Keys that no node took.
    pub unplaced: u64,
    /// Lines of the input that held no key that could be read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unreadable: u64,
    /// Which figures are estimates, and how good they are; `None` when all are exact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated: Option<Estimated>,
    /// By keys.
    #[serde(flatten)]
    pub figures: Figures,
    /// By bytes, where sizes are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Figures>,
    /// By requests, where they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<Figures>,
    /// Of the exact shares, where the strategy gives them: the unevenness that no number of keys
    /// takes away.
    pub exact: Option<ExactFigures>,
    /// What is the matter, if anything.
    pub verdict: Verdict,
}

/// One node and what it holds.
///
/// ```
/// # use hashroute::{Node, Ring};
/// # use hashroute_harness::{Keys, Assignment, balance};
/// # let (ring, keys) = (Ring::new([Node::new("a")])?, Keys::template("{i}", 0..10)?);
/// let balance = balance("ring", &ring, &keys, &Assignment::of(&ring, &keys));
/// assert_eq!((balance.nodes[0].keys, balance.nodes[0].share), (10, 1.0));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NodeBalance {
    /// Its name.
    pub name: String,
    /// Its weight.
    pub weight: u32,
    /// Its zone.
    pub zone: Option<String>,
    /// Its rack.
    pub rack: Option<String>,
    /// The keys it holds.
    pub keys: u64,
    /// Their share of all keys placed.
    pub share: f64,
    /// Its weight's share of all weight.
    pub fair_share: f64,
    /// Its exact share of the hash space, where the strategy gives it.
    pub exact_share: Option<f64>,
    /// The bytes it stores, where sizes are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The requests it gets, where they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
}

/// How good the estimates are, where there are more distinct keys than are counted one by one.
/// All that nodes hold is exact always.
///
/// ```
/// # use hashroute::{Node, Ring};
/// # use hashroute_harness::{Keys, Assignment, balance};
/// # let (ring, keys) = (Ring::new([Node::new("a")])?, Keys::template("{i}", 0..10)?);
/// // What is in memory is counted exactly.
/// assert_eq!(balance("ring", &ring, &keys, &Assignment::of(&ring, &keys)).estimated, None);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Estimated {
    /// The relative standard error of `distinct_keys`.
    pub distinct_keys_error: f64,
    /// The relative standard error of `effective_keys`, on which noise and p-values rest.
    pub effective_keys_error: f64,
    /// Keys are listed in `largest` from this share on.
    pub largest_from: f64,
    /// A listed share is too large by more than this one time in fifty at most, and never too
    /// small.
    pub share_error: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
pub(crate) fn is_zero(number: &u64) -> bool {
    *number == 0
}
