//! Set-ups written as configurations of their system.

use std::io::Write;
use std::path::Path;

use super::outputs;
use super::setup::SetUp;
use crate::failure::{Asked, Failure};
use crate::output;

/// The name of the pool in a configuration that is written.
const POOL: &str = "pool";

/// Writes the set-up to a file, or to standard output (-).
pub(crate) fn write(path: &Path, side: &SetUp) -> Result<(), Failure> {
    let asked = || Asked::At("--write-config".into());
    let setup = side.setup().ok_or_else(|| {
        Failure::input("--write-config: this strategy depends on the history of changes")
    })?;
    let scheme = setup.scheme();
    let text = scheme.write(&setup, POOL);
    let text = text.map_err(|error| asked().refused(error))?;
    if path.as_os_str() == "-" {
        let mut out = output::stdout();
        out.write_all(text.as_bytes())?;
        return Ok(out.flush()?);
    }
    outputs::write("--write-config", path, text.as_bytes())
}
