//! Every dialect of the registry has checked options, a file and a page.

use std::fs;
use std::path::Path;

use hashroute::compat::{self, Server};
use hashroute::registry::{Param, Scheme};
use hashroute::strategy::Params;
use hashroute::{Error, Node, Router};

/// Returns a server name that the dialect takes: an address, without a port for Katran.
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

/// Returns keys that the system takes.
pub(crate) fn keys(dialect: &Scheme, count: u32) -> impl Iterator<Item = Vec<u8>> {
    let form = dialect.keys;
    (0..count).map(move |i| form.sample(i))
}

#[test]
fn unknown_and_absurd_options_are_refused() {
    for dialect in compat::ALL {
        let servers = || [name(dialect, 0)].map(Server::new);
        let unknown = Params::default().with("no-such-option", "1");
        let error = dialect.build(servers(), &unknown).unwrap_err();
        assert!(error.to_string().contains("no-such-option"), "{error}");
        for param in dialect.params {
            let absurd = Params::default().with(param.name, "\u{1f980}");
            let built = dialect.build(servers(), &absurd);
            // Some options take any text.
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

#[test]
fn every_dialect_is_registered_and_documented() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
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

/// The laws compare ranges with routes only for dialects that have ranges.
#[test]
fn more_than_fifteen_dialects_have_ranges() -> Result<(), Error> {
    let mut known = 0;
    for dialect in compat::ALL {
        known += usize::from(pool(dialect, 7)?.ranges().is_some());
    }
    assert!(known > 15, "{known}");
    Ok(())
}

/// The error for an option that takes one of several words lists the words.
#[test]
fn a_wrong_word_is_refused_with_the_allowed_ones() {
    let mut refused = 0;
    for dialect in compat::ALL {
        let words =
            |param: &&Param| !param.default.is_empty() && param.default.parse::<f64>().is_err();
        for param in dialect.params.iter().filter(words) {
            let params = Params::default().with(param.name, "no-such-word");
            let Err(error) = dialect.build([name(dialect, 0)].map(Node::new), &params) else {
                continue; // takes any word
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

/// A search through all servers for each line would take minutes here.
#[test]
fn a_configuration_of_sixty_thousand_servers_is_read() -> Result<(), Error> {
    let servers = (0..60_000).map(|i| format!("server 10.{}.{}.1:80;\n", i / 250, i % 250));
    let servers: String = servers.collect();
    let text = format!("upstream a {{ hash $uri;\n{servers}}}");
    let configs = compat::find("nginx")?.read(&text)?;
    assert_eq!(configs[0].servers().len(), 60_000);
    Ok(())
}
