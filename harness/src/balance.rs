//! How the keys fall on the nodes.

use std::borrow::ToOwned;
use std::string::{String, ToString};
use std::vec::Vec;

use serde::{Deserialize, Serialize, Serializer};

use super::noise::ratio;
use super::yardstick::Yardstick;
use super::{Assignment, Keys, Noise, Verdict};
use hashroute::Router;

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

/// The figures of one measure over the nodes with weight.
///
/// A node's figure is its load divided by (its fair share times the number of nodes with
/// weight): with equal weights, just its load. Nodes of weight 0 do not count.
///
/// ```
/// # use hashroute::{Modulo, Node};
/// # use hashroute_harness::{Keys, Assignment, balance};
/// # let keys = Keys::template("{i}", 0..1000)?;
/// let router = Modulo::new([Node::new("a"), Node::new("b").with_weight(3)])?;
/// let figures = balance("modulo", &router, &keys, &Assignment::of(&router, &keys)).figures;
/// assert_eq!(figures.mean, 500.0);
/// assert!(figures.max < 600.0); // though b holds about 750
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Figures {
    /// What all nodes hold together.
    pub total: u64,
    /// E = (Σs)² / Σs² over what the distinct keys carry: that many equal keys would be as noisy.
    pub effective_keys: f64,
    /// Nodes that hold something.
    pub used: u64,
    /// Nodes with weight that hold nothing.
    pub empty: u64,
    /// The least figure of a node.
    #[serde(serialize_with = "whole_where_it_is")]
    pub min: f64,
    /// The largest figure of a node.
    #[serde(serialize_with = "whole_where_it_is")]
    pub max: f64,
    /// `total` over the nodes with weight.
    pub mean: f64,
    /// The root of the mean square of figure - mean: that of a population.
    pub stddev: f64,
    /// The coefficient of variation, `stddev / mean`; 0 when there is nothing.
    pub cv: f64,
    /// What chance alone gives.
    #[serde(flatten)]
    pub noise: Noise,
    /// The largest figure over the mean; 0 when there is nothing.
    pub max_over_mean: f64,
    /// The 95th percentile (nearest rank) over the mean; 0 when there is nothing.
    pub p95_over_mean: f64,
    /// The largest figure over the median; `None` when the median is 0.
    pub max_over_median: Option<f64>,
    /// The share that the n largest nodes hold, for n = 1, 2, 5, 10 … up to their number.
    pub top: Vec<TopShare>,
    /// Pearson's statistic against the fair shares, scaled by E / `total` so that neither
    /// repeated nor large keys inflate it.
    pub chi2: f64,
    /// Its degrees of freedom: the nodes with weight less one.
    pub df: u64,
    /// How often chance alone gives as much, when every key is small beside what a node holds.
    pub p_value: f64,
    /// How many of the largest keys carry half.
    pub keys_for_half: u64,
    /// The keys that carry most, up to five, the largest first; empty when all carry the same.
    pub largest: Vec<KeyShare>,
}

/// The share that the n most loaded nodes hold together.
///
/// ```
/// # use hashroute_harness::TopShare;
/// assert_eq!(serde_json::from_str::<TopShare>(r#"{"n":1,"share":0.5}"#)?.share, 0.5);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TopShare {
    /// How many nodes.
    pub n: u64,
    /// Their share.
    pub share: f64,
}

/// A key and the share that it carries.
///
/// ```
/// # use hashroute_harness::KeyShare;
/// let text = r#"{"key":"user:1","share":0.25}"#;
/// let share: KeyShare = serde_json::from_str(text)?;
/// assert_eq!(serde_json::to_string(&share)?, text);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct KeyShare {
    /// The key; one that is not UTF-8 with escapes such as `\xff`.
    pub key: String,
    /// Its share.
    pub share: f64,
}

impl KeyShare {
    pub(super) fn new(key: &[u8], amount: u64, total: f64) -> Self {
        let key = core::str::from_utf8(key)
            .map_or_else(|_| key.escape_ascii().to_string(), str::to_owned);
        let share = ratio(amount as f64, total);
        Self { key, share }
    }
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
pub(super) fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The figures of the exact shares, each over the fair share.
///
/// ```
/// # use hashroute::{Node, Ring};
/// # use hashroute_harness::{Keys, Assignment, balance};
/// let ring = Ring::new((0..100).map(|i| Node::new(format!("n{i}"))))?;
/// let keys = Keys::default();
/// let exact = balance("ring", &ring, &keys, &Assignment::of(&ring, &keys)).exact;
/// assert!(exact.is_some_and(|exact| (0.06..0.1).contains(&exact.cv))); // about 1 / sqrt(160)
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ExactFigures {
    /// The coefficient of variation.
    pub cv: f64,
    /// The largest over the mean.
    pub max_over_mean: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a whole number in range"
)]
fn whole_where_it_is<S: Serializer>(figure: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    // Below 2^53 every whole number is exact.
    if figure.fract() == 0.0 && (0.0..9_007_199_254_740_992.0).contains(figure) {
        serializer.serialize_u64(*figure as u64)
    } else {
        serializer.serialize_f64(*figure)
    }
}

/// How the keys of an assignment fall on the nodes. `router` gives the exact shares, where it can;
/// `strategy` is a name for the reader.
///
/// O(keys log keys + nodes log nodes), and some hundred simulated assignments for the noise.
///
/// ```
/// use hashroute_harness::{Keys, Assignment, balance};
/// use hashroute::{Node, Rendezvous};
///
/// // A stream that says nothing about balance, whatever its length.
/// let keys = Keys::zipf(1, 10_000, 1, 1.0)?;
/// let router = Rendezvous::new(["a", "b", "c"].map(Node::new))?;
/// let balance = balance("rendezvous", &router, &keys, &Assignment::of(&router, &keys));
/// assert_eq!((balance.keys, balance.distinct_keys), (10_000, 1));
/// assert!(balance.figures.noise.cv > 1.0 && balance.figures.p_value > 0.1);
/// # Ok::<(), hashroute::Error>(())
/// ```
pub fn balance(
    strategy: &str,
    router: &dyn Router,
    keys: &Keys,
    assignment: &Assignment,
) -> Balance {
    Yardstick::of_placed(keys, assignment).measure(strategy, router, keys, assignment)
}
