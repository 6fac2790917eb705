//! A primary is killed, its replica takes over, and the primary returns.

use std::sync::atomic::Ordering::Relaxed;
use std::thread::sleep;
use std::time::Duration;

use hashroute::redis::{ClusterNode, CoverageRule, Promotion, Table};

use super::data::Data;
use super::servers::{Servers, owners};
use super::worker::{Worker, Working};
use super::{ALL_SLOTS, Check, PRIMARIES, expect};
use crate::tally::Fallible;

const PAUSE: Duration = Duration::from_millis(200);

/// The nodes of a failover.
struct Pair {
    victim: usize,
    heir: usize,
    victim_id: String,
    heir_id: String,
}

impl Check<'_> {
    pub(super) fn fail_over(&mut self, mut worker: Worker) -> Fallible<Worker> {
        let victim = self.random.below(PRIMARIES);
        let heir = victim + PRIMARIES;
        let pair = Pair {
            victim,
            heir,
            victim_id: self.servers.get(victim).id.clone(),
            heir_id: self.servers.get(heir).id.clone(),
        };
        let before = self.servers.agree("a quiet cluster")?;
        worker.client = worker.client.with_pause(PAUSE);
        worker = converge(worker, &before)?;
        self.kill(&pair)?;
        worker.client.met.clear();
        worker.answers = 0;
        let data = worker.data.clone();
        let working = worker.start();
        self.look_at_the_dead(&pair, &data)?;
        self.take_over(&pair, &before, &working)?;
        let worker = working.stop()?;
        let after = self.servers.agree("a cluster without the dead")?;
        self.say(&format!("its replica has its slots; {}", worker.report()));
        expect(worker.client.count("lost") > 0, "the client did not notice")?;
        expect_failover(&before, &after, &pair)?;
        self.probe(&worker.data, CoverageRule::default())?;
        self.come_back(converge(worker, &after)?, &pair)
    }

    /// Kills a primary whose replica has every write and may not take over yet.
    fn kill(&mut self, pair: &Pair) -> Fallible<()> {
        let written = offset(&mut self.servers, pair.victim, "master_repl_offset:")?;
        self.servers.wait("the replica to catch up", |servers| {
            Ok(offset(servers, pair.heir, "slave_repl_offset:")? >= written)
        })?;
        self.servers
            .send(pair.heir, "CONFIG SET cluster-replica-no-failover yes")?;
        self.servers.kill(pair.victim);
        Ok(())
    }

    fn look_at_the_dead(&mut self, pair: &Pair, data: &Data) -> Fallible<()> {
        let id = &*pair.victim_id;
        self.servers.wait("all to see a primary fail", |servers| {
            let views = servers.views()?;
            let fails = |view: &Table| view.node(id).is_some_and(|node| node.flags().failed);
            Ok(views.iter().all(fails))
        })?;
        self.say("a primary was killed, and all know");
        self.probe(data, CoverageRule::default())?;
        self.configure("cluster-allow-reads-when-down yes")?;
        let policy = CoverageRule::default().with_reads_when_down(true);
        self.probe(data, policy)?;
        self.configure("cluster-allow-reads-when-down no")
    }

    /// Waits until the replica has the slots and the waiting client continues.
    fn take_over(&mut self, pair: &Pair, before: &Table, working: &Working) -> Fallible<()> {
        self.servers
            .send(pair.heir, "CONFIG SET cluster-replica-no-failover no")?;
        self.servers.wait("the replica to take over", |servers| {
            let slots = before.ranges(&pair.victim_id);
            let views = servers.views()?;
            Ok(views.iter().all(|view| view.ranges(&pair.heir_id) == slots))
        })?;
        let seen = working.shared.batches.load(Relaxed);
        self.servers.wait("the client to go on", |_| {
            Ok(working.shared.batches.load(Relaxed) > seen + 2 || !working.works())
        })
    }

    /// Restarts the old primary, which becomes a replica of the new one.
    fn come_back(&mut self, worker: Worker, pair: &Pair) -> Fallible<Worker> {
        self.servers.restart(pair.victim)?;
        self.servers.wait("the old primary to follow", |servers| {
            let views = servers.views()?;
            let follows = |view: &Table| {
                let node = view.node(&pair.victim_id);
                node.and_then(ClusterNode::primary) == Some(&pair.heir_id)
            };
            Ok(views.iter().all(follows))
        })?;
        self.servers.agree("the old primary to be one of them")?;
        self.say("the old primary is back as a replica");
        self.probe(&worker.data, CoverageRule::default())?;
        Ok(worker)
    }
}

/// Returns the number of bytes of writes that a server has sent or received.
fn offset(servers: &mut Servers, place: usize, name: &str) -> Fallible<u64> {
    let info: String = servers.ask(place, "INFO replication")?;
    let offset = info.lines().find_map(|line| line.strip_prefix(name));
    Ok(offset
        .ok_or_else(|| format!("no {name} in INFO"))?
        .parse()?)
}

/// Checks that the servers did what `Table::promote` does.
fn expect_failover(before: &Table, after: &Table, pair: &Pair) -> Fallible<()> {
    let mut ours = before.clone();
    let dead = before.node(&pair.victim_id).ok_or("no such node")?.clone();
    let flags = dead.flags().with_failed(true);
    ours.replace(dead.with_flags(flags))?;
    ours.promote(&pair.heir_id, Promotion::Election)?;
    expect(
        owners(&ours) == owners(after),
        "our failover gives other owners",
    )?;
    let epoch = |table: &Table| table.node(&pair.heir_id).map(ClusterNode::epoch);
    let highest = before.nodes().iter().map(ClusterNode::epoch).max();
    expect(
        epoch(after) > highest,
        "the heir's epoch is not the highest",
    )?;
    // A failed election takes an epoch too.
    expect(
        epoch(&ours) <= epoch(after),
        "our heir's epoch is beyond theirs",
    )
}

/// Checks that the client corrects its map by itself.
fn converge(mut worker: Worker, table: &Table) -> Fallible<Worker> {
    for _ in 0..10 {
        if !worker.client.map.is_stale() {
            break;
        }
        sleep(PAUSE);
        worker.batch()?;
    }
    expect(
        !worker.client.map.is_stale(),
        "the client's map stays stale",
    )?;
    let map = &worker.client.map;
    let is_right = |slot| map.owner(slot) == table.owner(slot).map(ClusterNode::address);
    expect((0..ALL_SLOTS).all(is_right), "the client's map is wrong")?;
    Ok(worker)
}
