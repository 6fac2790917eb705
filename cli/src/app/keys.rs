//! The source of keys: a file, standard input or a template, read as a whole or in batches.

use core::cell::OnceCell;
use core::num::NonZero;
use core::ops::Range;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

use hashroute::{Error, Router};
use hashroute_harness::stream::{self, BadLines, Consumer, KeySource, Reading};
use hashroute_harness::{DumpFormat, DumpSource, InputError, Keys, text::printable};

use crate::args::KeyArgs;
use crate::failure::{Asked, Failure};
use crate::progress::{Progress, Size};

const DEFAULT_TEMPLATE: &str = "user:{i}";
const DEFAULT_RANGE: Range<u64> = 0..1_000_000;

/// The most keys that a template makes in memory: a few gigabytes.
const MAX_KEYS: u64 = 100_000_000;
/// The most keys that a template makes in batches: about a day of work.
const MAX_STREAMED: u64 = 1 << 40;

/// The most notes about incomplete lists of keys that are printed one by one.
const TOLD: usize = 5;

/// A buffered input.
pub(crate) type Input = BufReader<Box<dyn Read>>;

/// Where keys come from. Made once from the options, then passed on.
#[derive(Clone, Debug)]
pub(crate) struct Source<'a> {
    from: Origin<'a>,
    /// Whether a line that cannot be read is an error.
    strict: bool,
}

#[derive(Clone, Debug)]
enum Origin<'a> {
    Lines(&'a Path),
    Csv(&'a Path),
    Json(&'a Path),
    Dump(DumpFormat, &'a Path),
    Template(&'a str, Range<u64>),
}

impl<'a> Source<'a> {
    /// Reads the source from the options.
    pub(crate) fn of(args: &'a KeyArgs) -> Result<Self, Failure> {
        let strict = args.strict;
        let from = match (&args.keys, &args.csv, &args.jsonl, dump(args)) {
            (_, _, _, Some((format, path))) => Origin::Dump(format, path),
            (Some(path), ..) => Origin::Lines(path),
            (_, Some(path), ..) => Origin::Csv(path),
            (_, _, Some(path), _) => Origin::Json(path),
            _ => Origin::Template(
                args.template.as_deref().unwrap_or(DEFAULT_TEMPLATE),
                args.range.as_deref().map_or(Ok(DEFAULT_RANGE), range)?,
            ),
        };
        Ok(Self { from, strict })
    }

    /// Returns the template and its range, if keys come from one.
    pub(crate) fn template(&self) -> Option<(&'a str, Range<u64>)> {
        match &self.from {
            Origin::Template(template, range) => Some((template, range.clone())),
            _ => None,
        }
    }

    /// Returns the option and its value as they are typed, for messages.
    pub(crate) fn named(&self) -> String {
        match &self.from {
            Origin::Lines(path) => format!("--keys {}", path.display()),
            Origin::Csv(path) => format!("--csv {}", path.display()),
            Origin::Json(path) => format!("--jsonl {}", path.display()),
            Origin::Dump(format, path) => format!("--{format} {}", path.display()),
            Origin::Template(template, _) => format!("--template '{template}'"),
        }
    }

    /// Returns the file that keys come from, if they come from one.
    pub(crate) fn path(&self) -> Option<&'a Path> {
        match &self.from {
            Origin::Lines(path)
            | Origin::Csv(path)
            | Origin::Json(path)
            | Origin::Dump(_, path) => Some(path),
            Origin::Template(..) => None,
        }
    }

    /// Reads all keys, at least one.
    pub(crate) fn read(&self) -> Result<Keys, Failure> {
        Ok(self.read_all()?.0)
    }

    /// Reads all keys, at least one, and returns what was read besides them.
    pub(crate) fn read_all(&self) -> Result<(Keys, Counted), Failure> {
        if let Origin::Template(template, range) = &self.from {
            check_count(range, MAX_KEYS)?;
            let keys = Keys::template(template, range.clone());
            let keys = keys.map_err(|error| self.refused(error))?;
            return Ok((keys, Counted::default()));
        }
        let mut keys = Keys::default();
        let read = self.stream(&mut |batch| Ok(keys.append(batch)?))?;
        Ok((keys, read))
    }

    /// Reads all keys, at least one, in order and in batches, so that they need not fit into
    /// memory.
    pub(crate) fn stream(
        &self,
        take: &mut dyn FnMut(&Keys) -> Result<(), Failure>,
    ) -> Result<Counted, Failure> {
        let list = OnceCell::new();
        let mut batches = self.open(&list, |input| input)?;
        let (mut none, mut bad) = (true, BadLines::default());
        while let Some(keys) = batches
            .next_keys(&mut bad)
            .map_err(|error| self.wrong(&error))?
        {
            if self.strict {
                self.tell(&bad)?;
            }
            none &= keys.is_empty();
            take(&keys)?;
        }
        drop(batches);
        self.tell(&bad)?;
        let list = list.into_inner();
        self.tell_limits(list.as_ref());
        if none {
            return Err(self.empty());
        }
        Ok(Counted {
            unreadable: bad.count,
            source: list,
        })
    }

    /// Lets one copy of `consumer` per core count the keys, and merges them. Memory does not grow
    /// with the number of keys.
    pub(crate) fn count<C: Consumer>(
        &self,
        consumer: &C,
        how: Counting,
    ) -> Result<(C, Counted), Failure> {
        let progress = Progress::reading(how.quiet, self.size());
        let list = OnceCell::new();
        let batches = self.open(&list, |input| progress.wrap(input))?;
        let count = |keys| progress.add_keys(keys);
        let reading = Reading::default()
            .with_threads(how.in_order.then_some(NonZero::<usize>::MIN))
            .with_strict(self.strict)
            .with_progress(&count);
        let (found, bad) =
            stream::read(batches, consumer, &reading).map_err(|error| self.wrong(&error))?;
        let none = progress.keys() == 0;
        drop(progress);
        self.tell(&bad)?;
        let list = list.into_inner();
        self.tell_limits(list.as_ref());
        if none && !how.may_be_empty {
            return Err(self.empty());
        }
        let counted = Counted {
            unreadable: bad.count,
            source: list,
        };
        Ok((found, counted))
    }

    /// Returns how much there is to read, for the progress bar.
    fn size(&self) -> Size {
        match &self.from {
            Origin::Template(_, range) => Size::Keys(range.end - range.start),
            _ => self
                .path()
                .map_or(Size::Unknown, |path| match fs::metadata(path) {
                    Ok(data) if data.is_file() => Size::Bytes(data.len()),
                    _ => Size::Unknown,
                }),
        }
    }

    /// Opens the keys in batches. The input goes through `wrap`. At the end of a list of keys,
    /// `list` holds what the list says about itself.
    fn open<'s>(
        &self,
        list: &'s OnceCell<DumpSource>,
        wrap: impl FnOnce(Box<dyn Read>) -> Box<dyn Read>,
    ) -> Result<KeySource<'s>, Failure> {
        let open = |path: &Path| {
            let input = refuse_gzip(wrap(open_raw(path)?), &self.named())?;
            Ok::<_, InputError>(input)
        };
        let source = match &self.from {
            Origin::Lines(path) => open(path).map(KeySource::lines),
            Origin::Json(path) => open(path).map(KeySource::jsonl),
            Origin::Csv(path) => open(path).and_then(KeySource::csv),
            Origin::Dump(format, path) => open(path).map(|input| {
                // The cell is empty: a text ends once.
                KeySource::dump(*format, input, |end| drop(list.set(end)))
            }),
            Origin::Template(template, range) => {
                check_count(range, MAX_STREAMED)?;
                return KeySource::template(template, range.clone())
                    .map_err(|error| self.refused(error));
            }
        };
        source.map_err(|error| self.wrong(&error))
    }

    /// Reports lines that were passed over, or with `--strict` refuses the first.
    fn tell(&self, bad: &BadLines) -> Result<(), Failure> {
        let name = self.named();
        let lines = || {
            bad.first
                .iter()
                .map(|bad| format!("line {}: {}", bad.line, bad.problem))
        };
        if let Some(line) = lines().next().filter(|_| self.strict) {
            return Err(Failure::Input(format!("{name}: {line}")));
        }
        let more = bad.count - bad.first.len() as u64;
        let more = (more > 0).then(|| format!("{more} more lines (--strict makes them an error)"));
        for line in lines().chain(more) {
            // Standard error may be closed; there is no other place for the message.
            let _ = writeln!(
                io::stderr(),
                "skipped: {}",
                printable(&format!("{name}: {line}"))
            );
        }
        Ok(())
    }

    /// Prints what a list of keys leaves out.
    fn tell_limits(&self, list: Option<&DumpSource>) {
        let limits = list.iter().flat_map(|list| &list.limits);
        limits.for_each(|limit| note(&format!("{}: {limit}", self.named())));
    }

    fn wrong(&self, error: &InputError) -> Failure {
        Failure::Input(format!("{}: {error}", self.named()))
    }

    fn refused(&self, error: Error) -> Failure {
        Asked::Option(self.named()).refused(error)
    }

    fn empty(&self) -> Failure {
        let name = self.named();
        Failure::Input(format!("{name}: no keys: expected at least one"))
    }
}

fn note(text: &str) {
    // Standard error may be closed; there is no other place for the message.
    let _ = writeln!(io::stderr(), "note: {}", printable(text));
}

/// Prints what the lists of keys behind counted parts leave out.
pub(crate) fn tell_limits_of_parts(lists: &[DumpSource]) {
    let limits = lists.iter().flat_map(|list| {
        let format = list.format;
        list.limits
            .iter()
            .map(move |limit| format!("--{format}: {limit}"))
    });
    let limits: BTreeSet<_> = limits.collect();
    limits.iter().take(TOLD).for_each(|limit| note(limit));
    if limits.len() > TOLD {
        note(&format!("{} more notes like these", limits.len() - TOLD));
    }
}

/// Returns the output of `redis-cli` or memcached, if keys come from one.
fn dump(args: &KeyArgs) -> Option<(DumpFormat, &Path)> {
    let dump = &args.dump;
    let files = [
        (DumpFormat::BigKeys, &dump.bigkeys),
        (DumpFormat::MemKeys, &dump.memkeys),
        (DumpFormat::HotKeys, &dump.hotkeys),
        (DumpFormat::KeyStats, &dump.keystats),
        (DumpFormat::Scan, &dump.scan),
        (DumpFormat::Metadump, &dump.metadump),
    ];
    let mut given = files
        .into_iter()
        .filter_map(|(format, path)| Some((format, path.as_deref()?)));
    given.next()
}

fn check_count(range: &Range<u64>, most: u64) -> Result<(), Failure> {
    let Range { start, end } = range;
    match end - start {
        count if count <= most => Ok(()),
        count => Err(Failure::Input(format!(
            "--range {start}..{end}: {count} keys are too many: expected at most {most}"
        ))),
    }
}

/// How keys are counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counting {
    /// One thread counts, in the order of the keys.
    pub(crate) in_order: bool,
    /// Zero keys are an answer and no error.
    pub(crate) may_be_empty: bool,
    pub(crate) quiet: bool,
}

impl Counting {
    /// Counts at least one key, in order where the router keeps loads.
    pub(crate) fn of(router: &dyn Router, quiet: bool) -> Self {
        Self {
            in_order: router.loads().is_some(),
            may_be_empty: false,
            quiet,
        }
    }
}

/// What was read besides the keys.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    /// The number of lines that were passed over.
    pub(crate) unreadable: u64,
    /// What a list of keys says about itself.
    pub(crate) source: Option<DumpSource>,
}

/// Opens a file, or standard input (-).
pub(crate) fn open(path: &Path) -> io::Result<Input> {
    Ok(BufReader::with_capacity(1 << 16, open_raw(path)?))
}

fn open_raw(path: &Path) -> io::Result<Box<dyn Read>> {
    Ok(if path.as_os_str() == "-" {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(path)?)
    })
}

/// Refuses compressed input, whose bytes would be counted as keys.
fn refuse_gzip(input: Box<dyn Read>, named: &str) -> io::Result<Box<dyn Read>> {
    let mut input = BufReader::with_capacity(1 << 16, input);
    if input.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
        let option = named.split(' ').next().unwrap_or_default();
        return Err(io::Error::other(format!(
            "compressed by gzip: expected plain text, as from zcat FILE | hashroute ... {option} -"
        )));
    }
    Ok(Box::new(input))
}

/// Reads `A..B` with A below B.
fn range(text: &str) -> Result<Range<u64>, Failure> {
    let bounds = text
        .split_once("..")
        .and_then(|(start, end)| Some(start.parse().ok()?..end.parse().ok()?));
    bounds
        .filter(|range| range.start < range.end)
        .ok_or_else(|| {
            Failure::Input(format!(
                "--range {text}: expected A..B with whole numbers A < B, such as 0..1000"
            ))
        })
}
