//! One file per command.

mod balance;
pub(crate) mod check;
mod compare;
mod diff;
pub(crate) mod draw;
mod explain;
mod lists;
mod merge;
mod plan;
mod remap;
pub(crate) mod report;
mod route;
mod skew;
pub(crate) mod slots;
pub(crate) mod spec;

use crate::args::Command;
use crate::failure::Failure;

pub(crate) fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Route(args) => route::run(args),
        Command::Balance(args) => balance::run(args),
        Command::Merge(args) => merge::run(args),
        Command::Check(args) => check::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Strategies(args) => lists::strategies(args),
        Command::Dialects(args) => lists::dialects(args),
        Command::Hashes(args) => lists::hashes(args),
        Command::Compare(args) => compare::run(args),
        Command::Remap(args) => remap::run(args),
        Command::Skew(args) => skew::run(args),
        Command::Diff(args) => diff::run(args),
        Command::Plan(args) => plan::run(args),
        Command::Slots(command) => slots::run(command),
        Command::Draw(command) => draw::run(command),
        Command::Report(args) => report::run(args),
        Command::Spec(command) => spec::run(command),
    }
}
