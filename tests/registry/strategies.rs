//! Every strategy of the registry has a file, a name, parameters and documents.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use hashroute::strategy::{ALL, Params, find};
use hashroute::{Change, HashFunction, KeyHasher, Node, Router};
use hashroute_test_support::{Outcome, build, fit, keys, nodes, owners, state};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// Returns name and file of each strategy in src/strategy: a file, or a folder with a mod.rs.
fn strategy_files() -> Result<Vec<(String, PathBuf)>, Box<dyn core::error::Error>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(root().join("src/strategy"))? {
        let path = entry?.path();
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        let stem = stem.ok_or("a file without a name")?.to_owned();
        if path.is_dir() {
            files.push((stem, path.join("mod.rs")));
        } else if !["mod", "draw"].contains(&&*stem) {
            files.push((stem, path));
        }
    }
    if files.is_empty() {
        return Err("no strategy files".into());
    }
    Ok(files)
}

#[test]
fn every_strategy_file_is_in_the_registry() -> Outcome {
    for (stem, file) in strategy_files()? {
        assert!(
            ALL.iter().any(|strategy| strategy.name == stem),
            "src/strategy/{stem}.rs has no line in strategy::ALL"
        );
        let text = fs::read_to_string(&file)?;
        let row = format!("Scheme::strategy(\n    {stem:?},");
        assert!(
            text.contains(&row),
            "src/strategy/{stem}.rs has no row with {row}"
        );
        assert!(
            text.contains("//! Peers must share"),
            "src/strategy/{stem}.rs does not say what peers must share"
        );
        assert!(
            text.contains("//! | lookup | memory | change |"),
            "src/strategy/{stem}.rs has no table of costs"
        );
    }
    Ok(())
}

#[test]
fn every_strategy_is_found_by_its_unique_name() -> Outcome {
    let names: BTreeSet<_> = ALL.iter().map(|strategy| strategy.name).collect();
    assert_eq!(names.len(), ALL.len(), "two strategies of one name");
    for strategy in ALL {
        assert_eq!(find(strategy.name)?.name, strategy.name);
        assert!(!strategy.about.is_empty());
        let params: BTreeSet<_> = strategy.params.iter().map(|param| param.name).collect();
        assert_eq!(params.len(), strategy.params.len(), "{}", strategy.name);
    }
    assert!(find("").is_err() && find("Ring").is_err());
    Ok(())
}

#[test]
fn the_stated_defaults_are_the_defaults() -> Outcome {
    for strategy in ALL {
        let stated = strategy
            .params
            .iter()
            .fold(Params::default(), |params, param| {
                params.with(param.name, param.default)
            });
        let [plain, stated] =
            [Params::default(), stated].map(|params| strategy.build(nodes(6), &params));
        let (plain, stated) = (plain?, stated?);
        assert!(state(&*plain) == state(&*stated), "{}", strategy.name);
        let keys = keys(60, 500);
        assert_eq!(
            owners(&*plain, &keys),
            owners(&*stated, &keys),
            "{}",
            strategy.name
        );
    }
    Ok(())
}

/// Services log `Debug`, and tests compare states by it.
#[test]
fn debug_of_a_router_is_short_and_shows_every_change() -> Outcome {
    for strategy in ALL {
        for count in [5, 1000] {
            let mut router = build(strategy, nodes(count));
            let before = state(&*router);
            assert!(before.len() < 1500, "{}: {before}", strategy.name);
            router.apply(&Change::add("new"))?;
            assert_ne!(state(&*router), before, "{}", strategy.name);
        }
    }
    Ok(())
}

#[test]
fn parameters_that_cannot_be_used_are_refused() {
    for strategy in ALL {
        let refused = |params: &Params| {
            let error = strategy.build(nodes(3), params).err();
            error.is_some_and(|error| !error.to_string().is_empty())
        };
        let unknown = Params::default().with("no-such-parameter", "1");
        assert!(refused(&unknown), "{}", strategy.name);
        for param in strategy.params {
            for value in ["", "nonsense", "-1", "0x10", "1e999"] {
                let params = Params::default().with(param.name, value);
                assert!(
                    refused(&params),
                    "{} {} = {value:?}",
                    strategy.name,
                    param.name
                );
            }
        }
    }
}

#[test]
fn every_strategy_takes_the_smallest_clusters() {
    for strategy in ALL {
        for count in [0, 1, 2] {
            let router = build(strategy, nodes(count));
            assert_eq!(
                router.route(b"key").is_some(),
                count > 0,
                "{}",
                strategy.name
            );
            assert_eq!(router.nodes().len(), count);
        }
        let drained = nodes(3)
            .into_iter()
            .map(|node| node.with_weight(fit(strategy, 0)));
        let router = build(strategy, drained);
        let weighs = fit(strategy, 0) > 0;
        assert_eq!(router.route(b"key").is_some(), weighs, "{}", strategy.name);
        assert_eq!(router.nodes().len(), 3);
    }
}

#[test]
fn the_hasher_of_the_parameters_is_used() -> Outcome {
    for strategy in ALL {
        for &function in HashFunction::ALL {
            let hasher = KeyHasher::new(function);
            let params = Params::default().with_hasher(hasher.clone());
            let hash = strategy
                .build([Node::new("a")], &params)?
                .hash_key(b"user:42");
            let ways = [hasher.raw(b"user:42"), hasher.spread(b"user:42")].map(Some);
            assert!(ways.contains(&hash), "{} {function}", strategy.name);
        }
    }
    Ok(())
}

#[test]
fn the_readme_mentions_every_strategy() -> Outcome {
    let readme = fs::read_to_string(root().join("README.md"))?;
    for strategy in ALL {
        let name = format!("`{}`", strategy.name);
        assert!(readme.contains(&name), "README.md does not mention {name}");
    }
    Ok(())
}
