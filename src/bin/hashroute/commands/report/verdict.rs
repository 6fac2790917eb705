//! What a comparison comes to, in words.

use hashroute::harness::{Comparison, Remap, Row, printable};
use maud::{Markup, html};
use serde_json::Value;

use super::table::{figure, four};
use crate::units;

/// The verdict, the most important first: who is even and moves no key in vain, who is not, why.
pub(super) fn verdict(json: &Value, comparison: &Comparison) -> Markup {
    let rows = || comparison.rows.iter().enumerate();
    let good = rows().filter(|(_, row)| fault_free(row));
    let good: Vec<_> = good.map(|(_, row)| row.strategy.as_str()).collect();
    let mut uneven: Vec<_> = rows().filter(|(_, row)| cv(row) > 0.0).collect();
    uneven.sort_by(|(_, a), (_, b)| cv(b).total_cmp(&cv(a)));
    let vain: Vec<_> = rows().filter(|(_, row)| in_vain(row)).collect();
    html! {
        div.verdict {
            p { (lead(&good, comparison.rows.len())) }
            @if !uneven.is_empty() { p { "Uneven, the most uneven first: " } ul {
                @for (at, row) in uneven { li { (unevenness(json, at, row)) } }
            } }
            @if !vain.is_empty() { p { "Moving keys in vain:" } ul {
                @for (at, row) in vain { li { (moves(json, at, row)) } }
            } }
            @for (_, row) in rows() { @if let Some(why) = &row.refused {
                p { (row.strategy) " refused: " (printable(why)) }
            } }
        }
    }
}

fn lead(good: &[&str], all: usize) -> String {
    match good {
        [] if all == 1 => "It is uneven, moves keys in vain or refuses a change.".into(),
        [] => format!("Each of the {all} is uneven, moves keys in vain or refuses a change."),
        [only] => format!("{only} is even but for chance, and moves no key in vain."),
        [start @ .., last] => format!(
            "{} and {last} are even but for chance, and move no key in vain.",
            start.join(", ")
        ),
    }
}

fn fault_free(row: &Row) -> bool {
    row.balance.is_some() && row.refused.is_none() && cv(row) == 0.0 && !in_vain(row)
}

/// How uneven the most uneven measure is; 0 where all are even but for chance.
fn cv(row: &Row) -> f64 {
    let Some(balance) = &row.balance else {
        return 0.0;
    };
    let uneven = balance.verdict.matter.is_some();
    let others = [&balance.bytes, &balance.requests].into_iter().flatten();
    let cvs = others.map(|figures| figures.cv);
    let most = cvs.fold(balance.figures.cv, f64::max);
    if uneven { most } else { 0.0 }
}

fn in_vain(row: &Row) -> bool {
    changes(row).any(|(_, remap)| remap.excess > 0)
}

fn changes(row: &Row) -> impl Iterator<Item = (&'static str, &Remap)> {
    let both = [("add", &row.add), ("remove", &row.remove)];
    both.into_iter()
        .filter_map(|(which, remap)| Some((which, remap.as_ref()?)))
}

fn unevenness(json: &Value, at: usize, row: &Row) -> Markup {
    let balance = format!("/comparison/rows/{at}/balance");
    let measure = row
        .balance
        .as_ref()
        .and_then(|balance| balance.verdict.matter);
    let measure = measure.map_or_else(String::new, |measure| measure.to_string());
    let of = match measure.as_str() {
        "keys" => balance.clone(),
        measure => format!("{balance}/{measure}"),
    };
    let of = |name: &str, show| figure(json, &format!("{of}/{name}"), show);
    html! {
        (row.strategy) ", by " (measure) ": cv " (of("cv", four)) " where chance gives " (of("noise_cv", four))
        "; the fullest node has " (of("max_over_mean", units::ratio)) " times its part"
    }
}

fn moves(json: &Value, at: usize, row: &Row) -> Markup {
    let share = |which: &str, name: &str| {
        let pointer = format!("/comparison/rows/{at}/{which}/{name}");
        figure(json, &pointer, units::percent)
    };
    html! {
        (row.strategy) ": "
        @for (index, (which, _)) in changes(row).filter(|(_, remap)| remap.excess > 0).enumerate() {
            @if index > 0 { "; " }
            (share(which, "excess_share")) " of all keys when a node " (verb(which))
            ", where " (share(which, "ideal_share")) " had to move"
        }
    }
}

fn verb(which: &str) -> &'static str {
    if which == "add" { "joins" } else { "leaves" }
}
