//! What a client does: where a command goes first, and where next.
//!
//! The map may be stale at any time; servers correct it. A client sends each command where
//! [`Call::to`] says and tells [`SlotMap::after`] what came back, until that says that the answer
//! is the caller's. When the map [is stale](SlotMap::is_stale), it should ask any server for
//! `CLUSTER SHARDS` or `CLUSTER SLOTS` in the meantime and [refill](SlotMap::refill) the map.
//!
//! | what came back | map | next |
//! |---|---|---|
//! | `MOVED` | corrected, stale | there, at once |
//! | `ASK` | as it was | there, with `ASKING`, this once |
//! | `TRYAGAIN` | as it was | the owner, after a wait |
//! | `CLUSTERDOWN`, loading | stale | another server, after a wait |
//! | no connection | stale | another server, after a wait |
//! | connection lost behind the command | stale | the same if it may be repeated, else an end |
//! | `CROSSSLOT` | as it was | an end |
//! | a redirection to where it has been | as above | there, after a wait |

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use super::{Address, Patience, Redirect, SlotRule, Table};
use crate::Error;

/// Which server a client believes to own each slot.
///
/// | lookup | memory | correction |
/// |---|---|---|
/// | O(1) | 8 B a slot and the addresses | O(log n) |
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
    /// Indexes in `nodes`.
    owners: Vec<Option<u32>>,
    /// Replicas of each of `nodes`.
    replicas: Vec<Vec<Address>>,
    patience: Patience,
    stale: bool,
}

/// A command under way.
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
    /// How many servers it was sent to for want of a better one.
    others: usize,
    looped: bool,
    /// Where it has been since the last wait, at most [`MAX_TRAIL`].
    trail: Vec<(Address, bool)>,
}

/// Redirections in a row that are remembered.
const MAX_TRAIL: usize = 32;

impl Call {
    /// The slot of its keys, if it has any.
    ///
    /// ```
    /// # use hashroute::redis::{Address, SlotMap, SlotRule};
    /// let map = SlotMap::new(SlotRule::REDIS, [Address::new("a", 1)])?;
    /// assert_eq!(map.start([b""; 0])?.slot(), None);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub const fn slot(&self) -> Option<u32> {
        self.slot
    }

    /// Where to send it now.
    ///
    /// ```
    /// # use hashroute::redis::{Address, SlotMap, SlotRule};
    /// let map = SlotMap::new(SlotRule::REDIS, [Address::new("a", 1)])?;
    /// assert_eq!(map.start([b"foo"])?.to(), &Address::new("a", 1));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub const fn to(&self) -> &Address {
        &self.to
    }

    /// Whether to send `ASKING` right before it.
    ///
    /// ```
    /// # use hashroute::redis::{Address, SlotMap, SlotRule};
    /// let map = SlotMap::new(SlotRule::REDIS, [Address::new("a", 1)])?;
    /// assert!(!map.start([b"foo"])?.is_asking());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub const fn is_asking(&self) -> bool {
        self.asking
    }

    /// How often it was or is being sent.
    ///
    /// ```
    /// # use hashroute::redis::{Address, SlotMap, SlotRule};
    /// let map = SlotMap::new(SlotRule::REDIS, [Address::new("a", 1)])?;
    /// assert_eq!(map.start([b"foo"])?.sent(), 1);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub const fn sent(&self) -> u32 {
        self.sent
    }

    /// The same as one that may be sent again although it may have been done: a read, a `SET`,
    /// but no `INCR`.
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

/// What came back.
///
/// ```
/// assert_ne!(hashroute::redis::Outcome::Answer, hashroute::redis::Outcome::Lost);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome<'o> {
    /// A reply that is no error.
    Answer,
    /// An error, as it is on the wire.
    Error(&'o str),
    /// No connection: the command was not sent.
    Refused,
    /// The connection was lost behind the command: it may have been done.
    Lost,
}

/// What a client does next.
///
/// ```
/// assert_ne!(hashroute::redis::Next::Done, hashroute::redis::Next::Send { wait: 0 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Next {
    /// The answer, or the error, is the caller's.
    Done,
    /// Send it where [`Call::to`] says now.
    Send {
        /// Sleep so long before, in milliseconds; 0 for at once.
        wait: u64,
    },
    /// Give up.
    GiveUp(Stop),
}

/// Why a client gives up.
///
/// ```
/// let text = hashroute::redis::Stop::CrossSlot.to_string();
/// assert!(text.contains("slot"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// The keys are not in one slot.
    CrossSlot,
    /// It was sent as often as [`Patience::sends`] allows.
    Patience,
    /// The same, and servers sent it in circles.
    Loop,
    /// It may have been done, and must not be done twice.
    Uncertain,
}

impl core::fmt::Display for Stop {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::CrossSlot => "the keys are not in one slot: give them the same {tag}, or send a request for each",
            Self::Patience => "the cluster did not serve the slot in the tries that were allowed: wait, or allow more",
            Self::Loop => "servers send the request in circles: look whether they agree about the slot's owner",
            Self::Uncertain => "the connection was lost behind a command that must not be done twice: see what it did",
        })
    }
}

impl SlotMap {
    /// The most servers that are remembered.
    ///
    /// ```
    /// assert_eq!(hashroute::redis::SlotMap::MAX_NODES, 65_536);
    /// ```
    pub const MAX_NODES: usize = Table::MAX_NODES;

    /// A map that knows nothing but whom to ask: it is stale from the start.
    ///
    /// # Errors
    ///
    /// [`Error::Parameter`] without an address that one can connect to.
    ///
    /// ```
    /// use hashroute::redis::{SlotMap, SlotRule};
    ///
    /// assert!(SlotMap::new(SlotRule::REDIS, []).is_err());
    /// ```
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

    /// The same with other limits.
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

    /// Takes the owners from a table that a server printed, and is fresh again. Servers that the
    /// table does not name are remembered, in case that it is the table that is wrong; but where
    /// there are more than the table's and 64, they are forgotten. O(slots + n log n).
    ///
    /// # Errors
    ///
    /// [`Error::Parameter`] for a table with another number of slots.
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

    /// Whether it was found wrong since the last [`refill`](Self::refill): ask a server for its
    /// table when there is time.
    ///
    /// ```
    /// use hashroute::redis::{Address, SlotMap, SlotRule};
    ///
    /// assert!(SlotMap::new(SlotRule::REDIS, [Address::new("a", 1)])?.is_stale());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub const fn is_stale(&self) -> bool {
        self.stale
    }

    /// The servers it knows, in the order in which it met them.
    ///
    /// ```
    /// use hashroute::redis::{Address, SlotMap, SlotRule};
    ///
    /// let map = SlotMap::new(SlotRule::REDIS, [Address::new("a", 1)])?;
    /// assert_eq!(map.nodes(), [Address::new("a", 1)]);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn nodes(&self) -> &[Address] {
        &self.nodes
    }

    /// Who is believed to own a slot. O(1).
    ///
    /// ```
    /// use hashroute::redis::{Address, SlotMap, SlotRule};
    ///
    /// let map = SlotMap::new(SlotRule::REDIS, [Address::new("a", 1)])?;
    /// assert_eq!(map.owner(0), None);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn owner(&self, slot: u32) -> Option<&Address> {
        let index = (*self.owners.get(slot as usize)?)?;
        self.nodes.get(index as usize)
    }

    /// Who is believed to copy the owner of a slot: they serve reads behind `READONLY`. O(1).
    ///
    /// ```
    /// use hashroute::redis::{Address, SlotMap, SlotRule};
    ///
    /// let map = SlotMap::new(SlotRule::REDIS, [Address::new("a", 1)])?;
    /// assert!(map.replicas(0).is_empty());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn replicas(&self, slot: u32) -> &[Address] {
        let index = self.owners.get(slot as usize).copied().flatten();
        let list = index.and_then(|index| self.replicas.get(index as usize));
        list.map_or(&[], Vec::as_slice)
    }

    /// Begins a command with these keys: at the owner of their slot, or at anybody where that is
    /// not known or there are no keys. Linear in the keys.
    ///
    /// # Errors
    ///
    /// [`Error::CrossSlot`] for keys that do not share a slot: no server would take them.
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

    /// What to do after what came back; where to send next is in the call. After at most
    /// [`Patience::sends`] times it gives up. O(log n + sends).
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
            // The server knows who, but not what to tell us: another table may.
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
        // Nobody honest sends a command through so many servers either.
        let been = been || call.trail.len() >= MAX_TRAIL;
        if been {
            call.looped = true;
            return self.send(call, true);
        }
        self.send(call, false)
    }

    /// The keys will be together again: where the slot's owner is.
    fn to_owner(&self, call: &mut Call) -> Next {
        let owner = call.slot.and_then(|slot| self.owner(slot));
        call.looped = false;
        // A redirection may know better than the map, but `ASKING` counts once.
        match (owner, call.asking) {
            (Some(owner), true) => call.to = owner.clone(),
            (None, true) => return self.turn(call),
            _ => {}
        }
        call.asking = false;
        self.send(call, true)
    }

    /// This server does not help: the believed owner and, in turn with it, all others.
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

    /// The next of all servers in a circle, which begins behind the owner and leaves it out: the
    /// owner has its turns between the others.
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

    /// Returns the index of an address, which is remembered if there is room.
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

/// Where a command begins whose owner is not known: not all at the same server.
fn anywhere(slot: Option<u32>, count: usize) -> usize {
    slot.unwrap_or(0) as usize % count.max(1)
}
