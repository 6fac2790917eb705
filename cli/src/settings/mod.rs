//! Settings: options that a file or environment variables supply.
//!
//! A setting becomes an option in front of the typed ones, if the command has such an option, if it
//! was not typed, and if it goes together with what was typed. So a setting never makes a command
//! fail that does not use it, and what is typed always counts.

mod file;
mod options;
mod variables;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

use self::options::{FILE, Setting};
use crate::failure::Failure;

/// The option whose values are never shown.
const SECRET: &str = "hash-key";

/// Options that mean something only beside others: where those come from the command line, or from
/// variables and not from the file, these stay away.
const BELONG: &[(&str, &[&str])] = &[
    ("set", &["strategy", "dialect", "spec"]),
    ("config", &["dialect"]),
    ("pool", &["config", "dialect"]),
    ("hash-key", &["hash"]),
    ("hash-seed", &["hash"]),
    ("to-set", &["to-strategy", "to-dialect"]),
    ("to-hash-key", &["to-hash"]),
];

/// The command line with settings, and what was set.
#[derive(Debug, Default)]
pub(crate) struct Settled {
    pub(crate) words: Vec<OsString>,
    pub(crate) notes: Vec<String>,
    /// The file of options, if there is one.
    pub(crate) file: Option<PathBuf>,
}

/// Adds settings to a command line. `root` must be built.
pub(crate) fn settle(root: &Command, typed: Vec<OsString>) -> Result<Settled, Failure> {
    let lenient = lenient(root.clone());
    let unchanged = |words| Settled {
        words,
        notes: Vec::new(),
        file: None,
    };
    // Help and the version are errors, too; the caller shows them.
    let Ok(matches) = lenient.try_get_matches_from(&typed) else {
        return Ok(unchanged(typed));
    };
    let (path, leaf, own) = leaf(root, &matches);
    let path_to_file = own.get_one::<PathBuf>(FILE).cloned();
    let variables = variables::read(root, leaf)?;
    let file = path_to_file.or(variables.file);
    let mut settings = variables.settings;
    if let Some(file) = &file {
        settings.extend(file::read(root, &path, leaf, file)?);
    }
    let mut notes = variables.notes;
    let is_typed = |option: &str| {
        let mut args = leaf.get_arguments();
        args.any(|arg| {
            let source = || own.value_source(arg.get_id().as_str());
            arg.get_long() == Some(option) && source() == Some(ValueSource::CommandLine)
        })
    };
    settings.retain(|setting| !is_typed(&setting.option));
    settings.retain(|setting| !anchored_elsewhere(setting, &is_typed));
    let used = fitting(root, &typed, path.len(), settings)?;
    notes.extend(told(&used));
    Ok(Settled {
        words: with(&typed, path.len(), &used),
        notes,
        file,
    })
}

/// Returns the command that reads as much of a line as it can.
fn lenient(command: Command) -> Command {
    command.ignore_errors(true).mut_subcommands(lenient)
}

/// Returns the names of the commands, the last one, and what was typed for it.
fn leaf<'a>(
    root: &'a Command,
    matches: &'a ArgMatches,
) -> (Vec<String>, &'a Command, &'a ArgMatches) {
    let (mut path, mut command, mut own) = (Vec::new(), root, matches);
    while let Some((name, below)) = own.subcommand() {
        let Some(sub) = command.find_subcommand(name) else {
            break;
        };
        path.push(name.to_owned());
        (command, own) = (sub, below);
    }
    (path, command, own)
}

/// Returns whether the option stands beside one that was typed.
fn anchored_elsewhere(setting: &Setting, is_typed: &impl Fn(&str) -> bool) -> bool {
    let anchors = BELONG.iter().find(|(option, _)| *option == setting.option);
    anchors.is_some_and(|(_, anchors)| anchors.iter().any(|anchor| is_typed(anchor)))
}

/// Returns the settings that go together with the command line and with those before them.
fn fitting(
    root: &Command,
    typed: &[OsString],
    depth: usize,
    settings: Vec<Setting>,
) -> Result<Vec<Setting>, Failure> {
    let problems = |settings: &[Setting]| problems(root, with(typed, depth, settings));
    let (mut used, mut left): (Vec<Setting>, _) = (Vec::new(), settings);
    let mut before = problems(&used);
    loop {
        let count = used.len();
        let mut rest = Vec::new();
        for setting in left {
            if used.iter().any(|one| replaces(one, &setting)) {
                continue;
            }
            used.push(setting);
            let now = problems(&used);
            if now.iter().all(|problem| before.contains(problem)) {
                before = now;
            } else {
                rest.extend(used.pop());
            }
        }
        left = rest;
        // What needs another option may fit when that one is there.
        if used.len() == count || left.is_empty() {
            break;
        }
    }
    let alone = problems(&[]);
    let fits = |settings: &[&Setting]| {
        let settings: Vec<_> = settings.iter().map(|&setting| setting.clone()).collect();
        problems(&settings) == alone
    };
    for setting in &left {
        // Each fits alone, but not both: the source contradicts itself.
        let clash = used.iter().find(|one| {
            one.rank == setting.rank && fits(&[setting]) && fits(&[*one]) && !fits(&[*one, setting])
        });
        if let Some(clash) = clash {
            return Err(Failure::Input(format!(
                "{}: --{} cannot be used with --{} of {}",
                setting.from, setting.option, clash.option, clash.from
            )));
        }
    }
    Ok(used)
}

/// Returns whether a setting of a source that counts more stands for the other one.
fn replaces(used: &Setting, other: &Setting) -> bool {
    let belongs = BELONG
        .iter()
        .any(|(option, anchors)| *option == other.option && anchors.contains(&&*used.option));
    used.rank < other.rank && (used.option == other.option || belongs)
}

/// Returns what cannot stand together or is missing in a command line. Other errors are no reason
/// to leave a setting out.
fn problems(root: &Command, words: Vec<OsString>) -> Vec<String> {
    let Err(error) = root.clone().try_get_matches_from(words) else {
        return Vec::new();
    };
    match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::MissingRequiredArgument, Some(ContextValue::Strings(missing))) => {
            missing.clone()
        }
        (ErrorKind::ArgumentConflict | ErrorKind::MissingRequiredArgument, _) => {
            vec![error.to_string()]
        }
        _ => Vec::new(),
    }
}

/// Returns the command line with settings between the command and what was typed after it.
fn with(typed: &[OsString], depth: usize, settings: &[Setting]) -> Vec<OsString> {
    let end = end_of_command(typed, depth);
    let (command, rest) = typed.split_at(end);
    let words = settings.iter().flat_map(|setting| &setting.words);
    let words = words.map(OsString::from);
    command
        .iter()
        .cloned()
        .chain(words)
        .chain(rest.iter().cloned())
        .collect()
}

/// Returns the index after the names of the commands. Only `--options` can stand before them.
fn end_of_command(typed: &[OsString], depth: usize) -> usize {
    let (mut at, mut names) = (1, 0);
    while names < depth && at < typed.len() {
        match typed[at].to_string_lossy() {
            word if word == "--options" => at += 1,
            word if word.starts_with('-') => {}
            _ => names += 1,
        }
        at += 1;
    }
    at.min(typed.len())
}

/// Says what each source supplied.
fn told(used: &[Setting]) -> Vec<String> {
    let mut told: Vec<(&str, String)> = Vec::new();
    for setting in used {
        let words = match setting.words.as_slice() {
            _ if setting.option == SECRET => format!(" --{SECRET} (secret)"),
            words => {
                let words: Vec<_> = words.iter().map(|word| quoted(word)).collect();
                format!(" {}", words.join(" "))
            }
        };
        match told.last_mut().filter(|(from, _)| *from == setting.from) {
            Some((_, all)) => all.push_str(&words),
            None => told.push((&setting.from, words)),
        }
    }
    let told = told.into_iter();
    told.map(|(from, words)| format!("set by {from}:{words}"))
        .collect()
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_=./,:@%+".contains(c);
    if word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{word}'")
    }
}
