//! Keys from the output of programs: as recorded, cut off anywhere, and damaged.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::Path;

use hashroute_harness::stream::{BadLines, KeySource};
use hashroute_harness::{Dump, DumpFormat, DumpReader, FileKind, InputError, Keys};
use proptest::prelude::*;

const FILES: &[(&str, DumpFormat)] = &[
    ("bigkeys", DumpFormat::BigKeys),
    ("memkeys", DumpFormat::MemKeys),
    ("memkeys_7_4_from_source", DumpFormat::MemKeys),
    ("memkeys_terminal_from_source", DumpFormat::MemKeys),
    ("hotkeys", DumpFormat::HotKeys),
    ("keystats_from_source", DumpFormat::KeyStats),
    ("scan_plain", DumpFormat::Scan),
    ("scan_quoted", DumpFormat::Scan),
    ("scan_numbered", DumpFormat::Scan),
    ("scan_cursors", DumpFormat::Scan),
    ("metadump", DumpFormat::Metadump),
];

const BINARY: &[u8] = b"\x00\xff\"\\quo'te\n\r\t\x07\x08";

fn text(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../harness/tests/data/dumps");
    fs::read(folder.join(name).with_extension("txt")).expect("a fixture")
}

fn read(name: &str) -> Dump {
    let &(_, format) = FILES.iter().find(|file| file.0 == name).expect("listed");
    Keys::dump(format, text(name).as_slice(), true).expect("every line is known")
}

fn sizes(dump: &Dump) -> BTreeMap<&[u8], u64> {
    let sizes = dump.keys.sizes().expect("sizes");
    dump.keys.iter().zip(sizes.iter().copied()).collect()
}

/// Returns the keys that were written to the server.
fn written() -> BTreeSet<Vec<u8>> {
    let users = (0..40).map(|i| format!("user:{i}").into_bytes());
    let others: [&[u8]; 9] = [
        BINARY,
        b"it's 'q' with 9 bytes",
        b"",
        "ключ".as_bytes(),
        b"list one",
        b"h:1",
        b"s:1",
        b"z\"1\"",
        b"stream:1",
    ];
    users.chain(others.map(<[u8]>::to_vec)).collect()
}

#[test]
fn hot_keys_come_with_their_counters() {
    let dump = read("hotkeys");
    let keys: Vec<_> = dump.keys.iter().collect();
    assert_eq!(keys, [&b"hot:3"[..], b"we\0ird \n k"]);
    assert_eq!(dump.keys.requests(), Some(&[12, 16][..]));
    assert_eq!(
        (dump.source.keys_seen, dump.source.partial),
        (Some(7212), true)
    );
    // Without the single quotes of Redis 7.0, and interrupted.
    let text = b"[01.00%] Hot key \"a\" found so far with counter 3\n[02.00%] Sampled 9 keys in the keyspace!\n";
    let dump = Keys::dump(DumpFormat::HotKeys, &text[..], true).expect("read");
    assert_eq!(
        (dump.keys.requests(), dump.source.keys_seen),
        (Some(&[3][..]), Some(9))
    );
    for bad in [
        "[01.00%] Hot key '\"a\"' found so far with counter x",
        "user:1",
    ] {
        let dump = Keys::dump(DumpFormat::HotKeys, bad.as_bytes(), true);
        assert!(dump.is_err(), "{bad}");
    }
}

#[test]
fn the_first_lines_tell_the_format() {
    for (name, format) in FILES {
        let found = FileKind::of(&text(name));
        let known = match format {
            // Plain keys may be anything, and a quoted one may be a key.
            _ if ["scan_plain", "scan_quoted", "scan_cursors"].contains(name) => None,
            other => Some(FileKind::Dump(*other)),
        };
        assert_eq!(found, known, "{name}");
    }
}

#[test]
fn a_scan_gives_back_every_key() {
    for name in ["scan_quoted", "scan_numbered"] {
        let dump = read(name);
        let found: BTreeSet<_> = dump.keys.iter().map(<[u8]>::to_vec).collect();
        assert_eq!(found, written(), "{name}");
        assert_eq!(
            (dump.keys.len(), dump.source.keys_listed),
            (49, 49),
            "{name}"
        );
        assert!(
            !dump.source.partial && dump.source.limits.is_empty(),
            "{name}"
        );
        assert_eq!(dump.keys.sizes(), None);
    }
    // In raw form, --scan cuts a key at a zero byte, and a reply keeps its line feeds.
    let (first, second) = BINARY.split_at(BINARY.iter().position(|b| *b == b'\n').expect("one"));
    let mut expected = written();
    expected.remove(BINARY);
    let found: BTreeSet<_> = read("scan_plain").keys.iter().map(<[u8]>::to_vec).collect();
    assert_eq!(found, expected);
    expected.extend([first.to_vec(), second[1..].to_vec()]);
    expected.remove(&b""[..]);
    let found: BTreeSet<_> = read("scan_cursors")
        .keys
        .iter()
        .map(<[u8]>::to_vec)
        .collect();
    assert_eq!(found, expected);
    assert!(
        read("scan_cursors").source.limits[0].contains("lines of digits (3) are read as cursors")
    );
}

#[test]
fn lists_of_the_largest_keys_have_sizes() {
    let dump = read("memkeys");
    let sizes = sizes(&dump);
    assert_eq!(sizes[&b"it's 'q' with 9 bytes"[..]], 5192);
    assert_eq!(sizes[&b"z\"1\""[..]], 496);
    assert_eq!(sizes.len(), dump.keys.len(), "no key twice");
    let source = &dump.source;
    assert_eq!(source.keys_seen, Some(49));
    // 648 + 816 + 8856 + 4736 + 208 + 496.
    assert_eq!(source.bytes_seen, Some(15_760));
    assert_eq!(source.bytes_listed, Some(sizes.values().sum()));
    assert!(source.partial && source.limits[0].contains("of 49"));
    let newer = read("memkeys_7_4_from_source");
    assert_eq!(self::sizes(&newer), sizes);
    // A terminal shows the final keys and those that were the largest when it was redrawn.
    let terminal = read("memkeys_terminal_from_source");
    assert_eq!(
        (terminal.keys.len(), terminal.source.keys_seen),
        (7, Some(49))
    );
    assert_eq!(self::sizes(&terminal)[&b"stream:1"[..]], 4736);
}

#[test]
fn sizes_in_elements_are_not_taken_for_bytes() {
    let dump = read("bigkeys");
    assert_eq!((dump.keys.sizes(), dump.source.bytes_seen), (None, None));
    assert!(dump.keys.iter().any(|key| key == b"z\"1\""));
    assert!(
        dump.source
            .limits
            .iter()
            .any(|limit| limit.contains("--memkeys"))
    );
    let strings = b"[00.00%] Biggest string found so far '\"a\"' with 3 bytes\n";
    let dump = Keys::dump(DumpFormat::BigKeys, &strings[..], true).expect("read");
    assert_eq!(dump.keys.sizes(), Some(&[3][..]));
}

#[test]
fn sizes_of_keystats_are_rounded_and_marked_so() {
    let dump = read("keystats_from_source");
    let sizes = sizes(&dump);
    assert_eq!((dump.keys.len(), sizes[BINARY]), (10, 104));
    assert_eq!(sizes[&b"it's 'q' with 9 bytes"[..]], 5192); // 5.07 x 1024 = 5191.68
    assert_eq!(dump.source.keys_seen, Some(49));
    assert_eq!(dump.source.bytes_seen, Some(15_206)); // 14.85 x 1024 = 15206.4
    assert!(
        dump.source
            .limits
            .iter()
            .any(|limit| limit.contains("rounded"))
    );
    for (size, bytes) in [
        ("1.50M", Some(1_572_864)),
        ("2G", Some(2 << 30)),
        ("7", None),
        ("1.2.3K", None),
        ("-1B", None),
        ("99999999999E", None),
        ("K", None),
    ] {
        let text = format!("--- Top 10 key sizes ---\n  1 {size:>8} string     \"a\"\n");
        let dump = Keys::dump(DumpFormat::KeyStats, text.as_bytes(), true);
        assert_eq!(
            dump.ok().and_then(|dump| dump.source.bytes_listed),
            bytes,
            "{size}"
        );
    }
}

#[test]
fn memcached_items_have_sizes_in_bytes() {
    let dump = read("metadump");
    let sizes = sizes(&dump);
    assert_eq!(
        (sizes.len(), sizes[&b"user:0"[..]], sizes[&b"user:29"[..]]),
        (33, 65, 356)
    );
    assert_eq!(sizes[&b"\x00 bin\r\nkey\xff"[..]], 73);
    assert_eq!(sizes[&b"a%b&c=d+\"e\""[..]], 73);
    assert!(!dump.source.partial && dump.source.limits.is_empty());
}

/// Lines that older and other programs print.
#[test]
fn lines_of_other_versions_are_read() -> Result<(), InputError> {
    let one = |format, line: &[u8]| DumpReader::new(format).line(line);
    let key = |format, line: &[u8]| Ok::<_, InputError>(one(format, line)?.map(|row| row.key));
    // Before Redis 6 names were printed without quotes.
    let raw = b"[12.00%] Biggest string found so far 'it's with 9 bytes' with 3 bytes";
    assert_eq!(
        key(DumpFormat::BigKeys, raw)?.as_deref(),
        Some(&b"it's with 9 bytes"[..])
    );
    let has = b"Biggest   hash found '\"a has b\"' has 90 fields";
    assert_eq!(
        key(DumpFormat::BigKeys, has)?.as_deref(),
        Some(&b"a has b"[..])
    );
    for beside in [
        "",
        "# comment",
        "[05.14%] Sampled 1000000 keys so far",
        "0 lists with 0 items (00.00% of keys, avg size 0.00)",
        "-------- summary -------",
    ] {
        assert_eq!(
            one(DumpFormat::BigKeys, beside.as_bytes())?,
            None,
            "{beside}"
        );
    }
    // The answer of KEYS has no cursor.
    assert_eq!(
        key(DumpFormat::Scan, b"1) \"many\"")?.as_deref(),
        Some(&b"many"[..])
    );
    for prompt in ["127.0.0.1:6379> scan 0", "", "r:6379> SCAN 12 COUNT 5"] {
        assert_eq!(one(DumpFormat::Scan, prompt.as_bytes())?, None, "{prompt}");
    }
    for (format, bad, words) in [
        (
            DumpFormat::BigKeys,
            "Could not connect to Redis at 127.0.0.1:6379: Connection refused",
            "Could not",
        ),
        (
            DumpFormat::BigKeys,
            "Biggest string found '\"a\"' has many bytes",
            "Biggest TYPE found",
        ),
        (
            DumpFormat::BigKeys,
            "Biggest string found '\"a\"' has 18446744073709551616 bytes",
            "N bytes",
        ),
        (
            DumpFormat::Metadump,
            "BUSY currently processing crawler request",
            "memcached says BUSY",
        ),
        (DumpFormat::Metadump, "key=%4 size=1", "hexadecimal"),
        (DumpFormat::Metadump, "key=a exp=1", "no size=NUMBER"),
        (DumpFormat::Scan, "1) \"\\x4\"", "cursor"),
    ] {
        let error = one(format, bad.as_bytes()).expect_err(bad).to_string();
        assert!(
            error.contains("line 1: ") && error.contains(words),
            "{bad}: {error}"
        );
    }
    Ok(())
}

#[test]
fn bad_lines_are_counted_with_their_numbers() {
    let text = "key=a size=1\n?\nkey=b size=2\n".to_owned() + &"!\n".repeat(9) + "END\n";
    let source = Keys::dump(DumpFormat::Metadump, text.as_bytes(), false)
        .expect("read")
        .source;
    assert_eq!((source.keys_listed, source.bad_lines), (2, 10));
    let lines: Vec<_> = source.first_bad.iter().map(|bad| bad.line).collect();
    assert_eq!(lines, [2, 4, 5, 6, 7]);
    let vast = format!("key=a size={}\nkey=b size=1\nEND\n", u64::MAX);
    let source = Keys::dump(DumpFormat::Metadump, vast.as_bytes(), false)
        .expect("read")
        .source;
    assert_eq!((source.keys_listed, source.bad_lines), (1, 1));
}

/// Whatever part of an output arrives, its keys are among those of the whole, and the source says
/// what is missing where the format shows it.
#[test]
fn an_output_that_is_cut_off_gives_some_of_its_keys_and_says_so() {
    for &(name, format) in FILES {
        let text = text(name);
        let whole: BTreeSet<_> = read(name).keys.iter().map(<[u8]>::to_vec).collect();
        for end in 0..text.len() {
            let dump = Keys::dump(format, &text[..end], false).expect("no strictness");
            let source = &dump.source;
            assert!(source.bad_lines <= 1, "{name} {end}: {source:?}");
            let raw = name == "scan_plain" || name == "scan_cursors";
            assert!(
                raw || dump.keys.iter().all(|key| whole.contains(key)),
                "{name} {end}"
            );
            let ends = matches!(format, DumpFormat::Metadump);
            assert!(
                !ends || source.partial || text[..end].trim_ascii().ends_with(b"END"),
                "{name} {end}"
            );
        }
    }
}

proptest! {
    #![proptest_config(hashroute_test_support::fixed(256))]

    /// Any bytes come back from the quotes of `redis-cli`.
    #[test]
    fn a_quoted_key_gives_back_its_bytes(key in prop::collection::vec(any::<u8>(), 0..40), plain in any::<bool>()) {
        let quoted: String = key.iter().map(|&byte| match byte {
            b'"' | b'\\' => format!("\\{}", char::from(byte)),
            b'\n' => "\\n".into(),
            b'\r' => "\\r".into(),
            b'\t' => "\\t".into(),
            7 => "\\a".into(),
            8 => "\\b".into(),
            b' '..=b'~' => char::from(byte).to_string(),
            _ => format!("\\x{byte:02x}"),
        }).collect();
        let quote = if plain { "" } else { "'" };
        let texts = [
            (DumpFormat::Scan, format!("\"{quoted}\"\n")),
            (DumpFormat::Scan, format!("1) \"0\"\n2) 1) \"{quoted}\"\n")),
            (DumpFormat::MemKeys, format!("[00.00%] Biggest string found so far {quote}\"{quoted}\"{quote} with 9 bytes\n")),
            (DumpFormat::KeyStats, format!("--- Top 10 key sizes ---\n  1       9B string     \"{quoted}\"\n")),
        ];
        for (format, text) in texts {
            let dump = Keys::dump(format, text.as_bytes(), true).expect("a key");
            prop_assert!(dump.keys.iter().eq([key.as_slice()]), "{text}");
        }
    }

    /// Bytes of a recording are changed, lost and doubled: there is an answer, and it is bounded.
    #[test]
    fn a_damaged_output_never_panics(
        which in 0..FILES.len(),
        twists in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3), 1..30),
        format in 0..FILES.len(),
    ) {
        let mut text = text(FILES[which].0);
        for (index, byte, kind) in twists {
            let at = index.index(text.len());
            match kind {
                0 => text[at] = byte,
                1 => drop(text.remove(at)),
                _ => text.insert(at, byte),
            }
        }
        for format in [FILES[which].1, FILES[format].1] {
            let dump = Keys::dump(format, text.as_slice(), false).expect("no strictness");
            prop_assert_eq!(dump.keys.len() as u64, dump.source.keys_listed);
            prop_assert!(dump.source.first_bad.len() <= 5);
            let sizes = dump.keys.sizes().map(|sizes| sizes.iter().sum());
            prop_assert_eq!(sizes, dump.source.bytes_listed);
        }
    }

    #[test]
    fn any_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for &(_, format) in FILES {
            let dump = Keys::dump(format, bytes.as_slice(), false).expect("no strictness");
            prop_assert_eq!(dump.keys.len() as u64, dump.source.keys_listed);
        }
    }
}

/// Gives a few bytes at a time, as a pipe may.
struct Drops<'a>(&'a [u8]);

impl Read for Drops<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = buffer.len().min(97);
        self.0.read(&mut buffer[..count])
    }
}

#[test]
fn a_stream_gives_the_same_keys_as_reading_at_once() {
    for &(name, format) in FILES {
        let text = [text(name), b"what is this\n\x00\n".to_vec()].concat();
        let whole = Keys::dump(format, text.as_slice(), false).expect("bytes");
        let mut end = None;
        let mut source = KeySource::dump(format, Drops(&text), |list| end = Some(list));
        let (mut keys, mut bad) = (Keys::default(), BadLines::default());
        while let Some(batch) = source.next_keys(&mut bad).expect("bytes") {
            keys.append(&batch).expect("all with sizes, or none");
        }
        drop(source);
        assert!(keys.iter().eq(whole.keys.iter()), "{name}");
        assert_eq!(keys.sizes(), whole.keys.sizes(), "{name}");
        let list = end.expect("the end");
        assert_eq!(
            (bad.count, &bad.first),
            (list.bad_lines, &list.first_bad),
            "{name}"
        );
        assert_eq!(list, whole.source, "{name}");
    }
}
