//! Varnish: shard directors with idents, weights and numbers of replicas, keys by header.

use std::fmt::Write;

use hashroute::compat::{Pool, Server, varnish::Varnish};

use crate::http::{Backends, Client};
use crate::process::{Running, free_port};
use crate::random::Random;
use crate::tally::{Fallible, Outcome, Tally, owner};

const POOLS: usize = 6;
const KEYS: usize = 400;

pub(crate) fn check(random: &mut Random) -> Outcome {
    let backends = Backends::start(8)?;
    let (folder, port) = (tempfile::tempdir()?, free_port()?);
    let (text, pools) = configuration(random, &backends)?;
    let file = folder.path().join("default.vcl");
    std::fs::write(&file, text)?;
    let (listen, data) = (format!("127.0.0.1:{port}"), folder.path().join("data"));
    let args = [
        "-F",
        "-p",
        "vcc_err_unref=off",
        "-j",
        "none",
        "-s",
        "malloc,16m",
        "-a",
        &listen,
        "-n",
    ]
    .map(str::as_ref);
    let files = [data.as_os_str(), "-f".as_ref(), file.as_os_str()];
    let args = args.into_iter().chain(files);
    let _server = Running::start("varnishd", args, &folder.path().join("log"), port)?;
    let mut client = Client::new(port);
    let mut tally = Tally::new(format!("{POOLS} shard directors"));
    for (i, pool) in pools.iter().enumerate() {
        for _ in 0..KEYS {
            let key = random.text(1..40);
            let theirs = client.get(&format!("/d{i}"), &format!("X-Key: {key}\r\n"))?;
            tally.compare(
                &format!("d{i}"),
                key.as_bytes(),
                &theirs,
                owner(pool, key.as_bytes()),
            );
        }
    }
    Ok(tally)
}

fn configuration(random: &mut Random, backends: &Backends) -> Fallible<(String, Vec<Pool>)> {
    let mut text = String::from("vcl 4.1;\nimport directors;\n");
    for (at, address) in backends.addresses.iter().enumerate() {
        let port = address.rsplit(':').next().unwrap_or_default();
        _ = writeln!(
            text,
            "backend b{at} {{ .host = \"127.0.0.1\"; .port = \"{port}\"; }}"
        );
    }
    let (mut init, mut fetch, mut pools) = (String::new(), String::new(), Vec::new());
    for i in 0..POOLS {
        _ = writeln!(init, "  new d{i} = directors.shard();");
        let mut servers = Vec::new();
        for (at, address) in backends
            .addresses
            .iter()
            .enumerate()
            .take(1 + random.below(8))
        {
            let (tenths, mut label) = (10 + u32::try_from(random.below(31))?, format!("b{at}"));
            _ = write!(
                init,
                "  d{i}.add_backend(b{at}, weight={}.{}",
                tenths / 10,
                tenths % 10
            );
            if random.below(2) == 0 {
                label = format!("{}{at}", random.text(1..12));
                _ = write!(init, ", ident=\"{label}\"");
            }
            init.push_str(");\n");
            servers.push(
                Server::new(address.as_str())
                    .with_label(label)
                    .with_weight(tenths),
            );
        }
        let replicas = 1 + u32::try_from(random.below(100))?;
        _ = writeln!(init, "  d{i}.reconfigure(replicas={replicas});");
        _ = writeln!(
            fetch,
            "  if (bereq.url == \"/d{i}\") {{ set bereq.backend = d{i}.backend(by=KEY, key=d{i}.key(bereq.http.x-key)); }}"
        );
        let system = Varnish::default()
            .with_replicas(replicas)
            .with_weight_scale(10);
        pools.push(Pool::new(system, servers)?);
    }
    _ = write!(
        text,
        "sub vcl_init {{\n{init}}}\nsub vcl_recv {{ return (pass); }}\nsub vcl_backend_fetch {{\n{fetch}}}\n"
    );
    Ok((text, pools))
}
