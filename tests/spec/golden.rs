//! Files that every later version reads as the same routers, byte for byte and key for key.

use std::fs;
use std::path::{Path, PathBuf};

use hashroute::strategy::ALL;
use hashroute::{Router, Spec};

use crate::common::Outcome;
use crate::read;

/// File; fingerprint; a digest of the owners of 2,000 keys.
#[rustfmt::skip]
const PINNED: &[(&str, u64, u64)] = &[
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/spec")
}

/// FNV-1a, 64 bits: its own, so that the digest stands apart from what it pins.
fn digest(router: &dyn Router) -> u64 {
    let mut digest = 0xcbf2_9ce4_8422_2325;
    for i in 0..2000 {
        let owner = router.route(format!("user:{i}").as_bytes());
        let name = owner.map_or("-", |node| node.name());
        for byte in name.bytes().chain([b'\n']) {
            digest = (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    digest
}

#[test]
fn files_of_old_are_read_and_written_the_same() -> Outcome {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder())? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.ok_or("a file without a name")?.to_owned();
        let text = fs::read_to_string(&path)?;
        let spec = read(&text);
        let written = if text.starts_with('{') {
            spec.to_json() + "\n"
        } else {
            spec.to_toml()
        };
        assert_eq!(written, text, "{name}");
        found.push((name, spec.fingerprint(), digest(&*spec.build()?)));
    }
    found.sort();
    let row = |(name, print, digest): &(String, u64, u64)| {
        let [print, digest] = [print, digest].map(|hash| {
            let hex = format!("{hash:016x}");
            format!(
                "0x{}_{}_{}_{}",
                &hex[..4],
                &hex[4..8],
                &hex[8..12],
                &hex[12..]
            )
        });
        format!("    ({name:?}, {print}, {digest}),\n")
    };
    let table: String = found.iter().map(row).collect();
    let pinned = PINNED
        .iter()
        .map(|&(name, print, digest)| (name.to_owned(), print, digest));
    assert!(pinned.eq(found), "as it is now:\n{table}");
    Ok(())
}

#[test]
fn every_strategy_has_a_file() {
    for strategy in ALL {
        let path = folder().join(format!("{}.toml", strategy.name));
        assert!(path.exists(), "{}", path.display());
    }
}

/// The values of one form cannot be those of another: JSON in one order, and its hash.
#[test]
fn the_canonical_bytes_are_as_documented() -> Outcome {
    let spec: Spec = fs::read_to_string(folder().join("ring.toml"))?.parse()?;
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/spec.md"))?;
    assert!(text.contains(&spec.canonical()), "{}", spec.canonical());
    assert!(text.contains(&format!("{:016x}", spec.fingerprint())));
    Ok(())
}
