//! The nodes, read from a list, a count or a file.

use core::fmt;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use hashroute::Node;
use hashroute_harness::{InputError, Rows};
use serde::de::{self, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::error::Category;

use super::nearest;
use crate::args::{NodeArgs, WEIGHTS, parse_node};
use crate::failure::Failure;

const DEFAULT_COUNT: u32 = 10;
const EACH_NAMED: &str = "expected a name for each node";
const COLUMNS: [&str; 4] = ["name", "weight", "zone", "rack"];

/// Returns the nodes that the options ask for, in order; ten nodes by default.
pub(crate) fn read(args: &NodeArgs) -> Result<Vec<Node>, Failure> {
    if let Some(list) = &args.nodes {
        from_list(list, "--nodes")
    } else if let Some(path) = &args.nodes_file {
        from_file(path, "--nodes-file")
    } else {
        Ok(counted(args.count.unwrap_or(DEFAULT_COUNT) as usize))
    }
}

/// Returns `count` nodes named `node-0`, `node-1` and so on.
pub(crate) fn counted(count: usize) -> Vec<Node> {
    (0..count).map(|i| Node::new(format!("node-{i}"))).collect()
}

/// Reads the nodes of a list. Errors name `option`.
pub(crate) fn from_list(list: &str, option: &str) -> Result<Vec<Node>, Failure> {
    if list.is_empty() {
        return Err(Failure::Input(format!(
            "{option} '': no nodes: expected names, such as a,b=2,c"
        )));
    }
    let node = |(index, text)| {
        parse_node(text).map_err(|reason| format!("{option}, entry {}: {reason}", index + 1))
    };
    let nodes: Vec<_> = list
        .split(',')
        .enumerate()
        .map(node)
        .collect::<Result<_, _>>()
        .map_err(Failure::Input)?;
    distinct(&nodes).map_err(|reason| Failure::Input(format!("{option}: {reason}")))?;
    Ok(nodes)
}

/// Reads the nodes of a file whose extension tells the format. Errors name `option`.
pub(crate) fn from_file(path: &Path, option: &str) -> Result<Vec<Node>, Failure> {
    parse_file(path)
        .map_err(|Wrong { told, hint }| Failure::file(option, path, told).with_hint(hint))
}

/// What is wrong with a file, and what to try next.
struct Wrong {
    told: String,
    hint: Option<String>,
}

impl Wrong {
    /// Makes the error of a parser for a line.
    fn line(line: usize, message: &str) -> Self {
        let told = match message.rsplit_once(", expected ") {
            Some((wrong, expected)) => format!("{wrong}: expected {expected}"),
            None if message == "missing field `name`" => format!("no name: {EACH_NAMED}"),
            None => message.to_owned(),
        };
        Self {
            told: format!("line {line}: {told}"),
            hint: nearest::field_hint(message),
        }
    }
}

impl From<String> for Wrong {
    fn from(told: String) -> Self {
        Self { told, hint: None }
    }
}

impl From<&str> for Wrong {
    fn from(told: &str) -> Self {
        told.to_owned().into()
    }
}

fn parse_file(path: &Path) -> Result<Vec<Node>, Wrong> {
    let extension = path
        .extension()
        .unwrap_or_default()
        .to_string_lossy()
        .to_lowercase();
    let parse = match extension.as_str() {
        "csv" => from_csv,
        "json" => from_json,
        "toml" => from_toml,
        "" => return Err("no extension: expected .csv, .json or .toml".into()),
        other => {
            let told = format!("unknown extension .{other}: expected .csv, .json or .toml");
            return Err(told.into());
        }
    };
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    let text = text(&bytes)?;
    let nodes = parse(text.trim_start_matches('\u{feff}'))?;
    if nodes.is_empty() {
        return Err("no nodes: expected at least one".into());
    }
    distinct(&nodes)?;
    Ok(nodes)
}

fn text(bytes: &[u8]) -> Result<&str, String> {
    core::str::from_utf8(bytes).map_err(|error| {
        let lines = bytes[..error.valid_up_to()].split(|&byte| byte == b'\n');
        format!("line {} is not UTF-8: names are text", lines.count())
    })
}

fn from_csv(text: &str) -> Result<Vec<Node>, Wrong> {
    let read = || {
        let mut rows = Rows::new(text.as_bytes(), &COLUMNS)?;
        let mut nodes = Vec::new();
        while rows.advance()? {
            nodes.push(csv_node(&rows).map_err(|problem| rows.wrong(problem))?);
        }
        Ok(nodes)
    };
    read().map_err(|error: InputError| error.to_string().into())
}

fn csv_node(row: &Rows<&[u8]>) -> Result<Node, String> {
    let field = |column| {
        let text = core::str::from_utf8(row.field(column)?).ok()?.trim();
        (!text.is_empty()).then_some(text)
    };
    let name = field(0).ok_or_else(|| format!("no name: {EACH_NAMED}"))?;
    let weight = match field(1) {
        None => 1,
        Some(text) => text
            .parse::<u32>()
            .map_err(|_| format!("weight \"{text}\": expected {WEIGHTS}"))?,
    };
    let row = Row {
        name: name.into(),
        weight: Weight(weight),
        zone: field(2).map(Into::into),
        rack: field(3).map(Into::into),
    };
    Ok(row.into())
}

/// A node in a file. Parsers put the words of `expecting` into their messages.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "objects with a name")]
struct Row {
    name: String,
    #[serde(default)]
    weight: Weight,
    zone: Option<String>,
    rack: Option<String>,
}

impl From<Row> for Node {
    fn from(row: Row) -> Self {
        let node = Self::new(row.name).with_weight(row.weight.0);
        match (row.zone, row.rack) {
            (Some(zone), Some(rack)) => node.with_location(zone, rack),
            (Some(zone), None) => node.with_zone(zone),
            (None, Some(rack)) => node.with_rack(rack),
            (None, None) => node,
        }
    }
}

/// The weight of a node in a file; 1 if it is missing.
struct Weight(u32);

impl Default for Weight {
    fn default() -> Self {
        Self(1)
    }
}

impl<'de> Deserialize<'de> for Weight {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_u32(WeightVisitor)
    }
}

struct WeightVisitor;

impl Visitor<'_> for WeightVisitor {
    type Value = Weight;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(WEIGHTS)
    }

    fn visit_u64<E: de::Error>(self, weight: u64) -> Result<Weight, E> {
        let found = Unexpected::Unsigned(weight);
        let weight = u32::try_from(weight);
        weight
            .map(Weight)
            .map_err(|_| E::invalid_value(found, &self))
    }

    fn visit_i64<E: de::Error>(self, weight: i64) -> Result<Weight, E> {
        let found = Unexpected::Signed(weight);
        let weight = u32::try_from(weight);
        weight
            .map(Weight)
            .map_err(|_| E::invalid_value(found, &self))
    }
}

fn from_json(text: &str) -> Result<Vec<Node>, Wrong> {
    const EXPECTED: &str = "expected an array of objects, such as [{\"name\":\"a\",\"weight\":2}]";
    if !text.trim_start().starts_with('[') {
        return Err(format!("not an array: {EXPECTED}").into());
    }
    let rows: Vec<Row> = serde_json::from_str(text).map_err(|error| {
        let line = error.line();
        let message = match error.classify() {
            Category::Eof => format!("not JSON, it ends too early: {EXPECTED}"),
            Category::Syntax => format!("not JSON: {EXPECTED}"),
            Category::Data | Category::Io => {
                let message = error.to_string();
                let at = message.rfind(" at line ").unwrap_or(message.len());
                message[..at].to_owned()
            }
        };
        Wrong::line(line, &message)
    })?;
    Ok(rows.into_iter().map(Node::from).collect())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TomlFile {
    #[serde(default)]
    node: Vec<Row>,
}

fn from_toml(text: &str) -> Result<Vec<Node>, Wrong> {
    let file: TomlFile = toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        let line = text[..start].split('\n').count();
        Wrong::line(line, error.message())
    })?;
    if file.node.is_empty() {
        return Err("no nodes: expected [[node]] tables, each with a name".into());
    }
    Ok(file.node.into_iter().map(Node::from).collect())
}

fn distinct(nodes: &[Node]) -> Result<(), String> {
    let mut names = BTreeSet::new();
    for (index, node) in nodes.iter().enumerate() {
        if node.name().is_empty() {
            return Err(format!("node {} has no name: {EACH_NAMED}", index + 1));
        }
        if !names.insert(node.name()) {
            return Err(format!(
                "node \"{}\" is already there: expected a different name for each node",
                node.name()
            ));
        }
    }
    Ok(())
}
