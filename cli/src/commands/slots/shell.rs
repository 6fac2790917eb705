//! A plan printed as a script for a POSIX shell, which runs `redis-cli`.

use std::collections::BTreeMap;
use std::io::Write;

use hashroute::redis::{ClusterNode, Mark, Role};

use super::planned::{Planned, Steps};
use crate::failure::Failure;
use crate::output;
use crate::units;

/// The functions of the script.
const FUNCTIONS: &str = include_str!("move.sh");

const USAGE: &str = "\
# It needs redis-cli, and these variables where the servers want them:
#   REDISCLI_AUTH              the password, also for MIGRATE
#   HASHROUTE_REDIS_USER       the user, if it is not \"default\"
#   HASHROUTE_REDIS_CLI_ARGS   more options, such as \"--tls --cacert ca.pem\"
#   HASHROUTE_REDIS_CLI        another program, such as valkey-cli
#   HASHROUTE_MIGRATE_OPTIONS  REPLACE keeps the copy of the source where both ends have a key
# It stops at the first error. Run it again to go on: it leaves what is done.
";

/// Prints the steps as a script.
pub(super) fn print(
    planned: &Planned,
    steps: &Steps,
    batch: u32,
    timeout: u32,
) -> Result<(), Failure> {
    let nodes = Numbers::of(planned);
    let marks = marks(planned, &nodes)?;
    // All names first: an error in the middle would leave half a script.
    let moves = planned.plan.moves();
    moves
        .map(|step| nodes.ends(&step))
        .collect::<Result<Vec<_>, _>>()?;
    let mut out = output::stdout();
    let slots = units::counted(steps.range().len() as u64, "slot");
    writeln!(out, "#!/bin/sh\n# Moves {slots} of a Redis Cluster.")?;
    for done in planned.wanted.done() {
        writeln!(out, "# {done}")?;
    }
    let first = meetings(planned, &nodes);
    if planned.plan.is_empty() && first.is_empty() && marks.is_empty() {
        writeln!(
            out,
            "echo 'nothing to move: the slots are where they should be'"
        )?;
        return Ok(out.flush()?);
    }
    out.write_all(USAGE.as_bytes())?;
    writeln!(out, "batch={batch}\ntimeout={timeout}")?;
    let numbers: Vec<_> = (1..=nodes.all.len()).map(|n| n.to_string()).collect();
    writeln!(out, "nodes='{}'", numbers.join(" "))?;
    writeln!(
        out,
        "\n# node N: the address and the id of node N.\nnode() {{\n  case $1 in"
    )?;
    for (number, node) in (1..).zip(&nodes.all) {
        let (host, port) = (quoted(node.address().host()), node.address().port());
        let id = quoted(node.id());
        writeln!(out, "    {number}) host={host} port={port} id={id} ;;")?;
    }
    writeln!(out, "  esac\n}}\n\n{FUNCTIONS}")?;
    for line in first.into_iter().chain(marks) {
        writeln!(out, "{line}")?;
    }
    let mut moves = planned.plan.moves().skip(steps.range().start);
    for (number, range) in &steps.shown {
        let slots = units::counted(range.len() as u64, "slot");
        writeln!(out, "echo 'step {number} of {}: {slots}'", steps.all)?;
        for step in moves.by_ref().take(range.len()) {
            let (from, to) = nodes.ends(&step)?;
            match from {
                Some(from) => writeln!(out, "move {} {from} {to}", step.slot)?,
                None => writeln!(out, "add {} {to}", step.slot)?,
            }
        }
    }
    writeln!(
        out,
        "echo \"done: $moved of {} in place\"",
        units::counted(steps.range().len() as u64, "slot")
    )?;
    Ok(out.flush()?)
}

/// The working primaries, numbered from 1.
struct Numbers<'p> {
    all: Vec<&'p ClusterNode>,
    of: BTreeMap<&'p str, usize>,
}

impl<'p> Numbers<'p> {
    fn of(planned: &'p Planned) -> Self {
        let nodes = planned.wanted.table.nodes().iter();
        let works = |node: &&ClusterNode| {
            let is_primary = node.role() == Role::Primary && !node.flags().failed;
            is_primary && node.address().is_known()
        };
        let all: Vec<_> = nodes.filter(works).collect();
        let of = all.iter().map(|node| node.id()).zip(1..).collect();
        Self { all, of }
    }

    fn get(&self, id: &str) -> Result<usize, Failure> {
        let number = self.of.get(id).copied();
        number.ok_or_else(|| {
            Failure::Input(format!(
                "node {id} has no address in the table: expected a working primary with a host and a port"
            ))
        })
    }

    fn ends(&self, step: &hashroute::redis::Move<'_>) -> Result<(Option<usize>, usize), Failure> {
        let from = step.from.map(|id| self.get(id)).transpose()?;
        Ok((from, self.get(step.to)?))
    }
}

/// Returns the lines by which new nodes meet the cluster.
fn meetings(planned: &Planned, nodes: &Numbers<'_>) -> Vec<String> {
    let strangers = &planned.wanted.strangers;
    let is_stranger = |id: &str| strangers.iter().any(|node| node.id == id);
    let host = nodes.all.iter().position(|node| !is_stranger(node.id()));
    let lines = strangers.iter().filter_map(|node| {
        let (number, host) = (nodes.of.get(node.id.as_str())?, host? + 1);
        Some(format!("meet {number} {host}"))
    });
    lines.collect()
}

/// Returns the lines that remove marks which belong to no move.
fn marks(planned: &Planned, nodes: &Numbers<'_>) -> Result<Vec<String>, Failure> {
    let table = &planned.wanted.table;
    let mut lines = Vec::new();
    for (slot, id, mark) in planned.plan.stray(table) {
        if table
            .node(id)
            .is_none_or(|node| node.role() != Role::Primary)
        {
            continue;
        }
        let at = nodes.get(id)?;
        let owner = table.owner(slot).filter(|owner| owner.id() != id);
        lines.push(match (mark, owner) {
            (Mark::Importing(_), Some(owner)) => {
                format!("stable {slot} {at} {}", nodes.get(owner.id())?)
            }
            _ => format!("stable {slot} {at}"),
        });
    }
    Ok(lines)
}

/// Quotes a word for the shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
