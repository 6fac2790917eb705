//! The keys: from a file, standard input or a template; all at once, or a batch at a time.

use core::ops::Range;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use hashroute::Error;
use hashroute::harness::{
    Dump, DumpFormat, DumpReader, DumpSource, InputError, Keys, Rows, printable,
};

use crate::args::KeyArgs;
use crate::failure::Failure;
use crate::units;

const DEFAULT_TEMPLATE: &str = "user:{i}";
const DEFAULT_RANGE: Range<u64> = 0..1_000_000;

/// The most keys that a template makes at once: a few gigabytes of them.
const MAX_KEYS: u64 = 100_000_000;
/// How many a template makes for a batch.
const BATCH: usize = 16_384;

/// What keys are read from.
pub(crate) type Input = BufReader<Box<dyn Read>>;

/// What is done with a batch of keys.
type Take<'a> = &'a mut dyn FnMut(&Keys) -> Result<(), Failure>;

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

    fn wrong(&self, error: &InputError) -> Failure {
        Failure::Input(format!("{}: {error}", self.named()))
    }

    fn empty(&self) -> Failure {
        let name = self.named();
        Failure::Input(format!("{name}: no keys, expected at least one"))
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

/// Where the keys come from, as it stands on the command line.
pub(crate) fn named(args: &KeyArgs) -> Result<String, Failure> {
    Ok(Source::of(args)?.named())
}

/// All keys, at least one.
pub(crate) fn read(args: &KeyArgs) -> Result<Keys, Failure> {
    Ok(read_with_source(args)?.0)
}

/// All keys, at least one, and what a list of them says of itself.
pub(crate) fn read_with_source(args: &KeyArgs) -> Result<(Keys, Option<DumpSource>), Failure> {
    let source = Source::of(args)?;
    let mut about = None;
    let read = |path: &Path, parse: fn(Input) -> Result<Keys, InputError>| {
        let keys = open(path).map_err(InputError::Io).and_then(parse);
        keys.map_err(|error| source.wrong(&error))
    };
    let keys = match &source {
        Source::Lines(path) => read(path, Keys::lines)?,
        Source::Csv(path) => read(path, Keys::csv)?,
        Source::Json(path) => read(path, Keys::jsonl)?,
        Source::Dump(format, path) => {
            let input = open(path).map_err(InputError::Io);
            let dump = input.and_then(|input| Keys::dump(*format, input, args.dump.strict));
            let Dump { keys, source: list } = dump.map_err(|error| source.wrong(&error))?;
            tell(&source, &list);
            about = Some(list);
            keys
        }
        Source::Template(template, range) => {
            check_count(range)?;
            from_template(template, range.clone())?
        }
    };
    if keys.is_empty() {
        return Err(source.empty());
    }
    Ok((keys, about))
}

/// Says on standard error what a list of keys does not hold, and which of its lines are bad.
fn tell(source: &Source, list: &DumpSource) {
    let name = source.named();
    for limit in &list.limits {
        eprintln!("note: {name}: {}", printable(limit));
    }
    for bad in &list.first_bad {
        eprintln!(
            "note: {name}: line {}: {}",
            bad.line,
            printable(&bad.problem)
        );
    }
    if list.bad_lines > 0 {
        let lines = units::counted(list.bad_lines, "line");
        eprintln!("note: {name}: {lines} could not be read and were passed over");
    }
}

fn check_count(range: &Range<u64>) -> Result<(), Failure> {
    let Range { start, end } = range;
    match end - start {
        0..=MAX_KEYS => Ok(()),
        count => Err(Failure::Input(format!(
            "--range {start}..{end}: {count} keys are more than memory should be spent on, expected at most {MAX_KEYS}"
        ))),
    }
}

/// All keys, at least one, a batch at a time, so that they need not fit into memory.
pub(crate) fn stream(args: &KeyArgs, take: Take) -> Result<(), Failure> {
    let source = Source::of(args)?;
    let mut none = true;
    let strict = args.dump.strict;
    stream_all(&source, strict, &mut |keys| {
        none &= keys.is_empty();
        take(keys)
    })?;
    if none { Err(source.empty()) } else { Ok(()) }
}

fn stream_all(source: &Source, strict: bool, take: Take) -> Result<(), Failure> {
    match source {
        Source::Dump(format, path) => stream_dump(*format, path, source, strict, take),
        Source::Lines(path) => stream_lines(path, source, &|lines| Keys::lines(lines), take),
        Source::Json(path) => stream_lines(path, source, &|lines| Keys::jsonl(lines), take),
        Source::Csv(path) => stream_csv(path, source, take),
        Source::Template(template, range) => {
            let mut start = range.start;
            while start < range.end {
                let end = range.end.min(start.saturating_add(BATCH as u64));
                take(&from_template(template, start..end)?)?;
                start = end;
            }
            Ok(())
        }
    }
}

fn from_template(template: &str, range: Range<u64>) -> Result<Keys, Failure> {
    Keys::template(template, range).map_err(|error| match error {
        Error::Parameter { expected, .. } => {
            Failure::Input(format!("--template '{template}': expected {expected}"))
        }
        other => Failure::Input(format!("--template '{template}': {other}")),
    })
}

fn stream_lines(
    path: &Path,
    source: &Source,
    parse: &dyn Fn(&[u8]) -> Result<Keys, InputError>,
    take: Take,
) -> Result<(), Failure> {
    let wrong = |error| source.wrong(&error);
    let mut input = open(path).map_err(InputError::Io).map_err(wrong)?;
    let mut lines = Vec::new();
    let mut before = 0;
    while next_lines(&mut input, &mut lines)
        .map_err(InputError::Io)
        .map_err(wrong)?
    {
        let keys = parse(&lines).map_err(|error| match error {
            InputError::Line { line, problem } => wrong(InputError::Line {
                line: line + before,
                problem,
            }),
            other => wrong(other),
        })?;
        take(&keys)?;
        before += keys.len() as u64;
    }
    Ok(())
}

/// The next line and those that have arrived with it; `false` at the end.
fn next_lines(input: &mut Input, lines: &mut Vec<u8>) -> io::Result<bool> {
    lines.clear();
    input.read_until(b'\n', lines)?;
    let ready = input.buffer();
    let end = ready
        .iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(0, |last| last + 1);
    lines.extend_from_slice(&ready[..end]);
    input.consume(end);
    Ok(!lines.is_empty())
}

fn stream_csv(path: &Path, source: &Source, take: Take) -> Result<(), Failure> {
    let wrong = |error| source.wrong(&error);
    let input = open(path).map_err(InputError::Io).map_err(wrong)?;
    let mut rows = Rows::new(input, &Keys::COLUMNS).map_err(wrong)?;
    loop {
        let keys = Keys::from_rows(&mut rows, BATCH).map_err(wrong)?;
        if keys.is_empty() {
            return Ok(());
        }
        take(&keys)?;
    }
}

fn stream_dump(
    format: DumpFormat,
    path: &Path,
    source: &Source,
    strict: bool,
    take: Take,
) -> Result<(), Failure> {
    let wrong = |error| source.wrong(&error);
    let mut input = open(path).map_err(InputError::Io).map_err(wrong)?;
    let mut reader = DumpReader::new(format);
    let (mut lines, mut keys) = (Vec::new(), Keys::default());
    while next_lines(&mut input, &mut lines)
        .map_err(InputError::Io)
        .map_err(wrong)?
    {
        for line in lines
            .strip_suffix(b"\n")
            .unwrap_or(&lines)
            .split(|byte| *byte == b'\n')
        {
            match reader.line(line) {
                Ok(Some(row)) => keys.push(&row.key),
                Err(error) if strict => return Err(wrong(error)),
                Ok(None) | Err(_) => {}
            }
        }
        take(&core::mem::take(&mut keys))?;
    }
    tell(source, &reader.finish());
    Ok(())
}

pub(crate) fn open(path: &Path) -> io::Result<Input> {
    let input: Box<dyn Read> = if path.as_os_str() == "-" {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(path)?)
    };
    Ok(BufReader::with_capacity(1 << 16, input))
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
