//! Whether a measure is uneven, and why.

use serde::{Deserialize, Serialize};

use super::figures::Figures;
use crate::summary::Measure;

/// Why a measure is as uneven as it is: the largest part of its coefficient of variation.
///
/// ```
/// assert_eq!(serde_json::to_string(&hashroute_harness::Cause::HeavyKeys)?, "\"heavy_keys\"");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Cause {
    /// It is even, up to chance and 1%.
    Even,
    /// The distinct keys are few for these nodes: chance alone gives a coefficient of variation of
    /// 0.1 or more.
    FewKeys,
    /// Few keys carry much of it. No strategy can split a key.
    HeavyKeys,
    /// The strategy gives nodes unequal shares of the hash space. More points, cells or slots make
    /// them more equal.
    Structure,
    /// It cannot be judged: nothing of it lies on any node.
    Nothing,
    /// None of these: the strategy sends keys unevenly, as a bound on loads does, or the hash does
    /// not spread these keys.
    Placement,
}

/// How even one measure is, and the four parts of its coefficient of variation: the squares of the
/// parts add up to its square, up to chance.
///
/// ```
/// # use hashroute::{Modulo, Node};
/// # use hashroute_harness::{Cause, Keys, Assignment, balance};
/// let (router, keys) = (Modulo::new(["a", "b"].map(Node::new))?, Keys::template("{i}", 0..1000)?);
/// let keys_are = balance("modulo", &router, &keys, &Assignment::of(&router, &keys)).verdict.keys;
/// assert_eq!((keys_are.cause, keys_are.heavy_cv), (Cause::Even, 0.0));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Evenness {
    /// Why it is as uneven as it is.
    pub cause: Cause,
    /// What chance gives the same number of distinct keys if all carry the same.
    pub sampling_cv: f64,
    /// What is added because some keys carry more than others.
    pub heavy_cv: f64,
    /// The coefficient of variation of the exact shares; 0 if they are not known.
    pub structure_cv: f64,
    /// What none of these explains; 0 if it is within chance.
    pub rest_cv: f64,
}

/// Which measure is most uneven, if any is, and why.
///
/// ```
/// use hashroute_harness::{Cause, Keys, Measure, Assignment, balance};
/// use hashroute::{Node, Rendezvous};
///
/// let mut sizes = vec![1; 10_000];
/// sizes[0] = 5000;
/// let keys = Keys::template("user:{i}", 0..10_000)?.with_sizes(sizes)?;
/// let router = Rendezvous::new(["a", "b", "c"].map(Node::new))?;
/// let verdict = balance("rendezvous", &router, &keys, &Assignment::of(&router, &keys)).verdict;
/// assert_eq!((verdict.matter, verdict.cause), (Some(Measure::Bytes), Cause::HeavyKeys));
/// assert!(verdict.text.contains("user:0 alone carries 33.3%"));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Verdict {
    /// The most uneven measure; `None` if all are even, or if no key has a node.
    pub matter: Option<Measure>,
    /// Why it is uneven; [`Cause::Nothing`] if no key has a node.
    pub cause: Cause,
    /// One line for each measure, for people.
    pub text: String,
    /// How even the load is by keys.
    pub keys: Evenness,
    /// How even it is by bytes, if sizes are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Evenness>,
    /// How even it is by requests, if they are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<Evenness>,
}

/// The probability with which a test fails by chance.
const ALPHA: f64 = 0.001;

/// A coefficient of variation that does no harm, however many keys prove it.
const SLIGHT: f64 = 0.01;

/// A coefficient of variation by chance that makes nodes visibly uneven under any strategy.
const NOISY: f64 = 0.1;

/// What a judgement rests on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence {
    /// The number of distinct keys that carry any of it.
    pub(super) carriers: usize,
    /// p of the loads against the fair shares, as if all distinct keys carried the same.
    pub(super) p_equal: f64,
    /// p of the loads against the exact shares, or the fair shares if the exact ones are not known.
    pub(super) p_exact: f64,
    /// What chance gives the same number of distinct keys if all carry the same.
    pub(super) sampling_cv: f64,
    /// The coefficient of variation of the exact shares; 0 if they are not known.
    pub(super) structure_cv: f64,
}

impl Evenness {
    pub(super) fn judge(figures: &Figures, evidence: Evidence) -> Self {
        let Evidence {
            carriers,
            p_equal,
            p_exact,
            sampling_cv,
            structure_cv,
        } = evidence;
        // Independent parts add in squares. A square below 0 is a part that chance has hidden.
        let root = |square: f64| square.max(0.0).sqrt();
        let noise = figures.noise.cv * figures.noise.cv;
        let heavy_cv = root(noise - sampling_cv * sampling_cv);
        let rest = root(figures.cv * figures.cv - noise - structure_cv * structure_cv);
        let rest_cv = if p_exact < ALPHA { rest } else { 0.0 };
        let beyond_chance =
            root(heavy_cv * heavy_cv + structure_cv * structure_cv + rest_cv * rest_cv);
        let cause = if carriers == 0 {
            Cause::Nothing
        } else if beyond_chance > SLIGHT && p_equal < ALPHA {
            largest([
                (heavy_cv, Cause::HeavyKeys),
                (structure_cv, Cause::Structure),
                (rest_cv, Cause::Placement),
            ])
        } else if sampling_cv >= NOISY && figures.cv > SLIGHT {
            Cause::FewKeys
        } else {
            Cause::Even
        };
        Self {
            cause,
            sampling_cv,
            heavy_cv,
            structure_cv,
            rest_cv,
        }
    }
}

fn largest(parts: [(f64, Cause); 3]) -> Cause {
    let (_, cause) = parts
        .into_iter()
        .fold((0.0, Cause::Placement), |best, part| {
            if part.0 > best.0 { part } else { best }
        });
    cause
}
