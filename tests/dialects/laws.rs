//! Laws over the whole registry of dialects.

use core::time::Duration;
use std::fs;
use std::path::Path;
use std::time::Instant;

use hashroute::compat::{self, Server};
use hashroute::registry::{Param, Scheme, Setup};
use hashroute::strategy::Params;
use hashroute::{Change, Error, KeyHash, Node, Router, RouterExt, Spread};
use proptest::collection::vec;
use proptest::prelude::{Just, any, prop_oneof};

use crate::common::{for_all, place};

/// A name that the system takes: an address, of which Katran's have no port.
pub(crate) fn name(dialect: &Scheme, i: usize) -> String {
    let port = if dialect.name == "katran" {
        ""
    } else {
        ":11211"
    };
    format!("10.0.{}.{}{port}", i / 200, 1 + i % 200)
}

fn pool(dialect: &Scheme, count: usize) -> Result<Box<dyn Router>, Error> {
    let servers = (0..count).map(|i| Server::new(name(dialect, i)));
    dialect.build(servers, &Params::default())
}

/// Keys that the system takes.
pub(crate) fn keys(dialect: &Scheme, count: u32) -> impl Iterator<Item = Vec<u8>> {
    let form = dialect.keys;
    (0..count).map(move |i| form.sample(i))
}

fn owners(dialect: &Scheme, pool: &dyn Router) -> Vec<Option<String>> {
    let owner = |key: Vec<u8>| pool.route(&key).map(|node| node.name().to_owned());
    keys(dialect, 300).map(owner).collect()
}

#[test]
fn a_key_has_a_live_owner_and_distinct_replicas() -> Result<(), Error> {
    for dialect in compat::ALL {
        for count in [1, 2, 7] {
            let pool = pool(dialect, count)?;
            for key in keys(dialect, 100) {
                let owner = pool.route(&key);
                assert!(owner.is_some(), "{}: {key:?}", dialect.name);
                let id = pool.owner(&key);
                assert_eq!(owner, id.and_then(|id| pool.nodes().get(id)));
                let all = pool.replicas(&key, count, Spread::Nodes);
                assert_eq!(
                    (all.first(), all.len()),
                    (id.as_ref(), count),
                    "{}",
                    dialect.name
                );
                let two = pool.replicas(&key, 2, Spread::Nodes);
                assert_eq!(two[..], all[..count.min(2)], "{}", dialect.name);
            }
        }
    }
    Ok(())
}

/// A change is a change of the configuration: what is left is as if it had never been different.
#[test]
fn a_changed_pool_is_the_pool_of_its_servers() -> Result<(), Error> {
    for dialect in compat::ALL {
        let servers = (0..7).map(|i| Server::new(name(dialect, i)));
        let mut setup = Setup::new(dialect, servers, Params::default());
        let mut pool = setup.build()?;
        let start = owners(dialect, &*pool);
        let [second, last, new] = [1, 6, 7].map(|i| name(dialect, i));
        for change in [
            Change::Add(Node::new(new.as_str())),
            Change::remove(new.as_str()),
            Change::reweight(last.as_str(), 0),
            Change::reweight(last.as_str(), 1),
            Change::reweight(second.as_str(), 3),
            Change::remove(second.as_str()),
            Change::remove(last.as_str()),
        ] {
            let before = owners(dialect, &*pool);
            match pool.apply(&change) {
                Ok(()) => {
                    setup.apply(&change)?;
                    let expected = owners(dialect, &*setup.build()?);
                    assert_eq!(
                        owners(dialect, &*pool),
                        expected,
                        "{} {change:?}",
                        dialect.name
                    );
                }
                // Not every system has weights, or can do without one in the middle.
                Err(_) => assert_eq!(
                    owners(dialect, &*pool),
                    before,
                    "{} {change:?}",
                    dialect.name
                ),
            }
            if change == Change::reweight(last.as_str(), 1) {
                assert_eq!(
                    owners(dialect, &*pool),
                    start,
                    "{}: back again",
                    dialect.name
                );
            }
        }
    }
    Ok(())
}

#[test]
fn no_server_no_owner_and_nothing_down_owns() -> Result<(), Error> {
    for dialect in compat::ALL {
        let empty = pool(dialect, 0)?;
        let mut one = pool(dialect, 3)?;
        let drained = (0..3)
            .rev()
            .all(|i| one.apply(&Change::reweight(name(dialect, i), 0)).is_ok());
        for key in keys(dialect, 50) {
            assert_eq!(empty.route(&key), None, "{}", dialect.name);
            if drained {
                assert_eq!(one.route(&key), None, "{}", dialect.name);
            }
        }
    }
    Ok(())
}

/// Any names, weights and keys: an error or an answer, in little time and memory.
#[test]
fn nothing_panics_or_takes_memory_for_absurd_weights() {
    let name = prop_oneof![
        "[a-z0-9.:/-]{0,12}",
        "\\PC{0,8}",
        Just("10.0.0.1:80".to_owned())
    ];
    let weight = prop_oneof![0..5_u32, Just(u32::MAX), 1..=300_u32];
    let inputs = (vec((name, weight), 0..6), vec(vec(any::<u8>(), 0..300), 4));
    for dialect in compat::ALL {
        for_all(16, &inputs, |(servers, keys)| {
            let servers = servers
                .into_iter()
                .map(|(name, weight)| Server::new(name).with_weight(weight));
            let Ok(pool) = dialect.build(servers, &Params::default()) else {
                return;
            };
            for key in &keys {
                let up = |node: &Node| node.weight() > 0;
                assert!(pool.route(key).is_none_or(up), "{} {key:?}", dialect.name);
                let list = pool.replicas(key, 3, Spread::Zones);
                let Some(hash) = pool.hash_key(key) else {
                    assert!(pool.route(key).is_none() && list.is_empty());
                    continue;
                };
                let most = pool.nodes().weighted().min(3);
                assert_eq!(list.len(), most, "{} {key:?}", dialect.name);
                let placed = place(&pool, hash);
                let placed = placed.and_then(|id| pool.nodes().get(id));
                assert!(placed.is_none_or(up), "{} {key:?}", dialect.name);
                pool.explain(hash);
            }
        });
    }
}

#[test]
fn options_are_checked() {
    for dialect in compat::ALL {
        let servers = || [name(dialect, 0)].map(Server::new);
        let unknown = Params::default().with("no-such-option", "1");
        let error = dialect.build(servers(), &unknown).unwrap_err();
        assert!(error.to_string().contains("no-such-option"), "{error}");
        for param in dialect.params {
            let absurd = Params::default().with(param.name, "\u{1f980}");
            let built = dialect.build(servers(), &absurd);
            // Some options are any text.
            assert!(
                built.is_ok() || built.unwrap_err().to_string().contains('\u{1f980}'),
                "{} {}",
                dialect.name,
                param.name
            );
            assert!(!param.about.is_empty());
        }
    }
}

/// A dialect that nobody can name is of no use, nor is one that no page explains.
#[test]
fn every_file_is_in_the_registry_and_has_a_page() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let registry = fs::read_to_string(root.join("src/compat/mod.rs")).expect("the registry");
    for file in fs::read_dir(root.join("src/compat")).expect("the folder") {
        let path = file.expect("an entry").path();
        let file = if path.is_dir() {
            path.join("mod.rs")
        } else {
            path.clone()
        };
        let text = fs::read_to_string(file).expect("text");
        let stem = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if text.contains("const DIALECT") {
            assert!(
                registry.contains(&format!("    {stem}::DIALECT,")),
                "{stem}"
            );
        }
    }
    let pages = fs::read_dir(root.join("docs/dialects")).expect("the pages");
    let pages: Vec<_> = pages
        .map(|page| fs::read_to_string(page.expect("a page").path()).expect("text"))
        .collect();
    for dialect in compat::ALL {
        let named = format!("--dialect {}", dialect.name);
        assert!(
            pages.iter().any(|page| page.contains(&named)),
            "no page says {named}"
        );
    }
}

#[test]
fn ranges_are_the_routes() -> Result<(), Error> {
    let mut known = 0;
    for dialect in compat::ALL {
        let mut pool = pool(dialect, 7)?;
        // Some systems let only the last one go.
        let down = [2, 6].map(|i| Change::reweight(name(dialect, i).as_str(), 0));
        assert!(down.iter().any(|change| pool.apply(change).is_ok()));
        let Some(ranges) = pool.ranges() else {
            continue;
        };
        known += 1;
        let ends = ranges.iter().step_by(ranges.len() / 300 + 1);
        let near = ends.flat_map(|range| [range.first, range.last]);
        let keys = keys(dialect, 300).filter_map(|key| pool.hash_key(&key));
        for key in near.map(KeyHash::from_raw).chain(keys) {
            let owners = [ranges.owner(key), pool.route_hash(key)];
            assert_eq!(owners[0], owners[1], "{} {key:?}", dialect.name);
        }
    }
    assert!(known > 15, "{known}");
    Ok(())
}

/// What is one of several words is no number, and the error says the words.
#[test]
fn a_wrong_word_is_told_the_right_ones() {
    let mut refused = 0;
    for dialect in compat::ALL {
        let words =
            |param: &&Param| !param.default.is_empty() && param.default.parse::<f64>().is_err();
        for param in dialect.params.iter().filter(words) {
            let params = Params::default().with(param.name, "no-such-word");
            let Err(error) = dialect.build([name(dialect, 0)].map(Node::new), &params) else {
                continue; // any word will do
            };
            let Error::Parameter {
                name,
                value,
                expected,
            } = error
            else {
                panic!("{} {}: {error}", dialect.name, param.name);
            };
            let of = (dialect.name, &*name, &*value);
            assert_eq!(of, (dialect.name, param.name, "no-such-word"));
            assert!(
                !expected.contains("number") && !expected.contains("cannot be used"),
                "{} {}: {expected}",
                dialect.name,
                param.name
            );
            refused += 1;
        }
    }
    assert!(refused > 25, "{refused}");
}

/// In a debug build 0.2 s; with a search through all servers for each, a minute.
#[test]
fn long_files_are_read_in_little_time() -> Result<(), Error> {
    let servers = (0..60_000).map(|i| {
        format!(
            "server {};\n",
            format_args!("10.{}.{}.1:80", i / 250, i % 250)
        )
    });
    let text = format!(
        "upstream a {{ hash $uri;\n{}}}",
        servers.collect::<String>()
    );
    let start = Instant::now();
    let configs = compat::find("nginx")?.read(&text)?;
    assert_eq!(configs[0].servers().len(), 60_000);
    assert!(start.elapsed() < Duration::from_secs(5));
    Ok(())
}
