//! Apache Traffic Server: parents by `round_robin=consistent_hash`, with hash strings and weights.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use hashroute::compat::{Pool, Server, trafficserver::TrafficServer};

use crate::http::{Backends, Client};
use crate::process::{Running, free_port};
use crate::random::Random;
use crate::tally::{Fallible, Outcome, Tally, owner};

const POOLS: usize = 6;
const KEYS: usize = 400;

const LAYOUT: &str = "prefix: .\nexec_prefix: .\nbindir: /usr/bin\nsbindir: /usr/sbin\nsysconfdir: ./etc\n\
    datadir: ./share\nincludedir: ./include\nlibdir: /usr/lib/trafficserver\n\
    libexecdir: /usr/lib/trafficserver/modules\nlocalstatedir: ./var\nruntimedir: ./var\nlogdir: ./log\n\
    cachedir: ./cache\n";
const ALLOW: &str =
    "ip_allow:\n  - apply: in\n    ip_addrs: 0/0\n    action: allow\n    methods: ALL\n";

pub(crate) fn check(random: &mut Random) -> Outcome {
    let backends = Backends::start(8)?;
    let (folder, port) = (tempfile::tempdir()?, free_port()?);
    let (parents, pools) = configuration(random, &backends)?;
    write_files(folder.path(), port, &parents)?;
    let root = format!("--run-root={}", folder.path().display());
    let _server = Running::start("traffic_server", [root], &folder.path().join("out"), port)?;
    let mut client = Client::new(port);
    let mut tally = Tally::new(format!("{POOLS} lines of parents"));
    for (i, pool) in pools.iter().enumerate() {
        for _ in 0..KEYS {
            let mut key = format!("/{}", random.text(0..40));
            if random.below(3) == 0 {
                key = format!("{key}?{}", random.text(0..20));
            }
            let theirs = client.get(&format!("http://p{i}.test{key}"), "")?;
            tally.compare(
                &format!("p{i}"),
                key.as_bytes(),
                &theirs,
                owner(pool, key.as_bytes()),
            );
        }
    }
    Ok(tally)
}

fn write_files(folder: &Path, port: u16, parents: &str) -> Fallible<()> {
    for name in ["etc", "var", "log", "cache", "share"] {
        fs::create_dir(folder.join(name))?;
    }
    let records = format!(
        "CONFIG proxy.config.http.server_ports STRING {port}:ip-in=127.0.0.1\n\
         CONFIG proxy.config.http.cache.http INT 0\n\
         CONFIG proxy.config.http.parent_proxy.self_detect INT 0\n\
         CONFIG proxy.config.url_remap.remap_required INT 0\n\
         CONFIG proxy.config.http.no_dns_just_forward_to_parent INT 1\n\
         CONFIG proxy.config.log.logging_enabled INT 0\n\
         CONFIG proxy.config.admin.user_id STRING #-1\n"
    );
    let files = [
        ("runroot.yaml", LAYOUT),
        ("etc/records.config", &records),
        ("etc/ip_allow.yaml", ALLOW),
        ("etc/parent.config", parents),
        ("etc/remap.config", ""),
        ("etc/plugin.config", ""),
        ("etc/storage.config", "var 16M\n"),
    ];
    for (name, text) in files {
        fs::write(folder.join(name), text)?;
    }
    Ok(())
}

fn configuration(random: &mut Random, backends: &Backends) -> Fallible<(String, Vec<Pool>)> {
    let (mut text, mut pools) = (String::new(), Vec::new());
    for i in 0..POOLS {
        let (mut parents, mut servers) = (Vec::new(), Vec::new());
        for (at, address) in backends
            .addresses
            .iter()
            .enumerate()
            .take(1 + random.below(8))
        {
            let tenths = 5 + u32::try_from(random.below(26))?;
            // Without a hash string all parents would be equal, since they are on one host.
            let label = format!("{}{at}", random.text(1..12));
            parents.push(format!("{address}|{}.{}&{label}", tenths / 10, tenths % 10));
            servers.push(
                Server::new(address.as_str())
                    .with_label(label)
                    .with_weight(tenths),
            );
        }
        _ = writeln!(
            text,
            "dest_domain=p{i}.test parent=\"{}\" round_robin=consistent_hash go_direct=false",
            parents.join(";")
        );
        let system = TrafficServer::default().with_weight_scale(10);
        pools.push(Pool::new(system, servers)?);
    }
    Ok((text, pools))
}
