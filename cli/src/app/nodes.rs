//! The nodes: from a list, a count or a file.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use hashroute::Node;
use hashroute_harness::{InputError, Rows};
use serde::Deserialize;
use serde_json::json;

use crate::args::{NodeArgs, WEIGHTS, parse_node};
use crate::failure::Failure;

const DEFAULT_COUNT: u32 = 10;
const COLUMNS: [&str; 4] = ["name", "weight", "zone", "rack"];

/// The nodes that the options ask for, in their order; ten when they ask for none.
pub(crate) fn read(args: &NodeArgs) -> Result<Vec<Node>, Failure> {
    if let Some(list) = &args.nodes {
        from_list(list)
    } else if let Some(path) = &args.nodes_file {
        from_file(path, "--nodes-file")
    } else {
        Ok(counted(args.count.unwrap_or(DEFAULT_COUNT) as usize))
    }
}

/// `node-0`, `node-1`, ...
pub(crate) fn counted(count: usize) -> Vec<Node> {
    (0..count).map(|i| Node::new(format!("node-{i}"))).collect()
}

fn from_list(list: &str) -> Result<Vec<Node>, Failure> {
    if list.is_empty() {
        return Err(Failure::input(
            "--nodes '': no nodes, expected names such as a,b=2,c",
        ));
    }
    let node = |(index, text)| {
        parse_node(text).map_err(|reason| format!("--nodes, entry {}: {reason}", index + 1))
    };
    let nodes: Vec<_> = list
        .split(',')
        .enumerate()
        .map(node)
        .collect::<Result<_, _>>()
        .map_err(Failure::Input)?;
    distinct(&nodes).map_err(|reason| Failure::Input(format!("--nodes: {reason}")))?;
    Ok(nodes)
}

/// The nodes of a file, by its extension; `option` is what named it.
pub(crate) fn from_file(path: &Path, option: &str) -> Result<Vec<Node>, Failure> {
    let nodes = parse_file(path);
    nodes.map_err(|reason| Failure::Input(format!("{option} {}: {reason}", path.display())))
}

fn parse_file(path: &Path) -> Result<Vec<Node>, String> {
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
            return Err(format!(
                "unknown extension .{other}: expected .csv, .json or .toml"
            ));
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

fn from_csv(text: &str) -> Result<Vec<Node>, String> {
    let read = || {
        let mut rows = Rows::new(text.as_bytes(), &COLUMNS)?;
        let mut nodes = Vec::new();
        while rows.advance()? {
            nodes.push(csv_node(&rows).map_err(|problem| rows.wrong(problem))?);
        }
        Ok(nodes)
    };
    read().map_err(|error: InputError| error.to_string())
}

fn csv_node(row: &Rows<&[u8]>) -> Result<Node, String> {
    let field = |column| {
        let text = core::str::from_utf8(row.field(column)?).ok()?.trim();
        (!text.is_empty()).then_some(text)
    };
    let name = field(0).ok_or("the name is empty: give each node one")?;
    let weight = match field(1) {
        None => 1,
        Some(text) => text
            .parse::<u32>()
            .map_err(|_| format!("weight \"{text}\" is not {WEIGHTS}"))?,
    };
    // By way of serde, since a rack may stand in the file without a zone.
    let node = json!({ "name": name, "weight": weight, "zone": field(2), "rack": field(3) });
    serde_json::from_value(node).map_err(|error| error.to_string())
}

fn from_json(text: &str) -> Result<Vec<Node>, String> {
    if !text.trim_start().starts_with('[') {
        return Err(
            "not an array: expected an array of objects, such as [{\"name\":\"a\",\"weight\":2}]"
                .into(),
        );
    }
    serde_json::from_str(text).map_err(|error| in_words(&error.to_string()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TomlFile {
    node: Vec<Node>,
}

fn from_toml(text: &str) -> Result<Vec<Node>, String> {
    let file: TomlFile = toml::from_str(text).map_err(|error| match error.message() {
        "missing field `node`" => "no nodes: expected [[node]] tables, each with a name".into(),
        message => {
            let start = error.span().map_or(0, |span| span.start);
            let line = text[..start].split('\n').count();
            format!("line {line}: {}", in_words(message))
        }
    })?;
    Ok(file.node)
}

/// What a parser says, with the types that hold nodes and weights in words.
fn in_words(message: &str) -> String {
    message
        .replace("expected u32", &format!("expected {WEIGHTS}"))
        .replace("expected struct Node", "expected objects with a name")
}

fn distinct(nodes: &[Node]) -> Result<(), String> {
    let mut names = BTreeSet::new();
    for (index, node) in nodes.iter().enumerate() {
        if node.name().is_empty() {
            return Err(format!(
                "node {} has no name: give each node one",
                index + 1
            ));
        }
        if !names.insert(node.name()) {
            return Err(format!(
                "node \"{}\" is there twice: names are identities, give each node its own",
                node.name()
            ));
        }
    }
    Ok(())
}
