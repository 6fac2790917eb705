//! One file per command.

mod balance;
mod compare;
mod explain;
mod lists;
mod merge;
mod remap;
mod route;
pub(crate) mod slots;

use crate::args::Command;
use crate::failure::Failure;

pub(crate) fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Route(args) => route::run(args),
        Command::Balance(args) => balance::run(args),
        Command::Merge(args) => merge::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Strategies(args) => lists::strategies(args),
        Command::Dialects(args) => lists::dialects(args),
        Command::Hashes(args) => lists::hashes(args),
        Command::Compare(args) => compare::run(args),
        Command::Remap(args) => remap::run(args),
        Command::Slots(command) => slots::run(command),
    }
}
