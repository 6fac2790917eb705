//! `route`: where each key goes.

use std::io::{self, BufWriter, StdoutLock, Write};

use hashroute::harness::Keys;
use hashroute::{NodeId, Router, Spread};
use serde_json::json;

use crate::args::{ReplicaArgs, RouteArgs};
use crate::failure::Failure;
use crate::key_text;
use crate::output::{self, Format};
use crate::strategy::{Choice, replicas};
use crate::{keys, nodes};

pub(crate) fn run(args: &RouteArgs) -> Result<(), Failure> {
    let router = Choice::new(&args.strategy)?.build(nodes::read(&args.nodes)?)?;
    let mut lines = Routes::new(&*router, &args.replicas, args.output.format);
    if args.key.is_empty() {
        keys::stream(&args.keys, &mut |keys| lines.write(keys))?;
    } else {
        let mut keys = Keys::default();
        args.key
            .iter()
            .for_each(|key| keys.push(key.as_encoded_bytes()));
        lines.write(&keys)?;
    }
    lines.finish()
}

/// A writer of a line a key.
struct Routes<'a> {
    router: &'a dyn Router,
    replicas: u32,
    spread: Spread,
    format: Format,
    out: BufWriter<StdoutLock<'static>>,
    /// Whether the header is written: not before there are keys, since reading them may fail.
    begun: bool,
}

impl<'a> Routes<'a> {
    fn new(router: &'a dyn Router, args: &ReplicaArgs, format: Format) -> Self {
        let replicas = args.replicas.unwrap_or(1);
        Self {
            router,
            replicas,
            spread: args.spread.into(),
            format,
            out: output::stdout(),
            begun: false,
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
        match self.format {
            Format::Table | Format::Json => {}
            Format::Csv => write_csv(&mut self.out, titles)?,
            Format::Markdown => {
                output::markdown_row(&mut self.out, titles)?;
                output::markdown_row(&mut self.out, (0..=width).map(|_| "---".into()))?;
            }
        }
        Ok(())
    }

    /// How many nodes a line may have.
    fn width(&self) -> usize {
        self.router
            .nodes()
            .live()
            .min(self.replicas as usize)
            .max(1)
    }

    /// A line for each key, and out with them, since the next keys may be long in coming.
    fn write(&mut self, keys: &Keys) -> Result<(), Failure> {
        self.begin()?;
        keys.iter().try_for_each(|key| self.write_key(key))?;
        Ok(self.out.flush()?)
    }

    fn finish(mut self) -> Result<(), Failure> {
        self.begin()?;
        Ok(self.out.flush()?)
    }

    fn write_key(&mut self, key: &[u8]) -> Result<(), Failure> {
        let router = self.router;
        let hash = router.hash_key(key);
        if self.replicas == 1 {
            let owner = router.place(hash);
            return self.write_line(key, owner.as_slice());
        }
        let list = replicas(router, hash, self.replicas, self.spread);
        router.place(hash);
        self.write_line(key, &list)
    }

    fn write_line(&mut self, key: &[u8], list: &[NodeId]) -> Result<(), Failure> {
        let nodes = self.router.nodes();
        let names = list.iter().map(|&id| nodes.name(id));
        let missing = self.width() - list.len();
        match self.format {
            Format::Table => write_tabs(&mut self.out, key, names)?,
            Format::Json => {
                let (field, text) = key_text::field(key);
                let line = json!({ field: text, "nodes": names.collect::<Vec<_>>() });
                serde_json::to_writer(&mut self.out, &line)?;
                self.out.write_all(b"\n")?;
            }
            Format::Csv => {
                let names = names
                    .chain(core::iter::repeat_n("", missing))
                    .map(str::as_bytes);
                write_csv(&mut self.out, core::iter::once(key).chain(names))?;
            }
            Format::Markdown => {
                let names = names
                    .chain(core::iter::repeat_n("", missing))
                    .map(output::printable);
                output::markdown_row(
                    &mut self.out,
                    core::iter::once(key_text::shown(key)).chain(names),
                )?;
            }
        }
        Ok(())
    }
}

/// The key as the bytes it is, and each name behind a tab; a tab alone when there is none.
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
        out.write_all(name.as_bytes())?;
    }
    out.write_all(b"\n")
}

fn write_csv<T: AsRef<[u8]>>(
    out: &mut dyn Write,
    fields: impl Iterator<Item = T>,
) -> Result<(), Failure> {
    // A buffer of its own for a line: the smallest, since `out` has one.
    let mut writer = csv::WriterBuilder::new()
        .buffer_capacity(256)
        .from_writer(out);
    writer.write_record(fields)?;
    Ok(writer.flush()?)
}
