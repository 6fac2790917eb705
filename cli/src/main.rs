//! The command line of hashroute: given a key and a set of nodes, which node?

mod app;
mod args;
mod commands;
mod failure;
mod key_text;
mod output;
mod progress;
mod units;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use hashroute_harness::text::printable;

use crate::commands::Cli;

/// Prints help unchanged, and an error with control characters escaped: arguments may hold any.
fn tell(error: &clap::Error) -> io::Result<()> {
    if !error.use_stderr() {
        return error.print();
    }
    let message = error.render().to_string();
    let mut lines = message.lines().map(printable);
    lines.try_for_each(|line| writeln!(io::stderr(), "{line}"))
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version come this way, too. If the pipe is closed, nobody wants to read
            // them.
            let _ = tell(&error);
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    match commands::run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if failure.is_closed_pipe() => ExitCode::SUCCESS,
        Err(failure) if failure.is_told() => ExitCode::from(failure.code()),
        Err(failure) => {
            let _ = writeln!(io::stderr(), "{}: {failure}", failure.word());
            if let Some(hint) = failure.hint() {
                let _ = writeln!(io::stderr(), "hint: {hint}");
            }
            ExitCode::from(failure.code())
        }
    }
}
