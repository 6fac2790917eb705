//! The figures of one measure over the nodes.

use serde::{Deserialize, Serialize, Serializer};

use super::noise::Noise;
use crate::summary::KeyShare;

/// The figures of one measure over the nodes with weight.
///
/// The figure of a node is its load divided by (its fair share times the number of nodes with
/// weight). With equal weights that is its load. Nodes of weight 0 do not count.
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
    /// The sum over all nodes.
    pub total: u64,
    /// E = (Σs)² / Σs² over the amounts of the distinct keys: this many equal keys would be as
    /// noisy.
    pub effective_keys: f64,
    /// The number of nodes that hold something.
    pub used: u64,
    /// The number of nodes with weight that hold nothing.
    pub empty: u64,
    /// The smallest figure of a node.
    #[serde(serialize_with = "whole_where_it_is")]
    pub min: f64,
    /// The largest figure of a node.
    #[serde(serialize_with = "whole_where_it_is")]
    pub max: f64,
    /// `total` divided by the number of nodes with weight.
    pub mean: f64,
    /// The standard deviation of the figures, as of a whole population.
    pub stddev: f64,
    /// The coefficient of variation, `stddev / mean`; 0 if there is no load.
    pub cv: f64,
    /// What chance alone gives.
    #[serde(flatten)]
    pub noise: Noise,
    /// The largest figure over the mean; 0 if there is no load.
    pub max_over_mean: f64,
    /// The 95th percentile (nearest rank) over the mean; 0 if there is no load.
    pub p95_over_mean: f64,
    /// The largest figure over the median; `None` if the median is 0.
    pub max_over_median: Option<f64>,
    /// The share that the n most loaded nodes hold together, for n = 1, 2, 5, 10, 20 ... up to
    /// their number.
    pub top: Vec<TopShare>,
    /// Pearson's statistic against the fair shares, scaled by E / `total`, so that repeated and
    /// large keys do not inflate it.
    pub chi2: f64,
    /// Its degrees of freedom: the number of nodes with weight, less one.
    pub df: u64,
    /// The probability that chance alone gives as much. By chi-squared if every node expects many
    /// keys; otherwise simulated with a fixed seed, so that few keys, unlike weights and large keys
    /// raise no more alarms than stated. A p-value below 1/5,000 (1/1,000 for thousands of nodes)
    /// is extrapolated then.
    pub p_value: f64,
    /// The number of largest keys that carry half.
    pub keys_for_half: u64,
    /// The largest keys, up to five, in descending order; empty if all carry the same.
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
    /// The number of nodes.
    pub n: u64,
    /// Their share.
    pub share: f64,
}

/// The figures of the exact shares, each divided by the fair share.
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

/// Writes a whole number as an integer, so that a load reads as `750`, not `750.0`.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a whole number in range"
)]
fn whole_where_it_is<S: Serializer>(figure: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    // Below 2^53 an f64 holds every whole number exactly.
    if figure.fract() == 0.0 && (0.0..9_007_199_254_740_992.0).contains(figure) {
        serializer.serialize_u64(*figure as u64)
    } else {
        serializer.serialize_f64(*figure)
    }
}
