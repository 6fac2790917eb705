//! Keys, bytes and requests: how uneven each is, and which keys carry it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::carriers::Carriers;
use super::chance::{self, beyond};
use super::evidence::Evidence;
use super::finding::KeyStage;
use super::placed::Cluster;
use super::templates::{self, TemplateShare};
use crate::summary::{KeyShare, Measure, Sample, ratio};

/// How uneven one measure is, with what chance alone gives.
///
/// ```
/// use hashroute_harness::{Keys, Measure, skew::Diagnosis};
/// use hashroute::registry::{Params, Setup};
/// use hashroute::strategy;
///
/// let mut sizes = vec![1; 10_000];
/// sizes[7] = 20_000;
/// let keys = Keys::template("user:{i}", 0..10_000)?.with_sizes(sizes)?;
/// let setup = Setup::new(strategy::find("rendezvous")?, ["a", "b", "c"], Params::default());
/// let measures = Diagnosis::new(&setup).analyse(&keys)?.measures;
/// assert!(!measures[0].uneven && measures[1].uneven);
/// assert_eq!((measures[1].measure, measures[1].top_keys[0].key.as_str()), (Measure::Bytes, "user:7"));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MeasureSkew {
    /// The measure.
    pub measure: Measure,
    /// The sum over the nodes.
    pub total: u64,
    /// The coefficient of variation of the loads, each relative to the node's weight.
    pub cv: f64,
    /// What chance alone gives, with what each key carries.
    pub noise_cv: f64,
    /// What chance gives the same number of keys if all carry the same.
    pub equal_noise_cv: f64,
    /// What chance exceeds one time in a hundred, with what each key carries.
    pub noise_cv_p99: f64,
    /// What chance exceeds one time in a hundred if all keys carry the same.
    pub equal_noise_cv_p99: f64,
    /// Whether few keys carry much. Then the tests use the noise of equal keys.
    pub few_keys: bool,
    /// The load of the fullest node over its fair share.
    pub max_over_mean: f64,
    /// The name of that node.
    pub fullest: String,
    /// The probability that chance alone gives as much: with what each key carries or, if
    /// `few_keys`, as if all carried the same.
    pub p_value: f64,
    /// Whether it is more than chance and more than a hundredth.
    pub uneven: bool,
    /// The stages that cause at least half of it, or the one that causes most; empty if it is even.
    pub because: Vec<KeyStage>,
    /// What few heavy keys add to the noise of equal keys; 0 without `few_keys`.
    pub heavy_cv: f64,
    /// The number of largest keys that carry half.
    pub keys_for_half: u64,
    /// The largest keys, up to five; empty if all carry the same. Keys beyond the sample are listed
    /// from a thousandth on.
    pub top_keys: Vec<KeyShare>,
    /// The templates that carry most, up to five, among those with at least two keys.
    pub templates: Vec<TemplateShare>,
}

/// Measures what is known. What is uneven is decided later, when the number of tests is known.
pub(super) fn measures(cluster: &Cluster, evidence: &Evidence) -> Vec<MeasureSkew> {
    evidence
        .measures()
        .map(|measure| of(measure, cluster, evidence))
        .collect()
}

fn of(measure: Measure, cluster: &Cluster, evidence: &Evidence) -> MeasureSkew {
    let on_nodes = evidence
        .loads()
        .iter()
        .filter(|(node, _)| node.weight() > 0);
    let loads: Vec<_> = on_nodes.map(|(_, load)| load.of(measure) as f64).collect();
    let carriers = evidence.carriers(measure);
    let (sample, units) = (carriers.sample(), carriers.units(0));
    let noise = sample.noise(&cluster.weights);
    let equal = cluster.noise(units.keys);
    let equals = Sample::equal(units.total, units.keys);
    let total: f64 = loads.iter().sum();
    let of_fair = loads
        .iter()
        .zip(&cluster.fair)
        .map(|(load, fair)| ratio(*load, total * fair));
    let fullest = of_fair.enumerate().max_by(|(_, a), (_, b)| a.total_cmp(b));
    let heavy_cv = if units.few {
        beyond(noise.cv, equal)
    } else {
        0.0
    };
    MeasureSkew {
        measure,
        total: sum(evidence, measure),
        cv: chance::cv(&loads, &cluster.fair),
        noise_cv: noise.cv,
        equal_noise_cv: equal,
        noise_cv_p99: noise.cv_p99,
        equal_noise_cv_p99: equals.noise(&cluster.weights).cv_p99,
        few_keys: units.few,
        max_over_mean: fullest.map_or(0.0, |(_, of_fair)| of_fair),
        fullest: fullest.map_or_else(String::new, |(rank, _)| cluster.names[rank].clone()),
        p_value: units.p_value(&loads, &cluster.fair),
        uneven: false,
        because: Vec::new(),
        heavy_cv,
        keys_for_half: sample.half as u64,
        top_keys: carriers.top(total),
        templates: top_templates(&carriers),
    }
}

fn sum(evidence: &Evidence, measure: Measure) -> u64 {
    let on_nodes = evidence.loads().iter();
    on_nodes.fold(0, |sum, (_, load)| sum.saturating_add(load.of(measure)))
}

fn top_templates(carriers: &Carriers) -> Vec<TemplateShare> {
    let mut sums: BTreeMap<String, (u64, f64)> = BTreeMap::new();
    let mut total = 0.0;
    for one in carriers.iter() {
        let amount = one.amount as f64 * one.stands_for;
        let (keys, sum) = sums.entry(templates::of(one.key)).or_default();
        (*keys, *sum, total) = (*keys + 1, *sum + amount, total + amount);
    }
    let mut sums: Vec<_> = sums
        .into_iter()
        .filter(|(_, (keys, _))| *keys > 1)
        .collect();
    sums.sort_by(|a, b| b.1.1.total_cmp(&a.1.1).then_with(|| a.0.cmp(&b.0)));
    let share = |(template, (keys, sum))| TemplateShare {
        template,
        keys,
        share: ratio(sum, total),
    };
    sums.into_iter().take(5).map(share).collect()
}

/// Returns the most uneven measure among those that are uneven.
pub(super) fn worst(measures: &[MeasureSkew]) -> Option<&MeasureSkew> {
    let uneven = measures.iter().filter(|measure| measure.uneven);
    uneven.max_by(|a, b| a.cv.total_cmp(&b.cv))
}
