//! Systems with the same algorithm send every key to the same server.

use hashroute::compat::{self, Server};
use hashroute::strategy::Params;
use hashroute::{Error, KeyHash, Node, Router};
use proptest::collection::{btree_map, vec};
use proptest::prelude::{Strategy, any, prop_oneof};

use hashroute_test_support::for_all;

/// Generates addresses that nginx and the memcached clients write alike, with or without a port.
fn address() -> impl Strategy<Value = String> {
    prop_oneof![
        "10\\.[0-9]{1,3}\\.[0-9]{1,3}\\.[0-9]{1,3}:[0-9]{1,5}",
        "[a-z][a-z0-9.-]{0,20}:[0-9]{1,5}",
        "[a-z][a-z0-9.-]{0,20}",
        "\\[[0-9a-f]{1,4}::[0-9a-f]{1,4}\\]:[0-9]{1,5}",
    ]
}

fn servers() -> impl Strategy<Value = Vec<Server>> {
    let weighted = btree_map(address(), 1..20_u32, 1..12).prop_map(|servers| {
        let servers = servers.into_iter();
        servers
            .map(|(name, weight)| Server::new(name).with_weight(weight))
            .collect::<Vec<_>>()
    });
    weighted.prop_shuffle()
}

fn pool(dialect: &str, servers: &[Server], params: &Params) -> Result<Box<dyn Router>, Error> {
    compat::find(dialect)?.build(servers.iter().cloned(), params)
}

#[test]
fn nginx_routes_as_cache_memcached_fast_with_160_points() {
    let keys = vec(vec(any::<u8>(), 1..40), 1..50);
    for_all(32, &(servers(), keys), |(servers, keys)| {
        let points = Params::default().with("ketama_points", "160");
        let nginx = pool("nginx", &servers, &Params::default()).expect("a pool");
        let client = pool("cache-memcached-fast", &servers, &points).expect("a pool");
        for key in keys {
            let [left, right] = [&nginx, &client].map(|pool| pool.route(&key).map(Node::name));
            assert_eq!(left, right, "{key:?} of {servers:?}");
            assert!(left.is_some());
        }
    });
}

#[test]
fn modulo_is_the_same_in_perl_python_and_nginx() {
    let keys = vec("[!-~]{1,40}", 1..50);
    for_all(32, &(servers(), keys), |(servers, keys)| {
        let hash = Params::default().with("method", "hash");
        let nginx = pool("nginx", &servers, &hash).expect("a pool");
        let perl = pool("cache-memcached-fast", &servers, &Params::default()).expect("a pool");
        let python = pool("python-memcached", &servers, &Params::default()).expect("a pool");
        for key in keys {
            let owners =
                [&nginx, &perl, &python].map(|pool| pool.route(key.as_bytes()).map(Node::name));
            // One exception: Python uses 1 where the others use 0.
            if nginx.hash_key(key.as_bytes()) != Some(KeyHash::from_raw(0)) {
                assert!(
                    owners.iter().all(|owner| *owner == owners[0]),
                    "{key}: {owners:?}"
                );
            }
        }
    });
}
