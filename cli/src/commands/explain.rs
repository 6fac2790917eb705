//! `explain`: every step from a key to its owner.

use std::ffi::OsString;

use clap::Args;
use hashroute::{HashTag, KeyHash, Node, NodeId, Router, Spread};
use hashroute_harness::{assign, text::printable};
use serde::Serialize;
use serde_json::Value;

use crate::app::keys;
use crate::app::nodes;
use crate::app::strategy::{Choice, replicas};
use crate::app::typed;
use crate::args::{HexKey, KeyArgs, NodeArgs, OutputArgs, ReplicaArgs, StrategyArgs, typed_keys};
use crate::failure::Failure;
use crate::key_text;
use crate::output::{Cell, Column, Report, Table};
use crate::units;

/// The default number of replicas.
const REPLICAS: u32 = 3;
/// The most nodes of weight 0 that are named.
const NAMED: usize = 10;

/// Explain every step from a key to its node: bytes, hash, point or slot, replicas
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExplainArgs {
    /// Keys to explain
    #[arg(value_name = "KEY", required_unless_present = "hex")]
    pub(crate) key: Vec<OsString>,
    /// A key in hexadecimal digits, for bytes that are no text (repeatable)
    #[arg(long, value_name = "DIGITS")]
    pub(crate) hex: Vec<HexKey>,
    #[command(flatten)]
    pub(crate) replicas: ReplicaArgs,
    #[command(flatten)]
    pub(crate) nodes: NodeArgs,
    #[command(flatten)]
    pub(crate) strategy: StrategyArgs,
    /// Keys that are already on the nodes, for strategies that keep loads
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

const EXAMPLES: &str = "\
Keys of a file or template are keys that are already on the nodes. They count for strategies that
keep loads (bounded).

Examples:
  hashroute explain --nodes a,b=2,c user:1
  hashroute explain --strategy slots --hash crc16 --hash-tag '{}' '{user1000}.following'
  hashroute explain --strategy bounded --range 0..1000 user:1 --replicas 3";

pub(crate) fn run(args: &ExplainArgs) -> Result<(), Failure> {
    typed::refuse_files(&args.key, "hashroute route --keys")?;
    let (choice, nodes) = Choice::read(&args.strategy, &args.nodes)?;
    let router = choice.build(&nodes)?;
    if !args.output.quiet {
        nodes::tell_made_up(&args.nodes, args.strategy.spec.as_deref());
    }
    if args.keys.is_given() {
        for key in &keys::Source::of(&args.keys)?.read()? {
            assign(&*router, key);
        }
    }
    let keys = typed_keys(&args.key, &args.hex)
        .map(|key| Explained::of(key, &choice, &*router, &args.replicas));
    report(&keys.collect::<Vec<_>>())?.print(args.output.format)
}

fn report(keys: &[Explained]) -> Result<Report, Failure> {
    let columns = [
        Column::text("key", ""),
        Column::text("fact", "fact"),
        Column::prose("value", "value"),
    ];
    let table = |keys: &[Explained]| {
        Table::new(columns.clone()).with_rows(keys.iter().flat_map(Explained::rows))
    };
    let report = Report::new(&keys, table(keys))?;
    Ok(keys
        .chunks(1)
        .fold(report, |report, key| report.with_table(table(key))))
}

/// The steps of a key, in order.
#[derive(Debug, Serialize)]
struct Explained {
    /// The key if it is text; otherwise `hex` has its bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hex: Option<String>,
    #[serde(skip)]
    bytes: Vec<u8>,
    /// What the system hashes of a request, if a configuration says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    key_source: Option<String>,
    /// The key to give for it, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    key_words: Option<String>,
    /// The part of the key that is hashed; for a dialect only if it is a hash tag.
    hashed: Option<Value>,
    hash: &'static str,
    /// The value of the hash function; `None` if a system does not route the key by its bytes.
    value: Option<u64>,
    value_hex: Option<String>,
    /// The number that the strategy routes by, after mixing.
    routed: Option<u64>,
    routed_hex: Option<String>,
    strategy: String,
    facts: Vec<Fact>,
    owner: Option<Node>,
    /// The name that the system gives the owner, if it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    owner_label: Option<String>,
    /// Why the key has no owner, if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    nobody: Option<&'static str>,
    runner_up: Option<Node>,
    #[serde(skip)]
    runner_up_label: Option<String>,
    replicas: Vec<String>,
    /// The same, under the name that `route` has for it.
    nodes: Vec<String>,
    /// The nodes of weight 0, which own nothing.
    drained: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Fact {
    name: &'static str,
    value: String,
}

impl Explained {
    fn of(key: &[u8], choice: &Choice, router: &dyn Router, args: &ReplicaArgs) -> Self {
        let id = router.hash_id();
        let hasher = id.hasher();
        let mixed = router.hash_key(key);
        let nodes = router.nodes();
        // In a dialect a hash may have no owner even if there are nodes with weight.
        let refused = hasher.is_none() && nodes.weighted() > 0 && router.route(key).is_none();
        let value = hasher.map_or(mixed, |hasher| Some(hasher.raw(key)));
        let [value, placed] = [value, mixed].map(|hash| hash.map(KeyHash::get));
        let hex = |hash: Option<u64>| hash.map(|hash| format!("{hash:#018x}"));
        let name = |id: NodeId| nodes.name(id).unwrap_or_default().to_owned();
        let node = |id: Option<&NodeId>| id.and_then(|&id| nodes.get(id)).cloned();
        let label = |id: Option<&NodeId>| choice.label(nodes.name(*id?)?).map(str::to_owned);
        let list = |n: u32, spread| replicas(router, key, n, spread);
        let first = list(2, Spread::Nodes);
        let drained = nodes.iter().filter(|(_, node)| node.weight() == 0);
        let text = core::str::from_utf8(key).ok();
        let replicas = list(args.replicas.unwrap_or(REPLICAS), args.spread.into());
        let replicas: Vec<_> = replicas.into_iter().map(name).collect();
        Self {
            key: text.map(str::to_owned),
            hex: text.is_none().then(|| key_text::hex(key)),
            bytes: key.to_owned(),
            key_source: choice.key_source().map(|source| source.text.to_string()),
            key_words: choice.key_source().map(|source| source.key.to_string()),
            hashed: hasher
                .map_or_else(
                    || tagged(key, choice, router),
                    |hasher| Some(hasher.part(key)),
                )
                .map(key_text::json),
            hash: hasher.map_or("the system's own", |hasher| hasher.function().name()),
            value,
            value_hex: hex(value),
            routed: placed,
            routed_hex: hex(placed),
            strategy: choice.name(),
            facts: mixed
                .map(|hash| router.explain(hash))
                .into_iter()
                .flatten()
                .map(|(name, value)| Fact { name, value })
                .collect(),
            owner: node(first.first()),
            owner_label: label(first.first()),
            nobody: first.is_empty().then_some(match (refused, mixed) {
                (true, None) => "the system does not route this key by its bytes",
                (true, Some(_)) => "the system routes this key to no node that is up",
                (false, _) => "no node has weight or room",
            }),
            runner_up: node(first.get(1)),
            runner_up_label: label(first.get(1)),
            nodes: replicas.clone(),
            replicas,
            drained: drained.map(|(_, node)| node.name().to_owned()).collect(),
        }
    }

    fn rows(&self) -> Vec<Vec<Cell>> {
        let key = key_text::shown(&self.bytes);
        let row = |(fact, value): (&str, String)| {
            [key.as_str(), fact, value.as_str()].map(Cell::text).into()
        };
        let strategy = core::iter::once(("strategy", self.strategy.clone()));
        let facts = self
            .facts
            .iter()
            .map(|fact| (fact.name, fact.value.clone()));
        let all = self
            .hashing()
            .into_iter()
            .chain(strategy)
            .chain(facts)
            .chain(self.answer());
        all.map(row).collect()
    }

    /// Returns the facts about owner, replicas and drained nodes.
    fn answer(&self) -> Vec<(&'static str, String)> {
        let nobody = || format!("nobody: {}", self.nobody.unwrap_or_default());
        let owner = described(self.owner.as_ref(), self.owner_label.as_deref());
        let mut facts = vec![("owner", owner.unwrap_or_else(nobody))];
        let runner_up = described(self.runner_up.as_ref(), self.runner_up_label.as_deref());
        facts.extend(runner_up.map(|text| ("runner-up", text)));
        if self.replicas.len() > 1 {
            facts.push(("replicas", self.replicas.join(", ")));
        }
        if !self.drained.is_empty() {
            let names = listed(&self.drained);
            facts.push(("passed over", format!("{names}: weight 0 owns nothing")));
        }
        facts
    }

    /// Returns the facts from the bytes to the number that the strategy routes by.
    fn hashing(&self) -> Vec<(&'static str, String)> {
        let bytes = units::counted(self.bytes.len() as u64, "byte");
        let key = key_text::shown(&self.bytes);
        let mut facts = vec![("key", format!("{key} ({bytes})"))];
        facts.extend(self.hex.iter().map(|hex| ("bytes", hex.clone())));
        if let (Some(source), Some(words)) = (&self.key_source, &self.key_words) {
            let text = format!("{}, {}", printable(source), printable(words));
            facts.push(("taken from", text));
        }
        facts.extend(
            self.hashed
                .as_ref()
                .map(|part| ("hashed", self.hashed_part(part))),
        );
        if let (Some(value), Some(hex)) = (self.value, &self.value_hex) {
            facts.push(("hash", format!("{hex} = {value} ({})", self.hash)));
        }
        match (self.routed, &self.routed_hex) {
            (Some(routed), Some(hex)) if self.routed != self.value => {
                facts.push(("mixed", format!("{hex} = {routed}")));
            }
            _ => {}
        }
        facts
    }

    fn hashed_part(&self, part: &Value) -> String {
        if *part == key_text::json(&self.bytes) {
            return "the whole key".into();
        }
        match part {
            Value::String(text) => format!("{}, the hash tag", printable(text)),
            other => format!("{other}, the hash tag"),
        }
    }
}

/// Returns the hash tag that a dialect hashes in place of the key. The router itself shows it: it
/// hashes the key as it hashes the tag alone.
fn tagged<'k>(key: &'k [u8], choice: &Choice, router: &dyn Router) -> Option<&'k [u8]> {
    let set = choice.params().get("hash_tag", HashTag::BRACES);
    let tag = set.ok()?.part(key);
    let alike = router.hash_key(tag).is_some() && router.hash_key(tag) == router.hash_key(key);
    (tag != key && alike).then_some(tag)
}

/// Describes a node: "a (label), weight 2, zone z1, rack r1".
fn described(node: Option<&Node>, label: Option<&str>) -> Option<String> {
    let node = node?;
    let label = label.map_or_else(String::new, |label| format!(" ({})", printable(label)));
    let part = |what: &str, name: Option<&str>| {
        name.map_or_else(String::new, |name| format!(", {what} {name}"))
    };
    let (zone, rack) = (part("zone", node.zone()), part("rack", node.rack()));
    let (name, weight) = (node.name(), node.weight());
    Some(format!("{name}{label}, weight {weight}{zone}{rack}"))
}

fn listed(names: &[String]) -> String {
    let shown = names[..names.len().min(NAMED)].join(", ");
    match names.len() - names.len().min(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
