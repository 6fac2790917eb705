//! A change that was tried, and its effect.

use serde::{Deserialize, Serialize};

use super::chance::{self, SLIGHT, Units};
use super::placed::Cluster;
use super::templates::Shape;
use hashroute::HashFunction;

/// A change that was tried, and its effect.
///
/// ```
/// use hashroute_harness::{Keys, skew::Diagnosis};
/// use hashroute::registry::{Params, Setup};
/// use hashroute::{HashFunction, KeyHasher, strategy};
///
/// let params = Params::default().with_hasher(KeyHasher::new(HashFunction::TwemproxyFnv1a64));
/// let nodes = (0..60).map(|i| format!("node-{i}"));
/// let setup = Setup::new(strategy::find("modulo")?, nodes, params);
/// let keys = Keys::template("metric:demo:{i}", 0..1000)?;
/// let remedies = Diagnosis::new(&setup).analyse(&keys)?.remedies;
/// let front = remedies.iter().find(|remedy| remedy.what.contains("in front"));
/// assert!(front.is_some_and(|front| front.even && front.moved_share > 0.9));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Remedy {
    /// What was changed.
    pub what: String,
    /// The coefficient of variation afterwards, of the measure that was most uneven.
    pub cv: f64,
    /// What chance alone gives: equal keys, if few keys carry much, since `p_value` and `even` are
    /// about equal keys then.
    pub noise_cv: f64,
    /// The probability that chance alone gives as much, as in [`MeasureSkew`](super::MeasureSkew).
    pub p_value: f64,
    /// Whether that is even: a p-value of at least 0.01, or a coefficient of variation below 0.01.
    pub even: bool,
    /// The share of the keys that move.
    pub moved_share: f64,
}

/// A change that is tried.
#[derive(Clone, Copy, Debug)]
pub(super) enum Attempt<'a> {
    /// The key that carries most is kept elsewhere.
    WithoutKey(&'a [u8]),
    /// This many keys that carry most are kept elsewhere.
    WithoutLargest(usize),
    /// The marks of the hash tags are taken out of the keys.
    WithoutTags,
    /// Every node with weight has weight 1.
    EqualWeights,
    /// The hash of every key goes through `mix64` as well.
    Mixed,
    /// The part of the keys that varies stands elsewhere; the first such key.
    Reshaped(Shape, &'a [u8]),
    /// Another hash function.
    Hash(HashFunction),
    /// Another value of a parameter.
    Parameter(&'a str, &'a str),
    /// Another number of nodes.
    Nodes(u64),
    /// Another strategy, with the name of its hash function.
    Strategy(&'a str, &'a str),
}

/// The p-value below which a result is no chance. It is for one test, not corrected for many, so
/// that no remedy looks better than it is.
const PLAIN: f64 = 0.01;

impl Remedy {
    /// Judges these loads. No key has moved.
    pub(super) fn judge(what: String, cluster: &Cluster, loads: &[f64], units: &Units) -> Self {
        let cv = chance::cv(loads, &cluster.fair);
        let p_value = units.p_value(loads, &cluster.fair);
        Self {
            what,
            cv,
            noise_cv: cluster.noise(units.judged()),
            p_value,
            even: p_value >= PLAIN || cv < SLIGHT,
            moved_share: 0.0,
        }
    }
}
