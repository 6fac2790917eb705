//! Files of nodes: lines, CSV, JSON or TOML.

use core::fmt;
use std::path::Path;

use hashroute::{Node, Server, compat};
use hashroute_harness::{FileKind, InputError, Rows};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::error::Category;

use super::list::{EACH_NAMED, distinct, server};
use crate::app::{files, nearest};
use crate::args::{MAX_COUNT, WEIGHTS, parse_nodes};
use crate::failure::Failure;

const COLUMNS: [&str; 5] = ["name", "weight", "zone", "rack", "label"];
/// The most bytes of a file of nodes: a million nodes with long names.
const MOST: usize = 1 << 27;

/// Reads the nodes of a file, with the labels that it gives. Errors name `option`.
pub(crate) fn servers_of(path: &Path, option: &str) -> Result<Vec<Server>, Failure> {
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
            hint: nearest::field_hint(message).or_else(|| fraction_hint(message)),
        }
    }
}

/// Says what to write for a weight that is no whole number.
fn fraction_hint(message: &str) -> Option<String> {
    let is_fraction = message.contains(WEIGHTS) && message.contains('.') && !message.contains('-');
    is_fraction
        .then(|| "multiply all weights until they are whole: for 1.5 and 0.25 write 6 and 1".into())
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

fn parse_file(path: &Path) -> Result<Vec<Server>, Wrong> {
    let bytes = files::read_bytes(path, MOST).map_err(|error| error.to_string())?;
    if let Some(kind) = FileKind::of(&bytes[..bytes.len().min(files::START)]) {
        refuse_kind(kind, path)?;
    }
    let text = text(&bytes)?.trim_start_matches('\u{feff}');
    let nodes = match Form::of(path, text)? {
        Form::Lines => from_lines(text)?,
        Form::Csv => from_csv(text)?,
        Form::Json => from_json(text)?,
        Form::Toml => from_toml(text)?,
    };
    if nodes.is_empty() {
        return Err("no nodes: expected at least one".into());
    }
    few(nodes.len())?;
    distinct(&nodes)?;
    Ok(nodes)
}

/// Refuses what is no list of nodes by its first bytes or lines.
fn refuse_kind(kind: FileKind, path: &Path) -> Result<(), Wrong> {
    let hint = match kind {
        FileKind::Csv | FileKind::Json | FileKind::JsonLines => return Ok(()),
        FileKind::ClusterNodes => Some(format!(
            "--dialect redis-cluster --config {} reads it",
            path.display()
        )),
        _ => files::as_text(kind, path),
    };
    let told = format!("{kind}: expected a list of nodes");
    Err(Wrong { told, hint })
}

/// The form of a file of nodes.
enum Form {
    Lines,
    Csv,
    Json,
    Toml,
}

impl Form {
    /// Tells the form by the extension, or else by the first line. Points to the dialect of a
    /// configuration.
    fn of(path: &Path, text: &str) -> Result<Self, Wrong> {
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        match extension.to_lowercase().as_str() {
            "csv" | "tsv" => return Ok(Self::Csv),
            "json" => return Ok(Self::Json),
            "toml" => return Ok(Self::Toml),
            _ => {}
        }
        if let Some(dialect) = compat::recognize(text).map(|dialect| dialect.name) {
            let path = path.display();
            return Err(Wrong {
                told: format!("a configuration of {dialect}: expected a list of nodes"),
                hint: Some(format!("--dialect {dialect} --config {path} reads it")),
            });
        }
        let mut lines = text.lines().map(str::trim);
        let first = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
        let first = first.unwrap_or_default();
        let mut names = first
            .split([',', ';', '\t'])
            .map(|name| name.trim().trim_matches('"'));
        Ok(match first {
            "[[node]]" => Self::Toml,
            _ if first.starts_with(['[', '{']) => Self::Json,
            _ if names.any(|name| name == "name") => Self::Csv,
            "---" => return Err("YAML: expected one node per line, CSV, JSON or TOML".into()),
            _ if first.starts_with("- ") => {
                let told = "line 1: YAML: expected one node per line, without '- '";
                return Err(told.into());
            }
            _ => Self::Lines,
        })
    }
}

/// Reads one node per line: a name, or a name and a weight.
fn from_lines(text: &str) -> Result<Vec<Server>, Wrong> {
    let mut servers = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let text = match text.trim() {
            comment if comment.starts_with('#') => "",
            text => text
                .split_once(" #")
                .map_or(text, |(text, _)| text.trim_end()),
        };
        if !text.is_empty() {
            servers.push(line_server(text).map_err(|told| Wrong::line(line, &told))?);
            few(servers.len())?;
        }
    }
    Ok(servers)
}

/// Refuses more nodes than `--count` takes, before they fill the memory.
fn few(count: usize) -> Result<(), String> {
    if count > MAX_COUNT as usize {
        return Err(format!("too many nodes: expected at most {MAX_COUNT}"));
    }
    Ok(())
}

fn line_server(text: &str) -> Result<Server, String> {
    let words = text.split([',', ';', '\t', ' ']);
    let words = words.filter(|word| !word.is_empty()).map(unquoted);
    let words = words.collect::<Result<Vec<_>, _>>()?;
    let entry = match words.as_slice() {
        [one] => (*one).to_owned(),
        [name, weight] => format!("{name}={weight}"),
        more => {
            return Err(format!(
                "{} fields: expected NAME or NAME WEIGHT (zones, racks and names with blanks need CSV with a header)",
                more.len()
            ));
        }
    };
    let mut entries = parse_nodes(&entry)?.into_iter();
    entries.next().map(server).ok_or_else(|| EACH_NAMED.into())
}

/// Returns a word of a line without the quotes around it.
fn unquoted(word: &str) -> Result<&str, String> {
    for quote in ['"', '\''] {
        let inner = word
            .strip_prefix(quote)
            .and_then(|word| word.strip_suffix(quote));
        if let Some(inner) = inner {
            return Ok(inner);
        }
        if word.starts_with(quote) || word.ends_with(quote) {
            return Err(format!(
                "{word}: a quote without the other: expected a name without blanks (CSV with a header takes any name)"
            ));
        }
    }
    Ok(word)
}

fn text(bytes: &[u8]) -> Result<&str, String> {
    core::str::from_utf8(bytes).map_err(|error| {
        let lines = bytes[..error.valid_up_to()].split(|&byte| byte == b'\n');
        format!("line {} is not UTF-8: names are text", lines.count())
    })
}

fn from_csv(text: &str) -> Result<Vec<Server>, Wrong> {
    // A comment leaves an empty line, so that later lines keep their number.
    let mut kept = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        kept.push_str(if line.starts_with('#') { "\n" } else { line });
    }
    let text = kept;
    let read = || {
        let mut rows = Rows::new(text.as_bytes(), &COLUMNS)?;
        let mut nodes = Vec::new();
        while rows.advance()? {
            nodes.push(csv_node(&rows).map_err(|problem| rows.wrong(problem))?);
            few(nodes.len()).map_err(|problem| rows.wrong(problem))?;
        }
        Ok(nodes)
    };
    read().map_err(|error: InputError| {
        let told = error.to_string();
        let hint = fraction_hint(&told);
        Wrong { told, hint }
    })
}

fn csv_node(row: &Rows<&[u8]>) -> Result<Server, String> {
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
        label: field(4).map(Into::into),
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
    label: Option<String>,
}

/// A node in JSON: an object, or its name alone.
struct JsonRow(Row);

impl<'de> Deserialize<'de> for JsonRow {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = JsonRow;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("names, or objects with a name")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<JsonRow, E> {
        Ok(JsonRow(Row {
            name: name.into(),
            weight: Weight::default(),
            zone: None,
            rack: None,
            label: None,
        }))
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<JsonRow, A::Error> {
        Row::deserialize(MapAccessDeserializer::new(fields)).map(JsonRow)
    }
}

impl From<Row> for Server {
    fn from(row: Row) -> Self {
        let label = row.label.clone();
        let server = Self::from(Node::from(row));
        match label {
            Some(label) => server.with_label(label),
            None => server,
        }
    }
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
        // Any: asked for a number, the reader of JSON would word the refusal of a text.
        deserializer.deserialize_any(WeightVisitor)
    }
}

struct WeightVisitor;

impl Visitor<'_> for WeightVisitor {
    type Value = Weight;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(WEIGHTS)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Weight, E> {
        Err(E::custom(format!(
            "weight \"{text}\" is a text, expected {WEIGHTS}, without quotes"
        )))
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

/// A JSON document with a list of nodes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonFile {
    #[serde(alias = "node")]
    nodes: JsonRows,
}

/// The nodes of a JSON document, as many as may be in a file.
struct JsonRows(Vec<JsonRow>);

impl<'de> Deserialize<'de> for JsonRows {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(JsonRowsVisitor)
    }
}

struct JsonRowsVisitor;

impl<'de> Visitor<'de> for JsonRowsVisitor {
    type Value = JsonRows;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<JsonRows, A::Error> {
        let mut rows = Vec::new();
        while let Some(row) = items.next_element()? {
            rows.push(row);
            few(rows.len()).map_err(de::Error::custom)?;
        }
        Ok(JsonRows(rows))
    }
}

fn from_json(text: &str) -> Result<Vec<Server>, Wrong> {
    const EXPECTED: &str =
        "expected an array of objects, such as [{\"name\":\"a\",\"weight\":2}], or of names";
    let read = if text.trim_start().starts_with('[') {
        serde_json::from_str::<JsonRows>(text).map(|rows| rows.0)
    } else if text.contains("\"nodes\"") || text.contains("\"node\"") {
        serde_json::from_str::<JsonFile>(text).map(|file| file.nodes.0)
    } else {
        return Err(format!("not an array: {EXPECTED}").into());
    };
    let rows = read.map_err(|error| {
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
    Ok(rows.into_iter().map(|row| row.0.into()).collect())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TomlFile {
    #[serde(default)]
    node: Vec<Row>,
}

fn from_toml(text: &str) -> Result<Vec<Server>, Wrong> {
    files::few_of_toml(text)?;
    let file: TomlFile = toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        let line = text[..start].split('\n').count();
        Wrong::line(line, error.message())
    })?;
    if file.node.is_empty() {
        return Err("no nodes: expected [[node]] tables, each with a name".into());
    }
    Ok(file.node.into_iter().map(Server::from).collect())
}
