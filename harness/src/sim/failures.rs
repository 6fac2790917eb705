//! Failures: a primary stops, a replica succeeds it, and the primary returns.

use std::borrow::ToOwned;
use std::string::String;
use std::vec::Vec;

use hashroute::Error;
use hashroute::redis::{Claim, Promotion};

use super::world::World;

impl World {
    /// Stops a primary, unless another server is down: the primaries that are left must be a
    /// majority.
    pub(super) fn crash(&mut self, server: usize) {
        let server = server % self.servers.len();
        if self.dead().is_none() && self.servers[server].is_primary() {
            self.servers[server].up = false;
            self.data.set_up(server, false);
            self.inbox.retain(|(to, _)| *to != server);
        }
    }

    fn dead(&self) -> Option<usize> {
        self.servers.iter().position(|server| !server.up)
    }

    /// Marks the dead server as failed at all running servers.
    pub(super) fn notice(&mut self) -> Result<(), Error> {
        match self.dead() {
            Some(dead) => self.flag_all(dead, true),
            None => Ok(()),
        }
    }

    fn flag_all(&mut self, of: usize, failed: bool) -> Result<(), Error> {
        let id = self.servers[of].id().to_owned();
        let mut running = self.servers.iter_mut().filter(|server| server.up);
        running.try_for_each(|server| server.flag(&id, failed))
    }

    /// Holds an election for each replica of the dead server in turn, until one wins.
    pub(super) fn elect(&mut self) -> Result<(), Error> {
        let Some(dead) = self.dead() else {
            return Ok(());
        };
        let old = self.servers[dead].id().to_owned();
        for replica in 0..self.servers.len() {
            let server = &self.servers[replica];
            if !server.up || server.primary() != Some(&*old) {
                continue;
            }
            // An election takes the node timeout, which is longer than any message.
            self.deliver_to(replica)?;
            let claim = self.servers[replica].view().claim_of(&old)?;
            // No server has voted in an epoch that no server has seen.
            let seen = self.servers.iter().map(|server| server.view().epochs().0);
            let epoch = seen.max().unwrap_or(0) + 1;
            if self.wins(replica, &claim, epoch) {
                return self.take_over(replica, dead, epoch);
            }
            self.counts.denied += 1;
        }
        Ok(())
    }

    /// Asks all primaries for their votes, and returns whether the replica wins. A primary votes at
    /// most once in an epoch.
    fn wins(&mut self, replica: usize, claim: &Claim, epoch: u64) -> bool {
        let voters = self.servers.iter_mut().filter(|server| server.is_primary());
        let given = voters.filter_map(|voter| voter.view_mut().vote(claim, epoch).ok());
        let given = given.count();
        given >= self.servers[replica].view().votes().needed() && !claim.slots.is_empty()
    }

    fn take_over(&mut self, successor: usize, dead: usize, epoch: u64) -> Result<(), Error> {
        // In Redis a replica may lack the last writes. Here it has them all, see mod.rs.
        self.data.inherit(successor, dead);
        let old = self.servers[dead].id().to_owned();
        let id = self.servers[successor].id().to_owned();
        self.raise_epoch(successor, &old, epoch - 1)?;
        let server = &mut self.servers[successor];
        server.view_mut().promote(&id, Promotion::Election)?;
        let claim = server.claim()?;
        self.counts.elected += 1;
        self.reopen(dead, successor)?;
        // Replicas may hear late: until they do, they send clients to the dead server.
        self.tell(&claim, |world, i| world.servers[i].is_primary())
    }

    /// Raises the highest epoch that a server has seen. Promotion takes the next epoch, since lost
    /// elections used up those below it.
    fn raise_epoch(&mut self, server: usize, node: &str, epoch: u64) -> Result<(), Error> {
        let view = self.servers[server].view_mut();
        let node = view.node(node).cloned().ok_or(Error::EmptyName)?;
        // A table keeps the highest epoch it has seen, so the node's own epoch can fall back.
        if view.epochs().0 < epoch {
            view.replace(node.clone().with_epoch(epoch))?;
            view.replace(node)?;
        }
        Ok(())
    }

    /// Restarts the dead server, once its successor has its slots. It hears the claims of the other
    /// primaries before it answers a client.
    pub(super) fn come_back(&mut self) -> Result<(), Error> {
        let Some(back) = self.dead() else {
            return Ok(());
        };
        let id = self.servers[back].id().to_owned();
        let mut running = self.servers.iter().filter(|server| server.up);
        if running.any(|server| server.view().count(&id) > 0) {
            return Ok(()); // no replica won: the server would return to its own slots unchanged
        }
        self.servers[back].up = true;
        self.data.set_up(back, true);
        self.hear_all(back)?;
        self.flag_all(back, false)?;
        if let Some(successor) = self.servers[back].primary().map(str::to_owned) {
            self.follow(back, &successor)?;
            self.counts.returned += 1;
        }
        // A server without a primary owned no slot when it died, and stays an empty primary.
        Ok(())
    }

    /// Lets a server hear the claims of all other primaries.
    fn hear_all(&mut self, server: usize) -> Result<(), Error> {
        let others = (0..self.servers.len()).filter(|i| *i != server);
        let primaries = others.filter(|i| self.servers[*i].is_primary());
        let claims: Result<Vec<_>, _> = primaries.map(|i| self.servers[i].claim()).collect();
        let claims = claims?;
        // Twice, as messages repeat: a server ignores claims to a slot that it imports, and stops
        // importing only when it has lost its last slot.
        for claim in claims.iter().chain(&claims) {
            self.hear(server, claim)?;
        }
        Ok(())
    }

    /// Tells all servers that `back` copies `successor` from now on.
    fn follow(&mut self, back: usize, successor: &str) -> Result<(), Error> {
        let id: String = self.servers[back].id().to_owned();
        for server in &mut self.servers {
            let view = server.view_mut();
            if view.count(&id) == 0 {
                let node = view.node(&id).cloned().ok_or(Error::EmptyName)?;
                view.replace(node.with_primary(successor))?;
            }
        }
        Ok(())
    }
}
