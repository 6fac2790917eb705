//! Primaries die, replicas take their place, and the dead return.

use std::borrow::ToOwned;
use std::string::String;
use std::vec::Vec;

use hashroute::Error;
use hashroute::redis::{Claim, Promotion};

use super::world::World;

impl World {
    /// Stops a primary, unless another server is down: of few primaries, those that are left
    /// would be no majority.
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

    /// Lets all servers agree that the dead one has failed.
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

    /// Lets the replicas of the dead server stand for election, one after another, until one wins.
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
            // Nobody voted under an epoch that nobody has seen.
            let seen = self.servers.iter().map(|server| server.view().epochs().0);
            let epoch = seen.max().unwrap_or(0) + 1;
            if self.wins(replica, &claim, epoch) {
                return self.take_over(replica, dead, epoch);
            }
            self.counts.denied += 1;
        }
        Ok(())
    }

    /// Asks all primaries for their votes. A vote is for one epoch, given or not.
    fn wins(&mut self, replica: usize, claim: &Claim, epoch: u64) -> bool {
        let voters = self.servers.iter_mut().filter(|server| server.is_primary());
        let given = voters.filter_map(|voter| voter.view_mut().vote(claim, epoch).ok());
        let given = given.count();
        given >= self.servers[replica].view().votes().needed() && !claim.slots.is_empty()
    }

    fn take_over(&mut self, heir: usize, dead: usize, epoch: u64) -> Result<(), Error> {
        // What it had not got yet is lost in Redis. Here it has everything.
        self.data.inherit(heir, dead);
        let old = self.servers[dead].id().to_owned();
        let id = self.servers[heir].id().to_owned();
        self.raise_epoch(heir, &old, epoch - 1)?;
        let server = &mut self.servers[heir];
        server.view_mut().promote(&id, Promotion::Election)?;
        let claim = server.claim()?;
        self.counts.elected += 1;
        self.reopen(dead, heir)?;
        // Others may hear late: whoever has not heard sends clients to the dead server.
        self.tell(&claim, |world, i| world.servers[i].is_primary())
    }

    /// Raises the epoch that a server has seen: promotion takes the next one, and the elections
    /// that were lost used up those below it. A node whose epoch rises and falls leaves just that.
    fn raise_epoch(&mut self, server: usize, node: &str, epoch: u64) -> Result<(), Error> {
        let view = self.servers[server].view_mut();
        let node = view.node(node).cloned().ok_or(Error::EmptyName)?;
        if view.epochs().0 < epoch {
            view.replace(node.clone().with_epoch(epoch))?;
            view.replace(node)?;
        }
        Ok(())
    }

    /// Starts the dead server again, once its heir has its slots. It answers nobody until it has
    /// heard what the others know.
    pub(super) fn come_back(&mut self) -> Result<(), Error> {
        let Some(back) = self.dead() else {
            return Ok(());
        };
        let id = self.servers[back].id().to_owned();
        let mut running = self.servers.iter().filter(|server| server.up);
        if running.any(|server| server.view().count(&id) > 0) {
            return Ok(()); // nobody took over: it would return to its own slots, as it was
        }
        self.servers[back].up = true;
        self.data.set_up(back, true);
        self.hear_all(back)?;
        self.flag_all(back, false)?;
        if let Some(heir) = self.servers[back].primary().map(str::to_owned) {
            self.follow(back, &heir)?;
            self.counts.returned += 1;
        }
        // Else it owned nothing when it died, and is the empty primary that it was.
        Ok(())
    }

    /// Lets a server hear the claims of all other primaries.
    fn hear_all(&mut self, server: usize) -> Result<(), Error> {
        let others = (0..self.servers.len()).filter(|i| *i != server);
        let primaries = others.filter(|i| self.servers[*i].is_primary());
        let claims: Result<Vec<_>, _> = primaries.map(|i| self.servers[i].claim()).collect();
        let claims = claims?;
        // Twice, as messages repeat: while it believes to import a slot it ignores claims to it,
        // and only when it has lost its last slot it imports nothing any more.
        for claim in claims.iter().chain(&claims) {
            self.hear(server, claim)?;
        }
        Ok(())
    }

    /// Lets all servers know that one copies `heir` from now on.
    fn follow(&mut self, back: usize, heir: &str) -> Result<(), Error> {
        let id: String = self.servers[back].id().to_owned();
        for server in &mut self.servers {
            let view = server.view_mut();
            if view.count(&id) == 0 {
                let node = view.node(&id).cloned().ok_or(Error::EmptyName)?;
                view.replace(node.with_primary(heir))?;
            }
        }
        Ok(())
    }
}
