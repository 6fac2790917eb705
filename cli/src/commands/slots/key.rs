//! `slots key`: the slot of each key, and the tag that decides it.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use hashroute::redis::{ClusterNode, SlotRule, Table};
use hashroute_harness::Keys;
use serde_json::{Map, Value};

use super::table::{self, Names};
use crate::app::keys::Source;
use crate::app::typed;
use crate::args::{HexKey, KEY_SOURCES, KeyArgs, OutputArgs, typed_keys};
use crate::failure::Failure;
use crate::key_text;
use crate::output::{Cell, Column, Report, Table as Lines};

/// Print the slot of each key, and the hash tag that decides it
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct KeyCommand {
    /// Keys, instead of keys from a file or template
    #[arg(value_name = "KEY", conflicts_with_all = KEY_SOURCES)]
    pub(crate) key: Vec<OsString>,
    /// A key in hexadecimal digits, for bytes that are no text (repeatable)
    #[arg(long, value_name = "DIGITS", conflicts_with_all = KEY_SOURCES)]
    pub(crate) hex: Vec<HexKey>,
    /// Also print the owner, from the output of CLUSTER NODES or nodes.conf
    #[arg(long, value_name = "TABLE")]
    pub(crate) table: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

const EXAMPLES: &str = "\
Examples:
  hashroute slots key user:1 '{user1000}.following'
  hashroute slots key --keys keys.txt --format csv
  redis-cli cluster nodes | hashroute slots key --table - user:1";

pub(crate) fn run(args: &KeyCommand) -> Result<(), Failure> {
    typed::refuse_files(&args.key, "--keys")?;
    let table = args.table.as_deref().map(table::read).transpose()?;
    let keys = all(args)?;
    let json: Vec<_> = keys.iter().map(|key| json(key, table.as_ref())).collect();
    let lines = lines(&keys, table.as_ref());
    let report = Report::new(&json, lines.clone())?.with_table(lines);
    let together = args.key.len() + args.hex.len() > 1;
    let note = together.then(|| note(&keys));
    report.with_text(note).print(args.output.format)
}

fn all(args: &KeyCommand) -> Result<Keys, Failure> {
    let mut keys = Keys::default();
    typed_keys(&args.key, &args.hex).for_each(|key| keys.push(key));
    if !keys.is_empty() {
        return Ok(keys);
    }
    let source = Source::of(&args.keys)?;
    if source.made_up().is_some() {
        return Err(Failure::input(
            "no keys: expected KEY, --keys, --csv, --jsonl, --template or --range, or keys on standard input",
        ));
    }
    source.read()
}

fn json(key: &[u8], table: Option<&Table>) -> Value {
    let found = SlotRule::REDIS.key_slot(key);
    let (field, text) = key_text::field(key);
    let mut fields = Map::new();
    fields.insert(field.into(), text.into());
    fields.insert("slot".into(), found.slot.into());
    fields.insert("tag".into(), found.tag.map_or(Value::Null, key_text::json));
    if let Some(table) = table {
        let owner = table.owner(found.slot);
        fields.insert("node".into(), owner.map(ClusterNode::id).into());
        let address = owner.map(|node| node.address().to_string());
        fields.insert("address".into(), address.into());
    }
    Value::Object(fields)
}

fn lines(keys: &Keys, table: Option<&Table>) -> Lines {
    let mut columns = vec![
        Column::text("key", "key"),
        Column::number("slot", "slot"),
        Column::text("tag", "tag"),
    ];
    if table.is_some() {
        columns.extend([
            Column::text("node", "node"),
            Column::text("address", "address"),
        ]);
    }
    let names = table.map(Names::of);
    Lines::new(columns).with_rows(keys.iter().map(|key| {
        let found = SlotRule::REDIS.key_slot(key);
        let tag = found.tag.map(key_text::shown);
        let mut row = vec![
            Cell::text(key_text::shown(key)),
            Cell::new(found.slot, found.slot.to_string()),
            Cell::optional(tag.as_deref()),
        ];
        if let (Some(table), Some(names)) = (table, &names) {
            let owner = table.owner(found.slot);
            let address = owner.map(|node| node.address().to_string());
            row.push(owner.map_or_else(Cell::missing, |node| names.cell(node.id())));
            row.push(Cell::optional(address.as_deref()));
        }
        row
    }))
}

/// Says whether one request may use all these keys.
fn note(keys: &Keys) -> String {
    match SlotRule::REDIS.same_slot(keys.iter()) {
        Ok(_) => "One request may use all these keys: they share a slot.".into(),
        Err(error) => format!("One request may not use all these keys: {error}."),
    }
}
