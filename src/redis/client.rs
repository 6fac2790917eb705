//! The decisions of a client: where to send a command first, and where next.
//!
//! The map may be stale at any time; the answers of servers correct it. A client sends each command
//! to [`Call::to`] and passes the outcome to [`SlotMap::after`], until that returns
//! [`Next::Done`] or [`Next::GiveUp`]. When the map [is stale](SlotMap::is_stale), the client should
//! ask any server for `CLUSTER SHARDS` or `CLUSTER SLOTS` and [refill](SlotMap::refill) the map.
//!
//! | outcome | map | next send |
//! |---|---|---|
//! | `MOVED` | corrected, stale | to the server named, at once |
//! | `ASK` | unchanged | to the server named, behind `ASKING`, for this command only |
//! | `TRYAGAIN` | unchanged | to the owner, after a wait |
//! | `CLUSTERDOWN`, loading | stale | to another server, after a wait |
//! | no connection | stale | to another server, after a wait |
//! | connection lost after the command was sent | stale | to another server, after a wait, if the command may be repeated; else none |
//! | `CROSSSLOT` | unchanged | none |
//! | a redirection to a server that was already asked | as above | to that server, after a wait |

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use super::{Address, Patience, Redirect, SlotRule, Table};
use crate::Error;

/// The owner of each slot, as far as a client knows.
///
/// | lookup | memory | correction |
/// |---|---|---|
/// | O(1) | 8 B for each slot and the addresses | O(log n) |
///
/// ```
/// use hashroute::redis::{Address, Next, Outcome, SlotMap, SlotRule};
///
/// let seed = Address::new("10.0.0.1", 6379);
/// let mut map = SlotMap::new(SlotRule::REDIS, [seed])?;
/// let mut call = map.start([b"foo"])?;
/// assert_eq!(call.to().host(), "10.0.0.1");
/// let next = map.after(&mut call, Outcome::Error("MOVED 12182 10.0.0.3:6379"));
/// assert_eq!((next, call.to().host()), (Next::Send { wait: 0 }, "10.0.0.3"));
/// assert_eq!(map.after(&mut call, Outcome::Answer), Next::Done);
/// assert_eq!(map.start([b"foo"])?.to().host(), "10.0.0.3");
/// assert!(map.is_stale());
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SlotMap {
    rule: SlotRule,
    nodes: Vec<Address>,
    indexes: BTreeMap<Address, usize>,
    /// For each slot the index of its owner in `nodes`.
    owners: Vec<Option<u32>>,
    /// For each of `nodes` its replicas.
    replicas: Vec<Vec<Address>>,
    patience: Patience,
    stale: bool,
}

/// A command that is being sent, with its retries.
///
/// ```
/// use hashroute::redis::{Address, SlotMap, SlotRule};
///
/// let map = SlotMap::new(SlotRule::REDIS, [Address::new("10.0.0.1", 6379)])?;
/// let call = map.start([b"foo"])?;
/// assert_eq!((call.slot(), call.is_asking(), call.sent()), (Some(12_182), false, 1));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    slot: Option<u32>,
    to: Address,
    asking: bool,
    repeatable: bool,
    sent: u32,
    waits: u32,
    /// The number of times it was sent to the next server in turn, because no owner was known or
    /// the owner did not help.
    others: usize,
    looped: bool,
    /// The servers that it was sent to since the last wait, each with whether `ASKING` was sent;
    /// at most [`MAX_TRAIL`].
    trail: Vec<(Address, bool)>,
}

/// The maximum number of redirections without a wait.
const MAX_TRAIL: usize = 32;

impl Call {
    /// Returns the slot of its keys; `None` without keys.
    pub const fn slot(&self) -> Option<u32> {
        self.slot
    }

    /// Returns the server to send it to now.
    pub const fn to(&self) -> &Address {
        &self.to
    }

    /// Returns whether to send `ASKING` right before it.
    pub const fn is_asking(&self) -> bool {
        self.asking
    }

    /// Returns the number of sends, including the current one.
    pub const fn sent(&self) -> u32 {
        self.sent
    }

    /// Allows to send the command again after a lost connection, although the server may have run
    /// it. Right for a read or a `SET`, wrong for an `INCR`.
    ///
    /// ```
    /// # use hashroute::redis::{Address, Next, Outcome, SlotMap, SlotRule};
    /// let mut map = SlotMap::new(SlotRule::REDIS, [Address::new("a", 1)])?;
    /// let mut call = map.start([b"foo"])?.repeatable();
    /// assert_eq!(map.after(&mut call, Outcome::Lost), Next::Send { wait: 10 });
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    #[must_use]
    pub fn repeatable(mut self) -> Self {
        self.repeatable = true;
        self
    }
}

/// The outcome of a send.
///
/// ```
/// use hashroute::redis::{Address, Next, Outcome, SlotMap, SlotRule, Stop};
///
/// let mut map = SlotMap::new(SlotRule::REDIS, [Address::new("a", 1)])?;
/// let mut call = map.start([b"foo"])?;
/// // The server may have run the command, so it is not sent again.
/// assert_eq!(map.after(&mut call, Outcome::Lost), Next::GiveUp(Stop::Uncertain));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome<'o> {
    /// The server sent a reply that is no error.
    Answer,
    /// The server sent this error, as it is on the wire.
    Error(&'o str),
    /// There was no connection; the command was not sent.
    Refused,
    /// The connection was lost after the command was sent; the server may have run it.
    Lost,
}

/// The next action of a client.
///
/// ```
/// use hashroute::redis::{Address, Next, Outcome, SlotMap, SlotRule};
///
/// let mut map = SlotMap::new(SlotRule::REDIS, [Address::new("a", 1)])?;
/// let mut call = map.start([b"foo"])?;
/// let wait = match map.after(&mut call, Outcome::Error("CLUSTERDOWN Hash slot not served")) {
///     Next::Send { wait } => wait, // sleep, then send to `call.to()`
///     _ => 0,
/// };
/// assert_eq!(wait, 10);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Next {
    /// Hand the answer or the error to the caller.
    Done,
    /// Send the command to [`Call::to`].
    Send {
        /// The wait before it, in milliseconds; 0 for none.
        wait: u64,
    },
    /// Give up.
    GiveUp(Stop),
}

/// The reason why a client gives up.
///
/// ```
/// let text = hashroute::redis::Stop::CrossSlot.to_string();
/// assert!(text.contains("slot"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// The keys are in different slots.
    CrossSlot,
    /// All sends that [`Patience::sends`] allows were used.
    Patience,
    /// All sends were used, and servers redirected the command in a circle.
    Loop,
    /// The server may have run the command, and it must not run twice.
    Uncertain,
}

impl core::fmt::Display for Stop {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::CrossSlot => "the keys are in different slots: give them the same {tag}, or send one request for each",
            Self::Patience => "the cluster did not serve the slot within the allowed sends: wait, or allow more sends",
            Self::Loop => "servers redirect the request in a circle: check whether they agree on the owner of the slot",
            Self::Uncertain => "the connection was lost after a command that must not run twice: check its effect",
        })
    }
}

impl SlotMap {
    /// The maximum number of servers in the map.
    pub const MAX_NODES: usize = Table::MAX_NODES;

    /// Builds a map without owners from the first servers to ask. It is stale from the start.
    ///
    /// # Errors
    ///
    /// [`Error::Parameter`] without at least one address that a client can connect to.
    pub fn new(rule: SlotRule, seeds: impl IntoIterator<Item = Address>) -> Result<Self, Error> {
        let mut map = Self {
            nodes: Vec::new(),
            indexes: BTreeMap::new(),
            owners: vec![None; rule.slots() as usize],
            replicas: Vec::new(),
            patience: Patience::default(),
            stale: true,
            rule,
        };
        for seed in seeds.into_iter().filter(Address::is_known) {
            map.index_of(&seed);
        }
        if map.nodes.is_empty() {
            return Err(Error::parameter(
                "seeds",
                "none",
                "at least one host:port to ask",
            ));
        }
        Ok(map)
    }

    /// Sets the retry limits.
    ///
    /// ```
    /// use hashroute::redis::{Address, Next, Outcome, Patience, SlotMap, SlotRule, Stop};
    ///
    /// let once = Patience::default().with_sends(1);
    /// let mut map = SlotMap::new(SlotRule::REDIS, [Address::new("a", 1)])?.with_patience(once);
    /// let mut call = map.start([b"foo"])?;
    /// assert_eq!(map.after(&mut call, Outcome::Refused), Next::GiveUp(Stop::Patience));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    #[must_use]
    pub fn with_patience(mut self, patience: Patience) -> Self {
        self.patience = patience;
        self
    }

    /// Takes the owners from a table; the map is no longer stale. Servers that the table does not
    /// name are kept, in case the table is wrong, but dropped if there are more than 64 of them.
    /// O(slots + n log n).
    ///
    /// # Errors
    ///
    /// [`Error::Parameter`] if the table has another number of slots.
    ///
    /// ```
    /// use hashroute::redis::{Address, SlotMap, SlotRule, Table};
    ///
    /// let mut map = SlotMap::new(SlotRule::REDIS, [Address::new("10.0.0.9", 6379)])?;
    /// let table = Table::from_text("07c3 10.0.0.1:6379@16379 master - 0 0 1 connected 0-16383", SlotRule::REDIS)?;
    /// map.refill(&table)?;
    /// assert!(!map.is_stale());
    /// assert_eq!(map.owner(0), Some(&Address::new("10.0.0.1", 6379)));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn refill(&mut self, table: &Table) -> Result<(), Error> {
        if table.rule().slots() != self.rule.slots() {
            let expected = alloc::format!("a table of {} slots", self.rule.slots());
            return Err(Error::parameter("slots", table.rule().slots(), expected));
        }
        // A table without any address (unknown endpoints) must not cost the client its last servers.
        let names_any = table.nodes().iter().any(|node| node.address().is_known());
        if names_any && self.nodes.len() > table.nodes().len() + 64 {
            self.nodes.clear();
            self.indexes.clear();
        }
        self.replicas.clear();
        for (range, owner) in table.runs() {
            let owner = owner.filter(|owner| owner.address().is_known());
            let index = owner.and_then(|owner| self.index_of(owner.address()));
            self.owners[*range.start() as usize..=*range.end() as usize].fill(index);
        }
        self.replicas.resize_with(self.nodes.len(), Vec::new);
        for node in table.nodes() {
            let primary = node.primary().and_then(|id| table.node(id));
            let index = primary.and_then(|primary| self.indexes.get(primary.address()));
            let serves = node.address().is_known() && !node.flags().failed;
            if let (Some(index), true) = (index, serves) {
                self.replicas[*index].push(node.address().clone());
            }
        }
        self.stale = false;
        Ok(())
    }

    /// Returns whether an outcome has contradicted the map since the last
    /// [`refill`](Self::refill). If so, ask a server for its table when there is time.
    pub const fn is_stale(&self) -> bool {
        self.stale
    }

    /// Returns the known servers, in the order in which they were added.
    pub fn nodes(&self) -> &[Address] {
        &self.nodes
    }

    /// Returns the server that owns a slot according to the map. O(1).
    pub fn owner(&self, slot: u32) -> Option<&Address> {
        let index = (*self.owners.get(slot as usize)?)?;
        self.nodes.get(index as usize)
    }

    /// Returns the replicas of the owner of a slot according to the map. They serve reads after
    /// `READONLY`. O(1).
    pub fn replicas(&self, slot: u32) -> &[Address] {
        let index = self.owners.get(slot as usize).copied().flatten();
        let list = index.and_then(|index| self.replicas.get(index as usize));
        list.map_or(&[], Vec::as_slice)
    }

    /// Starts a command with these keys at the owner of their slot, or at any server if the owner
    /// is not known or there are no keys. Linear in the keys.
    ///
    /// # Errors
    ///
    /// [`Error::CrossSlot`] for keys in different slots: every server would refuse them.
    ///
    /// ```
    /// use hashroute::redis::{Address, SlotMap, SlotRule};
    ///
    /// let map = SlotMap::new(SlotRule::REDIS, [Address::new("a", 1)])?;
    /// assert!(map.start(["foo", "bar"]).is_err());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn start<K: AsRef<[u8]>>(&self, keys: impl IntoIterator<Item = K>) -> Result<Call, Error> {
        let slot = self.rule.same_slot(keys)?;
        let owner = slot.and_then(|slot| self.owner(slot));
        let anybody = self.nodes.get(anywhere(slot, self.nodes.len()));
        let to = owner.or(anybody).cloned();
        Ok(Call {
            slot,
            to: to.unwrap_or_else(|| Address::new("", 0)),
            asking: false,
            repeatable: false,
            sent: 1,
            waits: 0,
            others: 0,
            looped: false,
            trail: Vec::new(),
        })
    }

    /// Decides what follows an outcome, and sets the next server in the call. Gives up after
    /// [`Patience::sends`] sends. O(log n + sends).
    ///
    /// ```
    /// use hashroute::redis::{Address, Next, Outcome, SlotMap, SlotRule, Stop};
    ///
    /// let mut map = SlotMap::new(SlotRule::REDIS, [Address::new("a", 1)])?;
    /// let mut call = map.start([b"foo"])?;
    /// let next = map.after(&mut call, Outcome::Error("ASK 12182 b:1"));
    /// assert_eq!((next, call.to().host(), call.is_asking()), (Next::Send { wait: 0 }, "b", true));
    /// assert_eq!(map.owner(12_182), None);
    /// let next = map.after(&mut call, Outcome::Error("CROSSSLOT Keys in request"));
    /// assert_eq!(next, Next::GiveUp(Stop::CrossSlot));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn after(&mut self, call: &mut Call, outcome: Outcome<'_>) -> Next {
        let redirect = match outcome {
            Outcome::Answer => return Next::Done,
            Outcome::Error(text) => match Redirect::parse(text, &call.to) {
                Some(redirect) => redirect,
                None => return Next::Done,
            },
            Outcome::Refused => return self.elsewhere(call),
            Outcome::Lost if call.repeatable => return self.elsewhere(call),
            Outcome::Lost => {
                self.stale = true;
                return Next::GiveUp(Stop::Uncertain);
            }
        };
        match redirect {
            Redirect::CrossSlot => Next::GiveUp(Stop::CrossSlot),
            Redirect::TryAgain => self.to_owner(call),
            Redirect::Moved { slot, to } => self.moved(call, slot, to),
            Redirect::Ask { to, .. } if to.is_known() => self.follow(call, to, true),
            Redirect::Ask { .. } | Redirect::Down | Redirect::Busy => self.elsewhere(call),
        }
    }

    fn moved(&mut self, call: &mut Call, slot: u32, to: Address) -> Next {
        self.stale = true;
        if !to.is_known() {
            // The server knows the owner but no address for clients (host `?`). Another server
            // may know one.
            return self.elsewhere(call);
        }
        let index = self.index_of(&to);
        if let (Some(owner), Some(_)) = (self.owners.get_mut(slot as usize), index) {
            *owner = index;
        }
        self.follow(call, to, false)
    }

    fn follow(&self, call: &mut Call, to: Address, asking: bool) -> Next {
        let here = (core::mem::replace(&mut call.to, to), call.asking);
        call.trail.push(here);
        call.asking = asking;
        let been = call
            .trail
            .iter()
            .any(|(to, asked)| *to == call.to && *asked == asking);
        // A longer chain is a fault as well, and the bound keeps the search of the trail short.
        let been = been || call.trail.len() >= MAX_TRAIL;
        if been {
            call.looped = true;
            return self.send(call, true);
        }
        self.send(call, false)
    }

    /// Sends to the owner of the slot, after a wait: the move ends there.
    fn to_owner(&self, call: &mut Call) -> Next {
        let owner = call.slot.and_then(|slot| self.owner(slot));
        call.looped = false;
        // Without `ASKING`, the call stays where it is: a `MOVED` may have sent it there, and that
        // is newer than the map. `ASKING` holds for one command, so the call leaves that server.
        match (owner, call.asking) {
            (Some(owner), true) => call.to = owner.clone(),
            (None, true) => return self.turn(call),
            _ => {}
        }
        call.asking = false;
        self.send(call, true)
    }

    /// Leaves a server that does not help: tries the owner and all other servers, in turns.
    fn elsewhere(&mut self, call: &mut Call) -> Next {
        self.stale = true;
        call.looped = false;
        self.turn(call)
    }

    fn turn(&self, call: &mut Call) -> Next {
        let owner = call.slot.and_then(|slot| self.owner(slot));
        let next = match owner {
            Some(owner) if *owner != call.to => Some(owner),
            _ => self.another(call, owner),
        };
        if let Some(next) = next {
            call.to = next.to_owned();
        }
        call.asking = false;
        self.send(call, true)
    }

    /// Returns the next server of a circle over all servers that starts after the owner and skips
    /// it: [`turn`](Self::turn) sends to the owner between the others.
    fn another(&self, call: &mut Call, owner: Option<&Address>) -> Option<&Address> {
        let count = self.nodes.len().max(1);
        let step = call.others;
        call.others += 1;
        let index = match owner.and_then(|owner| self.indexes.get(owner)) {
            Some(owner) => owner + 1 + step % count.saturating_sub(1).max(1),
            None => anywhere(call.slot, count) + 1 + step,
        };
        self.nodes.get(index % count)
    }

    fn send(&self, call: &mut Call, waits: bool) -> Next {
        if call.sent >= self.patience.sends {
            return Next::GiveUp(if call.looped {
                Stop::Loop
            } else {
                Stop::Patience
            });
        }
        call.sent += 1;
        if !waits {
            return Next::Send { wait: 0 };
        }
        call.trail.clear();
        call.waits += 1;
        Next::Send {
            wait: self.patience.wait(call.waits - 1),
        }
    }

    /// Returns the index of an address. Adds the address if it is new and there is room.
    fn index_of(&mut self, address: &Address) -> Option<u32> {
        if let Some(index) = self.indexes.get(address) {
            return u32::try_from(*index).ok();
        }
        if self.nodes.len() >= Self::MAX_NODES {
            return None;
        }
        self.indexes.insert(address.clone(), self.nodes.len());
        self.nodes.push(address.clone());
        u32::try_from(self.nodes.len() - 1).ok()
    }
}

/// Returns the index of the first server for a slot without a known owner. It differs by slot, so
/// that not all commands start at the same server.
fn anywhere(slot: Option<u32>, count: usize) -> usize {
    slot.unwrap_or(0) as usize % count.max(1)
}
