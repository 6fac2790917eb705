//! The slots of Redis Cluster: which node serves a key, and how slots move between nodes.
//!
//! The module makes the decisions of a client, a proxy, an operator's tool or a simulator. It has
//! no networking and no clock: bytes and values go in, decisions come out. The number of slots and
//! the rule from key to slot can be set; the defaults are those of Redis.
//!
//! | question | answer |
//! |---|---|
//! | Which slot does a key have? Do keys share a slot? Which tags fall into a slot? | [`SlotRule`] |
//! | Which node owns a slot? What did a server print? | [`Table`] of [`ClusterNode`]s |
//! | What do the views of several servers say together? | [`Table::from_views`] |
//! | Are all slots served? Is a majority up? | [`Table::coverage`], [`Table::health`] |
//! | Which of two nodes that claim a slot gets it? | [`Table::claim`], [`Table::hear`] |
//! | What does a server answer to a request? | [`Table::decide`] |
//! | Where does a client send a command first, and where next? | [`SlotMap`], [`Call`] |
//! | Which replica replaces a failed primary? | [`Table::promote`], [`Table::vote`] |
//! | Which slots move, in which order, by which commands? | [`SlotPlan`] |
//! | Which slots and tags are hot or large? | [`Heat`] |
//! | How does a table become a [`Router`](crate::Router)? | [`HashSlots`](crate::HashSlots), by `try_from` |
//!
//! A [`Table`] holds either the view of one server or the state that all servers agree on. Both
//! have the same parts: nodes, owners and marks. Tables are read from the text and the replies of
//! servers, and written back as text.
//!
//! Read the output of a server, ask for the owner of a key, and plan the slots of a new node:
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
