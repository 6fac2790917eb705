//! The configuration files of real systems: read, built, written and read again.

mod envoy;
mod haproxy;
mod libmemcached;
mod nginx;
mod trafficserver;
mod twemproxy;

use arbitrary::Unstructured;
use hashroute::compat;
use hashroute::registry::{Config, Scheme, Setup};
use hashroute::{Node, Router};

pub(crate) use self::envoy::envoy;
pub(crate) use self::haproxy::haproxy;
pub(crate) use self::libmemcached::libmemcached;
pub(crate) use self::nginx::nginx;
pub(crate) use self::trafficserver::trafficserver;
pub(crate) use self::twemproxy::twemproxy;
use crate::Outcome;
use crate::draw::{Draw, damage_text, put};

/// The largest number in a parameter, and the largest sum of weights, with which a pool is built.
/// Larger ones are legal, and only slow.
const MOST: u64 = 4096;
const MOST_WEIGHT: u64 = 64;

/// Reads the text of a dialect, damaged or not, and checks what was read.
fn check(u: &mut Unstructured<'_>, dialect: &str, mut text: String) -> Outcome {
    let scheme = compat::find(dialect).expect("a dialect");
    let damaged = damage_text(u, &mut text);
    let read = scheme.read(&text);
    let configs = match read {
        Ok(configs) => configs,
        Err(error) => {
            let message = error.to_string();
            assert!(
                !message.is_empty() && !message.contains("line 0"),
                "{message}"
            );
            return Outcome::Refused;
        }
    };
    let lines = text.lines().count() + 1;
    assert!(!configs.is_empty());
    if !damaged && u.chance(16) {
        let seen = compat::recognize(&text).map(|scheme| scheme.name);
        assert!(seen.is_none_or(|seen| seen == dialect), "{seen:?}: {text}");
    }
    for config in &configs {
        assert!(core::ptr::eq(config.scheme(), scheme));
        for unknown in config.unknown() {
            assert!(
                (1..=lines).contains(&unknown.line),
                "{unknown:?} of {lines} lines"
            );
            assert!(!unknown.message().is_empty());
        }
        if let Some(error) = config.error() {
            assert!(!error.to_string().is_empty() && config.servers().is_empty());
        } else {
            assert!(scheme.check(config.params()).is_ok(), "{config:?}");
            if u.chance(12) && is_small(config) {
                built(u, config);
            }
        }
    }
    Outcome::Accepted
}

fn is_small(config: &Config) -> bool {
    let weight: u64 = config
        .servers()
        .iter()
        .map(|server| u64::from(server.weight()))
        .sum();
    let Ok(values) = config.scheme().values(config.params()) else {
        return false;
    };
    let mut numbers = values
        .values()
        .filter_map(|value| value.parse::<u64>().ok());
    // The default ring of Envoy, and its table, are larger.
    weight <= MOST_WEIGHT && numbers.all(|number| number <= MOST)
}

/// Builds a pool, and writes and reads it again.
fn built(u: &mut Unstructured<'_>, config: &Config) {
    let setup = config.setup().expect("no error");
    let Ok(router) = config.build() else {
        return;
    };
    assert_eq!(router.nodes().len(), config.servers().len());
    let keys: [Vec<u8>; 3] = core::array::from_fn(|_| u.key());
    for key in &keys {
        let hash = router.hash_key(key);
        let owner = router.route(key);
        assert_eq!(
            owner,
            hash.and_then(|hash| router.nodes().get(router.route_hash(hash)?))
        );
        assert!(owner.is_none_or(|node| node.weight() > 0), "{owner:?}");
    }
    again(config.scheme(), &setup, &*router, &keys);
}

/// Writes a set-up as a configuration, and reads the same pool from it.
fn again(scheme: &'static Scheme, setup: &Setup, router: &dyn Router, keys: &[Vec<u8>]) {
    if !scheme.writes_config() {
        return;
    }
    let Ok(written) = scheme.write(setup, "pool") else {
        return;
    };
    let configs = scheme.read(&written).expect("what we wrote");
    let [config] = configs.as_slice() else {
        panic!("{written}");
    };
    // A name that DNS may resolve to several addresses gets a sentence; we write no directive.
    assert!(
        config.unknown().iter().all(|unknown| unknown.is_sentence),
        "{written}"
    );
    assert_eq!(config.servers(), setup.servers(), "{written}");
    let other = config.build().expect("what we wrote");
    for key in keys {
        let [ours, theirs] = [router, &*other].map(|router| router.route(key).map(Node::name));
        assert_eq!(ours, theirs, "{written}");
    }
}

/// Puts an address: IPv4 with a port in most cases.
fn address(u: &mut Unstructured<'_>, text: &mut String) {
    match u.byte() {
        0..=179 => put!(
            text,
            "10.0.{}.{}:{}",
            u.below(3),
            u.below(200),
            80 + u.below(3)
        ),
        180..=209 => put!(text, "h{}.example:80{}", u.below(50), u.below(10)),
        210..=229 => put!(text, "[fd00::{:x}]:80", u.below(99)),
        _ => {
            u.word(8, text);
            put!(text, ":{}", u.range(1, 65_535));
        }
    }
}

fn weight(u: &mut Unstructured<'_>) -> usize {
    match u.byte() {
        0..=239 => u.range(1, 5),
        _ => u.range(1, 256),
    }
}

/// Puts white space, and sometimes a comment.
fn gap(u: &mut Unstructured<'_>, text: &mut String) {
    text.push_str(u.pick(&[" ", " ", " ", "  ", "\t", " \t "]));
}

pub(crate) fn redis_cluster(u: &mut Unstructured<'_>) -> Outcome {
    let text = super::cluster::nodes_text(u, 16_384);
    check(u, "redis-cluster", text)
}
