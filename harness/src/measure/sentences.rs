//! The sentences of results. Everything else in this room is data.

use super::figures::Figures;
use super::verdict::{Cause, Evenness};
use crate::summary::Measure;
use crate::text::{printable, rough_percent};
use hashroute::{Change, Error};

/// Writes how even one measure is, why, and the figures that show it. `carriers` is the number of
/// distinct keys that carry any of it.
pub(super) fn line(
    measure: Measure,
    figures: &Figures,
    evenness: &Evenness,
    carriers: usize,
) -> String {
    let finding = match evenness.cause {
        Cause::Nothing => return format!("{measure}: none lie on any node"),
        Cause::Even => String::from("even"),
        Cause::FewKeys => format!(
            "uneven by chance: {} are few for these nodes; use more keys or fewer nodes",
            distinct(measure, carriers)
        ),
        Cause::HeavyKeys => format!("uneven because {}", heavy(measure, figures, carriers)),
        Cause::Structure => format!(
            "uneven because the strategy's exact shares are (cv {:.4}); use more points, cells or slots if it has any, or other weights",
            evenness.structure_cv
        ),
        Cause::Placement => String::from(
            "uneven beyond chance: the strategy bounds loads, or the hash does not spread these keys",
        ),
    };
    let (cv, max, noise) = (figures.cv, figures.max_over_mean, figures.noise.cv);
    format!(
        "{measure}: {finding} (cv {cv:.4}, chance alone gives {noise:.4}; the fullest node has {max:.3} times its fair share)"
    )
}

/// The factor that makes a key heavy: it carries more than this many times the mean. Keys are few
/// if they are fewer than all carriers by this factor.
const FAR: f64 = 10.0;

/// Names up to three heavy keys, and the number of keys that carry half, if it is small.
fn heavy(measure: Measure, figures: &Figures, carriers: usize) -> String {
    let half = figures.keys_for_half;
    let largest = figures.largest.iter().take(3);
    let heavy = largest.filter(|key| key.share * carriers as f64 > FAR);
    let heavy: Vec<_> = heavy
        .map(|key| (printable(&key.key), rough_percent(key.share)))
        .collect();
    let list = || {
        let items = heavy.iter().map(|(key, share)| format!("{key} {share}"));
        items.collect::<Vec<_>>().join(", ")
    };
    let carry_half = || {
        format!(
            "{half} of {} carry half of the {measure}",
            distinct(measure, carriers)
        )
    };
    let few = half as f64 * FAR < carriers as f64;
    match heavy.as_slice() {
        [(key, share)] if !few || half == 1 => {
            format!("{key} alone carries {share} of the {measure}")
        }
        [_, ..] if !few => format!("few keys carry much of the {measure}: {}", list()),
        [] => carry_half(),
        _ => format!("{} (the largest: {})", carry_half(), list()),
    }
}

/// Names the keys that a number counts. Every key counts as a key; it may carry no bytes.
fn distinct(measure: Measure, carriers: usize) -> String {
    match measure {
        Measure::Keys => format!("{carriers} distinct keys"),
        _ => format!("{carriers} distinct keys that carry any"),
    }
}

/// Writes changes, a node that joins with its weight.
pub(super) fn changes(changes: &[Change]) -> Vec<String> {
    let texts = changes.iter().map(|change| format!("{change:#}"));
    texts.collect()
}

/// Writes what was refused and why, such as `add, remove: why`: neighbours with the same reason
/// share it. `None` if nothing was refused.
pub(super) fn refusals(refusals: &[(String, Error)]) -> Option<String> {
    let parts = refusals.chunk_by(|a, b| a.1 == b.1).map(|same| {
        let what: Vec<_> = same.iter().map(|(what, _)| &**what).collect();
        format!("{}: {}", what.join(", "), same[0].1)
    });
    (!refusals.is_empty()).then(|| parts.collect::<Vec<_>>().join("; "))
}
