//! How the keys fall on the nodes.

use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize, Serializer};
use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::noise::{Sample, Spread, ratio};
use super::verdict::{Evenness, Evidence, Verdict};
use super::{Keys, Noise, Placement};
use crate::{Node, Router};

/// How a set of keys falls on nodes: by keys, and by bytes and requests where known.
///
/// The fields are those of `hashroute balance --format json`.
///
/// ```
/// use hashroute::harness::{Keys, Placement, balance};
/// use hashroute::{Node, Ring};
///
/// let keys = Keys::template("user:{i}", 0..10_000)?;
/// let ring = Ring::new(["a", "b", "c"].map(Node::new))?;
/// let balance = balance("ring", &ring, &keys, &Placement::of(&ring, &keys));
/// assert_eq!((balance.keys, balance.distinct_keys, balance.figures.used), (10_000, 10_000, 3));
/// assert_eq!(serde_json::to_value(&balance).expect("plain data")["keys"], 10_000);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Balance {
    /// The strategy's name.
    pub strategy: String,
    /// The key hash's name.
    pub hash: String,
    /// All nodes, in order of name.
    pub nodes: Vec<NodeBalance>,
    /// How many keys there are, repeated ones each time.
    pub keys: u64,
    /// How many different ones: what the noise depends on.
    pub distinct_keys: u64,
    /// Keys that no node took.
    pub unplaced: u64,
    /// By keys.
    #[serde(flatten)]
    pub figures: Figures,
    /// By bytes, where sizes are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Figures>,
    /// By requests, where they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<Figures>,
    /// Of the exact shares, where the strategy gives them: the unevenness that no number of keys
    /// takes away.
    pub exact: Option<ExactFigures>,
    /// What is the matter, if anything.
    pub verdict: Verdict,
}

/// One node and what it holds.
///
/// ```
/// # use hashroute::{Node, Ring, harness::{Keys, Placement, balance}};
/// # let (ring, keys) = (Ring::new([Node::new("a")])?, Keys::template("{i}", 0..10)?);
/// let balance = balance("ring", &ring, &keys, &Placement::of(&ring, &keys));
/// assert_eq!((balance.nodes[0].keys, balance.nodes[0].share), (10, 1.0));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeBalance {
    /// Its name.
    pub name: String,
    /// Its weight.
    pub weight: u32,
    /// Its zone.
    pub zone: Option<String>,
    /// Its rack.
    pub rack: Option<String>,
    /// The keys it holds.
    pub keys: u64,
    /// Their share of all keys placed.
    pub share: f64,
    /// Its weight's share of all weight.
    pub fair_share: f64,
    /// Its exact share of the hash space, where the strategy gives it.
    pub exact_share: Option<f64>,
    /// The bytes it stores, where sizes are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The requests it gets, where they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
}

/// The figures of one measure over the nodes with weight.
///
/// A node's figure is its load divided by (its fair share times the number of nodes with
/// weight): with equal weights, just its load. Nodes of weight 0 do not count.
///
/// ```
/// # use hashroute::{Modulo, Node, harness::{Keys, Placement, balance}};
/// # let keys = Keys::template("{i}", 0..1000)?;
/// let router = Modulo::new([Node::new("a"), Node::new("b").with_weight(3)])?;
/// let figures = balance("modulo", &router, &keys, &Placement::of(&router, &keys)).figures;
/// assert_eq!(figures.mean, 500.0);
/// assert!(figures.max < 600.0); // though b holds about 750
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// What all nodes hold together.
    pub total: u64,
    /// E = (Σs)² / Σs² over what the distinct keys carry: that many equal keys would be as noisy.
    pub effective_keys: f64,
    /// Nodes that hold something.
    pub used: u64,
    /// Nodes with weight that hold nothing.
    pub empty: u64,
    /// The least figure of a node.
    #[serde(serialize_with = "whole_where_it_is")]
    pub min: f64,
    /// The largest figure of a node.
    #[serde(serialize_with = "whole_where_it_is")]
    pub max: f64,
    /// `total` over the nodes with weight.
    pub mean: f64,
    /// The root of the mean square of figure - mean: that of a population.
    pub stddev: f64,
    /// The coefficient of variation, `stddev / mean`; 0 when there is nothing.
    pub cv: f64,
    /// What chance alone gives.
    #[serde(flatten)]
    pub noise: Noise,
    /// The largest figure over the mean; 0 when there is nothing.
    pub max_over_mean: f64,
    /// The 95th percentile (nearest rank) over the mean; 0 when there is nothing.
    pub p95_over_mean: f64,
    /// The largest figure over the median; `None` when the median is 0.
    pub max_over_median: Option<f64>,
    /// The share that the n largest nodes hold, for n = 1, 2, 5, 10 … up to their number.
    pub top: Vec<TopShare>,
    /// Pearson's statistic against the fair shares, scaled by E / `total` so that neither
    /// repeated nor large keys inflate it.
    pub chi2: f64,
    /// Its degrees of freedom: the nodes with weight less one.
    pub df: u64,
    /// How often chance alone gives as much, when every key is small beside what a node holds.
    pub p_value: f64,
    /// How many of the largest keys carry half.
    pub keys_for_half: u64,
    /// The keys that carry most, up to five, the largest first; empty when all carry the same.
    pub largest: Vec<KeyShare>,
}

/// The share that the n most loaded nodes hold together.
///
/// ```
/// # use hashroute::harness::TopShare;
/// assert_eq!(serde_json::to_string(&TopShare { n: 1, share: 0.5 })?, r#"{"n":1,"share":0.5}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TopShare {
    /// How many nodes.
    pub n: u64,
    /// Their share.
    pub share: f64,
}

/// A key and the share that it carries.
///
/// ```
/// # use hashroute::harness::KeyShare;
/// let share = KeyShare { key: "user:1".into(), share: 0.25 };
/// assert_eq!(serde_json::to_string(&share)?, r#"{"key":"user:1","share":0.25}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeyShare {
    /// The key; one that is not UTF-8 with escapes such as `\xff`.
    pub key: String,
    /// Its share.
    pub share: f64,
}

/// The figures of the exact shares, each over the fair share.
///
/// ```
/// # use hashroute::{Node, Ring, harness::{Keys, Placement, balance}};
/// let ring = Ring::new((0..100).map(|i| Node::new(format!("n{i}"))))?;
/// let keys = Keys::default();
/// let exact = balance("ring", &ring, &keys, &Placement::of(&ring, &keys)).exact;
/// assert!(exact.is_some_and(|exact| (0.06..0.1).contains(&exact.cv))); // about 1 / sqrt(160)
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExactFigures {
    /// The coefficient of variation.
    pub cv: f64,
    /// The largest over the mean.
    pub max_over_mean: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a whole number in range"
)]
fn whole_where_it_is<S: Serializer>(figure: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    // Below 2^53 every whole number is exact.
    if figure.fract() == 0.0 && (0.0..9_007_199_254_740_992.0).contains(figure) {
        serializer.serialize_u64(*figure as u64)
    } else {
        serializer.serialize_f64(*figure)
    }
}

/// How the keys of a placement fall on the nodes. `router` gives the exact shares, where it can;
/// `strategy` is a name for the reader.
///
/// O(keys log keys + nodes log nodes), and some hundred simulated placements for the noise.
///
/// ```
/// use hashroute::harness::{Keys, Placement, balance};
/// use hashroute::{Node, Rendezvous};
///
/// // A stream that says nothing about balance, whatever its length.
/// let keys = Keys::zipf(1, 10_000, 1, 1.0)?;
/// let router = Rendezvous::new(["a", "b", "c"].map(Node::new))?;
/// let balance = balance("rendezvous", &router, &keys, &Placement::of(&router, &keys));
/// assert_eq!((balance.keys, balance.distinct_keys), (10_000, 1));
/// assert!(balance.figures.noise.cv > 1.0 && balance.figures.p_value > 0.1);
/// # Ok::<(), hashroute::Error>(())
/// ```
pub fn balance(strategy: &str, router: &dyn Router, keys: &Keys, placement: &Placement) -> Balance {
    Yardstick::of_placed(keys, placement).measure(strategy, router, keys, placement)
}

/// What the figures are held against. It depends on keys and weights alone, so that strategies
/// on the same scenario share one.
#[derive(Debug)]
pub(super) struct Yardstick {
    /// The weights above 0, in order of name.
    weights: Vec<u32>,
    keys: Yard,
    bytes: Option<Yard>,
    requests: Option<Yard>,
}

/// The part of it that is about one measure.
#[derive(Debug)]
struct Yard {
    sample: Sample,
    noise: Noise,
}

impl Yardstick {
    /// For all keys.
    pub(super) fn new(nodes: &[Node], keys: &Keys) -> Self {
        Self::of(nodes, keys, &|_| true)
    }

    /// For those keys that have a node.
    fn of_placed(keys: &Keys, placement: &Placement) -> Self {
        let placed = |index| placement.owner(index).is_some();
        Self::of(placement.nodes(), keys, &placed)
    }

    fn of(nodes: &[Node], keys: &Keys, counts: &dyn Fn(usize) -> bool) -> Self {
        let weights: Vec<_> = nodes
            .iter()
            .map(Node::weight)
            .filter(|&weight| weight > 0)
            .collect();
        let yard = |amounts: Option<&[u64]>| {
            let sample = Sample::new(keys.sums(amounts, counts));
            Yard {
                noise: sample.noise(&weights),
                sample,
            }
        };
        Self {
            keys: yard(None),
            bytes: keys.sizes().map(|sizes| yard(Some(sizes))),
            requests: keys.requests().map(|requests| yard(Some(requests))),
            weights,
        }
    }

    /// The balance of a placement of these keys; against a yardstick of its own where some of
    /// them found no place.
    pub(super) fn balance(
        &self,
        strategy: &str,
        router: &dyn Router,
        keys: &Keys,
        placement: &Placement,
    ) -> Balance {
        if placement.owners().all(|owner| owner.is_some()) {
            return self.measure(strategy, router, keys, placement);
        }
        Self::of_placed(keys, placement).measure(strategy, router, keys, placement)
    }

    fn measure(
        &self,
        strategy: &str,
        router: &dyn Router,
        keys: &Keys,
        placement: &Placement,
    ) -> Balance {
        let view = View::new(&self.weights, router, keys, placement);
        let by_keys = view.measured(&self.keys, None);
        let by_bytes = self
            .bytes
            .as_ref()
            .map(|yard| view.measured(yard, keys.sizes()));
        let by_requests = self
            .requests
            .as_ref()
            .map(|yard| view.measured(yard, keys.requests()));
        let verdict = Verdict::new(&by_keys, by_bytes.as_ref(), by_requests.as_ref());
        let placed: u64 = by_keys.loads.iter().sum();
        Balance {
            strategy: strategy.to_owned(),
            hash: router
                .hasher()
                .map_or("its own", |hasher| hasher.function().name())
                .to_owned(),
            nodes: view.nodes(&by_keys, by_bytes.as_ref(), by_requests.as_ref()),
            keys: placement.len() as u64,
            distinct_keys: keys.distinct() as u64,
            unplaced: placement.len() as u64 - placed,
            figures: by_keys.figures,
            bytes: by_bytes.map(|measured| measured.figures),
            requests: by_requests.map(|measured| measured.figures),
            exact: view.exact,
            verdict,
        }
    }
}

/// One placement, looked at measure by measure.
struct View<'a> {
    weights: &'a [u32],
    keys: &'a Keys,
    placement: &'a Placement,
    /// In order of the placement's nodes.
    shares: Option<Vec<f64>>,
    exact: Option<ExactFigures>,
}

/// What there is to say of one measure.
#[derive(Debug)]
pub(super) struct Measured {
    /// By node, weight 0 included.
    loads: Vec<u64>,
    /// How many distinct keys carry any of it.
    pub(super) carriers: usize,
    pub(super) figures: Figures,
    pub(super) evenness: Evenness,
}

impl<'a> View<'a> {
    fn new(
        weights: &'a [u32],
        router: &dyn Router,
        keys: &'a Keys,
        placement: &'a Placement,
    ) -> Self {
        let shares = exact_shares(router, placement.nodes());
        let exact = shares.as_deref().map(|shares| exact(placement, shares));
        Self {
            weights,
            keys,
            placement,
            shares,
            exact,
        }
    }

    fn measured(&self, yard: &Yard, amounts: Option<&[u64]>) -> Measured {
        let loads = self.loads(amounts);
        let live: Vec<_> = self.live(&loads).map(|load| load as f64).collect();
        let total: f64 = live.iter().sum();
        let scale = ratio(yard.sample.effective, total);
        let weight_total: f64 = self.weights.iter().copied().map(f64::from).sum();
        let fair = || {
            self.weights
                .iter()
                .map(|&weight| f64::from(weight) / weight_total * total)
        };
        let chi2 = pearson(&live, fair()) * scale;
        let exact = self
            .shares
            .as_ref()
            .map(|shares| pearson(&live, self.live(shares).map(|share| share * total)) * scale);
        let df = live.len().saturating_sub(1) as u64;
        let figures = self.figures(yard, &loads, chi2, df);
        let carriers = yard.sample.carriers;
        let evidence = Evidence {
            p_equal: p_value(ratio(chi2 * carriers as f64, yard.sample.effective), df),
            p_exact: p_value(exact.unwrap_or(chi2), df),
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

    fn figures(&self, yard: &Yard, loads: &[u64], chi2: f64, df: u64) -> Figures {
        let mut live: Vec<_> = self.live(loads).collect();
        let spread = Spread::of(
            &mut live.iter().map(|&load| load as f64).collect::<Vec<_>>(),
            self.weights,
        );
        let used = live.iter().filter(|&&load| load > 0).count();
        live.sort_unstable_by(|a, b| b.cmp(a));
        Figures {
            total: live
                .iter()
                .fold(0, |sum: u64, load| sum.saturating_add(*load)),
            effective_keys: yard.sample.effective,
            used: used as u64,
            empty: (live.len() - used) as u64,
            min: spread.min,
            max: spread.max,
            mean: spread.mean,
            stddev: spread.stddev,
            cv: spread.cv,
            noise: yard.noise.clone(),
            max_over_mean: spread.max_over_mean,
            p95_over_mean: spread.p95_over_mean,
            max_over_median: spread.max_over_median,
            top: top(&live),
            chi2,
            df,
            p_value: p_value(chi2, df),
            keys_for_half: yard.sample.half as u64,
            largest: self.largest(&yard.sample),
        }
    }

    /// What each node holds when key i counts `amounts[i]`, or 1 without amounts.
    fn loads(&self, amounts: Option<&[u64]>) -> Vec<u64> {
        let mut loads = vec![0_u64; self.placement.nodes().len()];
        for (index, owner) in self.placement.owners().enumerate() {
            let amount = amounts.map_or(1, |amounts| amounts.get(index).copied().unwrap_or(0));
            if let Some(load) = owner.and_then(|owner| loads.get_mut(owner)) {
                *load = load.saturating_add(amount);
            }
        }
        loads
    }

    /// Of values by node, those of the nodes with weight.
    fn live<'v, T: Copy>(&self, values: &'v [T]) -> impl Iterator<Item = T> + use<'_, 'v, T> {
        let pairs = values.iter().zip(self.placement.nodes());
        pairs
            .filter(|(_, node)| node.weight() > 0)
            .map(|(value, _)| *value)
    }

    fn largest(&self, sample: &Sample) -> Vec<KeyShare> {
        let key_share = |&(amount, index): &(u64, usize)| {
            let key = self.keys.get(index).unwrap_or_default();
            let key = core::str::from_utf8(key)
                .map_or_else(|_| key.escape_ascii().to_string(), str::to_owned);
            KeyShare {
                key,
                share: ratio(amount as f64, sample.total),
            }
        };
        sample.heavy.iter().take(5).map(key_share).collect()
    }

    fn nodes(
        &self,
        keys: &Measured,
        bytes: Option<&Measured>,
        requests: Option<&Measured>,
    ) -> Vec<NodeBalance> {
        let placed = keys.loads.iter().sum::<u64>() as f64;
        let weight_total = self.placement.total_weight() as f64;
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
            exact_share: self.shares.as_ref().map(|shares| shares[index]),
            bytes: of(bytes, index),
            requests: of(requests, index),
        };
        self.placement
            .nodes()
            .iter()
            .enumerate()
            .map(node_balance)
            .collect()
    }
}

/// The router's exact shares in order of these nodes.
fn exact_shares(router: &dyn Router, nodes: &[Node]) -> Option<Vec<f64>> {
    let shares = router.shares()?;
    let share = |node: &Node| {
        router
            .nodes()
            .id(node.name())
            .and_then(|id| shares.get(id.index()).copied())
    };
    Some(
        nodes
            .iter()
            .map(|node| share(node).unwrap_or(0.0))
            .collect(),
    )
}

fn exact(placement: &Placement, shares: &[f64]) -> ExactFigures {
    let pairs = shares
        .iter()
        .zip(placement.nodes())
        .filter(|(_, node)| node.weight() > 0);
    let (mut shares, weights): (Vec<_>, Vec<_>) =
        pairs.map(|(share, node)| (*share, node.weight())).unzip();
    let spread = Spread::of(&mut shares, &weights);
    ExactFigures {
        cv: spread.cv,
        max_over_mean: spread.max_over_mean,
    }
}

/// The sum of (load - expected)² / expected; infinite for a load where none was expected.
fn pearson(loads: &[f64], expected: impl Iterator<Item = f64>) -> f64 {
    let term = |(load, expected): (&f64, f64)| match load - expected {
        0.0 => 0.0,
        difference => difference * difference / expected,
    };
    loads.iter().zip(expected).map(term).sum()
}

fn p_value(chi2: f64, df: u64) -> f64 {
    if chi2.is_infinite() {
        return 0.0;
    }
    ChiSquared::new(df as f64).map_or(1.0, |distribution| distribution.sf(chi2))
}

/// `loads` in descending order.
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
