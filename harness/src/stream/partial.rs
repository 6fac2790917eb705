//! Tallies on paper: JSON, one a line, so that they can be written by many and merged by one.

use std::boxed::Box;
use std::format;
use std::io::{self, Read, Write};
use std::string::String;
use std::vec::Vec;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use xxhash_rust::xxh3::xxh3_64;

use super::census::{Amounts, Census, Id, MEASURES, Row, id};
use super::sketch::{MOST, ROWS, Sketch, WIDTH};
use super::tally::{KEYS, TEMPLATES};
use super::{CountSetup, Tally};
use crate::keys::reason;
use crate::{DumpSource, InputError};
use hashroute::{Node, Nodes};

/// Counts.
const KIND: Kind = Kind {
    format: "hashroute counts",
    version: 1,
    command: "balance",
    expected: "counts that `hashroute balance --partial` wrote (those of `skew` are for `hashroute skew --parts`)",
};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Paper {
    setup: CountSetup,
    keys: u64,
    unreadable: u64,
    sources: Vec<DumpSource>,
    /// Whether sizes and requests are known.
    known: [bool; 2],
    loads: [Vec<u64>; MEASURES],
    totals: [u128; MEASURES],
    census: CensusPaper,
    templates: CensusPaper,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CensusPaper {
    /// In order of their ids.
    rows: Vec<RowPaper>,
    sketch: Option<SketchPaper>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SketchPaper {
    cells: [Vec<u64>; MEASURES],
    candidates: Vec<KeyPaper>,
}

/// A key, and what it carries without the zeros at the end.
#[derive(Serialize, Deserialize)]
pub(crate) struct RowPaper(KeyPaper, Vec<u64>);

/// As in JSON lines of keys: text, or bytes that are none.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum KeyPaper {
    Text(String),
    Bytes { hex: String },
}

impl KeyPaper {
    fn of(key: &[u8]) -> Self {
        if let Ok(text) = core::str::from_utf8(key) {
            return Self::Text(text.into());
        }
        let digit = |digit: u8| char::from_digit(digit.into(), 16).unwrap_or('0');
        let digits = key.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        Self::Bytes {
            hex: digits.map(digit).collect(),
        }
    }

    fn read(self) -> Result<Box<[u8]>, String> {
        match self {
            Self::Text(text) => Ok(text.into_bytes().into()),
            Self::Bytes { hex } => crate::keys::bytes_of_hex(&hex)
                .map(Into::into)
                .ok_or_else(|| format!("hex {hex:?}: expected two digits a byte")),
        }
    }
}

impl RowPaper {
    pub(crate) fn of(key: &[u8], amounts: Amounts) -> Self {
        let last = amounts.iter().rposition(|&amount| amount > 0);
        let some = last.map_or(0, |last| last + 1);
        Self(KeyPaper::of(key), amounts[..some].to_vec())
    }

    pub(crate) fn read(self) -> Result<(Box<[u8]>, Amounts), String> {
        let Self(key, some) = self;
        let mut amounts = [0; MEASURES];
        let Some(known) = amounts.get_mut(..some.len()) else {
            return Err(format!(
                "{} amounts of a key: expected keys, bytes, requests",
                some.len()
            ));
        };
        known.copy_from_slice(&some);
        Ok((key.read()?, amounts))
    }
}

/// What kind of paper a line holds.
pub(crate) struct Kind {
    /// What the first field says.
    pub(crate) format: &'static str,
    /// Of the fields, and of the ids: a change of either is a new one.
    pub(crate) version: u32,
    /// Which command writes it.
    pub(crate) command: &'static str,
    /// What was expected where this is not found.
    pub(crate) expected: &'static str,
}

/// A line. Fields beyond these are those of other versions.
#[derive(Serialize, Deserialize)]
struct Line {
    format: String,
    version: u32,
    /// The checksum of the body's text.
    #[serde(default)]
    xxh3: String,
    body: Option<Box<RawValue>>,
}

fn checksum(body: &RawValue) -> String {
    format!("{:016x}", xxh3_64(body.get().as_bytes()))
}

impl Kind {
    /// Write a paper as a line.
    pub(crate) fn write(&self, mut out: impl Write, paper: &impl Serialize) -> io::Result<()> {
        let body = to_raw_value(paper)?;
        let line = Line {
            format: self.format.into(),
            version: self.version,
            xxh3: checksum(&body),
            body: Some(body),
        };
        serde_json::to_writer(&mut out, &line)?;
        out.write_all(b"\n")?;
        out.flush()
    }

    /// Read all papers that were written one after the other.
    pub(crate) fn read_all<P: DeserializeOwned, T>(
        &'static self,
        input: impl Read,
        read: impl Fn(P) -> Result<T, String>,
    ) -> impl Iterator<Item = Result<T, InputError>> {
        let lines = serde_json::Deserializer::from_reader(io::BufReader::new(input)).into_iter();
        lines.zip(1..).map(move |(line, number): (_, u64)| {
            let line: Line = line.map_err(|error| InputError::Line {
                line: error.line() as u64,
                problem: format!("{}: expected {}", reason(&error), self.expected),
            })?;
            let paper = self.open(&line).and_then(&read);
            paper.map_err(|problem| InputError::Line {
                line: number,
                problem,
            })
        })
    }

    /// What a line holds, unless another version wrote it, another command, or it was damaged.
    fn open<P: DeserializeOwned>(&self, line: &Line) -> Result<P, String> {
        let Self {
            format,
            version,
            command,
            expected,
        } = self;
        if line.format != *format || line.version != *version {
            return Err(format!(
                "{:?} version {}: expected {format:?} version {version}, {expected}; this \
                 `hashroute {command} --partial` writes it",
                line.format, line.version
            ));
        }
        let body = line.body.as_ref();
        let whole = body.filter(|body| checksum(body) == line.xxh3);
        let whole = whole.ok_or(
            "the checksum is that of another text: it was damaged, expected what was written",
        )?;
        let paper = serde_json::from_str(whole.get());
        paper.map_err(|error| format!("{}: expected {expected}", reason(&error)))
    }
}

/// Refuse nodes out of order, and lists that are not of as many.
pub(crate) fn check_nodes(
    nodes: &[Node],
    mut lists: impl Iterator<Item = usize>,
) -> Result<(), String> {
    let sorted = nodes.windows(2).all(|pair| pair[0].name() < pair[1].name());
    if !sorted || Nodes::new(nodes.iter().cloned()).is_err() {
        return Err("the nodes are not in order, each with a name of its own".into());
    }
    if lists.any(|len| len != nodes.len()) {
        let count = nodes.len();
        return Err(format!(
            "not every list has a figure for each of {count} nodes"
        ));
    }
    Ok(())
}

impl Tally {
    /// Write all counts as one line of JSON that says what it is, its version and the set-up.
    /// Some 3 MB for 65,536 keys or more, and 1 to 2 MB more for each measure beyond.
    ///
    /// # Errors
    /// Those of `out`; sums of 2^64 or more, which no file holds. Nothing is written then.
    ///
    /// ```
    /// use hashroute_harness::{Keys, stream::{Consumer, Counter, Tally}};
    /// use hashroute::{Node, Ring};
    ///
    /// let ring = Ring::new([Node::new("a")])?;
    /// let mut counter = Counter::new("ring", &ring)?;
    /// counter.add(&Keys::template("user:{i}", 0..1000)?);
    /// let (tally, mut file) = (counter.into_tally(), Vec::new());
    /// tally.write(&mut file)?;
    /// let read = Tally::read_all(&file[..]).next().expect("one")?;
    /// assert_eq!(read.balance()?, tally.balance()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write(&self, out: impl Write) -> io::Result<()> {
        self.check_sums().map_err(io::Error::other)?;
        let paper = Paper {
            setup: self.setup.clone(),
            keys: self.keys,
            unreadable: self.unreadable,
            sources: self.sources.clone(),
            known: self.known,
            loads: self.loads.clone(),
            totals: self.totals,
            census: CensusPaper::of(&self.census),
            templates: CensusPaper::of(&self.templates),
        };
        KIND.write(out, &paper)
    }

    /// Read all tallies that were written one after the other.
    ///
    /// Each item is an error where one cannot be read, was written by another version, or
    /// contradicts itself; it ends there.
    pub fn read_all(input: impl Read) -> impl Iterator<Item = Result<Self, InputError>> {
        KIND.read_all(input, Paper::read)
    }
}

impl CensusPaper {
    fn of(census: &Census) -> Self {
        let rows = census.in_order().into_iter();
        Self {
            rows: rows
                .map(|(key, amounts)| RowPaper::of(key, amounts))
                .collect(),
            sketch: census.sketch.as_deref().map(SketchPaper::of),
        }
    }

    /// `held`: what all keys carry together.
    fn read(self, capacity: usize, held: &[u128; MEASURES]) -> Result<Census, String> {
        let count = self.rows.len();
        if count > capacity {
            return Err(format!("{count} rows of keys: expected at most {capacity}"));
        }
        let mut sums = [0; MEASURES];
        let mut rows = Vec::with_capacity(count);
        for row in self.rows {
            let (key, amounts) = row.read()?;
            add(&mut sums, amounts);
            rows.push(Row { key, amounts });
        }
        let sketch = self.sketch.map(|sketch| sketch.read(id)).transpose()?;
        let sums = sketch
            .as_ref()
            .map_or(sums, |sketch| sketch.totals.map(u128::from));
        if sums != *held {
            return Err("what the keys carry is not what the nodes hold".into());
        }
        let census = Census::from_parts(capacity, rows, sketch);
        if census.rows.len() < count {
            return Err("a key is there twice".into());
        }
        Ok(census)
    }
}

impl SketchPaper {
    pub(crate) fn of(sketch: &Sketch) -> Self {
        let mut candidates: Vec<_> = sketch.candidates.iter().collect();
        candidates.sort_unstable_by_key(|(id, _)| **id);
        let keys = candidates.into_iter().map(|(_, key)| KeyPaper::of(key));
        Self {
            cells: sketch.cells.clone(),
            candidates: keys.collect(),
        }
    }

    /// `id`: what a key is told apart by.
    pub(crate) fn read(self, id: fn(&[u8]) -> Id) -> Result<Sketch, String> {
        let mut sketch = Sketch::new();
        for (measure, cells) in self.cells.into_iter().enumerate() {
            if !cells.is_empty() && cells.len() != ROWS * WIDTH {
                return Err(format!(
                    "{} cells: expected {} or none",
                    cells.len(),
                    ROWS * WIDTH
                ));
            }
            let mut sums = cells
                .chunks(WIDTH)
                .map(|row| row.iter().copied().fold(0, u64::saturating_add));
            sketch.totals[measure] = sums.next().unwrap_or(0);
            if sums.any(|sum| sum != sketch.totals[measure]) {
                return Err("the rows of cells do not add up to the same".into());
            }
            sketch.cells[measure] = cells;
        }
        if self.candidates.len() > MOST {
            return Err(format!(
                "{} candidates: expected at most {MOST}",
                self.candidates.len()
            ));
        }
        for key in self.candidates {
            let key = key.read()?;
            sketch.keep(id(&key), &key);
        }
        Ok(sketch)
    }
}

fn add(sums: &mut [u128; MEASURES], amounts: Amounts) {
    for (sum, amount) in sums.iter_mut().zip(amounts) {
        *sum += u128::from(amount);
    }
}

impl Paper {
    fn read(self) -> Result<Tally, String> {
        let shares = self.setup.shares.iter();
        let lists = shares.map(Vec::len).chain(self.loads.iter().map(Vec::len));
        check_nodes(&self.setup.nodes, lists)?;
        let mut held = [0; MEASURES];
        for (sum, loads) in held.iter_mut().zip(&self.loads) {
            *sum = loads.iter().copied().map(u128::from).sum();
        }
        let beyond = held
            .iter()
            .zip(&self.totals)
            .any(|(held, total)| held > total);
        if beyond || self.totals[0] != u128::from(self.keys) {
            return Err("the nodes hold more than there is".into());
        }
        Ok(Tally {
            census: self.census.read(KEYS, &held)?,
            templates: self.templates.read(TEMPLATES, &held)?,
            setup: self.setup,
            keys: self.keys,
            unreadable: self.unreadable,
            sources: self.sources,
            known: self.known,
            loads: self.loads,
            totals: self.totals,
        })
    }
}
