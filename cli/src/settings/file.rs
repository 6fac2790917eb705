//! Settings from a file: TOML whose names are those of options, for all commands or in a table of
//! the name of a command.

use std::borrow::Cow;
use std::path::Path;

use clap::{Arg, ArgAction, Command};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::options::{Setting, all_options, option, options};
use crate::app::files;
use crate::app::nearest;
use crate::failure::Failure;
use crate::synonyms::plain;

/// The largest file.
const MOST: usize = 1 << 20;

/// The file while it is read.
struct Reading<'a> {
    path: &'a Path,
    text: &'a str,
    root: &'a Command,
    /// The command that runs.
    leaf: &'a Command,
    settings: Vec<Setting>,
}

/// Reads the settings for the command at this path, those of its own table first. A name that no
/// option has is an error, wherever it stands.
pub(super) fn read(
    root: &Command,
    command: &[String],
    leaf: &Command,
    path: &Path,
) -> Result<Vec<Setting>, Failure> {
    let text = files::read(path, "--options", MOST, "TOML")?;
    let table = DeTable::parse(&text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        wrong(path, line(&text, at), error.message(), None)
    })?;
    let mut reading = Reading {
        path,
        text: &text,
        root,
        leaf,
        settings: Vec::new(),
    };
    reading.table(table.get_ref(), root, Some(command))?;
    let mut settings = reading.settings;
    settings.sort_by_key(|setting| setting.rank);
    Ok(settings)
}

/// Returns the number of the line at this byte.
fn line(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or(text).split('\n').count()
}

fn wrong(path: &Path, line: usize, reason: &str, hint: Option<String>) -> Failure {
    Failure::file("--options", path, format!("line {line}: {reason}")).with_hint(hint)
}

impl Reading<'_> {
    /// Reads a table. `left` is the rest of the path to the command that runs, if it can be in here.
    fn table(
        &mut self,
        table: &DeTable<'_>,
        command: &Command,
        left: Option<&[String]>,
    ) -> Result<(), Failure> {
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(name, _)| name.span().start);
        for (name, value) in entries {
            let text = name.get_ref();
            if let DeValue::Table(inner) = value.get_ref() {
                let Some(sub) = command.find_subcommand(&**text) else {
                    let names = command.get_subcommands().map(Command::get_name);
                    let hint = nearest::hint(text, names);
                    let reason = format!("there is no command {text:?}");
                    return Err(self.wrong(name, &reason, hint));
                };
                let below = left.and_then(|left| match left.split_first() {
                    Some((first, rest)) if first == &**text => Some(rest),
                    _ => None,
                });
                self.table(inner, sub, below)?;
                continue;
            }
            self.entry(name, value, command, left)?;
        }
        Ok(())
    }

    /// Reads a value. Outside of tables it is for every command that has the option.
    fn entry(
        &mut self,
        name: &Spanned<Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
        command: &Command,
        left: Option<&[String]>,
    ) -> Result<(), Failure> {
        let typed = name.get_ref();
        let known = all_options(command);
        let plain = plain(typed);
        let is_root = command.get_name() == self.root.get_name();
        if !known.contains(&&*plain) {
            let reason = if is_root {
                format!("no command has an option --{plain}")
            } else {
                format!("{} has no option --{plain}", command.get_name())
            };
            let hint = nearest::hint(&plain, known.iter().copied());
            return Err(self.wrong(name, &reason, hint));
        }
        let applies = left.is_some();
        let Some((arg, long)) = option(self.leaf, typed) else {
            // Read all the same, so that mistakes are found with every command.
            let other = any_option(command, &plain);
            return other.map_or(Ok(()), |arg| self.words(arg, &plain, value).map(drop));
        };
        let words = self.words(arg, long, value)?;
        if applies && !words.is_empty() {
            // A table of the command counts more than what stands outside.
            let rank = if is_root { 2 } else { 1 };
            self.settings.push(Setting {
                option: long.to_owned(),
                words,
                from: self.path.display().to_string(),
                rank,
            });
        }
        Ok(())
    }

    /// Returns the option with its value as it would be typed.
    fn words(
        &self,
        arg: &Arg,
        long: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Vec<String>, Failure> {
        let takes = arg.get_action().takes_values();
        let word = |value: &DeValue<'_>| {
            let text = match value {
                DeValue::String(text) => text.to_string(),
                DeValue::Integer(number) => number.to_string(),
                DeValue::Float(number) => number.to_string(),
                _ => return None,
            };
            Some(format!("--{long}={text}"))
        };
        let words = match value.get_ref() {
            DeValue::Boolean(on) if !takes => {
                return Ok(on.then(|| format!("--{long}")).into_iter().collect());
            }
            DeValue::Array(values) if matches!(arg.get_action(), ArgAction::Append) => values
                .iter()
                .map(|value| word(value.get_ref()))
                .collect::<Option<Vec<_>>>(),
            one if takes => word(one).map(|word| vec![word]),
            _ => None,
        };
        words.ok_or_else(|| {
            let expected = match (takes, arg.get_action()) {
                (false, _) => "true or false",
                (true, ArgAction::Append) => "a text, a number or an array of them",
                (true, _) => "a text or a number",
            };
            self.wrong(value, &format!("{long}: expected {expected}"), None)
        })
    }

    fn wrong<T>(&self, at: &Spanned<T>, reason: &str, hint: Option<String>) -> Failure {
        let line = line(self.text, at.span().start);
        wrong(self.path, line, reason, hint)
    }
}

/// Returns the option of this name in the command or below it.
fn any_option<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    let own = options(command).find(|(_, long)| *long == name);
    let below = || {
        command
            .get_subcommands()
            .find_map(|sub| any_option(sub, name))
    };
    own.map(|(arg, _)| arg).or_else(below)
}
