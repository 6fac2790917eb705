//! The source of keys: a file, standard input or a template, read as a whole or in batches.

use core::cell::OnceCell;
use core::num::NonZero;
use core::ops::Range;
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufRead, Read, Write};
use std::path::{Path, PathBuf};

use hashroute::{Error, Router};
use hashroute_harness::stream::{self, BadLines, Consumer, KeySource, Reading};
use hashroute_harness::{DumpFormat, DumpSource, InputError, Keys, Rows, text::printable, unpack};

use super::files;
use super::key_file::{Format, KeyFile, refuse_twice};
use crate::args::KeyArgs;
use crate::failure::{Asked, Failure};
use crate::output::note;
use crate::progress::{Progress, Size};
use crate::units;

const DEFAULT_TEMPLATE: &str = "user:{i}";
const DEFAULT_RANGE: Range<u64> = 0..1_000_000;

/// The most keys that a template makes in memory: a few gigabytes.
const MAX_KEYS: u64 = 100_000_000;
/// The most keys that a template makes in batches: about a day of work.
const MAX_STREAMED: u64 = 1 << 40;

/// The most notes about incomplete lists of keys that are printed one by one.
const TOLD: usize = 5;

/// A buffered input.
pub(crate) type Input = Box<dyn BufRead>;

/// Where keys come from. Made once from the options, then passed on.
#[derive(Clone, Debug)]
pub(crate) struct Source<'a> {
    from: Origin<'a>,
    /// Whether a line that cannot be read is an error.
    strict: bool,
    /// Whether every line of plain keys is a key, whatever the file looks like.
    raw: bool,
    /// The columns of CSV for the key, its size and its requests, as far as options name them.
    columns: [Option<&'a str>; 3],
}

#[derive(Clone, Debug)]
enum Origin<'a> {
    Files(Vec<KeyFile<'a>>),
    Template(&'a str, Range<u64>),
    /// No option, and nothing on standard input.
    MadeUp,
}

impl<'a> Source<'a> {
    /// Reads the source from the options. Without options, keys come from standard input if that
    /// is a pipe, a socket or a file; otherwise they are made up.
    pub(crate) fn of(args: &'a KeyArgs) -> Result<Self, Failure> {
        let named = |format| {
            move |path: &'a PathBuf| KeyFile {
                format,
                path,
                named: true,
            }
        };
        let lists = [
            (Format::Lines, &args.keys),
            (Format::Csv, &args.csv),
            (Format::Json, &args.jsonl),
        ];
        let lists = lists.into_iter();
        let files = lists.flat_map(|(format, list)| list.iter().map(named(format)));
        let dumps = dump(args).map(|(format, path)| KeyFile {
            format: Format::Dump(format),
            path,
            named: true,
        });
        let files: Vec<_> = files.chain(dumps).collect();
        let from = if !files.is_empty() {
            refuse_twice(&files)?;
            Origin::Files(files)
        } else if args.template.is_some() || args.range.is_some() {
            Origin::Template(
                args.template.as_deref().unwrap_or(DEFAULT_TEMPLATE),
                args.range.as_deref().map_or(Ok(DEFAULT_RANGE), range)?,
            )
        } else if files::has_input() {
            Origin::Files(vec![KeyFile {
                format: Format::Lines,
                path: Path::new("-"),
                named: false,
            }])
        } else {
            Origin::MadeUp
        };
        Ok(Self {
            from,
            strict: args.strict,
            raw: args.raw,
            columns: [&args.key_column, &args.size_column, &args.requests_column]
                .map(|name| name.as_deref()),
        })
    }

    /// Returns the template and its range, if keys come from one.
    pub(crate) fn template(&self) -> Option<(&'a str, Range<u64>)> {
        match &self.from {
            Origin::Files(_) => None,
            Origin::Template(template, range) => Some((template, range.clone())),
            Origin::MadeUp => Some((DEFAULT_TEMPLATE, DEFAULT_RANGE)),
        }
    }

    /// Returns the first and the last key, if nobody gave keys and they are made up.
    pub(crate) fn made_up(&self) -> Option<String> {
        let Range { start, end } = DEFAULT_RANGE;
        let key = |number: u64| DEFAULT_TEMPLATE.replace("{i}", &number.to_string());
        matches!(self.from, Origin::MadeUp).then(|| format!("{} to {}", key(start), key(end - 1)))
    }

    /// Notes keys that nobody gave, for pictures.
    pub(crate) fn tell_made_up(&self) {
        tell_made_up(self.made_up().as_deref());
    }

    /// Refuses keys that nobody gave.
    pub(crate) fn given(self) -> Result<Self, Failure> {
        if self.made_up().is_none() {
            return Ok(self);
        }
        let wrong = Failure::input(
            "no keys: expected --keys FILE, --csv FILE, another option for keys, or keys on standard input",
        );
        Err(wrong.with_hint(Some(format!(
            "for made-up keys, write --template '{DEFAULT_TEMPLATE}' --range {}..{}",
            DEFAULT_RANGE.start, DEFAULT_RANGE.end
        ))))
    }

    /// Returns the option and its values as they are typed, for messages.
    pub(crate) fn named(&self) -> String {
        match &self.from {
            Origin::Files(files) => {
                let mut title = files.first().map_or_else(String::new, KeyFile::title);
                for file in files.iter().skip(1) {
                    title = format!("{title} {}", file.path.display());
                }
                title
            }
            Origin::Template(template, _) => format!("--template '{template}'"),
            Origin::MadeUp => {
                let keys = self.made_up().unwrap_or_default();
                format!("a template, since none were given: {keys}")
            }
        }
    }

    fn files(&self) -> &[KeyFile<'a>] {
        match &self.from {
            Origin::Files(files) => files,
            Origin::Template(..) | Origin::MadeUp => &[],
        }
    }

    /// Reads all keys, at least one.
    pub(crate) fn read(&self) -> Result<Keys, Failure> {
        Ok(self.read_all()?.0)
    }

    /// Reads all keys, at least one, and returns what was read besides them.
    pub(crate) fn read_all(&self) -> Result<(Keys, Counted), Failure> {
        if let Some((template, range)) = self.template() {
            check_count(&range, MAX_KEYS)?;
            let keys = Keys::template(template, range);
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
        let (mut none, mut counted) = (true, Counted::default());
        for part in self.parts() {
            let list = OnceCell::new();
            let mut batches = self.open(part, &list, |input| input)?;
            let mut bad = BadLines::default();
            let wrong = |error| self.wrong(part, &error);
            while let Some(keys) = batches.next_keys(&mut bad).map_err(wrong)? {
                if self.strict {
                    self.tell(part, &bad)?;
                }
                none &= keys.is_empty();
                take(&keys)?;
            }
            drop(batches);
            self.end(part, &bad, list, &mut counted)?;
        }
        if none {
            return Err(self.empty());
        }
        Ok(counted)
    }

    /// Lets one copy of `consumer` per core count the keys, and merges them. Memory does not grow
    /// with the number of keys.
    pub(crate) fn count<C: Consumer>(
        &self,
        consumer: &C,
        how: Counting,
    ) -> Result<(C, Counted), Failure> {
        let progress = Progress::reading(how.quiet, self.size());
        let count = |keys| progress.add_keys(keys);
        let reading = Reading::default()
            .with_threads(how.in_order.then_some(NonZero::<usize>::MIN))
            .with_strict(self.strict)
            .with_progress(&count);
        let (mut all, mut counted): (Option<C>, _) = (None, Counted::default());
        for part in self.parts() {
            let list = OnceCell::new();
            let batches = self.open(part, &list, |input| progress.wrap(input))?;
            // In order, the next file continues with what the last one left; a merge would not.
            let start = all.as_ref().filter(|_| how.in_order).unwrap_or(consumer);
            let read = stream::read(batches, start, &reading);
            let (found, bad) = read.map_err(|error| self.wrong(part, &error))?;
            match &mut all {
                Some(all) if !how.in_order => all.merge(found),
                all => *all = Some(found),
            }
            self.end(part, &bad, list, &mut counted)?;
        }
        let none = progress.keys() == 0;
        drop(progress);
        if none && !how.may_be_empty {
            return Err(self.empty());
        }
        Ok((all.unwrap_or_else(|| consumer.clone()), counted))
    }

    /// Returns what is read one after the other: the files, or `None` for a template.
    fn parts(&self) -> Vec<Option<&KeyFile<'a>>> {
        match self.files() {
            [] => vec![None],
            files => files.iter().map(Some).collect(),
        }
    }

    /// Reports the end of a part.
    fn end(
        &self,
        part: Option<&KeyFile>,
        bad: &BadLines,
        list: OnceCell<DumpSource>,
        counted: &mut Counted,
    ) -> Result<(), Failure> {
        self.tell(part, bad)?;
        if bad.returns > 0 && !self.raw {
            let (ends, all) = (units::count(bad.returns), units::counted(bad.lines, "key"));
            note(&format!(
                "{}: {ends} of {all} end in a carriage return, which is part of the key: tr -d '\\r' removes it, --raw silences this note",
                self.title(part)
            ));
        }
        counted.unreadable += bad.count;
        if let Some(list) = list.into_inner() {
            let title = self.title(part);
            let limits = list.limits.iter();
            limits.for_each(|limit| note(&format!("{title}: {limit}")));
            counted.source = Some(list);
        }
        Ok(())
    }

    /// Returns how much there is to read, for the progress bar.
    fn size(&self) -> Size {
        if let Some((_, range)) = self.template() {
            return Size::Keys(range.end - range.start);
        }
        let bytes = self.files().iter().map(|file| {
            let data = fs::metadata(file.path).ok()?;
            data.is_file().then_some(data.len())
        });
        bytes
            .sum::<Option<u64>>()
            .map_or(Size::Unknown, Size::Bytes)
    }

    /// Opens a part in batches. The input goes through `wrap`. At the end of a list of keys, `list`
    /// holds what the list says about itself.
    fn open<'s>(
        &self,
        part: Option<&KeyFile>,
        list: &'s OnceCell<DumpSource>,
        wrap: impl FnOnce(Box<dyn Read>) -> Box<dyn Read>,
    ) -> Result<KeySource<'s>, Failure> {
        let Some(file) = part else {
            let (template, range) = self.template().unwrap_or((DEFAULT_TEMPLATE, DEFAULT_RANGE));
            check_count(&range, MAX_STREAMED)?;
            return KeySource::template(template, range).map_err(|error| self.refused(error));
        };
        let input = files::open(file.path).and_then(|input| unpack(wrap(input)));
        let (mut input, kind) = input.map_err(|error| file.wrong(&error.into()))?;
        if let Some(kind) = kind {
            file.check(kind, self.raw)?;
        }
        if !self.raw {
            file.check_start(&mut input)?;
        }
        let source = match file.format {
            Format::Lines => Ok(KeySource::lines(input)),
            Format::Json => Ok(KeySource::jsonl(input)),
            Format::Csv => self.rows(input),
            // The cell is empty: a text ends once.
            Format::Dump(format) => Ok(KeySource::dump(format, input, |end| drop(list.set(end)))),
        };
        source.map_err(|error| file.wrong(&error))
    }

    /// Opens CSV. If an option names a column, all others but the usual ones are ignored.
    fn rows<'s>(&self, input: Input) -> Result<KeySource<'s>, InputError> {
        if self.columns.iter().all(Option::is_none) {
            return KeySource::csv(input).map_err(|error| match error {
                InputError::Line { line, problem } => InputError::Line {
                    line,
                    problem: format!(
                        "{problem} (--key-column, --size-column and --requests-col name others)"
                    ),
                },
                other => other,
            });
        }
        let mut names = Keys::COLUMNS;
        for (name, asked) in names.iter_mut().zip(self.columns) {
            *name = asked.unwrap_or(name);
        }
        let rows = Rows::choose(input, &names)?;
        for (index, asked) in self.columns.iter().enumerate() {
            if let Some(name) = asked.filter(|_| !rows.has(index)) {
                return Err(rows.wrong(format!("no column {name:?} in the header")));
            }
        }
        Ok(KeySource::rows(rows))
    }

    /// Reports lines that were passed over, or with `--strict` refuses the first.
    fn tell(&self, part: Option<&KeyFile>, bad: &BadLines) -> Result<(), Failure> {
        let name = self.title(part);
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

    fn title(&self, part: Option<&KeyFile>) -> String {
        part.map_or_else(|| self.named(), KeyFile::title)
    }

    fn wrong(&self, part: Option<&KeyFile>, error: &InputError) -> Failure {
        Failure::Input(format!("{}: {error}", self.title(part)))
    }

    fn refused(&self, error: Error) -> Failure {
        Asked::Option(self.named()).refused(error)
    }

    fn empty(&self) -> Failure {
        let name = self.named();
        let wrong = Failure::Input(format!("{name}: no keys: expected at least one"));
        let is_input = self.files().iter().any(|file| !file.named);
        wrong.with_hint(is_input.then(|| {
            format!(
                "without options, keys come from standard input; made-up keys are --template '{DEFAULT_TEMPLATE}' --range {}..{}",
                DEFAULT_RANGE.start, DEFAULT_RANGE.end
            )
        }))
    }
}

/// Returns whether there are keys: by an option, or on standard input.
pub(crate) fn is_given(args: &KeyArgs) -> bool {
    args.is_given() || files::has_input()
}

/// Notes keys that nobody gave.
pub(crate) fn tell_made_up(keys: Option<&str>) {
    if let Some(keys) = keys {
        note(&format!("no keys given: {keys}"));
    }
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

/// Opens a file, or standard input (-), unpacked if gzip or zstd packed it.
pub(crate) fn open(path: &Path) -> io::Result<Input> {
    Ok(unpack(files::open(path)?)?.0)
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
