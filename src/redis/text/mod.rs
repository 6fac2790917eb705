//! Reads and writes the descriptions of a cluster that servers print.
//!
//! | form | read | written |
//! |---|---|---|
//! | `CLUSTER NODES`, `nodes.conf` | [`Table::from_nodes_text`] | [`Table::nodes_text`], [`Table::conf_text`] |
//! | `CLUSTER SLOTS` | [`Table::from_slots`] | [`Table::to_slots`] |
//! | `CLUSTER SHARDS` | [`Table::from_shards`] | [`Table::to_shards`] |
//! | the replies above as `redis-cli` prints them | [`Reply::from_printed`], [`Reply::from_json`] | `Display` of [`Reply`] |
//! | lines of `CLUSTERX SETNODES` of Apache Kvrocks | [`Table::from_nodes_text`] | [`Table::setnodes_text`] |
//! | any of these | [`Table::from_text`] | |

mod faults;
mod json;
mod nodes;
mod printed;
mod quoted;
mod raw;
mod reply;
mod setnodes;
mod shards;
mod sight;
mod slots;

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

pub use quoted::{hex, unquote};
pub use reply::{Protocol, Reply};
pub use slots::Endpoint;

use super::{SlotRule, Table};
use crate::{Error, Limit};

impl Table {
    /// The maximum size of a text in bytes: enough for 65,536 nodes.
    pub const MAX_TEXT: usize = 64 << 20;

    /// Reads a description of a cluster in any known form: the text of `CLUSTER NODES` or
    /// `nodes.conf`, or the reply to `CLUSTER SHARDS` or `CLUSTER SLOTS` as `redis-cli` prints it to
    /// a terminal, into a pipe or as JSON. Prompts and commands that were copied along are passed
    /// over. O(text + slots).
    ///
    /// An error of a server and other reports of `redis-cli` are refused by name.
    ///
    /// # Errors
    ///
    /// [`Error::Config`] with the line, [`Error::Reply`] with the position in the reply;
    /// [`Error::Capacity`] beyond [`MAX_TEXT`](Self::MAX_TEXT) or
    /// [`MAX_NODES`](Self::MAX_NODES).
    ///
    /// ```
    /// use hashroute::redis::{SlotRule, Table};
    ///
    /// let nodes = Table::from_text("07c3 10.0.0.1:6379@16379 master - 0 0 1 connected 0-16383", SlotRule::REDIS)?;
    /// let slots = Table::from_text("0\n16383\n10.0.0.1\n6379\n07c3\n\n", SlotRule::REDIS)?;
    /// assert_eq!(nodes.ranges("07c3"), slots.ranges("07c3"));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn from_text(text: &str, rule: SlotRule) -> Result<Self, Error> {
        check_size(text)?;
        let text = &*without_prompts(text);
        let lines = text.lines().map(str::trim).zip(1..);
        let Some((first, at)) = lines.into_iter().find(|(line, _)| !line.is_empty()) else {
            return Err(wrong(
                1,
                "the text is empty: expected the output of CLUSTER NODES, SLOTS or SHARDS",
            ));
        };
        if let Some(what) = sight::known(first) {
            return Err(wrong(at, what));
        }
        if first.starts_with('"') {
            return Self::from_quoted(text, rule);
        }
        if first.starts_with(['[', '{']) {
            let (reply, lines) = json::read(text)?;
            return Self::from_reply(&reply, rule).map_err(|error| located(error, &lines));
        }
        if ["1) ", "1# ", "(empty "]
            .iter()
            .any(|start| first.starts_with(start))
        {
            let reply = Reply::from_printed(text)?;
            let lines = printed::starts(text);
            return Self::from_reply(&reply, rule).map_err(|error| located(error, &lines));
        }
        let mut words = first.split_whitespace();
        let (word, next) = (words.next().unwrap_or_default(), words.next());
        let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
        if word != "slots" && next.is_some_and(|next| !is_number(word) || !is_number(next)) {
            return Self::from_nodes_text(&unfolded(text), rule);
        }
        let (reply, lines) = raw::read(text)?;
        Self::from_reply(&reply, rule).map_err(|error| located(error, &lines))
    }

    /// Reads a text in double quotes, as `redis-cli --json cluster nodes` and `--no-raw` print it.
    fn from_quoted(text: &str, rule: SlotRule) -> Result<Self, Error> {
        let inner = match Reply::from_json(text) {
            Ok(reply) => reply.text().map(String::from),
            Err(_) => unquote(text.trim().as_bytes()).and_then(|text| String::from_utf8(text).ok()),
        };
        match inner {
            Some(inner) if !inner.trim_start().starts_with('"') => Self::from_text(&inner, rule),
            _ => Err(wrong(1, "expected the end of a text in double quotes")),
        }
    }

    /// Builds a table from either reply: `CLUSTER SLOTS` starts with a number, `CLUSTER SHARDS` with
    /// a word.
    fn from_reply(reply: &Reply, rule: SlotRule) -> Result<Self, Error> {
        let first = reply.items().and_then(<[Reply]>::first);
        let is_slots = first
            .and_then(Reply::items)
            .and_then(<[Reply]>::first)
            .is_some_and(|start| matches!(start, Reply::Integer(_)));
        if is_slots {
            Self::from_slots(reply, rule, None)
        } else {
            Self::from_shards(reply, rule)
        }
    }
}

/// Blanks prompts, commands and warnings that were copied along with an answer.
fn without_prompts(text: &str) -> Cow<'_, str> {
    if !text.lines().any(sight::is_beside) {
        return text.into();
    }
    let lines = text
        .lines()
        .map(|line| if sight::is_beside(line) { "" } else { line });
    lines.collect::<Vec<_>>().join("\n").into()
}

/// Gives each node of `CLUSTER NODES` a line, if a shell joined all lines to one. The command of
/// Kvrocks that takes such lines in quotes is left out.
fn unfolded(text: &str) -> Cow<'_, str> {
    let start = text.trim_start();
    if start
        .get(..17)
        .is_some_and(|word| word.eq_ignore_ascii_case("clusterx setnodes"))
    {
        let inside = start[17..].trim_start().trim_start_matches('"');
        return inside.split('"').next().unwrap_or_default().into();
    }
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let (Some(line), None) = (lines.next(), lines.next()) else {
        return text.into();
    };
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_node = |at: usize| {
        let roles = [
            "master",
            "slave",
            "myself",
            "noaddr",
            "handshake",
            "noflags",
        ];
        let flags = words.get(at + 2).is_some_and(|word| {
            let mut flags = word.split(',');
            flags.any(|flag| roles.contains(&flag))
        });
        flags && words.get(at + 1).is_some_and(|word| word.contains(':'))
    };
    if (0..words.len()).filter(|at| is_node(*at)).count() < 2 {
        return text.into();
    }
    let mut unfolded = String::with_capacity(line.len());
    for (at, word) in words.iter().enumerate() {
        if at > 0 {
            unfolded.push(if is_node(at) { '\n' } else { ' ' });
        }
        unfolded.push_str(word);
    }
    unfolded.into()
}

/// Gives an error about an entry of a reply the line where the entry begins.
fn located(error: Error, lines: &[usize]) -> Error {
    let Error::Reply { at, expected } = &error else {
        return error;
    };
    let index = at
        .strip_prefix('[')
        .and_then(|rest| rest.split(']').next()?.parse().ok());
    let line = lines.get(index.unwrap_or(0_usize)).or(lines.first());
    let place = if at.is_empty() { "the reply" } else { at };
    let reason = alloc::format!("{place}: expected {expected}");
    wrong(line.copied().unwrap_or(1), reason)
}

fn check_size(text: &str) -> Result<(), Error> {
    if text.len() <= Table::MAX_TEXT {
        return Ok(());
    }
    Err(Error::Capacity {
        what: Limit::TextBytes,
        wanted: text.len() as u64,
        limit: Table::MAX_TEXT as u64,
        advice: "give the output of one server",
    })
}

/// Builds an error for a line, counted from 1.
fn wrong(line: usize, reason: impl Into<String>) -> Error {
    Error::Config {
        line,
        reason: reason.into(),
    }
}
