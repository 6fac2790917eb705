//! Checks of the laws.

use std::collections::BTreeSet;
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use hashroute::Error;
use hashroute::redis::{ClusterNode, Command, Decision, Table};

use super::world::World;

/// The maximum number of redirections that a check of a write follows. Two are enough if all
/// servers know of all moves: `MOVED` to the owner, `ASK` to the target.
const HOPS: u32 = 8;

impl World {
    /// Checks for every key that a write ends at one server, whichever server gets it first, and
    /// that at most one server holds the key. O(keys x servers).
    ///
    /// [`happen`](Self::happen) does this after each event.
    ///
    /// # Errors
    ///
    /// None that a world built by [`new`](Self::new) can cause.
    pub fn check(&mut self) -> Result<(), Error> {
        let servers: Vec<_> = (0..self.servers.len()).collect();
        for key in self.keys.numbers() {
            self.check_writers(key, &servers)?;
            self.check_copies(key);
        }
        Ok(())
    }

    /// Checks that a write of `key` ends at the same server from all of `starts`.
    pub(super) fn check_writers(&mut self, key: u32, starts: &[usize]) -> Result<(), Error> {
        let mut ends = BTreeSet::new();
        for start in starts {
            ends.extend(self.end(*start, key)?);
        }
        // A slot may be out of reach while its owner is down. Two servers must never accept a
        // write.
        let holds = ends.len() == 1 || ends.is_empty() && self.is_failing();
        let (keys, servers) = (&self.keys, &self.servers);
        self.laws.one_server.check(holds, || {
            let ids: Vec<_> = ends.iter().map(|end| servers[*end].id()).collect();
            let (shown, slot) = (keys.shown(key), keys.slot(key));
            format!("{shown} in slot {slot} would be written at {}", told(&ids))
        });
        Ok(())
    }

    /// Returns the server to which redirections lead a write while no time passes. Returns `None`
    /// if the last server is down or refuses, or if redirections go in circles.
    fn end(&self, start: usize, key: u32) -> Result<Option<usize>, Error> {
        let (mut server, mut asking) = (start, false);
        for _ in 0..HOPS {
            if !self.servers[server].up {
                return Ok(None);
            }
            (server, asking) = match self.decide(server, Command::Write, &[key], asking)? {
                Decision::Serve => return Ok(Some(server)),
                Decision::Moved { to, .. } => (self.index_of(to.id())?, false),
                // `ASKING` counts for this one server, so a further redirection drops it.
                Decision::Ask { to, .. } => (self.index_of(to.id())?, true),
                _ => return Ok(None),
            };
        }
        Ok(None)
    }

    /// Returns whether a server is down, or believed to be down by another server.
    fn is_failing(&self) -> bool {
        let mut servers = self.servers.iter();
        servers.any(|server| !server.up || !server.health().is_ok())
    }

    /// Records a command that went in circles, which breaks a law unless a server is failing.
    pub(super) fn check_circle(&mut self) {
        let is_excused = self.is_failing();
        let found = || "a command was sent in circles".into();
        self.laws.answered.check(is_excused, found);
    }

    fn check_copies(&mut self, key: u32) {
        let copies = self.data.copies(key);
        let keys = &self.keys;
        let found = || format!("{} is on {copies} servers", keys.shown(key));
        self.laws.one_copy.check(copies <= 1, found);
    }

    /// Checks that exactly one server holds a key that was just written or migrated.
    pub(super) fn check_only_copy(&mut self, key: u32) {
        let copies = self.data.copies(key);
        let keys = &self.keys;
        let found = || format!("{} is on {copies} servers", keys.shown(key));
        self.laws.one_copy.check(copies == 1, found);
    }

    /// Checks that a server that answers a command about `key` has the last written value.
    pub(super) fn check_read(&mut self, server: usize, key: u32) {
        let found = self.data.get(server, self.keys.entry(key));
        let truth = self.data.truth(key);
        let (keys, id) = (&self.keys, self.servers[server].id());
        self.laws.last_write.check(found == truth, || {
            let (shown, found, truth) = (keys.shown(key), value(found), value(truth));
            format!("{shown} is {found} at {id} but was written as {truth}")
        });
    }

    /// Checks the two laws of the end. Call it when no message is on its way and no slot moves.
    /// `expected` has the right owners.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownNode`] for an owner that is not a server of this world.
    pub fn judge(&mut self, expected: &Table) -> Result<(), Error> {
        for key in self.keys.numbers() {
            let (slot, key) = self.keys.entry(key);
            let owner = expected.owner(slot).map(|node| self.index_of(node.id()));
            self.check_place(key, owner.transpose()?);
        }
        for server in 0..self.servers.len() {
            self.check_agreement(server, expected);
        }
        Ok(())
    }

    fn check_place(&mut self, key: u32, owner: Option<usize>) {
        let entry = self.keys.entry(key);
        let found = owner.and_then(|owner| self.data.get(owner, entry));
        let truth = self.data.truth(key);
        let copies = u32::from(truth.is_some());
        let holds = found == truth && self.data.copies(key) == copies;
        let keys = &self.keys;
        self.laws.all_there.check(holds, || {
            let (shown, found, truth) = (keys.shown(key), value(found), value(truth));
            format!("{shown} is {found} with its owner but was written as {truth}")
        });
    }

    fn check_agreement(&mut self, server: usize, expected: &Table) {
        let server = &self.servers[server];
        let (view, id) = (server.view(), server.id());
        let owner = |table: &Table, slot| table.owner(slot).map(|node| node.id().to_string());
        let mut slots = 0..view.rule().slots();
        let wrong = slots.find(|slot| {
            view.owner(*slot).map(ClusterNode::id) != expected.owner(*slot).map(ClusterNode::id)
        });
        let marks = view.marks().count();
        let holds = wrong.is_none() && marks == 0;
        self.laws.agreed.check(holds, || match wrong {
            None => format!("{id} has {marks} marks left"),
            Some(slot) => {
                let owner = owner(view, slot).unwrap_or_else(|| "nobody".into());
                format!("{id} believes that slot {slot} is {owner}'s")
            }
        });
    }
}

fn value(value: Option<u64>) -> String {
    value.map_or_else(|| "missing".into(), |value| format!("value {value}"))
}

fn told(ids: &[&str]) -> String {
    if ids.is_empty() {
        "no server".into()
    } else {
        ids.join(" and ")
    }
}
