//! Names whose hashes are equal. XXH3 has no key, so anyone can write such names down.

use hashroute::strategy::ALL;
use hashroute::{Change, KeyHasher, Node, Rendezvous, Ring, Router, Shortlist};
use hashroute_test_support::{Outcome, build, counts, is_set, keys, owners, walked};

/// ASCII that is still UTF-8 after the XOR in [`twins`].
const HALF: u64 = u64::from_le_bytes(*b".aaa&0a1");

/// Returns two texts of 32 bytes with equal hashes. XXH3 multiplies the halves of the first 16
/// bytes, each after an XOR with a constant. The second text has them swapped after the XOR, which
/// the product does not show.
fn twins() -> [String; 2] {
    let swapped = HALF ^ 0xbe4b_a423_396c_feb8 ^ 0x1cad_21f7_2c81_017c;
    [HALF, swapped].map(|half| {
        let mut bytes = half.to_le_bytes().repeat(2);
        bytes.extend(b".tenants.example");
        String::from_utf8(bytes).expect("UTF-8")
    })
}

#[test]
fn names_of_equal_hashes_exist_and_a_key_tells_them_apart() {
    let raw = |hasher: KeyHasher| twins().map(|name| hasher.raw(name.as_bytes()));
    let [a, b] = raw(KeyHasher::default());
    assert_eq!(a, b);
    let [a, b] = raw(KeyHasher::sip13([7; 16]));
    assert_ne!(a, b);
}

#[test]
fn names_of_equal_hashes_route_alike_in_every_order_and_are_all_offered() {
    let [a, b] = twins();
    for strategy in ALL {
        let [one, other] =
            [[&*a, "c", &*b], [&*b, &*a, "c"]].map(|names| build(strategy, names.map(Node::new)));
        let keys = keys(1, 2000);
        let same = owners(&*one, &keys) == owners(&*other, &keys);
        assert!(same || !is_set(strategy), "{}", strategy.name);
        for router in [one, other] {
            for &key in &keys[..100] {
                let mut offered = walked(&*router, key);
                offered.sort_unstable();
                offered.dedup();
                assert_eq!(offered.len(), 3, "{}", strategy.name);
            }
        }
    }
}

/// The harm that `SECURITY.md` tells of is to the twins alone: a key of another node stays there.
#[test]
fn a_twin_that_joins_takes_no_key_of_another_node() -> Outcome {
    fn takes_none(mut router: impl Router, twin: &str) -> Outcome {
        let keys = keys(2, 3000);
        let before = owners(&router, &keys);
        router.apply(&Change::Add(Node::new(twin)))?;
        for (before, after) in before.iter().zip(owners(&router, &keys)) {
            assert!(**before == *after || (&**before != "c" && *after == *twin));
        }
        // One of the two names owns nothing.
        let counts = counts(&router, &keys);
        assert_eq!(counts.iter().filter(|&&count| count == 0).count(), 1);
        Ok(())
    }
    let [a, b] = twins();
    for [first, second] in [[&a, &b], [&b, &a]] {
        let nodes = [first.as_str(), "c"];
        takes_none(Ring::new(nodes)?, second)?;
        takes_none(Rendezvous::new(nodes)?, second)?;
        takes_none(Shortlist::new(nodes)?, second)?;
    }
    Ok(())
}

#[test]
fn a_keyed_hash_before_each_name_gives_each_its_share() {
    let secret = KeyHasher::sip13([7; 16]);
    let [a, b] = twins();
    let keyed = |name: &str| {
        let hash = secret.raw(name.as_bytes()).get();
        Node::new(format!("{hash:016x} {name}"))
    };
    for strategy in ALL {
        let router = build(strategy, [&*a, &*b, "c"].map(keyed));
        let counts = counts(&*router, &keys(3, 6000));
        let fair = counts.iter().all(|&count| count > 1400);
        assert!(fair, "{} {counts:?}", strategy.name);
    }
}
