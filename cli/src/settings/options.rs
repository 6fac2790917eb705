//! Options that settings can set, and the settings of them.

use clap::{Arg, Command};

use crate::synonyms::plain;

/// The option and the variable that name the file.
pub(super) const FILE: &str = "options";
/// Options whose name means something else in one command.
const OTHERWISE: &[(&str, &str)] = &[("simulate", "keys")];

/// A value for an option of the command.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    /// The long name of the option.
    pub(super) option: String,
    /// What is added to the command line.
    pub(super) words: Vec<String>,
    /// Where it comes from, such as `HASHROUTE_STRATEGY` or `hashroute.toml`.
    pub(super) from: String,
    /// The source; a lower one counts more.
    pub(super) rank: u8,
}

/// Returns the options that settings can set.
pub(super) fn options(command: &Command) -> impl Iterator<Item = (&Arg, &str)> {
    let all = command.get_arguments();
    let options = all.filter_map(|arg| Some((arg, arg.get_long()?)));
    let not_of_the_program = |long: &str| ![FILE, "help", "version"].contains(&long);
    let command = command.get_name();
    options
        .filter(move |(_, long)| not_of_the_program(long) && !OTHERWISE.contains(&(command, *long)))
}

/// Returns the option of this name, with `-` or `_`.
pub(super) fn option<'a>(command: &'a Command, name: &str) -> Option<(&'a Arg, &'a str)> {
    let name = plain(name);
    options(command).find(|(_, long)| *long == name)
}

/// Returns the names of all options of a command and of those below it.
pub(super) fn all_options(command: &Command) -> Vec<&str> {
    let own = options(command).map(|(_, long)| long);
    own.chain(command.get_subcommands().flat_map(all_options))
        .collect()
}
