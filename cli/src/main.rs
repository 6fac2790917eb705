//! The command line: given a key and a set of nodes, which node?

mod args;
mod changes;
mod commands;
mod config;
mod failure;
mod key_text;
mod keys;
mod nodes;
mod output;
mod partial;
mod progress;
mod strategy;
mod target;
mod text;
mod units;

use std::io::{self, Write};
use std::process::ExitCode;

use alloc_counter::AllocCounterSystem;
use clap::Parser;
use hashroute_harness::text::printable;

use crate::commands::Cli;

/// Counts the allocations of each thread, so that `compare` can say how many a lookup makes.
#[global_allocator]
static ALLOCATOR: AllocCounterSystem = AllocCounterSystem;

/// Help as it is; an error without what its arguments could do to a terminal.
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
            // Help and version come this way too; who closed the pipe wants no more of them.
            let _ = tell(&error);
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    match commands::run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if failure.is_closed_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            let _ = writeln!(io::stderr(), "error: {failure}");
            ExitCode::from(failure.code())
        }
    }
}
