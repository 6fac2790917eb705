//! `slots show`: the owners of the slots, and the state of the cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use clap::{Args, ValueEnum};
use hashroute::redis::{
    ClusterNode, Coverage, CoverageRule, Health, Link, Mark, Role, SlotRange, Table,
};
use serde_json::{Value, json};

use super::table::{self, Names, ranges_cell, ranges_json, ranges_shown, width};
use crate::args::{OutputArgs, TableArg};
use crate::failure::Failure;
use crate::output::{self, Cell, Fields, Report, Table as Lines};
use crate::units;

/// The most moving slots that people see.
const OPEN: usize = 20;

/// Show the owners of the slots: ranges, coverage, balance, epochs, moving slots
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ShowCommand {
    #[command(flatten)]
    pub(crate) table: TableArg,
    /// Print the table itself in another form
    #[arg(long, value_name = "FORM", conflicts_with = "format")]
    pub(crate) to: Option<Form>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// As CLUSTER NODES prints it
    Nodes,
    /// As Kvrocks takes it in CLUSTERX SETNODES
    Setnodes,
}

const EXAMPLES: &str = "\
Examples:
  redis-cli cluster nodes | hashroute slots show -
  hashroute slots show nodes.txt --to setnodes
  hashroute slots show /var/lib/redis/nodes.conf --format json";

pub(crate) fn run(args: &ShowCommand) -> Result<(), Failure> {
    let table = table::read(&args.table.file)?;
    let text = args.to.map(|form| match form {
        Form::Nodes => table.nodes_text(),
        Form::Setnodes => table.setnodes_text(),
    });
    if let Some(text) = text {
        let mut out = output::stdout();
        out.write_all(text.as_bytes())?;
        return Ok(out.flush()?);
    }
    report(&View::of(&table))?.print(args.output.format)
}

/// A table, and what follows from it.
struct View<'t> {
    table: &'t Table,
    names: Names,
    counts: Vec<u32>,
    /// The ranges of each node, collected in one pass: a table may have many runs.
    ranges: BTreeMap<&'t str, Vec<SlotRange>>,
    coverage: Coverage,
    moves: Vec<Open<'t>>,
}

/// A moving slot: pairs of source and target as each side has them.
struct Open<'t> {
    slot: u32,
    owner: Option<&'t str>,
    migrating: Vec<(&'t str, &'t str)>,
    importing: Vec<(&'t str, &'t str)>,
}

impl<'t> View<'t> {
    fn of(table: &'t Table) -> Self {
        let mut ranges: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (range, owner) in table.runs() {
            if let Some(owner) = owner {
                ranges.entry(owner.id()).or_default().push(range);
            }
        }
        Self {
            ranges,
            table,
            names: Names::of(table),
            counts: table.counts(),
            coverage: table.coverage(),
            moves: open(table),
        }
    }

    /// Returns the primaries in the order of their slots, each followed by its replicas; then the
    /// rest.
    fn order(&self) -> Vec<(&'t ClusterNode, u32)> {
        let nodes = self.table.nodes().iter().zip(self.counts.iter().copied());
        let rank = |node: &ClusterNode| {
            let leader = node.primary().unwrap_or(node.id());
            let first = self.ranges(leader).first().map(SlotRange::start);
            (
                first.copied().unwrap_or(u32::MAX),
                leader.to_owned(),
                node.primary().is_some(),
                node.id().to_owned(),
            )
        };
        let mut nodes: Vec<_> = nodes.collect();
        nodes.sort_by_cached_key(|(node, _)| rank(node));
        nodes
    }

    fn ranges(&self, id: &str) -> &[SlotRange] {
        self.ranges.get(id).map_or(&[], Vec::as_slice)
    }

    /// Returns the number of slots of each primary that has any.
    fn loads(&self) -> Vec<u32> {
        self.counts
            .iter()
            .copied()
            .filter(|count| *count > 0)
            .collect()
    }

    fn slots(&self) -> u32 {
        self.table.rule().slots()
    }
}

fn open(table: &Table) -> Vec<Open<'_>> {
    let mut moves: BTreeMap<u32, Open<'_>> = BTreeMap::new();
    for (slot, id, mark) in table.marks() {
        let open = moves.entry(slot).or_insert_with(|| Open {
            slot,
            owner: table.owner(slot).map(ClusterNode::id),
            migrating: Vec::new(),
            importing: Vec::new(),
        });
        match mark {
            Mark::Migrating(to) => open.migrating.push((id, to)),
            Mark::Importing(from) => open.importing.push((id, from)),
            _ => {}
        }
    }
    moves.into_values().collect()
}

fn report(view: &View<'_>) -> Result<Report, Failure> {
    let nodes = node_table(view);
    let mut report = Report::new(&json(view), nodes.clone())?
        .with_table(nodes)
        .with_text(facts(view));
    if !view.moves.is_empty() {
        report = report.with_table(move_table(view));
        let more = view.moves.len().saturating_sub(OPEN);
        let more = (more > 0).then(|| format!("and {more} more (--format json has all)"));
        report = report.with_text(more);
    }
    Ok(report.with_text(warnings(view)))
}

/// A node and the number of its slots.
type Row<'a> = (&'a ClusterNode, u32);

fn node_table(view: &View<'_>) -> Lines {
    // CLUSTER SHARDS and CLUSTER SLOTS have no epochs.
    let known = view.table.nodes().iter().any(|node| node.epoch() > 0);
    let share = |count: u32| f64::from(count) / f64::from(view.slots());
    // A replica owns no slots: people see a dash, programs a 0.
    let owned = |node: &ClusterNode, cell: Cell| match node.role() {
        Role::Primary => cell,
        _ => Cell::new(cell.value().clone(), "-"),
    };
    let fields = Fields::<Row>::new()
        .text("id", "node", |(node, _)| view.names.cell(node.id()))
        .text("address", "address", |(node, _)| place(node))
        .text("role", "role", |(node, _)| Cell::text(role(node)))
        .text("primary", "copies", |(node, _)| {
            let primary = node.primary();
            primary.map_or_else(Cell::missing, |id| view.names.cell(id))
        })
        .minor(1)
        .number("epoch", if known { "epoch" } else { "" }, |(node, _)| {
            Cell::new(node.epoch(), node.epoch().to_string())
        })
        .minor(2)
        .text("state", "state", |(node, _)| Cell::text(state(node)))
        .number("slots", "slots", move |(node, count)| {
            owned(node, Cell::count((*count).into()))
        })
        .number("share", "share", move |(node, count)| {
            owned(node, Cell::share(share(*count)))
        })
        .minor(3)
        .prose("ranges", "ranges", |(node, _)| {
            ranges_cell(view.ranges(node.id()))
        });
    Lines::of(fields, view.order())
}

/// Makes a cell of the address for programs; people see the hostname as well.
fn place(node: &ClusterNode) -> Cell {
    let address = node.address().to_string();
    match node
        .hostname()
        .filter(|name| *name != node.address().host())
    {
        Some(name) => Cell::new(address.as_str(), format!("{address} ({name})")),
        None => Cell::text(address),
    }
}

/// Returns the role of a node.
pub(super) const fn role(node: &ClusterNode) -> &'static str {
    match node.role() {
        Role::Primary => "primary",
        Role::Replica => "replica",
        _ => "unknown",
    }
}

/// Returns the worst state that the table gives a node.
fn state(node: &ClusterNode) -> &'static str {
    let flags = node.flags();
    match () {
        () if flags.failed => "failed",
        () if flags.suspected => "suspected",
        () if flags.handshake => "handshake",
        () if flags.no_address => "no address",
        () if node.link() == Link::Disconnected => "no link",
        () => "ok",
    }
}

fn health(view: &View<'_>) -> &'static str {
    match view.table.health(CoverageRule::default()) {
        Health::Ok => "ok",
        Health::Uncovered => "uncovered",
        Health::Minority => "minority",
        _ => "down",
    }
}

fn facts(view: &View<'_>) -> Vec<String> {
    let table = view.table;
    let mut facts = vec![coverage_text(view), balance_text(view)];
    let votes = table.votes();
    facts.push(format!(
        "Majority: {} of {} reachable, {} needed. Cluster state: {}.",
        units::count(votes.reachable as u64),
        if votes.primaries == 1 {
            "1 voting primary".into()
        } else {
            format!("{} voting primaries", units::count(votes.primaries as u64))
        },
        units::count(votes.needed() as u64),
        match health(view) {
            "ok" => "ok",
            "uncovered" => "down, since not all slots are served",
            _ => "down, since no majority is reachable",
        }
    ));
    let epochs = table.nodes().iter().map(ClusterNode::epoch);
    let highest = epochs.max().unwrap_or(0).max(table.epochs().0);
    if highest > 0 {
        facts.push(format!("Highest epoch: {highest}."));
    }
    facts
}

fn coverage_text(view: &View<'_>) -> String {
    let Coverage {
        served,
        unassigned,
        failed,
        ..
    } = &view.coverage;
    let slots = units::count(view.slots().into());
    let mut parts = vec![format!(
        "Slots: {} of {slots} served",
        units::count(width(served))
    )];
    for (what, ranges) in [
        ("without an owner", unassigned),
        ("of failed primaries", failed),
    ] {
        if !ranges.is_empty() {
            let count = units::count(width(ranges));
            parts.push(format!("{count} {what} ({})", ranges_shown(ranges)));
        }
    }
    parts.join("; ") + "."
}

fn balance_text(view: &View<'_>) -> String {
    let loads = view.loads();
    let (least, most) = (loads.iter().min(), loads.iter().max());
    let (Some(least), Some(most)) = (least, most) else {
        return "Balance: no node owns slots.".into();
    };
    let mean = mean(&loads);
    format!(
        "Balance: {} to {} slots on {} with slots, {} on average; most / mean: {:.3}.",
        units::count((*least).into()),
        units::count((*most).into()),
        if loads.len() == 1 {
            "the one primary".into()
        } else {
            format!("{} primaries", units::count(loads.len() as u64))
        },
        units::rounded(mean),
        f64::from(*most) / mean
    )
}

fn mean(loads: &[u32]) -> f64 {
    let sum: u64 = loads.iter().map(|load| u64::from(*load)).sum();
    sum as f64 / loads.len().max(1) as f64
}

fn move_table(view: &View<'_>) -> Lines {
    let list = |ids: Vec<&str>| {
        let ids: Vec<_> = ids.into_iter().map(|id| view.names.short(id)).collect();
        let ids = ids.join(", ");
        Cell::optional(Some(&*ids).filter(|ids| !ids.is_empty()))
    };
    let fields = Fields::<Open>::new()
        .number("slot", "on the move", |open| {
            Cell::new(open.slot, open.slot.to_string())
        })
        .text("owner", "owner", |open| {
            let owner = open.owner;
            owner.map_or_else(Cell::missing, |id| view.names.cell(id))
        })
        .prose("migrating", "handed over to", move |open| {
            list(open.migrating.iter().map(|(_, to)| *to).collect())
        })
        .prose("importing", "taken over by", move |open| {
            list(open.importing.iter().map(|(by, _)| *by).collect())
        });
    Lines::of(fields, view.moves.iter().take(OPEN))
}

/// Returns what an operator should look into.
fn warnings(view: &View<'_>) -> Vec<String> {
    let mut warnings = Vec::new();
    if !view.moves.is_empty() {
        warnings.push("Slots are moving: finish them with slots plan --finish before another plan. A server reports only its own marks, and only in CLUSTER NODES: ask the other server, too.".into());
    }
    for id in view.table.repeated_ids() {
        let id = view.names.short(id);
        warnings.push(format!("The id {id} comes twice: replicas that share it are shown with their addresses. Dragonfly prints such tables; commands cannot tell these replicas apart."));
    }
    let twins = twins(view.table);
    if let Some((epoch, ids)) = twins.first() {
        let ids: Vec<_> = ids.iter().map(|id| view.names.short(id)).collect();
        warnings.push(format!("Primaries share epoch {epoch}: {}. The cluster resolves this by itself; until then, neither wins a conflict about a slot.", ids.join(", ")));
    }
    let failed = view.table.nodes().iter().zip(&view.counts);
    let failed = failed.filter(|(node, count)| node.flags().failed && **count > 0);
    let works = view
        .table
        .nodes()
        .iter()
        .filter(|node| !node.flags().failed);
    let with_heirs: BTreeSet<_> = works.filter_map(ClusterNode::primary).collect();
    for (node, _) in failed {
        let name = view.names.endpoint(node);
        warnings.push(if with_heirs.contains(node.id()) {
            format!("{name} failed; a replica can take its place.")
        } else {
            format!("{name} failed and no replica can take its place.")
        });
    }
    warnings
}

/// Returns the primaries with slots that share a known epoch.
fn twins(table: &Table) -> Vec<(u64, Vec<&str>)> {
    let mut by_epoch: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
    for (node, count) in table.nodes().iter().zip(table.counts()) {
        if count > 0 && node.epoch() > 0 {
            by_epoch.entry(node.epoch()).or_default().push(node.id());
        }
    }
    by_epoch
        .into_iter()
        .filter(|(_, ids)| ids.len() > 1)
        .collect()
}

fn json(view: &View<'_>) -> Value {
    let table = view.table;
    let loads = view.loads();
    let votes = table.votes();
    let most = loads.iter().max().copied();
    json!({
        "slots": view.slots(),
        "served": width(&view.coverage.served),
        "unassigned": ranges_json(&view.coverage.unassigned),
        "failed": ranges_json(&view.coverage.failed),
        "health": health(view),
        "votes": { "primaries": votes.primaries, "reachable": votes.reachable, "needed": votes.needed() },
        "current_epoch": table.epochs().0,
        "last_vote_epoch": table.epochs().1,
        "balance": {
            "primaries": loads.len(),
            "min": loads.iter().min(),
            "max": most,
            "mean": mean(&loads),
            "max_over_mean": most.map(|most| f64::from(most) / mean(&loads)),
        },
        "nodes": view.order().into_iter().map(|(node, count)| node_json(view, node, count)).collect::<Value>(),
        "open": view.moves.iter().map(open_json).collect::<Value>(),
        "warnings": warnings(view),
    })
}

fn node_json(view: &View<'_>, node: &ClusterNode, count: u32) -> Value {
    json!({
        "id": node.id(),
        "address": node.address().to_string(),
        "hostname": node.hostname(),
        "role": role(node),
        "primary": node.primary(),
        "epoch": node.epoch(),
        "state": state(node),
        "myself": node.flags().myself,
        "slots": count,
        "share": f64::from(count) / f64::from(view.slots()),
        "ranges": ranges_json(view.ranges(node.id())),
    })
}

fn open_json(open: &Open<'_>) -> Value {
    let pairs = |pairs: &[(&str, &str)], peer: &str| -> Value {
        let objects = pairs
            .iter()
            .map(|(id, other)| json!({ "node": id, peer: other }));
        objects.collect()
    };
    json!({
        "slot": open.slot,
        "owner": open.owner,
        "migrating": pairs(&open.migrating, "to"),
        "importing": pairs(&open.importing, "from"),
    })
}
