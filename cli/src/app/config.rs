//! Configuration files of real systems.

use std::borrow::Cow;
use std::path::Path;

use hashroute::compat;
use hashroute::registry::{Config, Scheme};
use hashroute_harness::text::printable;

use super::{files, nearest};
use crate::failure::Failure;

/// The most bytes of a configuration: a million servers.
const MOST: usize = 64 << 20;

/// The options that name a configuration and its pool, for errors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options<'a> {
    config: &'static str,
    pool: &'static str,
    /// The pool of the other set-up. The pool of this name is taken if the options name none.
    like: Option<&'a str>,
}

impl<'a> Options<'a> {
    /// The options of the first or only set-up.
    pub(crate) const FROM: Self = Self {
        config: "--config",
        pool: "--pool",
        like: None,
    };
    /// The options of the set-up after a change.
    pub(crate) const TO: Self = Self {
        config: "--to-config",
        pool: "--to-pool",
        like: None,
    };

    /// Takes the pool of this name if no option names one and the file has it.
    pub(crate) fn like(self, pool: Option<&'a str>) -> Self {
        Self { like: pool, ..self }
    }
}

/// Reads the pool of this name, or the only one. Notes lines that hashroute does not know.
pub(crate) fn read(
    dialect: &'static Scheme,
    path: &Path,
    pool: Option<&str>,
    options: Options<'_>,
) -> Result<Config, Failure> {
    let wrong = |reason: String| Failure::file(options.config, path, reason);
    let bytes = files::read_bytes(path, MOST).map_err(|error| wrong(error.to_string()))?;
    if let Some(kind) = files::not_text(&bytes) {
        let system = dialect.title();
        let told = wrong(format!("{kind}: expected a configuration of {system}"));
        return Err(told.with_hint(files::as_text(kind, path)));
    }
    // Comments may be in any encoding; that is no reason to refuse the file.
    let text = String::from_utf8_lossy(&bytes);
    let pools = dialect.read(&text).map_err(|error| {
        let other = compat::recognize(&text).filter(|other| other.name != dialect.name);
        let hint =
            other.map(|other| format!("it looks like a file of {0}: --dialect {0}", other.name));
        wrong(error.to_string()).with_hint(hint)
    })?;
    let config =
        choose(pools, pool, options).map_err(|(reason, hint)| wrong(reason).with_hint(hint))?;
    if let Some(name) = options
        .like
        .filter(|name| pool.is_none() && config.name() != *name)
    {
        eprintln!(
            "note: {}: no pool {name:?} in it: its only pool, {:?}, is taken",
            path.display(),
            config.name(),
        );
    }
    if let Some(error) = config.error() {
        return Err(wrong(error.to_string()));
    }
    if let (Cow::Owned(text), Some(part)) = (&text, replaced(&config)) {
        let line = text.lines().position(|line| line.contains(part));
        let line = line.map_or_else(String::new, |at| format!("line {}: ", at + 1));
        let part = printable(part);
        return Err(wrong(format!(
            "{line}{part:?} is not UTF-8: expected names in UTF-8"
        )));
    }
    for unknown in config.unknown() {
        let message = unknown.message();
        eprintln!(
            "note: {}, line {}: {}",
            printable(&path.display().to_string()),
            unknown.line,
            printable(&message),
        );
    }
    Ok(config)
}

/// Returns the error for a configuration without a dialect, which names the dialect that the file is of,
/// if it is known by sight.
pub(crate) fn without_dialect(path: &Path) -> Failure {
    let seen = files::peek(path, MOST);
    let seen = seen.and_then(|bytes| compat::recognize(&String::from_utf8_lossy(&bytes)));
    let hint = if let Some(dialect) = seen {
        let name = dialect.name;
        format!("it looks like a file of {name}: add --dialect {name}")
    } else {
        let readers = compat::ALL.iter().filter(|dialect| dialect.reads_config());
        let names: Vec<_> = readers.map(|dialect| dialect.name).collect();
        format!("the dialects with a file are: {}", names.join(", "))
    };
    let reason = "no dialect is given: expected --dialect with the system of the file";
    Failure::file("--config", path, reason).with_hint(Some(hint))
}

/// Returns a name in the pool that is not UTF-8 in the file, if there is one.
fn replaced(config: &Config) -> Option<&str> {
    let servers = config.servers().iter();
    let mut texts = servers.flat_map(|server| [server.name(), server.label()]);
    let bad = |text: &&str| text.contains(char::REPLACEMENT_CHARACTER);
    texts.find(bad).or(Some(config.name()).filter(bad))
}

/// Returns the pool of this name, that with the name of the other set-up, or the only one. An error has a reason and, if possible, a hint.
fn choose(
    pools: Vec<Config>,
    pool: Option<&str>,
    options: Options<'_>,
) -> Result<Config, (String, Option<String>)> {
    let Options {
        pool: option, like, ..
    } = options;
    let is_like = |config: &&Config| Some(config.name()) == like;
    let pool = match (pool, like) {
        (None, Some(_)) if pools.iter().filter(is_like).count() == 1 => like,
        _ => pool,
    };
    let names: Vec<_> = pools
        .iter()
        .map(|config| config.name().to_owned())
        .collect();
    let hint = pool.and_then(|pool| nearest::hint(pool, names.iter().map(String::as_str)));
    let names = names.join(", ");
    let mut fitting = pools
        .into_iter()
        .filter(|config| pool.is_none_or(|name| config.name() == name));
    let wrong = match (fitting.next(), fitting.next(), pool) {
        (Some(config), None, _) => return Ok(config),
        (None, _, None) => "no pool in it: expected one at least".into(),
        (None, _, Some(name)) => {
            return Err((format!("no pool {name:?}: expected one of: {names}"), hint));
        }
        (Some(_), Some(_), None) if like.is_some() => {
            let name = like.unwrap_or_default();
            format!(
                "no pool {name:?}, as of the other file: expected {option} with one of: {names}"
            )
        }
        (Some(_), Some(_), None) => {
            format!("several pools: expected {option} with one of: {names}")
        }
        (Some(_), Some(_), Some(name)) => format!("several pools are called {name:?}"),
    };
    Err((wrong, None))
}
