//! A simulator of Redis Cluster: servers that each know only what they were told, clients whose
//! maps are stale, slots that move, primaries that die, and the laws that must hold all the way.
//!
//! Servers decide by [`Table::decide`](hashroute::redis::Table::decide) and
//! [`Table::hear`](hashroute::redis::Table::hear), clients by
//! [`SlotMap`](hashroute::redis::SlotMap), so a law that breaks shows a mistake in those, in the
//! order of a move's commands, or in this simulator.
//!
//! | to | use |
//! |---|---|
//! | carry out a plan among clients, without failures | [`reshard`], a [`Workload`] |
//! | let anything happen in any order | [`World::happen`], [`Event`]s |
//! | see whether a key could be lost or served twice | [`Laws`] |
//!
//! # What is random
//!
//! Nothing. A resharding draws from a generator with the seed of its workload; a world takes its
//! events as they are given. Time is counted in events, or in commands of the resharding. No clock
//! is read.
//!
//! # When a law may be checked
//!
//! One server, last write, one copy: after each event. A command is answered: when it ends. The
//! two laws of the end: when no message is on its way and no slot moves, if no server was ever down
//! (see below: what was sent to it is lost).
//!
//! While a server is down, or believed to be down, a slot may be out of reach, so a write may then
//! end at no server. It may never end at two.
//!
//! # What it leaves out
//!
//! | here | in Redis | why |
//! |---|---|---|
//! | An heir has all that its primary held. | A replica lacks the last writes. | Redis may lose them. That is no fault of a decision, and would hide one. |
//! | Primaries hear at once of a slot that was taken over, and of an election. | The message goes to all at once, and may be late. | Until they hear it two servers serve the slot, for the time of a message. |
//! | A replica hears all that was sent to it before its primary's epoch rises, and before it stands for election. | The same, almost always: a move takes longer than a message, an election takes the node timeout. | Else a replica may take back a slot that had left its primary: voters compare epochs, and the primary's may have risen since. |
//! | A move that a failover interrupted is opened again at the heir. | An operator must do it. | Keys that went ahead could not be found. |
//! | A message is sent once; one to a server that is down is lost. | Servers repeat their claims with every ping. | The laws must hold before the repetition comes. |
//! | One server is down at a time. | Several may be. | Without a majority nothing is elected, so nothing happens. |
//! | A server that returns answers when it has heard what the others know. | It refuses requests for a while. | The writes of that window are lost with its keys. |
//! | Connections break before a command is sent, never after. | Both. | Whether to send it again is the caller's to know, not the map's. |
//!
//! All else comes late, or out of turn.
//!
//! ```
//! use hashroute::redis::{ClusterNode, SlotRule, Table};
//! use hashroute_harness::sim::{Event, Operation, World};
//!
//! let nodes = ["a", "b", "c"].map(|id| ClusterNode::new(id));
//! let mut nodes = nodes.into_iter().collect::<Result<Vec<_>, _>>()?;
//! nodes.push(ClusterNode::new("heir")?.with_primary("a"));
//! let mut table = Table::with_nodes(SlotRule::REDIS, nodes)?;
//! for (slots, id) in [(0..=5000, "b"), (5001..=10_000, "c"), (10_001..=16_383, "a")] {
//!     table.assign(slots, id)?;
//! }
//! let mut world = World::new(&table, ["foo"])?.with_clients(1)?;
//! world.happen(&Event::Request(0, Operation::Write, vec![0]))?;
//! world.happen(&Event::Crash(0))?;
//! world.happen(&Event::Elect)?;
//! world.happen(&Event::Request(0, Operation::Read, vec![0]))?;
//! assert_eq!((world.counts().elected, world.laws().last_write.checked), (1, 1));
//! assert_eq!(world.laws().broken().count(), 0);
//! # Ok::<(), hashroute::Error>(())
//! ```

mod checks;
mod client;
mod clients;
mod counts;
mod data;
mod events;
mod failures;
mod gossip;
mod keyset;
mod laws;
mod moves;
mod moving;
mod reshard;
mod server;
mod world;

pub use client::Operation;
pub use counts::Counts;
pub use events::Event;
pub use laws::{LawRecord, Laws};
pub use moving::Mistake;
pub use reshard::{Resharding, Workload, reshard};
pub use world::World;
