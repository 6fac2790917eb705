//! What a file is, by its first lines.

use core::fmt;
use std::collections::BTreeSet;

use serde_json::Value;

use super::dump::DumpFormat;

/// The most lines that are looked at.
const LINES: usize = 32;

/// What a file is, if its first lines say that it is no plain list of keys, one a line.
///
/// A command that reads plain keys would count such a file without an error, and wrongly: every
/// line is a key. [`Display`](fmt::Display) says what the file is, and [`option`](Self::option)
/// which option of the command line reads it.
///
/// ```
/// use hashroute_harness::{DumpFormat, FileKind};
///
/// let head = b"key=a exp=-1 la=1 cas=1 fetch=no cls=1 size=65\n";
/// let kind = FileKind::of(head).expect("a metadump");
/// assert_eq!(kind, FileKind::Dump(DumpFormat::Metadump));
/// assert_eq!(kind.option(), Some("--metadump"));
/// assert_eq!(FileKind::of(b"user:1\nuser:2\n"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileKind {
    /// Packed by gzip.
    Gzip,
    /// Packed by zstd.
    Zstd,
    /// Packed by another program, or another binary format, of this name.
    Binary(&'static str),
    /// Text in UTF-16.
    Utf16,
    /// Comma-separated values with a header that names the column `key`; or with semicolons or tabs.
    Csv,
    /// JSON values, one a line: strings, or objects with bytes in hexadecimal.
    JsonLines,
    /// Other JSON.
    Json,
    /// A list of keys that `redis-cli` or memcached printed.
    Dump(DumpFormat),
    /// `redis-cli --bigkeys` or `--memkeys`: the first lines are the same.
    Biggest,
    /// `CLUSTER NODES`, or a `nodes.conf`.
    ClusterNodes,
    /// Counts that `hashroute balance --partial` wrote.
    Counts,
    /// Evidence that `hashroute skew --partial` wrote.
    Evidence,
    /// An error of a server, or of the program that asked it.
    ServerError,
}

impl FileKind {
    /// Returns what the start of a file says that it is; `None` for a plain list of keys, or if it
    /// says nothing. O(length of the start).
    pub fn of(start: &[u8]) -> Option<Self> {
        let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
        binary(start).or_else(|| {
            let lines: Vec<_> = whole_lines(text).take(LINES).collect();
            printed(&lines)
                .or_else(|| json(&lines))
                .or_else(|| is_csv(lines.first()?).then_some(Self::Csv))
        })
    }

    /// Returns whether the start of a file looks like comma-separated values, although no column is
    /// called `key`: a line of different names, and lines of as many fields. Plain keys may look
    /// so, too: this is a reason for a note, not for an error. O(length of the start).
    ///
    /// ```
    /// use hashroute_harness::FileKind;
    ///
    /// assert!(FileKind::resembles_csv(b"url,hits\n/a,3\n/b,4\n"));
    /// assert!(!FileKind::resembles_csv(b"user,1\nuser,2\nuser,3\n"));
    /// ```
    pub fn resembles_csv(start: &[u8]) -> bool {
        let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
        let lines: Vec<_> = whole_lines(text).take(LINES).collect();
        let [header, rows @ ..] = lines.as_slice() else {
            return false;
        };
        rows.len() >= 2
            && b",;\t"
                .iter()
                .any(|&separator| is_table(header, rows, separator))
    }

    /// Returns the option that reads such a file, if one does.
    pub fn option(self) -> Option<&'static str> {
        Some(match self {
            Self::Csv => "--csv",
            Self::JsonLines => "--jsonl",
            Self::Dump(DumpFormat::BigKeys) => "--bigkeys",
            Self::Dump(DumpFormat::MemKeys) => "--memkeys",
            Self::Dump(DumpFormat::KeyStats) => "--keystats",
            Self::Dump(DumpFormat::HotKeys) => "--hotkeys",
            Self::Dump(DumpFormat::Scan) => "--scan",
            Self::Dump(DumpFormat::Metadump) => "--metadump",
            _ => return None,
        })
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gzip => "packed by gzip",
            Self::Zstd => "packed by zstd",
            Self::Binary(name) => return write!(f, "{name}, not text"),
            Self::Utf16 => "text in UTF-16",
            Self::Csv => "CSV with a column \"key\"",
            Self::JsonLines => "JSON, one value a line",
            Self::Json => "JSON",
            Self::Dump(DumpFormat::Scan) => "what redis-cli prints for SCAN",
            Self::Dump(DumpFormat::Metadump) => "what memcached prints for lru_crawler metadump",
            Self::Dump(format) => return write!(f, "what redis-cli --{format} prints"),
            Self::Biggest => "what redis-cli --bigkeys or --memkeys prints",
            Self::ClusterNodes => "a table of CLUSTER NODES",
            Self::Counts => "counts of `hashroute balance --partial`",
            Self::Evidence => "evidence of `hashroute skew --partial`",
            Self::ServerError => "an error of a server",
        })
    }
}

/// Knows a format by its first bytes.
fn binary(start: &[u8]) -> Option<FileKind> {
    const MAGIC: [(&[u8], FileKind); 13] = [
        (b"\x1f\x8b", FileKind::Gzip),
        (b"\x28\xb5\x2f\xfd", FileKind::Zstd),
        (b"BZh", FileKind::Binary("packed by bzip2")),
        (b"\xfd7zXZ\0", FileKind::Binary("packed by xz")),
        (b"\x04\x22\x4d\x18", FileKind::Binary("packed by lz4")),
        (b"\x02\x21\x4c\x18", FileKind::Binary("packed by lz4")),
        (b"\x1f\x9d", FileKind::Binary("packed by compress")),
        (b"PK\x03\x04", FileKind::Binary("a zip archive")),
        (b"7z\xbc\xaf\x27\x1c", FileKind::Binary("a 7z archive")),
        (b"PAR1", FileKind::Binary("Parquet")),
        (b"REDIS0", FileKind::Binary("a dump of Redis (RDB)")),
        (b"\xff\xfe", FileKind::Utf16),
        (b"\xfe\xff", FileKind::Utf16),
    ];
    // zstd has sixteen numbers for frames without data, which `pzstd` puts first.
    if matches!(start, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]) {
        return Some(FileKind::Zstd);
    }
    // A line of keys may start with the letters of a format, but not with what follows them there.
    let is_text = |rest: &[u8]| {
        rest.iter()
            .take(64)
            .all(|&byte| (b' '..0x7f).contains(&byte) || byte.is_ascii_whitespace())
    };
    let found = MAGIC.iter().find(|(magic, _)| start.starts_with(magic));
    let found = found.filter(|_| !is_text(start)).map(|(_, kind)| *kind);
    let tar = || is_tar(start).then_some(FileKind::Binary("a tar archive"));
    let wide = || is_utf16(start).then_some(FileKind::Utf16);
    found.or_else(tar).or_else(wide)
}

/// Knows the first header of a tar archive: the name of a file, zero bytes, and a mark.
fn is_tar(start: &[u8]) -> bool {
    const MARK: usize = 257;
    let mark = start.get(MARK..MARK + 5);
    mark == Some(b"ustar") && start[..MARK].contains(&0)
}

/// Knows UTF-16 without a byte order mark: among its first characters, each is one of ASCII, and a
/// zero byte stands before or after each.
fn is_utf16(start: &[u8]) -> bool {
    const LEAST: usize = 8;
    const MOST: usize = 512;
    let start = &start[..start.len().min(MOST) & !1];
    let is_wide = |text: usize| {
        let is_text = |byte: u8| matches!(byte, b' '..0x7f | b'\t' | b'\r' | b'\n');
        let mut pairs = start.chunks_exact(2);
        pairs.all(|pair| is_text(pair[text]) && pair[1 - text] == 0)
    };
    start.len() >= LEAST && (is_wide(0) || is_wide(1))
}

/// Returns the lines that have come to their end, without blanks around them; the only line even
/// if it has no end.
fn whole_lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let end = memchr::memrchr(b'\n', text).map_or(text.len(), |end| end + 1);
    let lines = text[..end].split(|&byte| byte == b'\n');
    lines
        .map(<[u8]>::trim_ascii)
        .filter(|line| !line.is_empty())
}

/// Knows what `redis-cli` and memcached print.
fn printed(lines: &[&[u8]]) -> Option<FileKind> {
    let first = *lines.first()?;
    let any = |text: &str| lines.iter().any(|line| has(line, text));
    if is_error(first) {
        return Some(FileKind::ServerError);
    }
    if first.starts_with(b"key=") && has(first, " exp=") && has(first, " size=") {
        return Some(FileKind::Dump(DumpFormat::Metadump));
    }
    let is_reply = first.starts_with(b"1) \"")
        && first[4..]
            .iter()
            .take_while(|&&byte| byte != b'"')
            .all(u8::is_ascii_digit);
    if is_reply && lines.get(1).is_none_or(|line| line.starts_with(b"2) ")) {
        return Some(FileKind::Dump(DumpFormat::Scan));
    }
    let is_listed = first.starts_with(b"1) \"") && first.ends_with(b"\"");
    if is_listed && lines.get(1).is_none_or(|line| line.starts_with(b"2) \"")) {
        return Some(FileKind::Dump(DumpFormat::Scan));
    }
    if is_node(first) {
        return Some(FileKind::ClusterNodes);
    }
    if any("hot keys") && any("# Scanning")
        || any("hot key found with counter:")
        || any("Hot key ") && any("found so far with counter")
    {
        return Some(FileKind::Dump(DumpFormat::HotKeys));
    }
    let is_top = |line: &&[u8]| line.starts_with(b"--- Top ") && line.ends_with(b" key sizes ---");
    if any("# Scanning") && any("biggest keys and distribution") || lines.iter().any(is_top) {
        return Some(FileKind::Dump(DumpFormat::KeyStats));
    }
    let is_scanning = any("# Scanning the entire keyspace to find biggest keys");
    // While it goes on, and its summary.
    let is_found = |line: &&[u8]| {
        let rest = line.strip_prefix(b"Biggest ");
        rest.is_some_and(|rest| has(rest, " found '")) || has(line, "] Biggest ")
    };
    (is_scanning || lines.iter().any(is_found)).then(|| biggest(lines))
}

/// Tells `--bigkeys` from `--memkeys`, whose sizes are all in bytes.
fn biggest(lines: &[&[u8]]) -> FileKind {
    const COUNTED: [&str; 4] = [" items", " fields", " members", " entries"];
    let found = || lines.iter().filter(|line| has(line, "Biggest "));
    let others = || found().filter(|line| !has(line, "Biggest string"));
    if found().any(|line| COUNTED.iter().any(|unit| has(line, unit))) {
        FileKind::Dump(DumpFormat::BigKeys)
    } else if others().any(|line| has(line, " bytes")) {
        FileKind::Dump(DumpFormat::MemKeys)
    } else {
        FileKind::Biggest
    }
}

fn has(line: &[u8], text: &str) -> bool {
    memchr::memmem::find(line, text.as_bytes()).is_some()
}

/// Returns whether a line is an error that `redis-cli`, Redis or memcached prints.
fn is_error(line: &[u8]) -> bool {
    const ERRORS: [&str; 17] = [
        "(error) ",
        "-ERR ",
        "ERR ",
        "NOAUTH ",
        "WRONGPASS ",
        "NOPERM ",
        "LOADING ",
        "CLUSTERDOWN ",
        "MOVED ",
        "ASK ",
        "TRYAGAIN ",
        "CROSSSLOT ",
        "MISCONF ",
        "DENIED ",
        "Could not connect to ",
        "CLIENT_ERROR ",
        "SERVER_ERROR ",
    ];
    ERRORS
        .iter()
        .any(|error| line.starts_with(error.as_bytes()))
}

/// Returns whether a line is one of `CLUSTER NODES`: an id, an address with a bus port, flags.
fn is_node(line: &[u8]) -> bool {
    let mut words = line.split(|&byte| byte == b' ');
    let is_id = |word: &[u8]| word.len() == 40 && word.iter().all(u8::is_ascii_hexdigit);
    words.next().is_some_and(is_id)
        && words.next().is_some_and(|word| has(word, ":"))
        && words.count() >= 6
}

/// Knows JSON lines: every line must be a value, since a key may look like one.
fn json(lines: &[&[u8]]) -> Option<FileKind> {
    let first = *lines.first()?;
    for (format, kind) in [
        ("hashroute counts", FileKind::Counts),
        ("hashroute evidence", FileKind::Evidence),
    ] {
        if first.starts_with(format!("{{\"format\":\"{format}\"").as_bytes()) {
            return Some(kind);
        }
    }
    if !first.starts_with(b"\"") && !first.starts_with(b"{") && !first.starts_with(b"[") {
        return None;
    }
    let value = |line: &&[u8]| serde_json::from_slice::<Value>(line).ok();
    let is_key =
        |value: &Value| value.is_string() || value.get("hex").is_some_and(Value::is_string);
    match lines.iter().map(value).collect::<Option<Vec<_>>>() {
        Some(values) if values.iter().all(is_key) => Some(FileKind::JsonLines),
        Some(values)
            if values
                .iter()
                .all(|value| value.is_object() || value.is_array()) =>
        {
            Some(FileKind::Json)
        }
        // A document over many lines.
        None if matches!(first, b"[" | b"{") => Some(FileKind::Json),
        _ => None,
    }
}

/// Returns whether lines have as many fields as their header, whose fields are different words.
fn is_table(header: &[u8], rows: &[&[u8]], separator: u8) -> bool {
    let count = |line: &[u8]| memchr::memchr_iter(separator, line).count();
    let names: Vec<_> = header
        .split(|&byte| byte == separator)
        .map(|name| name.trim_ascii().to_ascii_lowercase())
        .collect();
    let is_word = |name: &Vec<u8>| {
        let inner = |&byte: &u8| byte.is_ascii_alphabetic() || b"_ -\"".contains(&byte);
        name.len() >= 2 && name.iter().all(inner)
    };
    let distinct: BTreeSet<_> = names.iter().collect();
    let width = count(header);
    width > 0
        && names.iter().all(is_word)
        && distinct.len() == names.len()
        && rows.iter().all(|row| count(row) == width)
        // A column of numbers below a word: names would have no header.
        && (0..names.len()).any(|column| {
            rows.iter().all(|row| {
                let field = row.split(|&byte| byte == separator).nth(column);
                let field = field.unwrap_or_default().trim_ascii();
                !field.is_empty() && field.iter().all(|byte| b"0123456789.".contains(byte))
            })
        })
}

/// Returns whether a line is a header of several columns, one of them `key`.
fn is_csv(line: &[u8]) -> bool {
    let is_key = |name: &[u8]| {
        name.trim_ascii().trim_ascii().eq_ignore_ascii_case(b"key")
            || name.trim_ascii() == b"\"key\""
    };
    b",;\t".iter().any(|separator| {
        let mut names = line.split(|byte| byte == separator);
        memchr::memchr(*separator, line).is_some() && names.any(is_key)
    })
}
