//! Maglev, jump, hash slots, rendezvous.

use hashroute::strategy::{jump_hash, jump_hash_guava};
use hashroute::{
    Change, Error, HashSlots, Jump, KeyHash, KeyHasher, Maglev, Node, Rendezvous, Router,
};

use hashroute_test_support::{
    Checks, Outcome, binomial, cell_count, chi_square, counts, keys, name, nodes, owner, owners,
    shares, state,
};

fn weighing(weights: &[u32]) -> impl Iterator<Item = Node> {
    let weigh = |(node, &weight): (Node, &u32)| node.with_weight(weight);
    nodes(weights.len()).into_iter().zip(weights).map(weigh)
}

/// Reported in facebookincubator/katran#35 and facebookincubator/katran#95.
#[test]
fn maglev_shares_follow_weights_of_one_and_ten() -> Outcome {
    let shares = shares(&Maglev::new(weighing(&[1, 10]))?).ok_or("no cells")?;
    assert!(
        (shares[0] - 1.0 / 11.0).abs() < 2.0 / 65_537.0,
        "{shares:?}"
    );
    Ok(())
}

/// Reported in envoyproxy/envoy#5982, envoyproxy/envoy#6035 and envoyproxy/envoy#5863.
#[test]
fn maglev_gives_no_cell_to_weight_zero() -> Outcome {
    let shares = shares(&Maglev::new(weighing(&[0, 3, 0]))?).ok_or("no cells")?;
    assert_eq!(shares, [0.0, 1.0, 0.0]);
    assert_eq!(Maglev::new(weighing(&[0, 0]))?.route(b"key"), None);
    Ok(())
}

/// Reported in grpc/grpc#30079.
#[test]
fn the_default_weight_of_a_node_is_one() {
    assert_eq!(Node::new("a").weight(), 1);
}

/// Reported in Nordix/nfqueue-loadbalancer#18.
#[test]
fn maglev_fills_tables_whose_products_exceed_32_bits() -> Outcome {
    // offset + j * skip exceeds 2^32 at this size, so 32 bits would give no permutation.
    for (count, size) in [(46, 65_699), (46, 131_071), (46, 655_373)] {
        let router = Maglev::with_table_size(nodes(count), size)?;
        let shares = shares(&router).ok_or("no cells")?;
        let fair = size / count as u64;
        for share in shares {
            let cells = cell_count(share, size);
            assert!([fair, fair + 1].contains(&cells), "{size}: {cells}");
        }
        for key in keys(20, 1000) {
            assert!(router.route_hash(key).is_some());
        }
    }
    Ok(())
}

/// Reported in sipb/spike#24, cilium/cilium#35885 and cilium/cilium#35430.
#[test]
fn maglev_refuses_composite_sizes_and_more_nodes_than_cells() {
    for (count, size) in [
        (2, 65_536),
        (2, 100),
        (2, 1000),
        (8, 7),
        (1, 0),
        (1, 1),
        (1, u64::MAX),
    ] {
        let error = Maglev::with_table_size(nodes(count), size).err();
        assert!(
            matches!(error, Some(Error::TableSize { .. })),
            "{size}: {error:?}"
        );
    }
}

/// Reported in cilium/cilium#35885 and cilium/cilium#35430.
#[test]
fn maglev_takes_memory_for_cells_and_nodes_but_not_their_product() -> Outcome {
    // A matrix of nodes and cells would take a gigabyte here.
    let router = Maglev::with_table_size(nodes(1000), 131_071)?;
    assert!(router.heap_bytes() < 2 << 20, "{}", router.heap_bytes());
    Ok(())
}

/// Reported in cilium/cilium#35885.
#[test]
fn a_maglev_table_with_a_node_for_each_cell_takes_no_more() -> Outcome {
    let mut router = Maglev::with_table_size(nodes(7), 7)?;
    let before = state(&router);
    assert!(router.apply(&Change::Add(Node::new("eighth"))).is_err());
    assert_eq!(state(&router), before);
    router.apply(&Change::Add(Node::new("drained").with_weight(0)))?;
    assert!(router.apply(&Change::reweight("drained", 1)).is_err());
    Ok(())
}

/// Reported in cilium/cilium#13224, cilium/cilium#13461, serialx/hashring#16 and
/// 3rd-Eden/node-hashring#11.
#[test]
fn maglev_gives_the_same_table_for_every_order_of_the_nodes() -> Outcome {
    let names = ["NODE_1", "NODE_2", "NODE_3", "NODE_4", "NODE_5"];
    let shuffled = ["NODE_4", "NODE_1", "NODE_5", "NODE_3", "NODE_2"];
    let one = Maglev::new(names.map(Node::new))?;
    let two = Maglev::new(shuffled.map(Node::new))?;
    assert!(state(&one) == state(&two));
    assert_eq!(one.route(b"HASH"), two.route(b"HASH"));
    Ok(())
}

/// Found by comparing Guava's `consistentHash` with the reference code of jump hash.
#[test]
fn guava_and_the_reference_differ_where_published() -> Outcome {
    for (key, count, reference, guava) in [
        (7_036_915_148_532_262_134, 1000, 70, 2),
        (17_068_571_456_203_592_619, 10, 3, 0),
    ] {
        assert_eq!(jump_hash(key, count), Some(reference));
        assert_eq!(jump_hash_guava(key, count), Some(guava));
        for (router, bucket) in [
            (Jump::new(nodes(count as usize))?, reference),
            (Jump::guava(nodes(count as usize))?, guava),
        ] {
            let name = format!("node-{bucket}");
            assert_eq!(owner(&router, KeyHash::from_raw(key)), Some(name.as_str()));
        }
    }
    Ok(())
}

/// Found by comparing jump hash in doubles with jump hash in exact integers.
#[test]
fn jump_divides_doubles_in_the_order_of_the_reference() {
    assert_eq!(
        jump_hash(8_816_847_853_880_984_676, i32::MAX as u32),
        Some(747_800_034)
    );
    for (key, bucket) in [
        (1, 549),
        (42, 571),
        (256, 520),
        (0xdead_beef, 285),
        (u64::MAX, 313),
    ] {
        assert_eq!(jump_hash(key, 1024), Some(bucket), "{key}");
    }
}

/// Reported in apache/paimon#239.
#[test]
fn a_hash_with_the_top_bit_set_is_not_negative() -> Outcome {
    let table = HashSlots::new(nodes(3))?;
    let modulo = hashroute::Modulo::new(nodes(3))?;
    for raw in [1 << 63, u64::MAX, (1 << 63) + 1] {
        let key = KeyHash::from_raw(raw);
        assert!(table.route_hash(key).is_some() && jump_hash(raw, 10).is_some());
        let expected = format!("node-{}", raw % 3);
        assert_eq!(owner(&modulo, key), Some(expected.as_str()));
    }
    Ok(())
}

/// Reported in google/guava#3539.
#[test]
fn sequential_integers_fill_many_buckets_evenly() -> Outcome {
    let mut checks = Checks::default();
    for count in [980, 981, 1000, 2000, 5000] {
        let shards = Jump::new(nodes(count))?;
        for first in [0, 1 << 32, u64::MAX - 200_000] {
            let hashes: Vec<_> = (first..first + 100_000)
                .map(KeyHash::from_integer)
                .collect();
            let counts = counts(&shards, &hashes);
            assert!(
                count > 1000 || counts.iter().all(|&keys| keys > 0),
                "{count}"
            );
            let chance = chi_square(&counts, &vec![1.0 / count as f64; count]);
            checks.note(format!("{count} from {first}"), chance);
        }
    }
    checks.judge();
    Ok(())
}

/// Found in `BinomialEngine` of SUPSI's java-consistent-hashing, which was 4.5 % off there.
#[test]
fn five_and_seven_buckets_get_even_shares() -> Outcome {
    let mut checks = Checks::default();
    let keys = keys(21, 200_000);
    for count in [5, 7] {
        for router in [
            Box::new(Jump::new(nodes(count))?) as Box<dyn Router>,
            Box::new(Rendezvous::new(nodes(count))?),
        ] {
            let counts = counts(&*router, &keys);
            let chance = chi_square(&counts, &vec![1.0 / count as f64; count]);
            checks.note(format!("{counts:?}"), chance);
        }
    }
    checks.judge();
    Ok(())
}

/// Reported in redis/redis#6027, `nebulex_redis_adapter#64` and opensips#3815.
#[test]
fn keys_with_hash_tags_go_to_the_slots_of_the_redis_specification() -> Outcome {
    let table = HashSlots::new(nodes(3))?.with_hasher(KeyHasher::REDIS);
    for (key, slot) in [
        ("a{'1':{'i32':1}}", 5540),
        ("foo{bar}", 5061),
        ("bar", 5061),
        ("foo{}{bar}", 8363),
        ("foo{bar}{zap}", 5061),
        ("foo{{bar}}zap", 4015),
        ("{bar", 4015),
        ("123456789", 12_739),
        ("foo", 12_182),
        ("", 0),
        ("{}", 15_257),
        ("A}B{C", 7939),
        ("{a", 10_276),
        ("{user1000}.following", 3443),
        ("user1000", 3443),
    ] {
        assert_eq!(table.slot(key.as_bytes()), slot, "{key}");
    }
    Ok(())
}

/// Reported in `basho/riak_core#91`, `basho/riak_core#1001` and `basho/riak_core#1003`.
#[test]
fn a_change_moves_the_fewest_slots_possible() -> Outcome {
    let mut table = HashSlots::new(nodes(4))?;
    let owner_names = |table: &HashSlots| {
        let name = |slot| table.owner(slot).map(|id| name(&table, id).to_owned());
        (0..16_384).map(name).collect::<Vec<_>>()
    };
    for (change, fewest) in [
        (Change::Add(Node::new("node-4")), 3276),
        (Change::remove("node-0"), 3277),
        (Change::Add(Node::new("node-0")), 3276),
        (Change::reweight("node-2", 0), 3277),
    ] {
        let before = owner_names(&table);
        table.apply(&change)?;
        let moved = before
            .iter()
            .zip(owner_names(&table))
            .filter(|(b, a)| **b != *a)
            .count();
        assert!(moved.abs_diff(fewest) <= 1, "{change:?} moved {moved}");
    }
    Ok(())
}

/// Reported in jacky-xbb/consistent-hash#2.
#[test]
fn a_range_of_slots_can_be_assigned_by_hand() -> Outcome {
    let mut table = HashSlots::new(nodes(2))?;
    table.assign(0..4096, "node-1")?;
    let names = [0, 4095, 4096].map(|slot| table.owner(slot).map(|id| name(&table, id)));
    assert_eq!(names, [Some("node-1"), Some("node-1"), Some("node-0")]);
    Ok(())
}

/// Reported in clohfink/RendezvousHash#1.
#[test]
fn rendezvous_does_not_depend_on_the_order_of_joining() -> Outcome {
    // A tie needs names with equal hashes, which a unit test of rendezvous forces. This test checks
    // that only names and weights decide.
    let keys = keys(22, 5000);
    for weights in [[1, 1, 1, 1], [1, 2, 2, 1]] {
        let one = Rendezvous::new(weighing(&weights))?;
        let list: Vec<_> = weighing(&weights).collect();
        let two = Rendezvous::new(list.into_iter().rev())?;
        assert_eq!(owners(&one, &keys), owners(&two, &keys));
    }
    Ok(())
}

/// Reported in pda/flexihash#25.
#[test]
fn raising_one_of_ten_weights_from_one_to_three_moves_fifteen_percent() -> Outcome {
    let keys = keys(23, 100_000);
    let mut checks = Checks::default();
    let mut router = Rendezvous::new(nodes(10))?;
    let before = owners(&router, &keys);
    router.apply(&Change::reweight("node-3", 3))?;
    let after = owners(&router, &keys);
    let moved = before.iter().zip(&after).filter(|(b, a)| b != a);
    assert!(moved.clone().all(|(_, new)| **new == *"node-3"));
    let count = moved.count();
    // The share rises from 1/10 to 3/12.
    let share = 3.0 / 12.0 - 1.0 / 10.0;
    checks.note(
        format!("{count}"),
        binomial(count as u64, keys.len() as u64, share),
    );
    checks.judge();
    Ok(())
}

/// Reported in ceph/ceph#3057, ceph/ceph#3069, ceph/ceph#2986 and ceph/ceph#10218.
#[test]
fn reweighting_a_node_moves_no_key_between_the_others() -> Outcome {
    let keys = keys(24, 20_000);
    let mut router = Rendezvous::new(weighing(&[1, 5, 9, 200, 3]))?;
    for weight in [4, 6, 1000, 0, 5] {
        let before = owners(&router, &keys);
        router.apply(&Change::reweight("node-1", weight))?;
        for (old, new) in before.iter().zip(owners(&router, &keys)) {
            assert!(*old == new || **old == *"node-1" || *new == *"node-1");
        }
    }
    Ok(())
}

/// Reported in ykayacan/hashing-utils#17.
#[test]
fn weighted_rendezvous_depends_on_the_key() -> Outcome {
    let router = Rendezvous::new(weighing(&[3, 2, 1]))?;
    assert!(
        counts(&router, &keys(25, 100))
            .iter()
            .all(|&count| count > 0)
    );
    Ok(())
}
