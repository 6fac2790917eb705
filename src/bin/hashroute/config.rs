//! The configuration file of a real system.

use std::fs;
use std::path::Path;

use hashroute::compat::{Config, Dialect};
use hashroute::harness::printable;

use crate::failure::Failure;

/// The pool of this name, or the only one. What the file says and nobody here knows is told.
pub(crate) fn read(
    dialect: &'static Dialect,
    path: &Path,
    pool: Option<&str>,
) -> Result<Config, Failure> {
    let wrong = |reason: String| Failure::Input(format!("--config {}: {reason}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let pools = dialect
        .read(&text)
        .map_err(|error| wrong(error.to_string()))?;
    let config = choose(pools, pool).map_err(wrong)?;
    if let Some(error) = config.error() {
        return Err(wrong(error.to_string()));
    }
    for unknown in config.unknown() {
        let text = printable(&unknown.text);
        eprintln!(
            "note: {}, line {}: {text} is unknown here; it may change routes",
            path.display(),
            unknown.line,
        );
    }
    Ok(config)
}

fn choose(pools: Vec<Config>, pool: Option<&str>) -> Result<Config, String> {
    let names: Vec<_> = pools
        .iter()
        .map(|config| config.name().to_owned())
        .collect();
    let names = names.join(", ");
    let mut fitting = pools
        .into_iter()
        .filter(|config| pool.is_none_or(|name| config.name() == name));
    match (fitting.next(), fitting.next(), pool) {
        (Some(config), None, _) => Ok(config),
        (None, _, None) => Err("no pool in it".into()),
        (None, _, Some(name)) => Err(format!("no pool {name:?}: expected one of: {names}")),
        (Some(_), Some(_), None) => Err(format!(
            "several pools: expected --pool with one of: {names}"
        )),
        (Some(_), Some(_), Some(name)) => Err(format!("several pools are called {name:?}")),
    }
}
