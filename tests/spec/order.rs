//! The order of the members is part of the fingerprint where it decides routes, and nowhere else.

use hashroute::registry::{Params, Scheme};
use hashroute::{
    Basis, Error, NodeId, Router, RouterExt, Server, Spec, Spread, compat, diff, schemes,
};
use hashroute_test_support::Outcome;

/// Returns the owner and the second node of keys of the form that the row takes.
fn routes(scheme: &Scheme, router: &dyn Router) -> Vec<Vec<String>> {
    let keys = (0..2000).map(|i| scheme.keys.sample(i));
    let names = |key: Vec<u8>| {
        let list = router.replicas(&key, 2, Spread::Nodes);
        let name = |id: &NodeId| router.nodes().name(*id).unwrap_or_default().to_owned();
        list.iter().map(name).collect()
    };
    keys.map(names).collect()
}

fn servers(scheme: &Scheme, weights: [u32; 5]) -> Vec<Server> {
    let port = if scheme.name == "katran" {
        ""
    } else {
        ":11211"
    };
    let server = |(i, weight)| Server::new(format!("10.0.0.{}{port}", i + 1)).with_weight(weight);
    (0..).zip(weights).map(server).collect()
}

/// Returns the defaults, and each other value of each parameter alone.
fn settings(scheme: &Scheme) -> Vec<Params> {
    let others = scheme.params.iter().flat_map(|param| {
        let values = param.values.iter();
        values.map(|value| Params::default().with(param.name, *value))
    });
    core::iter::once(Params::default()).chain(others).collect()
}

/// Returns the members in other orders: turned, reversed, and with two of them swapped.
fn orders(servers: &[Server]) -> Vec<Vec<Server>> {
    let changed = |change: fn(&mut [Server])| {
        let mut servers = servers.to_vec();
        change(&mut servers);
        servers
    };
    vec![
        changed(|servers| servers.rotate_left(2)),
        changed(<[Server]>::reverse),
        changed(|servers| servers.swap(1, 3)),
        changed(|servers| servers.swap(3, 4)),
    ]
}

/// Returns whether hashes are known to have different owners.
fn differs(one: &dyn Router, other: &dyn Router) -> Result<bool, Error> {
    let diff = diff(one, other)?;
    Ok(diff.basis() == Basis::Hashes && diff.moved_count() > 0)
}

#[test]
fn fingerprints_are_equal_exactly_where_routes_are_equal() -> Outcome {
    let (mut equal, mut unequal) = (0, 0);
    for scheme in schemes() {
        for params in settings(scheme) {
            for weights in [[1; 5], [1, 2, 3, 1, 4]] {
                let list = servers(scheme, weights);
                // Some rows have no weights.
                let Ok(spec) = Spec::new(scheme, list.clone(), &params) else {
                    continue;
                };
                let before = routes(scheme, &*spec.build()?);
                assert!(
                    before.iter().any(|list| !list.is_empty()),
                    "{}",
                    scheme.name
                );
                for order in orders(&list) {
                    let turned = Spec::new(scheme, order, &params)?;
                    let same = turned.fingerprint() == spec.fingerprint();
                    let [one, other] = [spec.build()?, turned.build()?];
                    let alike = routes(scheme, &*other) == before;
                    let what = format!("{} {params:?} {weights:?}", scheme.title());
                    // A few cells of a table may differ, which a sample of keys misses.
                    assert!(!same || alike, "{what}");
                    assert!(same || !alike || differs(&*one, &*other)?, "{what}");
                    *(if same { &mut equal } else { &mut unequal }) += 1;
                }
            }
        }
    }
    assert!(equal > 200 && unequal > 50, "{equal} {unequal}");
    Ok(())
}

/// twemproxy sorts its servers, whatever the hash and the distribution are.
#[test]
fn the_order_in_a_file_of_twemproxy_means_nothing() -> Outcome {
    let twemproxy = compat::find("twemproxy")?;
    let servers = [
        Server::new("10.0.0.2:6379").with_label("b"),
        Server::new("10.0.0.3:6379").with_label("a"),
        Server::new("10.0.0.1:6379").with_label("c").with_weight(2),
    ];
    let mut turned = servers.to_vec();
    turned.rotate_left(1);
    // Of 15 bits only: the hash has no identity, so tables cannot prove it.
    let params = Params::default()
        .with("hash", "crc32")
        .with("distribution", "modula");
    let [one, other] = [servers.to_vec(), turned].map(|list| Spec::new(twemproxy, list, &params));
    assert_eq!(one?.canonical(), other?.canonical());
    Ok(())
}

/// Where an order decides ties, only the servers of the tie count.
#[test]
fn equal_labels_make_the_order_count() -> Outcome {
    let rendezvous = compat::find("go-rendezvous")?;
    let servers = ["b", "a"].map(|name| Server::new(name).with_label("same"));
    let [b, a] = servers.clone();
    let [one, other] =
        [servers.to_vec(), vec![a, b]].map(|list| Spec::new(rendezvous, list, &Params::default()));
    assert_ne!(one?.fingerprint(), other?.fingerprint());
    Ok(())
}
