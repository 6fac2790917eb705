//! Options for the nodes.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
use hashroute::Node;

/// The largest `--count`.
pub(crate) const MAX_COUNT: u32 = 1_000_000;

/// What messages say a weight must be.
pub(crate) const WEIGHTS: &str = "a whole number from 0 to 4294967295";

#[derive(Debug, Args)]
#[command(next_help_heading = "Nodes (default: --count 10)")]
pub(crate) struct NodeArgs {
    /// Names, each with an optional weight after its last '=': a,b=2,c
    #[arg(long, value_name = "LIST", group = "members")]
    pub(crate) nodes: Option<String>,
    /// Use N nodes of weight 1, named node-0 to node-(N-1)
    #[arg(
        long,
        value_name = "N",
        group = "members",
        allow_negative_numbers = true
    )]
    #[arg(value_parser = count)]
    pub(crate) count: Option<u32>,
    /// A file of nodes: .csv (name,weight,zone,rack), .json (array) or .toml ([[node]])
    #[arg(long, value_name = "FILE", group = "members")]
    pub(crate) nodes_file: Option<PathBuf>,
    /// The configuration file of the dialect's system: its servers and options
    #[arg(long, value_name = "FILE", group = "members", requires = "dialect")]
    pub(crate) config: Option<PathBuf>,
    /// The pool to use, if the configuration has several
    #[arg(long, value_name = "NAME", requires = "config")]
    pub(crate) pool: Option<String>,
}

/// Parses a number of nodes.
pub(super) fn count(text: &str) -> Result<u32, String> {
    let count = text
        .parse()
        .ok()
        .filter(|count| (1..=MAX_COUNT).contains(count));
    count.ok_or_else(|| format!("expected a whole number from 1 to {MAX_COUNT}"))
}

/// Distinct numbers of nodes in ascending order.
#[derive(Clone, Debug)]
pub(crate) struct Counts {
    /// The list as it was typed.
    pub(crate) text: String,
    pub(crate) numbers: Vec<usize>,
}

/// The most numbers of nodes in one run.
const MAX_COUNTS: usize = 4096;

/// Parses a list such as `8,16`, `2..=128` or `2..10,64`.
pub(crate) fn counts(text: &str) -> Result<Counts, String> {
    let wrong =
        || format!("expected numbers of nodes from 1 to {MAX_COUNT}, such as 8,16 or 2..=128");
    let number = |text: &str| text.parse().ok().filter(|n| (1..=MAX_COUNT).contains(n));
    let range = |entry: &str| match entry.split_once("..") {
        None => number(entry).map(|n| n..=n),
        Some((first, last)) => match last.strip_prefix('=') {
            Some(last) => Some(number(first)?..=number(last)?),
            None => Some(number(first)?..=number(last)? - 1),
        },
    };
    let mut counts = BTreeSet::new();
    for entry in text.split(',') {
        let range = range(entry)
            .filter(|range| !range.is_empty())
            .ok_or_else(wrong)?;
        for count in range.take(MAX_COUNTS + 1) {
            if !counts.insert(count as usize) {
                return Err(format!(
                    "{count} is there twice: expected each number of nodes once"
                ));
            }
        }
        if counts.len() > MAX_COUNTS {
            return Err(format!(
                "too many: expected at most {MAX_COUNTS} numbers of nodes"
            ));
        }
    }
    Ok(Counts {
        text: text.into(),
        numbers: counts.into_iter().collect(),
    })
}

/// Parses `name` or `name=weight`.
pub(crate) fn parse(text: &str) -> Result<Node, String> {
    let Some((name, weight)) = text.rsplit_once('=') else {
        return named(text);
    };
    if let Ok(weight) = weight.parse() {
        return Ok(named(name)?.with_weight(weight));
    }
    if weight.parse::<f64>().is_ok() {
        return Err(format!("weight \"{weight}\": expected {WEIGHTS}"));
    }
    Err(format!(
        "\"{weight}\" is no weight: expected {WEIGHTS} after the last '='; a name with '=' needs a weight, too, such as \"{text}=1\""
    ))
}

fn named(name: &str) -> Result<Node, String> {
    if name.is_empty() {
        return Err("no name: expected NAME or NAME=WEIGHT".into());
    }
    Ok(Node::new(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_counts_are_lists_and_ranges() {
        let read = |text| counts(text).map(|counts| counts.numbers);
        assert_eq!(read("16,8"), Ok(vec![8, 16]));
        assert_eq!(read("2..=4"), Ok(vec![2, 3, 4]));
        assert_eq!(read("2..4,9"), Ok(vec![2, 3, 9]));
        assert_eq!(read("1..=4096").map(|counts| counts.len()), Ok(4096));
        for wrong in [
            "", "8,16,8", "2..4,3", "0", "8,", "x", "4..=2", "2..2", "..", "1..", "..=3", "-1",
            "1..=5000", "1000001",
        ] {
            assert!(counts(wrong).is_err(), "{wrong}");
        }
    }
}
