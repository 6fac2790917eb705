//! The table that a person reads.

use comfy_table::{CellAlignment, Table, presets};

use crate::row::{GoalOf, Row, Unit};

const HEADER: [&str; 10] = [
    "algorithm",
    "n",
    "metric",
    "ours",
    "peer",
    "peer's",
    "ratio",
    "goal",
    "met",
    "note",
];

pub(crate) fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table
        .load_preset(presets::ASCII_MARKDOWN)
        .set_header(HEADER);
    table.add_rows(rows.iter().map(cells));
    for column in [1, 3, 5, 6, 7] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

fn cells(row: &Row) -> [String; 10] {
    let dash = || String::from("-");
    [
        row.algorithm.into(),
        row.n.to_string(),
        row.metric.into(),
        value(row.unit, row.ours),
        row.peer_name.into(),
        row.peer.map_or_else(dash, |peer| value(row.unit, peer)),
        row.ratio.map_or_else(dash, |ratio| format!("{ratio:.3}")),
        goal(row),
        row.met
            .map_or("", |met| if met { "yes" } else { "NO" })
            .into(),
        row.note.unwrap_or_default().into(),
    ]
}

fn goal(row: &Row) -> String {
    match (row.goal, row.goal_of) {
        (Some(goal), Some(GoalOf::Ratio)) => format!("{goal:.2}"),
        (Some(goal), Some(GoalOf::Ours)) => value(row.unit, goal),
        _ => String::new(),
    }
}

fn value(unit: Unit, value: f64) -> String {
    match unit {
        Unit::NanosecondsAKey => format!("{value:.1} ns"),
        Unit::Nanoseconds => scaled(value, ["ns", "us", "ms"]),
        Unit::Bytes => scaled(value, ["B", "KB", "MB"]),
        Unit::BytesAPoint => format!("{value:.1} B/pt"),
    }
}

fn scaled(value: f64, units: [&str; 3]) -> String {
    let [small, middle, large] = units;
    if value < 1e3 {
        format!("{value:.0} {small}")
    } else if value < 1e6 {
        format!("{:.1} {middle}", value / 1e3)
    } else {
        format!("{:.1} {large}", value / 1e6)
    }
}

/// How many goals there are and how many are met.
pub(crate) fn summary(rows: &[Row]) -> String {
    let judged = rows.iter().filter(|row| row.goal.is_some()).count();
    let met = rows.iter().filter(|row| row.met == Some(true)).count();
    format!("{met} of {judged} goals met")
}
