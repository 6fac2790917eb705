//! Creates the first six servers and loads the keys.

use hashroute::redis::CoverageRule;

use super::data::Data;
use super::worker::Worker;
use super::{ALL_SLOTS, Check, KEYS, PIPELINE, PRIMARIES, expect};
use crate::cluster_client::ClusterClient;
use crate::random::Random;
use crate::tally::Fallible;

impl Check<'_> {
    /// Creates three primaries and their replicas; until the end some slots are missing.
    pub(super) fn form(&mut self, data: &Data) -> Fallible<()> {
        self.servers.meet()?;
        self.probe(data, CoverageRule::default())?;
        let last = ALL_SLOTS - 1;
        for (place, slots) in ["0 5460", "5461 10922", "10923 16382"].iter().enumerate() {
            let line = format!("CLUSTER ADDSLOTSRANGE {slots}");
            self.servers.send(place, &line)?;
        }
        for place in PRIMARIES..2 * PRIMARIES {
            let primary = self.servers.get(place - PRIMARIES).id.clone();
            let line = format!("CLUSTER REPLICATE {primary}");
            self.servers.send(place, &line)?;
        }
        self.probe(data, CoverageRule::default())?;
        self.without_full_coverage(data)?;
        self.servers.send(2, &format!("CLUSTER ADDSLOTS {last}"))?;
        let table = self.servers.agree("the cluster to form")?;
        expect(table.coverage().is_full(), "slots are missing")?;
        self.await_copies()?;
        self.say("formed: 3 primaries, 3 replicas");
        Ok(())
    }

    fn without_full_coverage(&mut self, data: &Data) -> Fallible<()> {
        let policy = CoverageRule::default().with_require_full_coverage(false);
        self.configure("cluster-require-full-coverage no")?;
        self.await_copies()?;
        self.servers.agree("a cluster that lacks a slot")?;
        self.probe(data, policy)?;
        self.configure("cluster-require-full-coverage yes")
    }

    fn await_copies(&mut self) -> Fallible<()> {
        self.servers.wait("replicas to copy", |servers| {
            let copied = (PRIMARIES..2 * PRIMARIES).map(|place| {
                let info: String = servers.ask(place, "INFO replication")?;
                Ok(info.contains("master_link_status:up"))
            });
            let copied: Fallible<Vec<bool>> = copied.collect();
            Ok(copied?.into_iter().all(|copied| copied))
        })
    }

    /// Writes all keys with a client that knows one server.
    pub(super) fn load(&mut self, data: Data) -> Fallible<Worker> {
        let client = ClusterClient::new([self.servers.get(0).address.clone()])?;
        let mut worker = Worker {
            client,
            data,
            random: Random::new(self.random.next()),
            answers: 0,
        };
        let keys: Vec<usize> = (0..KEYS).collect();
        for keys in keys.chunks(PIPELINE) {
            worker.write(keys)?;
        }
        self.say(&format!("loaded {KEYS} keys; {}", worker.report()));
        self.probe(&worker.data, CoverageRule::default())?;
        Ok(worker)
    }
}
