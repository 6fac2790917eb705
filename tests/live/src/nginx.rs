//! nginx: `upstream` blocks with `hash` and `hash ... consistent`, weights and servers down.

use std::fmt::Write;

use hashroute::compat;

use crate::http::{Backends, Client};
use crate::process::{Running, free_port};
use crate::random::Random;
use crate::tally::{Outcome, Tally, owner};

const POOLS: usize = 8;
const KEYS: usize = 500;

pub(crate) fn check(random: &mut Random) -> Outcome {
    let backends = Backends::start(12)?;
    let (folder, port) = (tempfile::tempdir()?, free_port()?);
    let text = configuration(
        random,
        &backends,
        port,
        &folder.path().display().to_string(),
    );
    let file = folder.path().join("nginx.conf");
    std::fs::write(&file, &text)?;
    let args = ["-e", "/dev/stderr", "-c"]
        .map(Into::into)
        .into_iter()
        .chain([file.into_os_string()]);
    let _server =
        Running::start::<std::ffi::OsString>("nginx", args, &folder.path().join("log"), port)?;
    let mut client = Client::new(port);
    let mut tally = Tally::new(format!("{POOLS} upstream blocks"));
    for config in compat::find("nginx")?.read(&text)? {
        assert!(config.unknown().is_empty(), "{:?}", config.unknown());
        let pool = config.build()?;
        for _ in 0..KEYS {
            let key = random.text(1..40);
            let theirs = client.get(&format!("/{}?k={key}", config.name()), "")?;
            tally.compare(
                config.name(),
                key.as_bytes(),
                &theirs,
                owner(&pool, key.as_bytes()),
            );
        }
    }
    Ok(tally)
}

fn configuration(random: &mut Random, backends: &Backends, port: u16, folder: &str) -> String {
    let mut upstreams = String::new();
    let mut locations = String::new();
    for i in 0..POOLS {
        let method = if i % 2 == 0 { " consistent" } else { "" };
        _ = writeln!(
            upstreams,
            "  upstream pool{i} {{\n    hash $arg_k{method};\n    keepalive 4;"
        );
        let count = 1 + random.below(backends.addresses.len());
        for (at, address) in backends.addresses.iter().take(count).enumerate() {
            let weight = match random.below(4) {
                0 => String::new(),
                _ => format!(" weight={}", 1 + random.below(9)),
            };
            let down = if at > 0 && random.below(4) == 0 {
                " down"
            } else {
                ""
            };
            _ = writeln!(upstreams, "    server {address}{weight}{down};");
        }
        upstreams.push_str("  }\n");
        _ = writeln!(
            locations,
            "    location /pool{i} {{ proxy_pass http://pool{i}; }}"
        );
    }
    format!(
        "daemon off;\nworker_processes 1;\npid {folder}/pid;\nevents {{}}\nhttp {{\n  access_log off;\n\
         client_body_temp_path {folder}/body;\n  proxy_temp_path {folder}/proxy;\n  fastcgi_temp_path {folder}/fcgi;\n\
         uwsgi_temp_path {folder}/uwsgi;\n  scgi_temp_path {folder}/scgi;\n{upstreams}  server {{\n    \
         listen 127.0.0.1:{port};\n    keepalive_requests 1000000;\n{locations}  }}\n}}\n"
    )
}
