//! What a file is, by its first lines; files that gzip and zstd packed.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use hashroute_harness::{DumpFormat, FileKind, Keys, unpack};
use proptest::prelude::*;

fn dump(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../harness/tests/data/dumps");
    fs::read(folder.join(name).with_extension("txt")).expect("a fixture")
}

#[test]
fn recorded_dumps_are_known_by_their_first_lines() {
    for (name, kind) in [
        ("bigkeys", FileKind::Dump(DumpFormat::BigKeys)),
        ("memkeys", FileKind::Dump(DumpFormat::MemKeys)),
        (
            "memkeys_7_4_from_source",
            FileKind::Dump(DumpFormat::MemKeys),
        ),
        ("keystats_from_source", FileKind::Dump(DumpFormat::KeyStats)),
        ("scan_numbered", FileKind::Dump(DumpFormat::Scan)),
        ("metadump", FileKind::Dump(DumpFormat::Metadump)),
    ] {
        assert_eq!(FileKind::of(&dump(name)), Some(kind), "{name}");
        assert!(kind.option().is_some(), "{name}");
    }
}

#[test]
fn other_files_are_known_by_their_first_lines() {
    for (start, kind) in [
        ("key,size,requests\nuser:0,100,19\n", FileKind::Csv),
        ("\u{feff}id;Key\n1;a\n", FileKind::Csv),
        ("hits\tkey\n3\ta\n", FileKind::Csv),
        ("\"user:1\"\n{\"hex\":\"8b\"}\n", FileKind::JsonLines),
        ("[\n  \"a\"\n]\n", FileKind::Json),
        ("{\"key\":\"a\"}\n{\"key\":\"b\"}\n", FileKind::Json),
        (
            "# Scanning the entire keyspace to find hot keys as well as\n# average sizes\n",
            FileKind::Dump(DumpFormat::HotKeys),
        ),
        ("NOAUTH Authentication required.\n", FileKind::ServerError),
        (
            "Could not connect to Redis at 127.0.0.1:6379: Connection refused\n",
            FileKind::ServerError,
        ),
        (
            "07c37dfeb235213a872192d90877d0cd55635b91 127.0.0.1:30004@31004 slave e7d1 0 1426238317239 4 connected\n",
            FileKind::ClusterNodes,
        ),
        (
            "{\"format\":\"hashroute counts\",\"version\":1,",
            FileKind::Counts,
        ),
    ] {
        assert_eq!(FileKind::of(start.as_bytes()), Some(kind), "{start}");
    }
    assert_eq!(
        FileKind::of(b"PAR1\x15\x04\x15\x80"),
        Some(FileKind::Binary("Parquet"))
    );
    assert_eq!(FileKind::of(b"\xff\xfeu\0s\0"), Some(FileKind::Utf16));
}

#[test]
fn keys_that_only_resemble_another_format_stay_keys() {
    for keys in [
        "",
        "key\nvalue\n",
        "a,b\nc,d\n",
        "\"quoted\n\"twice\n",
        "{user}:1\n{user}:2\n",
        "{\"a\":1}\nplain\n",
        "key=a\nkey=b\n",
        "1) first\n2) second\n",
        "PAR1\nPAR2\n",
        "12\nuser:1\n",
        "hot keys\nbiggest keys\n",
    ] {
        assert_eq!(FileKind::of(keys.as_bytes()), None, "{keys}");
    }
}

proptest! {
    #![proptest_config(hashroute_test_support::fixed(256))]

    #[test]
    fn no_start_of_a_file_is_a_panic(start in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = FileKind::of(&start);
        if let Ok((mut input, _)) = unpack(&start[..]) {
            let _ = io::copy(&mut input, &mut io::sink());
        }
    }
}

fn lines() -> Vec<u8> {
    let keys = Keys::template("user:{i}", 0..50_000).expect("keys");
    keys.iter().flat_map(|key| [key, b"\n"].concat()).collect()
}

fn unpacked(packed: &[u8]) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    unpack(packed)?.0.read_to_end(&mut text)?;
    Ok(text)
}

#[cfg(feature = "gzip")]
fn gzip(text: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    flate2::read::GzEncoder::new(text, flate2::Compression::fast())
        .read_to_end(&mut packed)
        .expect("memory");
    packed
}

#[cfg(feature = "zstd")]
fn zstd(text: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(text, ruzstd::encoding::CompressionLevel::Fastest)
}

/// Checks one format: whole, in several parts, cut off, and with one wrong bit.
#[cfg(any(feature = "gzip", feature = "zstd"))]
fn check(name: &str, pack: fn(&[u8]) -> Vec<u8>) {
    let text = lines();
    let (first, second) = text.split_at(text.len() / 3);
    let (whole, parts) = (pack(&text), [pack(first), pack(second)].concat());
    assert_eq!(unpacked(&whole).expect(name), text, "{name}");
    assert_eq!(unpacked(&parts).expect(name), text, "{name}");
    assert_eq!(
        FileKind::of(&whole).expect(name).to_string(),
        format!("packed by {name}")
    );
    let (_, kind) = unpack(&*pack(b"key,size\na,1\n")).expect(name);
    assert_eq!(kind, Some(FileKind::Csv), "the kind of what is inside");
    let cut = unpacked(&whole[..whole.len() / 2]).expect_err(name);
    assert!(cut.to_string().contains(name), "{cut}");
    let mut wrong = whole;
    let middle = wrong.len() / 2;
    wrong[middle] ^= 4;
    let damaged = unpacked(&wrong).expect_err(name);
    assert!(damaged.to_string().contains(name), "{damaged}");
}

#[cfg(feature = "gzip")]
#[test]
fn files_of_gzip_are_unpacked() {
    check("gzip", gzip);
}

#[cfg(feature = "zstd")]
#[test]
fn files_of_zstd_are_unpacked_with_frames_that_hold_no_data() {
    check("zstd", zstd);
    let skipped = [
        &[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..],
        b"abc",
        &zstd(b"a\nb\n"),
    ]
    .concat();
    assert_eq!(unpacked(&skipped).expect("zstd"), b"a\nb\n");
}
