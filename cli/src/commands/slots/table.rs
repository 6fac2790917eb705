//! Names of nodes and ranges of slots in a table.

use hashroute::redis::{Address, ClusterNode, SlotRange, Table};
use serde_json::{Value, json};

pub(super) use crate::app::slot_table::read;
use crate::output::Cell;
use crate::units;

/// The fewest characters of an id that may stand for it.
const SHORT: usize = 4;
/// The characters of an id that people see, unless two nodes share them.
const SHOWN: usize = 8;
/// The most ranges of a node that people see.
const RANGES: usize = 8;

/// Finds the node of an id, the start of an id, or an address.
pub(crate) fn find<'t>(table: &'t Table, word: &str) -> Result<Option<&'t ClusterNode>, String> {
    if let Some(node) = table.node(word) {
        return Ok(Some(node));
    }
    let starts = |node: &&ClusterNode| word.len() >= SHORT && node.id().starts_with(word);
    let address = word.parse::<Address>().ok();
    let is_there = |node: &&ClusterNode| address.as_ref().is_some_and(|there| is_at(node, there));
    let mut found = table
        .nodes()
        .iter()
        .filter(|node| starts(node) || is_there(node));
    match (found.next(), found.next()) {
        (Some(one), Some(other)) => Err(format!(
            "\"{word}\" is both {} and {}: expected more of the id",
            one.id(),
            other.id()
        )),
        (found, _) => Ok(found),
    }
}

/// Returns whether a node has this address, with its host or with the hostname it announces.
pub(crate) fn is_at(node: &ClusterNode, there: &Address) -> bool {
    let is_named = node.hostname() == Some(there.host());
    node.address() == there || is_named && node.address().port() == there.port()
}

/// The characters of a random id.
const LONG: usize = 40;

/// Returns the id without the address that tells replicas of one id apart.
fn bare(id: &str) -> &str {
    id.split_once('@').map_or(id, |(bare, _)| bare)
}

/// Short names of nodes for people.
pub(crate) struct Names(usize);

impl Names {
    /// Takes as many characters of the ids as are needed to distinguish the nodes.
    pub(crate) fn of(table: &Table) -> Self {
        let nodes = table.nodes();
        // The nodes are sorted by id, so neighbours share the longest prefixes.
        let shared = nodes.windows(2).map(|pair| {
            let pairs = bare(pair[0].id()).chars().zip(bare(pair[1].id()).chars());
            let shared = pairs.take_while(|(a, b)| a == b).count();
            // Replicas that share an id differ by their addresses, which stand beside it.
            if shared < LONG { shared + 1 } else { 0 }
        });
        Self(shared.max().unwrap_or(0).max(SHOWN))
    }

    /// Shortens an id.
    pub(crate) fn short(&self, id: &str) -> String {
        // Only random ids are shortened; any other id is a name.
        if bare(id).len() == LONG {
            bare(id).chars().take(self.0).collect()
        } else {
            id.to_owned()
        }
    }

    /// Returns the address, or the id if there is no address.
    pub(crate) fn endpoint(&self, node: &ClusterNode) -> String {
        if node.address().is_known() {
            node.address().to_string()
        } else {
            self.short(node.id())
        }
    }

    /// Makes a cell with the id for programs and the short id for people.
    pub(crate) fn cell(&self, id: &str) -> Cell {
        Cell::new(id, self.short(id))
    }
}

/// Formats a range: "0-5460", or "7" for one slot.
fn range_text(range: &SlotRange) -> String {
    if range.start() == range.end() {
        range.start().to_string()
    } else {
        format!("{}-{}", range.start(), range.end())
    }
}

/// Formats the first ranges, and the number of the others.
pub(crate) fn ranges_shown(ranges: &[SlotRange]) -> String {
    let shown = ranges.iter().take(RANGES).map(range_text);
    let mut words: Vec<_> = shown.collect();
    if ranges.len() > RANGES {
        let more = ranges.len() - RANGES;
        words.push(format!("and {} more", units::count(more as u64)));
    }
    if words.is_empty() {
        "-".into()
    } else {
        words.join(" ")
    }
}

/// Makes a cell of all ranges for programs and the first for people.
pub(crate) fn ranges_cell(ranges: &[SlotRange]) -> Cell {
    let all: Vec<_> = ranges.iter().map(range_text).collect();
    Cell::new(all.join(" "), ranges_shown(ranges))
}

/// Returns ranges as JSON: `[[0, 5460], [7, 7]]`.
pub(crate) fn ranges_json(ranges: &[SlotRange]) -> Value {
    let pairs = ranges
        .iter()
        .map(|range| json!([range.start(), range.end()]));
    pairs.collect()
}

/// Returns the number of slots in the ranges.
pub(crate) fn width(ranges: &[SlotRange]) -> u64 {
    let widths = ranges
        .iter()
        .map(|range| u64::from(range.end() - range.start()) + 1);
    widths.sum()
}

/// Joins ascending slots into ranges.
pub(crate) fn runs(slots: impl IntoIterator<Item = u32>) -> Vec<SlotRange> {
    let mut ranges: Vec<SlotRange> = Vec::new();
    for slot in slots {
        match ranges.last_mut() {
            Some(last) if last.end() + 1 == slot => *last = *last.start()..=slot,
            _ => ranges.push(slot..=slot),
        }
    }
    ranges
}
