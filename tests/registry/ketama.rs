//! twemproxy and libmemcached build the same ring.

use hashroute::compat::hashkit::{Char, Function};
use hashroute::compat::libmemcached::{self, Libmemcached, Weighted};
use hashroute::compat::twemproxy::Twemproxy;
use hashroute::compat::{Pool, Server};
use hashroute::{Error, Node, Router};
use proptest::collection::{btree_map, vec};
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::sample;

use hashroute_test_support::for_all;

/// The hash functions of both programs.
const SHARED: [Function; 9] = [
    Function::OneAtATime,
    Function::Md5,
    Function::Crc32,
    Function::Fnv1_64,
    Function::Fnv1a64,
    Function::Fnv1_32,
    Function::Fnv1a32,
    Function::Murmur,
    Function::Jenkins,
];

fn servers() -> impl Strategy<Value = Vec<Server>> {
    let host = "[a-z][a-z0-9-]{0,9}(\\.example)?|10\\.[0-9]\\.[0-9]\\.[0-9]";
    let port = prop_oneof![Just(11211_u16), 1..=u16::MAX];
    let weights = prop_oneof![Just(1..=1_u32), Just(1..=20), Just(1..=100_000)];
    weights.prop_flat_map(move |weights| {
        btree_map((host, port.clone()), weights, 1..40).prop_map(|servers| {
            let server =
                |((host, port), weight)| Server::new(format!("{host}:{port}")).with_weight(weight);
            servers.into_iter().map(server).collect()
        })
    })
}

fn pools(servers: &[Server], hash: Function, char: Char) -> Result<(Pool, Pool), Error> {
    let twemproxy = Twemproxy::default().with_hash(hash).with_char(char);
    let libmemcached = Libmemcached::default()
        .with_distribution(libmemcached::ServerDistribution::Consistent)
        .with_weighted(Weighted::Always)
        .with_hash(hash)
        .with_char(char);
    let servers = || servers.iter().cloned();
    Ok((
        Pool::new(twemproxy, servers())?,
        Pool::new(libmemcached, servers())?,
    ))
}

/// All keys but the empty one, which twemproxy does not hash.
#[test]
fn twemproxy_and_weighted_libmemcached_build_the_same_ring() {
    let hash = sample::select(&SHARED[..]);
    let char = sample::select(&[Char::Signed, Char::Unsigned][..]);
    let keys = vec(vec(any::<u8>(), 1..40), 100);
    let inputs = (servers(), any::<sample::Index>(), hash, char, keys);
    for_all(64, &inputs, |(mut servers, down, hash, char, keys)| {
        for _ in 0..2 {
            let (twemproxy, libmemcached) = pools(&servers, hash, char).expect("good servers");
            assert_eq!(twemproxy.layout().len(), libmemcached.layout().len());
            for key in &keys {
                assert_eq!(twemproxy.hash_key(key), libmemcached.hash_key(key));
                let owner = twemproxy.route(key).map(Node::name);
                assert_eq!(owner, libmemcached.route(key).map(Node::name));
            }
            // Again with one server ejected.
            let at = down.index(servers.len());
            servers[at] = servers[at].clone().down();
        }
    });
}
