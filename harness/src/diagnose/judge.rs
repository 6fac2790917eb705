//! Judges evidence.

use super::chance::{SIGNIFICANCE, SLIGHT};
use super::counts;
use super::diagnosis::Diagnosis;
use super::evidence::Evidence;
use super::finding::{Finding, KeyStage, Status};
use super::findings::findings;
use super::measures::{self, MeasureSkew};
use super::placed::{Cluster, Placed};
use super::result::Skew;
use super::sentences;
use super::stages::Tests;
use super::trial::Trial;
use crate::keys::Keys;
use crate::summary::Measure;
use crate::text::hash_name;
use hashroute::Error;

impl Diagnosis<'_> {
    /// Gathers the evidence of these keys and judges it.
    ///
    /// # Errors
    /// As [`Setup::build`](hashroute::registry::Setup::build).
    pub fn analyse(&self, keys: &Keys) -> Result<Skew, Error> {
        self.judge(&Evidence::of(&*self.setup.build()?, keys))
    }

    /// Judges the evidence of a router of this setup.
    ///
    /// O(sample (log sample + prime powers)). Assigns all sampled keys once more for each number of
    /// nodes, up to 2^25 keys in all, and 65,536 keys for each remedy.
    ///
    /// # Errors
    /// As [`Setup::build`](hashroute::registry::Setup::build); [`Error::Parameter`] if the evidence
    /// is about other nodes.
    ///
    /// ```
    /// # use hashroute_harness::skew::{Diagnosis, Evidence};
    /// # use hashroute::{Ring, registry::{Params, Setup}, strategy};
    /// let ring = Ring::new(["a", "b"])?;
    /// let mut evidence = Evidence::new(&ring);
    /// (0..1000).for_each(|i| evidence.add(&ring, format!("user:{i}").as_bytes(), None, None));
    /// let setup = Setup::new(strategy::find("ring")?, ["a", "b"], Params::default());
    /// assert_eq!(Diagnosis::new(&setup).judge(&evidence)?.distinct_keys, 1000);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn judge(&self, evidence: &Evidence) -> Result<Skew, Error> {
        let evidence = &*evidence.settled();
        let router = self.setup.build()?;
        evidence.check(&*router)?;
        // A router that keeps loads counts what it places, so each test needs one of its own.
        let again = || match router.loads() {
            Some(_) => self.setup.build().map(Some),
            None => Ok(None),
        };
        let cluster = Cluster::of(&*router);
        let fresh = again()?;
        let fresh = fresh.as_deref().unwrap_or(&*router);
        let placed = Placed::of(fresh, &cluster, evidence.sample());
        let mut measures = measures::measures(&cluster, evidence);
        let mut node_counts = counts::count(self, &*router, &placed);
        let most = node_counts.rows.iter().map(|row| row.nodes).max();
        let most = most.unwrap_or(0).max(cluster.len() as u64);
        let fresh = again()?;
        let fresh = fresh.as_deref().unwrap_or(&*router);
        let mut tests = Tests::of(fresh, &cluster, &placed, evidence, most);
        // Bonferroni: all tests together raise a false alarm with probability SIGNIFICANCE.
        let count = tests.count() + measures.len() + node_counts.rows.len();
        let threshold = SIGNIFICANCE / count as f64;
        for measure in &mut measures {
            measure.uneven = measure.p_value < threshold && measure.cv > SLIGHT;
        }
        tests.judge_residues(threshold);
        let bunched = tests.bunched();
        node_counts.judge(&bunched, threshold);
        let sentences = sentences::Stages {
            setup: self,
            tests: &tests,
            placed: &placed,
            cluster: &cluster,
            distinct: whole(evidence.distinct_keys()),
        };
        let stages = findings(&sentences, &mut measures, threshold);
        let worst = measures::worst(&measures);
        let faults = faults(&stages, worst);
        let remedies = if worst.is_some() || !faults.is_empty() {
            let measure = worst.map_or(Measure::Keys, |worst| worst.measure);
            Trial::new(self, &*router, &placed, evidence, measure).against(&faults, &node_counts)
        } else {
            Vec::new()
        };
        let mut skew = Skew {
            strategy: self.setup.scheme().name.to_owned(),
            hash: hash_name(&*router).to_owned(),
            nodes: cluster.len() as u64,
            keys: evidence.total().keys,
            distinct_keys: whole(evidence.distinct_keys()),
            sampled_keys: placed.keys.len() as u64,
            estimated: evidence.estimated(),
            unplaced: evidence.unplaced(),
            unreadable: evidence.unreadable(),
            significance: SIGNIFICANCE,
            tests: count as u64,
            threshold,
            remedies,
            measures,
            stages,
            steps: tests.steps,
            residues: tests.residues,
            bunched,
            node_counts,
            verdict: String::new(),
            advice: String::new(),
        };
        skew.verdict = sentences::verdict(&skew);
        skew.advice = sentences::advice(&skew);
        Ok(skew)
    }
}

/// Returns the stages that remedies are tried against: the causes of the worst measure, and
/// weights.
fn faults(stages: &[Finding], worst: Option<&MeasureSkew>) -> Vec<KeyStage> {
    let nodes = |one: &&Finding| one.stage == KeyStage::Nodes && one.status == Status::AtFault;
    let nodes = stages.iter().filter(nodes).map(|one| one.stage);
    let because = worst.map_or(&[][..], |worst| &worst.because);
    because.iter().copied().chain(nodes).collect()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count of keys"
)]
fn whole(count: f64) -> u64 {
    count.round() as u64
}

/// Judgements on samples. The sample is small here, so that few keys are beyond it.
#[cfg(test)]
mod tests {
    use statrs::distribution::{Binomial, DiscreteCDF};

    use super::super::gatherer::Gatherer;
    use super::*;
    use crate::keys::Consumer;
    use hashroute::registry::{Params, Setup};
    use hashroute::{HashFunction, HashTag, KeyHasher, Node, strategy};

    const SAMPLE: usize = 1 << 10;
    const SEEDS: u64 = 8;

    fn nodes(count: usize) -> Vec<Node> {
        (0..count).map(|i| Node::new(format!("n{i}"))).collect()
    }

    fn keys(seed: u64, count: u64) -> Keys {
        Keys::template(&format!("beyond:{seed}:{{i}}"), 0..count).expect("keys")
    }

    fn setup(name: &str, nodes: Vec<Node>, params: Params) -> Setup {
        Setup::new(strategy::find(name).expect("a strategy"), nodes, params)
    }

    /// Judges a sample of at most `most` of the keys, gathered in two parts.
    fn judged(setup: &Setup, most: usize, parts: &[Keys], counts: &[usize]) -> Skew {
        let router = setup.build().expect("a router");
        let mut all = Evidence::with_most(&*router, most);
        for keys in parts {
            let mut part = Evidence::with_most(&*router, most);
            part.add_all(&*router, keys);
            part.settle();
            all.absorb(part);
        }
        assert!(!all.is_whole() && all.sample().len() == most);
        let diagnosis = Diagnosis::new(setup).with_node_counts(counts);
        let skew = diagnosis.judge(&all).expect("a judgement");
        assert!(skew.estimated.is_some());
        skew
    }

    fn at_fault(skew: &Skew) -> Vec<KeyStage> {
        let faults = skew.stages.iter();
        let faults = faults.filter(|one| one.status == Status::AtFault);
        faults.map(|one| one.stage).collect()
    }

    /// Sizes without outliers, from 1 to 6.
    fn sized(keys: Keys, seed: u64) -> Keys {
        let sizes = (0..keys.len() as u64).map(|i| 1 + hashroute::hash::mix64(i ^ seed << 32) % 6);
        keys.with_sizes(sizes.collect()).expect("sizes")
    }

    /// The number of distinct keys is an estimate with an error of 6% here. With 400 nodes, loads of
    /// keys whose number is overestimated by that would look uneven.
    #[test]
    fn estimates_raise_no_more_alarms_than_stated() {
        const RUNS: u64 = 100;
        let mut alarms = 0;
        for run in 0..RUNS {
            let name = ["jump", "modulo"][(run % 2) as usize];
            let count = [400, 30, 3][(run % 3) as usize];
            let setup = setup(name, nodes(count), Params::default());
            let parts = [0, 1].map(|part| keys(2 * run + part, 3000 + 70 * run));
            let parts = parts.map(|keys| if run % 5 < 2 { sized(keys, run) } else { keys });
            let skew = judged(&setup, 256, &parts, &[count]);
            let off = (skew.distinct_keys as f64 / (6000 + 140 * run) as f64 - 1.0).abs();
            assert!(off < 5.0 / 16.0, "{off}"); // five standard errors
            let alarm = skew.measures.iter().any(|one| one.uneven)
                || skew.stages.iter().any(|one| one.status != Status::Ok);
            alarms += u64::from(alarm);
        }
        // At the stated significance, more alarms have a probability below 1 in 10,000.
        let chance = Binomial::new(SIGNIFICANCE, RUNS).expect("a distribution");
        assert!(
            chance.sf(alarms.saturating_sub(1)) > 1e-4,
            "{alarms} of {RUNS}"
        );
    }

    #[test]
    fn a_bad_hash_is_named_from_a_sample() {
        let hasher = KeyHasher::new(HashFunction::TwemproxyFnv1a64);
        for seed in 0..SEEDS {
            let params = Params::default().with_hasher(hasher.clone());
            let setup = setup("modulo", nodes(87), params);
            let skew = judged(&setup, SAMPLE, &[keys(seed, 20_000)], &[87]);
            assert_eq!(at_fault(&skew), [KeyStage::Hash], "{seed} {}", skew.verdict);
            assert!(skew.remedies.first().is_some_and(|best| best.even));
        }
    }

    #[test]
    fn a_bad_tag_is_named_from_a_sample() {
        let hasher = KeyHasher::default().with_tag(HashTag::BRACES);
        for seed in 0..SEEDS {
            let params = Params::default().with_hasher(hasher.clone());
            let setup = setup("rendezvous", nodes(10), params);
            let mut keys = Keys::default();
            (0..20_000).for_each(|i| keys.push(format!("{{t{seed}:{}}}:{i}", i % 40).as_bytes()));
            let skew = judged(&setup, SAMPLE, &[keys], &[10]);
            assert_eq!(at_fault(&skew), [KeyStage::Tag], "{seed} {}", skew.verdict);
        }
    }

    #[test]
    fn a_hot_key_is_named_whether_it_is_sampled_or_not() {
        let setup = setup("jump", nodes(10), Params::default());
        for hot in 0..SEEDS {
            let mut more = keys(7, 20_000);
            let key = format!("beyond:7:{hot}");
            (0..4000).for_each(|_| more.push(key.as_bytes()));
            let skew = judged(&setup, SAMPLE, &[keys(7, 9000), more], &[10]);
            assert_eq!(at_fault(&skew), [KeyStage::Keys], "{key} {}", skew.verdict);
            assert_eq!(skew.measures[0].top_keys[0].key, key);
            let best = skew.remedies.first().expect("a remedy");
            assert!(best.even && best.what.starts_with(&key), "{best:?}");
        }
    }

    #[test]
    fn a_bad_weight_is_named_from_a_sample() {
        for seed in 0..SEEDS {
            let mut nodes = nodes(10);
            nodes[3] = Node::new("n3").with_weight(10);
            let setup = setup("rendezvous", nodes, Params::default());
            let skew = judged(&setup, SAMPLE, &[keys(seed, 20_000)], &[10]);
            assert_eq!(
                at_fault(&skew),
                [KeyStage::Nodes],
                "{seed} {}",
                skew.verdict
            );
        }
    }

    /// Keys of a middling size, too small to be listed and too few to be sampled well, carry nearly
    /// all. The sample alone would make chance too small or too large.
    #[test]
    fn noise_follows_the_sketch_where_few_keys_of_the_sample_carry_most() {
        for seed in 0..SEEDS {
            let keys = keys(seed, 40_000);
            let size = |i| if i % 8 == 0 { 500 } else { 1 };
            let keys = keys
                .with_sizes((0..40_000).map(size).collect())
                .expect("sizes");
            let setup = setup("rendezvous", nodes(50), Params::default());
            let skew = judged(&setup, SAMPLE, &[keys], &[50]);
            let squares: f64 = 5000.0 * 250_000.0 + 35_000.0;
            let total: f64 = 5000.0 * 500.0 + 35_000.0;
            let noise = (49.0 * squares).sqrt() / total;
            let off = (skew.measures[1].noise_cv / noise - 1.0).abs();
            assert!(off < 0.01, "{seed} {off}"); // the sample alone is off by 4%
            assert!(skew.worst().is_none(), "{}", skew.verdict);
        }
    }

    #[test]
    fn a_judgement_does_not_depend_on_the_cut() {
        let setup = setup("ring", nodes(7), Params::default());
        let router = setup.build().expect("a router");
        let count = Evidence::MOST as u64 + 3000;
        let whole = keys(1, count);
        let parts = [3, 2, 1, 0].map(|part| {
            let range = part * count / 4..(part + 1) * count / 4;
            Keys::template("beyond:1:{i}", range).expect("keys")
        });
        let [mut one, mut other] = [0, 1].map(|_| Gatherer::new(&*router));
        one.add(&whole);
        for part in &parts {
            let mut next = Gatherer::new(&*router);
            next.add(part);
            next.merge(other);
            other = next;
        }
        let [one, other] = [one, other].map(Gatherer::into_evidence);
        assert!(one == other && !one.is_whole());
        let judged = [one, other].map(|evidence| Diagnosis::new(&setup).judge(&evidence));
        let [Ok(one), Ok(other)] = judged else {
            panic!("no judgement");
        };
        assert_eq!(one, other);
    }
}
