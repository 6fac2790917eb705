//! The answer in words.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::measures::MeasureSkew;
use super::placed::{Cluster, Placed};
use super::stages::{Finding, Stage, Status, Tests, percent, shown};
use super::{Remedy, Setup, Skew};

/// What the sentences on stages need.
pub(super) struct Stages<'a> {
    pub(super) setup: &'a Setup<'a>,
    pub(super) tests: &'a Tests,
    pub(super) placed: &'a Placed<'a>,
    pub(super) cluster: &'a Cluster,
    pub(super) measure: Option<&'a MeasureSkew>,
}

/// Keys that carry so many times the mean are told by name.
const FAR: f64 = 10.0;

impl Stages<'_> {
    pub(super) fn of(&self, stage: Stage, status: Status) -> String {
        match stage {
            Stage::Keys => self.keys(),
            Stage::Tag => self.tag(),
            Stage::Hash => self.hash(status),
            Stage::Routing => self.routing(),
            Stage::Nodes => self.nodes(status),
        }
    }

    fn keys(&self) -> String {
        let Some(measure) = self.measure else {
            return String::from("no keys");
        };
        let (keys, what) = (self.placed.keys.len(), measure.measure);
        let far = |share: f64| share * keys as f64 > FAR;
        let named = measure.top_keys.iter().take(3).filter(|top| far(top.share));
        let named: Vec<_> = named
            .map(|top| format!("{} {}", shown(top.key.as_bytes()), percent(top.share)))
            .collect();
        let half = measure.keys_for_half;
        let mut words = format!("{half} of {keys} distinct keys carry half of the {what}");
        if !named.is_empty() {
            words += &format!(" (most: {})", named.join(", "));
        }
        if let Some(template) = measure.templates.first() {
            words += &format!("; {} holds {}", shown(template.template.as_bytes()), percent(template.share));
        }
        words
    }

    fn tag(&self) -> String {
        let tags = &self.placed.tags;
        let keys = self.placed.keys.len();
        if tags.tag.is_none() {
            return String::from("no hash tag in use");
        }
        let (part, count) = &tags.largest;
        format!(
            "{} of {keys} keys have one; {} different parts are hashed, {} stands for {} of the keys",
            tags.tagged,
            tags.parts,
            shown(part),
            percent(*count as f64 / keys.max(1) as f64),
        )
    }

    fn hash(&self, status: Status) -> String {
        let tests = self.tests;
        let mut words = Vec::new();
        if status != Status::Ok {
            let bunched = tests.bunched();
            if !bunched.is_empty() {
                let list = list(&bunched);
                words.push(format!("hashes bunch modulo {list}"));
            }
            let step = tests.steps.first().filter(|step| step.share > 0.01);
            if let Some(step) = step {
                words.push(format!(
                    "neighbours differ by {} ({} of them)",
                    product(step.difference, &step.factors),
                    percent(step.share)
                ));
            }
        }
        words.push(format!("{} different hashes of {} inputs", tests.outputs, tests.parts));
        if status == Status::Weak {
            words.push(String::from(if tests.modulo {
                "no harm on this number of nodes"
            } else {
                "no harm here"
            }));
        }
        words.join("; ")
    }

    fn routing(&self) -> String {
        let cv = self.tests.structure_cv;
        let known = if self.cluster.own.is_some() { "exact" } else { "measured" };
        format!(
            "{}'s own shares ({known}) are within a cv of {cv:.4} of the weights",
            self.setup.name
        )
    }

    fn nodes(&self, status: Status) -> String {
        let weights = &self.cluster.weights;
        let (Some(least), Some(most)) = (weights.iter().min(), weights.iter().max()) else {
            return String::from("no node has weight");
        };
        if least == most {
            return format!("all {} weigh the same", weights.len());
        }
        let total: u64 = weights.iter().copied().map(u64::from).sum();
        let rank = weights.iter().position(|weight| weight == most).unwrap_or(0);
        let times = f64::from(*most) * weights.len() as f64 / total as f64;
        let name = &self.cluster.names[rank];
        if status == Status::AtFault {
            return format!(
                "{name} weighs {most} of {total}, {times:.2} times the mean of {} nodes: its load is what its weight asks for",
                weights.len()
            );
        }
        format!("weights from {least} to {most}; the heaviest is {name}")
    }
}

/// `3, 5 and 29`.
fn list(numbers: &[u64]) -> String {
    let words: Vec<_> = numbers.iter().map(|number| format!("{number}")).collect();
    match words.as_slice() {
        [most @ .., last] if !most.is_empty() => format!("{} and {last}", most.join(", ")),
        _ => words.join(""),
    }
}

/// `435 = 3 · 5 · 29`.
fn product(number: u64, factors: &[u64]) -> String {
    let words: Vec<_> = factors.iter().map(|factor| format!("{factor}")).collect();
    match words.len() {
        0 | 1 => format!("{number}"),
        _ => format!("{number} = {}", words.join(" · ")),
    }
}

/// The first thing to say: whether it is real, and who is at fault.
pub(super) fn verdict(skew: &Skew) -> String {
    let at_fault: Vec<_> = at_fault(skew).collect();
    let Some(worst) = skew.worst() else {
        let even = match at_fault.first() {
            Some(nodes) => format!("Nodes hold what their weights ask for: {}", nodes.words),
            None => String::from("Even, within noise"),
        };
        let keys = skew.measures.first().map_or_else(String::new, |keys| {
            format!(
                " (cv {:.4}, chance alone gives {:.4}, p {:.3})",
                keys.cv, keys.noise_cv, keys.p_value
            )
        });
        return format!("{even}{keys}.");
    };
    let what = worst.measure;
    let figures = format!(
        "cv {:.4} where chance alone gives {:.4}; {} holds {:.2} times its part",
        worst.cv, skew.equal_noise(worst), worst.fullest, worst.max_over_mean
    );
    let causes = at_fault.iter().map(|finding| match finding.stage {
        Stage::Keys => format!("few keys carry it: {}", finding.words),
        Stage::Tag => format!("hash tags leave too few different parts: {}", finding.words),
        Stage::Hash => format!("the hash does not spread these keys: {}", finding.words),
        Stage::Routing => format!("the strategy's own shares are uneven: {}", finding.words),
        Stage::Nodes => format!("weights differ: {}", finding.words),
    });
    let causes: Vec<_> = causes.collect();
    let causes = if causes.is_empty() {
        String::from("no stage alone explains it")
    } else {
        causes.join("; ")
    };
    format!("The {what} are uneven, and not by chance ({figures}), since {causes}.")
}

pub(super) fn at_fault(skew: &Skew) -> impl Iterator<Item = &Finding> {
    skew.stages.iter().filter(|finding| finding.status == Status::AtFault)
}

/// What to do, in a sentence.
pub(super) fn advice(skew: &Skew) -> String {
    let best = skew.remedies.first().map_or_else(String::new, tried);
    let worst = skew.worst();
    let weak = skew.stages.iter().find(|finding| finding.status == Status::Weak);
    match (at_fault(skew).next().map(|finding| finding.stage), weak) {
        (Some(Stage::Keys), _) => {
            let top = worst.and_then(|worst| worst.top_keys.first());
            let top = top.map_or_else(String::new, |top| format!(", {} first", shown(top.key.as_bytes())));
            format!("No placement can split a key: cache, copy or split the few large ones{top}.{best}")
        }
        (Some(Stage::Tag), _) => {
            format!("Put something with more values between the marks of the tag, or no tag.{best}")
        }
        (Some(Stage::Nodes), _) => {
            format!("If that node is not so much larger than the others, lower its weight.{best}")
        }
        (Some(_), _) => format!("Change what hashes or places the keys.{best}"),
        (None, Some(weak)) if weak.stage == Stage::Hash && skew.node_counts.modulo => format!(
            "Nothing to do on this number of nodes; stay away from multiples of {}.",
            list(&skew.bunched)
        ),
        (None, _) if worst.is_some() => format!("Try another placement.{best}"),
        (None, _) => String::from("Nothing to do: more keys or fewer nodes make chance smaller."),
    }
}

fn tried(best: &Remedy) -> String {
    format!(
        " Best of what was tried: {} (cv {:.4}, chance alone gives {:.4}; moves {} of the keys).",
        best.what,
        best.cv,
        best.noise_cv,
        percent(best.moved_share)
    )
}
