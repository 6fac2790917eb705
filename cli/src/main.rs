//! The command line of hashroute: given a key and a set of nodes, which node?

mod app;
mod args;
mod commands;
mod failure;
mod help;
mod key_text;
mod output;
mod progress;
mod settings;
mod synonyms;
mod units;
mod usage;

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{ArgMatches, Command, FromArgMatches};
use hashroute_harness::text::printable;

use crate::app::outputs;
use crate::commands::Cli;
use crate::failure::Failure;

fn main() -> ExitCode {
    let program = commands::program();
    let typed: Vec<_> = env::args_os().collect();
    let settled = match settings::settle(&program, typed) {
        Ok(settled) => settled,
        Err(failure) => return failed(&failure),
    };
    let parsed = program.clone().try_get_matches_from(&settled.words);
    let parsed = parsed.and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, matches)));
    let (cli, matches) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => {
            let code = u8::try_from(error.exit_code()).unwrap_or(2);
            if code != 0 {
                note(&settled.notes);
            }
            // Help and version come this way, too. If the pipe is closed, nobody wants to read
            // them.
            let _ = tell(error, &program, &settled.words);
            return ExitCode::from(code);
        }
    };
    // Only a typed option silences what tells of settings, and no setting does.
    let quiet = is_quiet(&matches) && env::args_os().any(|word| word == "-q" || word == "--quiet");
    if !quiet {
        note(&settled.notes);
    }
    let checked = outputs::check(&program, &matches, settled.file.as_deref());
    match checked.and_then(|()| commands::run(&cli, program)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if failure.is_closed_pipe() => ExitCode::SUCCESS,
        Err(failure) if failure.is_told() => ExitCode::from(failure.code()),
        Err(failure) => {
            if quiet && failure.code() == 2 {
                note(&settled.notes);
            }
            failed(&failure)
        }
    }
}

/// Prints help unchanged, and an error with control characters escaped: arguments may hold any.
fn tell(error: clap::Error, program: &Command, typed: &[OsString]) -> io::Result<()> {
    if error.kind() == ErrorKind::DisplayHelp {
        return io::stdout().write_all(help::text(program, typed).as_bytes());
    }
    if !error.use_stderr() {
        return error.print();
    }
    let message = usage::message(error, program, typed);
    let mut lines = message.lines().map(printable);
    lines.try_for_each(|line| writeln!(io::stderr(), "{line}"))
}

/// Says which options came from elsewhere.
fn note(notes: &[String]) {
    for note in notes {
        let _ = writeln!(io::stderr(), "note: {}", printable(note));
    }
}

fn failed(failure: &Failure) -> ExitCode {
    let _ = writeln!(io::stderr(), "{}: {failure}", failure.word());
    if let Some(hint) = failure.hint() {
        let _ = writeln!(io::stderr(), "hint: {hint}");
    }
    ExitCode::from(failure.code())
}

/// Returns whether the command that runs has `--quiet`.
fn is_quiet(matches: &ArgMatches) -> bool {
    match matches.subcommand() {
        Some((_, below)) => is_quiet(below),
        None => matches
            .try_get_one::<bool>("quiet")
            .is_ok_and(|quiet| quiet == Some(&true)),
    }
}
