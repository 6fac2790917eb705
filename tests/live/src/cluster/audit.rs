//! Every key has its value, on the node that the table names.

use hashroute::redis::{ClusterNode, Role, SlotRule, Table};
use redis::Value;

use super::servers::{command, owners};
use super::worker::Worker;
use super::{Check, KEYS, PIPELINE, expect};
use crate::cluster_client::{ClusterClient, reply};
use crate::tally::Fallible;

impl Check<'_> {
    pub(super) fn audit(&mut self, mut worker: Worker) -> Fallible<()> {
        let table = self.servers.agree("the end")?;
        self.compare_tables(&table)?;
        worker.client = ClusterClient::new(self.servers.addresses())?;
        let keys: Vec<usize> = (0..KEYS).collect();
        for keys in keys.chunks(PIPELINE) {
            worker.read(keys)?;
        }
        let others = worker.client.met.keys().find(|what| *what != "refills");
        expect(others.is_none(), "a fresh map was corrected")?;
        let found = self.compare_owners(&table)?;
        expect(found == KEYS, &format!("{found} keys instead of {KEYS}"))?;
        self.say(&format!("{KEYS} keys have their values, each at its owner"));
        Ok(())
    }

    /// Checks that each key on a primary belongs there, and returns the number of keys.
    fn compare_owners(&mut self, table: &Table) -> Fallible<usize> {
        let mut found = 0;
        let nodes = table.nodes().iter();
        for node in nodes.filter(|node| node.role() == Role::Primary) {
            let place = self.servers.place(node.id())?;
            let keys: Vec<Vec<u8>> = self.servers.ask(place, "KEYS *")?;
            found += keys.len();
            for key in keys {
                let ours = table.owner_of(&key).map_or("-", ClusterNode::id);
                self.tally.compare("owners", &key, node.id(), ours);
            }
        }
        Ok(found)
    }

    /// Checks that every form in which servers print the table says the same.
    fn compare_tables(&mut self, table: &Table) -> Fallible<()> {
        let commands = ["CLUSTER SLOTS", "CLUSTER SHARDS"].map(command);
        for place in self.servers.up() {
            let mut answers = self.servers.pipeline(place, &commands)?.into_iter();
            let mut next = || reply(answers.next().unwrap_or(Value::Nil));
            let slots = Table::from_slots(&next(), SlotRule::REDIS, None)?;
            let shards = Table::from_shards(&next(), SlotRule::REDIS)?;
            for printed in [&slots, &shards] {
                let is_same = owners(printed) == owners(table);
                expect(is_same, "a printed table has other owners")?;
            }
        }
        Ok(())
    }
}
