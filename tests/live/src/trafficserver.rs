//! Apache Traffic Server: parents by `consistent_hash`, with hash strings and weights, in `parent.config` and
//! in `strategies.yaml`.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use hashroute::compat;

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
    let mut tally = Tally::new(format!("{POOLS} lines of parents, {POOLS} strategies"));
    // One server for each file: a strategy marks parents on its own host as down for both.
    for form in [Form::Parents, Form::Strategies] {
        compare(random, &backends, form, &mut tally)?;
    }
    Ok(tally)
}

/// The file that lists parents.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Parents,
    Strategies,
}

fn compare(
    random: &mut Random,
    backends: &Backends,
    form: Form,
    tally: &mut Tally,
) -> Fallible<()> {
    let (folder, port) = (tempfile::tempdir()?, free_port()?);
    let text = configuration(random, backends, form);
    let (parents, strategies) = match form {
        Form::Parents => (&*text, ""),
        Form::Strategies => ("", &*text),
    };
    write_files(folder.path(), port, parents, strategies)?;
    let root = format!("--run-root={}", folder.path().display());
    let _server = Running::start("traffic_server", [root], &folder.path().join("out"), port)?;
    let mut client = Client::new(port);
    let configs = compat::find("trafficserver")?.read(&text)?;
    for (i, config) in configs.iter().enumerate() {
        assert!(config.unknown().is_empty(), "{:?}", config.unknown());
        let pool = config.build()?;
        for _ in 0..KEYS {
            let mut key = format!("/{}", random.text(0..40));
            if random.below(3) == 0 {
                key = format!("{key}?{}", random.text(0..20));
            }
            let theirs = client.get(&format!("http://p{i}.test{key}"), "")?;
            let ours = owner(&*pool, key.as_bytes());
            tally.compare(config.name(), key.as_bytes(), &theirs, ours);
        }
    }
    assert_eq!(configs.len(), POOLS);
    Ok(())
}

fn write_files(folder: &Path, port: u16, parents: &str, strategies: &str) -> Fallible<()> {
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
    let mut remap = String::new();
    if !strategies.is_empty() {
        for i in 0..POOLS {
            _ = writeln!(
                remap,
                "map http://p{i}.test/ http://p{i}.test/ @strategy=p{i}"
            );
        }
    }
    let mut files = vec![
        ("runroot.yaml", LAYOUT),
        ("etc/records.config", records.as_str()),
        ("etc/ip_allow.yaml", ALLOW),
        ("etc/parent.config", parents),
        ("etc/remap.config", remap.as_str()),
        ("etc/plugin.config", ""),
        ("etc/storage.config", "var 16M\n"),
    ];
    if !strategies.is_empty() {
        files.push(("etc/strategies.yaml", strategies));
    }
    for (name, text) in files {
        fs::write(folder.join(name), text)?;
    }
    Ok(())
}

/// Writes pools of parents: their addresses, hash strings and weights.
fn configuration(random: &mut Random, backends: &Backends, form: Form) -> String {
    let mut text = String::new();
    if form == Form::Strategies {
        text.push_str("strategies:\n");
    }
    for i in 0..POOLS {
        let mut parents = Vec::new();
        let count = 1 + random.below(8);
        for (at, address) in backends.addresses.iter().enumerate().take(count) {
            let tenths = 5 + random.below(26);
            // Without a hash string all parents would be equal, since they are on one host.
            let label = format!("{}{at}", random.text(1..12));
            let weight = format!("{}.{}", tenths / 10, tenths % 10);
            parents.push((address, weight, label));
        }
        match form {
            Form::Parents => {
                let parents: Vec<_> = parents
                    .iter()
                    .map(|(address, weight, label)| format!("{address}|{weight}&{label}"))
                    .collect();
                let query = random.pick(&["", " qstring=ignore", " qstring=consider"]);
                _ = writeln!(
                    text,
                    "dest_domain=p{i}.test parent=\"{}\" round_robin=consistent_hash \
                     go_direct=false{query}",
                    parents.join(";")
                );
            }
            Form::Strategies => {
                let key = random.pick(&["path", "path+query"]);
                _ = writeln!(
                    text,
                    "- strategy: p{i}\n  policy: consistent_hash\n  hash_key: {key}\n  \
                     go_direct: false\n  ignore_self_detect: true\n  scheme: http\n  groups:\n  -"
                );
                for (address, weight, label) in parents {
                    let (host, port) = address.split_once(':').unwrap_or((address, "0"));
                    _ = writeln!(
                        text,
                        "    - host: {host}\n      hash_string: '{label}'\n      weight: {weight}\n      \
                         protocol: [{{scheme: http, port: {port}}}]"
                    );
                }
            }
        }
    }
    text
}
