//! Events, and their effect on a world.

use std::vec::Vec;

use hashroute::Error;

use super::client::Operation;
use super::clients::Sent;
use super::world::World;

/// An event in a world. An impossible event changes nothing, such as a command of an unknown
/// client.
///
/// Clients, servers and keys are numbered from 0. Server numbers wrap around.
///
/// ```
/// use hashroute_harness::sim::{Event, Operation};
///
/// assert_ne!(Event::Request(0, Operation::Read, vec![1]), Event::Crash(1));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Event {
    /// A client sends a command with these keys until it gets a reply or gives up. Time passes
    /// while the client waits.
    Request(usize, Operation, Vec<u32>),
    /// A client begins a command with these keys, but does not send it yet.
    Start(usize, Operation, Vec<u32>),
    /// A client sends its command once, unless the client is waiting.
    Send(usize),
    /// A client reloads its map from a server.
    Refresh(usize, usize),
    /// A slot begins to move to a server. Source and target are marked.
    Begin(u32, usize),
    /// A move of a slot to a server is planned. No server knows of it yet.
    Plan(u32, usize),
    /// The move makes its next step.
    Step,
    /// The move migrates a key.
    MoveKeys,
    /// The target takes ownership of the slot, or the source learns of the new owner if the target
    /// has done so. Nothing happens while keys are left.
    Finish,
    /// At most this many messages arrive, not in the order sent.
    Deliver(usize),
    /// A primary stops, unless a server is down.
    Crash(usize),
    /// All servers agree that the server that is down failed.
    Notice,
    /// All servers agree that the server failed, and its replicas stand for election.
    Elect,
    /// The server that is down returns, if it has no slots any more.
    Return,
}

impl World {
    /// Applies an event, and checks the laws that hold at every moment.
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
                    self.apply_to_client(*client, event)?;
                }
            }
            _ => self.apply_to_servers(event)?,
        }
        self.now += 1;
        self.check()
    }

    /// Applies an event to a client.
    fn apply_to_client(&mut self, client: usize, event: &Event) -> Result<(), Error> {
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

    /// Applies an event to servers.
    fn apply_to_servers(&mut self, event: &Event) -> Result<(), Error> {
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

    /// Brings the cluster to rest. For `ticks` steps of time, messages arrive, the move goes on,
    /// and failed servers are replaced and return. Then clients end their commands.
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

    /// Sends a client's command until it ends, which it does because a client's patience is finite.
    ///
    /// A new command must not go in circles, since nothing happens between its sends. An older
    /// command may, since the client may remember redirections that are out of date.
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

    /// Advances the time by one step, and with it the failover, the messages and the move.
    fn tick(&mut self) -> Result<(), Error> {
        self.now += 1;
        self.notice()?;
        self.elect()?;
        self.deliver(usize::MAX)?;
        self.move_keys();
        self.finish_move()
    }
}
