//! Key files: lines, CSV, JSON lines, what other programs print, and packed files.

use std::io::{Read, Write};

use arbitrary::Unstructured;
use hashroute_harness::stream::{BadLines, KeySource};
use hashroute_harness::{DumpFormat, FileKind, Keys, Rows, unpack};

use crate::Outcome;
use crate::draw::{Draw, damage, damages, put};

fn keys(u: &mut Unstructured<'_>, most: usize) -> Vec<Vec<u8>> {
    (0..u.below(most + 1)).map(|_| u.key()).collect()
}

/// Returns the keys of a source that is read in batches, or `None` at an error of the input.
fn batches(mut source: KeySource<'_>) -> Option<(Keys, BadLines)> {
    let (mut keys, mut bad) = (Keys::default(), BadLines::default());
    while let Some(batch) = source.next_keys(&mut bad).ok()? {
        keys.append(&batch).ok()?;
    }
    Some((keys, bad))
}

/// One key a line, at once and in batches.
pub(crate) fn lines(u: &mut Unstructured<'_>) -> Outcome {
    let mut text = Vec::new();
    let mut written = keys(u, 8);
    for key in &mut written {
        key.retain(|byte| *byte != b'\n');
        text.extend_from_slice(key);
        text.push(b'\n');
    }
    let damaged = damages(u);
    if damaged {
        damage(u, &mut text);
    }
    let read = Keys::lines(text.as_slice()).expect("bytes in memory");
    assert!(damaged || read.iter().eq(written.iter().map(Vec::as_slice)));
    let mut model: Vec<_> = text.split(|byte| *byte == b'\n').collect();
    if model.last().is_some_and(|last| last.is_empty()) {
        model.pop();
    }
    assert!(read.iter().eq(model));
    let _ = FileKind::of(&text);
    if u.chance(8) {
        let (keys, bad) = batches(KeySource::lines(text.as_slice())).expect("bytes in memory");
        assert!(keys.iter().eq(read.iter()));
        assert_eq!(bad.count, 0);
    }
    Outcome::Accepted
}

fn field(text: &mut Vec<u8>, field: &[u8], separator: u8, quote: bool) {
    let special = [b'"', b'\n', b'\r', separator];
    if quote || field.is_empty() || field.iter().any(|byte| special.contains(byte)) {
        text.push(b'"');
        for &byte in field {
            text.push(byte);
            if byte == b'"' {
                text.push(byte);
            }
        }
        text.push(b'"');
    } else {
        text.extend_from_slice(field);
    }
}

/// Comma-separated keys with sizes and requests, in any order of columns.
pub(crate) fn csv(u: &mut Unstructured<'_>) -> Outcome {
    let written = keys(u, 6);
    let columns = u.pick(&[
        &["key"][..],
        &["key", "size"],
        &["size", "key"],
        &["key", "requests", "size"],
        &["requests", "key"],
    ]);
    // A header of one column shows no separator: it is the comma.
    let others = if columns.len() > 1 {
        u.pick(b",;\t")
    } else {
        b','
    };
    let (separator, end) = (others, u.pick(&["\n", "\n", "\r\n"]));
    let mut text = Vec::new();
    if u.chance(20) {
        text.extend_from_slice(b"\xef\xbb\xbf");
    }
    text.extend_from_slice(columns.join(&*char::from(separator).to_string()).as_bytes());
    text.extend_from_slice(end.as_bytes());
    let mut numbers = Vec::new();
    for key in &written {
        let number = u.odd_number() >> 4;
        numbers.push(number);
        for (at, &column) in columns.iter().enumerate() {
            if at > 0 {
                text.push(separator);
            }
            if column == "key" {
                field(&mut text, key, separator, u.chance(40));
            } else {
                text.extend_from_slice(number.to_string().as_bytes());
            }
        }
        text.extend_from_slice(end.as_bytes());
    }
    let damaged = damages(u);
    if damaged {
        damage(u, &mut text);
    }
    match Keys::csv(text.as_slice()) {
        Err(error) => {
            assert!(damaged, "{error}: {}", text.escape_ascii());
            assert!(!error.to_string().is_empty());
            Outcome::Refused
        }
        Ok(read) => {
            if !damaged {
                assert!(
                    read.iter().eq(written.iter().map(Vec::as_slice)),
                    "{}",
                    text.escape_ascii()
                );
                for (name, values) in [("size", read.sizes()), ("requests", read.requests())] {
                    let told = columns.contains(&name).then_some(numbers.as_slice());
                    assert_eq!(values, told);
                }
            }
            if u.chance(8) {
                let source = KeySource::csv(text.as_slice()).expect("as before");
                let (keys, bad) = batches(source).expect("as before");
                assert!(keys.iter().eq(read.iter()) && bad.count == 0);
                // Without a row there is no batch, and so no column.
                let columns = |keys: &Keys| {
                    let kept = !keys.is_empty();
                    [keys.sizes(), keys.requests()]
                        .map(|column| column.filter(|_| kept).map(<[u64]>::to_vec))
                };
                assert_eq!(columns(&keys), columns(&read));
            }
            Outcome::Accepted
        }
    }
}

/// Strings of JSON, or bytes in hexadecimal, one a line.
pub(crate) fn jsonl(u: &mut Unstructured<'_>) -> Outcome {
    let (mut written, mut text) = (keys(u, 6), String::new());
    for key in &mut written {
        let hex = u.chance(100);
        if hex {
            text.push_str("{\"hex\":\"");
            for byte in key.iter() {
                put!(text, "{byte:02x}");
            }
            text.push_str("\"}\n");
        } else {
            let string = String::from_utf8_lossy(key).into_owned();
            put!(text, "{}\n", serde_json::Value::from(&*string));
            *key = string.into_bytes();
        }
    }
    let (mut text, damaged) = (text.into_bytes(), damages(u));
    if damaged {
        damage(u, &mut text);
    }
    let read = Keys::jsonl(text.as_slice());
    if u.chance(8) {
        let (keys, bad) = batches(KeySource::jsonl(text.as_slice())).expect("bytes in memory");
        assert_eq!(bad.count == 0, read.is_ok(), "{bad:?}");
        assert!(read.as_ref().is_ok_and(|read| keys.iter().eq(read.iter())) || read.is_err());
    }
    match read {
        Ok(read) => {
            assert!(damaged || read.iter().eq(written.iter().map(Vec::as_slice)));
            Outcome::Accepted
        }
        Err(error) => {
            assert!(damaged, "{error}: {}", text.escape_ascii());
            Outcome::Refused
        }
    }
}

/// Quotes a key as `redis-cli` does.
fn quoted(key: &[u8]) -> String {
    let mut text = String::from('"');
    for &byte in key {
        match byte {
            b'"' | b'\\' => put!(text, "\\{}", char::from(byte)),
            b'\n' => text.push_str("\\n"),
            b'\r' => text.push_str("\\r"),
            b'\t' => text.push_str("\\t"),
            7 => text.push_str("\\a"),
            8 => text.push_str("\\b"),
            b' '..=b'~' => text.push(char::from(byte)),
            _ => put!(text, "\\x{byte:02x}"),
        }
    }
    text.push('"');
    text
}

/// Writes what a program prints for these keys, and the keys that a reader finds in it.
fn printed(u: &mut Unstructured<'_>, format: DumpFormat, keys: &[Vec<u8>]) -> String {
    let mut text = String::new();
    match format {
        DumpFormat::Scan if u.chance(128) => {
            put!(text, "1) \"{}\"\n2) ", u.below(2));
            for (at, key) in keys.iter().enumerate() {
                put!(
                    text,
                    "{}{}) {}\n",
                    if at > 0 { "   " } else { "" },
                    at + 1,
                    quoted(key)
                );
            }
            if keys.is_empty() {
                text.push_str("(empty array)\n");
            }
        }
        DumpFormat::Scan => keys.iter().for_each(|key| put!(text, "{}\n", quoted(key))),
        DumpFormat::Metadump => {
            for key in keys {
                text.push_str("key=");
                for &byte in key {
                    match byte {
                        b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'-' | b'.' | b'_' | b'~' => {
                            text.push(char::from(byte));
                        }
                        _ => put!(text, "%{byte:02X}"),
                    }
                }
                let size = u.odd_number() >> 8;
                put!(text, " exp=-1 la=1 cas=1 fetch=no cls=1 size={size}\n");
            }
            text.push_str("END\n");
        }
        DumpFormat::HotKeys => {
            for key in keys {
                put!(
                    text,
                    "[01.00%] Hot key '{}' found so far with counter {}\n",
                    quoted(key),
                    u.byte()
                );
            }
            put!(
                text,
                "\n-------- summary -------\n\nSampled {} keys in the keyspace!\n",
                u.below(999)
            );
        }
        DumpFormat::KeyStats => {
            text.push_str("--- Top 10 key sizes ---\n");
            for (at, key) in keys.iter().enumerate() {
                let size = u.pick(&["9B", "5.07K", "1.50M", "2G"]);
                put!(text, "{:3} {size:>8} string     {}\n", at + 1, quoted(key));
            }
        }
        _ => {
            let unit = if format == DumpFormat::BigKeys {
                "items"
            } else {
                "bytes"
            };
            for key in keys {
                let size = u.odd_number() >> 8;
                put!(
                    text,
                    "[00.00%] Biggest list   found so far '{}' with {size} {unit}\n",
                    quoted(key)
                );
            }
            put!(
                text,
                "\n-------- summary -------\n\nSampled {} keys in the keyspace!\n",
                u.below(999)
            );
        }
    }
    text
}

/// What `redis-cli` and memcached print, at once and in batches.
pub(crate) fn dumps(u: &mut Unstructured<'_>) -> Outcome {
    let format = u.pick(&[
        DumpFormat::Scan,
        DumpFormat::Metadump,
        DumpFormat::HotKeys,
        DumpFormat::KeyStats,
        DumpFormat::MemKeys,
        DumpFormat::BigKeys,
    ]);
    let mut written = keys(u, 6);
    if format == DumpFormat::Metadump {
        // memcached has no empty key.
        written.retain(|key| !key.is_empty());
    }
    let (mut text, damaged) = (printed(u, format, &written).into_bytes(), damages(u));
    if damaged {
        damage(u, &mut text);
    }
    let dump = Keys::dump(format, text.as_slice(), false).expect("bytes in memory");
    let source = &dump.source;
    assert_eq!(dump.keys.len() as u64, source.keys_listed);
    assert!(source.first_bad.len() <= 5);
    let sizes = dump.keys.sizes().map(|sizes| sizes.iter().sum());
    assert_eq!(sizes, source.bytes_listed);
    if !damaged {
        // Short lists hold a key once.
        let once = !matches!(format, DumpFormat::Scan | DumpFormat::Metadump);
        let mut told: Vec<&[u8]> = Vec::new();
        for key in &written {
            if !once || !told.contains(&key.as_slice()) {
                told.push(key);
            }
        }
        assert!(
            dump.keys.iter().eq(told),
            "{format}: {}",
            text.escape_ascii()
        );
        assert_eq!(
            source.bad_lines,
            0,
            "{format}: {source:?}: {}",
            text.escape_ascii()
        );
    }
    if u.chance(8) {
        let mut end = None;
        let (keys, bad) = {
            let source = KeySource::dump(format, text.as_slice(), |list| end = Some(list));
            batches(source).expect("bytes in memory")
        };
        assert!(
            keys.iter().eq(dump.keys.iter()),
            "{format}: {}",
            text.escape_ascii()
        );
        assert_eq!(bad.count, source.bad_lines);
        assert_eq!(end.as_ref(), Some(source));
    }
    if source.bad_lines == 0 {
        Outcome::Accepted
    } else {
        Outcome::Refused
    }
}

/// The kind of a file by its start, over texts of every format.
pub(crate) fn kinds(u: &mut Unstructured<'_>) -> Outcome {
    let keys = keys(u, 4);
    let mut text = match u.below(6) {
        0 => super::cluster::nodes_text(u, 16_384).into_bytes(),
        1 => b"key,size\na,1\n".to_vec(),
        2 => b"\"a\"\n{\"hex\":\"00\"}\n".to_vec(),
        3 => u
            .pick(&[
                &b"\x1f\x8b\x08\0"[..],
                b"\x28\xb5\x2f\xfd\x04",
                b"BZh9\x80",
                b"\xff\xfea\0",
            ])
            .to_vec(),
        _ => {
            let format = u.pick(&[DumpFormat::Scan, DumpFormat::HotKeys, DumpFormat::MemKeys]);
            printed(u, format, &keys).into_bytes()
        }
    };
    if damages(u) {
        damage(u, &mut text);
    }
    match FileKind::of(&text) {
        Some(kind) => {
            assert!(!kind.to_string().is_empty());
            assert!(kind.option().is_none_or(|option| option.starts_with("--")));
            Outcome::Accepted
        }
        None => Outcome::Refused,
    }
}

/// Files that gzip or zstd packed, in one part or several.
pub(crate) fn packed(u: &mut Unstructured<'_>) -> Outcome {
    let parts: Vec<_> = (0..u.range(1, 3)).map(|_| u.key()).collect();
    let zstd = u.chance(128);
    let mut bytes = Vec::new();
    for part in &parts {
        if zstd {
            let level = ruzstd::encoding::CompressionLevel::Uncompressed;
            bytes.extend(ruzstd::encoding::compress_to_vec(part.as_slice(), level));
        } else {
            let level = flate2::Compression::fast();
            let mut packer = flate2::write::GzEncoder::new(bytes, level);
            packer.write_all(part).expect("memory");
            bytes = packer.finish().expect("memory");
        }
    }
    let damaged = damages(u);
    if damaged {
        damage(u, &mut bytes);
    }
    let mut text = Vec::new();
    let read = unpack(bytes.as_slice()).and_then(|(mut input, _)| {
        // A damaged length may unpack to much more.
        input.by_ref().take(1 << 20).read_to_end(&mut text)
    });
    match read {
        Ok(_) => {
            assert!(damaged || text == parts.concat());
            Outcome::Accepted
        }
        Err(error) => {
            assert!(damaged, "{error}");
            Outcome::Refused
        }
    }
}

/// Files of nodes: rows of CSV by name, weight, zone, rack and label; JSON of nodes and changes.
pub(crate) fn nodes(u: &mut Unstructured<'_>) -> Outcome {
    if u.chance(128) {
        node_rows(u)
    } else {
        node_json(u)
    }
}

fn node_rows(u: &mut Unstructured<'_>) -> Outcome {
    const COLUMNS: [&str; 5] = ["name", "weight", "zone", "rack", "label"];
    let (count, width) = (u.range(1, 5), u.range(1, 5));
    let separator = if width > 1 { u.pick(b",,;\t") } else { b',' };
    let mut text = COLUMNS[..width]
        .join(&*char::from(separator).to_string())
        .into_bytes();
    text.push(b'\n');
    let mut names = Vec::new();
    for number in 0..count {
        let name = super::nodes::name(u, number);
        field(&mut text, name.as_bytes(), separator, u.chance(40));
        for column in 1..width {
            text.push(separator);
            let value = if column == 1 {
                u.odd_number().to_string()
            } else {
                format!("z{}", u.below(3))
            };
            field(&mut text, value.as_bytes(), separator, false);
        }
        text.push(b'\n');
        names.push(name);
    }
    let damaged = damages(u);
    if damaged {
        damage(u, &mut text);
    }
    let mut rows = match Rows::new(text.as_slice(), &COLUMNS) {
        Ok(rows) => rows,
        Err(error) => {
            assert!(damaged, "{error}: {}", text.escape_ascii());
            return Outcome::Refused;
        }
    };
    let mut read = Vec::new();
    // After an error the next row is read: it ends all the same.
    let mut refused = false;
    for _ in 0..=text.len() {
        match rows.advance() {
            Ok(true) => read.push(rows.field(0).unwrap_or_default().to_vec()),
            Ok(false) => {
                assert!(damaged || read.iter().eq(names.iter().map(String::as_bytes)));
                return if refused {
                    Outcome::Refused
                } else {
                    Outcome::Accepted
                };
            }
            Err(error) => {
                assert!(damaged, "{error}: {}", text.escape_ascii());
                refused = true;
            }
        }
    }
    panic!("no end: {}", text.escape_ascii());
}

fn node_json(u: &mut Unstructured<'_>) -> Outcome {
    let scheme = &hashroute::strategy::ALL[u.below(hashroute::strategy::ALL.len())];
    let (count, is_change) = (u.range(1, 4), u.chance(128));
    let list: Vec<_> = (0..count)
        .map(|number| {
            let name = super::nodes::name(u, number);
            super::nodes::node(u, scheme, name)
        })
        .collect();
    let change = match u.below(3) {
        0 => hashroute::Change::Add(list[0].clone()),
        1 => hashroute::Change::remove(list[0].name()),
        _ => hashroute::Change::reweight(list[0].name(), list[0].weight()),
    };
    let text = if is_change {
        serde_json::to_string(&change)
    } else {
        serde_json::to_string(&list)
    };
    let (mut text, damaged) = (text.expect("texts and numbers").into_bytes(), damages(u));
    if damaged {
        damage(u, &mut text);
    }
    let accepted = if is_change {
        let read = serde_json::from_slice::<hashroute::Change>(&text);
        assert!(damaged || read.as_ref().is_ok_and(|read| *read == change));
        read.is_ok()
    } else {
        let read = serde_json::from_slice::<Vec<hashroute::Node>>(&text);
        assert!(damaged || read.as_ref().is_ok_and(|read| *read == list));
        read.is_ok()
    };
    if accepted {
        Outcome::Accepted
    } else {
        Outcome::Refused
    }
}
