//! `slots plan`: the slots that move, in order.

use core::ops::Range;
use std::collections::BTreeMap;

use clap::Args;
use hashroute::redis::{Role, SlotPlan, SlotRange};
use serde_json::{Value, json};

use super::goal::{GOAL, GoalArgs};
use super::loads::{LoadArgs, Loads};
use super::measure;
use super::planned::{Planned, StepArgs, Steps};
use super::script::{self, CommandArgs};
use super::table::{self, Names, ranges_cell, ranges_json, runs};
use crate::args::{OutputArgs, TableArg};
use crate::failure::Failure;
use crate::output::{Cell, Column, Fields, Report, Table as Lines};
use crate::units;

/// The most rows of a table that people see.
const ROWS: usize = 50;
/// The most nodes or marks that are named in a note.
const STRAY: usize = 10;

/// Plan which slots move, in which order and with which commands
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, mut_args(measure::without_default))]
pub(crate) struct PlanCommand {
    #[command(flatten)]
    pub(crate) table: TableArg,
    #[command(flatten)]
    pub(crate) goal: GoalArgs,
    /// Plan only the moves that have begun; another plan can start when they are done
    #[arg(long, help_heading = GOAL, conflicts_with_all = ["add", "remove", "weight", "even", "loads", "source"])]
    pub(crate) finish: bool,
    #[command(flatten)]
    pub(crate) loads: LoadArgs,
    #[command(flatten)]
    pub(crate) steps: StepArgs,
    #[command(flatten)]
    pub(crate) commands: CommandArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

const EXAMPLES: &str = "\
Slots without an owner move first, then slots of nodes that leave, then surplus slots. Without
loads, no plan for the goal moves fewer slots. With loads, light slots move before heavy ones, and
the load that moves is the least for this balance, or at most three times the least where a heavy
slot has to move.

Examples:
  hashroute slots plan nodes.txt --add 10.0.0.4:6379
  hashroute slots plan nodes.txt --even --remove 07c37df --budget 100
  hashroute slots plan nodes.txt --even --loads keys.csv --by bytes
  hashroute slots plan nodes.txt --even --scan scan.txt
  hashroute slots plan nodes.txt --even --budget 100 --step 1 --commands sh > step.sh";

pub(crate) fn run(args: &PlanCommand) -> Result<(), Failure> {
    let table = table::read(&args.table.file)?;
    let planned = if args.finish {
        Planned::finish(table)?
    } else {
        Planned::new(
            table,
            &args.table.file,
            &args.goal,
            &args.loads,
            &args.steps,
        )?
    };
    let steps = planned.steps(&args.steps)?;
    match args.commands.commands {
        Some(way) => script::print(&planned, &steps, way, &args.commands, args.output.format),
        None => report(&planned, &steps)?.print(args.output.format),
    }
}

/// The slots that one node gives to another.
struct Flow<'p> {
    from: Option<&'p str>,
    to: &'p str,
    ranges: Vec<SlotRange>,
    slots: u64,
    load: u64,
}

fn flows(plan: &SlotPlan, moves: Range<usize>) -> Vec<Flow<'_>> {
    let mut pairs: BTreeMap<_, (Vec<u32>, u64)> = BTreeMap::new();
    for step in plan.moves().skip(moves.start).take(moves.len()) {
        let (slots, load) = pairs.entry((step.from, step.to)).or_default();
        slots.push(step.slot);
        *load += step.load;
    }
    let flows = pairs.into_iter().map(|((from, to), (mut slots, load))| {
        slots.sort_unstable();
        Flow {
            from,
            to,
            slots: slots.len() as u64,
            ranges: runs(slots),
            load,
        }
    });
    flows.collect()
}

fn report(planned: &Planned, steps: &Steps) -> Result<Report, Failure> {
    let names = Names::of(&planned.wanted.table);
    let nodes = Change::all(planned, steps)?;
    let flows = flows(&planned.plan, steps.range());
    let json = json(planned, steps, &nodes, &flows);
    let report = Report::new(&json, moves(planned, steps))?;
    let report = report
        .with_table(node_table(planned, &nodes, &names))
        .with_text(cut(nodes.len()));
    let report = if flows.is_empty() {
        report
    } else {
        report
            .with_table(flow_table(planned, &flows, &names))
            .with_text(cut(flows.len()))
    };
    Ok(report.with_text(notes(planned, steps, &nodes)))
}

fn cut(rows: usize) -> Option<String> {
    let more = rows.checked_sub(ROWS).filter(|more| *more > 0)?;
    Some(format!("and {more} more (--format json has all)"))
}

/// A primary before and after the plan.
struct Change<'p> {
    id: &'p str,
    address: String,
    weight: Option<u32>,
    before: (u32, u64),
    after: (u32, u64),
}

impl<'p> Change<'p> {
    fn all(planned: &'p Planned, steps: &Steps) -> Result<Vec<Self>, Failure> {
        let range = steps.range();
        let before = planned.held(&planned.after(range.start)?);
        let after = planned.held(&planned.after(range.end)?);
        let wanted = &planned.wanted;
        let rows = wanted
            .table
            .nodes()
            .iter()
            .zip(before.into_iter().zip(after));
        let rows = rows.filter(|(node, _)| node.role() == Role::Primary);
        let rows = rows.map(|(node, (before, after))| Self {
            id: node.id(),
            address: node.address().to_string(),
            weight: wanted
                .weights
                .get(node.id())
                .copied()
                .or((!planned.finish).then_some(0)),
            before,
            after,
        });
        let mut rows: Vec<_> = rows.collect();
        // The primary that gives most comes first, the one that receives most comes last.
        rows.sort_by_key(|row| (i64::from(row.after.0) - i64::from(row.before.0), row.id));
        Ok(rows)
    }
}

fn node_table(planned: &Planned, nodes: &[Change<'_>], names: &Names) -> Lines {
    let load = planned.loads.as_ref().map_or("", |loads| loads.what);
    let fields = Fields::<Change>::new()
        .text("id", "node", |row| names.cell(row.id))
        .text("address", "address", |row| Cell::text(row.address.as_str()))
        .number("weight", "weight", |row| {
            let weight = row.weight.map(u64::from);
            weight.map_or_else(Cell::missing, Cell::count)
        })
        .number("slots", "slots", |row| Cell::count(row.before.0.into()))
        .number("slots_after", "after", |row| {
            Cell::count(row.after.0.into())
        })
        .number("", "change", |row| {
            let change = i64::from(row.after.0) - i64::from(row.before.0);
            Cell::text(if change == 0 {
                "0".into()
            } else {
                format!("{change:+}")
            })
        })
        .number("load", load, |row| Cell::count(row.before.1))
        .number(
            "load_after",
            if load.is_empty() { "" } else { "after" },
            |row| Cell::count(row.after.1),
        );
    Lines::of(fields, nodes.iter().take(ROWS))
}

fn flow_table(planned: &Planned, flows: &[Flow<'_>], names: &Names) -> Lines {
    let load = planned.loads.as_ref().map_or("", |loads| loads.what);
    let fields = Fields::<Flow>::new()
        .text("from", "from", |flow| {
            let nobody = || Cell::new(Value::Null, "nobody");
            flow.from.map_or_else(nobody, |id| names.cell(id))
        })
        .text("to", "to", |flow| names.cell(flow.to))
        .number("slots", "slots", |flow| Cell::count(flow.slots))
        .number("load", load, |flow| Cell::count(flow.load))
        .prose("ranges", "which", |flow| ranges_cell(&flow.ranges));
    Lines::of(fields, flows.iter().take(ROWS))
}

fn notes(planned: &Planned, steps: &Steps, nodes: &[Change<'_>]) -> Vec<String> {
    let moved = planned.plan.len();
    let slots = planned.wanted.table.rule().slots();
    let share = units::percent(moved as f64 / f64::from(slots));
    let fewest = match (&planned.loads, planned.finish) {
        (None, false) if moved > 0 => ", the minimum for this goal",
        _ => "",
    };
    let all = units::counted(moved as u64, "slot") + if moved == 1 { " moves" } else { " move" };
    let done = planned.wanted.done().into_iter();
    let mut lines: Vec<_> = done.map(|line| line + ".").collect();
    lines.push(format!(
        "{all}, {share} of {}{fewest}.",
        units::count(slots.into())
    ));
    lines.extend(
        planned
            .loads
            .as_ref()
            .map(|loads| travel(&planned.plan, loads)),
    );
    if let Some(step) = steps.only {
        let count = units::counted(steps.range().len() as u64, "slot");
        lines.push(format!("Step {step} of {}: {count}.", steps.all));
    } else if steps.all > 1 {
        lines.push(format!(
            "In {} steps (--step 1 shows the next).",
            units::count(steps.all as u64)
        ));
    }
    if let (Some(loads), false) = (&planned.loads, nodes.is_empty()) {
        let heavier = (0..)
            .zip(&loads.of)
            .max_by_key(|(slot, load)| (**load, core::cmp::Reverse(*slot)));
        let heaviest: Option<(u32, _)> = heavier.filter(|(_, load)| **load > 0);
        let alone = heaviest.and_then(|(slot, load)| too_heavy(slot, *load, loads, nodes));
        lines.extend(heaviest.map(|(slot, load)| {
            format!(
                "The heaviest slot is {slot}, with {} {}.",
                units::count(*load),
                loads.what
            )
        }));
        lines.extend(alone);
    }
    lines.extend(strangers(planned));
    lines.extend(stray(planned));
    lines
}

/// Says that a slot alone is heavier than the part of any node: no plan can balance that.
fn too_heavy(slot: u32, load: u64, loads: &Loads, nodes: &[Change<'_>]) -> Option<String> {
    let weights = || nodes.iter().filter_map(|node| node.weight);
    let sum: u128 = weights().map(u128::from).sum();
    let most = u128::from(weights().max()?);
    let total: u128 = loads.of.iter().copied().map(u128::from).sum();
    let part = u64::try_from((total * most).checked_div(sum)?).unwrap_or(u64::MAX);
    let each = match weights().filter(|weight| *weight > 0).min() {
        Some(least) if u128::from(least) == most => "each node",
        _ => "the heaviest node",
    };
    (load > part).then(|| {
        format!(
            "No plan balances these loads: slot {slot} alone holds {}, more than the {} that {each} should have.",
            units::count(load),
            units::count(part),
        )
    })
}

/// Says how much of each measure moves with the slots.
fn travel(plan: &SlotPlan, loads: &Loads) -> String {
    let parts = loads.travel(plan).into_iter().map(|(what, moved, all)| {
        let share = units::percent(if all == 0 {
            0.0
        } else {
            moved as f64 / all as f64
        });
        let shown = |amount: u64| match what {
            "bytes" => units::size(amount as f64),
            _ => units::count(amount),
        };
        let what = if what == "bytes" { "" } else { what };
        format!("{} of {} {what}", shown(moved), shown(all))
            .trim_end()
            .to_owned()
            + &format!(" ({share})")
    });
    let parts: Vec<_> = parts.collect();
    format!("Their load: {}.", parts.join("; "))
}

fn strangers(planned: &Planned) -> Option<String> {
    let ids: Vec<_> = planned
        .wanted
        .strangers
        .iter()
        .map(|node| node.id.as_str())
        .collect();
    let shown = ids[..ids.len().min(STRAY)].join(", ");
    let more = if ids.len() > STRAY {
        format!(" and {} more", ids.len() - STRAY)
    } else {
        String::new()
    };
    (!ids.is_empty()).then(|| {
        format!(
            "Not in the table yet: {shown}{more}. They must first join the cluster with CLUSTER MEET."
        )
    })
}

/// Notes marks that do not match an owner; no slot moves because of them.
fn stray(planned: &Planned) -> Option<String> {
    let table = &planned.wanted.table;
    let names = Names::of(table);
    let marks = planned.plan.stray(table).map(|(slot, id, _)| {
        let node = table.node(id);
        let at = node.map_or_else(String::new, |node| names.endpoint(node));
        format!("slot {slot} at {at}")
    });
    let marks: Vec<_> = marks.collect();
    let shown = marks[..marks.len().min(STRAY)].join(", ");
    let more = match marks.len().saturating_sub(STRAY) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!marks.is_empty()).then(|| {
        format!("Marks without a matching owner, which --commands classic removes: {shown}{more}.")
    })
}

/// Builds the table for CSV: a row for each slot that moves.
fn moves(planned: &Planned, steps: &Steps) -> Lines {
    let columns = ["step", "slot", "from", "to", "load"];
    let mut lines = Lines::new(columns.map(|key| Column::text(key, key)));
    each(planned, steps, |step, found| {
        lines.push([
            Cell::new(step, ""),
            Cell::new(found.slot, ""),
            Cell::optional(found.from),
            Cell::text(found.to),
            Cell::new(found.load, ""),
        ]);
    });
    lines
}

fn each<'p>(
    planned: &'p Planned,
    steps: &Steps,
    mut take: impl FnMut(usize, hashroute::redis::Move<'p>),
) {
    let range = steps.range();
    let mut moves = planned.plan.moves().skip(range.start);
    for (step, range) in &steps.shown {
        for found in moves.by_ref().take(range.len()) {
            take(*step, found);
        }
    }
}

fn json(planned: &Planned, steps: &Steps, nodes: &[Change<'_>], flows: &[Flow<'_>]) -> Value {
    let slots = planned.wanted.table.rule().slots();
    let loaded = planned.loads.is_some();
    let load = |load: u64| loaded.then_some(load);
    let mut moves = Vec::new();
    each(planned, steps, |step, found| {
        moves.push(json!({
            "step": step, "slot": found.slot, "from": found.from, "to": found.to, "load": found.load,
        }));
    });
    json!({
        "slots": slots,
        "moved": planned.plan.len(),
        "moved_share": planned.plan.len() as f64 / f64::from(slots),
        "load": planned.loads.as_ref().map(|loads| loads.what),
        "moved_load": load(planned.plan.load()),
        "travel": planned.loads.as_ref().map(|loads| {
            let parts = loads.travel(&planned.plan).into_iter();
            parts.map(|(what, moved, all)| json!({ "measure": what, "moved": moved, "total": all }))
                .collect::<Value>()
        }),
        "may_leave": planned.wanted.drained.iter().map(|id| json!({
            "id": id,
            "primary": planned.wanted.table.node(id).and_then(|node| node.primary()),
        })).collect::<Value>(),
        "steps": steps.all,
        "step": steps.only,
        "nodes": nodes.iter().map(|row| json!({
            "id": row.id,
            "address": row.address,
            "weight": row.weight,
            "slots": row.before.0,
            "slots_after": row.after.0,
            "load": load(row.before.1),
            "load_after": load(row.after.1),
        })).collect::<Value>(),
        "flows": flows.iter().map(|flow| json!({
            "from": flow.from,
            "to": flow.to,
            "slots": flow.slots,
            "load": load(flow.load),
            "ranges": ranges_json(&flow.ranges),
        })).collect::<Value>(),
        "moves": moves,
        "stray": planned.plan.stray(&planned.wanted.table)
            .map(|(slot, id, _)| json!({ "slot": slot, "node": id }))
            .collect::<Value>(),
    })
}
