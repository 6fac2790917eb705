//! What may happen to a world, one event after another.

use std::vec::Vec;

use hashroute::Error;

use super::client::Operation;
use super::clients::Sent;
use super::world::World;

/// Something that happens. What cannot happen changes nothing: the return of a server when none is
/// down, the command of a client that there is not.
///
/// Clients, servers and keys are numbers from 0. Numbers of servers wrap around.
///
/// ```
/// use hashroute_harness::sim::{Event, Operation};
///
/// assert_ne!(Event::Request(0, Operation::Read, vec![1]), Event::Crash(1));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Event {
    /// A client sends a command with these keys until it is answered. While it waits, time passes.
    Request(usize, Operation, Vec<u32>),
    /// A client begins a command with these keys, and sends nothing yet.
    Start(usize, Operation, Vec<u32>),
    /// A client sends the command that it began once, unless it waits.
    Send(usize),
    /// A client asks a server for its table.
    Refresh(usize, usize),
    /// A slot begins to move to a server: both ends are marked.
    Begin(u32, usize),
    /// A slot is about to move to a server: nobody is told yet.
    Plan(u32, usize),
    /// The move makes its next step.
    Step,
    /// The move migrates a key.
    MoveKeys,
    /// The target of the move, or then its source, is told of the new owner, once no key is left.
    Finish,
    /// Up to so many messages arrive, out of turn.
    Deliver(usize),
    /// A primary stops, unless a server is down.
    Crash(usize),
    /// All servers agree that the one that is down has failed.
    Notice,
    /// The same, and its replicas stand for election.
    Elect,
    /// The server that is down returns, if another has its slots.
    Return,
}

impl World {
    /// Lets something happen, and checks the laws that hold all the way.
    ///
    /// # Errors
    ///
    /// [`Error::CrossSlot`] for a command whose keys do not share a slot.
    pub fn happen(&mut self, event: &Event) -> Result<(), Error> {
        match event {
            Event::Request(client, ..)
            | Event::Start(client, ..)
            | Event::Send(client)
            | Event::Refresh(client, _) => {
                if *client < self.clients.len() {
                    self.act(*client, event)?;
                }
            }
            _ => self.befall(event)?,
        }
        self.now += 1;
        self.check()
    }

    /// What a client does.
    fn act(&mut self, client: usize, event: &Event) -> Result<(), Error> {
        let are_there = |keys: &[u32]| keys.iter().all(|key| self.keys.numbers().contains(key));
        match event {
            Event::Request(_, operation, keys) if are_there(keys) => {
                self.finish_call(client, false)?;
                self.begin(client, *operation, keys)?;
                self.finish_call(client, true)
            }
            Event::Start(_, operation, keys) if are_there(keys) => {
                self.begin(client, *operation, keys)
            }
            Event::Send(_) => self.send_awake(client),
            Event::Refresh(_, server) => self.refresh(client, server % self.servers()),
            _ => Ok(()),
        }
    }

    /// What befalls servers.
    fn befall(&mut self, event: &Event) -> Result<(), Error> {
        match *event {
            Event::Begin(slot, to) => {
                self.plan_move(slot, to)?;
                self.open_move()?;
            }
            Event::Plan(slot, to) => self.plan_move(slot, to)?,
            Event::Step => self.step_move()?,
            Event::MoveKeys => self.move_keys(),
            Event::Finish => self.finish_move()?,
            Event::Deliver(count) => self.deliver(count)?,
            Event::Crash(server) => self.crash(server),
            Event::Notice => self.notice()?,
            Event::Elect => self.notice().and_then(|()| self.elect())?,
            Event::Return => self.come_back()?,
            _ => {}
        }
        Ok(())
    }

    /// Lets so much time pass that the cluster comes to rest: messages arrive, the move ends, the
    /// dead are replaced and return, and clients end what they began.
    ///
    /// # Errors
    ///
    /// As [`happen`](Self::happen).
    pub fn settle(&mut self, ticks: u32) -> Result<(), Error> {
        for _ in 0..ticks {
            self.tick()?;
            self.come_back()?;
            self.check()?;
        }
        (0..self.clients.len()).try_for_each(|client| self.finish_call(client, false))
    }

    /// Sends a client's command until it ends; a client's patience does. One that is new must not
    /// go in circles: nothing happens between its sends, and redirections from any server lead to
    /// the end. Of an older one the client may remember servers that have changed since.
    fn finish_call(&mut self, client: usize, is_new: bool) -> Result<(), Error> {
        loop {
            match self.send(client)? {
                Sent::Ended => return Ok(()),
                Sent::Again => {}
                Sent::Waits { in_circles } => {
                    if is_new && in_circles {
                        self.check_circle();
                    }
                    self.tick()?;
                }
            }
        }
    }

    fn send_awake(&mut self, client: usize) -> Result<(), Error> {
        if self.clients[client].is_waiting(self.now) {
            return Ok(());
        }
        self.send(client).map(|_| ())
    }

    /// Lets time pass: what is under way goes on by a step.
    fn tick(&mut self) -> Result<(), Error> {
        self.now += 1;
        self.notice()?;
        self.elect()?;
        self.deliver(usize::MAX)?;
        self.move_keys();
        self.finish_move()
    }
}
