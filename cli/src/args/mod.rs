//! Options that several commands share: one file for each block of the help.

mod change;
mod contest;
mod keys;
mod meant;
mod names;
mod nodes;
mod output;
mod parts;
mod replicas;
mod share;
mod slots;
mod strategy;

pub(crate) use self::change::{ChangeArgs, MoveArgs, TargetArgs};
pub(crate) use self::contest::ContestArgs;
pub(crate) use self::keys::{HexKey, KEY_SOURCES, KeyArgs, typed_keys};
pub(crate) use self::meant::meant_otherwise;
pub(crate) use self::names::Named;
pub(crate) use self::nodes::{
    Counts, Entry, MAX_COUNT, NodeArgs, WEIGHTS, counts, is_file, list as parse_nodes,
    parse as parse_node, whole,
};
pub(crate) use self::output::OutputArgs;
pub(crate) use self::parts::{PartialArgs, PartsArgs};
pub(crate) use self::replicas::ReplicaArgs;
pub(crate) use self::share::share;
pub(crate) use self::slots::{Measure, TableArg};
pub(crate) use self::strategy::{SPECIFIED, StrategyArgs, TuningArgs};
