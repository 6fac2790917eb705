//! Law 1 across versions: routes are pinned.
//!
//! Each row has digests of the owners of 10,000 fixed keys, of preference lists, and of the routes
//! after some changes. A row that no longer matches moves the keys of every user. It is a
//! value-breaking change, with a heading of its own in the changelog.
//!
//! To pin a new strategy or an intended change, run `cargo test --test values` and replace `PINNED`
//! by the table that the failure prints.

use hashroute::registry::Scheme;
use hashroute::strategy::{ALL, Params};
use hashroute::{KeyHash, KeyHasher, Node, Router, RouterExt, Spread};
use hashroute_test_support::{Cluster, Step, keys, name_of};

/// Name; owners by hash with equal weights; owners of byte keys with unequal weights; replicas
/// over zones; owners after some changes.
#[rustfmt::skip]
const PINNED: &[(&str, [u64; 4])] = &[
    ("modulo", [0xd6a8_bc41_7368_2dfe, 0xb477_de55_11c9_a963, 0xe48c_dab8_4b26_99ef, 0xed78_34ad_aa09_96f4]),
    ("ring", [0xec9e_c9b0_37a5_bc8e, 0x558e_d982_ea6c_bd00, 0x03a8_8810_6053_f356, 0x661a_e47e_caaf_8c60]),
    ("rendezvous", [0x75e5_3107_b3b2_adc6, 0x997b_572a_1637_9c38, 0x2e00_2c6c_98c6_777b, 0xc255_4037_53e8_2f09]),
    ("shortlist", [0x7d10_e666_31d9_f453, 0x09f6_1287_cffd_43cc, 0xed9f_3f2e_3043_2f97, 0x75cd_d24b_8bd8_2b47]),
    ("jump", [0x03bd_73b7_0469_438e, 0xdd0c_d062_ab6a_6c20, 0x3d3e_ab4c_bd5e_7251, 0x43b8_c771_a041_16ca]),
    ("maglev", [0x24ce_ce85_ce17_67da, 0x4ff5_9f63_1d1f_b289, 0x5621_5d80_3dc6_46b5, 0xf69f_b91e_ba7d_966b]),
    ("slots", [0x2a7f_0fca_ed21_564e, 0xfbce_3df0_6e24_9bd5, 0x72c4_fc3d_e728_7503, 0xdcca_b238_d67f_bb81]),
    ("bounded", [0xec9e_c9b0_37a5_bc8e, 0x558e_d982_ea6c_bd00, 0x03a8_8810_6053_f356, 0x661a_e47e_caaf_8c60]),
];

/// Returns FNV-1a of 64 bits, written here so that the digest does not depend on what it pins.
struct Digest(u64);

impl Digest {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn name(&mut self, name: Option<&str>) {
        for byte in name.unwrap_or("-").bytes().chain([b'\n']) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn owners(router: &dyn Router, keys: impl Iterator<Item = KeyHash>) -> u64 {
        let mut digest = Self::new();
        keys.for_each(|key| digest.name(name_of(router, router.route_hash(key))));
        digest.0
    }
}

const WEIGHTS: [u32; 8] = [1, 2, 3, 0, 1, 7, 1, 4];

/// Returns nodes in three zones with two racks each.
fn zoned(strategy: &Scheme) -> Vec<Node> {
    let located = |(i, node): (usize, Node)| {
        node.with_location(format!("zone-{}", i % 3), format!("rack-{}", i / 3 % 2))
    };
    let nodes = hashroute_test_support::weighted(strategy, &WEIGHTS);
    nodes.into_iter().enumerate().map(located).collect()
}

fn values(strategy: &'static Scheme) -> [u64; 4] {
    let equal = hashroute_test_support::build(strategy, hashroute_test_support::nodes(10));
    let unequal = hashroute_test_support::build(strategy, zoned(strategy));
    let texts = (0..10_000)
        .map(|i| hashroute_test_support::hash(&*unequal, format!("user:{i}").as_bytes()));
    let mut lists = Digest::new();
    for key in keys(1, 1000) {
        for id in unequal.replicas_hash(key, 4, Spread::Zones) {
            lists.name(Some(hashroute_test_support::name(&*unequal, id)));
        }
    }
    let mut changed = Cluster::new(strategy, &WEIGHTS);
    for step in [
        Step::Add(2),
        Step::Add(1),
        Step::Remove(1),
        Step::Reweight(3, 5),
        Step::Add(3),
        Step::Remove(0),
    ] {
        if let Some(change) = changed.change(step) {
            changed.apply(&change);
        }
    }
    [
        Digest::owners(&*equal, keys(0, 10_000).into_iter()),
        Digest::owners(&*unequal, texts),
        lists.0,
        Digest::owners(&*changed.router, keys(0, 10_000).into_iter()),
    ]
}

#[test]
fn routes_are_the_pinned_ones() {
    let values: Vec<_> = ALL
        .iter()
        .map(|strategy| (strategy.name, values(strategy)))
        .collect();
    let mut table = String::new();
    for (name, row) in &values {
        let row = row.map(|value| {
            let [a, b, c, d] = [48, 32, 16, 0].map(|shift: u32| value >> shift & 0xffff);
            format!("0x{a:04x}_{b:04x}_{c:04x}_{d:04x}")
        });
        table = format!("{table}    ({name:?}, [{}]),\n", row.join(", "));
    }
    assert!(
        values == PINNED,
        "the routes have changed; they are now\n{table}"
    );
}

#[test]
fn a_hasher_changes_the_hash_and_nothing_else() {
    let hasher = KeyHasher::sip13([7; 16]);
    for strategy in ALL {
        let params = Params::default().with_hasher(hasher.clone());
        let [plain, keyed] = [Params::default(), params].map(|params| {
            let router = strategy.build(hashroute_test_support::nodes(10), &params);
            router.unwrap_or_else(|error| panic!("{}: {error}", strategy.name))
        });
        for key in 0..100 {
            let key = format!("user:{key}").into_bytes();
            let hash = hasher.raw(&key);
            assert_eq!(keyed.hash_key(&key), Some(hash), "{}", strategy.name);
            assert_eq!(
                hashroute_test_support::owner(&*keyed, hash),
                hashroute_test_support::owner(&*plain, hash),
                "{}",
                strategy.name
            );
        }
    }
}
