//! A simulator of Redis Cluster.
//!
//! It simulates servers with tables that may be out of date, clients with stale slot maps, slots
//! that move and primaries that fail. It checks laws at every moment: no key is lost or served
//! twice.
//!
//! Servers decide by [`Table::decide`](hashroute::redis::Table::decide) and
//! [`Table::hear`](hashroute::redis::Table::hear), clients by
//! [`SlotMap`](hashroute::redis::SlotMap), so a broken law shows a mistake in those, in the
//! order of a move's commands, or in this simulator.
//!
//! | to | use |
//! |---|---|
//! | apply a plan while clients send commands, without failures | [`reshard`], a [`Workload`] |
//! | apply any events in any order | [`World::happen`], [`Event`]s |
//! | find out whether a key was lost or served twice | [`Laws`] |
//!
//! # Randomness
//!
//! Everything follows from the seed. A resharding draws from a generator with the seed of its
//! workload. A world draws nothing: it applies the events that it is given. Time is counted in
//! steps, such as events or commands of the resharding. The simulator reads no clock.
//!
//! # Times of the checks
//!
//! - `one_server` and `one_copy`: after each event.
//! - `last_write`: at each command that returns a value.
//! - `answered`: at the end of each command.
//! - `all_there` and `agreed`: in [`World::judge`]. Call it when no message is on its way and no
//!   slot moves, and only if no server was ever down, since messages to that server are lost.
//!
//! While a server is down, or believed to be down, a slot may be out of reach. A write may then end
//! at no server, but never at two.
//!
//! # Differences from Redis
//!
//! The successor is the replica that replaces a failed primary.
//!
//! | here | in Redis | why |
//! |---|---|---|
//! | A successor has all keys of its primary. | A replica may lack the last writes. | Redis may lose these writes. Such losses would hide wrong decisions. |
//! | Primaries hear at once of a new slot owner and of an election. | The message may be late. | Until it arrives, two servers serve the slot. |
//! | A replica hears all earlier messages before its primary's epoch rises, and before it stands for election. | Almost always: a move takes longer than a message, and an election takes the node timeout. | Otherwise a replica may take back a slot that its primary gave away: voters compare epochs, and the primary's epoch may have risen since. |
//! | The successor reopens a move that a failover interrupted. | An operator must reopen it. | Otherwise clients could not find the migrated keys. |
//! | A message is sent once. It is lost if the receiver is down. | Servers repeat their claims with every ping. | The laws must hold before the repetition arrives. |
//! | One server is down at a time. | Several may be down. | Without a majority no replica is elected. |
//! | A returning server hears the claims of the other primaries before it answers clients. | It refuses requests for a while. | Writes in between would be lost with its keys. |
//! | Connections break only before a command is sent. | They also break after. | Only the caller knows whether a second send is safe. |
//!
//! All other messages may arrive late or out of order.
//!
//! ```
//! use hashroute::redis::{ClusterNode, SlotRule, Table};
//! use hashroute_harness::sim::{Event, Operation, World};
//!
//! let nodes = ["a", "b", "c"].map(|id| ClusterNode::new(id));
//! let mut nodes = nodes.into_iter().collect::<Result<Vec<_>, _>>()?;
//! nodes.push(ClusterNode::new("d")?.with_primary("a"));
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
