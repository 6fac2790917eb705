//! The report of `check`.

use hashroute_harness::DumpSource;
use serde::Serialize;

use super::compare::{Comparison, Difference, FigureChange};
use super::findings::Findings;
use super::limits::Check;
use crate::failure::Failure;
use crate::output::{Cell, Fields, Report, Table, Tone};
use crate::units;

/// The most checks that people see; programs see all.
const SHOWN: usize = 50;

/// The answer for programs.
#[derive(Serialize)]
struct Answer<'a> {
    passed: bool,
    failed: usize,
    strategy: &'a str,
    hash: &'a str,
    /// The keys without a node, summed over all numbers of nodes.
    unplaced: u64,
    /// The number of lines that could not be read.
    #[serde(skip_serializing_if = "is_zero")]
    unreadable: u64,
    checks: &'a [Check],
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline: Option<&'a Comparison>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a DumpSource>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde asks for it")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Builds the report of all checks.
pub(super) fn report(findings: &Findings) -> Result<Report, Failure> {
    let first = findings.balances.first();
    let failed = findings.failed();
    let answer = Answer {
        passed: failed == 0,
        failed,
        strategy: first.map_or("", |balance| &balance.strategy),
        hash: first.map_or("", |balance| &balance.hash),
        unplaced: findings
            .balances
            .iter()
            .map(|balance| balance.unplaced)
            .sum(),
        unreadable: findings.read.unreadable,
        checks: &findings.checks,
        baseline: findings.comparison.as_ref(),
        source: findings.read.source.as_ref(),
    };
    let all = table(findings.checks.iter());
    let report = Report::new(&answer, all)?;
    let wanted = |check: &&Check| failed == 0 || !check.passed;
    let shown: Vec<_> = findings.checks.iter().filter(wanted).collect();
    let report = match shown.as_slice() {
        [] => report,
        shown => report.with_table(table(shown.iter().copied().take(SHOWN))),
    };
    let report = report.with_text(verdict(findings, shown.len(), answer.unplaced));
    Ok(match &findings.comparison {
        Some(comparison) => with_comparison(report, comparison),
        None => report,
    })
}

fn verdict(findings: &Findings, rows: usize, unplaced: u64) -> Vec<String> {
    let mut lines = Vec::new();
    if rows > SHOWN {
        lines.push(format!(
            "Shown: {SHOWN} of {rows} (--format csv or json has all)."
        ));
    }
    if unplaced > 0 {
        lines.push(format!(
            "{} without a node: not counted.",
            units::counted(unplaced, "key")
        ));
    }
    lines.extend(units::unreadable(findings.read.unreadable));
    let all = findings.checks.len();
    lines.push(match findings.failed() {
        _ if all == 0 => "No threshold was given.".into(),
        0 => format!("All hold: {}.", units::counted(all as u64, "check")),
        failed => format!("{failed} of {all} checks did not hold."),
    });
    lines
}

fn table<'a>(checks: impl Iterator<Item = &'a Check>) -> Table {
    let fields = Fields::<Check>::new()
        .number("nodes", "nodes", |check| Cell::count(check.nodes as u64))
        .text("measure", "measure", |check| {
            Cell::text(check.measure.to_string())
        })
        .text("figure", "figure", |check| {
            Cell::text(check.figure.as_str())
        })
        .number("value", "value", |check| {
            Cell::new(check.value, shown(check).0)
        })
        .number("limit", "limit", |check| {
            Cell::new(
                check.limit,
                format!("{} {}", check.relation(), shown(check).1),
            )
        })
        .number("by_chance", "by chance", |check| {
            Cell::number(check.by_chance, units::four)
        })
        .minor(1)
        .text("passed", "result", |check| {
            let (shown, tone) = if check.passed {
                ("ok", Tone::Good)
            } else {
                ("FAILED", Tone::Bad)
            };
            Cell::new(check.passed, shown).toned(tone)
        });
    Table::of(fields, checks)
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

fn number(value: f64) -> String {
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

fn with_comparison(report: Report, comparison: &Comparison) -> Report {
    let mut lines = vec!["Since the baseline:".to_owned()];
    lines.extend(comparison.changes.iter().cloned());
    if let [_] = lines.as_slice() {
        lines.push("strategy, parameters, hash and keys did not change".into());
    }
    lines.extend(comparison.results.iter().flat_map(moves));
    let missing = comparison.missing.iter();
    lines.extend(missing.map(|nodes| format!("{nodes} nodes: the baseline has no result")));
    let figures = comparison.results.iter().flat_map(|one| &one.figures);
    let (all, changed) = figures.fold((0, 0), |(all, changed), figure| {
        (all + 1, changed + usize::from(figure.is_real()))
    });
    let report = report.with_text(lines);
    if changed == 0 {
        return report.with_text(["No figure changed."]);
    }
    let shown = if changed > SHOWN {
        format!(" Shown: {SHOWN} of {changed} (--format json has all).")
    } else {
        String::new()
    };
    let said = format!("{} of {all} figures did not change.{shown}", all - changed);
    report.with_table(differences(comparison)).with_text([said])
}

fn moves(result: &Difference) -> Vec<String> {
    let name = units::counted(result.nodes as u64, "node");
    let mut lines = Vec::new();
    if !result.changes.is_empty() {
        lines.push(format!("{name}: {}", result.changes.join(", ")));
    }
    lines.extend(result.moved.as_ref().map(|moved| {
        format!(
            "{name}: {} of {} moved ({}; {} had to)",
            units::count(moved.moved),
            units::counted(moved.keys, "key"),
            units::percent(moved.moved_share),
            units::percent(moved.ideal_share)
        )
    }));
    let unknown = result.moved_unknown.as_ref();
    lines.extend(
        unknown.map(|reason| format!("{name}: the number of moved keys is unknown: {reason}")),
    );
    lines
}

impl FigureChange {
    fn is_real(&self) -> bool {
        self.before.to_bits() != self.after.to_bits()
    }
}

/// A figure that changed, with the number of nodes.
type Changed<'a> = (usize, &'a FigureChange);

/// Builds the table of figures that changed.
fn differences(comparison: &Comparison) -> Table {
    let fields = Fields::<Changed>::new()
        .number("nodes", "nodes", |row| Cell::count(row.0 as u64))
        .text("measure", "measure", |row| {
            Cell::text(row.1.measure.to_string())
        })
        .text("figure", "figure", |row| Cell::text(row.1.figure.as_str()))
        .number("before", "before", |row| {
            Cell::new(row.1.before, number(row.1.before))
        })
        .number("after", "after", |row| {
            Cell::new(row.1.after, number(row.1.after))
        })
        .number("difference", "difference", |row| {
            let difference = row.1.difference;
            let sign = if difference > 0.0 { "+" } else { "" };
            Cell::new(difference, format!("{sign}{}", number(difference)))
        });
    let rows = comparison.results.iter().flat_map(|result| {
        let changed = result.figures.iter().filter(|change| change.is_real());
        changed.map(|change| (result.nodes, change))
    });
    Table::of(fields, rows.take(SHOWN))
}
