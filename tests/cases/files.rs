//! Configuration files in forms that people posted, with other names and addresses. `expected.tsv` has
//! the owners of some keys.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use hashroute::compat::{find, recognize};
use hashroute::registry::{Config, Unknown};
use hashroute::{Error, Node};

type Outcome = Result<(), Box<dyn core::error::Error>>;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/cases")
}

/// Reads a file whose folder has the name of its dialect.
fn read(file: &str) -> Result<Result<Vec<Config>, Error>, Box<dyn core::error::Error>> {
    let text = fs::read_to_string(folder().join(file))?;
    let dialect = file.split('/').next().unwrap_or_default();
    Ok(find(dialect)?.read(&text))
}

fn refusal(file: &str) -> Result<String, Box<dyn core::error::Error>> {
    Ok(read(file)?.map_or_else(|error| error.to_string(), |_| String::new()))
}

// kubernetes/ingress-nginx#1846, alibaba/tengine#697, nginx-stream-upsync-module#47,
// openresty/lua-resty-balancer#11, haproxy/haproxy#94 and #814, envoyproxy/envoy#38815 and #23967,
// istio/istio#42806, twitter/twemproxy#32, #78, #175 and #472.
#[test]
fn files_of_users_give_the_routes_of_their_systems() -> Outcome {
    let text = fs::read_to_string(folder().join("expected.tsv"))?;
    let mut routes = BTreeMap::<_, Vec<_>>::new();
    for line in text.lines().skip(1) {
        let [file, pool, key, node] = line.split('\t').collect::<Vec<_>>()[..] else {
            return Err(format!("not four fields: {line}").into());
        };
        routes.entry((file, pool)).or_default().push((key, node));
    }
    assert!(routes.len() >= 14);
    for ((file, name), routes) in routes {
        let configs = read(file)??;
        let config = configs.iter().find(|config| config.name() == name);
        let config = config.ok_or_else(|| format!("{file}: no pool {name}"))?;
        assert!(
            config.unknown().is_empty(),
            "{file}: {:?}",
            config.unknown()
        );
        let pool = config.build()?;
        for (key, node) in routes {
            let owner = pool.route(key.as_bytes()).map(Node::name);
            assert_eq!(owner, Some(node), "{file}, {name}, {key}");
        }
    }
    Ok(())
}

#[test]
fn files_of_users_are_recognized() -> Outcome {
    for dialect in ["envoy", "haproxy", "nginx", "twemproxy"] {
        for file in fs::read_dir(folder().join(dialect))? {
            let path = file?.path();
            let text = fs::read_to_string(&path)?;
            let seen = recognize(&text).map(|row| row.name);
            assert_eq!(seen, Some(dialect), "{}", path.display());
        }
    }
    Ok(())
}

// twitter/twemproxy#30, #282 and #38; envoyproxy/envoy#26153; nginx/nginx#191.
#[test]
fn refusals_name_what_is_missing_in_the_words_of_the_file() -> Outcome {
    for (file, start) in [
        (
            "twemproxy/t1-no-pool-name.yml",
            "line 1: the pool has no name",
        ),
        (
            "twemproxy/t4-no-blank-after-colon.yml",
            "line 2: a blank is missing after \"listen:\"",
        ),
        ("envoy/e3-config-dump-eds.json", "line 6: type EDS"),
    ] {
        let refusal = refusal(file)?;
        assert!(refusal.starts_with(start), "{file}: {refusal}");
    }
    Ok(())
}

// nginx/nginx#523: one name with `resolve` "works like round robin".
#[test]
fn a_name_that_dns_resolves_comes_with_a_note() -> Outcome {
    let config = read("nginx/n4-resolve.conf")??.remove(0);
    let notes: Vec<_> = config.unknown().iter().map(Unknown::message).collect();
    assert_eq!(notes.len(), 1);
    assert!(notes[0].contains("its addresses take turns"), "{notes:?}");
    Ok(())
}

// haproxytech/kubernetes-ingress#574 and haproxytech/dataplaneapi#223.
#[test]
fn servers_that_are_hashed_by_address_have_no_order() -> Outcome {
    let text = fs::read_to_string(folder().join("haproxy/h5-hash-key.cfg"))?;
    let (head, servers) = text.split_at(text.find("    server a").unwrap_or_default());
    let back: String = servers
        .lines()
        .rev()
        .flat_map(|line| [line, "\n"])
        .collect();
    let haproxy = find("haproxy")?;
    let build = |text: &str| haproxy.read(text)?[0].build();
    let (one, two) = (build(&text)?, build(&[head, &back].concat())?);
    for i in 0..300_u32 {
        let key = i.to_be_bytes();
        assert_eq!(
            one.route(&key).map(Node::name),
            two.route(&key).map(Node::name)
        );
    }
    Ok(())
}
