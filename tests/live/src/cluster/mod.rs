//! Does a real cluster live by our decisions?
//!
//! Three primaries with a replica each, 100,000 keys; a fourth primary takes over its share by
//! the commands of our plan while a client reads and writes; a primary is killed, and comes back.
//! The client decides by `SlotMap`, and what servers answer is compared with `Table::decide`.

mod data;
mod decisions;
mod mover;
mod servers;
mod worker;

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use hashroute::cluster::{
    Action, Budget, ClusterNode, Goal, Patience, Plan, Role, SlotRule, Stop, Table,
};
use redis::Value;

use self::data::Data;
use self::decisions::{Kinds, Probe, compare};
use self::servers::{Servers, command, owners};
use self::worker::{Worker, Working};
use crate::cluster_client::{ClusterClient, Request, reply};
use crate::random::Random;
use crate::tally::{Fallible, Outcome, Tally};

const KEYS: usize = 100_000;
const PRIMARIES: usize = 3;
/// Keys in one pipeline of the load and of the last reading.
const PIPELINE: usize = 5_000;
/// Slots that move at a time.
const STEP: u32 = 256;
const PROBES: usize = 400;
const ALL_SLOTS: u32 = SlotRule::REDIS.slots();
/// A client that never asks for the table again.
const NEVER: Duration = Duration::MAX;

struct Check<'r> {
    servers: Servers,
    random: &'r mut Random,
    tally: Tally,
    kinds: Kinds,
    start: Instant,
}

pub(crate) fn check(random: &mut Random) -> Outcome {
    let start = Instant::now();
    let mut check = Check {
        servers: Servers::start(2 * PRIMARIES)?,
        tally: Tally::new(""),
        kinds: Kinds::new(),
        random,
        start,
    };
    let info: String = check.servers.ask(0, "INFO server")?;
    let version = info
        .lines()
        .find_map(|line| line.strip_prefix("redis_version:"));
    check.tally.what = format!(
        "redis-server {}, decisions and values",
        version.unwrap_or("?")
    );
    let data = Data::new(KEYS, check.random);
    check.form(&data)?;
    let worker = check.load(data)?;
    let worker = check.grow(worker)?;
    let worker = check.fail_over(worker)?;
    check.audit(worker)?;
    let kinds: Vec<_> = check
        .kinds
        .iter()
        .map(|(kind, n)| format!("{n} {kind}"))
        .collect();
    check.say(&format!("answers compared: {}", kinds.join(", ")));
    for kind in ["OK", "MOVED", "ASK", "TRYAGAIN", "CROSSSLOT"] {
        expect(
            check.kinds.contains_key(kind),
            &format!("no server answered {kind}"),
        )?;
    }
    Ok(check.tally)
}

fn expect(holds: bool, what: &str) -> Fallible<()> {
    if holds { Ok(()) } else { Err(what.into()) }
}

impl Check<'_> {
    fn say(&self, what: &str) {
        println!("  {:5.1} s  {what}", self.start.elapsed().as_secs_f64());
    }

    fn probe(&mut self, data: &Data, focus: &[usize]) -> Fallible<()> {
        let probes = (0..PROBES).map(|_| Probe::any(data, self.random, focus));
        let probes: Vec<_> = probes.collect();
        compare(&mut self.servers, &probes, &mut self.tally, &mut self.kinds)
    }

    /// Three primaries and their replicas; before all slots are given, all requests are refused.
    fn form(&mut self, data: &Data) -> Fallible<()> {
        self.servers.meet()?;
        self.probe(data, &[])?;
        let last = ALL_SLOTS - 1;
        let share = ALL_SLOTS / 3;
        for (place, (first, end)) in [(0, share), (share, 2 * share), (2 * share, last)]
            .into_iter()
            .enumerate()
        {
            let line = format!("CLUSTER ADDSLOTSRANGE {first} {}", end - 1);
            self.servers.send(place, &line)?;
        }
        for place in PRIMARIES..2 * PRIMARIES {
            let primary = self.servers.get(place - PRIMARIES).id.clone();
            self.servers
                .send(place, &format!("CLUSTER REPLICATE {primary}"))?;
        }
        self.probe(data, &[])?;
        self.servers.send(2, &format!("CLUSTER ADDSLOTS {last}"))?;
        let table = self.servers.agree("the cluster to form")?;
        expect(table.coverage().is_full(), "slots are missing")?;
        for place in PRIMARIES..2 * PRIMARIES {
            self.servers.wait("replicas to copy", |servers| {
                let info: String = servers.ask(place, "INFO replication")?;
                Ok(info.contains("master_link_status:up"))
            })?;
        }
        self.say("formed: 3 primaries, 3 replicas");
        Ok(())
    }

    /// All keys by a client that knows one server and never asks for the table.
    fn load(&mut self, data: Data) -> Fallible<Worker> {
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
        self.say(&format!(
            "loaded {KEYS} keys; the client met {:?}",
            worker.client.met
        ));
        self.probe(&worker.data, &[])?;
        Ok(worker)
    }

    /// A fourth primary takes its share.
    fn grow(&mut self, mut worker: Worker) -> Fallible<Worker> {
        self.servers.add()?;
        self.servers.meet()?;
        let mut table = self.servers.agree("the fourth primary to join")?;
        let plan = Plan::new(&table, &Goal::even(&table))?;
        expect(
            plan.len() == ALL_SLOTS as usize / 4,
            "the plan is not a quarter",
        )?;
        worker.client = worker.client.with_pause(NEVER);
        worker.client.met.clear();
        let before = worker.answers;
        let first = self.split_group(&worker.data, &plan)?;
        let data = Data {
            keys: worker.data.keys.clone(),
            versions: worker.data.versions.clone(),
        };
        let working = worker.start();
        for (turn, step) in plan
            .steps(Budget {
                slots: STEP,
                ..Budget::default()
            })
            .enumerate()
        {
            let batch = if turn == 0 { 1 } else { 100 };
            let rows = step
                .clone()
                .map(|at| plan.classic(&table, at..at + 1, batch, 5000));
            let rows: Vec<Vec<Action>> = rows.collect::<Result<_, _>>()?;
            if turn == 0 {
                self.slowly(&rows, &data, &first, &working)?;
            } else {
                mover::perform(&mut self.servers, &rows, &mut |_| Ok(()))?;
            }
            plan.apply(&mut table, step)?;
            if !working.works() {
                break;
            }
        }
        let worker = working.stop()?;
        let agreed = self.servers.agree("all to know the new owners")?;
        expect(
            owners(&agreed) == owners(&table),
            "the plan's end is not the cluster's",
        )?;
        expect(plan.progress(&agreed)?.is_done(), "the plan is not done")?;
        let (moved, ask) = (worker.client.count("MOVED"), worker.client.count("ASK"));
        expect(moved > 0 && ask > 0, "the client met no MOVED, or no ASK")?;
        expect(
            worker.client.count("refills") == 0,
            "the client's map was not stale",
        )?;
        self.say(&format!(
            "moved {} slots under {} answers to a client that met {:?}",
            plan.len(),
            worker.answers - before,
            worker.client.met
        ));
        self.probe(&worker.data, &[])?;
        Ok(worker)
    }

    /// Keys with one tag whose slot is among the first that move.
    fn split_group(&mut self, data: &Data, plan: &Plan) -> Fallible<Vec<usize>> {
        let moves = plan.moves().take(STEP as usize);
        let slots: Vec<u32> = moves.map(|step| step.slot).collect();
        let is_moving = |key: &usize| slots.contains(&SlotRule::REDIS.slot(&data.keys[*key]));
        let moving: Vec<usize> = (0..KEYS).filter(is_moving).collect();
        expect(!moving.is_empty(), "no key moves")?;
        Ok(moving)
    }

    /// One key of each slot at a time, so that there is time to look at both ends.
    fn slowly(
        &mut self,
        rows: &[Vec<Action>],
        data: &Data,
        moving: &[usize],
        working: &Working,
    ) -> Fallible<()> {
        let probes: Vec<_> = (0..2 * PROBES)
            .map(|_| Probe::any(data, self.random, moving))
            .collect();
        let (tally, kinds) = (&mut self.tally, &mut self.kinds);
        let mut again = 0;
        let mut turn = 0;
        mover::perform(&mut self.servers, rows, &mut |servers| {
            turn += 1;
            if turn > 3 {
                return Ok(());
            }
            compare(servers, &probes, tally, kinds)?;
            again += try_again(servers, data, moving)?;
            servers.wait("the client to be sent on by ASK", |_| {
                Ok(working.shared.asks.load(Relaxed) > 0 || !working.works())
            })
        })?;
        expect(again > 0, "no request of many keys met TRYAGAIN")?;
        self.say(&format!(
            "256 slots key by key; {again} requests of many keys met TRYAGAIN"
        ));
        Ok(())
    }
}

/// Reads keys of one tag together while their slot moves; gives how many groups a client with
/// little patience gave up for `TRYAGAIN`.
fn try_again(servers: &Servers, data: &Data, moving: &[usize]) -> Fallible<u64> {
    let patience = Patience {
        sends: 3,
        first: 1,
        longest: 1,
    };
    let mut client = ClusterClient::new(servers.addresses())?.with_pause(NEVER);
    client.map = client.map.with_patience(patience);
    let groups: Vec<&[usize]> = moving
        .chunk_by(|a, b| a / data::GROUP == b / data::GROUP)
        .filter(|group| group.len() == data::GROUP)
        .collect();
    let requests = groups.iter().map(|group| {
        let keys: Vec<_> = group.iter().map(|key| data.keys[*key].as_slice()).collect();
        Request::get_many(&keys)
    });
    let answers = client.run(&requests.collect::<Vec<_>>());
    let gave_up = answers
        .iter()
        .filter(|answer| **answer == Err(Stop::Patience))
        .count() as u64;
    expect(
        client.count("TRYAGAIN") >= gave_up,
        "a request was given up without TRYAGAIN",
    )?;
    Ok(gave_up)
}

impl Check<'_> {
    /// A primary dies; its replica may not stand for election until all have been asked.
    fn fail_over(&mut self, mut worker: Worker) -> Fallible<Worker> {
        let victim = self.random.below(PRIMARIES);
        let heir = victim + PRIMARIES;
        let id = self.servers.get(victim).id.clone();
        let before = self.servers.agree("a quiet cluster")?;
        let acknowledged: u32 = self.servers.ask(victim, "WAIT 1 10000")?;
        expect(acknowledged == 1, "the replica did not get all writes")?;
        self.servers
            .send(heir, "CONFIG SET cluster-replica-no-failover yes")?;
        self.servers.kill(victim);
        worker.client = worker.client.with_pause(Duration::from_millis(200));
        worker.client.met.clear();
        let (data, answers) = (Data::new(0, self.random), worker.answers);
        let probed = core::mem::replace(&mut worker.data, data);
        worker.data = Data {
            keys: probed.keys.clone(),
            versions: probed.versions.clone(),
        };
        let working = worker.start();
        self.servers
            .wait("all to see that a primary failed", |servers| {
                let views = servers.views()?;
                let has_failed =
                    |view: &Table| view.node(&id).is_some_and(|node| node.flags().failed);
                Ok(views.iter().all(has_failed))
            })?;
        self.say("a primary was killed, and all know");
        self.probe(&probed, &[])?;
        self.servers
            .send(heir, "CONFIG SET cluster-replica-no-failover no")?;
        let heir_id = self.servers.get(heir).id.clone();
        self.servers.wait("the replica to take over", |servers| {
            let views = servers.views()?;
            Ok(views
                .iter()
                .all(|view| view.ranges(&heir_id) == before.ranges(&id)))
        })?;
        self.say("its replica has its slots");
        let seen = working.shared.batches.load(Relaxed);
        self.servers.wait("the client to go on", |_| {
            Ok(working.shared.batches.load(Relaxed) > seen + 2 || !working.works())
        })?;
        let worker = working.stop()?;
        let table = self.servers.agree("a cluster without the dead")?;
        self.say(&format!(
            "the client, after {} more answers, met {:?}",
            worker.answers - answers,
            worker.client.met
        ));
        self.probe(&worker.data, &[])?;
        self.expect_failover(&before, &table, &id, &heir_id)?;
        self.converge(worker, &table, victim, &heir_id)
    }

    /// The servers did what we would have done.
    fn expect_failover(
        &mut self,
        before: &Table,
        after: &Table,
        old: &str,
        heir: &str,
    ) -> Fallible<()> {
        let mut ours = before.clone();
        let dead = before.node(old).ok_or("no such node")?.clone();
        let flags = hashroute::cluster::Flags {
            failed: true,
            ..dead.flags()
        };
        ours.replace(dead.with_flags(flags))?;
        ours.promote(heir, hashroute::cluster::Promotion::Election)?;
        expect(
            owners(&ours) == owners(after),
            "our failover gives other owners",
        )?;
        let epoch = |table: &Table| table.node(heir).map(ClusterNode::epoch);
        expect(
            epoch(after) > before.nodes().iter().map(ClusterNode::epoch).max(),
            "an old epoch",
        )?;
        expect(
            epoch(&ours) <= epoch(after),
            "our failover's epoch is beyond the servers'",
        )
    }

    /// The client's map is right again, and the old primary, back, follows its heir.
    fn converge(
        &mut self,
        mut worker: Worker,
        table: &Table,
        victim: usize,
        heir: &str,
    ) -> Fallible<Worker> {
        while worker.client.map.is_stale() {
            std::thread::sleep(Duration::from_millis(200));
            worker.batch()?;
        }
        let right =
            |slot| worker.client.map.owner(slot) == table.owner(slot).map(ClusterNode::address);
        expect((0..ALL_SLOTS).all(right), "the client's map is wrong")?;
        self.servers.restart(victim)?;
        let id = self.servers.get(victim).id.clone();
        self.servers.wait("the old primary to follow", |servers| {
            let views = servers.views()?;
            let primary =
                |view: &Table| view.node(&id).and_then(ClusterNode::primary) == Some(heir);
            Ok(views.iter().all(primary))
        })?;
        self.servers
            .agree("the old primary to be at one with the others")?;
        self.say("the old primary is back as a replica");
        self.probe(&worker.data, &[])?;
        Ok(worker)
    }

    /// Every key is there with its value, on the node that we say.
    fn audit(&mut self, mut worker: Worker) -> Fallible<()> {
        let table = self.servers.agree("the end")?;
        self.same_tables(&table)?;
        worker.client = ClusterClient::new(self.servers.addresses())?;
        let keys: Vec<usize> = (0..KEYS).collect();
        for keys in keys.chunks(PIPELINE) {
            worker.read(keys)?;
        }
        let sent_on = worker.client.count("MOVED") + worker.client.count("ASK");
        expect(sent_on == 0, "a fresh map was corrected")?;
        let mut found = 0;
        for node in table
            .nodes()
            .iter()
            .filter(|node| node.role() == Role::Primary)
        {
            let place = self.servers.place(node.id())?;
            let keys: Vec<Vec<u8>> = self.servers.ask(place, "KEYS *")?;
            found += keys.len();
            for key in keys {
                let ours = table.owner_of(&key).map_or("-", ClusterNode::id);
                self.tally.compare("owners", &key, node.id(), ours);
            }
        }
        expect(found == KEYS, &format!("{found} keys instead of {KEYS}"))?;
        self.say(&format!(
            "{KEYS} keys have their values, each at its owner: {:?}",
            table.counts()
        ));
        Ok(())
    }

    /// Each way to print the table tells the same.
    fn same_tables(&mut self, table: &Table) -> Fallible<()> {
        let commands = ["CLUSTER SLOTS", "CLUSTER SHARDS"].map(command);
        for place in self.servers.up() {
            let mut answers = self.servers.pipeline(place, &commands)?.into_iter();
            let mut next = || reply(answers.next().unwrap_or(Value::Nil));
            let slots = Table::from_slots(&next(), SlotRule::REDIS, None)?;
            let shards = Table::from_shards(&next(), SlotRule::REDIS)?;
            for printed in [&slots, &shards] {
                expect(
                    owners(printed) == owners(table),
                    "a printed table has other owners",
                )?;
            }
        }
        Ok(())
    }
}
