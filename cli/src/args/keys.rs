//! Options for the source of the keys.

use std::path::PathBuf;

use clap::Args;

/// The options that name where keys come from.
pub(crate) const KEY_SOURCES: [&str; 11] = [
    "keys_file",
    "csv",
    "jsonl",
    "bigkeys",
    "memkeys",
    "hotkeys",
    "keystats",
    "scan",
    "metadump",
    "template",
    "range",
];
const FILES: &[&str] = KEY_SOURCES.split_at(9).0;

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Keys (default: --template 'user:{i}' --range 0..1000000)")]
pub(crate) struct KeyArgs {
    /// A file with one key per line; - is standard input
    #[arg(id = "keys_file", long = "keys", value_name = "FILE", group = "source")]
    pub(crate) keys: Option<PathBuf>,
    /// A CSV file with the column key and, optionally, size (in bytes) and requests
    #[arg(long, value_name = "FILE", group = "source")]
    pub(crate) csv: Option<PathBuf>,
    /// A file with one JSON value per line: a string, or {"hex":"..."} for bytes
    #[arg(long, value_name = "FILE", group = "source")]
    pub(crate) jsonl: Option<PathBuf>,
    /// Generate keys from a pattern: {i} is the number, {i:04} pads it with zeros
    #[arg(long, value_name = "TEXT", conflicts_with_all = FILES)]
    pub(crate) template: Option<String>,
    /// The numbers of the template: from A up to, but not including, B
    #[arg(long, value_name = "A..B", conflicts_with_all = FILES, allow_hyphen_values = true)]
    pub(crate) range: Option<String>,
    /// Stop at a line that cannot be read [default: skip and count such lines]
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) dump: DumpArgs,
}

/// Lists of keys that `redis-cli` and memcached print.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Keys of a running server")]
pub(crate) struct DumpArgs {
    /// Output of redis-cli --bigkeys: only the largest keys
    #[arg(long, value_name = "FILE", group = "source")]
    pub(crate) bigkeys: Option<PathBuf>,
    /// Output of redis-cli --memkeys: only the largest keys, with their bytes
    #[arg(long, value_name = "FILE", group = "source")]
    pub(crate) memkeys: Option<PathBuf>,
    /// Output of redis-cli --hotkeys: only the hottest keys, their counters as requests
    #[arg(long, value_name = "FILE", group = "source")]
    pub(crate) hotkeys: Option<PathBuf>,
    /// Output of redis-cli --keystats: only the largest keys, with rounded bytes
    #[arg(long, value_name = "FILE", group = "source")]
    pub(crate) keystats: Option<PathBuf>,
    /// Output of redis-cli --scan, or of repeated SCAN commands, raw or numbered
    #[arg(long, value_name = "FILE", group = "source")]
    pub(crate) scan: Option<PathBuf>,
    /// Answer of memcached to `lru_crawler metadump all`: keys with their bytes
    #[arg(long, value_name = "FILE", group = "source")]
    pub(crate) metadump: Option<PathBuf>,
}

impl KeyArgs {
    /// Returns whether an option says where keys come from.
    pub(crate) fn is_given(&self) -> bool {
        let Self {
            keys, csv, jsonl, ..
        } = self;
        let dump = &self.dump;
        let files = [
            keys,
            csv,
            jsonl,
            &dump.bigkeys,
            &dump.memkeys,
            &dump.hotkeys,
            &dump.keystats,
            &dump.scan,
            &dump.metadump,
        ];
        let is_template = self.template.is_some() || self.range.is_some();
        is_template || files.into_iter().any(Option::is_some)
    }
}
