//! Errors of the command line itself: what was typed wrongly, with a hint that fits.
//!
//! The parser knows only which options look alike. It would suggest `--jsonl` for `--json`, and to
//! pass an unknown option as a value.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Error};
use hashroute::registry::Scheme;
use hashroute::{compat, strategy};

use crate::app::{files, nearest};
use crate::synonyms::{self, Kind, VALUE};

/// The most commands that a hint lists.
const LISTED: usize = 6;

/// The largest configuration that is read to recognise it.
const MAX_CONFIG: usize = 1 << 20;

/// Returns the message of an error of the parser, with a hint if there is one.
pub(crate) fn message(mut error: Error, root: &Command, typed: &[OsString]) -> String {
    let line = Line::new(root, typed);
    let hint = hint(&error, &line);
    for kind in [
        ContextKind::Suggested,
        ContextKind::SuggestedArg,
        ContextKind::SuggestedCommand,
        ContextKind::SuggestedSubcommand,
        ContextKind::SuggestedValue,
    ] {
        error.remove(kind);
    }
    if hint.is_some() {
        error.remove(ContextKind::Usage);
    }
    let message = plain_numbers(error.render().to_string());
    match hint {
        None => message,
        Some(hint) => {
            let told = message.split("\n\n").next().unwrap_or(&message);
            format!("{}\nhint: {hint}\n", told.trim_end())
        }
    }
}

/// Replaces what Rust says about numbers by what was expected.
fn plain_numbers(message: String) -> String {
    const WORDS: [(&str, &str); 5] = [
        ("invalid digit found in string", "expected a whole number"),
        (
            "cannot parse integer from empty string",
            "expected a whole number",
        ),
        (
            "number too large to fit in target type",
            "expected a smaller number",
        ),
        (
            "number too small to fit in target type",
            "expected a larger number",
        ),
        ("invalid float literal", "expected a number"),
    ];
    let words = WORDS.into_iter();
    words.fold(message, |message, (from, to)| message.replace(from, to))
}

/// What was typed.
struct Line<'a> {
    /// The command that takes the words, such as `slots plan`.
    command: &'a Command,
    root: &'a Command,
    /// The words after the command.
    words: Vec<Cow<'a, str>>,
}

impl<'a> Line<'a> {
    fn new(root: &'a Command, typed: &'a [OsString]) -> Self {
        let words = typed.iter().skip(1);
        let mut rest: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
        let mut command = root;
        while let Some(sub) = rest
            .first()
            .and_then(|word| command.find_subcommand(&**word))
        {
            command = sub;
            rest.remove(0);
        }
        Self {
            command,
            root,
            words: rest,
        }
    }

    /// Returns the name of the command, such as `hashroute slots plan`.
    fn name(&self) -> &str {
        self.command
            .get_bin_name()
            .unwrap_or_else(|| self.command.get_name())
    }

    /// Returns the value that was typed for the option.
    fn value_of(&self, option: &str) -> Option<&str> {
        let mut words = self.words.iter().enumerate();
        words.find_map(|(at, word)| match word.strip_prefix(option)? {
            "" => {
                let next = self.words.get(at + 1)?;
                (!next.starts_with('-')).then_some(&**next)
            }
            rest => rest.strip_prefix('='),
        })
    }

    /// Returns the option before the word, with all words between.
    fn list_before(&self, word: &str) -> Option<(&'a Arg, Vec<&str>)> {
        let end = self.words.iter().position(|one| one == word)?;
        let start = self.words[..end]
            .iter()
            .rposition(|one| one.starts_with('-'))?;
        let option = self.words[start].trim_start_matches('-');
        let arg = self.command.get_arguments().find(|arg| {
            let is_short = |short| option.chars().eq([short]);
            arg.get_long() == Some(option) || arg.get_short().is_some_and(is_short)
        })?;
        let rest = self.words[start + 1..].iter();
        let values = rest.take_while(|one| !one.starts_with('-'));
        Some((arg, values.map(|one| &**one).collect()))
    }
}

fn has(command: &Command, option: &str) -> bool {
    command
        .get_arguments()
        .any(|arg| arg.get_long() == Some(option))
}

fn hint(error: &Error, line: &Line) -> Option<String> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    match error.kind() {
        ErrorKind::UnknownArgument => {
            let typed = text(ContextKind::InvalidArg)?;
            match typed.strip_prefix("--") {
                Some(option) => unknown_option(option.split('=').next()?, line),
                None if typed.starts_with('-') => None,
                None => unknown_word(typed, line),
            }
        }
        ErrorKind::InvalidSubcommand => {
            let typed = text(ContextKind::InvalidSubcommand)?;
            unknown_command(typed, line.command)
        }
        ErrorKind::InvalidValue => {
            let value = text(ContextKind::InvalidValue).filter(|value| !value.is_empty())?;
            let names = match error.get(ContextKind::ValidValue) {
                Some(ContextValue::Strings(names)) => &names[..],
                _ => &[],
            };
            unknown_value(text(ContextKind::InvalidArg)?, value, names, line)
        }
        ErrorKind::MissingRequiredArgument => missing(error, line),
        _ => None,
    }
}

/// Suggests an option for one that the command does not have.
fn unknown_option(typed: &str, line: &Line) -> Option<String> {
    let command = line.command;
    let value = line.value_of(&format!("--{typed}"));
    if command.has_subcommands() {
        return below(typed, value, line);
    }
    if synonyms::plain(typed) == "weights" && has(command, "nodes") {
        return Some(weights(value, line));
    }
    if let Some(meant) = meant_option(typed, value, command) {
        return Some(format!("did you mean {meant}?"));
    }
    let others = with_option(line.root, typed);
    if !others.is_empty() {
        let name = line.name();
        return Some(format!(
            "{name} has no --{typed}; it is an option of {}",
            listed(&others)
        ));
    }
    let options = command.get_arguments().filter_map(Arg::get_long);
    let nearest = nearest::name(typed, options)?;
    Some(format!("did you mean --{nearest}?"))
}

/// Returns the option that other tools call by this name, with its value.
fn meant_option(typed: &str, value: Option<&str>, command: &Command) -> Option<String> {
    let option = |meant: &str| -> Option<&Arg> {
        let long = meant.strip_prefix("--")?.split([' ', '=']).next()?;
        let mut args = command.get_arguments();
        args.find(|arg| arg.get_long() == Some(long))
    };
    let mut meanings = synonyms::meanings(Kind::Option, typed);
    let (meant, arg) = meanings.find_map(|meant| Some((meant, option(meant)?)))?;
    let names = arg.get_value_names().and_then(<[_]>::first);
    let placeholder = match names.map(clap::builder::Str::as_str) {
        Some("KEY=VALUE") | None => "N",
        Some(name) => name,
    };
    Some(meant.replace(VALUE, value.unwrap_or(placeholder)))
}

/// Suggests the commands below this one that have the option.
fn below(typed: &str, value: Option<&str>, line: &Line) -> Option<String> {
    let subs = line.command.get_subcommands();
    let subs = subs.filter(|sub| has(sub, typed) || meant_option(typed, value, sub).is_some());
    let names: Vec<_> = subs.map(|sub| sub.get_name().to_owned()).collect();
    let first = names.first()?;
    let value = value.map_or_else(String::new, |value| format!(" {value}"));
    Some(format!(
        "expected a command first, such as {} {first} --{typed}{value} (one of {})",
        line.name(),
        listed(&names)
    ))
}

/// Returns the names of all commands that have the option.
fn with_option(command: &Command, option: &str) -> Vec<String> {
    let subs = command.get_subcommands().flat_map(|sub| {
        let below = with_option(sub, option).into_iter();
        let below = below.map(|name| format!("{} {name}", sub.get_name()));
        let own = (has(sub, option) && !sub.has_subcommands()).then(|| sub.get_name().to_owned());
        own.into_iter().chain(below).collect::<Vec<_>>()
    });
    subs.collect()
}

fn listed(names: &[String]) -> String {
    match names.get(..LISTED) {
        Some(some) if names.len() > LISTED => format!("{}, ...", some.join(", ")),
        _ => names.join(", "),
    }
}

/// Suggests `--nodes` with weights for a list of weights.
fn weights(value: Option<&str>, line: &Line) -> String {
    let given = line.value_of("--nodes").or_else(|| line.value_of("-n"));
    let letters: Vec<String> = ('a'..='z').map(String::from).collect();
    let names: Vec<&str> = match given {
        Some(given) => given.split(',').collect(),
        None => letters.iter().map(String::as_str).collect(),
    };
    let weights = value.unwrap_or("1,2,3").split(',');
    let nodes: Vec<_> = names
        .iter()
        .zip(weights)
        .map(|(name, weight)| format!("{name}={weight}"))
        .collect();
    format!("weights stand with the names: --nodes {}", nodes.join(","))
}

/// Suggests an option for a word that the command does not take.
fn unknown_word(word: &str, line: &Line) -> Option<String> {
    let command = line.command;
    let with = |option: &str, value: &str| {
        has(command, option).then(|| format!("did you mean --{option} {value}?"))
    };
    if let Some((arg, values)) = line.list_before(word).filter(|(_, list)| list.len() > 1) {
        let names = arg.get_value_names().and_then(<[_]>::first);
        let is_list = names.is_some_and(|name| name.as_str() == "LIST");
        if is_list || arg.get_value_delimiter() == Some(',') {
            let long = arg.get_long()?;
            let values = values.join(",");
            return Some(format!("write a list with commas: --{long} {values}"));
        }
    }
    if Path::new(word).is_file() {
        return with(option_of_file(word), word).or_else(|| with("keys", word));
    }
    if word.parse::<u32>().is_ok() {
        return with("count", word);
    }
    if strategy::find(word).is_ok() {
        return with("strategy", word);
    }
    if compat::find(word).is_ok() {
        return with("dialect", word);
    }
    if word.contains([',', '=']) {
        return with("nodes", word);
    }
    None
}

/// Returns the option that takes files of this extension.
fn option_of_file(name: &str) -> &'static str {
    let extension = Path::new(name).extension().unwrap_or_default();
    match &*extension.to_string_lossy().to_lowercase() {
        "csv" => "csv",
        "jsonl" | "ndjson" => "jsonl",
        "toml" | "json" => "nodes-file",
        "yml" | "yaml" | "conf" | "cfg" => "config",
        "svg" | "png" | "html" => "out",
        _ => "keys",
    }
}

fn unknown_command(typed: &str, command: &Command) -> Option<String> {
    let names = command.get_subcommands().map(Command::get_name);
    let meant = synonyms::meanings(Kind::Command, typed).find(|meant| {
        let first = meant.split(' ').next().unwrap_or_default();
        meant.starts_with('-') || command.find_subcommand(first).is_some()
    });
    let meant = meant.or_else(|| nearest::name(typed, names))?;
    let program = command.get_bin_name().unwrap_or_else(|| command.get_name());
    Some(format!("did you mean {program} {meant}?"))
}

/// Suggests a value for one that the option does not take.
fn unknown_value(arg: &str, typed: &str, names: &[String], line: &Line) -> Option<String> {
    let option = arg.split([' ', '=']).next()?.trim_start_matches("--");
    let kind = match (option, line.command.get_name()) {
        ("strategy" | "to-strategy" | "dialect" | "to-dialect", _) => Kind::Strategy,
        ("hash" | "to-hash", _) | (_, "hashes") => Kind::Hash,
        ("format", _) => Kind::Format,
        (_, "strategies" | "dialects") => Kind::Strategy,
        _ => Kind::Value,
    };
    if kind == Kind::Format && matches!(typed, "junit" | "xml") {
        return Some(if has(line.command, "junit") {
            "JUnit is written to a file: --junit FILE".into()
        } else {
            "hashroute check --junit FILE writes JUnit".into()
        });
    }
    let plain = synonyms::plain(typed);
    let known = |name: &str| names.iter().any(|one| one == name);
    let mut meanings: Vec<&str> = synonyms::meanings(kind, typed).collect();
    meanings.push(&plain);
    for meant in meanings {
        let name = meant.strip_prefix("--dialect ").unwrap_or(meant);
        if known(name) {
            return Some(format!("did you mean {name}?"));
        }
        if kind == Kind::Strategy {
            if let Some(other) = other_kind(option, name, line) {
                return Some(other);
            }
        }
    }
    let nearest = nearest::name(&plain, names.iter().map(String::as_str))?;
    Some(format!("did you mean {nearest}?"))
}

/// Says that a strategy is a dialect, or that a dialect is a strategy.
fn other_kind(option: &str, name: &str, line: &Line) -> Option<String> {
    let is_dialect = compat::find(name).is_ok();
    if !is_dialect && strategy::find(name).is_err() {
        return None;
    }
    let kind = if is_dialect { "dialect" } else { "strategy" };
    let lists = if is_dialect { "dialects" } else { "strategies" };
    let to = if option.starts_with("to-") { "to-" } else { "" };
    let own = format!("{to}{kind}");
    let right = if has(line.command, &own) && own != option {
        format!("--{own} {name}")
    } else {
        format!("hashroute {lists} {name}")
    };
    Some(format!("{name} is a {kind}: {right}"))
}

/// Suggests the dialect whose system reads the file of `--config`.
fn missing(error: &Error, line: &Line) -> Option<String> {
    let Some(ContextValue::Strings(args)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    if !args.iter().any(|arg| arg.starts_with("--dialect")) {
        return None;
    }
    let path = Path::new(line.value_of("--config")?);
    let bytes = files::peek(path, MAX_CONFIG)?;
    let text = String::from_utf8_lossy(&bytes);
    let reads = |row: &&'static Scheme| {
        row.reads_config() && row.read(&text).is_ok_and(|pools| !pools.is_empty())
    };
    let names: Vec<_> = compat::ALL
        .iter()
        .filter(reads)
        .map(|row| row.name)
        .collect();
    match names.as_slice() {
        [] => None,
        [name] => Some(format!("it reads as a file of {name}: --dialect {name}")),
        names => Some(format!("it reads as a file of {}", names.join(" or "))),
    }
}
