//! `route`: the node of each key.

use std::ffi::OsString;
use std::io::{self, Write};

use clap::Args;
use hashroute::{NodeId, Router, Spread};
use hashroute_harness::{Keys, assign, text::printable};
use serde_json::json;

use crate::app::keys::Source;
use crate::app::nodes;
use crate::app::strategy::{Choice, replicas};
use crate::app::typed;
use crate::args::{
    HexKey, KEY_SOURCES, KeyArgs, NodeArgs, OutputArgs, ReplicaArgs, StrategyArgs, typed_keys,
};
use crate::failure::Failure;
use crate::key_text;
use crate::output::{self, Format, Stdout};
use crate::units;

/// Print the node, or the N nodes, of each key
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RouteArgs {
    /// Keys to route, instead of keys from a file or template
    #[arg(value_name = "KEY", conflicts_with_all = KEY_SOURCES)]
    pub(crate) key: Vec<OsString>,
    /// A key in hexadecimal digits, for bytes that are no text (repeatable)
    #[arg(long, value_name = "DIGITS", conflicts_with_all = KEY_SOURCES)]
    pub(crate) hex: Vec<HexKey>,
    #[command(flatten)]
    pub(crate) replicas: ReplicaArgs,
    #[command(flatten)]
    pub(crate) nodes: NodeArgs,
    #[command(flatten)]
    pub(crate) strategy: StrategyArgs,
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

const EXAMPLES: &str = "\
A line is KEY TAB NODE; with --replicas, all nodes, separated by tabs. The key is written as its
bytes, except on a terminal: for keys that hold tabs or line feeds, take --format json, which prints
one object a line. If a strategy keeps loads (bounded), each key counts for the keys after it. The
exit code is 1 if a key has no node, or fewer replicas than asked for.

Examples:
  hashroute route --nodes a,b=2,c user:1 user:2
  hashroute route --nodes-file nodes.toml --replicas 3 --spread zones user:1
  hashroute route --dialect nginx --config nginx.conf --pool cache /index.html
  cut -f1 keys.tsv | hashroute route --count 10 --keys - > routes.tsv";

pub(crate) fn run(args: &RouteArgs) -> Result<(), Failure> {
    let mut typed = Keys::default();
    typed_keys(&args.key, &args.hex).for_each(|key| typed.push(key));
    refuse_meant_otherwise(args)?;
    let (choice, nodes) = Choice::read(&args.strategy, &args.nodes)?;
    let router = choice.build(&nodes)?;
    let source = if typed.is_empty() {
        Some(given(&args.keys)?)
    } else {
        None
    };
    nodes::given(&args.nodes, &args.strategy)?;
    if let Some(note) = choice.key_note().filter(|_| !args.output.quiet) {
        let _ = writeln!(io::stderr(), "note: {note}");
    }
    let mut lines = Routes::new(&*router, &args.replicas, args.output.format);
    match source {
        Some(source) => drop(source.stream(&mut |keys| lines.write(keys))?),
        None => lines.write(&typed)?,
    }
    lines.end(&choice, args.output.quiet)
}

/// Returns the source of the keys. `route` makes up none.
fn given(args: &KeyArgs) -> Result<Source<'_>, Failure> {
    let source = Source::of(args)?;
    if source.made_up().is_none() {
        return Ok(source);
    }
    let wrong = Failure::input("no keys: expected KEY, --keys FILE, or keys on standard input");
    Err(wrong.with_hint(Some("hashroute route --nodes a,b=2,c user:1".into())))
}

/// Refuses keys that were most likely typed as nodes or as a file.
fn refuse_meant_otherwise(args: &RouteArgs) -> Result<(), Failure> {
    let texts: Vec<_> = args.key.iter().map(|key| key.to_string_lossy()).collect();
    if let (Some(node), [first, second, ..]) = (&args.nodes.nodes, texts.as_slice()) {
        if is_like(node, first) && is_like(node, second) {
            let like = texts.iter().take_while(|key| is_like(node, key));
            let like: Vec<_> = like.map(AsRef::as_ref).collect();
            let list = like.join(",");
            return Err(Failure::Input(format!(
                "--nodes {node} {}: one node, and keys that look like nodes: expected --nodes {node},{list}, or --nodes {node}=1 if they are keys",
                like.join(" ")
            )));
        }
    }
    typed::refuse_files(&args.key, "--keys")
}

/// Returns whether a key looks like the only node: both are one letter, or they differ in digits
/// alone.
fn is_like(node: &str, key: &str) -> bool {
    let letter = |text: &str| text.len() == 1 && text.bytes().all(|byte| byte.is_ascii_lowercase());
    let words = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "");
    let has_digits = |text: &str| text.bytes().any(|byte| byte.is_ascii_digit());
    letter(node) && letter(key)
        || has_digits(node)
            && has_digits(key)
            && words(node) == words(key)
            && !node.contains(['=', ','])
}

/// Writes one line per key.
struct Routes<'a> {
    router: &'a dyn Router,
    replicas: u32,
    spread: Spread,
    out: Out,
    /// Whether the header is written. It waits for the first keys, since reading them may fail.
    begun: bool,
    /// The number of keys without a node.
    unplaced: u64,
    /// The number of keys with fewer nodes than asked for, but one at least.
    short: u64,
}

/// Standard output in one of the formats.
enum Out {
    Tabs(Stdout),
    Json(Stdout),
    Csv(Box<csv::Writer<Stdout>>),
    Markdown(Stdout),
}

impl Out {
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Tabs(out) | Self::Json(out) | Self::Markdown(out) => out.flush(),
            Self::Csv(out) => out.flush(),
        }
    }
}

impl<'a> Routes<'a> {
    fn new(router: &'a dyn Router, args: &ReplicaArgs, format: Format) -> Self {
        let replicas = args.replicas.unwrap_or(1);
        Self {
            router,
            replicas,
            spread: args.spread.into(),
            out: match format {
                Format::Table => Out::Tabs(output::stdout()),
                Format::Json => Out::Json(output::stdout()),
                Format::Csv => Out::Csv(Box::new(csv::Writer::from_writer(output::stdout()))),
                Format::Markdown => Out::Markdown(output::stdout()),
            },
            begun: false,
            unplaced: 0,
            short: 0,
        }
    }

    /// Says which keys got no node, or fewer replicas than asked for. A script that needs them can
    /// tell by the exit code.
    fn end(&self, choice: &Choice, quiet: bool) -> Result<(), Failure> {
        let weighted = self.router.nodes().weighted();
        let mut wrong = Vec::new();
        if self.unplaced > 0 {
            let why = choice.unplaced(self.unplaced, weighted > 0);
            wrong.push(why.trim_end_matches('.').to_owned());
        }
        if self.short > 0 {
            wrong.push(format!(
                "{} with fewer than {} replicas: {} with weight",
                units::counted(self.short, "key"),
                self.replicas,
                units::counted(weighted as u64, "node"),
            ));
        }
        for text in wrong.iter().filter(|_| !quiet) {
            // Standard error may be closed; there is no other place for the message.
            let _ = writeln!(io::stderr(), "note: {}", printable(text));
        }
        if wrong.is_empty() {
            Ok(())
        } else {
            Err(Failure::Told)
        }
    }

    fn begin(&mut self) -> Result<(), Failure> {
        if core::mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        let width = self.width();
        let node = |i| {
            if width == 1 {
                "node".into()
            } else {
                format!("node_{i}")
            }
        };
        let titles = core::iter::once("key".to_owned()).chain((1..=width).map(node));
        match &mut self.out {
            Out::Tabs(_) | Out::Json(_) => {}
            Out::Csv(out) => out.write_record(titles)?,
            Out::Markdown(out) => {
                output::markdown_row(out, titles)?;
                output::markdown_row(out, (0..=width).map(|_| "---".into()))?;
            }
        }
        Ok(())
    }

    /// Returns the most nodes of a line.
    fn width(&self) -> usize {
        self.router
            .nodes()
            .weighted()
            .min(self.replicas as usize)
            .max(1)
    }

    /// Writes a line for each key and flushes: the next keys may take long to arrive.
    fn write(&mut self, keys: &Keys) -> Result<(), Failure> {
        self.begin()?;
        keys.iter().try_for_each(|key| self.write_key(key))?;
        Ok(self.out.flush()?)
    }

    fn write_key(&mut self, key: &[u8]) -> Result<(), Failure> {
        let router = self.router;
        if self.replicas == 1 {
            let owner = assign(router, key);
            return self.write_line(key, owner.as_slice());
        }
        let list = replicas(router, key, self.replicas, self.spread);
        assign(router, key);
        self.write_line(key, &list)
    }

    fn write_line(&mut self, key: &[u8], list: &[NodeId]) -> Result<(), Failure> {
        self.unplaced += u64::from(list.is_empty());
        self.short += u64::from(!list.is_empty() && list.len() < self.replicas as usize);
        let nodes = self.router.nodes();
        let names = list.iter().map(|&id| nodes.name(id).unwrap_or_default());
        let missing = core::iter::repeat_n("", self.width() - list.len());
        match &mut self.out {
            Out::Tabs(out) => write_tabs(out, &output::key_field(key), names)?,
            Out::Json(out) => {
                let (field, text) = key_text::field(key);
                let line = json!({ field: text, "nodes": names.collect::<Vec<_>>() });
                output::write_json(out, &line)?;
                out.write_all(b"\n")?;
            }
            Out::Csv(out) => {
                let names = names.chain(missing).map(str::as_bytes);
                out.write_record(core::iter::once(key).chain(names).map(output::csv_field))?;
            }
            Out::Markdown(out) => {
                let names = names.chain(missing).map(printable);
                let cells = core::iter::once(key_text::shown(key)).chain(names);
                output::markdown_row(out, cells)?;
            }
        }
        Ok(())
    }
}

/// Writes the key, then each name after a tab; only a tab if there is none.
fn write_tabs<'a>(
    out: &mut dyn Write,
    key: &[u8],
    names: impl ExactSizeIterator<Item = &'a str>,
) -> io::Result<()> {
    out.write_all(key)?;
    if names.len() == 0 {
        out.write_all(b"\t")?;
    }
    for name in names {
        out.write_all(b"\t")?;
        out.write_all(output::name_field(name).as_bytes())?;
    }
    out.write_all(b"\n")
}
