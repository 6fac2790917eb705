//! `completions`: scripts that complete the command line in a shell.

use std::io::Write;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::failure::Failure;
use crate::output;

/// Print a script that completes commands, options and names in a shell
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompletionsArgs {
    /// The shell that reads the script
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  hashroute completions bash > ~/.local/share/bash-completion/completions/hashroute
  hashroute completions zsh > \"${fpath[1]}/_hashroute\"
  hashroute completions fish > ~/.config/fish/completions/hashroute.fish
  hashroute completions powershell >> $PROFILE
  hashroute completions elvish >> ~/.config/elvish/rc.elv";

pub(crate) fn run(args: &CompletionsArgs, mut program: Command) -> Result<(), Failure> {
    let mut script = Vec::new();
    let name = program.get_name().to_owned();
    clap_complete::generate(args.shell, &mut program, name, &mut script);
    let mut out = output::stdout();
    out.write_all(&script)?;
    Ok(out.flush()?)
}
