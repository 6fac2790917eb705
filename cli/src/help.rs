//! The help: `-h` has what is used daily, `--help` has all, both in lines that stand close.

use std::ffi::OsString;

use clap::{Arg, Command};

/// Returns the help that was asked for.
pub(crate) fn text(program: &Command, typed: &[OsString]) -> String {
    let words: Vec<_> = typed
        .iter()
        .skip(1)
        .map(|word| word.to_string_lossy())
        .collect();
    let is_long = words.iter().any(|word| word == "--help" || word == "help");
    let names = words.iter().filter(|word| *word != "help");
    let mut command = program;
    for name in names {
        match command.find_subcommand(&**name) {
            Some(sub) => command = sub,
            // Options of the program may stand before a command.
            None if command.has_subcommands() => {}
            None => break,
        }
    }
    let hidden = command
        .get_arguments()
        .filter(|arg| arg.is_hide_short_help_set())
        .count();
    if is_long {
        // The long form of the parser puts each option on two lines and an empty one.
        let all = command
            .clone()
            .mut_args(|arg: Arg| arg.hide_short_help(false));
        return rendered(all);
    }
    let short = rendered(command.clone());
    if hidden == 0 {
        return short;
    }
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    format!("{short}\n{name} --help has {hidden} more options.\n")
}

fn rendered(mut command: Command) -> String {
    command.render_help().to_string()
}
