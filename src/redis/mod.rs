//! Redis Cluster's slots: who serves a key now, and how slots change hands without losing one.
//!
//! Everything that a client, a proxy, an operator's tool or a simulator has to decide, without
//! any networking and without a clock: bytes and values go in, decisions come out. The slot count
//! and the rule from key to slot are values; Redis's are the defaults.
//!
//! | question | answer |
//! |---|---|
//! | which slot has this key, do these keys share one, which tags fall there | [`SlotRule`] |
//! | who owns which slot; what did servers print | [`Table`], of [`ClusterNode`]s |
//! | what do several servers know together | [`Table::from_views`] |
//! | are all slots served, is a majority up | [`Table::coverage`], [`Table::health`] |
//! | two nodes claim a slot | [`Table::claim`], [`Table::hear`] |
//! | what does this server answer | [`Table::decide`] |
//! | where does this command go, and where next | [`SlotMap`], [`Call`] |
//! | who takes the place of a dead primary | [`Table::promote`], [`Table::vote`] |
//! | which slots move, in which order, by which commands | [`SlotPlan`] |
//! | which slots and tags are hot or big | [`Heat`] |
//! | the same table as a router among others | [`HashSlots`](crate::HashSlots), by `try_from` |
//!
//! A table is one server's view, or what all agree on: the same type, since both have nodes,
//! owners and marks. Text and replies of servers become tables and tables become text again.
//!
//! Read what a server printed, ask who serves a key, and plan what a new node takes over:
//!
//! ```
//! use hashroute::redis::{Address, ClusterNode, Goal, SlotBudget, SlotPlan, SlotRule, Table};
//!
//! let printed = "\
//! 07c3 10.0.0.1:6379@16379 myself,master - 0 0 1 connected 0-8191
//! e7d1 10.0.0.2:6379@16379 master - 0 0 2 connected 8192-16383";
//! let mut table = Table::from_text(printed, SlotRule::REDIS)?;
//! assert_eq!(table.owner_of(b"{user1000}.cart").map(ClusterNode::id), Some("07c3"));
//!
//! table.add(ClusterNode::new("new")?.with_address(Address::new("10.0.0.3", 6379)))?;
//! let plan = SlotPlan::new(&table, &Goal::even(&table))?;
//! assert_eq!(plan.len(), 5461);
//! for step in plan.steps(SlotBudget::default().with_slots(1000)) {
//!     for action in plan.classic(&table, step.clone(), 100, 5000)? {
//!         // send it
//!         # let _ = action;
//!     }
//!     plan.apply(&mut table, step)?;
//! }
//! assert_eq!(table.counts(), [5462, 5461, 5461]);
//! # Ok::<(), hashroute::Error>(())
//! ```

mod claims;
mod client;
mod coverage;
mod failover;
mod heat;
mod keys;
mod marks;
mod node;
mod patience;
mod plan;
mod redirect;
mod router;
mod server;
mod table;
mod text;
mod views;

pub use claims::{Claim, Heard};
pub use client::{Call, Next, Outcome, SlotMap, Stop};
pub use coverage::{Coverage, CoverageRule, Health, Votes};
pub use failover::{Failover, Promotion};
pub use heat::{Heat, HotSlot, HotTag};
pub use keys::{KeySlot, SlotRule};
pub use marks::Mark;
pub use node::{Address, ClusterNode, Flags, Link, Role};
pub use patience::Patience;
pub use plan::{Action, Goal, Move, Progress, SlotBudget, SlotPlan};
pub use redirect::Redirect;
pub use server::{Command, Decision, Request};
pub use table::{SlotRange, Table};
pub use text::{Endpoint, Protocol, Reply, hex, unquote};
