//! Where keys come from.

use std::path::PathBuf;

use clap::Args;

/// The options that name where keys come from.
pub(crate) const KEY_SOURCES: [&str; 10] = [
    "keys_file",
    "csv",
    "jsonl",
    "bigkeys",
    "memkeys",
    "keystats",
    "scan",
    "metadump",
    "template",
    "range",
];
const FILES: &[&str] = KEY_SOURCES.split_at(8).0;

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Keys (default: --template 'user:{i}' --range 0..1000000)")]
pub(crate) struct KeyArgs {
    /// A file with a key a line; - is standard input
    #[arg(id = "keys_file", long = "keys", value_name = "FILE", group = "source")]
    pub(crate) keys: Option<PathBuf>,
    /// A file whose first line has the columns key and, if known, size (bytes) and requests
    #[arg(long, value_name = "FILE", group = "source")]
    pub(crate) csv: Option<PathBuf>,
    /// A file with a JSON value a line: a string, or {"hex":"..."} for bytes
    #[arg(long, value_name = "FILE", group = "source")]
    pub(crate) jsonl: Option<PathBuf>,
    /// Keys from a pattern: {i} is the number, {i:04} the same with zeros in front
    #[arg(long, value_name = "TEXT", conflicts_with_all = FILES)]
    pub(crate) template: Option<String>,
    /// The numbers of the template: from the first, up to but without the second
    #[arg(long, value_name = "A..B", conflicts_with_all = FILES, allow_hyphen_values = true)]
    pub(crate) range: Option<String>,
    /// Refuse lines that cannot be read; without it they are counted and told
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) dump: DumpArgs,
}

/// What `redis-cli` and memcached print of their keys.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Keys that are there already")]
pub(crate) struct DumpArgs {
    /// What redis-cli --bigkeys printed: the largest keys alone
    #[arg(long, value_name = "FILE", group = "source")]
    pub(crate) bigkeys: Option<PathBuf>,
    /// What redis-cli --memkeys printed: the largest keys alone, with their bytes
    #[arg(long, value_name = "FILE", group = "source")]
    pub(crate) memkeys: Option<PathBuf>,
    /// What redis-cli --keystats printed: the largest keys alone, with their bytes, rounded
    #[arg(long, value_name = "FILE", group = "source")]
    pub(crate) keystats: Option<PathBuf>,
    /// What redis-cli --scan printed, or SCAN again and again, raw or numbered
    #[arg(long, value_name = "FILE", group = "source")]
    pub(crate) scan: Option<PathBuf>,
    /// What memcached answered to `lru_crawler metadump all`: keys with their bytes
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
            &dump.keystats,
            &dump.scan,
            &dump.metadump,
        ];
        let is_template = self.template.is_some() || self.range.is_some();
        is_template || files.into_iter().any(Option::is_some)
    }
}
