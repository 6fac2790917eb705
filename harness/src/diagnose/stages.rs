//! Tests the stages of a key's way, each apart from the others.

use super::chance::{self, beyond, stands_out};
use super::evidence::Evidence;
use super::hashes::{self, HashStep, Residue};
use super::placed::{Cluster, Placed};
use hashroute::Router;

/// The share of neighbours from which on a step is mentioned.
const COMMON: f64 = 0.05;

/// The measurements of the stages, before anything is judged.
#[derive(Debug)]
pub(super) struct Tests {
    pub(super) steps: Vec<HashStep>,
    pub(super) residues: Vec<Residue>,
    pub(super) modulo: bool,
    /// The number of distinct hashed parts.
    pub(super) parts: usize,
    pub(super) outputs: usize,
    pub(super) tag_cv: f64,
    pub(super) repeat_cv: f64,
    pub(super) bunch_cv: f64,
    pub(super) structure_cv: f64,
    pub(super) weight_cv: f64,
    pub(super) absolute_cv: f64,
    pub(super) p_steps: f64,
    pub(super) p_repeats: f64,
    pub(super) p_bunch: f64,
    pub(super) p_structure: Option<f64>,
    pub(super) p_weight: f64,
}

impl Tests {
    pub(super) fn of(
        router: &dyn Router,
        cluster: &Cluster,
        placed: &Placed,
        evidence: &Evidence,
        most: u64,
    ) -> Self {
        let keys = placed.keys.len() as f64;
        let (parts, effective_parts) = match placed.tags.tag {
            Some(_) => (placed.tags.parts, placed.tags.effective),
            None => (placed.keys.len(), keys),
        };
        let noise = |units| cluster.noise(units);
        let outputs = placed.output_loads(cluster.len());
        let units = placed.outputs.len() as f64;
        let (structure_cv, p_structure) = cluster.structure(router, placed.bits);
        let (steps, p_steps) = hashes::steps(placed);
        let on_nodes = evidence.loads().iter();
        let loads: Vec<_> = on_nodes
            .filter(|(node, _)| node.weight() > 0)
            .map(|(_, load)| load.keys as f64)
            .collect();
        let equal = vec![1.0 / cluster.len() as f64; cluster.len()];
        Self {
            residues: hashes::residues(placed, most),
            modulo: super::counts::is_modulo(router, placed.bits),
            tag_cv: beyond(noise(effective_parts), noise(keys)),
            repeat_cv: beyond(noise(placed.effective_outputs), noise(effective_parts)),
            bunch_cv: beyond(chance::cv(&outputs, cluster.expected()), noise(units)),
            weight_cv: if cluster.is_equal() {
                0.0
            } else {
                chance::cv(&cluster.fair, &equal)
            },
            absolute_cv: chance::cv(&loads, &equal),
            p_repeats: hashes::repeats(parts, placed),
            p_bunch: chance::p_value(&outputs, cluster.expected(), units),
            p_weight: chance::p_value(&loads, &equal, evidence.distinct_keys()),
            outputs: placed.outputs.len(),
            parts,
            steps,
            structure_cv,
            p_steps,
            p_structure,
        }
    }

    /// Returns the number of tests, for the correction.
    pub(super) fn count(&self) -> usize {
        4 + usize::from(self.p_structure.is_some()) + self.residues.len()
    }

    /// Returns the most frequent step if many neighbours share it.
    pub(super) fn step(&self) -> Option<&HashStep> {
        self.steps.first().filter(|step| step.share > COMMON)
    }

    /// Returns the prime powers at which the hashes bunch, the smallest power of each prime.
    pub(super) fn bunched(&self) -> Vec<u64> {
        let mut bunched: Vec<u64> = Vec::new();
        for residue in self.residues.iter().filter(|residue| residue.bunched) {
            if bunched.iter().all(|q| residue.modulus % q != 0) {
                bunched.push(residue.modulus);
            }
        }
        bunched
    }

    pub(super) fn judge_residues(&mut self, threshold: f64) {
        for residue in &mut self.residues {
            let off = beyond(residue.cv, residue.noise_cv);
            residue.bunched = residue.p_value < threshold && stands_out(off, residue.noise_cv);
        }
    }
}
