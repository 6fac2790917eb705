//! The values of the Redis protocol that cluster commands use.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt::{self, Write};

use crate::Error;

/// A value of a reply in RESP2 or RESP3, independent of the client library.
///
/// Simple, verbatim and bulk strings are all [`Bytes`](Self::Bytes).
///
/// ```
/// use hashroute::redis::Reply;
///
/// let reply = Reply::Array(vec![0.into(), 16_383.into(), Reply::Array(vec!["10.0.0.1".into()])]);
/// assert_eq!(reply.to_string(), "1) (integer) 0\n2) (integer) 16383\n3) 1) \"10.0.0.1\"\n");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reply {
    /// No value.
    Null,
    /// A number.
    Integer(i64),
    /// A string of bytes.
    Bytes(Box<[u8]>),
    /// A list.
    Array(Vec<Reply>),
    /// Pairs of RESP3; in RESP2 they are a flat array.
    Map(Vec<(Reply, Reply)>),
}

/// The version of the protocol of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Protocol {
    /// Pairs are flat arrays.
    #[default]
    Resp2,
    /// Pairs are maps.
    Resp3,
}

impl From<i64> for Reply {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<&str> for Reply {
    fn from(text: &str) -> Self {
        Self::Bytes(text.as_bytes().into())
    }
}

impl Reply {
    /// Returns the elements of an array.
    pub(super) fn items(&self) -> Option<&[Self]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the text of a string.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Bytes(bytes) => core::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    /// Returns a number. Accepts a number as text, because some proxies send it so.
    pub(super) fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(number) => Some(*number),
            _ => self.text()?.parse().ok(),
        }
    }

    /// Returns the pairs of a map, or of a flat array of names and values.
    pub(super) fn pairs(&self) -> Option<Vec<(&str, &Self)>> {
        match self {
            Self::Map(pairs) => pairs.iter().map(|(k, v)| Some((k.text()?, v))).collect(),
            Self::Array(flat) if flat.len() % 2 == 0 => {
                let pairs = flat.chunks_exact(2);
                pairs
                    .map(|pair| Some((pair[0].text()?, &pair[1])))
                    .collect()
            }
            _ => None,
        }
    }

    /// Builds pairs in the form of this version of the protocol.
    pub(super) fn from_pairs(pairs: Vec<(&str, Self)>, protocol: Protocol) -> Self {
        let pairs = pairs.into_iter().map(|(name, value)| (name.into(), value));
        match protocol {
            Protocol::Resp3 => Self::Map(pairs.collect()),
            Protocol::Resp2 => Self::Array(pairs.flat_map(|(k, v)| [k, v]).collect()),
        }
    }

    fn is_empty_aggregate(&self) -> bool {
        match self {
            Self::Array(items) => items.is_empty(),
            Self::Map(pairs) => pairs.is_empty(),
            _ => true,
        }
    }
}

/// Writes the form of `redis-cli --no-raw`: one value on each line, with its number in its list.
impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(self, f, 0, 0)
    }
}

/// The maximum depth of nested lists, deeper than any reply of a server. Printing cuts the rest, so
/// that a deep value cannot exhaust the stack.
pub(super) const MAX_DEPTH: usize = 32;

fn print(reply: &Reply, f: &mut fmt::Formatter<'_>, indent: usize, depth: usize) -> fmt::Result {
    if depth > MAX_DEPTH {
        return f.write_str("..\n");
    }
    match reply {
        Reply::Null => f.write_str("(nil)\n"),
        Reply::Integer(number) => writeln!(f, "(integer) {number}"),
        Reply::Bytes(bytes) => {
            quote(bytes, f)?;
            f.write_char('\n')
        }
        Reply::Array(items) if items.is_empty() => f.write_str("(empty array)\n"),
        Reply::Map(pairs) if pairs.is_empty() => f.write_str("(empty hash)\n"),
        Reply::Array(items) => {
            let width = digits(items.len());
            items.iter().enumerate().try_for_each(|(i, item)| {
                let start = if i == 0 { 0 } else { indent };
                write!(f, "{:start$}{:>width$}) ", "", i + 1)?;
                print(item, f, indent + width + 2, depth + 1)
            })
        }
        Reply::Map(pairs) => print_pairs(pairs, f, indent, depth),
    }
}

fn print_pairs(
    pairs: &[(Reply, Reply)],
    f: &mut fmt::Formatter<'_>,
    indent: usize,
    depth: usize,
) -> fmt::Result {
    let width = digits(pairs.len());
    let inner = indent + width + 2;
    pairs.iter().enumerate().try_for_each(|(i, (key, value))| {
        let start = if i == 0 { 0 } else { indent };
        write!(f, "{:start$}{:>width$}# ", "", i + 1)?;
        print_key(key, f)?;
        if !value.is_empty_aggregate() {
            write!(f, "\n{:inner$}", "")?;
        }
        print(value, f, inner, depth + 1)
    })
}

/// Writes a key. Every reply of a server has scalar keys, so other keys are shortened.
fn print_key(key: &Reply, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match key {
        Reply::Null => f.write_str("(nil)")?,
        Reply::Integer(number) => write!(f, "(integer) {number}")?,
        Reply::Bytes(bytes) => quote(bytes, f)?,
        Reply::Array(_) | Reply::Map(_) => f.write_str("..")?,
    }
    f.write_str(" => ")
}

fn digits(number: usize) -> usize {
    number.checked_ilog10().map_or(1, |log| log as usize + 1)
}

fn quote(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_char('"')?;
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => write!(f, "\\{}", char::from(byte))?,
            b'\n' => f.write_str("\\n")?,
            b'\r' => f.write_str("\\r")?,
            b'\t' => f.write_str("\\t")?,
            7 => f.write_str("\\a")?,
            8 => f.write_str("\\b")?,
            b' '..=b'~' => f.write_char(byte.into())?,
            _ => write!(f, "\\x{byte:02x}")?,
        }
    }
    f.write_char('"')
}

/// Builds an error for a position in a reply.
pub(super) fn bad(at: impl Into<Box<str>>, expected: &'static str) -> Error {
    Error::Reply {
        at: at.into(),
        expected,
    }
}
