//! Verdicts in words.

use super::figures::Figures;
use super::verdict::Cause;
use super::yardstick::Measured;
use crate::summary::{KeyShare, Measure};
use crate::text::printable;

pub(super) fn line(measure: Measure, measured: &Measured) -> String {
    let Measured {
        figures,
        evenness,
        carriers,
        ..
    } = measured;
    if *carriers == 0 {
        return format!("{measure}: none lie on any node");
    }
    let why = match evenness.cause {
        Cause::Even => String::from("even"),
        Cause::FewKeys => {
            format!(
                "as rough as chance is on {carriers} distinct keys{}: take more keys or fewer nodes",
                if measure == Measure::Keys {
                    ""
                } else {
                    " that carry any"
                }
            )
        }
        Cause::HeavyKeys => format!("uneven since {}", heavy(figures, *carriers)),
        Cause::Structure => format!(
            "uneven as the strategy's own shares are (cv {:.4}): more points, cells or slots would help",
            evenness.structure_cv
        ),
        Cause::Placement => String::from(
            "uneven beyond chance: by the strategy, as a bound on loads, or a hash that does not spread these keys",
        ),
    };
    let (cv, max, noise) = (figures.cv, figures.max_over_mean, figures.noise.cv);
    format!(
        "{measure}: {why} (cv {cv:.4}, chance alone gives {noise:.4}; the fullest node has {max:.3} times its part)"
    )
}

/// A key with so many times the mean is heavy; keys that are so many times less than all are few.
const FAR: f64 = 10.0;

/// Which keys are heavy, up to three, and how many carry half, where these are few.
fn heavy(figures: &Figures, carriers: usize) -> String {
    let half = figures.keys_for_half;
    let largest = figures.largest.iter().take(3);
    let heavy = largest.filter(|largest| largest.share * carriers as f64 > FAR);
    let share = |one: &KeyShare| format!("{:.1} %", one.share * 100.0);
    let heavy: Vec<_> = heavy.map(|one| (printable(&one.key), share(one))).collect();
    let list = || {
        let words = heavy.iter().map(|(key, share)| format!("{key} {share}"));
        words.collect::<Vec<_>>().join(", ")
    };
    let few = half as f64 * FAR < carriers as f64;
    match heavy.as_slice() {
        [(key, share)] if !few || half == 1 => format!("{key} alone holds {share} of them"),
        [_, ..] if !few => format!("few keys hold much of them: {}", list()),
        [] => format!("{half} of {carriers} distinct keys carry half of them"),
        _ => format!(
            "{half} of {carriers} distinct keys carry half of them (the largest: {})",
            list()
        ),
    }
}
