//! Options for the nodes.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use hashroute::Node;

use super::meant;

/// The largest `--count`.
pub(crate) const MAX_COUNT: u32 = 1_000_000;

/// What messages say a weight must be.
pub(crate) const WEIGHTS: &str = "a whole number from 0 to 4294967295";

#[derive(Debug, Args)]
#[command(next_help_heading = "Nodes (default: --count 10; route and explain need some)")]
pub(crate) struct NodeArgs {
    /// Names, each with an optional weight after its last '=': a,b=2,c
    #[arg(short = 'n', long, value_name = "LIST", group = "members")]
    pub(crate) nodes: Option<String>,
    /// Use N nodes of weight 1, named node-0 to node-(N-1)
    #[arg(
        short = 'c',
        long,
        value_name = "N",
        group = "members",
        allow_negative_numbers = true
    )]
    #[arg(value_parser = count)]
    pub(crate) count: Option<u32>,
    /// A file of nodes: NAME or NAME WEIGHT per line, CSV, JSON or TOML
    #[arg(short = 'F', long, value_name = "FILE", group = "members")]
    pub(crate) nodes_file: Option<PathBuf>,
    /// The configuration file of the dialect's system: its servers and options
    #[arg(long, value_name = "FILE", group = "members")]
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

/// A node on the command line, and the label that its entry gives it.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) node: Node,
    pub(crate) label: Option<String>,
}

/// Parses a list of nodes, such as `a,b=2,c` or `10.0.0.1:6379=2,label=cache-1`. Blanks around an
/// entry do not count.
pub(crate) fn list(text: &str) -> Result<Vec<Entry>, String> {
    if let Some(wrong) = meant::meant_otherwise(text) {
        return Err(wrong);
    }
    let texts: Vec<_> = text.split(',').map(str::trim).collect();
    if let [only] = texts.as_slice() {
        refuse_count(only)?;
    }
    let is_port = have_one_port(&texts);
    let mut entries: Vec<Entry> = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        let at = |reason: String| match texts.len() {
            1 => reason,
            _ => format!("entry {}: {reason}", index + 1),
        };
        match (text.strip_prefix("label="), entries.last_mut()) {
            (Some(label), Some(entry)) if !label.is_empty() && entry.label.is_none() => {
                entry.label = Some(label.into());
            }
            (Some(_), Some(_)) => {
                return Err(at("expected one label=NAME after an address".into()));
            }
            _ => entries.push(match twemproxy(text) {
                Some(entry) => entry,
                None => Entry {
                    node: entry(text, is_port).map_err(at)?,
                    label: None,
                },
            }),
        }
    }
    Ok(entries)
}

/// Reads `host:port:weight label`, as twemproxy's configuration has it.
fn twemproxy(text: &str) -> Option<Entry> {
    let (address, label) = text.split_once(' ')?;
    let (name, weight) = address.rsplit_once(':')?;
    let weight = weight.parse().ok().filter(|_| name.contains(':'))?;
    let label = label.trim();
    let is_one = !label.is_empty() && !label.contains(char::is_whitespace);
    is_one.then(|| Entry {
        node: Node::new(name).with_weight(weight),
        label: Some(label.into()),
    })
}

/// Says why a text is most likely a file of nodes, and no name. A weight makes it a name.
pub(crate) fn is_file(text: &str) -> Option<&'static str> {
    const EXTENSIONS: [&str; 8] = ["txt", "csv", "tsv", "json", "toml", "yml", "yaml", "conf"];
    let is_there = |path: &str| fs::metadata(path).is_ok_and(|data| !data.is_dir());
    let entries = || text.split(',').map(str::trim);
    if entries().all(is_there)
        && (!text.contains(',') || entries().all(|one| one.contains(['.', '/'])))
    {
        return Some("a file, not a name");
    }
    let extension = Path::new(text).extension()?.to_str()?.to_lowercase();
    let looks = !text.contains(',') && EXTENSIONS.contains(&&*extension);
    looks.then_some("this looks like a file, and there is none")
}

/// Refuses a number where a name is expected.
fn refuse_count(text: &str) -> Result<(), String> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() {
        return Err(format!(
            "a number, not a name: expected --count {text}, or {text}=1 for a node of this name"
        ));
    }
    Ok(())
}

/// Parses one node: `name` or `name=weight`.
pub(crate) fn parse(text: &str) -> Result<Node, String> {
    if text.contains(',') {
        return Err(format!(
            "\"{text}\" is a list: expected one node here (a name with a comma needs a file of nodes)"
        ));
    }
    match meant::meant_otherwise(text) {
        Some(wrong) => Err(wrong),
        None => entry(text.trim(), false),
    }
}

/// Parses `name` or `name=weight`. Without a weight, a name that most likely holds one is refused.
fn entry(text: &str, is_port: bool) -> Result<Node, String> {
    let Some((name, weight)) = text.rsplit_once('=') else {
        if let Some(wrong) = meant::entry(text) {
            return Err(wrong);
        }
        refuse_weight(text, is_port)?;
        return named(text);
    };
    // The parser of numbers takes a plus sign, which here may mean "more".
    if let (Ok(number), false) = (weight.parse(), weight.starts_with('+')) {
        return Ok(named(name)?.with_weight(number));
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
    if name.contains(char::is_whitespace) {
        return Err(format!(
            "\"{name}\" has blanks: expected names separated by commas, such as {} (a name with blanks needs a file of nodes)",
            name.split_whitespace().collect::<Vec<_>>().join(",")
        ));
    }
    Ok(Node::new(name))
}

/// Ports below 1024 that services have; other numbers that small are weights.
const LOW_PORTS: [u16; 17] = [
    22, 25, 53, 80, 81, 82, 88, 110, 143, 389, 443, 444, 465, 587, 636, 993, 995,
];

/// Refuses `name:2` and `host:port:2`, in which other tools write a weight.
fn refuse_weight(text: &str, is_port: bool) -> Result<(), String> {
    let Some((name, number)) = text.rsplit_once(':') else {
        return Ok(());
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_address = |name: &str| {
        let (host, port) = name.rsplit_once(':').unwrap_or_default();
        let is_host = !host.is_empty() && (!host.contains(':') || host.ends_with(']'));
        is_host && digits(port)
    };
    let is_host = !name.is_empty() && (!name.contains(':') || name.ends_with(']'));
    let is_small = number.parse::<u64>().is_ok_and(|number| {
        number < 1024 && LOW_PORTS.iter().all(|&port| u64::from(port) != number)
    });
    if digits(number) && (is_address(name) || is_host && is_small && !is_port) {
        return Err(format!(
            "\"{text}\" seems to end in a weight: expected {name}={number}, or {text}=1 for a node of this name"
        ));
    }
    Ok(())
}

/// Returns whether all entries end in one number, which is then no weight but a port.
fn have_one_port(texts: &[&str]) -> bool {
    let number = |text: &&str| text.rsplit_once(':').map(|(_, number)| number.to_owned());
    let numbers: Option<BTreeSet<_>> = texts.iter().map(number).collect();
    texts.len() > 1 && numbers.is_some_and(|numbers| numbers.len() == 1)
}

/// Returns decimal weights as the smallest whole numbers with the same ratios; `None` if they are no
/// decimal numbers, or if that takes numbers that are too large. Exact.
pub(crate) fn whole(weights: &[&str]) -> Option<Vec<u32>> {
    const MOST: usize = 9;
    let parts = |text: &&str| {
        let (units, decimals) = text.split_once('.').unwrap_or((text, ""));
        let decimals = decimals.trim_end_matches('0').to_owned();
        let is_number = !format!("{units}{decimals}").is_empty() && decimals.len() <= MOST;
        is_number.then(|| (units.to_owned(), decimals))
    };
    let parts: Vec<_> = weights.iter().map(parts).collect::<Option<_>>()?;
    let places = parts.iter().map(|(_, decimals)| decimals.len()).max()?;
    let scaled = |(units, decimals): &(String, String)| {
        let digits = format!("{units}{decimals:0<places$}");
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| digits.parse::<u128>().ok())?
    };
    let scaled: Vec<_> = parts.iter().map(scaled).collect::<Option<_>>()?;
    let divisor = scaled.iter().copied().fold(0, common_divisor).max(1);
    let whole = scaled
        .iter()
        .map(|weight| u32::try_from(weight / divisor).ok());
    whole.collect()
}

fn common_divisor(mut a: u128, mut b: u128) -> u128 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_weights_have_whole_numbers_of_the_same_ratios() {
        assert_eq!(whole(&["1.5", "0.25"]), Some(vec![6, 1]));
        assert_eq!(whole(&["0.1", "0.2", "0.30"]), Some(vec![1, 2, 3]));
        assert_eq!(whole(&["2", "4.0", "0"]), Some(vec![1, 2, 0]));
        assert_eq!(whole(&["0.000000001", "4"]), Some(vec![1, 4_000_000_000]));
        for wrong in [
            "",
            ".",
            "-1",
            "1e3",
            "0.0000000001",
            "4294967297",
            "1.x",
            "1.2.3",
        ] {
            assert_eq!(
                whole(&[wrong, "0.000000001"]).filter(|_| wrong != "4294967297"),
                None,
                "{wrong}"
            );
        }
    }

    #[test]
    fn numbers_after_a_colon_are_ports_or_refused() {
        let read = |text| {
            let nodes = |entries: Vec<Entry>| entries.into_iter().map(|entry| entry.node).collect();
            list(text).map(nodes)
        };
        for ports in [
            "a:80,b:443",
            "a:6379,b:6380",
            "localhost:7000,localhost:7001",
            "a:1,b:1",
            "::1,fe80::1:2",
            "[::1]:6379",
            "a:2=1,10.0.0.1:6379:2=1",
        ] {
            let nodes: Vec<Node> = read(ports).expect(ports);
            let names: Vec<_> = nodes.iter().map(Node::name).collect();
            assert_eq!(names.join(","), ports.replace("=1", ""));
        }
        for weights in [
            "a:2,b:1",
            "a,b:100",
            "c:0",
            "10.0.0.1:6379:2",
            "[::1]:6379:2,b",
        ] {
            let error = read(weights).expect_err(weights);
            assert!(
                error.contains("seems to end in a weight"),
                "{weights}: {error}"
            );
        }
    }

    #[test]
    fn lists_have_labels_and_blanks_that_do_not_count() {
        let entries = list("10.0.0.1:6379=2,label=cache-1, b").expect("a list");
        let [first, second] = &entries[..] else {
            panic!("two nodes")
        };
        assert_eq!(
            (first.node.name(), first.node.weight()),
            ("10.0.0.1:6379", 2)
        );
        assert_eq!(
            (first.label.as_deref(), second.node.name()),
            (Some("cache-1"), "b")
        );
        for wrong in [
            "",
            "a,,b",
            "a b",
            "3",
            "a,label=",
            "a,label=x,label=y",
            "label=x",
        ] {
            assert!(list(wrong).is_err(), "{wrong}");
        }
    }

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
