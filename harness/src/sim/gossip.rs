//! Messages between servers: claims that arrive at once, late or out of order.

use std::vec::Vec;

use hashroute::Error;
use hashroute::redis::Claim;

use super::world::World;

impl World {
    /// Sends a claim to every server. It arrives at once where `at_once` returns true, and
    /// otherwise when messages are delivered.
    pub(super) fn tell(
        &mut self,
        claim: &Claim,
        at_once: impl Fn(&Self, usize) -> bool,
    ) -> Result<(), Error> {
        for server in 0..self.servers.len() {
            if !at_once(self, server) {
                self.inbox.push((server, claim.clone()));
                continue;
            }
            // A replica hears the older claims first. This claim raises its primary's epoch. An
            // older claim to a slot that the primary lost would then look outdated: the replica
            // would keep the slot, and win an election with it.
            if !self.servers[server].is_primary() {
                self.deliver_to(server)?;
            }
            self.hear(server, claim)?;
        }
        Ok(())
    }

    /// Applies a claim to a server that is up, and drops the keys of the slots that the server
    /// lost.
    pub(super) fn hear(&mut self, server: usize, claim: &Claim) -> Result<(), Error> {
        let hearer = &mut self.servers[server];
        if !hearer.up || *hearer.id() == *claim.id {
            return Ok(());
        }
        let heard = hearer.hear(claim)?;
        // Otherwise old values would reappear when the slot returns.
        for slot in heard.lost.into_iter().flatten() {
            self.data.drop_slot(server, slot);
        }
        if heard.follows {
            self.data.clear(server);
            self.counts.followed += 1;
        }
        Ok(())
    }

    /// Delivers at most `count` messages, not in the order sent.
    pub(super) fn deliver(&mut self, count: usize) -> Result<(), Error> {
        for _ in 0..count.min(self.inbox.len()) {
            // Any fixed order other than FIFO and LIFO works.
            let at = (count % 7 + self.inbox.len() * 3 / 2) % self.inbox.len();
            let (to, claim) = self.inbox.swap_remove(at);
            self.hear(to, &claim)?;
        }
        Ok(())
    }

    /// Delivers all messages to one server.
    pub(super) fn deliver_to(&mut self, server: usize) -> Result<(), Error> {
        let inbox = core::mem::take(&mut self.inbox);
        let (mine, others): (Vec<_>, _) = inbox.into_iter().partition(|(to, _)| *to == server);
        self.inbox = others;
        mine.iter()
            .try_for_each(|(_, claim)| self.hear(server, claim))
    }
}
