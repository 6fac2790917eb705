//! Redis Cluster's slots: who serves a key now, and how slots change hands without losing one.
//!
//! Everything that a client, a proxy, an operator's tool or a simulator has to decide, without
//! any networking and without a clock: bytes and values go in, decisions come out. The slot count
//! and the rule from key to slot are values; Redis's are the defaults.
//!
//! | question | answer |
//! |---|---|
//! | which slot has this key, do these keys share one | [`SlotRule`] |
//! | who owns which slot | [`Table`], of [`ClusterNode`]s |

mod claims;
mod client;
mod coverage;
mod failover;
mod heat;
mod keys;
mod node;
mod plan;
mod redirect;
mod server;
mod table;
mod text;

pub use claims::{Claim, Heard};
pub use client::{Call, Next, Outcome, Patience, SlotMap, Stop};
pub use coverage::{Coverage, Health, Policy, Votes};
pub use failover::{Failover, Promotion};
pub use heat::{Heat, HotSlot, HotTag};
pub use keys::{Place, SlotRule};
pub use node::{Address, ClusterNode, Flags, Link, Role};
pub use plan::{Action, Budget, Goal, Move, Plan, Progress};
pub use redirect::Redirect;
pub use server::{Command, Decision, Request};
pub use table::{Mark, SlotRange, Table};
pub use text::{Endpoint, Protocol, Reply};
