//! The largest keys of a measure, and the amounts of all.

use serde::{Deserialize, Serialize};

use super::amounts::{Sample, ratio};
use crate::text::key_text;

/// A key and its share of a measure.
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
    /// The key as text. Bytes that are not UTF-8 are escaped, such as `\xff`.
    pub key: String,
    /// Its share of all that the nodes hold.
    pub share: f64,
}

impl KeyShare {
    pub(crate) fn new(key: &[u8], amount: u64, total: f64) -> Self {
        Self {
            key: key_text(key).into_owned(),
            share: ratio(amount as f64, total),
        }
    }
}

/// The amounts that the distinct keys carry of one measure, and the largest keys, up to [`NAMED`].
/// No keys are named if all carry the same.
#[derive(Debug)]
pub(crate) struct Carried {
    pub(crate) sample: Sample,
    pub(crate) largest: Vec<KeyShare>,
}

/// The number of largest keys that are named.
pub(crate) const NAMED: usize = 5;

impl Carried {
    /// Takes the amount of every distinct key.
    pub(crate) fn all<'k, K>(mut sums: Vec<(u64, K)>, key: impl Fn(&K) -> &'k [u8]) -> Self {
        let sample = Sample::new(sums.iter().map(|(amount, _)| *amount).collect());
        let order =
            |a: &(u64, K), b: &(u64, K)| (b.0.cmp(&a.0)).then_with(|| key(&a.1).cmp(key(&b.1)));
        let named = if sample.heavy.is_empty() {
            0
        } else {
            NAMED.min(sums.len())
        };
        if named < sums.len() {
            sums.select_nth_unstable_by(named, order);
        }
        sums.truncate(named);
        sums.sort_unstable_by(order);
        sums.retain(|(amount, _)| *amount > 0);
        let share = |(amount, one): &(u64, K)| KeyShare::new(key(one), *amount, sample.total);
        let largest = sums.iter().map(share).collect();
        Self { sample, largest }
    }
}
