//! Thresholds, and the checks of figures against them.

use hashroute_harness::{Balance, Figures, Measure};
use serde::Serialize;

use super::args::{CheckArgs, LimitArgs, Top};
use crate::failure::Failure;

/// A limit for a figure.
#[derive(Clone, Copy, Debug)]
pub(super) enum Limit {
    MaxCv(f64),
    MaxOverMean(f64),
    MaxEmpty(u64),
    MaxTop(Top),
    Significance(f64),
}

/// A figure checked against a limit.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Check {
    /// The number of nodes.
    pub(super) nodes: usize,
    pub(super) measure: Measure,
    /// The name of the figure in the JSON of `balance`, or a name such as `top_3` or `moved_share`.
    pub(super) figure: String,
    pub(super) value: f64,
    pub(super) limit: f64,
    /// The value that chance alone gives on average.
    pub(super) by_chance: Option<f64>,
    pub(super) passed: bool,
    /// Whether the value must be at least the limit; otherwise it must be at most the limit.
    #[serde(skip)]
    pub(super) at_least: bool,
}

impl Check {
    /// Returns the relation that must hold between value and limit.
    pub(super) fn relation(&self) -> &'static str {
        if self.at_least { ">=" } else { "<=" }
    }
}

/// Returns the limits that the options set, without the one for moved keys.
pub(super) fn limits(args: &LimitArgs) -> Vec<Limit> {
    let single = [
        args.max_cv.map(Limit::MaxCv),
        args.max_over_mean.map(Limit::MaxOverMean),
        args.max_empty.map(Limit::MaxEmpty),
        args.significance.map(Limit::Significance),
    ];
    let tops = args.max_top.iter().copied().map(Limit::MaxTop);
    single.into_iter().flatten().chain(tops).collect()
}

/// Refuses options that check nothing.
pub(super) fn refuse_none(args: &CheckArgs, limits: &[Limit]) -> Result<(), Failure> {
    if !limits.is_empty() || args.limits.max_moved.is_some() || args.save_baseline.is_some() {
        return Ok(());
    }
    Err(Failure::input(
        "no threshold: expected --max-cv, --max-over-mean, --max-empty, --max-top, --significance, or --max-moved with --baseline (or --save-baseline to start one)",
    ))
}

/// Checks every limit on every measure that the options ask for.
pub(super) fn hold(
    balance: &Balance,
    measures: &[Measure],
    limits: &[Limit],
) -> Result<Vec<Check>, Failure> {
    let mut checks = Vec::new();
    for (measure, figures) in measured(balance, measures)? {
        checks.extend(
            limits
                .iter()
                .map(|limit| limit.check(balance, measure, figures)),
        );
    }
    Ok(checks)
}

/// Returns the figures of the measures asked for, or of all measures of the keys.
pub(super) fn measured<'b>(
    balance: &'b Balance,
    measures: &[Measure],
) -> Result<Vec<(Measure, &'b Figures)>, Failure> {
    let all = [
        (Measure::Keys, Some(&balance.figures)),
        (Measure::Bytes, balance.bytes.as_ref()),
        (Measure::Requests, balance.requests.as_ref()),
    ];
    let wanted = |measure: &Measure| measures.is_empty() || measures.contains(measure);
    let mut known = Vec::new();
    for (measure, figures) in all.into_iter().filter(|(measure, _)| wanted(measure)) {
        match figures {
            Some(figures) => known.push((measure, figures)),
            None if measures.is_empty() => {}
            None => {
                return Err(Failure::Input(format!(
                    "--measure {measure}: unknown for these keys: expected --csv with a column size or requests, or --memkeys or --metadump for bytes"
                )));
            }
        }
    }
    Ok(known)
}

impl Limit {
    fn check(self, balance: &Balance, measure: Measure, figures: &Figures) -> Check {
        let noise = &figures.noise;
        let (figure, value, limit, by_chance) = match self {
            Self::MaxCv(limit) => ("cv".into(), figures.cv, limit, Some(noise.cv)),
            Self::MaxOverMean(limit) => (
                "max_over_mean".into(),
                figures.max_over_mean,
                limit,
                Some(noise.max_over_mean),
            ),
            Self::MaxEmpty(limit) => ("empty".into(), figures.empty as f64, limit as f64, None),
            Self::MaxTop(Top { share, n }) => {
                (format!("top_{n}"), top(balance, measure, n), share, None)
            }
            Self::Significance(limit) => ("p_value".into(), figures.p_value, limit, None),
        };
        let at_least = matches!(self, Self::Significance(_));
        let passed = if at_least {
            value >= limit
        } else {
            value <= limit
        };
        Check {
            nodes: balance.nodes.len(),
            measure,
            figure,
            value,
            limit,
            by_chance,
            passed,
            at_least,
        }
    }
}

/// Returns the share that the `n` fullest nodes hold together.
fn top(balance: &Balance, measure: Measure, n: usize) -> f64 {
    let weighted = balance.nodes.iter().filter(|node| node.weight > 0);
    let mut loads: Vec<u64> = weighted
        .map(|node| match measure {
            Measure::Bytes => node.bytes.unwrap_or(0),
            Measure::Requests => node.requests.unwrap_or(0),
            _ => node.keys,
        })
        .collect();
    loads.sort_unstable_by(|a, b| b.cmp(a));
    let sum = |loads: &[u64]| loads.iter().map(|&load| load as f64).sum::<f64>();
    let all = sum(&loads);
    if all > 0.0 {
        sum(&loads[..n.min(loads.len())]) / all
    } else {
        0.0
    }
}
