//! Runs a real cluster by the decisions of the library.
//!
//! Three primaries with a replica each hold 100,000 keys. A fourth primary takes over its share by
//! the commands of a plan while a client reads and writes. A primary is killed and returns. The
//! client decides by `SlotMap`, and the answers of servers are compared with `Table::decide`.

mod audit;
mod data;
mod decisions;
mod drain;
mod failover;
mod form;
mod grow;
mod mover;
mod servers;
mod worker;

use std::time::{Duration, Instant};

use hashroute::redis::{CoverageRule, SlotRule};

pub(crate) use self::drain::check as drains;

use self::data::Data;
use self::decisions::{Kinds, Probe, compare};
use self::servers::Servers;
use crate::random::Random;
use crate::tally::{Fallible, Outcome, Tally};

const KEYS: usize = 100_000;
/// The number of replicas: server `n + PRIMARIES` is the replica of server `n`.
const PRIMARIES: usize = 3;
/// The number of keys in one pipeline while loading and reading all keys.
const PIPELINE: usize = 5_000;
const PROBES: usize = 400;
const ALL_SLOTS: u32 = SlotRule::REDIS.slots();
/// The refresh interval of a client that never asks for the table again.
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
        tally: Tally::default(),
        kinds: Kinds::new(),
        random,
        start,
    };
    let version = check.servers.version()?;
    check.tally.what = format!("redis-server {version}, decisions and owners of keys");
    let data = Data::new(KEYS, check.random);
    check.form(&data)?;
    let worker = check.load(data)?;
    let worker = check.grow(worker)?;
    let worker = check.fail_over(worker)?;
    check.audit(worker)?;
    check.sum_up()?;
    Ok(check.tally)
}

fn expect(holds: bool, what: &str) -> Fallible<()> {
    if holds { Ok(()) } else { Err(what.into()) }
}

impl Check<'_> {
    fn say(&self, what: &str) {
        println!("  {:5.1} s  {what}", self.start.elapsed().as_secs_f64());
    }

    /// Compares the answers of all servers to random requests.
    fn probe(&mut self, data: &Data, policy: CoverageRule) -> Fallible<()> {
        let probes = (0..PROBES).map(|_| Probe::any(data, self.random, &[]));
        let probes: Vec<_> = probes.collect();
        let counts = (&mut self.tally, &mut self.kinds);
        compare(&mut self.servers, &probes, policy, counts)
    }

    /// Sets an option of all running servers.
    fn configure(&mut self, option: &str) -> Fallible<()> {
        let places = self.servers.up().into_iter();
        let mut sent =
            places.map(|place| self.servers.send(place, &format!("CONFIG SET {option}")));
        sent.try_for_each(|sent| sent)
    }

    /// Reports the kinds of answers; a kind that never came was not tested.
    fn sum_up(&self) -> Fallible<()> {
        self.say("answers that were compared:");
        for (kind, count) in &self.kinds {
            println!("           {count:>7}  {kind}");
        }
        let mut wanted = vec!["OK", "MOVED", "ASK", "TRYAGAIN", "CROSSSLOT"];
        wanted.extend([
            "CLUSTERDOWN Hash slot not served",
            "CLUSTERDOWN The cluster is down",
            "CLUSTERDOWN The cluster is down and only accepts read commands",
        ]);
        let missing = wanted.iter().find(|kind| !self.kinds.contains_key(**kind));
        missing.map_or(Ok(()), |kind| {
            Err(format!("no server answered {kind}").into())
        })
    }
}
