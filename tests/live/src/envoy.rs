//! Envoy: ring and Maglev clusters with weights, ring sizes, both hashes and hash keys.

use std::fmt::Write;

use hashroute::compat;

use crate::http::{Backends, Client};
use crate::process::{Running, free_port};
use crate::random::Random;
use crate::tally::{Outcome, Tally, owner};

const POOLS: usize = 12;
const KEYS: usize = 300;

pub(crate) fn check(random: &mut Random) -> Outcome {
    let backends = Backends::start(10)?;
    let (folder, port) = (tempfile::tempdir()?, free_port()?);
    let text = configuration(random, &backends, port);
    let file = folder.path().join("envoy.yaml");
    std::fs::write(&file, &text)?;
    let args = [
        "--concurrency",
        "1",
        "--use-dynamic-base-id",
        "-l",
        "warning",
        "-c",
    ]
    .map(str::as_ref);
    let args = args.into_iter().chain([file.as_os_str()]);
    let _server = Running::start("envoy", args, &folder.path().join("log"), port)?;
    let mut client = Client::new(port);
    let mut tally = Tally::new(format!("{POOLS} clusters"));
    for config in compat::find("envoy")?.read(&text)? {
        assert!(config.unknown().is_empty(), "{:?}", config.unknown());
        let pool = config.build()?;
        for _ in 0..KEYS {
            let key = random.text(1..40);
            let theirs =
                client.get(&format!("/{}", config.name()), &format!("x-key: {key}\r\n"))?;
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

fn configuration(random: &mut Random, backends: &Backends, port: u16) -> String {
    let mut routes = String::new();
    let mut clusters = String::new();
    for i in 0..POOLS {
        _ = writeln!(
            routes,
            "                    - match: {{ path: /c{i} }}\n                      route:\n                        \
             cluster: c{i}\n                        hash_policy: [{{ header: {{ header_name: x-key }} }}]"
        );
        cluster(random, backends, i, &mut clusters);
    }
    format!(
        "static_resources:
  listeners:
    - name: all
      address: {{ socket_address: {{ address: 127.0.0.1, port_value: {port} }} }}
      filter_chains:
        - filters:
            - name: envoy.filters.network.http_connection_manager
              typed_config:
                \"@type\": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
                stat_prefix: all
                http_filters:
                  - name: envoy.filters.http.router
                    typed_config: {{ \"@type\": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router }}
                route_config:
                  virtual_hosts:
                  - name: all
                    domains: [\"*\"]
                    routes:
{routes}  clusters:
{clusters}"
    )
}

fn cluster(random: &mut Random, backends: &Backends, i: usize, text: &mut String) {
    let maglev = i % 3 == 2;
    let policy = if maglev { "MAGLEV" } else { "RING_HASH" };
    _ = writeln!(
        text,
        "    - name: c{i}\n      type: STATIC\n      connect_timeout: 5s\n      lb_policy: {policy}"
    );
    if maglev && random.below(2) == 0 {
        let size = random.pick(&[251, 1009, 65537]);
        _ = writeln!(text, "      maglev_lb_config: {{ table_size: {size} }}");
    }
    if !maglev && random.below(3) > 0 {
        let function = random.pick(&["XX_HASH", "MURMUR_HASH_2"]);
        let least = 1 + random.below(3000);
        let most = least + random.below(3000);
        _ = writeln!(
            text,
            "      ring_hash_lb_config:\n        hash_function: {function}\n        minimum_ring_size: {least}\n        maximum_ring_size: {most}"
        );
    }
    _ = writeln!(
        text,
        "      load_assignment:\n        cluster_name: c{i}\n        endpoints:\n          - lb_endpoints:"
    );
    let weighted = random.below(3) > 0;
    for address in backends.addresses.iter().take(1 + random.below(10)) {
        let (host, port) = address.split_once(':').unwrap_or_default();
        _ = writeln!(
            text,
            "              - endpoint: {{ address: {{ socket_address: {{ address: {host}, port_value: {port} }} }} }}"
        );
        if weighted {
            _ = writeln!(
                text,
                "                load_balancing_weight: {}",
                1 + random.below(9)
            );
        }
        if random.below(3) == 0 {
            let key = random.text(1..12);
            _ = writeln!(
                text,
                "                metadata: {{ filter_metadata: {{ envoy.lb: {{ hash_key: \"{key}\" }} }} }}"
            );
        }
    }
}
