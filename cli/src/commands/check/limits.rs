//! Thresholds, and the checks of figures against them.

use hashroute_harness::text::printable;
use hashroute_harness::{Balance, Figures, Measure};
use serde::Serialize;

use super::args::{CheckArgs, LimitArgs, Top};
use super::next;
use crate::failure::Failure;
use crate::units;

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
    /// The same, under the name that other answers have for it.
    pub(super) node_count: usize,
    pub(super) measure: Measure,
    /// The name of the figure in the JSON of `balance`, or a name such as `top_3` or `moved_share`.
    pub(super) figure: String,
    pub(super) value: f64,
    pub(super) limit: f64,
    /// `noise`, or `ideal` if the figure has one: the name that these had together.
    pub(super) by_chance: Option<f64>,
    /// The value that chance alone gives on average.
    pub(super) noise: Option<f64>,
    /// The least value that the change of the nodes makes possible.
    pub(super) ideal: Option<f64>,
    pub(super) passed: bool,
    /// The node that the figure is about.
    pub(super) node: Option<String>,
    /// The command that shows why, if the check failed.
    pub(super) command: Option<String>,
    /// Whether the value must be at least the limit; otherwise it must be at most the limit.
    #[serde(skip)]
    pub(super) at_least: bool,
}

impl Check {
    /// Returns the relation that must hold between value and limit.
    pub(super) fn relation(&self) -> &'static str {
        if self.at_least { ">=" } else { "<=" }
    }

    /// Says in one line what was found, what was expected, and what to run next.
    pub(super) fn message(&self) -> String {
        let (value, limit) = shown(self);
        let mut message = format!(
            "{} of {} on {} nodes is {value}, expected {} {limit}",
            self.figure,
            self.measure,
            self.nodes,
            self.relation(),
        );
        let more = [
            self.noise
                .map(|noise| format!("; chance alone gives {noise:.4}")),
            self.ideal
                .map(|ideal| format!("; the change had to move {}", units::percent(ideal))),
            self.node.as_ref().map(|node| format!("; node: {node}")),
            self.command
                .as_ref()
                .map(|command| format!("; next: {command}")),
        ];
        message.extend(more.into_iter().flatten());
        printable(&message)
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
            node_count: balance.nodes.len(),
            measure,
            node: next::node(balance, measure, &figure),
            figure,
            value,
            limit,
            by_chance,
            noise: by_chance,
            ideal: None,
            passed,
            command: None,
            at_least,
        }
    }
}

/// Returns the share that the `n` fullest nodes hold together.
fn top(balance: &Balance, measure: Measure, n: usize) -> f64 {
    let weighted = balance.nodes.iter().filter(|node| node.weight > 0);
    let mut loads: Vec<u64> = weighted.map(|node| next::load(node, measure)).collect();
    loads.sort_unstable_by(|a, b| b.cmp(a));
    let sum = |loads: &[u64]| loads.iter().map(|&load| load as f64).sum::<f64>();
    let all = sum(&loads);
    if all > 0.0 {
        sum(&loads[..n.min(loads.len())]) / all
    } else {
        0.0
    }
}

/// Formats value and limit for people. The value is rounded unless it would then look equal to the
/// limit.
pub(super) fn shown(check: &Check) -> (String, String) {
    let Check { value, limit, .. } = *check;
    let (short, told) = (number(value), limit.to_string());
    let looks_equal = short.parse() == Ok(limit) && value.to_bits() != limit.to_bits();
    let value = if looks_equal {
        value.to_string()
    } else {
        short
    };
    (value, told)
}

/// Formats a figure with four decimals, or fewer if it is large.
pub(super) fn number(value: f64) -> String {
    if value.fract() == 0.0 {
        format!("{value:.0}")
    } else if value.abs() >= 100.0 {
        format!("{value:.1}")
    } else if value.abs() < 0.001 {
        format!("{value:.2e}")
    } else {
        format!("{value:.4}")
    }
}
