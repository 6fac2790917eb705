//! `merge`: the report of everything, from counts of its parts.

use hashroute_harness::stream::Tally;

use super::balance;
use crate::args::MergeArgs;
use crate::failure::Failure;
use crate::{keys, partial};

pub(crate) fn run(args: &MergeArgs) -> Result<(), Failure> {
    partial::check(args.partial.partial.as_ref(), None)?;
    let mut sum: Option<Tally> = None;
    let add = |tally| {
        if let Some(sum) = &mut sum {
            return sum.merge(tally);
        }
        sum = Some(tally);
        Ok(())
    };
    partial::read_all(&args.files, "", Tally::read_all, add)?;
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
