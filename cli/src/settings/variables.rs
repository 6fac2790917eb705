//! Settings from environment variables: `HASHROUTE_NODES_FILE` is `--nodes-file`.

use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;

use clap::Command;

use super::options::{FILE, Setting, all_options, options};
use crate::app::nearest;
use crate::failure::Failure;

const PREFIX: &str = "HASHROUTE_";

/// What the scripts of `slots plan --commands sh` read.
const OF_SCRIPTS: [&str; 4] = [
    "REDIS_CLI",
    "REDIS_CLI_ARGS",
    "REDIS_USER",
    "MIGRATE_OPTIONS",
];

/// What the environment says.
#[derive(Debug, Default)]
pub(super) struct Variables {
    pub(super) settings: Vec<Setting>,
    /// The file of further settings.
    pub(super) file: Option<PathBuf>,
    /// Names that no option has.
    pub(super) notes: Vec<String>,
}

/// Reads the variables for a command. An empty one is as one that is not there.
pub(super) fn read(root: &Command, leaf: &Command) -> Result<Variables, Failure> {
    let given: BTreeMap<_, _> = env::vars_os()
        .filter_map(|(name, value)| {
            let name = name.into_string().ok()?;
            let name = name.strip_prefix(PREFIX)?.to_owned();
            (!value.is_empty()).then_some((name, value))
        })
        .collect();
    let mut read = Variables::default();
    if given.is_empty() {
        return Ok(read);
    }
    let all = all_options(root);
    for (name, value) in given {
        let option = name.to_lowercase().replace('_', "-");
        if OF_SCRIPTS.contains(&&*name) {
            continue;
        }
        if option == FILE {
            read.file = Some(value.into());
        } else if !all.contains(&&*option) {
            read.notes.push(unknown(&name, &option, &all));
        } else if let Some((arg, _)) = options(leaf).find(|(_, long)| *long == option) {
            let from = format!("{PREFIX}{name}");
            let value = value.into_string().map_err(|_| {
                Failure::Input(format!(
                    "{from}: not UTF-8: expected a value for --{option}"
                ))
            })?;
            let words = if arg.get_action().takes_values() {
                vec![format!("--{option}={value}")]
            } else {
                flag(&from, &option, &value)?
            };
            read.settings.push(Setting {
                option,
                words,
                from,
                rank: 0,
            });
        }
    }
    Ok(read)
}

fn unknown(name: &str, option: &str, all: &[&str]) -> String {
    let hint = nearest::name(option, all.iter().copied());
    let hint = hint.map_or_else(String::new, |near| {
        let near = near.to_uppercase().replace('-', "_");
        format!("; did you mean {PREFIX}{near}?")
    });
    format!("{PREFIX}{name}: there is no option --{option}{hint}")
}

/// Returns the option for a flag that is on.
fn flag(from: &str, option: &str, value: &str) -> Result<Vec<String>, Failure> {
    match value.to_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(vec![format!("--{option}")]),
        "0" | "false" | "no" | "off" => Ok(Vec::new()),
        _ => Err(Failure::Input(format!("{from} {value:?}: expected 1 or 0"))),
    }
}
