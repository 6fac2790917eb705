//! The keys: from a file, standard input or a template; all at once, or a batch at a time.

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
use crate::failure::Failure;
use crate::progress::{Progress, Size};

const DEFAULT_TEMPLATE: &str = "user:{i}";
const DEFAULT_RANGE: Range<u64> = 0..1_000_000;

/// The most keys that a template makes at once: a few gigabytes of them.
const MAX_KEYS: u64 = 100_000_000;
/// The most that it makes in batches: what takes a day.
const MAX_STREAMED: u64 = 1 << 40;

/// How many limits of lists are told one by one.
const TOLD: usize = 5;

/// What keys are read from.
pub(crate) type Input = BufReader<Box<dyn Read>>;

/// Where keys come from.
enum Source<'a> {
    Lines(&'a Path),
    Csv(&'a Path),
    Json(&'a Path),
    Dump(DumpFormat, &'a Path),
    Template(&'a str, Range<u64>),
}

impl<'a> Source<'a> {
    fn of(args: &'a KeyArgs) -> Result<Self, Failure> {
        let template = args.template.as_deref().unwrap_or(DEFAULT_TEMPLATE);
        if let Some((format, path)) = dump(args) {
            return Ok(Self::Dump(format, path));
        }
        Ok(match (&args.keys, &args.csv, &args.jsonl) {
            (Some(path), _, _) => Self::Lines(path),
            (_, Some(path), _) => Self::Csv(path),
            (_, _, Some(path)) => Self::Json(path),
            _ => Self::Template(
                template,
                args.range.as_deref().map_or(Ok(DEFAULT_RANGE), range)?,
            ),
        })
    }

    /// As it stands on the command line.
    fn named(&self) -> String {
        match self {
            Self::Lines(path) => format!("--keys {}", path.display()),
            Self::Csv(path) => format!("--csv {}", path.display()),
            Self::Json(path) => format!("--jsonl {}", path.display()),
            Self::Dump(format, path) => format!("--{format} {}", path.display()),
            Self::Template(template, _) => format!("--template '{template}'"),
        }
    }

    fn path(&self) -> Option<&'a Path> {
        match self {
            Self::Lines(path) | Self::Csv(path) | Self::Json(path) | Self::Dump(_, path) => {
                Some(path)
            }
            Self::Template(..) => None,
        }
    }

    /// How much there is to read.
    fn size(&self) -> Size {
        match self {
            Self::Template(_, range) => Size::Keys(range.end - range.start),
            _ => self
                .path()
                .map_or(Size::Unknown, |path| match fs::metadata(path) {
                    Ok(data) if data.is_file() => Size::Bytes(data.len()),
                    _ => Size::Unknown,
                }),
        }
    }

    /// The keys in batches; `wrap` is put around the input, and what a list of keys says of itself
    /// is in `list` at its end.
    fn open<'s>(
        &self,
        list: &'s OnceCell<DumpSource>,
        wrap: impl FnOnce(Box<dyn Read>) -> Box<dyn Read>,
    ) -> Result<KeySource<'s>, Failure> {
        let open = |path: &Path| {
            let input = refuse_gzip(wrap(open_raw(path)?), &self.named())?;
            Ok::<_, InputError>(input)
        };
        let source = match self {
            Self::Lines(path) => open(path).map(KeySource::lines),
            Self::Json(path) => open(path).map(KeySource::jsonl),
            Self::Csv(path) => open(path).and_then(KeySource::csv),
            Self::Dump(format, path) => open(path).map(|input| {
                // A text ends once.
                KeySource::dump(*format, input, |end| drop(list.set(end)))
            }),
            Self::Template(template, range) => {
                check_count(range, MAX_STREAMED)?;
                return KeySource::template(template, range.clone())
                    .map_err(|error| about_template(template, error));
            }
        };
        source.map_err(|error| self.wrong(&error))
    }

    /// Tell of lines that were passed over, or refuse the first.
    fn tell(&self, bad: &BadLines, strict: bool) -> Result<(), Failure> {
        let name = self.named();
        let lines = || {
            bad.first
                .iter()
                .map(|bad| format!("line {}: {}", bad.line, bad.problem))
        };
        if let Some(line) = lines().next().filter(|_| strict) {
            return Err(Failure::Input(format!("{name}: {line}")));
        }
        let more = bad.count - bad.first.len() as u64;
        let more =
            (more > 0).then(|| format!("{more} more such lines (--strict makes them an error)"));
        for line in lines().chain(more) {
            // Standard error may be closed; there is no other place to say so.
            let _ = writeln!(
                io::stderr(),
                "passed over: {}",
                printable(&format!("{name}: {line}"))
            );
        }
        Ok(())
    }

    /// Tell what a list of keys does not hold.
    fn tell_limits(&self, list: Option<&DumpSource>) {
        let limits = list.iter().flat_map(|list| &list.limits);
        limits.for_each(|limit| note(&format!("{}: {limit}", self.named())));
    }

    fn wrong(&self, error: &InputError) -> Failure {
        Failure::Input(format!("{}: {error}", self.named()))
    }

    fn empty(&self) -> Failure {
        let name = self.named();
        Failure::Input(format!("{name}: no keys, expected at least one"))
    }
}

fn note(text: &str) {
    // Standard error may be closed; there is no other place to say so.
    let _ = writeln!(io::stderr(), "note: {}", printable(text));
}

/// Tell what lists of keys do not hold that parts were counted from.
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
        note(&format!("{} more of this kind", limits.len() - TOLD));
    }
}

/// Whether an option says where keys come from.
pub(crate) fn are_given(args: &KeyArgs) -> bool {
    args.template.is_some()
        || args.range.is_some()
        || args.keys.is_some()
        || args.csv.is_some()
        || args.jsonl.is_some()
        || dump(args).is_some()
}

/// Where keys come from, as it stands on the command line, and the template with its range.
pub(crate) struct Origin {
    pub(crate) from: String,
    pub(crate) template: Option<(String, Range<u64>)>,
}

pub(crate) fn origin(args: &KeyArgs) -> Result<Origin, Failure> {
    let source = Source::of(args)?;
    let template = match &source {
        Source::Template(template, range) => Some(((*template).to_owned(), range.clone())),
        _ => None,
    };
    let from = source.named();
    Ok(Origin { from, template })
}

/// What `redis-cli` or memcached printed, if that is where keys come from.
fn dump(args: &KeyArgs) -> Option<(DumpFormat, &Path)> {
    let dump = &args.dump;
    let files = [
        (DumpFormat::BigKeys, &dump.bigkeys),
        (DumpFormat::MemKeys, &dump.memkeys),
        (DumpFormat::KeyStats, &dump.keystats),
        (DumpFormat::Scan, &dump.scan),
        (DumpFormat::Metadump, &dump.metadump),
    ];
    let mut given = files
        .into_iter()
        .filter_map(|(format, path)| Some((format, path.as_deref()?)));
    given.next()
}

/// The file that keys come from, if they do from one.
pub(crate) fn file(args: &KeyArgs) -> Result<Option<&Path>, Failure> {
    Ok(Source::of(args)?.path())
}

/// Where the keys come from, as it stands on the command line.
pub(crate) fn named(args: &KeyArgs) -> Result<String, Failure> {
    Ok(Source::of(args)?.named())
}

/// All keys, at least one.
pub(crate) fn read(args: &KeyArgs) -> Result<Keys, Failure> {
    Ok(read_all(args)?.0)
}

/// All keys, at least one, and what else was read.
pub(crate) fn read_all(args: &KeyArgs) -> Result<(Keys, Counted), Failure> {
    let source = Source::of(args)?;
    if let Source::Template(template, range) = &source {
        check_count(range, MAX_KEYS)?;
        let keys = Keys::template(template, range.clone());
        let keys = keys.map_err(|error| about_template(template, error))?;
        return Ok((keys, Counted::default()));
    }
    let mut keys = Keys::default();
    let read = stream(args, &mut |batch| Ok(keys.append(batch)?))?;
    Ok((keys, read))
}

fn check_count(range: &Range<u64>, most: u64) -> Result<(), Failure> {
    let Range { start, end } = range;
    match end - start {
        count if count <= most => Ok(()),
        count => Err(Failure::Input(format!(
            "--range {start}..{end}: {count} keys are more than this should be spent on, expected at most {most}"
        ))),
    }
}

/// All keys, at least one, in order, a batch at a time, so that they need not fit into memory.
pub(crate) fn stream(
    args: &KeyArgs,
    take: &mut dyn FnMut(&Keys) -> Result<(), Failure>,
) -> Result<Counted, Failure> {
    let source = Source::of(args)?;
    let list = OnceCell::new();
    let mut batches = source.open(&list, |input| input)?;
    let (mut none, mut bad) = (true, BadLines::default());
    while let Some(keys) = batches
        .next_keys(&mut bad)
        .map_err(|error| source.wrong(&error))?
    {
        if args.strict {
            source.tell(&bad, true)?;
        }
        none &= keys.is_empty();
        take(&keys)?;
    }
    drop(batches);
    source.tell(&bad, args.strict)?;
    let list = list.into_inner();
    source.tell_limits(list.as_ref());
    if none {
        return Err(source.empty());
    }
    Ok(Counted {
        unreadable: bad.count,
        source: list,
    })
}

/// How to count keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counting {
    /// By one thread, in their order.
    pub(crate) in_order: bool,
    /// Whether none at all is an answer too.
    pub(crate) may_be_empty: bool,
    pub(crate) quiet: bool,
}

impl Counting {
    /// Of at least one key, in order where this router needs that.
    pub(crate) fn of(router: &dyn Router, quiet: bool) -> Self {
        Self {
            in_order: router.loads().is_some(),
            may_be_empty: false,
            quiet,
        }
    }
}

/// What was read, the keys aside.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    /// How many lines were passed over.
    pub(crate) unreadable: u64,
    /// What a list of keys says of itself.
    pub(crate) source: Option<DumpSource>,
}

/// Let copies of `consumer` count all keys on every core. Memory does not grow with the keys.
pub(crate) fn count<C: Consumer>(
    args: &KeyArgs,
    consumer: &C,
    how: Counting,
) -> Result<(C, Counted), Failure> {
    let source = Source::of(args)?;
    let progress = Progress::reading(how.quiet, source.size());
    let list = OnceCell::new();
    let batches = source.open(&list, |input| progress.wrap(input))?;
    let count = |keys| progress.add_keys(keys);
    let reading = Reading::default()
        .with_threads(how.in_order.then_some(NonZero::<usize>::MIN))
        .with_strict(args.strict)
        .with_progress(&count);
    let (found, bad) =
        stream::read(batches, consumer, &reading).map_err(|error| source.wrong(&error))?;
    let none = progress.keys() == 0;
    drop(progress);
    source.tell(&bad, false)?;
    let list = list.into_inner();
    source.tell_limits(list.as_ref());
    if none && !how.may_be_empty {
        return Err(source.empty());
    }
    let counted = Counted {
        unreadable: bad.count,
        source: list,
    };
    Ok((found, counted))
}

fn about_template(template: &str, error: Error) -> Failure {
    match error {
        Error::Parameter { expected, .. } => {
            Failure::Input(format!("--template '{template}': expected {expected}"))
        }
        other => Failure::Input(format!("--template '{template}': {other}")),
    }
}

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

/// Refuse what would be counted as keys, but is compressed.
fn refuse_gzip(input: Box<dyn Read>, named: &str) -> io::Result<Box<dyn Read>> {
    let mut input = BufReader::with_capacity(1 << 16, input);
    if input.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
        let option = named.split(' ').next().unwrap_or_default();
        return Err(io::Error::other(format!(
            "it is compressed by gzip: expected plain text, as from zcat FILE | hashroute ... {option} -"
        )));
    }
    Ok(Box::new(input))
}

/// `A..B` with A below B.
fn range(text: &str) -> Result<Range<u64>, Failure> {
    let bounds = text
        .split_once("..")
        .and_then(|(start, end)| Some(start.parse().ok()?..end.parse().ok()?));
    bounds.filter(|range| range.start < range.end).ok_or_else(|| {
        Failure::Input(format!("--range {text}: expected A..B, two whole numbers, the first below the second, such as 0..1000"))
    })
}
