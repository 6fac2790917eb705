//! Lines of partial files.

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use xxhash_rust::xxh3::xxh3_64;

use crate::keys::{InputError, reason};

/// What kind of paper a line holds.
pub(super) struct Kind {
    /// What the first field says.
    pub(super) format: &'static str,
    /// Of the fields, and of the ids: a change of either is a new one.
    pub(super) version: u32,
    /// Which command writes it.
    pub(super) command: &'static str,
    /// What was expected where this is not found.
    pub(super) expected: &'static str,
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
    pub(super) fn write(&self, mut out: impl Write, paper: &impl Serialize) -> io::Result<()> {
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
    pub(super) fn read_all<P: DeserializeOwned, T>(
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
