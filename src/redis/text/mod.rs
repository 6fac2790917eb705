//! Reads and writes the descriptions of a cluster that servers print.
//!
//! | form | read | written |
//! |---|---|---|
//! | `CLUSTER NODES`, `nodes.conf` | [`Table::from_nodes_text`] | [`Table::nodes_text`], [`Table::conf_text`] |
//! | `CLUSTER SLOTS` | [`Table::from_slots`] | [`Table::to_slots`] |
//! | `CLUSTER SHARDS` | [`Table::from_shards`] | [`Table::to_shards`] |
//! | the replies above as `redis-cli` prints them | [`Reply::from_printed`] | `Display` of [`Reply`] |
//! | any of these | [`Table::from_text`] | |

mod nodes;
mod printed;
mod quoted;
mod raw;
mod reply;
mod shards;
mod slots;

use alloc::string::String;

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
    /// a terminal or into a pipe. O(text + slots).
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
        let first = text.lines().map(str::trim).find(|line| !line.is_empty());
        let Some(first) = first else {
            return Err(wrong(
                1,
                "the text is empty: expected the output of CLUSTER NODES, SLOTS or SHARDS",
            ));
        };
        if ["1) ", "1# ", "(empty "]
            .iter()
            .any(|start| first.starts_with(start))
        {
            return Self::from_reply(&Reply::from_printed(text)?, rule);
        }
        let mut words = first.split_whitespace();
        if words.next() != Some("slots") && words.next().is_some() {
            return Self::from_nodes_text(text, rule);
        }
        Self::from_reply(&raw::read(text)?, rule)
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
