//! HAProxy: `hash-type` consistent and map-based, its four functions, avalanche, weights, ids,
//! disabled servers.

use std::fmt::Write;

use hashroute::compat;

use crate::http::{Backends, Client};
use crate::process::{Running, free_port};
use crate::random::Random;
use crate::tally::{Outcome, Tally, owner};

const POOLS: usize = 16;
const KEYS: usize = 300;

pub(crate) fn check(random: &mut Random) -> Outcome {
    let backends = Backends::start(12)?;
    let (folder, port) = (tempfile::tempdir()?, free_port()?);
    let text = configuration(random, &backends, port);
    let file = folder.path().join("haproxy.cfg");
    std::fs::write(&file, &text)?;
    let args = ["-db".as_ref(), "-f".as_ref(), file.as_os_str()];
    let _server = Running::start("haproxy", args, &folder.path().join("log"), port)?;
    let mut client = Client::new(port);
    let mut tally = Tally::new(format!("{POOLS} backend sections"));
    for config in compat::find("haproxy")?.read(&text)? {
        assert!(config.unknown().is_empty(), "{:?}", config.unknown());
        let pool = config.build()?;
        for _ in 0..KEYS {
            let key = random.text(1..40);
            let theirs = client.get(&format!("/{}/?k={key}", config.name()), "")?;
            // Servers are called `at-ADDRESS`.
            let ours = owner(&pool, key.as_bytes()).trim_start_matches("at-");
            tally.compare(config.name(), key.as_bytes(), &theirs, ours);
        }
    }
    Ok(tally)
}

fn configuration(random: &mut Random, backends: &Backends, port: u16) -> String {
    let mut text = format!(
        "global\n  maxconn 1000\ndefaults\n  mode http\n  timeout connect 5s\n  timeout client 30s\n  \
         timeout server 30s\nfrontend all\n  bind 127.0.0.1:{port}\n"
    );
    for i in 0..POOLS {
        _ = writeln!(text, "  use_backend pool{i} if {{ path_beg /pool{i}/ }}");
    }
    for i in 0..POOLS {
        let method = random.pick(&["consistent", "map-based"]);
        let function = random.pick(&["sdbm", "djb2", "wt6", "crc32"]);
        let avalanche = random.pick(&["", " avalanche"]);
        _ = writeln!(
            text,
            "backend pool{i}\n  balance url_param k\n  hash-type {method} {function}{avalanche}"
        );
        let count = 1 + random.below(backends.addresses.len());
        let ids = random.below(2) == 0;
        for (at, address) in backends.addresses.iter().take(count).enumerate() {
            _ = write!(text, "  server at-{address} {address}");
            if random.below(4) > 0 {
                _ = write!(text, " weight {}", 1 + random.below(20));
            }
            if ids {
                _ = write!(text, " id {}", 1 + at * 100 + random.below(100));
            }
            if at > 0 && random.below(5) == 0 {
                text.push_str(" disabled");
            }
            text.push('\n');
        }
    }
    text
}
