//! The stages of a key's way, each tested apart.

use core::fmt;

use serde::{Deserialize, Serialize};

use super::chance::{self, SLIGHT, beyond, stands_out};
use super::evidence::Evidence;
use super::hashes::{self, HashStep, Residue};
use super::measures::MeasureSkew;
use super::placed::{Cluster, Placed};
use super::sentences;
use crate::text::printable;
use hashroute::Router;

/// A stage of a key's way to its node.
///
/// ```
/// assert_eq!(hashroute_harness::skew::KeyStage::Tag.to_string(), "tag");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum KeyStage {
    /// The keys as they come, by template: whether few of them carry much.
    Keys,
    /// What of a key is hashed: whether hash tags leave few different parts.
    Tag,
    /// The hash function: whether its values repeat, step or bunch.
    Hash,
    /// The strategy: whether its own shares are those that the weights ask for.
    Routing,
    /// The nodes: whether their weights make one of them hot.
    Nodes,
}

impl fmt::Display for KeyStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Keys => "keys",
            Self::Tag => "tag",
            Self::Hash => "hash",
            Self::Routing => "routing",
            Self::Nodes => "nodes",
        })
    }
}

/// What there is to say of a stage.
///
/// ```
/// use hashroute_harness::skew::Status;
/// assert_eq!(serde_json::to_string(&Status::AtFault)?, "\"at_fault\"");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Status {
    /// Nothing against it.
    Ok,
    /// A weakness that does no harm to these keys on these nodes.
    Weak,
    /// It makes the nodes as uneven as they are, or half as much at least.
    AtFault,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ok => "ok",
            Self::Weak => "weak",
            Self::AtFault => "at fault",
        })
    }
}

/// A stage, tested apart from the others.
///
/// ```
/// use hashroute_harness::{Keys, skew::{Diagnosis, KeyStage, Status}};
/// use hashroute::registry::{Params, Setup};
/// use hashroute::{Node, strategy};
///
/// let nodes = [Node::new("a"), Node::new("b"), Node::new("c").with_weight(20)];
/// let setup = Setup::new(strategy::find("rendezvous")?, nodes, Params::default());
/// let skew = Diagnosis::new(&setup).analyse(&Keys::template("user:{i}", 0..10_000)?)?;
/// let at_fault = skew.stages.iter().filter(|finding| finding.status == Status::AtFault);
/// assert!(at_fault.map(|finding| finding.stage).eq([KeyStage::Nodes]));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Finding {
    /// The stage.
    pub stage: KeyStage,
    /// What there is to say of it.
    pub status: Status,
    /// The coefficient of variation that it adds to what chance alone gives.
    pub cv: f64,
    /// How often chance alone gives what was found; `None` where chance plays no part.
    pub p_value: Option<f64>,
    /// What was found, for people.
    pub text: String,
}

/// A share of neighbours that is worth telling.
const COMMON: f64 = 0.05;

/// What was measured of the stages, before anything is judged.
#[derive(Debug)]
pub(super) struct Tests {
    pub(super) steps: Vec<HashStep>,
    pub(super) residues: Vec<Residue>,
    pub(super) modulo: bool,
    /// Of what is hashed: how many different ones.
    pub(super) parts: usize,
    pub(super) outputs: usize,
    pub(super) tag_cv: f64,
    pub(super) repeat_cv: f64,
    pub(super) bunch_cv: f64,
    pub(super) structure_cv: f64,
    weight_cv: f64,
    absolute_cv: f64,
    p_steps: f64,
    p_repeats: f64,
    p_bunch: f64,
    p_structure: Option<f64>,
    p_weight: f64,
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

    /// How many tests these are, for the correction.
    pub(super) fn count(&self) -> usize {
        4 + usize::from(self.p_structure.is_some()) + self.residues.len()
    }

    /// The most frequent step, where it is that of many.
    pub(super) fn step(&self) -> Option<&HashStep> {
        self.steps.first().filter(|step| step.share > COMMON)
    }

    /// The prime powers at which the hashes bunch, the smallest power of each prime.
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

/// One stage's part in the unevenness.
struct Part {
    stage: KeyStage,
    cv: f64,
    p_value: Option<f64>,
    proven: bool,
    weak: bool,
}

/// What is behind each uneven measure, and what there is to say of each stage, given how small a
/// chance has to be.
pub(super) fn findings(
    sentences: &sentences::Stages,
    measures: &mut [MeasureSkew],
    threshold: f64,
) -> Vec<Finding> {
    for measure in measures.iter_mut().filter(|measure| measure.uneven) {
        measure.because = causes(
            &parts(sentences.tests, measure.heavy_cv, threshold),
            measure.cv,
        );
    }
    let worst = super::measures::worst(measures);
    let heavy = worst.map_or(0.0, |worst| worst.heavy_cv);
    let at_fault = |stage| {
        measures
            .iter()
            .any(|measure| measure.because.contains(&stage))
    };
    let finding = |part: &Part| {
        let status = if at_fault(part.stage) {
            Status::AtFault
        } else if part.weak {
            Status::Weak
        } else {
            Status::Ok
        };
        Finding {
            stage: part.stage,
            status,
            cv: part.cv,
            p_value: part.p_value,
            text: sentences.of(part.stage, status, worst.or(measures.first())),
        }
    };
    let parts = parts(sentences.tests, heavy, threshold);
    let mut findings: Vec<_> = parts.iter().map(finding).collect();
    findings.push(nodes(sentences, threshold));
    findings
}

/// The stages that make half of an unevenness, or the one that makes most.
fn causes(parts: &[Part], cv: f64) -> Vec<KeyStage> {
    let counts = || parts.iter().filter(|part| part.proven && part.cv > SLIGHT);
    let most = counts().map(|part| part.cv).fold(0.0, f64::max);
    let limit = most.min(cv / 2.0);
    counts()
        .filter(|part| part.cv >= limit)
        .map(|part| part.stage)
        .collect()
}

fn parts(tests: &Tests, heavy_cv: f64, threshold: f64) -> [Part; 4] {
    let [bunches, repeats, steps] =
        [tests.p_bunch, tests.p_repeats, tests.p_steps].map(|p| p < threshold);
    // A narrow hash repeats by its width: no chance, and no less a fault.
    let by_repeats = tests.repeat_cv > tests.bunch_cv;
    let (hash_cv, p_hash) = if by_repeats {
        (tests.repeat_cv, tests.p_repeats)
    } else {
        (tests.bunch_cv, tests.p_bunch)
    };
    let hash_weak = repeats || (steps && tests.step().is_some()) || !tests.bunched().is_empty();
    let structure = tests.p_structure.is_none_or(|p| p < threshold);
    let part = |stage, cv, p_value, proven, weak| Part {
        stage,
        cv,
        p_value,
        proven,
        weak,
    };
    [
        part(KeyStage::Keys, heavy_cv, None, true, false),
        part(
            KeyStage::Tag,
            tests.tag_cv,
            None,
            true,
            tests.tag_cv > SLIGHT,
        ),
        part(
            KeyStage::Hash,
            hash_cv,
            Some(p_hash),
            bunches || by_repeats,
            hash_weak,
        ),
        part(
            KeyStage::Routing,
            tests.structure_cv,
            tests.p_structure,
            structure,
            false,
        ),
    ]
}

/// Weights are no matter of chance: a node is hot by its weight where that explains half of how
/// far all nodes are apart.
fn nodes(sentences: &sentences::Stages, threshold: f64) -> Finding {
    let tests = sentences.tests;
    let real = tests.p_weight < threshold && tests.weight_cv > SLIGHT;
    let at_fault = real && tests.weight_cv >= tests.absolute_cv / 2.0;
    let status = if at_fault {
        Status::AtFault
    } else {
        Status::Ok
    };
    Finding {
        stage: KeyStage::Nodes,
        status,
        cv: tests.weight_cv,
        p_value: Some(tests.p_weight).filter(|_| tests.weight_cv > 0.0),
        text: sentences.of(KeyStage::Nodes, status, None),
    }
}

/// A key or tag as text.
pub(super) fn shown(key: &[u8]) -> String {
    printable(&super::templates::text(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(parts: [(KeyStage, f64, bool); 3], cv: f64) -> Vec<KeyStage> {
        let parts = parts.map(|(stage, cv, proven)| Part {
            stage,
            cv,
            p_value: None,
            proven,
            weak: false,
        });
        causes(&parts, cv)
    }

    #[test]
    fn a_cause_makes_half_or_the_most() {
        use KeyStage::{Hash, Routing, Tag};
        let parts = [(Tag, 0.9, true), (Hash, 0.6, true), (Routing, 0.4, true)];
        assert_eq!(of(parts, 1.0), [Tag, Hash]);
        let parts = [(Tag, 0.2, true), (Hash, 0.3, true), (Routing, 0.1, true)];
        assert_eq!(of(parts, 1.0), [Hash]);
        let parts = [(Tag, 0.9, false), (Hash, 0.6, true), (Routing, 0.4, true)];
        assert_eq!(of(parts, 1.0), [Hash]);
        let parts = [(Tag, 0.009, true), (Hash, 0.0, true), (Routing, 0.0, true)];
        assert!(of(parts, 0.011).is_empty());
    }
}
