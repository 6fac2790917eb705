//! A line of a partial file: its kind, its version, a checksum and a body.

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use xxhash_rust::xxh3::xxh3_64;

use crate::keys::{InputError, reason};

/// A kind of line.
pub(super) struct Kind {
    /// The value of the field `format`.
    pub(super) format: &'static str,
    /// The version of the fields and of the ids of keys. It grows when either changes, since both
    /// sides must agree on them.
    pub(super) version: u32,
    /// The command that writes it.
    pub(super) command: &'static str,
    /// What the error says was expected.
    pub(super) expected: &'static str,
}

/// A line. Unknown fields are ignored here, because a later version may add some; the version
/// decides.
#[derive(Serialize, Deserialize)]
struct Line {
    format: String,
    version: u32,
    /// The checksum of the body's text.
    #[serde(default)]
    xxh3: String,
    body: Option<Box<RawValue>>,
}

/// Returns the checksum of a body. It covers the exact text, so the body is kept unparsed
/// ([`RawValue`]) until the checksum has been compared.
fn checksum(body: &RawValue) -> String {
    format!("{:016x}", xxh3_64(body.get().as_bytes()))
}

impl Kind {
    /// Writes a body as a line.
    pub(super) fn write(&self, mut out: impl Write, body: &impl Serialize) -> io::Result<()> {
        let body = to_raw_value(body)?;
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

    /// Reads all lines of a file, and each body with `read`.
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
            let body = self.open(&line).and_then(&read);
            body.map_err(|problem| InputError::Line {
                line: number,
                problem,
            })
        })
    }

    /// Returns the body of a line. Refuses a line of another version or command, and a damaged one.
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
        let intact = body.filter(|body| checksum(body) == line.xxh3);
        let intact = intact.ok_or(
            "the checksum does not match: expected the line as it was written, found a damaged one",
        )?;
        let body = serde_json::from_str(intact.get());
        body.map_err(|error| format!("{}: expected {expected}", reason(&error)))
    }
}
