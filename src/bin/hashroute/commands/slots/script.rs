//! A plan as the commands that carry it out.

use std::io::Write;

use hashroute::cluster::{Action, ClusterNode, Role, Table};
use serde_json::{Value, json};

use super::args::{PlanCommand, Way};
use super::plan::{Planned, Steps};
use crate::failure::Failure;
use crate::output::{self, Format};
use crate::units;

pub(super) fn print(
    planned: &Planned,
    steps: &Steps,
    way: Way,
    args: &PlanCommand,
) -> Result<(), Failure> {
    check_names(planned)?;
    let json = match args.output.format {
        Format::Table => false,
        Format::Json => true,
        Format::Csv | Format::Markdown => {
            return Err(Failure::input(
                "--format: expected table or json for --commands",
            ));
        }
    };
    // All before the first line, since half a script is worse than none.
    let mut scripts = Vec::new();
    let mut table = planned.after(steps.shown.first().map_or(0, |(_, range)| range.start))?;
    for (number, range) in &steps.shown {
        let actions = actions(planned, &table, way, range.clone(), args)?;
        scripts.push((*number, range.len() as u64, actions));
        planned.plan.apply(&mut table, range.clone())?;
    }
    let mut out = output::stdout();
    if json {
        let objects = scripts.iter().flat_map(|(number, _, actions)| {
            let objects = actions.iter().map(|action| object(*number, action));
            objects.collect::<Vec<_>>()
        });
        serde_json::to_writer_pretty(&mut out, &objects.collect::<Vec<_>>())?;
        writeln!(out)?;
        return Ok(out.flush()?);
    }
    out.write_all(meetings(planned).as_bytes())?;
    for (number, slots, actions) in &scripts {
        let slots = units::counted(*slots, "slot");
        writeln!(out, "# step {number} of {}: {slots}", steps.all)?;
        actions
            .iter()
            .try_for_each(|action| writeln!(out, "{action}"))?;
    }
    Ok(out.flush()?)
}

fn actions(
    planned: &Planned,
    table: &Table,
    way: Way,
    moves: core::ops::Range<usize>,
    args: &PlanCommand,
) -> Result<Vec<Action>, Failure> {
    Ok(match way {
        Way::Classic => {
            planned
                .plan
                .classic(table, moves, args.commands.batch, args.commands.timeout)?
        }
        Way::Atomic => planned.plan.atomic(table, moves)?,
    })
}

/// Commands name nodes by their ids, which an address alone does not tell.
fn check_names(planned: &Planned) -> Result<(), Failure> {
    let nameless = planned.wanted.strangers.iter().find(|node| node.nameless);
    match nameless {
        None => Ok(()),
        Some(node) => Err(Failure::Input(format!(
            "--add {0}: its id is not known, which commands need: let it meet the cluster and give the new table, or --add ID@{0}",
            node.id
        ))),
    }
}

/// What must come before the commands.
fn meetings(planned: &Planned) -> String {
    let table = &planned.wanted.table;
    let is_stranger = |id: &str| planned.wanted.strangers.iter().any(|node| node.id == id);
    let works = |node: &&ClusterNode| {
        let is_primary = node.role() == Role::Primary && !node.flags().failed;
        is_primary && node.address().is_known() && !is_stranger(node.id())
    };
    let host = table.nodes().iter().find(works);
    let lines = planned.wanted.strangers.iter().filter_map(|stranger| {
        let (at, to) = (host?.address(), table.node(&stranger.id)?.address());
        let (host, port) = (to.host(), to.port());
        Some(format!("# before all: {at}> CLUSTER MEET {host} {port}\n"))
    });
    lines.collect()
}

fn object(step: usize, action: &Action) -> Value {
    match action {
        Action::Send { at, command } => json!({
            "step": step, "kind": "send", "at": at.to_string(), "command": command,
        }),
        Action::Empty {
            at,
            list,
            migrate,
            count,
        } => json!({
            "step": step, "kind": "empty", "at": at.to_string(),
            "list": list, "migrate": migrate, "count": count,
        }),
        Action::Import { at, import, status } => json!({
            "step": step, "kind": "import", "at": at.to_string(),
            "import": import, "status": status,
        }),
    }
}
