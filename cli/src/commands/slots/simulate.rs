//! `slots simulate`: simulates a resharding in memory.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use hashroute::redis::{ClusterNode, Role, SlotPlan, SlotRule, Table};
use hashroute_harness::sim::{self, Counts, Laws, Resharding, Workload, World};
use serde_json::{Value, json};

use super::goal::{self, GoalArgs, Wanted};
use super::table::{self, ranges_shown};
use crate::args::OutputArgs;
use crate::failure::Failure;
use crate::output::{Cell, Column, Report, Table as Lines};
use crate::progress::Progress;
use crate::units;

/// Simulate a plan in memory, with clients that have stale slot maps
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SimulateCommand {
    /// The output of CLUSTER NODES or nodes.conf [default: three primaries, a fourth joins]
    #[arg(value_name = "TABLE")]
    table: Option<PathBuf>,
    #[command(flatten)]
    goal: GoalArgs,
    #[command(flatten)]
    world: WorldArgs,
    #[command(flatten)]
    output: OutputArgs,
}

const EXAMPLES: &str = "\
Half of the commands use the slot that is moving. Exit code 1: a key was lost, served twice or out
of reach.

Examples:
  hashroute slots simulate
  hashroute slots simulate --seed 7 --refresh 100 --format json
  hashroute slots simulate nodes.txt --remove 10.0.0.1:6379
  hashroute slots simulate --mistake keys-left";

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Simulation")]
struct WorldArgs {
    /// The number of keys; half of them are pairs with a hash tag
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(4..=10_000_000))]
    keys: u32,
    /// The number of clients, each with its own slot map
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    clients: u32,
    /// The number of client commands per command of the resharding
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pace: u32,
    /// The number of errors after which a client reloads its map [default: never]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    refresh: Option<u32>,
    /// The number of keys in one MIGRATE
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    batch: u32,
    /// The seed; the same seed gives the same run
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Make a mistake, to see what breaks
    #[arg(long, value_name = "WHAT")]
    mistake: Option<Mistake>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mistake {
    /// Give a slot away while it still has keys
    KeysLeft,
    /// Do not tell the target to import
    NoImporting,
    /// Tell the source about the new owner before the target
    SourceFirst,
}

/// Numbers of sends up to this one have their own row.
const ROWS: u32 = 8;

pub(crate) fn run(args: &SimulateCommand) -> Result<(), Failure> {
    let (wanted, plan) = planned(args)?;
    let progress = Progress::start(args.output.quiet, "moving slots");
    let outcome = sim::reshard(&wanted.table, &plan, &workload(&args.world))?;
    drop(progress);
    report(&wanted, &plan, args, &outcome)?.print(args.output.format)?;
    let broken: Vec<_> = outcome.laws.broken().collect();
    match broken.first() {
        None => Ok(()),
        Some(law) => Err(Failure::Check(format!(
            "{} broken, first: {} ({})",
            units::counted(broken.len() as u64, "law"),
            law.name,
            law.first.as_deref().unwrap_or_default()
        ))),
    }
}

fn planned(args: &SimulateCommand) -> Result<(Wanted, SlotPlan), Failure> {
    let table = match &args.table {
        Some(path) => table::read(path)?,
        None => three()?,
    };
    let fourth = GoalArgs {
        add: vec!["node-3@node-3:6379".into()],
        ..GoalArgs::default()
    };
    let goal = match (goal::is_given(&args.goal), &args.table) {
        (true, _) => &args.goal,
        (false, None) => &fourth,
        (false, Some(_)) => {
            return Err(Failure::input(
                "nothing to plan: expected --add, --remove, --weight or --even",
            ));
        }
    };
    let coverage = table.coverage();
    let missing = [&coverage.unassigned[..], &coverage.failed[..]].concat();
    if !missing.is_empty() {
        return Err(Failure::Input(format!(
            "TABLE: slots {} are not served: a simulation begins with a cluster that serves all",
            ranges_shown(&missing)
        )));
    }
    if table.marks().next().is_some() {
        return Err(Failure::Input(format!(
            "TABLE: slots {} are on the move: a simulation begins with a cluster at rest",
            ranges_shown(&table.open_slots())
        )));
    }
    let wanted = Wanted::of(table, goal)?;
    let plan = SlotPlan::new(&wanted.table, &wanted.goal())?;
    if primaries(&wanted) > World::MOST_SERVERS {
        return Err(Failure::Input(format!(
            "more than {} primaries: a simulation takes no more",
            World::MOST_SERVERS
        )));
    }
    Ok((wanted, plan))
}

fn workload(args: &WorldArgs) -> Workload {
    let mistake = args.mistake.map(|mistake| match mistake {
        Mistake::KeysLeft => sim::Mistake::KeysLeft,
        Mistake::NoImporting => sim::Mistake::NoImporting,
        Mistake::SourceFirst => sim::Mistake::SourceFirst,
    });
    Workload::default()
        .with_keys(args.keys)
        .with_clients(args.clients)
        .with_pace(args.pace)
        .with_refresh(args.refresh)
        .with_batch(args.batch)
        .with_seed(args.seed)
        .with_mistake(mistake)
}

/// Builds the cluster that `redis-cli --cluster create` makes of three nodes.
fn three() -> Result<Table, Failure> {
    let mut table = Table::new(SlotRule::REDIS);
    for (id, range) in [
        ("node-0", 0..=5460),
        ("node-1", 5461..=10_922),
        ("node-2", 10_923..=16_383),
    ] {
        table.add(ClusterNode::new(id)?)?;
        table.assign(range, id)?;
    }
    Ok(table)
}

fn report(
    wanted: &Wanted,
    plan: &SlotPlan,
    args: &SimulateCommand,
    outcome: &Resharding,
) -> Result<Report, Failure> {
    let json = json(wanted, plan, args, outcome);
    let laws = law_table(&outcome.laws);
    let report = Report::new(&json, laws.clone())?
        .with_text([summary(wanted, plan, args, outcome)])
        .with_table(met_table(&outcome.counts))
        .with_table(attempt_table(&outcome.counts))
        .with_table(laws);
    let broken = outcome.laws.broken().map(|law| {
        let first = law.first.as_deref().unwrap_or_default();
        format!("Broken: {}. First: {first}.", law.name)
    });
    let mut lines: Vec<_> = broken.collect();
    if lines.is_empty() {
        lines.push("Every law held: no key was lost, none was served twice.".into());
    }
    Ok(report.with_text(lines))
}

fn primaries(wanted: &Wanted) -> usize {
    let nodes = wanted.table.nodes().iter();
    nodes.filter(|node| node.role() == Role::Primary).count()
}

fn summary(
    wanted: &Wanted,
    plan: &SlotPlan,
    args: &SimulateCommand,
    outcome: &Resharding,
) -> String {
    format!(
        "{} moved among {} primaries by {}; {} migrated of {}. {} sent {} commands, {} times in all; {} still {} a stale map.",
        units::counted(plan.len() as u64, "slot"),
        units::count(primaries(wanted) as u64),
        units::counted(outcome.steps, "command"),
        units::counted(outcome.counts.migrated, "key"),
        units::count(args.world.keys.into()),
        units::counted(args.world.clients.into(), "client"),
        units::count(outcome.counts.commands()),
        units::count(outcome.counts.sends),
        units::counted(outcome.stale_maps, "client"),
        if outcome.stale_maps == 1 {
            "has"
        } else {
            "have"
        },
    )
}

fn met_table(counts: &Counts) -> Lines {
    let columns = [
        Column::text("", "clients met"),
        Column::number("", "times"),
        Column::number("", "of sends"),
    ];
    let rows = [
        ("MOVED", counts.moved),
        ("ASK", counts.ask),
        ("TRYAGAIN", counts.try_again),
        ("other errors", counts.down + counts.other),
        ("refreshed their map", counts.refreshes),
        ("gave up", counts.gave_up),
    ];
    Lines::new(columns).with_rows(rows.map(|(what, count)| {
        let share = count as f64 / counts.sends.max(1) as f64;
        vec![
            Cell::text(what),
            Cell::text(units::count(count)),
            Cell::text(units::percent(share)),
        ]
    }))
}

fn attempt_table(counts: &Counts) -> Lines {
    let columns = [
        Column::text("", "sent"),
        Column::number("", "commands"),
        Column::number("", "share"),
    ];
    let all = counts.attempts.values().sum::<u64>().max(1);
    let times = |sends: u32| {
        if sends == 1 {
            "once".into()
        } else {
            format!("{sends} times")
        }
    };
    let single = counts
        .attempts
        .range(..=ROWS)
        .map(|(sends, count)| (times(*sends), *count));
    let more: u64 = counts
        .attempts
        .range(ROWS + 1..)
        .map(|(_, count)| count)
        .sum();
    let most = counts.attempts.keys().last().copied().unwrap_or(0);
    let more = (more > 0).then(|| (format!("{} to {most} times", ROWS + 1), more));
    Lines::new(columns).with_rows(single.chain(more).map(|(times, count)| {
        let share = units::percent(count as f64 / all as f64);
        vec![
            Cell::text(times),
            Cell::text(units::count(count)),
            Cell::text(share),
        ]
    }))
}

fn law_table(laws: &Laws) -> Lines {
    let columns = [
        Column::text("name", "law"),
        Column::number("checked", "checked"),
        Column::number("broken", "broken"),
    ];
    Lines::new(columns).with_rows(laws.iter().map(|law| {
        let number = |value: u64| Cell::new(value, units::count(value));
        vec![
            Cell::text(law.name),
            number(law.checked),
            number(law.broken),
        ]
    }))
}

fn json(wanted: &Wanted, plan: &SlotPlan, args: &SimulateCommand, outcome: &Resharding) -> Value {
    let counts = &outcome.counts;
    let attempts = counts.attempts.iter();
    let laws = outcome.laws.iter();
    json!({
        "seed": args.world.seed,
        "primaries": primaries(wanted),
        "moved": plan.len(),
        "steps": outcome.steps,
        "keys": args.world.keys,
        "keys_migrated": counts.migrated,
        "clients": args.world.clients,
        "stale_maps": outcome.stale_maps,
        "commands": counts.commands(),
        "reads": counts.reads,
        "writes": counts.writes,
        "deletes": counts.deletes,
        "multi_key": counts.multi,
        "sends": counts.sends,
        "redirects": {
            "moved": counts.moved,
            "ask": counts.ask,
            "try_again": counts.try_again,
            "other": counts.down + counts.other,
        },
        "refreshes": counts.refreshes,
        "gave_up": counts.gave_up,
        "attempts": attempts.map(|(sends, count)| json!({ "sends": sends, "commands": count })).collect::<Value>(),
        "laws": laws.map(|law| json!({
            "name": law.name, "checked": law.checked, "broken": law.broken, "first": law.first,
        })).collect::<Value>(),
        "passed": outcome.laws.broken().next().is_none(),
        "failed": outcome.laws.broken().count(),
        "ok": outcome.laws.broken().next().is_none(),
    })
}
