//! Law 1 on every platform: the checksums of `docs/ports.md`, of every row of the registry.

use std::fs;

use hashroute::compat::Server;
use hashroute::registry::Scheme;
use hashroute::strategy::Params;
use hashroute::{Change, Error, Node, Router, scheme_name, schemes};

const SIZES: [u32; 10] = [1, 2, 3, 5, 8, 13, 21, 34, 55, 89];

/// The number of routers that [`checksum`] routes by, and the number of keys of each.
const ROUTERS: u32 = 4 * 10;
const KEYS: u32 = 25_000;

/// FNV-1a of 64 bits, written here so that the digest does not depend on what it pins.
struct Digest(u64);

impl Digest {
    fn name(&mut self, name: &str) {
        for byte in name.bytes().chain([b'\n']) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// Returns the name of node `i`, as the row takes it.
fn name(row: &Scheme, i: u32) -> String {
    match row.name {
        _ if !row.is_dialect() => format!("node-{i}"),
        "katran" => format!("10.0.0.{}", i + 1),
        _ => format!("10.0.0.{}:11211", i + 1),
    }
}

/// Builds a router with these weights in turn.
fn build(row: &Scheme, size: u32, weights: &[u32]) -> Result<Box<dyn Router>, Error> {
    let weighed = (0..size).zip(weights.iter().cycle());
    let nodes = weighed.map(|(i, &weight)| Node::new(name(row, i)).with_weight(weight));
    row.build(nodes.map(Server::from), &Params::default())
}

/// Returns the digest of the owners of the first `keys` keys of every router.
fn checksum(row: &Scheme, keys: u32) -> Result<u64, Error> {
    let mut digest = Digest(0xcbf2_9ce4_8422_2325);
    let mut first = 0;
    let mut route = |router: &dyn Router| {
        for i in first..first + keys {
            let owner = router.route(&row.keys.sample(i));
            digest.name(owner.map_or("-", Node::name));
        }
        first += KEYS;
    };
    for size in SIZES {
        let mut router = build(row, size, &[1, 2, 3]).or_else(|_| build(row, size, &[1]))?;
        route(&*router);
        // What a row refuses changes nothing.
        let _ = router.apply(&Change::Add(Node::new(name(row, size)).with_weight(2)));
        route(&*router);
        let _ = router.apply(&Change::reweight(name(row, 1), 3));
        route(&*router);
        let gone = [0, size].map(|i| Change::remove(name(row, i)));
        let _ = gone.iter().find(|change| router.apply(change).is_ok());
        route(&*router);
    }
    assert_eq!(first, ROUTERS * KEYS);
    Ok(digest.0)
}

/// Compares the checksums of every row with those of the page: the short ones, or both.
fn as_on_the_page(columns: usize) -> Result<(), Box<dyn core::error::Error>> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/ports.md");
    let page = fs::read_to_string(page)?;
    let mut wrong = String::new();
    for row in schemes() {
        let mut line = format!("| `{}` |", scheme_name(row));
        for keys in [KEYS / 10, KEYS].iter().take(columns) {
            let sum = checksum(row, *keys).map_err(|error| format!("{}: {error}", row.name))?;
            line = format!("{line} `{sum:016x}` |");
        }
        if !page.lines().any(|known| known.starts_with(&line)) {
            wrong = format!("{wrong}{line}\n");
        }
    }
    assert!(
        wrong.is_empty(),
        "docs/ports.md has other checksums; they are now\n{wrong}"
    );
    let rows = page.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(rows, schemes().count(), "a row is gone");
    Ok(())
}

#[test]
fn short_checksums_are_those_of_the_page() -> Result<(), Box<dyn core::error::Error>> {
    as_on_the_page(1)
}

#[test]
#[ignore = "a million routes for each row: seconds in a release build, minutes in a debug build"]
fn all_checksums_are_those_of_the_page() -> Result<(), Box<dyn core::error::Error>> {
    as_on_the_page(2)
}
