//! Counts what an assignment puts on the nodes, and compares it with what chance alone gives.

use super::assignment::Assignment;
use super::balance::{Balance, NodeBalance};
use super::chance::Chance;
use super::figures::{ExactFigures, Figures, TopShare};
use super::noise::{Noise, Spread};
use super::sentences;
use super::shares::exact_shares;
use super::verdict::{Cause, Evenness, Evidence, Verdict};
use crate::keys::Keys;
use crate::summary::{Carried, Measure, Sample, ratio};
use crate::text::hash_name;
use hashroute::{Node, Router};

/// What figures are compared with. It depends on the keys and the weights only, so strategies on
/// the same scenario share one.
#[derive(Debug)]
pub(super) struct Yardstick {
    /// The weights above 0, in order of name.
    weights: Vec<u32>,
    keys: Yard,
    bytes: Option<Yard>,
    requests: Option<Yard>,
}

/// The part of a yardstick that is about one measure.
#[derive(Debug)]
struct Yard {
    carried: Carried,
    noise: Noise,
}

/// An assignment that is counted and not yet judged.
#[derive(Debug)]
pub(super) struct Placed<'a> {
    pub(super) strategy: &'a str,
    pub(super) hash: &'a str,
    /// The nodes in order of name, as everything by node.
    pub(super) nodes: &'a [Node],
    /// The exact shares, if the router has them.
    pub(super) shares: Option<Vec<f64>>,
    /// The number of keys. A repeated key counts each time, and so do keys without a node.
    pub(super) keys: u64,
    pub(super) distinct: u64,
    /// What each node holds: keys, and bytes and requests if known.
    pub(super) loads: [Option<Vec<u64>>; 3],
}

impl Yardstick {
    /// Builds a yardstick for all keys.
    pub(super) fn new(nodes: &[Node], keys: &Keys) -> Self {
        Self::of_keys(nodes, keys, &|_| true)
    }

    /// Builds a yardstick for the keys that have a node.
    pub(super) fn of_placed(keys: &Keys, assignment: &Assignment) -> Self {
        let placed = |index| assignment.owner(index).is_some();
        Self::of_keys(assignment.nodes(), keys, &placed)
    }

    fn of_keys(nodes: &[Node], keys: &Keys, counts: &dyn Fn(usize) -> bool) -> Self {
        let carried = |amounts: Option<&[u64]>| {
            let key = |index: &usize| keys.get(*index).unwrap_or_default();
            Carried::all(keys.sums(amounts, counts), key)
        };
        let bytes = keys.sizes().map(|sizes| carried(Some(sizes)));
        let requests = keys.requests().map(|requests| carried(Some(requests)));
        Self::of(nodes, carried(None), bytes, requests)
    }

    /// Builds a yardstick from the amounts that the keys carry.
    pub(super) fn of(
        nodes: &[Node],
        keys: Carried,
        bytes: Option<Carried>,
        requests: Option<Carried>,
    ) -> Self {
        let weights = nodes.iter().map(Node::weight);
        let weights: Vec<_> = weights.filter(|&weight| weight > 0).collect();
        let yard = |carried: Carried| Yard {
            noise: carried.sample.noise(&weights),
            carried,
        };
        Self {
            keys: yard(keys),
            bytes: bytes.map(yard),
            requests: requests.map(yard),
            weights,
        }
    }

    /// Returns the balance of an assignment of these keys. If some of them found no node, they are
    /// left out of the yardstick as well.
    pub(super) fn balance(
        &self,
        strategy: &str,
        router: &dyn Router,
        keys: &Keys,
        assignment: &Assignment,
    ) -> Balance {
        if assignment.owners().all(|owner| owner.is_some()) {
            return self.measure(strategy, router, keys, assignment);
        }
        Self::of_placed(keys, assignment).measure(strategy, router, keys, assignment)
    }

    pub(super) fn measure(
        &self,
        strategy: &str,
        router: &dyn Router,
        keys: &Keys,
        assignment: &Assignment,
    ) -> Balance {
        let loads = |amounts: Option<&[u64]>| loads(assignment, amounts);
        self.judge(Placed {
            strategy,
            hash: hash_name(router),
            nodes: assignment.nodes(),
            shares: exact_shares(router, assignment.nodes()),
            keys: assignment.len() as u64,
            distinct: keys.distinct() as u64,
            loads: [
                Some(loads(None)),
                keys.sizes().map(|sizes| loads(Some(sizes))),
                keys.requests().map(|requests| loads(Some(requests))),
            ],
        })
    }

    /// Returns the balance of what was counted.
    pub(super) fn judge(&self, mut placed: Placed) -> Balance {
        let [keys, bytes, requests] = core::mem::take(&mut placed.loads);
        let view = View::new(&self.weights, &placed);
        let measured = |yard: &Option<Yard>, loads| Some(view.measured(yard.as_ref()?, loads?));
        let by_keys = view.measured(&self.keys, keys.unwrap_or_default());
        let by_bytes = measured(&self.bytes, bytes);
        let by_requests = measured(&self.requests, requests);
        let verdict = verdict(&by_keys, by_bytes.as_ref(), by_requests.as_ref());
        let held: u64 = by_keys.loads.iter().sum();
        Balance {
            strategy: placed.strategy.to_owned(),
            hash: placed.hash.to_owned(),
            nodes: view.nodes(&by_keys, by_bytes.as_ref(), by_requests.as_ref()),
            keys: placed.keys,
            distinct_keys: placed.distinct,
            unplaced: placed.keys - held,
            unreadable: 0,
            estimated: None,
            figures: by_keys.figures,
            bytes: by_bytes.map(|measured| measured.figures),
            requests: by_requests.map(|measured| measured.figures),
            exact: view.exact,
            verdict,
        }
    }
}

/// Returns how an assignment of keys lies on the nodes. `router` gives the exact shares, if it has
/// them; `strategy` is a name for the reader.
///
/// O(keys log keys + nodes log nodes), and some hundred simulated assignments for the noise.
///
/// ```
/// use hashroute_harness::{Keys, Assignment, balance};
/// use hashroute::{Node, Rendezvous};
///
/// // A stream of one key says nothing about balance, however long it is.
/// let keys = Keys::zipf(1, 10_000, 1, 1.0)?;
/// let router = Rendezvous::new(["a", "b", "c"].map(Node::new))?;
/// let balance = balance("rendezvous", &router, &keys, &Assignment::of(&router, &keys));
/// assert_eq!((balance.keys, balance.distinct_keys), (10_000, 1));
/// assert!(balance.figures.noise.cv > 1.0 && balance.figures.p_value > 0.1);
/// # Ok::<(), hashroute::Error>(())
/// ```
pub fn balance(
    strategy: &str,
    router: &dyn Router,
    keys: &Keys,
    assignment: &Assignment,
) -> Balance {
    Yardstick::of_placed(keys, assignment).measure(strategy, router, keys, assignment)
}

/// Returns what each node holds: key `i` adds `amounts[i]`, or 1 without amounts.
fn loads(assignment: &Assignment, amounts: Option<&[u64]>) -> Vec<u64> {
    let mut loads = vec![0_u64; assignment.nodes().len()];
    for (index, owner) in assignment.owners().enumerate() {
        let amount = amounts.map_or(1, |amounts| amounts.get(index).copied().unwrap_or(0));
        if let Some(load) = owner.and_then(|owner| loads.get_mut(owner)) {
            *load = load.saturating_add(amount);
        }
    }
    loads
}

/// One assignment, measure by measure.
struct View<'a> {
    weights: &'a [u32],
    placed: &'a Placed<'a>,
    exact: Option<ExactFigures>,
}

/// The findings on one measure.
#[derive(Debug)]
struct Measured {
    /// The load of each node, those of weight 0 included.
    loads: Vec<u64>,
    /// The number of distinct keys that carry any of it.
    carriers: usize,
    figures: Figures,
    evenness: Evenness,
}

/// Finds the most uneven measure among those that are known.
fn verdict(keys: &Measured, bytes: Option<&Measured>, requests: Option<&Measured>) -> Verdict {
    let known = [
        (Measure::Keys, Some(keys)),
        (Measure::Bytes, bytes),
        (Measure::Requests, requests),
    ];
    let known = || {
        known
            .into_iter()
            .filter_map(|(measure, known)| known.map(|known| (measure, known)))
    };
    let lines: Vec<_> = known()
        .map(|(measure, known)| {
            sentences::line(measure, &known.figures, &known.evenness, known.carriers)
        })
        .collect();
    let even = [Cause::Even, Cause::Nothing];
    let uneven = known().filter(|(_, known)| !even.contains(&known.evenness.cause));
    let worst = uneven.max_by(|(_, a), (_, b)| a.figures.cv.total_cmp(&b.figures.cv));
    let evenness = |known: Option<&Measured>| known.map(|known| known.evenness.clone());
    Verdict {
        matter: worst.map(|(measure, _)| measure),
        // Without an uneven measure that is even, or nothing if no key has a node.
        cause: worst.map_or(keys.evenness.cause, |(_, known)| known.evenness.cause),
        text: lines.join("\n"),
        keys: keys.evenness.clone(),
        bytes: evenness(bytes),
        requests: evenness(requests),
    }
}

impl<'a> View<'a> {
    fn new(weights: &'a [u32], placed: &'a Placed<'a>) -> Self {
        let shares = placed.shares.as_deref();
        Self {
            weights,
            placed,
            exact: shares.map(|shares| exact(placed.nodes, shares)),
        }
    }

    fn measured(&self, yard: &Yard, loads: Vec<u64>) -> Measured {
        let sample = &yard.carried.sample;
        let weighted: Vec<_> = self.weighted(&loads).map(|load| load as f64).collect();
        let total: f64 = weighted.iter().sum();
        let scale = ratio(sample.effective, total);
        let weight_total: f64 = self.weights.iter().copied().map(f64::from).sum();
        let fair = || {
            self.weights
                .iter()
                .map(|&weight| f64::from(weight) / weight_total * total)
        };
        // Loads are sums of unequal amounts, so they vary as counts of `effective` keys would:
        // scaled to that number of keys, the statistic has its usual distribution.
        let chi2 = pearson(&weighted, fair()) * scale;
        let p_value = Chance::new(sample, fair()).p_value(chi2);
        let carriers = sample.carriers;
        // As if all carried the same: scaled to the number of carriers instead.
        let p_equal = if (carriers as f64 - sample.effective).abs() < 0.5 {
            p_value
        } else {
            let equal = Sample::equal(sample.total, carriers as f64);
            let chi2 = ratio(chi2 * carriers as f64, sample.effective);
            Chance::new(&equal, fair()).p_value(chi2)
        };
        let p_exact = self.placed.shares.as_ref().map_or(p_value, |shares| {
            let shares = || self.weighted(shares).map(|share| share * total);
            Chance::new(sample, shares()).p_value(pearson(&weighted, shares()) * scale)
        });
        let df = weighted.len().saturating_sub(1) as u64;
        let figures = self.figures(yard, &loads, [chi2, p_value], df);
        let evidence = Evidence {
            p_equal,
            p_exact,
            carriers,
            sampling_cv: Sample::variance(self.weights, carriers as f64).sqrt(),
            structure_cv: self.exact.as_ref().map_or(0.0, |exact| exact.cv),
        };
        Measured {
            evenness: Evenness::judge(&figures, evidence),
            loads,
            carriers,
            figures,
        }
    }

    fn figures(&self, yard: &Yard, loads: &[u64], [chi2, p_value]: [f64; 2], df: u64) -> Figures {
        let mut weighted: Vec<_> = self.weighted(loads).collect();
        let spread = Spread::of(
            &mut weighted.iter().map(|&load| load as f64).collect::<Vec<_>>(),
            self.weights,
        );
        let used = weighted.iter().filter(|&&load| load > 0).count();
        weighted.sort_unstable_by(|a, b| b.cmp(a));
        Figures {
            total: weighted
                .iter()
                .fold(0, |sum: u64, load| sum.saturating_add(*load)),
            effective_keys: yard.carried.sample.effective,
            used: used as u64,
            empty: (weighted.len() - used) as u64,
            min: spread.min,
            max: spread.max,
            mean: spread.mean,
            stddev: spread.stddev,
            cv: spread.cv,
            noise: yard.noise.clone(),
            max_over_mean: spread.max_over_mean,
            p95_over_mean: spread.p95_over_mean,
            max_over_median: spread.max_over_median,
            top: top(&weighted),
            chi2,
            df,
            p_value,
            keys_for_half: yard.carried.sample.half as u64,
            largest: yard.carried.largest.clone(),
        }
    }

    /// Selects, from values by node, those of the nodes with weight.
    fn weighted<'v, T: Copy>(&self, values: &'v [T]) -> impl Iterator<Item = T> + use<'_, 'v, T> {
        let pairs = values.iter().zip(self.placed.nodes);
        pairs
            .filter(|(_, node)| node.weight() > 0)
            .map(|(value, _)| *value)
    }

    fn nodes(
        &self,
        keys: &Measured,
        bytes: Option<&Measured>,
        requests: Option<&Measured>,
    ) -> Vec<NodeBalance> {
        let placed = keys.loads.iter().sum::<u64>() as f64;
        let weights = self
            .placed
            .nodes
            .iter()
            .map(|node| u64::from(node.weight()));
        let weight_total = weights.sum::<u64>() as f64;
        let of = |measured: Option<&Measured>, index: usize| {
            measured.map(|measured| measured.loads[index])
        };
        let node_balance = |(index, node): (usize, &Node)| NodeBalance {
            name: node.name().to_owned(),
            weight: node.weight(),
            zone: node.zone().map(str::to_owned),
            rack: node.rack().map(str::to_owned),
            keys: keys.loads[index],
            share: ratio(keys.loads[index] as f64, placed),
            fair_share: ratio(f64::from(node.weight()), weight_total),
            exact_share: self.placed.shares.as_ref().map(|shares| shares[index]),
            bytes: of(bytes, index),
            requests: of(requests, index),
        };
        self.placed
            .nodes
            .iter()
            .enumerate()
            .map(node_balance)
            .collect()
    }
}

fn exact(nodes: &[Node], shares: &[f64]) -> ExactFigures {
    let pairs = shares
        .iter()
        .zip(nodes)
        .filter(|(_, node)| node.weight() > 0);
    let (mut shares, weights): (Vec<_>, Vec<_>) =
        pairs.map(|(share, node)| (*share, node.weight())).unzip();
    let spread = Spread::of(&mut shares, &weights);
    ExactFigures {
        cv: spread.cv,
        max_over_mean: spread.max_over_mean,
    }
}

/// Returns the sum of (load - expected)² / expected. It is infinite if a node has a load and
/// expects none.
fn pearson(loads: &[f64], expected: impl Iterator<Item = f64>) -> f64 {
    let term = |(load, expected): (&f64, f64)| match load - expected {
        0.0 => 0.0,
        difference => difference * difference / expected,
    };
    loads.iter().zip(expected).map(term).sum()
}

/// Returns the shares of the most loaded nodes. `loads` is in descending order.
fn top(loads: &[u64]) -> Vec<TopShare> {
    let total: f64 = loads.iter().map(|&load| load as f64).sum();
    let counts = (0..).map(|step: u32| [1, 2, 5][step as usize % 3] * 10_usize.pow(step / 3));
    let share = |n: usize| loads[..n].iter().map(|&load| load as f64).sum::<f64>();
    counts
        .take_while(|&n| n <= loads.len())
        .map(|n| TopShare {
            n: n as u64,
            share: ratio(share(n), total),
        })
        .collect()
}
