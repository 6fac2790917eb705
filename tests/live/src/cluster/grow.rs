//! Adds a fourth primary and moves its share to it.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering::Relaxed;

use hashroute::redis::{
    Action, CoverageRule, Goal, Patience, SlotBudget, SlotPlan, SlotRule, Stop, Table,
};

use super::data::{Data, GROUP};
use super::decisions::{Probe, compare};
use super::mover::perform;
use super::servers::{Servers, owners};
use super::worker::{Worker, Working};
use super::{ALL_SLOTS, Check, KEYS, NEVER, PROBES, expect};
use crate::cluster_client::{ClusterClient, Request};
use crate::tally::Fallible;

/// The number of slots that move at the same time.
const STEP: u32 = 256;
/// The timeout of one `MIGRATE`, in milliseconds.
const TIMEOUT: u32 = 5000;
/// The number of comparisons at both ends while the first slots move.
const LOOKS: usize = 3;

impl Check<'_> {
    pub(super) fn grow(&mut self, mut worker: Worker) -> Fallible<Worker> {
        self.servers.add()?;
        self.servers.meet()?;
        let mut table = self.servers.agree("the fourth primary to join")?;
        let plan = SlotPlan::new(&table, &Goal::even(&table))?;
        expect(
            plan.len() == ALL_SLOTS as usize / 4,
            "the plan is no quarter",
        )?;
        worker.client = worker.client.with_pause(NEVER);
        worker.client.met.clear();
        worker.answers = 0;
        let data = worker.data.clone();
        let working = worker.start();
        self.carry_out(&plan, &mut table, &data, &working)?;
        let mut worker = working.stop()?;
        let agreed = self.servers.agree("all to know the new owners")?;
        expect(
            owners(&agreed) == owners(&table),
            "the cluster is not where the plan ends",
        )?;
        expect(plan.progress(&agreed)?.is_done(), "the plan is not done")?;
        self.say(&format!("moved {} slots; {}", plan.len(), worker.report()));
        for what in ["MOVED", "ASK"] {
            expect(
                worker.client.count(what) > 0,
                &format!("the client met no {what}"),
            )?;
        }
        expect(
            worker.client.count("refills") == 0,
            "the client's map was refilled",
        )?;
        correct(&mut worker, &plan)?;
        self.probe(&worker.data, CoverageRule::default())?;
        Ok(worker)
    }

    fn carry_out(
        &mut self,
        plan: &SlotPlan,
        table: &mut Table,
        data: &Data,
        working: &Working,
    ) -> Fallible<()> {
        let budget = SlotBudget::default().with_slots(STEP);
        for step in plan.steps(budget) {
            let is_first = step.start == 0;
            // One key at a time first, which leaves time to compare both ends.
            let batch = if is_first { 1 } else { 100 };
            let slots = step.clone();
            let rows = slots.map(|at| plan.classic(table, at..at + 1, batch, TIMEOUT));
            let rows: Vec<Vec<Action>> = rows.collect::<Result<_, _>>()?;
            if is_first {
                let slots = plan.moves().take(step.len()).map(|step| step.slot);
                self.slowly(&rows, data, &keys_in(data, &slots.collect()), working)?;
            } else {
                perform(&mut self.servers, &rows, &mut |_| Ok(()))?;
            }
            plan.apply(table, step)?;
            if !working.works() {
                break;
            }
        }
        Ok(())
    }

    /// Moves slots and checks what servers and clients do meanwhile.
    fn slowly(
        &mut self,
        rows: &[Vec<Action>],
        data: &Data,
        moving: &[usize],
        working: &Working,
    ) -> Fallible<()> {
        let probes = (0..2 * PROBES).map(|_| Probe::any(data, self.random, moving));
        let probes: Vec<_> = probes.collect();
        let (tally, kinds) = (&mut self.tally, &mut self.kinds);
        let (mut looks, mut again) = (0, 0);
        perform(&mut self.servers, rows, &mut |servers| {
            looks += 1;
            if looks > LOOKS {
                return Ok(());
            }
            compare(servers, &probes, CoverageRule::default(), (tally, kinds))?;
            again += try_again(servers, data, moving)?;
            servers.wait("a client to be sent on by ASK", |_| {
                Ok(working.shared.asks.load(Relaxed) > 0 || !working.works())
            })
        })?;
        expect(again > 0, "no request of many keys met TRYAGAIN")?;
        let count = rows.len();
        self.say(&format!(
            "{count} slots key by key; {again} requests of many keys met TRYAGAIN"
        ));
        Ok(())
    }
}

/// Checks that a client is redirected at most once for each moved slot.
fn correct(worker: &mut Worker, plan: &SlotPlan) -> Fallible<()> {
    let slots = plan.moves().map(|step| step.slot).collect();
    let keys = keys_in(&worker.data, &slots);
    worker.read(&keys)?;
    let moved = worker.client.count("MOVED");
    worker.read(&keys)?;
    let again = worker.client.count("MOVED") - moved;
    expect(
        again == 0,
        &format!("{again} MOVED for slots that were corrected"),
    )
}

fn keys_in(data: &Data, slots: &BTreeSet<u32>) -> Vec<usize> {
    let is_in = |key: &usize| slots.contains(&SlotRule::REDIS.slot(&data.keys[*key]));
    (0..KEYS).filter(is_in).collect()
}

/// Reads keys of one tag together while their slot moves, and returns the number of groups that a
/// client with little patience gave up.
fn try_again(servers: &Servers, data: &Data, moving: &[usize]) -> Fallible<u64> {
    let patience = Patience::default()
        .with_sends(3)
        .with_first(1)
        .with_longest(1);
    let mut client = ClusterClient::new(servers.addresses())?.with_pause(NEVER);
    client.map = client.map.with_patience(patience);
    let groups = moving.chunk_by(|a, b| a / GROUP == b / GROUP);
    let groups = groups.filter(|group| group.len() == GROUP);
    let requests = groups.map(|group| {
        let keys: Vec<_> = group.iter().map(|key| data.keys[*key].as_slice()).collect();
        Request::get_many(&keys)
    });
    let answers = client.run(&requests.collect::<Vec<_>>());
    let gave_up = answers
        .iter()
        .filter(|answer| **answer == Err(Stop::Patience));
    let gave_up = gave_up.count() as u64;
    let met = client.count("TRYAGAIN");
    expect(
        met >= gave_up,
        "a client gave up a request that was not to be tried again",
    )?;
    Ok(gave_up)
}
