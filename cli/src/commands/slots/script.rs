//! A plan printed as commands.

use core::ops::Range;
use std::io::Write;

use clap::{Args, ValueEnum};
use hashroute::redis::{Action, Address, ClusterNode, Role};
use serde::Serializer;
use serde::ser::SerializeSeq;
use serde_json::{Value, json};

use super::planned::{Planned, Steps};
use super::shell;
use crate::failure::Failure;
use crate::output::{self, Format, JsonWriter};
use crate::units;

#[derive(Debug, Args)]
#[command(next_help_heading = "Commands")]
pub(crate) struct CommandArgs {
    /// Print the commands in order: as text, each after the address of its server, or as a script
    #[arg(long, value_name = "HOW")]
    pub(crate) commands: Option<MoveKind>,
    /// The number of keys in one MIGRATE of --commands classic [default: 100]
    #[arg(long, value_name = "N", requires = "commands", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) batch: Option<u32>,
    /// The timeout of one MIGRATE, in milliseconds [default: 5000]
    #[arg(long, value_name = "MS", requires = "commands", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) timeout: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MoveKind {
    /// SETSLOT and MIGRATE, slot by slot: every version of Redis and Valkey
    Classic,
    /// CLUSTER MIGRATION IMPORT: Redis 8.4 and later
    Atomic,
    /// A shell script that runs them by redis-cli and can be run again
    Sh,
}

/// The default number of keys in one `MIGRATE`; `TIMEOUT` is its default timeout in milliseconds.
const BATCH: u32 = 100;
const TIMEOUT: u32 = 5000;

/// A part of a script.
enum Line<'a> {
    /// The begin of a step; step 0 is the preparation.
    Step(usize, Range<usize>),
    Action(usize, &'a Action),
}

type Take<'a> = &'a mut dyn FnMut(&Line<'_>) -> Result<(), Failure>;

/// Prints the steps as commands, after checking that they can all be written.
pub(super) fn print(
    planned: &Planned,
    steps: &Steps,
    kind: MoveKind,
    args: &CommandArgs,
    format: Format,
) -> Result<(), Failure> {
    check_names(planned)?;
    check_options(kind, args)?;
    if kind == MoveKind::Sh {
        if format != Format::Table {
            return Err(Failure::input(
                "--format: expected table with --commands sh, which prints a script",
            ));
        }
        let (batch, timeout) = (args.batch.unwrap_or(BATCH), args.timeout.unwrap_or(TIMEOUT));
        return shell::print(planned, steps, batch, timeout);
    }
    let script = Script {
        planned,
        steps,
        kind,
        batch: args.batch.unwrap_or(BATCH),
        timeout: args.timeout.unwrap_or(TIMEOUT),
    };
    let print = match format {
        Format::Table => Script::text,
        Format::Json => Script::json,
        Format::Csv | Format::Markdown => {
            return Err(Failure::input(
                "--format: expected table or json with --commands",
            ));
        }
    };
    // A dry run first: an error in the middle would leave half a script, which is worse than none.
    script.walk(&mut |_| Ok(()))?;
    print(&script)
}

/// A script, written line by line: a plan for many nodes has millions of commands.
struct Script<'p> {
    planned: &'p Planned,
    steps: &'p Steps,
    kind: MoveKind,
    batch: u32,
    timeout: u32,
}

impl Script<'_> {
    fn text(&self) -> Result<(), Failure> {
        let mut out = output::stdout();
        for done in self.planned.wanted.done() {
            writeln!(out, "# {done}")?;
        }
        self.walk(&mut |line| {
            match line {
                Line::Step(0, _) => writeln!(out, "# before all")?,
                Line::Step(number, moves) => {
                    let slots = units::counted(moves.len() as u64, "slot");
                    writeln!(out, "# step {number} of {}: {slots}", self.steps.all)?;
                }
                Line::Action(_, action) => writeln!(out, "{action}")?,
            }
            Ok(())
        })?;
        Ok(out.flush()?)
    }

    fn json(&self) -> Result<(), Failure> {
        let mut out = output::stdout();
        let mut writer = serde_json::Serializer::pretty(JsonWriter(&mut out));
        let mut list = writer.serialize_seq(None)?;
        self.walk(&mut |line| {
            if let Line::Action(step, action) = line {
                list.serialize_element(&object(*step, action))?;
            }
            Ok(())
        })?;
        list.end()?;
        writeln!(out)?;
        Ok(out.flush()?)
    }

    fn walk(&self, take: Take<'_>) -> Result<(), Failure> {
        let mut first = meetings(self.planned);
        let (plan, table) = (&self.planned.plan, &self.planned.wanted.table);
        first.extend(plan.stable(table, self.batch, self.timeout)?);
        if !first.is_empty() {
            take(&Line::Step(0, 0..0))?;
        }
        give(0, &first, take)?;
        let start = self.steps.shown.first().map_or(0, |(_, range)| range.start);
        let mut table = self.planned.after(start)?;
        for (number, moves) in &self.steps.shown {
            take(&Line::Step(*number, moves.clone()))?;
            match self.kind {
                MoveKind::Atomic => give(*number, &plan.atomic(&table, moves.clone())?, take)?,
                MoveKind::Classic | MoveKind::Sh => {
                    for one in moves.clone() {
                        let one = one..one + 1;
                        let actions = plan.classic(&table, one, self.batch, self.timeout)?;
                        give(*number, &actions, take)?;
                    }
                }
            }
            plan.apply(&mut table, moves.clone())?;
        }
        Ok(())
    }
}

fn give(step: usize, actions: &[Action], take: Take<'_>) -> Result<(), Failure> {
    let mut actions = actions.iter();
    actions.try_for_each(|action| take(&Line::Action(step, action)))
}

/// Refuses options that would have no effect.
fn check_options(kind: MoveKind, args: &CommandArgs) -> Result<(), Failure> {
    for (option, value) in [("batch", args.batch), ("timeout", args.timeout)] {
        if kind == MoveKind::Atomic && value.is_some() {
            return Err(Failure::Input(format!(
                "--{option}: only for MIGRATE, which --commands atomic does not use"
            )));
        }
    }
    Ok(())
}

/// Refuses nodes that are known by address alone: commands name nodes by id.
fn check_names(planned: &Planned) -> Result<(), Failure> {
    let nameless = planned.wanted.strangers.iter().find(|node| node.nameless);
    match nameless {
        None => Ok(()),
        Some(node) => Err(Failure::Input(format!(
            "--add {0}: the id is unknown, but commands need it: expected ID@{0}, or a table made after the node met the cluster",
            node.id
        ))),
    }
}

/// Returns the commands by which new nodes meet the cluster, which come first.
fn meetings(planned: &Planned) -> Vec<Action> {
    let table = &planned.wanted.table;
    let is_stranger = |id: &str| planned.wanted.strangers.iter().any(|node| node.id == id);
    let works = |node: &&ClusterNode| {
        let is_primary = node.role() == Role::Primary && !node.flags().failed;
        is_primary && node.address().is_known() && !is_stranger(node.id())
    };
    let host = table.nodes().iter().find(works);
    let actions = planned.wanted.strangers.iter().filter_map(|stranger| {
        let (at, to) = (host?.address(), table.node(&stranger.id)?.address());
        let (host, port) = (to.host(), to.port());
        Some(Action::Send {
            at: at.clone(),
            command: format!("CLUSTER MEET {host} {port}").into(),
        })
    });
    actions.collect()
}

fn object(step: usize, action: &Action) -> Value {
    let place = |kind: &str, at: &Address| {
        json!({
            "step": step, "kind": kind, "at": at.to_string(),
            "host": at.host(), "port": at.port(),
        })
    };
    let (mut object, commands) = match action {
        Action::Send { at, command } => (place("send", at), vec![("command", command)]),
        Action::Empty {
            at,
            list,
            migrate,
            count,
        } => {
            let commands = vec![("list", list), ("migrate", migrate), ("count", count)];
            (place("empty", at), commands)
        }
        Action::Import { at, import, status } => {
            let commands = vec![("import", import), ("status", status)];
            (place("import", at), commands)
        }
        _ => {
            return json!({ "step": step, "kind": "other", "text": action.to_string() });
        }
    };
    for (name, command) in commands {
        object[name] = json!(command);
        object[format!("{name}_words")] = words(command);
    }
    object
}

/// Splits a command into its words, for programs that send words; `""` is an empty one.
fn words(command: &str) -> Value {
    let words = command.split(' ');
    words
        .map(|word| if word == "\"\"" { "" } else { word })
        .collect()
}
