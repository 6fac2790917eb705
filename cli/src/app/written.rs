//! Set-ups written as configurations of their system.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::setup::SetUp;
use crate::args::{KeyArgs, NodeArgs, StrategyArgs, TargetArgs};
use crate::failure::{Asked, Failure};
use crate::output;

/// The name of the pool in a configuration that is written.
const POOL: &str = "pool";

/// Returns the files that the options read.
pub(crate) fn inputs<'a>(
    nodes: &'a NodeArgs,
    strategy: &'a StrategyArgs,
    target: &'a TargetArgs,
    keys: &'a KeyArgs,
) -> Vec<&'a Path> {
    let named = [
        &nodes.config,
        &nodes.nodes_file,
        &strategy.spec,
        &target.to_config,
        &target.to_nodes_file,
        &target.to_spec,
    ];
    let named = named.into_iter().flatten();
    let keys = keys.files();
    named.map(PathBuf::as_path).chain(keys).collect()
}

/// Checks, before the work, that the file can be written and is none of the inputs.
pub(crate) fn check(path: &Path, inputs: &[&Path]) -> Result<(), Failure> {
    if path.as_os_str() == "-" {
        return Ok(());
    }
    let real = |path: &Path| fs::canonicalize(path).ok();
    if let Some(same) =
        real(path).filter(|this| inputs.iter().any(|one| real(one).as_ref() == Some(this)))
    {
        let reason = format!("{} is an input: expected another file", same.display());
        return Err(Failure::file("--write-config", path, reason));
    }
    output::check(path).map_err(|error| Failure::file("--write-config", path, error))
}

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
    fs::write(path, text).map_err(|error| Failure::file("--write-config", path, error))
}
