//! `man`: the help as manual pages.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Command};
use clap_mangen::Man;
use roff::{Roff, bold, roman};

use crate::app::outputs;
use crate::failure::Failure;
use crate::output;

/// Print the manual page of a command, or write the pages of all
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ManArgs {
    /// The command, such as balance or slots plan [default: hashroute itself]
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
    /// Write the pages of all commands to this folder
    #[arg(short = 'o', long, value_name = "DIR", conflicts_with = "command")]
    pub(crate) out: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  hashroute man balance | man -l -
  hashroute man --out ~/.local/share/man/man1";

pub(crate) fn run(args: &ManArgs, program: &Command) -> Result<(), Failure> {
    if let Some(folder) = &args.out {
        fs::create_dir_all(folder).map_err(|error| Failure::file("--out", folder, error))?;
        return write_all(program, folder);
    }
    let mut command = program;
    for name in &args.command {
        command = command.find_subcommand(name).ok_or_else(|| {
            let names: Vec<_> = command.get_subcommands().map(Command::get_name).collect();
            let expected = match names.as_slice() {
                [] => "nothing after it".to_owned(),
                names => format!("one of {}", names.join(", ")),
            };
            Failure::Input(format!("{name}: no such command: expected {expected}"))
        })?;
    }
    let mut out = output::stdout();
    out.write_all(&page(command)?)?;
    Ok(out.flush()?)
}

/// Writes the page of the command and those of the commands below it.
fn write_all(command: &Command, folder: &PathBuf) -> Result<(), Failure> {
    let path = folder.join(format!("{}.1", title(command)));
    outputs::write("--out", &path, &page(command)?)?;
    let mut below = command
        .get_subcommands()
        .filter(|sub| sub.get_name() != "help");
    below.try_for_each(|sub| write_all(sub, folder))
}

/// Returns the name of the page, such as `hashroute-slots-plan`.
fn title(command: &Command) -> &str {
    command
        .get_display_name()
        .unwrap_or_else(|| command.get_name())
}

fn page(command: &Command) -> Result<Vec<u8>, Failure> {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let usage = if command.has_subcommands() {
        format!("{name} COMMAND")
    } else {
        let words = command.get_positionals().map(|arg| format!(" {arg}"));
        format!("{name} [OPTIONS]{}", words.collect::<String>())
    };
    // A heading holds the default of its options in parentheses. The sections of a page are in
    // capitals, so it goes to the description.
    let shown = command.clone().override_usage(usage).mut_args(|arg| {
        // What the short help leaves out has its description here.
        let arg = arg.hide_short_help(false);
        let heading = arg.get_help_heading().map(split_heading);
        let noted = heading.filter(|(_, note)| note.is_some());
        match noted.map(|(heading, _)| heading.to_owned()) {
            Some(heading) => arg.help_heading(&*heading.leak()),
            None => arg,
        }
    });
    let (notes, examples) = after(command);
    let man = Man::new(shown);
    let mut page = Vec::new();
    // Without a date, so that a page is the same whenever it is made.
    let (name, version) = (title(command).to_uppercase(), env!("CARGO_PKG_VERSION"));
    writeln!(page, ".TH {name} 1 \"\" \"hashroute {version}\" hashroute")?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    description(command, &notes).to_writer(&mut page)?;
    if command.has_subcommands() {
        let mut roff = Roff::new();
        roff.control("SH", ["COMMANDS"]);
        for sub in command
            .get_subcommands()
            .filter(|sub| sub.get_name() != "help")
        {
            roff.control("TP", []);
            roff.text([bold(title(sub)), roman("(1)")]);
            let about = sub.get_about().map(ToString::to_string);
            roff.text([roman(about.unwrap_or_default())]);
        }
        roff.to_writer(&mut page)?;
    }
    man.render_options_section(&mut page)?;
    footer(&examples).to_writer(&mut page)?;
    Ok(page)
}

/// Splits `Nodes (default: --count 10)` into the heading and what the parentheses say.
fn split_heading(heading: &str) -> (&str, Option<&str>) {
    match heading.split_once(" (") {
        Some((heading, note)) => (heading, note.strip_suffix(')')),
        None => (heading, None),
    }
}

/// Returns the text after the help: notes and examples.
fn after(command: &Command) -> (Vec<String>, Vec<String>) {
    let text = command.get_after_help().map(ToString::to_string);
    let text = text.unwrap_or_default();
    let mut lines = text.lines().map(str::to_owned);
    let is_title = |line: &String| line == "Examples:" || line == "Example:";
    let notes: Vec<_> = lines.by_ref().take_while(|line| !is_title(line)).collect();
    (notes, lines.collect())
}

fn description(command: &Command, notes: &[String]) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["DESCRIPTION"]);
    let about = command.get_about().map(ToString::to_string);
    roff.text([roman(format!("{}.", about.unwrap_or_default()))]);
    let mut said = Vec::new();
    for heading in command
        .get_arguments()
        .filter_map(|arg| arg.get_help_heading())
    {
        if let (title, Some(note)) = split_heading(heading) {
            if !said.contains(&title) {
                said.push(title);
                roff.control("PP", []);
                roff.text([roman(format!("{title}: {note}."))]);
            }
        }
    }
    if !notes.is_empty() {
        roff.control("PP", []);
    }
    for line in notes {
        if line.is_empty() {
            roff.control("PP", []);
        } else {
            roff.text([roman(line)]);
        }
    }
    roff
}

fn footer(examples: &[String]) -> Roff {
    let mut roff = Roff::new();
    let mut shown = examples
        .iter()
        .take_while(|line| !line.is_empty())
        .peekable();
    if shown.peek().is_some() {
        roff.control("SH", ["EXAMPLES"]);
        roff.control("nf", []);
        for line in shown {
            roff.text([roman(line.trim_start())]);
        }
        roff.control("fi", []);
    }
    roff.control("SH", ["EXIT STATUS"]);
    roff.text([roman(
        "0: done. 1: a check did not hold. 2: bad usage or input.",
    )]);
    roff
}
