//! Options for the source of the keys.

use core::str::FromStr;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;
use hashroute::redis::hex;

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
const NOT_LINES: &[&str] = KEY_SOURCES.split_at(1).1;

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Keys (default: standard input, if it is a pipe or a file)")]
pub(crate) struct KeyArgs {
    /// A file with one key per line, or packed (gzip, zstd); - is standard input
    #[arg(
        id = "keys_file",
        short = 'k',
        long = "keys",
        value_name = "FILE",
        group = "source"
    )]
    pub(crate) keys: Vec<PathBuf>,
    /// A CSV file with the column key and, optionally, size and requests
    #[arg(long, value_name = "FILE", group = "source")]
    pub(crate) csv: Vec<PathBuf>,
    /// A file with one JSON value per line: a string, or {"hex":"..."} for bytes
    #[arg(long, value_name = "FILE", group = "source")]
    pub(crate) jsonl: Vec<PathBuf>,
    /// The column of --csv with the keys; the columns not named are ignored
    #[arg(long, value_name = "COL", requires = "csv")]
    pub(crate) key_column: Option<String>,
    /// The column of --csv with the bytes of each key
    #[arg(long, value_name = "COL", requires = "csv")]
    pub(crate) size_column: Option<String>,
    /// The column of --csv with the requests of each key
    #[arg(
        long = "requests-col",
        alias = "requests-column",
        value_name = "C",
        requires = "csv"
    )]
    pub(crate) requests_column: Option<String>,
    /// Take every line of --keys as a key, whatever the file looks like
    #[arg(long, conflicts_with_all = NOT_LINES)]
    pub(crate) raw: bool,
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
        let is_template = self.template.is_some() || self.range.is_some();
        is_template || self.files().next().is_some()
    }

    /// Iterates over the files of keys.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        let Self {
            keys, csv, jsonl, ..
        } = self;
        let dump = &self.dump;
        let lists = [keys, csv, jsonl];
        let dumps = [
            &dump.bigkeys,
            &dump.memkeys,
            &dump.hotkeys,
            &dump.keystats,
            &dump.scan,
            &dump.metadump,
        ];
        let dumps = dumps.into_iter().flatten();
        let all = lists.into_iter().flatten().chain(dumps);
        all.map(PathBuf::as_path)
    }
}

/// A key in hexadecimal digits, two for each byte.
#[derive(Clone, Debug)]
pub(crate) struct HexKey(Vec<u8>);

impl FromStr for HexKey {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digit = |byte: u8| hex(byte);
        let byte = |pair: &[u8]| match *pair {
            [high, low] => Some(digit(high)? << 4 | digit(low)?),
            _ => None,
        };
        let bytes = text.as_bytes().chunks(2).map(byte).collect::<Option<_>>();
        let expected = "expected two hexadecimal digits for each byte, such as 8b00";
        bytes.map(Self).ok_or_else(|| expected.into())
    }
}

/// Returns the keys on the command line: those typed, then those in hexadecimal.
pub(crate) fn typed_keys<'a>(
    keys: &'a [OsString],
    hex: &'a [HexKey],
) -> impl Iterator<Item = &'a [u8]> {
    let keys = keys.iter().map(|key| key.as_encoded_bytes());
    keys.chain(hex.iter().map(|key| key.0.as_slice()))
}
