//! The sentences of a diagnosis. Everything else in this room is data.

use super::diagnosis::Diagnosis;
use super::finding::{Finding, KeyStage, Status};
use super::measures::MeasureSkew;
use super::placed::{Cluster, Placed};
use super::remedy::{Attempt, Remedy};
use super::result::Skew;
use super::stages::Tests;
use super::templates::Shape;
use crate::text::{key_text, printable, rough_percent};

/// What the sentences on stages are made from.
pub(super) struct Stages<'a> {
    pub(super) setup: &'a Diagnosis<'a>,
    pub(super) tests: &'a Tests,
    pub(super) placed: &'a Placed<'a>,
    pub(super) cluster: &'a Cluster,
    pub(super) distinct: u64,
}

/// A key that carries more than this many times the mean is named.
const FAR: f64 = 10.0;

impl Stages<'_> {
    pub(super) fn of(
        &self,
        stage: KeyStage,
        status: Status,
        measure: Option<&MeasureSkew>,
    ) -> String {
        match stage {
            KeyStage::Keys => self.keys(measure),
            KeyStage::Tag => self.tag(),
            KeyStage::Hash => self.hash(status),
            KeyStage::Routing => self.routing(),
            KeyStage::Nodes => self.nodes(status),
        }
    }

    fn keys(&self, measure: Option<&MeasureSkew>) -> String {
        let Some(measure) = measure else {
            return String::from("no keys");
        };
        let (keys, what) = (self.distinct, measure.measure);
        let far = |share: f64| share * keys as f64 > FAR;
        let named = measure.top_keys.iter().take(3).filter(|top| far(top.share));
        let named: Vec<_> = named
            .map(|top| format!("{} {}", shown(top.key.as_bytes()), rough_percent(top.share)))
            .collect();
        let half = measure.keys_for_half;
        let mut parts = Vec::new();
        parts.push(match named.as_slice() {
            _ if measure.top_keys.is_empty() => {
                format!("all {keys} distinct keys carry the same")
            }
            [] => format!("{half} of {keys} distinct keys carry half of the {what}"),
            _ if half as f64 * FAR >= keys as f64 => {
                format!("{} of the {what}", named.join(", "))
            }
            _ => format!(
                "{half} of {keys} distinct keys carry half of the {what} (most: {})",
                named.join(", ")
            ),
        });
        parts.extend(measure.templates.first().map(|most| {
            let template = shown(most.template.as_bytes());
            format!("{template} carries {}", rough_percent(most.share))
        }));
        parts.join("; ")
    }

    fn tag(&self) -> String {
        let tags = &self.placed.tags;
        let keys = self.placed.keys.len();
        if tags.tag.is_none() {
            return String::from("no hash tag in use");
        }
        let (part, count) = &tags.largest;
        format!(
            "{} of {keys} keys have a hash tag; {} distinct parts are hashed; {} is the part of {} of the keys",
            tags.tagged,
            tags.parts,
            shown(part),
            rough_percent(*count as f64 / keys.max(1) as f64),
        )
    }

    fn hash(&self, status: Status) -> String {
        let tests = self.tests;
        let mut parts = Vec::new();
        if status != Status::Ok {
            let bunched = tests.bunched();
            if !bunched.is_empty() {
                let far = if tests.modulo {
                    ""
                } else {
                    ", but this strategy does not divide by it"
                };
                parts.push(format!("hashes bunch modulo {}{far}", list(&bunched)));
            }
            parts.extend(tests.step().map(|step| {
                let near = if tests.modulo {
                    ""
                } else {
                    ", and mostly share a node"
                };
                let difference = product(step.difference, &step.factors);
                format!(
                    "the hashes of neighbouring keys differ by {difference} ({} of the pairs){near}",
                    rough_percent(step.share)
                )
            }));
        }
        parts.push(format!(
            "{} distinct hashes of {} inputs",
            tests.outputs, tests.parts
        ));
        if status == Status::Weak {
            parts.push(String::from(
                "this does no harm to these keys on these nodes",
            ));
        }
        parts.join("; ")
    }

    fn routing(&self) -> String {
        let cv = self.tests.structure_cv;
        let known = if self.cluster.own.is_some() {
            "exact"
        } else {
            "measured"
        };
        format!(
            "the shares of {} ({known}) differ from the weights by a cv of {cv:.4}",
            self.setup.setup.scheme().name
        )
    }

    fn nodes(&self, status: Status) -> String {
        let weights = &self.cluster.weights;
        let (Some(least), Some(most)) = (weights.iter().min(), weights.iter().max()) else {
            return String::from("no node has weight");
        };
        if least == most {
            return format!("all {} nodes have the same weight", weights.len());
        }
        let total: u64 = weights.iter().copied().map(u64::from).sum();
        let rank = weights
            .iter()
            .position(|weight| weight == most)
            .unwrap_or(0);
        let times = f64::from(*most) * weights.len() as f64 / total as f64;
        let name = &self.cluster.names[rank];
        if status == Status::AtFault {
            return format!(
                "{name} weighs {most} of {total}, {times:.2} times the mean of {} nodes; its load follows from its weight",
                weights.len()
            );
        }
        format!("weights range from {least} to {most}; the heaviest node is {name}")
    }
}

/// Writes `3, 5 and 29`.
fn list(numbers: &[u64]) -> String {
    let words: Vec<_> = numbers.iter().map(|number| format!("{number}")).collect();
    match words.as_slice() {
        [most @ .., last] if !most.is_empty() => format!("{} and {last}", most.join(", ")),
        _ => words.join(""),
    }
}

/// Writes `435 = 3 · 5 · 29`.
fn product(number: u64, factors: &[u64]) -> String {
    let words: Vec<_> = factors.iter().map(|factor| format!("{factor}")).collect();
    match words.len() {
        0 | 1 => format!("{number}"),
        _ => format!("{number} = {}", words.join(" · ")),
    }
}

/// Says whether the load is uneven, and which stages cause it.
pub(super) fn verdict(skew: &Skew) -> String {
    let mut uneven: Vec<_> = skew
        .measures
        .iter()
        .filter(|measure| measure.uneven)
        .collect();
    uneven.sort_by(|a, b| b.cv.total_cmp(&a.cv));
    let nodes = at_fault(skew).find(|finding| finding.stage == KeyStage::Nodes);
    let mut sentences: Vec<_> = uneven
        .iter()
        .map(|measure| sentence(skew, measure))
        .collect();
    if sentences.is_empty() && nodes.is_none() {
        sentences.push(even(skew));
    }
    sentences.extend(nodes.map(|nodes| format!("Weights differ: {}.", nodes.text)));
    sentences.join(" ")
}

fn even(skew: &Skew) -> String {
    let one = |measure: &MeasureSkew| {
        let MeasureSkew {
            measure,
            cv,
            noise_cv,
            p_value,
            ..
        } = measure;
        format!("{measure}: cv {cv:.4}, chance alone gives {noise_cv:.4}, p {p_value:.3}")
    };
    let figures: Vec<_> = skew.measures.iter().map(one).collect();
    format!("Even, within noise ({}).", figures.join("; "))
}

fn sentence(skew: &Skew, measure: &MeasureSkew) -> String {
    let cause = |stage: &KeyStage| {
        let finding = skew.stages.iter().find(|finding| finding.stage == *stage)?;
        let text = &finding.text;
        Some(match stage {
            KeyStage::Keys => format!("few keys carry much of it: {text}"),
            KeyStage::Tag => format!("hash tags leave few distinct parts: {text}"),
            KeyStage::Hash => format!("the hash does not spread these keys: {text}"),
            KeyStage::Routing => format!("the strategy itself is uneven: {text}"),
            KeyStage::Nodes => format!("weights differ: {text}"),
        })
    };
    let causes: Vec<_> = measure.because.iter().filter_map(cause).collect();
    let causes = match causes.as_slice() {
        [] => String::from("; no single stage explains it"),
        _ => format!(", because {}", causes.join("; ")),
    };
    let chance = if measure.because.contains(&KeyStage::Keys) {
        format!(
            "chance alone gives {:.4} for equal keys",
            measure.equal_noise_cv
        )
    } else {
        format!("chance alone gives {:.4}", measure.noise_cv)
    };
    format!(
        "The {} are uneven, and not by chance (cv {:.4}, {chance}; {} has {:.2} times its fair share){causes}.",
        measure.measure, measure.cv, measure.fullest, measure.max_over_mean
    )
}

fn at_fault(skew: &Skew) -> impl Iterator<Item = &Finding> {
    skew.stages
        .iter()
        .filter(|finding| finding.status == Status::AtFault)
}

/// Says what to do.
pub(super) fn advice(skew: &Skew) -> String {
    let best = skew.remedies.first().map_or_else(String::new, tried);
    let worst = skew.worst();
    let cause = worst.and_then(|worst| worst.because.first().copied());
    let nodes = at_fault(skew).next().map(|finding| finding.stage);
    match cause.or(nodes) {
        Some(KeyStage::Keys) => {
            let top = worst.and_then(|worst| worst.top_keys.first());
            let top = top.map_or_else(String::new, |top| {
                format!(", {} first", shown(top.key.as_bytes()))
            });
            format!(
                "No strategy can split a key: cache, copy or split the few large ones{top}.{best}"
            )
        }
        Some(KeyStage::Tag) => {
            format!("Put a part with more distinct values into the hash tag, or use no tag.{best}")
        }
        Some(KeyStage::Nodes) => {
            format!(
                "Lower the weight of that node unless it can hold so much more than the others.{best}"
            )
        }
        Some(KeyStage::Hash) => format!("Change the keys or the hash function.{best}"),
        Some(KeyStage::Routing) => {
            format!(
                "Give the strategy more points, cells or slots if it has any, or use another strategy.{best}"
            )
        }
        None if worst.is_some() => format!("Try another strategy or hash function.{best}"),
        None if skew.node_counts.modulo && !skew.bunched.is_empty() => format!(
            "Nothing to do for this number of nodes. Avoid multiples of {}.",
            list(&skew.bunched)
        ),
        None => {
            let nothing = "Nothing to do. Only more keys or fewer nodes reduce the noise.";
            let stages = skew.stages.iter();
            let mut weak = stages.filter(|finding| finding.status == Status::Weak);
            weak.next().map_or_else(
                || String::from(nothing),
                |weak| {
                    let stage = weak.stage;
                    format!("{nothing} The {stage} is weak, but this does no harm to these keys on these nodes.")
                },
            )
        }
    }
}

/// Says what was changed.
pub(super) fn attempt(attempt: Attempt) -> String {
    match attempt {
        Attempt::WithoutKey(key) => format!("{} kept elsewhere or split", shown(key)),
        Attempt::WithoutLargest(count) => {
            format!("the {count} largest keys kept elsewhere or split")
        }
        Attempt::WithoutTags => String::from("keys without the marks of their hash tags"),
        Attempt::EqualWeights => String::from("weight 1 for every node"),
        Attempt::Mixed => String::from("hashes mixed once more (mix64)"),
        Attempt::Reshaped(shape, example) => {
            let place = match shape {
                Shape::Front => "in front",
                Shape::Middle => "in the middle",
                Shape::Padded => "zero padded",
            };
            format!("the number {place}: {}", shown(example))
        }
        Attempt::Hash(function) => format!("hash {function}"),
        Attempt::Parameter(name, value) => format!("{name}={value}"),
        Attempt::Nodes(count) => format!("{count} nodes"),
        Attempt::Strategy(name, hash) => format!("strategy {name}, hash {hash}"),
    }
}

fn tried(best: &Remedy) -> String {
    format!(
        " Best change tried: {} (cv {:.4}, chance alone gives {:.4}; moves {} of the keys).",
        best.what,
        best.cv,
        best.noise_cv,
        rough_percent(best.moved_share)
    )
}

/// Writes a key or a hashed part.
fn shown(key: &[u8]) -> String {
    printable(&key_text(key))
}
