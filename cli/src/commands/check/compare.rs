//! The comparison with a baseline: all figures, and the keys that moved.

use hashroute::Node;
use hashroute_harness::{Assignment, Balance, Figures, Keys, Measure, Remap, remap};
use serde::Serialize;

use super::args::CheckArgs;
use super::baseline::{Baseline, Measured, SetUp};
use super::limits::{Check, measured};
use super::next;
use crate::app::changes::between;
use crate::failure::Failure;

/// The most flows that are kept for each number of nodes.
const FLOWS: usize = 20;

/// Everything that differs from the baseline.
#[derive(Debug, Serialize)]
pub(super) struct Comparison {
    /// The options that differ, in words.
    pub(super) changes: Vec<String>,
    /// The differences for each number of nodes that both have.
    pub(super) results: Vec<Difference>,
    /// The numbers of nodes without a result in the baseline.
    pub(super) missing: Vec<usize>,
    #[serde(skip)]
    now: SetUp,
}

/// What differs for one set of nodes.
#[derive(Debug, Serialize)]
pub(super) struct Difference {
    pub(super) nodes: usize,
    /// The same, under the name that other answers have for it.
    pub(super) node_count: usize,
    /// How the nodes changed, in words.
    pub(super) changes: Vec<String>,
    pub(super) figures: Vec<FigureChange>,
    /// The keys that moved; `None` if that is unknown.
    pub(super) moved: Option<Remap>,
    pub(super) moved_unknown: Option<String>,
}

/// A figure in the baseline and in this run.
#[derive(Debug, Serialize)]
pub(super) struct FigureChange {
    pub(super) measure: Measure,
    pub(super) figure: String,
    pub(super) before: f64,
    pub(super) after: f64,
    pub(super) difference: f64,
}

/// The measurement of this run for one set of nodes.
pub(super) struct Now<'a> {
    pub(super) args: &'a CheckArgs,
    pub(super) nodes: &'a [Node],
    pub(super) keys: &'a Keys,
    pub(super) assignment: &'a Assignment,
    pub(super) balance: &'a Balance,
}

impl Comparison {
    /// Starts a comparison with the options that differ.
    pub(super) fn new(before: &Baseline, now: &SetUp) -> Self {
        Self {
            changes: before.set_up.changes(now),
            results: Vec::new(),
            missing: Vec::new(),
            now: now.clone(),
        }
    }

    /// Compares one set of nodes. Returns the check of the keys that moved, if `--max-moved` is
    /// given.
    pub(super) fn add(&mut self, before: &Baseline, now: &Now) -> Result<Option<Check>, Failure> {
        let only = now
            .args
            .node_counts
            .as_ref()
            .is_none_or(|counts| counts.numbers.len() == 1);
        let nodes = now.nodes.len();
        let Some(old) = before.beside(nodes, only) else {
            self.missing.push(nodes);
            return match now.args.limits.max_moved {
                None => Ok(None),
                Some(_) => Err(unknown(&format!(
                    "the baseline has no result for {nodes} nodes"
                ))),
            };
        };
        let moved = self.moved(&before.set_up, old, now);
        let check = match (now.args.limits.max_moved, &moved) {
            (None, _) => None,
            (Some(limit), Ok(remap)) => Some(self.check(limit, old, now, remap)),
            (Some(_), Err(reason)) => return Err(unknown(reason)),
        };
        self.results.push(Difference {
            nodes,
            node_count: nodes,
            changes: between(&old.nodes, now.nodes)
                .iter()
                .map(ToString::to_string)
                .collect(),
            figures: differences(&old.balance, now.balance, &now.args.measures())?,
            moved_unknown: moved.as_ref().err().cloned(),
            moved: moved.ok(),
        });
        Ok(check)
    }

    /// Returns the keys that moved since the baseline, or why that is unknown.
    fn moved(&self, set_up: &SetUp, old: &Measured, now: &Now) -> Result<Remap, String> {
        let choice = set_up.choice(now.args.strategy.tuning.hash_key.as_ref())?;
        let router = choice.build(&old.nodes);
        let router = router.map_err(|error| error.to_string())?;
        let keys = set_up.keys_before(&self.now, now.keys)?;
        let before = Assignment::of(&*router, keys.as_ref().unwrap_or(now.keys));
        let mut remap = remap(&before, now.assignment, now.keys);
        remap.flows_omitted = remap.flows.len().saturating_sub(FLOWS) as u64;
        remap.flows.truncate(FLOWS);
        Ok(remap)
    }
}

impl Comparison {
    /// Checks the share of the keys that moved.
    fn check(&self, limit: f64, old: &Measured, now: &Now, remap: &Remap) -> Check {
        let passed = remap.moved_share <= limit;
        let only_nodes = !passed && self.changes.is_empty();
        Check {
            nodes: now.nodes.len(),
            node_count: now.nodes.len(),
            measure: Measure::Keys,
            figure: "moved_share".into(),
            value: remap.moved_share,
            limit,
            by_chance: Some(remap.ideal_share),
            noise: None,
            ideal: Some(remap.ideal_share),
            passed,
            node: next::receiver(remap),
            command: only_nodes
                .then(|| next::moved(now.args, &old.nodes, now.nodes))
                .flatten(),
            at_least: false,
        }
    }
}

fn unknown(reason: &str) -> Failure {
    Failure::Input(format!(
        "--max-moved: the number of moved keys is unknown: {reason}"
    ))
}

/// Compares every figure of the measures asked for that both results have.
fn differences(
    before: &Balance,
    now: &Balance,
    measures: &[Measure],
) -> Result<Vec<FigureChange>, Failure> {
    let mut all = Vec::new();
    for (measure, after) in measured(now, measures)? {
        let before = measured(before, &[])?;
        let Some((_, before)) = before.into_iter().find(|(known, _)| *known == measure) else {
            continue;
        };
        let (before, after) = (numbers(before), numbers(after));
        for (figure, after) in after {
            let old = before.iter().find(|(name, _)| *name == figure);
            all.extend(old.map(|&(_, before)| FigureChange {
                measure,
                figure,
                before,
                after,
                difference: after - before,
            }));
        }
    }
    Ok(all)
}

/// A figure with its name in the JSON of `balance`; `None` if this balance has no such figure.
type Figure = (&'static str, fn(&Figures) -> Option<f64>);

/// The figures to compare, in the order of their names. What chance gives is not compared.
const FIGURES: [Figure; 16] = [
    ("chi2", |of| Some(of.chi2)),
    ("cv", |of| Some(of.cv)),
    ("df", |of| Some(of.df as f64)),
    ("effective_keys", |of| Some(of.effective_keys)),
    ("empty", |of| Some(of.empty as f64)),
    ("keys_for_half", |of| Some(of.keys_for_half as f64)),
    ("max", |of| Some(of.max)),
    ("max_over_mean", |of| Some(of.max_over_mean)),
    ("max_over_median", |of| of.max_over_median),
    ("mean", |of| Some(of.mean)),
    ("min", |of| Some(of.min)),
    ("p95_over_mean", |of| Some(of.p95_over_mean)),
    ("p_value", |of| Some(of.p_value)),
    ("stddev", |of| Some(of.stddev)),
    ("total", |of| Some(of.total as f64)),
    ("used", |of| Some(of.used as f64)),
];

/// The figures that people see first.
pub(super) const MAIN: [&str; 6] = ["cv", "max_over_mean", "max", "min", "empty", "p_value"];

/// Lists the figures by name; the shares of the largest nodes are `top_1`, `top_2` and so on.
fn numbers(figures: &Figures) -> Vec<(String, f64)> {
    let read = |(name, value): &Figure| Some(((*name).to_owned(), value(figures)?));
    let tops = figures.top.iter();
    let tops = tops.map(|top| (format!("top_{}", top.n), top.share));
    let numbers = FIGURES.iter().filter_map(read).chain(tops);
    // JSON has no other numbers.
    numbers.filter(|(_, value)| value.is_finite()).collect()
}
