//! Replies as `redis-cli` prints them into a pipe: every value on a line of its own, and nothing
//! that tells which list it is in. For `CLUSTER SLOTS` and `CLUSTER SHARDS` the values tell.

use alloc::vec::Vec;
use core::iter::Peekable;

use super::{Protocol, Reply, wrong};
use crate::Error;

type Lines<'t> = Peekable<core::iter::Enumerate<core::str::Lines<'t>>>;

/// The reply to `CLUSTER SLOTS` or `CLUSTER SHARDS`.
pub(super) fn read(text: &str) -> Result<Reply, Error> {
    let mut lines = text.lines().enumerate().peekable();
    let mut parts = Vec::new();
    let is_shards = text.trim_start().starts_with("slots");
    loop {
        while lines.next_if(|(_, line)| line.trim().is_empty()).is_some() {}
        if lines.peek().is_none() {
            return Ok(Reply::Array(parts));
        }
        parts.push(if is_shards {
            shard(&mut lines)?
        } else {
            slots(&mut lines)?
        });
    }
}

fn shard(lines: &mut Lines<'_>) -> Result<Reply, Error> {
    word(lines, "slots")?;
    let mut ranges = Vec::new();
    while let Some(number) = next_number(lines) {
        ranges.push(Reply::Integer(number));
    }
    // An empty list is an empty line.
    while lines.next_if(|(_, line)| line.is_empty()).is_some() {}
    word(lines, "nodes")?;
    let mut nodes = Vec::new();
    while lines.peek().is_some_and(|(_, line)| *line == "id") {
        nodes.push(shard_node(lines)?);
    }
    let pairs = [
        ("slots", Reply::Array(ranges)),
        ("nodes", Reply::Array(nodes)),
    ];
    Ok(Reply::from_pairs(pairs.into(), Protocol::Resp3))
}

/// Names and values in turn, from `id` to the next `id` or `slots`.
fn shard_node(lines: &mut Lines<'_>) -> Result<Reply, Error> {
    let mut pairs = Vec::new();
    loop {
        let (_, name) = take(lines, "a name")?;
        let (_, value) = take(lines, "a value")?;
        pairs.push((name, value.into()));
        let ends = |line: &str| line == "id" || line == "slots" || line.trim().is_empty();
        if lines.peek().is_none_or(|(_, line)| ends(line)) {
            return Ok(Reply::from_pairs(pairs, Protocol::Resp3));
        }
    }
}

fn slots(lines: &mut Lines<'_>) -> Result<Reply, Error> {
    let mut range = Vec::new();
    for _ in 0..2 {
        let line = lines.peek().map_or(0, |(line, _)| line + 1);
        let number = next_number(lines).ok_or_else(|| wrong(line, "expected a slot"))?;
        range.push(Reply::Integer(number));
    }
    // A range ends where a number stands instead of a host.
    while lines.peek().is_some_and(|(_, line)| !is_number(line)) {
        if lines.clone().all(|(_, line)| line.trim().is_empty()) {
            break;
        }
        range.push(slots_node(lines)?);
    }
    Ok(Reply::Array(range))
}

fn slots_node(lines: &mut Lines<'_>) -> Result<Reply, Error> {
    let (_, host) = take(lines, "a host")?;
    let line = lines.peek().map_or(0, |(line, _)| line + 1);
    let port = next_number(lines).ok_or_else(|| wrong(line, "expected a port"))?;
    let (_, id) = take(lines, "a node id")?;
    let host = if host.is_empty() {
        Reply::Null
    } else {
        host.into()
    };
    let mut extra = Vec::new();
    while let Some((_, name)) = lines.next_if(|(_, line)| ["ip", "hostname"].contains(line)) {
        extra.push((name, take(lines, "a value")?.1.into()));
    }
    if extra.is_empty() {
        lines.next_if(|(_, line)| line.is_empty());
    }
    let extra = Reply::from_pairs(extra, Protocol::Resp2);
    Ok(Reply::Array([host, port.into(), id.into(), extra].into()))
}

fn is_number(line: &str) -> bool {
    !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit())
}

fn next_number(lines: &mut Lines<'_>) -> Option<i64> {
    lines.next_if(|(_, line)| is_number(line))?.1.parse().ok()
}

fn take<'t>(lines: &mut Lines<'t>, expected: &str) -> Result<(usize, &'t str), Error> {
    let next = lines.next();
    next.ok_or_else(|| {
        wrong(
            0,
            alloc::format!("the text ends where {expected} should stand"),
        )
    })
}

fn word(lines: &mut Lines<'_>, expected: &str) -> Result<(), Error> {
    let (line, found) = take(lines, expected)?;
    if found == expected {
        return Ok(());
    }
    Err(wrong(line + 1, alloc::format!("expected {expected}")))
}
