//! `merge`: the report of everything, from counts of its parts.

use hashroute::harness::stream::Tally;

use super::balance;
use crate::args::MergeArgs;
use crate::failure::Failure;
use crate::{keys, partial};

pub(crate) fn run(args: &MergeArgs) -> Result<(), Failure> {
    partial::check(args.partial.partial.as_ref())?;
    let mut sum: Option<Tally> = None;
    for path in &args.files {
        let wrong =
            |error: &dyn core::fmt::Display| Failure::Input(format!("{}: {error}", path.display()));
        let input = keys::open(path).map_err(|error| wrong(&error))?;
        for tally in Tally::read_all(input) {
            let tally = tally.map_err(|error| wrong(&error))?;
            match &mut sum {
                Some(sum) => sum.merge(tally).map_err(|error| wrong(&error))?,
                None => sum = Some(tally),
            }
        }
    }
    match sum {
        Some(sum) if sum.keys() > 0 || args.partial.partial.is_some() => {
            keys::tell_limits_of_parts(sum.sources());
            balance::finish(&sum, &args.partial, &args.output)
        }
        _ => Err(Failure::input(
            "no keys in any of these files, expected at least one",
        )),
    }
}
