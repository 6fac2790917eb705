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
        let router = self.setup.build()?;
        evidence.check(&*router)?;
        let cluster = Cluster::of(&*router);
        let placed = Placed::of(&*self.setup.build()?, &cluster, evidence.sample());
        let mut measures = measures::measures(&cluster, evidence);
        let mut node_counts = counts::count(self, &*router, &placed);
        let most = node_counts.rows.iter().map(|row| row.nodes).max();
        let most = most.unwrap_or(0).max(cluster.len() as u64);
        let mut tests = Tests::of(&*self.setup.build()?, &cluster, &placed, evidence, most);
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
