//! Clients that send commands, follow redirections and reload their maps.

use std::format;
use std::string::String;

use hashroute::Error;
use hashroute::redis::{Call, Endpoint, Next, Outcome, Protocol, Table};

use super::client::{Job, Operation};
use super::world::World;

/// Milliseconds of waiting that pass in one step of a world's time.
const TICK: u64 = 10;

/// The result of one send.
pub(super) enum Sent {
    /// The command ended.
    Ended,
    /// The client sends the command again at once.
    Again,
    /// The client sends the command again after a wait. `in_circles`: a redirection caused the
    /// wait, so redirections send the command in circles.
    Waits { in_circles: bool },
}

enum Answer {
    Value,
    Error(String),
    NoConnection,
}

impl World {
    /// Reloads a client's map from the server's reply to `CLUSTER SLOTS`, if the server is up. The
    /// server may not know of the last moves either.
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

    /// Begins a command, unless the client is busy. [`send`](Self::send) sends it.
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
        client.errors += u32::from(matches!(answer, Answer::Error(_)));
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

    /// Returns the reply of the server that the call goes to, and executes the command there.
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
