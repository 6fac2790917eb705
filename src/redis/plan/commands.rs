//! The commands that carry out a plan.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use super::{Move, SlotPlan, State};
use crate::redis::claims::push;
use crate::redis::{Address, Role, SlotRange, Table};
use crate::{Error, Refusal};

/// The maximum number of ranges in one command, so that the length of a line is bounded.
const RANGES: usize = 256;

/// One action at one server.
///
/// `Display` writes it for an operator: `host:port> COMMAND ..`.
///
/// ```
/// use hashroute::redis::{Action, Address};
///
/// let action = Action::Send { at: Address::new("10.0.0.1", 6379), command: "PING".into() };
/// assert_eq!(action.to_string(), "10.0.0.1:6379> PING");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// Sends a command; an error stops the plan.
    Send {
        /// The server.
        at: Address,
        /// The command, in one line.
        command: Box<str>,
    },
    /// Moves the keys of a slot: while the answer to `count` is above 0, send `list`, then `migrate`
    /// with the keys from the answer to `list` appended.
    Empty {
        /// The server: the source.
        at: Address,
        /// `CLUSTER GETKEYSINSLOT`.
        list: Box<str>,
        /// `MIGRATE .. KEYS`, without the keys.
        migrate: Box<str>,
        /// `CLUSTER COUNTKEYSINSLOT`.
        count: Box<str>,
    },
    /// Starts an atomic move: send `import`, then `status` with the task id from its answer
    /// appended, until the state of the task is `completed`. The states `failed` and `canceled` are
    /// final and stop the plan.
    Import {
        /// The server: the target.
        at: Address,
        /// `CLUSTER MIGRATION IMPORT`.
        import: Box<str>,
        /// `CLUSTER MIGRATION STATUS ID`, without the id.
        status: Box<str>,
    },
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Send { at, command } => write!(f, "{at}> {command}"),
            Self::Empty {
                at,
                list,
                migrate,
                count,
            } => write!(
                f,
                "{at}> {list}\n{at}> {migrate} <keys>\n{at}> {count}  # while more than 0, again"
            ),
            Self::Import { at, import, status } => write!(
                f,
                "{at}> {import}\n{at}> {status} <task>  # until the state is completed; stop if it is failed or canceled"
            ),
        }
    }
}

impl SlotPlan {
    /// Returns the classic commands for a range of moves. For each slot: `IMPORTING` at the target,
    /// `MIGRATING` at the source, the keys in batches of `batch`, then `SETSLOT NODE` at the target,
    /// at the source, and at the other primaries. In this order the slot always has an owner. A
    /// crash leaves the slot open, not lost, and all commands can be sent again. `timeout` is the
    /// timeout of a `MIGRATE`, in milliseconds. O(moves x primaries).
    ///
    /// A primary that gives its last slot away gets no command after the target owns the slot: the
    /// claim of the target makes it a replica (`cluster-allow-replica-migration yes`, the default),
    /// and a replica refuses `SETSLOT`. Until the claim arrives it redirects clients by `ASK`. With
    /// `cluster-allow-replica-migration no` it stays a primary and may keep its mark for that slot;
    /// [`stable`](Self::stable) removes it.
    ///
    /// `MIGRATE` stops with `BUSYKEY` at a key that the target already has. The commands do not use
    /// `REPLACE`, because it would overwrite the newer value. They contain no password either: if
    /// servers need one, add `AUTH` or `AUTH2` to `MIGRATE` before `KEYS`.
    ///
    /// Source: Redis Cluster specification, "Live reconfiguration"; the commands were run against
    /// Redis 7.0.15.
    ///
    /// # Errors
    ///
    /// Those of [`progress`](Self::progress); [`Error::Parameter`] for a batch of 0, for moves
    /// beyond the plan, or for a node without a known address.
    ///
    /// ```
    /// use hashroute::redis::{Goal, SlotPlan, SlotRule, Table};
    ///
    /// let text = "a 10.0.0.1:1@2 master - 0 0 1 connected 0-16383\nb 10.0.0.2:1@2 master - 0 0 2 connected";
    /// let table = Table::from_text(text, SlotRule::REDIS)?;
    /// let plan = SlotPlan::new(&table, &Goal::new().with_weight("b", 1))?;
    /// let actions = plan.classic(&table, 0..1, 100, 5000)?;
    /// let lines: Vec<_> = actions.iter().map(ToString::to_string).collect();
    /// assert_eq!(lines[0], "10.0.0.2:1> CLUSTER SETSLOT 0 IMPORTING a");
    /// assert_eq!(lines[1], "10.0.0.1:1> CLUSTER SETSLOT 0 MIGRATING b");
    /// assert!(lines[2].contains("10.0.0.1:1> MIGRATE 10.0.0.2 1 \"\" 0 5000 KEYS <keys>"));
    /// assert_eq!(lines[3], "10.0.0.2:1> CLUSTER SETSLOT 0 NODE b");
    /// assert_eq!(lines[4], "10.0.0.1:1> CLUSTER SETSLOT 0 NODE b");
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn classic(
        &self,
        table: &Table,
        moves: Range<usize>,
        batch: u32,
        timeout: u32,
    ) -> Result<Vec<Action>, Error> {
        check_batch(batch)?;
        let mut actions = Vec::new();
        let mut drained = self.drained_before(moves.start);
        for (at, step) in self.some(table, moves)? {
            if self.drains.binary_search(&at).is_ok() {
                drained.extend(step.from);
            }
            move_slot(&mut actions, table, &step, &drained, (batch, timeout))?;
        }
        Ok(actions)
    }

    /// Returns the atomic commands for a range of moves, for Redis 8.4 and later. Each pair of
    /// source and target has its own `CLUSTER MIGRATION IMPORT` at the target, because a task has
    /// one source; a command has up to 256 ranges. O(moves).
    ///
    /// Source: Redis documentation, `CLUSTER MIGRATION`.
    ///
    /// # Errors
    ///
    /// Those of [`classic`](Self::classic), except for the batch; [`Error::Unsupported`] for a slot
    /// with a mark, because these servers refuse it: finish it by the classic commands.
    ///
    /// ```
    /// use hashroute::redis::{Goal, SlotPlan, SlotRule, Table};
    ///
    /// let text = "a 10.0.0.1:1@2 master - 0 0 1 connected 0-16383\nb 10.0.0.2:1@2 master - 0 0 2 connected";
    /// let table = Table::from_text(text, SlotRule::REDIS)?;
    /// let plan = SlotPlan::new(&table, &Goal::even(&table))?;
    /// let actions = plan.atomic(&table, 0..plan.len())?;
    /// assert!(actions[0].to_string().starts_with("10.0.0.2:1> CLUSTER MIGRATION IMPORT 8192 16383"));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn atomic(&self, table: &Table, moves: Range<usize>) -> Result<Vec<Action>, Error> {
        let mut pairs: BTreeMap<(Option<&str>, &str), Vec<u32>> = BTreeMap::new();
        for (_, step) in self.some(table, moves)? {
            if table.marks.contains_key(&step.slot) {
                return Err(Error::Unsupported {
                    what: Refusal::AtomicMoveBegun,
                    advice: "finish it with the classic commands",
                });
            }
            pairs
                .entry((step.from, step.to))
                .or_default()
                .push(step.slot);
        }
        let mut actions = Vec::new();
        for ((from, to), mut slots) in pairs {
            slots.sort_unstable();
            let mut ranges: Vec<SlotRange> = Vec::new();
            for slot in slots {
                push(&mut ranges, slot);
            }
            let at = address(table, to)?;
            for ranges in ranges.chunks(RANGES) {
                let words = ranges
                    .iter()
                    .map(|range| format!(" {} {}", range.start(), range.end()));
                let words: String = words.collect();
                actions.push(match from {
                    None => send(&at, format!("CLUSTER ADDSLOTSRANGE{words}")),
                    Some(_) => Action::Import {
                        at: at.clone(),
                        import: format!("CLUSTER MIGRATION IMPORT{words}").into(),
                        status: "CLUSTER MIGRATION STATUS ID".into(),
                    },
                });
            }
        }
        Ok(actions)
    }

    /// Returns the nodes that have no slot left after this many moves.
    fn drained_before(&self, moves: usize) -> BTreeSet<&str> {
        let drains = self.drains.iter().take_while(|at| **at < moves);
        let sources = drains.filter_map(|at| self.steps.get(*at)).map(|s| s.from);
        let drained = sources.chain(self.drained.iter().copied());
        let ids = drained.filter_map(|node| self.ids.get(node as usize));
        ids.map(|id| &**id).collect()
    }

    /// Returns a range of moves, each with its index, without those that are done.
    fn some(&self, table: &Table, moves: Range<usize>) -> Result<Vec<(usize, Move<'_>)>, Error> {
        let Some(steps) = self.steps.get(moves.clone()) else {
            let value = format!("{}..{}", moves.start, moves.end);
            let expected = format!("a range within 0..{}", self.len());
            return Err(Error::parameter("moves", value, expected));
        };
        self.check(table, steps)?;
        let steps = moves.zip(steps.iter().map(|step| self.show(step)));
        let left = steps.filter(|(_, step)| State::of(step, table) != State::Done);
        Ok(left.collect())
    }
}

/// Adds the commands of one move. `drained` are the nodes without slots after it.
fn move_slot(
    actions: &mut Vec<Action>,
    table: &Table,
    step: &Move<'_>,
    drained: &BTreeSet<&str>,
    (batch, timeout): (u32, u32),
) -> Result<(), Error> {
    let (slot, to) = (step.slot, step.to);
    let target = address(table, to)?;
    let Some(from) = step.from else {
        actions.push(send(&target, format!("CLUSTER ADDSLOTS {slot}")));
        return Ok(());
    };
    let source = address(table, from)?;
    // If the target already owns the slot, an earlier run got that far: only the last commands are
    // missing.
    let is_given = table.owner(slot).is_some_and(|owner| owner.id() == to);
    if !is_given {
        actions.push(send(
            &target,
            format!("CLUSTER SETSLOT {slot} IMPORTING {from}"),
        ));
        actions.push(send(
            &source,
            format!("CLUSTER SETSLOT {slot} MIGRATING {to}"),
        ));
    }
    actions.push(empty(&source, &target, slot, batch, timeout));
    let last = format!("CLUSTER SETSLOT {slot} NODE {to}");
    actions.push(send(&target, last.clone()));
    // A drained source becomes a replica and refuses the command. One that is still a primary
    // although the target owns the slot stays one, and needs the command to remove its mark.
    let is_primary = table
        .node(from)
        .is_some_and(|node| node.role() == Role::Primary);
    if is_primary && (is_given || !drained.contains(from)) {
        actions.push(send(&source, last.clone()));
    }
    let others = table.nodes().iter().filter(|node| {
        let works = !node.flags().failed && node.address().is_known();
        let is_told = ![from, to].contains(&node.id()) && !drained.contains(node.id());
        node.role() == Role::Primary && works && is_told
    });
    actions.extend(others.map(|node| send(node.address(), last.clone())));
    Ok(())
}

/// Returns the action that moves all keys of a slot from one server to another.
pub(super) fn empty(from: &Address, to: &Address, slot: u32, batch: u32, timeout: u32) -> Action {
    let (host, port) = (to.host(), to.port());
    Action::Empty {
        at: from.clone(),
        list: format!("CLUSTER GETKEYSINSLOT {slot} {batch}").into(),
        migrate: format!("MIGRATE {host} {port} \"\" 0 {timeout} KEYS").into(),
        count: format!("CLUSTER COUNTKEYSINSLOT {slot}").into(),
    }
}

pub(super) fn check_batch(batch: u32) -> Result<(), Error> {
    if batch == 0 {
        return Err(Error::parameter("batch", batch, "at least 1 key"));
    }
    Ok(())
}

pub(super) fn send(at: &Address, command: String) -> Action {
    Action::Send {
        at: at.clone(),
        command: command.into(),
    }
}

pub(super) fn address(table: &Table, id: &str) -> Result<Address, Error> {
    let node = &table.nodes()[table.known(id)?];
    if node.address().is_known() {
        return Ok(node.address().clone());
    }
    Err(Error::parameter(
        "address of node",
        id,
        "a host and a port that a client can connect to",
    ))
}
