//! `slots`: Redis Cluster's slots. One file per command below it.

pub(crate) mod args;
mod check;
mod goal;
mod key;
mod loads;
mod plan;
mod script;
mod show;
mod simulate;
mod simulation;
pub(crate) mod table;

use self::args::SlotsCommand;
use crate::failure::Failure;

pub(crate) fn run(command: &SlotsCommand) -> Result<(), Failure> {
    match command {
        SlotsCommand::Key(args) => key::run(args),
        SlotsCommand::Check(args) => check::run(args),
        SlotsCommand::Show(args) => show::run(args),
        SlotsCommand::Plan(args) => plan::run(args),
        SlotsCommand::Simulate(args) => simulate::run(args),
    }
}
