//! Keys that somebody crafted so that a hash cannot tell them apart, and figures that must not
//! believe it.
//!
//! XXH3 multiplies the first eight bytes of a block with the next eight, each after an exclusive or
//! with a secret that everybody knows. Bytes that equal the secret make the product 0, whatever the
//! other eight bytes are. (Seen by an attack on the figures of this program: 60,000 keys were 1.)

use hashroute::registry::{Params, Setup};
use hashroute::{KeyHasher, Node, Rendezvous, Router, RouterExt, strategy};
use hashroute_harness::skew::{Diagnosis, Evidence};
use hashroute_harness::stream::{Consumer, Counter, Tally};
use hashroute_harness::{Assignment, Balance, Cause, Keys, balance};
use xxhash_rust::xxh3::xxh3_128_with_seed;

/// The seed that ids of keys once had.
const SEED: u64 = 0x7374_7265_616d_6564;

/// Returns 64 bytes for each number, all with one XXH3 of 128 bits under this seed. The four
/// products are 0. What is left of each half is a sum that the words beside them give, and two of
/// these words are chosen so that it stays the same.
fn crafted(seed: u64, number: u64) -> [u8; 64] {
    let [first, third, fifth, seventh] = zeros(seed);
    let constant = 0x5eed_u64;
    // high = (third + fourth) ^ (first + second)
    let second = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let fourth = (constant ^ first.wrapping_add(second)).wrapping_sub(third);
    let words = [first, second, third, fourth, fifth, 1, seventh, 1];
    let mut key = [0; 64];
    for (bytes, word) in key.chunks_exact_mut(8).zip(words) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    key
}

/// Returns the words that make the four products 0.
fn zeros(seed: u64) -> [u64; 4] {
    // The blocks of 64 bytes meet the secret at 0, 32, 48 and 16.
    let secret = [
        0xb8_u8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21,
        0xad, 0x1c, 0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7,
        0xb3, 0x67, 0x1f, 0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d,
        0xcc, 0xff, 0x72, 0x21, 0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90,
        0xe6, 0x81, 0x3a, 0x26, 0x4c,
    ];
    [0, 32, 48, 16].map(|at| {
        let mut word = [0; 8];
        word.copy_from_slice(&secret[at..at + 8]);
        u64::from_le_bytes(word).wrapping_add(seed)
    })
}

const COUNT: u64 = 60_000;

fn router() -> Rendezvous {
    Rendezvous::new((0..10).map(|i| Node::new(format!("node-{i}")))).expect("nodes")
}

/// All crafted keys, or those that go to one node.
fn keys(only: bool) -> Keys {
    let router = router();
    let first = router.nodes().id("node-0");
    let mut keys = Keys::default();
    for number in 0..COUNT {
        let key = crafted(SEED, number);
        if !only || router.owner(&key) == first {
            keys.push(&key);
        }
    }
    keys
}

fn tally(keys: &Keys) -> Tally {
    let router = router();
    let mut counter = Counter::new("rendezvous", &router).expect("no loads");
    counter.add(keys);
    counter.into_tally()
}

#[test]
fn the_crafted_keys_have_one_xxh3() {
    for seed in [0, SEED] {
        let hash = |number| xxh3_128_with_seed(&crafted(seed, number), seed);
        assert!((1..1000).all(|number| hash(number) == hash(0)));
    }
}

#[test]
fn crafted_keys_are_distinct_in_every_count() {
    let keys = keys(false);
    let even = |balance: &Balance| {
        assert_eq!(balance.distinct_keys, COUNT);
        assert!((balance.figures.effective_keys - COUNT as f64).abs() < 1e-6);
        assert!(balance.figures.noise.cv < 0.02 && balance.figures.largest.is_empty());
    };
    let whole = tally(&keys);
    even(&whole.balance().expect("small sums"));
    even(&balance(
        "rendezvous",
        &router(),
        &keys,
        &Assignment::of(&router(), &keys),
    ));
    // Parts, through a file.
    let mut file = Vec::new();
    whole.write(&mut file).expect("a vector");
    let mut merged = tally(&Keys::default());
    for part in Tally::read_all(&file[..]) {
        merged
            .merge(part.expect("a part"))
            .expect("the same set-up");
    }
    merged.merge(whole).expect("the same set-up");
    assert_eq!((merged.keys(), merged.distinct()), (2 * COUNT, COUNT));
    let evidence = Evidence::of(&router(), &keys);
    assert!((evidence.distinct_keys() - COUNT as f64).abs() < 1e-6);
}

#[test]
fn crafted_keys_on_one_node_are_no_chance() {
    let keys = keys(true);
    assert!(keys.len() > 5000);
    let found = tally(&keys).balance().expect("small sums");
    assert_eq!(found.distinct_keys, keys.len() as u64);
    assert!(found.figures.p_value < 1e-6, "{}", found.figures.p_value);
    assert_ne!(found.verdict.cause, Cause::Even);
    let nodes = (0..10).map(|i| Node::new(format!("node-{i}")));
    let scheme = strategy::find("rendezvous").expect("a row");
    let setup = Setup::new(scheme, nodes, Params::default());
    let skew = Diagnosis::new(&setup).analyse(&keys).expect("a judgement");
    assert!(skew.worst().is_some(), "{}", skew.verdict);
}

/// Ids follow from what the parts of one run share: parts of other nodes or of another hash key are
/// refused.
#[test]
fn parts_with_other_ids_are_not_added() {
    let keyed = |key| router().with_hasher(KeyHasher::sip13([key; 16]));
    let [one, other] = [1, 2].map(|key| Evidence::of(&keyed(key), &Keys::default()));
    let error = one.clone().merge(other).expect_err("other ids").to_string();
    assert!(error.contains("the same key hash"), "{error}");
    assert!(one.clone().merge(one).is_ok());
}
