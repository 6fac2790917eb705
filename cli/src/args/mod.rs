//! Options that several commands share: one file for each block of the help.

mod change;
mod contest;
mod keys;
mod nodes;
mod output;
mod parts;
mod replicas;
mod share;
mod slots;
mod strategy;

pub(crate) use self::change::{ChangeArgs, MoveArgs, TargetArgs};
pub(crate) use self::contest::ContestArgs;
pub(crate) use self::keys::{KEY_SOURCES, KeyArgs};
pub(crate) use self::nodes::{Counts, NodeArgs, WEIGHTS, counts, parse as parse_node};
pub(crate) use self::output::OutputArgs;
pub(crate) use self::parts::{PartialArgs, PartsArgs};
pub(crate) use self::replicas::ReplicaArgs;
pub(crate) use self::share::share;
pub(crate) use self::slots::{Measure, TableArg};
pub(crate) use self::strategy::{SPECIFIED, StrategyArgs, TuningArgs};
