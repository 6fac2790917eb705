//! The verdict of a comparison, in words.

use hashroute_harness::{
    Cause, Comparison, Evenness, Figures, Measure, Remap, Row, text::printable,
};
use maud::{Markup, html};

use super::table::figure;
use crate::app::figures::{cv, excess_share, ideal_share, max_over_mean, noise_cv};
use crate::output::Field;

/// Writes the verdict, the most important first: strategies that are even, without excess moves,
/// strategies that are not and why, then those that these keys cannot judge.
pub(super) fn verdict(comparison: &Comparison) -> Markup {
    let rows = || comparison.rows.iter().enumerate();
    let uneven = most_uneven(comparison, &[Cause::Structure, Cause::Placement]);
    let few = most_uneven(comparison, &[Cause::FewKeys]);
    let heavy = most_uneven(comparison, &[Cause::HeavyKeys]);
    let vain: Vec<_> = rows().filter(|(_, row)| in_vain(row)).collect();
    let groups = [
        ("Uneven, the most uneven first:", uneven),
        (
            "Too few keys to judge the balance; chance alone gives as much:",
            few,
        ),
        ("Few keys carry much, which no strategy can split:", heavy),
    ];
    html! {
        div.verdict {
            p { (lead(&comparison.rows)) }
            @for (what, found) in groups { @if !found.is_empty() { p { (what) } ul {
                @for one in found { li { (unevenness(&one)) } }
            } } }
            @if !vain.is_empty() { p { "With excess moves:" } ul {
                @for (at, row) in vain { li { (moves(at, row)) } }
            } }
            @for (_, row) in rows() { @if let Some(why) = &row.refused {
                p { (row.strategy) " refused: " (printable(why)) }
            } }
        }
    }
}

fn lead(rows: &[Row]) -> String {
    let names = |of: fn(&Row) -> bool| {
        let rows = rows.iter().filter(|row| of(row));
        rows.map(|row| row.strategy.as_str()).collect::<Vec<_>>()
    };
    let (even, unknown) = (names(is_even), names(is_unknown));
    match (even.as_slice(), unknown.as_slice()) {
        ([only], _) => format!("{only} is even up to chance, without excess moves."),
        ([_, ..], _) => format!(
            "{} are even up to chance, without excess moves.",
            list(&even)
        ),
        ([], [only]) => {
            format!("{only} shows no fault, but these keys do not show how even it is.")
        }
        ([], [_, ..]) => format!(
            "{} show no fault, but these keys do not show how even they are.",
            list(&unknown)
        ),
        _ if rows.len() == 1 => "It is uneven, has excess moves or refuses a change.".into(),
        _ => format!(
            "Each of the {} is uneven, has excess moves or refuses a change.",
            rows.len()
        ),
    }
}

/// Joins two or more names: `ring, jump and modulo`.
fn list(names: &[&str]) -> String {
    match names {
        [start @ .., last] => format!("{} and {last}", start.join(", ")),
        [] => String::new(),
    }
}

fn is_even(row: &Row) -> bool {
    is_free_of(row, |cause| cause == Cause::Even)
}

/// Returns whether the strategy has no known fault, but is not known to be even.
fn is_unknown(row: &Row) -> bool {
    let no_fault = [
        Cause::Even,
        Cause::FewKeys,
        Cause::HeavyKeys,
        Cause::Nothing,
    ];
    !is_even(row) && is_free_of(row, |cause| no_fault.contains(&cause))
}

fn is_free_of(row: &Row, fine: impl Fn(Cause) -> bool) -> bool {
    let placed = row.balance.is_some() && row.refused.is_none() && !in_vain(row);
    placed && measures(row).all(|(_, evenness, _)| fine(evenness.cause))
}

/// Returns the verdict and the figures of each measure.
fn measures(row: &Row) -> impl Iterator<Item = (Measure, &Evenness, &Figures)> {
    row.balance.iter().flat_map(|balance| {
        let verdict = &balance.verdict;
        let (bytes, requests) = (verdict.bytes.as_ref(), verdict.requests.as_ref());
        let others = [
            (Measure::Bytes, bytes.zip(balance.bytes.as_ref())),
            (Measure::Requests, requests.zip(balance.requests.as_ref())),
        ];
        let others = others.into_iter().filter_map(|(measure, known)| {
            known.map(|(evenness, figures)| (measure, evenness, figures))
        });
        core::iter::once((Measure::Keys, &verdict.keys, &balance.figures)).chain(others)
    })
}

/// The most uneven measure of a row, for one of these causes.
struct Uneven<'a> {
    at: usize,
    row: &'a Row,
    measure: Measure,
    figures: &'a Figures,
}

/// Returns the rows with a measure that is uneven for one of these causes, the most uneven first.
fn most_uneven<'a>(comparison: &'a Comparison, causes: &[Cause]) -> Vec<Uneven<'a>> {
    let worst = |(at, row): (usize, &'a Row)| {
        let of = measures(row).filter(|(_, evenness, _)| causes.contains(&evenness.cause));
        let (measure, _, figures) = of.max_by(|a, b| a.2.cv.total_cmp(&b.2.cv))?;
        Some(Uneven {
            at,
            row,
            measure,
            figures,
        })
    };
    let mut all: Vec<_> = comparison
        .rows
        .iter()
        .enumerate()
        .filter_map(worst)
        .collect();
    all.sort_by(|a, b| b.figures.cv.total_cmp(&a.figures.cv));
    all
}

fn in_vain(row: &Row) -> bool {
    changes(row).any(|(_, remap)| remap.excess > 0)
}

fn changes(row: &Row) -> impl Iterator<Item = (&'static str, &Remap)> {
    let both = [("add", &row.add), ("remove", &row.remove)];
    both.into_iter()
        .filter_map(|(which, remap)| Some((which, remap.as_ref()?)))
}

fn unevenness(one: &Uneven) -> Markup {
    let (at, measure, row) = (one.at, one.measure, one.row);
    let balance = format!("/comparison/rows/{at}/balance");
    let at = match measure {
        Measure::Keys => balance,
        _ => format!("{balance}/{measure}"),
    };
    let of = |field: Field<'_, Figures>| figure(&at, one.figures, &field);
    html! {
        (row.strategy) ", by " (measure) ": cv " (of(cv())) " where chance gives " (of(noise_cv()))
        "; the fullest node has " (of(max_over_mean())) " times its fair share"
    }
}

fn moves(at: usize, row: &Row) -> Markup {
    let share = |which: &str, remap: &Remap, field: Field<'_, Remap>| {
        figure(&format!("/comparison/rows/{at}/{which}"), remap, &field)
    };
    html! {
        (row.strategy) ": "
        @for (index, (which, remap)) in changes(row).filter(|(_, remap)| remap.excess > 0).enumerate() {
            @if index > 0 { "; " }
            (share(which, remap, excess_share())) " of all keys when a node " (verb(which))
            ", where " (share(which, remap, ideal_share())) " had to move"
        }
    }
}

fn verb(which: &str) -> &'static str {
    if which == "add" { "joins" } else { "leaves" }
}
