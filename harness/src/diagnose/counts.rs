//! Finds the numbers of nodes that are dangerous for these keys.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::chance::{self, stands_out};
use super::diagnosis::Diagnosis;
use super::placed::{Cluster, Placed, PlacedKey, number};
use crate::measure::assign_hash;
use hashroute::{KeyHash, Router, Server};

/// How the keys lie on other numbers of nodes.
///
/// ```
/// use hashroute_harness::{Keys, skew::Diagnosis};
/// use hashroute::registry::{Params, Setup};
/// use hashroute::{HashFunction, KeyHasher, strategy};
///
/// let params = Params::default().with_hasher(KeyHasher::new(HashFunction::TwemproxyFnv1a64));
/// let nodes = (0..60).map(|i| format!("node-{i}"));
/// let setup = Setup::new(strategy::find("modulo")?, nodes, params);
/// let diagnosis = Diagnosis::new(&setup).with_node_counts(&[61, 87]);
/// let counts = diagnosis.analyse(&Keys::template("metric:demo:{i}", 0..1000)?)?.node_counts;
/// let [fine, bad] = counts.rows.as_slice() else { panic!("two rows") };
/// assert!(!fine.dangerous && bad.dangerous);
/// assert_eq!((bad.used, bad.max, bad.because.as_slice()), (3, 890, &[3, 29][..]));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NodeCounts {
    /// Whether the node of a key is its hash modulo the number of nodes. Then a divisor at which
    /// hashes bunch endangers all its multiples.
    pub modulo: bool,
    /// The number of distinct keys that were counted: all, or a uniform sample.
    pub keys: u64,
    /// The numbers of nodes, all of weight 1, except those that the strategy refuses.
    pub rows: Vec<CountRow>,
}

/// How the keys lie on one number of nodes.
///
/// ```
/// # use hashroute_harness::skew::CountRow;
/// let text = r#"{"nodes":87,"used":3,"max":890,"cv":8.3,"noise_cv":0.29,"noise_cv_p99":0.34,"p_value":0.0,"dangerous":true,"because":[3,29]}"#;
/// let row: CountRow = serde_json::from_str(text)?;
/// assert!(row.cv > row.noise_cv_p99 && row.nodes % row.because[1] == 0);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CountRow {
    /// The number of nodes.
    pub nodes: u64,
    /// The number of nodes that hold a key.
    pub used: u64,
    /// The most distinct keys on one node.
    pub max: u64,
    /// The coefficient of variation of distinct keys.
    pub cv: f64,
    /// What chance alone gives.
    pub noise_cv: f64,
    /// What chance exceeds one time in a hundred.
    pub noise_cv_p99: f64,
    /// The probability that chance alone places the hashes, each counted once, as unevenly on the
    /// shares that the strategy gives its nodes.
    pub p_value: f64,
    /// Whether the keys lie more unevenly than chance and the strategy explain: by a coefficient of
    /// variation of at least twice that of chance.
    pub dangerous: bool,
    /// The prime powers at which the hashes bunch and that divide the number of nodes.
    pub because: Vec<u64>,
}

/// The number of hashes that are placed for all rows together.
const WORK: usize = 1 << 25;
/// The number of hashes for one row if a lookup costs more than a division.
const SAMPLE: usize = 1 << 16;
/// The number of nodes from which on nothing is built that the caller did not ask for.
pub(super) const MANY: usize = 10_000;

/// Counts the keys on each number of nodes. [`NodeCounts::judge`] decides which are dangerous.
pub(super) fn count(setup: &Diagnosis, router: &dyn Router, placed: &Placed) -> NodeCounts {
    let modulo = is_modulo(router, placed.bits);
    let asked = setup.counts(router.nodes().weighted(), modulo);
    // With modulo a lookup is a division, so only the total work limits the number of keys.
    let limit = (WORK / asked.len().max(1)).min(if modulo { usize::MAX } else { SAMPLE });
    let keys = &placed.keys[..placed.keys.len().min(limit)];
    let hashes = hashes(keys);
    let units = placed.effective_outputs * keys.len() as f64 / placed.keys.len().max(1) as f64;
    let row = |&nodes: &usize| {
        let router = setup.equal(nodes)?;
        Some(row(&*router, &hashes, units))
    };
    NodeCounts {
        modulo,
        keys: keys.len() as u64,
        rows: asked.iter().filter_map(row).collect(),
    }
}

/// Returns whether the node of a key is its hash modulo the total weight.
pub(super) fn is_modulo(router: &dyn Router, bits: u32) -> bool {
    let total = router.nodes().total_weight();
    let same = |i| {
        let hash = number(i, bits);
        let rest = hash.checked_rem(total)?;
        let [whole, rest] = [hash, rest].map(|hash| router.route_hash(KeyHash::from_raw(hash)));
        Some(whole == rest)
    };
    (1..=64).all(|i| same(i) == Some(true))
}

/// A key, its hash, and whether it is the first with that hash.
type Hashed<'a> = (&'a [u8], u64, bool);

fn hashes<'a>(keys: &'a [PlacedKey]) -> Vec<Hashed<'a>> {
    let mut order: Vec<_> = (0..keys.len()).collect();
    order.sort_unstable_by_key(|&at| (keys[at].hash, at));
    order.dedup_by_key(|at| keys[*at].hash);
    let later = |key: &'a PlacedKey| (key.sampled.key, key.hash, false);
    let mut hashes: Vec<_> = keys.iter().map(later).collect();
    for at in order {
        hashes[at].2 = true;
    }
    hashes
}

fn row(router: &dyn Router, keys: &[Hashed], units: f64) -> CountRow {
    let cluster = Cluster::of(router);
    let nodes = cluster.len();
    // Some systems hash differently if there are more servers: reuse hashes only if some agree.
    let same = keys
        .iter()
        .take(16)
        .all(|(key, hash, _)| router.hash_key(key).map(KeyHash::get) == Some(*hash));
    let (mut loads, mut once) = (vec![0.0; nodes], vec![0.0; nodes]);
    for (key, hash, is_first) in keys {
        let hash = if same {
            Some(KeyHash::from_raw(*hash))
        } else {
            router.hash_key(key)
        };
        let owner = hash.and_then(|hash| assign_hash(router, hash));
        if let Some(rank) = owner.and_then(|id| cluster.rank(id)) {
            loads[rank] += 1.0;
            once[rank] += f64::from(u8::from(*is_first));
        }
    }
    let outputs = once.iter().sum();
    let off = chance::beyond(
        chance::cv(&once, cluster.expected()),
        cluster.noise(outputs),
    );
    CountRow {
        nodes: nodes as u64,
        used: loads.iter().filter(|&&load| load > 0.0).count() as u64,
        max: whole(loads.iter().copied().fold(0.0, f64::max)),
        cv: chance::cv(&loads, &cluster.fair),
        noise_cv: cluster.noise(units),
        noise_cv_p99: chance::cv_p99(nodes, units),
        p_value: chance::p_value(&once, cluster.expected(), outputs),
        dangerous: stands_out(off, cluster.noise(outputs)), // `judge` asks for proof as well
        because: Vec::new(),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count of keys"
)]
fn whole(count: f64) -> u64 {
    count as u64
}

impl NodeCounts {
    /// Decides which numbers are dangerous, given the bunched prime powers and the p-value below
    /// which a test raises an alarm.
    pub(super) fn judge(&mut self, bunched: &[u64], threshold: f64) {
        for row in &mut self.rows {
            let divides = |q: &u64| self.modulo && row.nodes % q == 0;
            row.because = bunched.iter().copied().filter(divides).collect();
            let proven = row.p_value < threshold || !row.because.is_empty();
            row.dangerous &= proven;
        }
    }
}

impl Diagnosis<'_> {
    /// Returns the numbers of nodes to look at: those asked for, or those near the present number.
    fn counts(&self, nodes: usize, modulo: bool) -> Vec<usize> {
        if !self.node_counts.is_empty() {
            return self.node_counts.to_vec();
        }
        let around = match (nodes, modulo) {
            (MANY.., _) => return Vec::new(),
            (_, true) => 64,
            (_, false) => 8,
        };
        let first = nodes.saturating_sub(around).max(2);
        (first..first + 2 * around).collect()
    }

    /// Builds a router with this number of nodes of weight 1, the present nodes first; `None` if
    /// the strategy refuses it.
    fn equal(&self, count: usize) -> Option<Box<dyn Router>> {
        // A table names its nodes, so it has no other number of them.
        let free = Some(self.setup).filter(|setup| setup.is_free())?;
        let servers = self.resized(count).into_iter();
        let servers = servers.map(|server| server.with_weight(1));
        let router = free.with_members(servers).build().ok()?;
        (router.nodes().weighted() == count).then_some(router)
    }

    /// Returns this number of members: the first of the present ones, and new ones if they are too
    /// few.
    pub(super) fn resized(&self, count: usize) -> Vec<Server> {
        let present = self.setup.servers();
        let mut servers: Vec<_> = present.iter().take(count).cloned().collect();
        let known: BTreeSet<_> = present.iter().map(Server::name).collect();
        let names = (servers.len()..).map(|number| format!("node-{number}"));
        let fresh = names.filter(|name| !known.contains(name.as_str()));
        let missing = count.saturating_sub(present.len());
        servers.extend(fresh.take(missing).map(Server::new));
        servers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Judges 87 nodes, with hashes that bunch at 29.
    fn is_dangerous(modulo: bool, stands_out: bool, p_value: f64) -> (bool, Vec<u64>) {
        let row = CountRow {
            nodes: 87,
            used: 3,
            max: 9,
            cv: 1.0,
            noise_cv: 0.1,
            noise_cv_p99: 0.2,
            p_value,
            dangerous: stands_out,
            because: Vec::new(),
        };
        let rows = vec![row];
        let mut counts = NodeCounts {
            modulo,
            keys: 9,
            rows,
        };
        counts.judge(&[7, 29], 1e-4);
        let row = counts.rows.remove(0);
        (row.dangerous, row.because)
    }

    #[test]
    fn a_number_is_dangerous_by_its_divisors_or_by_itself() {
        assert_eq!(is_dangerous(true, true, 0.5), (true, vec![29]));
        assert_eq!(is_dangerous(false, true, 0.5), (false, vec![]));
        assert_eq!(is_dangerous(false, true, 1e-5), (true, vec![]));
        assert_eq!(is_dangerous(true, false, 1e-5), (false, vec![29]));
    }
}
