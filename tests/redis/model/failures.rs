//! Failures in the model: primaries die, replicas take their place, and the dead return.

use hashroute::Error;
use hashroute::redis::{Claim, ClusterNode, Mark, Promotion};

use super::{Fallible, Server, World};

impl World {
    pub(super) fn crash(&mut self, i: usize) {
        let i = i % self.servers.len();
        // One at a time: two dead primaries of four are no majority.
        if self.servers.iter().all(|server| server.up) && self.is_primary(i) {
            self.servers[i].up = false;
            self.inbox.retain(|(to, _)| *to != i);
        }
    }

    pub(super) fn notice(&mut self) -> Fallible<()> {
        let Some(dead) = self.servers.iter().position(|server| !server.up) else {
            return Ok(());
        };
        let id = self.servers[dead].id.clone();
        for server in self.servers.iter_mut().filter(|server| server.up) {
            if let Some(node) = server.view.node(&id).cloned() {
                let flags = node.flags().with_failed(true);
                server.view.replace(node.with_flags(flags))?;
            }
        }
        Ok(())
    }

    pub(super) fn elect(&mut self) -> Fallible<()> {
        let Some(dead) = self.servers.iter().position(|server| !server.up) else {
            return Ok(());
        };
        let old = self.servers[dead].id.clone();
        for i in 0..self.servers.len() {
            let server = &self.servers[i];
            let node = server.view.node(&server.id);
            if !server.up || node.and_then(ClusterNode::primary) != Some(&*old) {
                continue;
            }
            self.deliver_to(i)?;
            let server = &self.servers[i];
            let claim = server.view.claim_of(&old)?;
            let epoch = server.view.epochs().0.max(
                self.servers
                    .iter()
                    .map(|s| s.view.epochs().0)
                    .max()
                    .unwrap_or(0),
            ) + 1;
            let voters: Vec<usize> = (0..self.servers.len())
                .filter(|i| self.is_primary(*i))
                .collect();
            let given = voters
                .iter()
                .filter(|i| self.servers[**i].view.vote(&claim, epoch).is_ok())
                .count();
            if claim.slots.is_empty() || given < self.servers[i].view.votes().needed() {
                self.seen.insert("denied");
                continue;
            }
            return self.take_over(i, dead, epoch);
        }
        Ok(())
    }

    fn take_over(&mut self, heir: usize, dead: usize, epoch: u64) -> Fallible<()> {
        let (id, old) = (self.servers[heir].id.clone(), self.servers[dead].id.clone());
        let store = self.servers[dead].store.clone();
        let server = &mut self.servers[heir];
        server.store = store;
        // Epochs of its own elections: those before were refused.
        while server.view.epochs().0 + 1 < epoch {
            let next = server.view.epochs().0 + 1;
            let node = server.view.node(&old).cloned().ok_or(Error::EmptyName)?;
            let kept = node.epoch();
            server.view.replace(node.with_epoch(next))?;
            let node = server.view.node(&old).cloned().ok_or(Error::EmptyName)?;
            server.view.replace(node.with_epoch(kept))?;
        }
        server.view.promote(&id, Promotion::Election)?;
        let claim = server.view.claim_of(&id)?;
        self.seen.insert("elected");
        if let Some(mut moving) = self.moving.take() {
            let owned = moving.owned;
            for end in [&mut moving.from, &mut moving.to] {
                if *end == old {
                    end.clone_from(&id);
                    self.seen.insert("reopened");
                }
            }
            let (from, to) = (moving.from.clone(), moving.to.clone());
            if !owned {
                self.open(moving.slot, &from, &to)?;
                self.moving = Some(moving);
            } else if to == id {
                let source = self.at(&from);
                self.servers[source]
                    .view
                    .mark(moving.slot, &from, Mark::Migrating(to.into()))?;
                self.moving = Some(moving);
            }
            // Else the source is gone that did not know yet: the heir knows.
        }
        self.tell(&claim, Self::is_primary)
    }

    /// It answers nobody until it has heard what the others know.
    pub(super) fn come_back(&mut self) -> Fallible<()> {
        let Some(back) = self.servers.iter().position(|server| !server.up) else {
            return Ok(());
        };
        let id = self.servers[back].id.clone();
        let gone = |server: &Server| server.up && server.view.count(&id) > 0;
        if self.servers.iter().any(gone) {
            return Ok(()); // its replica has not taken over: with its own slots it is as before
        }
        self.servers[back].up = true;
        let claims: Fallible<Vec<Claim>> = (0..self.servers.len())
            .filter(|i| *i != back && self.is_primary(*i))
            .map(|i| self.servers[i].view.claim_of(&self.servers[i].id))
            .collect();
        // Twice, as messages repeat: what it imported it takes no note of before it follows.
        let claims = claims?;
        for claim in claims.iter().chain(&claims) {
            self.hear(back, claim)?;
        }
        let view = self.servers[back].view.clone();
        let myself = view.node(&id).cloned().ok_or(Error::EmptyName)?;
        let Some(heir) = myself.primary().map(str::to_owned) else {
            // It lost its slots one by one: whoever has its first copies it from now on.
            return Ok(());
        };
        for server in &mut self.servers {
            let node = server.view.node(&id).cloned().ok_or(Error::EmptyName)?;
            let flags = node.flags().with_failed(false);
            let node = if server.view.count(&id) == 0 {
                node.with_primary(heir.clone())
            } else {
                node
            };
            server.view.replace(node.with_flags(flags))?;
        }
        self.seen.insert("returned");
        Ok(())
    }
}
