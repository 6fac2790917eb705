//! Tokens, labels and points.

use std::collections::BTreeSet;

use hashroute::{Change, HashFunction, KeyHash, KeyHasher, Modulo, Node, Ring, Router, RouterExt};

use hashroute_test_support::{
    Checks, Outcome, chi_square, counts, hash, keys, nodes, normal, owner, owners, shares,
};

/// Reported in apache/pekko#3279.
#[test]
fn names_that_share_a_32_bit_token_keep_all_their_points() -> Outcome {
    let names = ["node-4230", "node-14323"];
    let one = Ring::new(names.map(Node::new))?;
    let two = Ring::new([names[1], names[0]].map(Node::new))?;
    assert_eq!(one.points().count(), 320);
    assert!(one.points().eq(two.points()));
    Ok(())
}

/// Reported in zeromicro/go-zero#5595, stathat/consistent#5, lafikl/consistent#10,
/// awesomized/libmemcached#41 and grafana/dskit#438.
#[test]
fn a_shared_token_stays_when_either_of_its_nodes_leaves() -> Outcome {
    let mut ring = Ring::from_tokens([Node::new("a")], [(100, "a"), (200, "a")])?;
    ring.add_with_tokens(Node::new("b"), &[100, 300])?;
    let first = |ring: &Ring| owner(ring, KeyHash::from_raw(50)).map(str::to_owned);
    assert_eq!(first(&ring).as_deref(), Some("a"));
    ring.apply(&Change::remove("b"))?;
    assert_eq!(first(&ring).as_deref(), Some("a"));
    assert_eq!(
        ring.points().map(|(point, _)| point).collect::<Vec<_>>(),
        [100, 200]
    );
    ring.add_with_tokens(Node::new("b"), &[100, 300])?;
    ring.apply(&Change::remove("a"))?;
    assert_eq!(first(&ring).as_deref(), Some("b"));
    // The first name owns a shared token, in whatever order the nodes joined.
    let mut other = Ring::from_tokens([Node::new("b")], [(100, "b"), (300, "b")])?;
    other.add_with_tokens(Node::new("a"), &[100, 200])?;
    assert_eq!(first(&other).as_deref(), Some("a"));
    Ok(())
}

/// Reported in ultrabug/uhashring#6.
#[test]
fn a_ring_may_lose_its_last_node_and_take_one_again() -> Outcome {
    let names = ["192.0.2.0", "192.0.2.125", "192.0.2.202"];
    let mut ring = Ring::with_points(names.map(Node::new), 40)?;
    for name in [names[1], names[2], names[0]] {
        ring.apply(&Change::remove(name))?;
    }
    assert_eq!((ring.points().count(), ring.route(b"key")), (0, None));
    ring.apply(&Change::Add(Node::new(names[0])))?;
    assert_eq!(ring.route(b"key").map(Node::name), Some(names[0]));
    Ok(())
}

/// Returns the p-value of the variation of the shares of n equal nodes with v random points each.
///
/// The square of their coefficient of variation is (n - 1) / (n v + 1) on average.
fn varies_as_theory_says(ring: &Ring, points: u32) -> f64 {
    let shares = shares(ring).unwrap_or_default();
    let (n, v) = (shares.len() as f64, f64::from(points));
    let squares = shares
        .iter()
        .map(|share| (share * n - 1.0) * (share * n - 1.0));
    let relative = squares.sum::<f64>() / n / ((n - 1.0) / (n * v + 1.0));
    normal((relative - 1.0) / (2.0 / (n - 1.0) + 6.0 / (n * v)).sqrt())
}

/// Reported in uber-node/ringpop-node#241, buraksezer/consistent#17 and lafikl/consistent#11.
#[test]
fn names_that_begin_alike_get_even_shares() -> Outcome {
    // With name + index as the label, 's1:1' + '10' equals 's1:11' + '0'.
    let mut checks = Checks::default();
    for names in [
        &["s1:1", "s1:11", "s2:2", "s2:5"][..],
        &["member", "member1", "member11"],
        &["host1", "host11", "host111", "host1111"],
    ] {
        for points in [11, 100, 1000] {
            let ring = Ring::with_points(names.iter().copied().map(Node::new), points)?;
            let distinct: BTreeSet<_> = ring.points().map(|(point, _)| point).collect();
            assert_eq!(distinct.len(), names.len() * points as usize, "{names:?}");
            // Each share is a Beta variable with mean 1 / n and this standard deviation.
            let n = names.len() as f64;
            let deviation = ((n - 1.0) / (n * f64::from(points) + 1.0)).sqrt() / n;
            for (share, name) in shares(&ring).ok_or("no arcs")?.iter().zip(names) {
                let deviate = (share - 1.0 / n) / deviation;
                checks.note(
                    format!("{name} of {names:?}, {points}: {share}"),
                    normal(deviate),
                );
            }
        }
    }
    checks.judge();
    Ok(())
}

/// Reported in graphite-project/carbon#485, open-telemetry/opentelemetry-collector-contrib#41200,
/// tinode/chat#542, golang/groupcache#29 and gubernator#56.
#[test]
fn shares_of_numbered_names_vary_as_those_of_random_points() -> Outcome {
    let mut checks = Checks::default();
    for (pattern, count, points) in [
        ("carbon-", 30, 100),
        ("endpoint-", 300, 100),
        ("tinode-", 10, 160),
        ("10.0.0.", 50, 1000),
    ] {
        let ring = Ring::with_points(
            (0..count).map(|i| Node::new(format!("{pattern}{i}"))),
            points,
        )?;
        checks.note(pattern, varies_as_theory_says(&ring, points));
        // Nodes listed first get no larger share.
        let (mut first, shares) = (0.0, shares(&ring).ok_or("no arcs")?);
        for (id, node) in ring.nodes() {
            let index: i32 = node.name()[pattern.len()..].parse()?;
            first += if index < count / 2 {
                shares[id.index()]
            } else {
                0.0
            };
        }
        let (n, v) = (f64::from(count), f64::from(points));
        let deviation = 0.5 / (n * v + 1.0).sqrt();
        checks.note(
            format!("{pattern} first half: {first}"),
            normal((first - 0.5) / deviation),
        );
    }
    checks.judge();
    assert_eq!(Ring::DEFAULT_POINTS, 160); // golang/groupcache#29 had 3, gubernator#56 had 1
    Ok(())
}

/// Reported in open-telemetry/opentelemetry-collector-contrib#41200 and 3rd-Eden/node-hashring#44.
#[test]
fn two_thousand_points_of_a_node_are_all_different() -> Outcome {
    let ring = Ring::with_points(nodes(5), 2000)?;
    let distinct: BTreeSet<_> = ring.points().map(|(point, _)| point).collect();
    assert_eq!((distinct.len(), distinct.contains(&0)), (10_000, false));
    Ok(())
}

/// Reported in RJ/ketama#13, envoyproxy/envoy#22558, istio/istio#41814 and
/// memcached/memcached#873.
#[test]
fn a_change_of_one_node_leaves_the_points_of_the_others() -> Outcome {
    let list = nodes(5).into_iter().zip([64, 3, 7, 16, 1]);
    let mut ring = Ring::new(list.map(|(node, weight)| node.with_weight(weight)))?;
    let points = |ring: &Ring, except: &str| {
        let others = ring.points().filter(|(_, node)| node.name() != except);
        others
            .map(|(point, node)| (point, node.name().to_owned()))
            .collect::<Vec<_>>()
    };
    let untouched = points(&ring, "node-2");
    for change in [
        Change::reweight("node-2", 70),
        Change::reweight("node-2", 0),
        Change::remove("node-2"),
        Change::Add(Node::new("node-2").with_weight(9)),
    ] {
        ring.apply(&change)?;
        assert_eq!(points(&ring, "node-2"), untouched, "{change:?}");
    }
    Ok(())
}

/// Reported in sofastack/sofa-rpc#213.
#[test]
fn the_number_of_points_is_proportional_to_the_sum_of_weights() -> Outcome {
    let list = (1..)
        .zip(nodes(5))
        .map(|(weight, node)| node.with_weight(weight));
    assert_eq!(Ring::new(list)?.points().count(), 15 * 160);
    Ok(())
}

/// Reported in coreos/torus#246.
#[test]
fn a_small_weight_beside_large_ones_still_gets_points() -> Outcome {
    let list = nodes(3).into_iter().zip([1024, 1024, 5]);
    let ring = Ring::with_points(list.map(|(node, weight)| node.with_weight(weight)), 1)?;
    assert_eq!(
        ring.points()
            .filter(|(_, node)| node.name() == "node-2")
            .count(),
        5
    );
    for key in keys(10, 20) {
        let list = ring.replicas_hash(key, 3, hashroute::Spread::Nodes);
        assert_eq!(list.len(), 3);
    }
    Ok(())
}

/// Reported in cilium/cilium#17235.
#[test]
fn a_ring_routes_to_ids_beyond_sixteen_bits() -> Outcome {
    let ring = Ring::with_points((0..70_000).map(|i| Node::new(i.to_string())), 1)?;
    let (last, name) = ring.points().last().ok_or("no points")?;
    assert_eq!(owner(&ring, KeyHash::from_raw(last)), Some(name.name()));
    let beyond = ring.nodes().iter().filter(|(id, _)| id.index() > 65_535);
    for (id, node) in beyond.step_by(500) {
        let point = ring.points().find(|(_, other)| other.name() == node.name());
        let key = KeyHash::from_raw(point.ok_or("no point")?.0);
        assert_eq!(ring.route_hash(key), Some(id));
    }
    Ok(())
}

/// Reported in enyim/EnyimMemcached#100 and dakatsuka/node-consistent-hashing#1.
#[test]
fn a_hash_above_the_last_point_goes_to_the_first() -> Outcome {
    let ring = Ring::from_tokens(["a", "b"].map(Node::new), [(100, "a"), (200, "b")])?;
    let owners =
        [0, 100, 101, 200, 201, u64::MAX].map(|hash| owner(&ring, KeyHash::from_raw(hash)));
    let [a, b] = ["a", "b"].map(Some);
    assert_eq!(owners, [a, a, b, b, a, a]);
    Ok(())
}

/// Reported in tailscale/tailscale#20828 and eltmon/overdeck#2055.
#[test]
fn similar_keys_under_a_weak_hash_function_are_spread_evenly() -> Outcome {
    // FNV-1a without a finalizer gave 68, 30 and 2 % of such keys.
    let mut checks = Checks::default();
    let hasher = KeyHasher::new(HashFunction::Fnv1a64);
    let routers: [Box<dyn Router>; 3] = [
        Box::new(hashroute::Rendezvous::new(nodes(3))?.with_hasher(hasher.clone())),
        Box::new(Ring::new(nodes(3))?.with_hasher(hasher.clone())),
        Box::new(hashroute::Jump::new(nodes(3))?.with_hasher(hasher)),
    ];
    for router in &routers {
        let numbers = (1900..4900).map(|i| hash(router, format!("work:PAN-{i}").as_bytes()));
        let counts = counts(&**router, &numbers.collect::<Vec<_>>());
        let shares = shares(router).unwrap_or_else(|| vec![1.0 / 3.0; 3]);
        checks.note(format!("{counts:?}"), chi_square(&counts, &shares));
    }
    checks.judge();
    Ok(())
}

/// Reported in envoyproxy/envoy#31724.
#[test]
fn a_ring_without_points_is_refused() {
    assert!(Ring::with_points(nodes(2), 0).is_err());
    assert!(Ring::tutorial(nodes(2), 0).is_err());
    assert!(Ring::from_tokens(nodes(1), []).is_err());
}

fn tutorial_servers(count: u8) -> impl Iterator<Item = Node> {
    (b'a'..b'a' + count).map(|letter| Node::new(format!("cache-{}", char::from(letter))))
}

#[test]
fn the_tutorial_ring_moves_exactly_what_it_moves_in_python() -> Outcome {
    let mut ring = Ring::tutorial(tutorial_servers(10), 100)?;
    let hashes: Vec<_> = (0..1_000_000)
        .map(|i| hash(&ring, format!("user:{i}").as_bytes()))
        .collect();
    let owned = |router: &dyn Router| -> Vec<_> {
        hashes.iter().map(|&hash| router.route_hash(hash)).collect()
    };
    let moved =
        |before: &[_], after: &[_]| before.iter().zip(after).filter(|(b, a)| b != a).count();
    let before = owned(&ring);
    ring.apply(&Change::Add(Node::new("cache-k")))?;
    assert_eq!(moved(&before, &owned(&ring)), 104_566);
    // Joining nodes keep the ids of the others, so ids can be compared.
    let md5 = KeyHasher::new(HashFunction::Md5);
    let mut modulo = Modulo::new(tutorial_servers(10))?.with_hasher(md5);
    assert_eq!(modulo.hash_key(b"user:7"), Some(hashes[7]));
    let before = owned(&modulo);
    modulo.apply(&Change::Add(Node::new("cache-k")))?;
    assert_eq!(moved(&before, &owned(&modulo)), 908_659);
    Ok(())
}

#[test]
fn the_tutorial_ring_is_as_even_as_in_python() -> Outcome {
    for (points, peak, variation) in [(100, 1.195, 0.109), (150, 1.074, 0.053)] {
        let shares = shares(&Ring::tutorial(tutorial_servers(10), points)?).ok_or("no arcs")?;
        let largest = shares.iter().copied().fold(0.0, f64::max) * 10.0;
        let squares = shares
            .iter()
            .map(|share| (share * 10.0 - 1.0) * (share * 10.0 - 1.0));
        let measured = (squares.sum::<f64>() / 10.0).sqrt();
        assert!((largest - peak).abs() < 5e-4, "{points} points: {largest}");
        assert!(
            (measured - variation).abs() < 5e-4,
            "{points} points: {measured}"
        );
    }
    Ok(())
}

/// Reported in apache/gluten#12350 and jaysonsantos/python-binary-memcached#236.
#[test]
fn only_the_name_of_a_node_is_hashed() -> Outcome {
    let keys = keys(11, 500);
    let plain = Ring::new(nodes(4))?;
    let dressed = nodes(4)
        .into_iter()
        .map(|node| node.with_location("zone", "rack"));
    assert_eq!(owners(&plain, &keys), owners(&Ring::new(dressed)?, &keys));
    Ok(())
}
