//! Counts in files, for `merge`.

use std::fs;

use hashroute::harness::stream::Tally;

use crate::args::PartialArgs;
use crate::failure::Failure;
use crate::output;

/// Write the counts where that is asked for. Whether that was standard output, so that nothing
/// else may follow.
pub(crate) fn write(tally: &Tally, args: &PartialArgs) -> Result<bool, Failure> {
    match &args.partial {
        None => Ok(false),
        Some(path) if path.as_os_str() == "-" => {
            tally.write(output::stdout())?;
            Ok(true)
        }
        Some(path) => {
            let mut text = Vec::new();
            let written = tally.write(&mut text).and_then(|()| fs::write(path, text));
            written.map_err(|error| {
                Failure::Input(format!("--partial {}: {error}", path.display()))
            })?;
            Ok(false)
        }
    }
}
