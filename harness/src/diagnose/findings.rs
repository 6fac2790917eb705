//! Finds the stages that are at fault.

use super::chance::SLIGHT;
use super::finding::{Finding, KeyStage, Status};
use super::measures::{self, MeasureSkew};
use super::sentences;
use super::stages::Tests;

/// The part of a stage in the unevenness.
struct Part {
    stage: KeyStage,
    cv: f64,
    p_value: Option<f64>,
    proven: bool,
    weak: bool,
}

/// Sets the causes of each uneven measure, and returns the finding on each stage. A test below
/// `threshold` is no chance.
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
    let worst = measures::worst(measures);
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

/// Returns the stages that cause at least half of an unevenness, or the one that causes most.
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
    // A hash with few bits repeats as often as chance says, so the test does not reject it; its
    // width is a fault all the same.
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

/// Returns the finding on the nodes. Weights are not a matter of chance: a node is hot by its
/// weight if the weights explain half of how far all nodes differ.
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
    fn a_cause_explains_half_or_more_than_any_other() {
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
