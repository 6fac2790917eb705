//! Texts about a diagnosis, which `skew` and `report --skew` show.

use hashroute_harness::Estimated;
use hashroute_harness::skew::Skew;

use super::strategy::Choice;
use crate::failure::Failure;
use crate::units;

/// Refuses a diagnosis in which no key has a node: an empty result is not even.
pub(crate) fn refuse_none(skew: &Skew, choice: &Choice) -> Result<(), Failure> {
    if skew.unplaced < skew.keys {
        return Ok(());
    }
    let why = choice.unplaced(skew.unplaced, skew.nodes > 0);
    Err(Failure::Input(format!("nothing to check: {why}")))
}

/// Says how many keys and tests the diagnosis used.
pub(crate) fn notes(skew: &Skew) -> String {
    let looked = if skew.sampled_keys < skew.distinct_keys {
        format!(
            "a sample of {} of about {}",
            units::count(skew.sampled_keys),
            units::count(skew.distinct_keys)
        )
    } else {
        units::count(skew.distinct_keys)
    };
    let few = skew.measures.iter().filter(|measure| measure.few_keys);
    let few: Vec<_> = few.map(|measure| measure.measure.to_string()).collect();
    let few = match few.as_slice() {
        [] => String::new(),
        _ => format!(
            " Few keys carry much of the {}: there, \"by chance\" is the value for as many equal keys.",
            few.join(" and the ")
        ),
    };
    let errors = skew.estimated.as_ref().map(estimates).unwrap_or_default();
    format!(
        "Tested: {looked} distinct keys, with {} tests. By chance, each of them fails less than 1 time in {}, and any of them 1 time in {:.0}. Chance exceeds the column \"rarely above\" 1 time in 100.{few}{errors}",
        skew.tests,
        units::rounded(1.0 / skew.threshold),
        1.0 / skew.significance
    )
}

/// Says which figures are estimates, and their standard errors.
fn estimates(errors: &Estimated) -> String {
    format!(
        " The loads of the nodes are those of all keys, exactly. Estimated: the number of distinct \
         keys (standard error {}) and what chance gives (standard error {}). Large keys are listed \
         from a share of {}.",
        units::percent(errors.distinct_keys_error),
        units::percent(errors.effective_keys_error),
        units::percent(errors.largest_from),
    )
}
