//! Clients: each with a map of its own, one command at a time.

use std::collections::BTreeMap;
use std::format;
use std::string::String;
use std::vec::Vec;

use hashroute::Error;
use hashroute::redis::{Address, Call, Command, Endpoint, Next, Outcome, Protocol, SlotMap, Table};

use super::World;

/// Milliseconds between two moments of a world's time, for clients that wait.
const TICK: u64 = 10;

/// What a client does with a key.
///
/// ```
/// use hashroute_harness::sim::Operation;
///
/// assert!(Operation::Swap.returns_values() && !Operation::Write.returns_values());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// `GET`.
    Read,
    /// `SET`.
    Write,
    /// `SET key value GET`: writes, and returns what was there.
    Swap,
    /// `DEL`.
    Delete,
}

/// What clients did and met, and what befell the servers.
///
/// ```
/// let counts = hashroute_harness::sim::Counts::default();
/// assert_eq!((counts.commands(), counts.sends), (0, 0));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Commands that read.
    pub reads: u64,
    /// Commands that write.
    pub writes: u64,
    /// Commands that delete.
    pub deletes: u64,
    /// Those of all these that have several keys.
    pub multi: u64,
    /// How often commands were sent.
    pub sends: u64,
    /// Answers `MOVED`: the client's map, or the server's view, was stale.
    pub moved: u64,
    /// Answers `ASK`: the key has moved already, its slot has not.
    pub ask: u64,
    /// Answers `TRYAGAIN`: one key of a command has moved, another has not.
    pub try_again: u64,
    /// Answers `CLUSTERDOWN`.
    pub down: u64,
    /// Other errors.
    pub other: u64,
    /// Commands that the client gave up.
    pub gave_up: u64,
    /// Maps that were filled anew.
    pub refreshes: u64,
    /// Commands by how often each was sent.
    pub attempts: BTreeMap<u32, u64>,
    /// Keys that were migrated.
    pub migrated: u64,
    /// Moves that were finished.
    pub finished: u64,
    /// Ends of moves that a failover interrupted, opened again at the heir.
    pub reopened: u64,
    /// Replicas that won an election.
    pub elected: u64,
    /// Replicas that lost one.
    pub denied: u64,
    /// Servers that lost their last slot, or whose primary did, and copied another from then on.
    pub followed: u64,
    /// Servers that came back as replicas of their heirs.
    pub returned: u64,
}

/// A command under way.
#[derive(Clone, Debug)]
struct Job {
    call: Call,
    operation: Operation,
    keys: Vec<u32>,
}

#[derive(Clone, Debug)]
pub(super) struct Client {
    map: SlotMap,
    job: Option<Job>,
    /// It waits until then.
    wakes: u64,
    /// Errors since the map was filled.
    redirected: u32,
}

/// What came of sending once.
pub(super) enum Sent {
    /// The command ended.
    Ended,
    /// The client sends it again at once.
    Again,
    /// The client sends it again after a wait. It was sent in circles, if a redirection made it
    /// wait.
    Waits { in_circles: bool },
}

enum Answer {
    Value,
    Error(String),
    NoConnection,
}

impl Operation {
    /// Returns whether the answer has the values of the keys.
    pub const fn returns_values(self) -> bool {
        matches!(self, Self::Read | Self::Swap)
    }

    const fn command(self) -> Command {
        match self {
            Self::Read => Command::Read,
            Self::Write | Self::Swap | Self::Delete => Command::Write,
        }
    }
}

impl Counts {
    /// Returns the number of commands.
    pub const fn commands(&self) -> u64 {
        self.reads + self.writes + self.deletes
    }

    fn begin(&mut self, operation: Operation, keys: usize) {
        *match operation {
            Operation::Read => &mut self.reads,
            Operation::Write | Operation::Swap => &mut self.writes,
            Operation::Delete => &mut self.deletes,
        } += 1;
        self.multi += u64::from(keys > 1);
    }

    fn meet(&mut self, error: &str) {
        *match error.split(' ').next() {
            Some("MOVED") => &mut self.moved,
            Some("ASK") => &mut self.ask,
            Some("TRYAGAIN") => &mut self.try_again,
            Some("CLUSTERDOWN") => &mut self.down,
            _ => &mut self.other,
        } += 1;
    }
}

impl Client {
    pub(super) fn new(map: SlotMap) -> Self {
        Self {
            map,
            job: None,
            wakes: 0,
            redirected: 0,
        }
    }

    pub(super) fn is_busy(&self) -> bool {
        self.job.is_some()
    }

    pub(super) fn is_waiting(&self, now: u64) -> bool {
        self.wakes > now
    }

    /// Returns the errors that it met since its map was filled.
    pub(super) fn redirected(&self) -> u32 {
        self.redirected
    }

    /// Returns whether its map has these owners, slot by slot.
    pub(super) fn knows(&self, owners: &[Option<Address>]) -> bool {
        let mut slots = (0..).zip(owners);
        slots.all(|(slot, owner)| self.map.owner(slot) == owner.as_ref())
    }

    pub(super) fn refill(&mut self, table: &Table) -> Result<(), Error> {
        self.redirected = 0;
        self.map.refill(table)
    }
}

/// Clients.
impl World {
    /// Fills a client's map with what a server answers to `CLUSTER SLOTS`, if it is up. It may not
    /// have heard of the last moves either.
    pub(super) fn refresh(&mut self, client: usize, server: usize) -> Result<(), Error> {
        if self.servers[server].up {
            self.refill(client, server)?;
            self.counts.refreshes += 1;
        }
        Ok(())
    }

    pub(super) fn refill(&mut self, client: usize, server: usize) -> Result<(), Error> {
        let view = self.servers[server].view();
        let reply = view.to_slots(Endpoint::Ip, Protocol::Resp2);
        let table = Table::from_slots(&reply, view.rule().clone(), None)?;
        self.clients[client].refill(&table)
    }

    /// Begins a command, which is sent by [`send`](Self::send); a client that is busy does nothing.
    pub(super) fn begin(
        &mut self,
        client: usize,
        operation: Operation,
        keys: &[u32],
    ) -> Result<(), Error> {
        if !self.clients[client].is_busy() {
            let names = keys.iter().map(|key| self.keys.name(*key));
            let call = self.clients[client].map.start(names)?;
            self.counts.begin(operation, keys.len());
            self.clients[client].job = Some(Job {
                call,
                operation,
                keys: keys.to_vec(),
            });
        }
        Ok(())
    }

    /// Sends the client's command once.
    pub(super) fn send(&mut self, client: usize) -> Result<Sent, Error> {
        let Some(mut job) = self.clients[client].job.take() else {
            return Ok(Sent::Ended);
        };
        self.counts.sends += 1;
        let answer = self.answer(&job)?;
        let client = &mut self.clients[client];
        client.redirected += u32::from(matches!(answer, Answer::Error(_)));
        let next = client.map.after(&mut job.call, answer.outcome());
        if let Next::Send { wait } = next {
            client.wakes = self.now + wait.div_ceil(TICK);
            client.job = Some(job);
            let in_circles = answer.is_redirection();
            return Ok(match wait {
                0 => Sent::Again,
                _ => Sent::Waits { in_circles },
            });
        }
        self.end_call(&job.call, matches!(answer, Answer::Value));
        Ok(Sent::Ended)
    }

    /// Lets the server that the call is for answer it, and do what it asks.
    fn answer(&mut self, job: &Job) -> Result<Answer, Error> {
        let server = self.by_address.get(job.call.to()).copied();
        let Some(server) = server.filter(|server| self.servers[*server].up) else {
            return Ok(Answer::NoConnection);
        };
        let asking = job.call.is_asking();
        let decision = self.decide(server, job.operation.command(), &job.keys, asking)?;
        if let Some(error) = decision.wire(Endpoint::Ip) {
            self.counts.meet(&error);
            return Ok(Answer::Error(error));
        }
        for key in &job.keys {
            self.execute(server, job.operation, *key);
        }
        Ok(Answer::Value)
    }

    fn execute(&mut self, server: usize, operation: Operation, key: u32) {
        if operation.returns_values() {
            self.check_read(server, key);
        }
        match operation {
            Operation::Read => {}
            Operation::Write | Operation::Swap => self.write(server, key),
            Operation::Delete => self.data.delete(server, self.keys.entry(key)),
        }
    }

    pub(super) fn write(&mut self, server: usize, key: u32) {
        self.data.write(server, self.keys.entry(key));
        self.check_only_copy(key);
    }

    fn end_call(&mut self, call: &Call, is_answered: bool) {
        let sent = call.sent();
        *self.counts.attempts.entry(sent).or_default() += 1;
        self.counts.gave_up += u64::from(!is_answered);
        let found = || format!("a command was sent {sent} times");
        self.laws.answered.check(is_answered, found);
    }
}

impl Answer {
    fn is_redirection(&self) -> bool {
        let words = ["MOVED ", "ASK "];
        matches!(self, Self::Error(text) if words.iter().any(|word| text.starts_with(word)))
    }

    fn outcome(&self) -> Outcome<'_> {
        match self {
            Self::Value => Outcome::Answer,
            Self::Error(text) => Outcome::Error(text),
            Self::NoConnection => Outcome::Refused,
        }
    }
}
