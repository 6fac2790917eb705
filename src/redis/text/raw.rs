//! Replies as `redis-cli` prints them into a pipe: one value on each line; in RESP3 the name and
//! the value of a pair share a line. The text does not show which list a value belongs to, but for
//! `CLUSTER SLOTS` and `CLUSTER SHARDS` the values themselves determine it.

use alloc::vec::Vec;

use super::{Protocol, Reply, wrong};
use crate::Error;

/// Reads the reply to `CLUSTER SLOTS` or `CLUSTER SHARDS`, and the lines where its parts begin.
pub(super) fn read(text: &str) -> Result<(Reply, Vec<usize>), Error> {
    let mut values = Values::of(text);
    let is_shards = text.trim_start().starts_with("slots");
    let (mut parts, mut lines) = (Vec::new(), Vec::new());
    loop {
        values.skip_blanks();
        if values.is_over() {
            return Ok((Reply::Array(parts), lines));
        }
        lines.extend(values.all.get(values.next).map(|(line, _)| *line));
        parts.push(if is_shards {
            shard(&mut values)?
        } else {
            slots(&mut values)?
        });
    }
}

fn shard(values: &mut Values<'_>) -> Result<Reply, Error> {
    values.word("slots")?;
    let mut ranges = Vec::new();
    while let Some(number) = values.number() {
        ranges.push(Reply::Integer(number));
    }
    // An empty list is printed as an empty line.
    values.skip_blanks();
    values.word("nodes")?;
    let mut nodes = Vec::new();
    while values.peek() == Some("id") {
        nodes.push(shard_node(values)?);
    }
    let pairs = [
        ("slots", Reply::Array(ranges)),
        ("nodes", Reply::Array(nodes)),
    ];
    Ok(Reply::from_pairs(pairs.into(), Protocol::Resp3))
}

/// Reads alternating names and values, from `id` to the next `id` or `slots`.
fn shard_node(values: &mut Values<'_>) -> Result<Reply, Error> {
    let mut pairs = Vec::new();
    loop {
        let name = values.take("a name")?;
        pairs.push((name, values.take("a value")?.into()));
        let ends = |value: &str| value == "id" || value == "slots" || value.trim().is_empty();
        if values.peek().is_none_or(ends) {
            return Ok(Reply::from_pairs(pairs, Protocol::Resp3));
        }
    }
}

fn slots(values: &mut Values<'_>) -> Result<Reply, Error> {
    let mut range = Vec::new();
    for _ in 0..2 {
        let number = values.number();
        range.push(number.ok_or_else(|| values.wrong("a slot"))?.into());
    }
    // The next range starts with a number where this one would have a host.
    while !values.is_over() && !values.peek().is_some_and(is_number) {
        range.push(slots_node(values)?);
    }
    Ok(Reply::Array(range))
}

/// The names of the metadata of a node in `CLUSTER SLOTS`.
const METADATA: [&str; 3] = ["ip", "hostname", "availability-zone"];

fn slots_node(values: &mut Values<'_>) -> Result<Reply, Error> {
    let host = match values.take("a host")? {
        "" => Reply::Null,
        host => host.into(),
    };
    let port = values.number();
    let port = port.ok_or_else(|| values.wrong("a port"))?;
    let id = values.take("a node id")?;
    let mut extra = Vec::new();
    while let Some(name) = values.next_if(|value| METADATA.contains(&value)) {
        extra.push((name, values.take("a value")?.into()));
    }
    if extra.is_empty() {
        values.next_if(str::is_empty);
    }
    let extra = Reply::from_pairs(extra, Protocol::Resp2);
    Ok(Reply::Array([host, port.into(), id.into(), extra].into()))
}

fn is_number(value: &str) -> bool {
    !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit())
}

/// All values, each with its line.
struct Values<'t> {
    all: Vec<(usize, &'t str)>,
    next: usize,
    /// The index from which only blank values follow.
    end: usize,
}

impl<'t> Values<'t> {
    fn of(text: &'t str) -> Self {
        let lines = text.lines().zip(1..);
        let values = lines.flat_map(|(line, at)| line.split(' ').map(move |value| (at, value)));
        let all: Vec<_> = values.collect();
        let filled = all.iter().rposition(|(_, value)| !value.trim().is_empty());
        Self {
            all,
            next: 0,
            end: filled.map_or(0, |last| last + 1),
        }
    }

    fn is_over(&self) -> bool {
        self.next >= self.end
    }

    fn peek(&self) -> Option<&'t str> {
        Some(self.all.get(self.next)?.1)
    }

    fn next_if(&mut self, wanted: impl FnOnce(&'t str) -> bool) -> Option<&'t str> {
        let value = self.peek().filter(|value| wanted(value))?;
        self.next += 1;
        Some(value)
    }

    fn skip_blanks(&mut self) {
        while self.next_if(|value| value.trim().is_empty()).is_some() {}
    }

    fn number(&mut self) -> Option<i64> {
        self.next_if(is_number)?.parse().ok()
    }

    fn take(&mut self, expected: &str) -> Result<&'t str, Error> {
        let value = self.next_if(|_| true);
        value.ok_or_else(|| self.wrong(expected))
    }

    fn word(&mut self, expected: &str) -> Result<(), Error> {
        let found = self.next_if(|value| value == expected);
        found.map(|_| ()).ok_or_else(|| self.wrong(expected))
    }

    /// Builds the error for an unexpected value, or for a text that ends too early.
    fn wrong(&self, expected: &str) -> Error {
        match self.all.get(self.next).or(self.all.last()) {
            Some((line, found)) if self.next < self.all.len() => wrong(
                *line,
                alloc::format!("expected {expected}, found {found:?}"),
            ),
            last => wrong(
                last.map_or(1, |(line, _)| *line),
                alloc::format!("expected {expected}, found the end of the text"),
            ),
        }
    }
}
