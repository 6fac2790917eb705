use alloc::format;
use alloc::vec;

use super::*;
use crate::strategy::Params;
use crate::{Change, Loads, Node, Router};

fn servers(n: usize) -> Vec<Server> {
    (1..=n)
        .map(|n| Server::new(format!("10.0.0.{n}:80")))
        .collect()
}

fn both(servers: &[Server]) -> Result<[Pool; 2], Error> {
    let pool = |policy| {
        let system = Envoy {
            policy,
            ..Envoy::default()
        };
        Pool::new(system, servers.iter().cloned())
    };
    Ok([pool(LbPolicy::RingHash)?, pool(LbPolicy::Maglev)?])
}

fn owners(pool: &Pool) -> Vec<Option<&str>> {
    let keys = (0..500_u32).map(u32::to_be_bytes);
    keys.map(|key| pool.route(&key).map(Node::name)).collect()
}

#[test]
fn labels_are_hashed_instead_of_names() -> Result<(), Error> {
    let labels = servers(3).into_iter().enumerate();
    let labelled: Vec<_> = labels
        .map(|(at, server)| server.with_label(format!("10.0.0.{}:80", at + 1)))
        .collect();
    for (plain, labelled) in both(&servers(3))?.iter().zip(&both(&labelled)?) {
        assert_eq!(owners(plain), owners(labelled));
    }
    let mut other = servers(3);
    other[0] = other[0].clone().with_label("alpha");
    for (plain, other) in both(&servers(3))?.iter().zip(&both(&other)?) {
        assert_ne!(owners(plain), owners(other));
    }
    Ok(())
}

#[test]
fn a_server_that_is_down_is_left_out() -> Result<(), Error> {
    let [mut down, without] = [servers(3), servers(3)];
    down[1] = down[1].clone().down();
    let without = [&without[..1], &without[2..]].concat();
    for (mut down, without) in both(&down)?.into_iter().zip(both(&without)?) {
        assert_eq!(owners(&down), owners(&without));
        down.apply(&Change::reweight("10.0.0.2:80", 1))?;
        assert!(owners(&down).contains(&Some("10.0.0.2:80")));
    }
    Ok(())
}

#[test]
fn one_server_owns_every_key_and_none_owns_none() -> Result<(), Error> {
    for pool in both(&servers(1))? {
        assert!(
            owners(&pool)
                .iter()
                .all(|owner| *owner == Some("10.0.0.1:80"))
        );
    }
    for pool in both(&[])?
        .into_iter()
        .chain(both(&[Server::new("a").down()])?)
    {
        assert!(owners(&pool).iter().all(Option::is_none));
    }
    Ok(())
}

#[test]
fn a_ring_keeps_to_its_sizes() -> Result<(), Error> {
    let len = |weights: &[u32], sizes: [u64; 2]| {
        let system = Envoy {
            min_ring_size: sizes[0],
            max_ring_size: sizes[1],
            ..Envoy::default()
        };
        let servers = weights.iter().enumerate();
        let servers = servers.map(|(at, w)| Server::new(format!("s{at}")).with_weight(*w));
        Ok::<_, Error>(Pool::new(system, servers)?.layout().len())
    };
    assert_eq!(len(&[1, 1, 1], [1024, 4096])?, 1026);
    assert_eq!(len(&[1, 3], [1, 4096])?, 4);
    assert_eq!(len(&[1, 3], [1, 3])?, 3);
    assert_eq!(len(&[1, u32::MAX - 1], [1024, 4096])?, 4096);
    assert!(len(&[1, u32::MAX], [1024, 4096]).is_err());
    for sizes in [[0, 5], [5, 4], [1, 8_388_609]] {
        assert!(len(&[1], sizes).is_err(), "{sizes:?}");
    }
    Ok(())
}

#[test]
fn a_busy_server_hands_requests_to_others() -> Result<(), Error> {
    for policy in ["RING_HASH", "MAGLEV"] {
        let params = Params::default()
            .with("policy", policy)
            .with("balance-factor", "125");
        let pool = pool(servers(100), &params)?;
        let key = pool.hash_key(b"hot").expect("a hash");
        let owner = pool.route_hash(key);
        for _ in 0..1000 {
            assert!(pool.acquire_hash(key).is_some());
        }
        for (id, _) in pool.nodes() {
            // ceil(1.25 * 1000 / 100) slots, and one request more.
            assert!(pool.load(id) <= 14, "{}", pool.load(id));
        }
        assert_eq!(pool.choose(key, &|_| 0), owner);
        assert!(pool.choose(key, &|_| u64::MAX).is_some());
    }
    Ok(())
}

#[test]
fn if_all_are_overloaded_a_weighted_server_is_chosen() -> Result<(), Error> {
    let system = Envoy {
        balance_factor: 100,
        ..Envoy::default()
    };
    let mut light = servers(3);
    light[2] = light[2].clone().with_weight(0);
    let pool = Pool::new(system, light)?;
    let key = pool.hash_key(b"key").expect("a hash");
    let chosen = pool.choose(key, &|id| 5 + id.index() as u64);
    assert!(chosen.is_some_and(|id| pool.nodes().weight(id) > Some(0)));
    Ok(())
}

#[test]
fn wrong_options_are_refused() {
    let dialect = super::super::find("envoy").expect("a dialect");
    for (name, value) in [
        ("policy", "RANDOM"),
        ("hash-function", "DEFAULT"),
        ("min-ring-size", "8388609"),
        ("max-ring-size", "many"),
        ("balance-factor", "99"),
    ] {
        let params = Params::default().with(name, value);
        assert!(
            dialect.build(servers(1), &params).is_err(),
            "{name}={value}"
        );
    }
    for size in ["1", "100", "5000013"] {
        let params = Params::default()
            .with("policy", "MAGLEV")
            .with("table-size", size);
        assert!(dialect.build(servers(1), &params).is_err(), "{size}");
    }
}

#[test]
fn a_factor_overflows_as_in_envoy() -> Result<(), Error> {
    let params = Params::default().with("balance-factor", "2147483647");
    let servers = ["10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80"].map(Server::new);
    let pool = pool(servers.into(), &params)?;
    for _ in 0..6 {
        assert!(pool.acquire(b"key1").is_some());
    }
    // Envoy 1.40.0 spreads six held requests in this way.
    let mut held: Vec<_> = pool.nodes().iter().map(|(id, _)| pool.load(id)).collect();
    held.sort_unstable();
    assert_eq!(held, [0, 2, 4]);
    Ok(())
}

fn small(table_size: u64, servers: Vec<Server>) -> Result<Pool, Error> {
    let system = Envoy {
        policy: LbPolicy::Maglev,
        table_size,
        ..Envoy::default()
    };
    Pool::new(system, servers)
}

#[test]
fn the_order_of_the_servers_does_not_matter_to_maglev() -> Result<(), Error> {
    let reversed = servers(3).into_iter().rev().collect();
    let [one, other] = [small(31, servers(3))?, small(31, reversed)?];
    assert_eq!(owners(&one), owners(&other));
    Ok(())
}

#[test]
fn a_server_of_half_the_weight_claims_a_cell_in_rounds_1_and_2() -> Result<(), Error> {
    let [light, heavy] = ["a", "b"].map(Server::new);
    let pool = small(3, vec![light, heavy.with_weight(2)])?;
    let owner = |cell| pool.route_hash(crate::KeyHash::from_raw(cell));
    let light = pool.nodes().id("a");
    assert_eq!((0..3).filter(|cell| owner(*cell) == light).count(), 2);
    Ok(())
}

#[test]
fn a_server_may_hold_one_request_if_its_slots_overflow_to_0() -> Result<(), Error> {
    let system = Envoy {
        balance_factor: 1 << 30,
        ..Envoy::default()
    };
    let pool = Pool::new(system, servers(2))?;
    let key = pool.hash_key(b"key").expect("a hash");
    let owner = pool.choose(key, &|_| 0);
    // 3 requests are held, so there are 2^32 slots, which wrap to 0.
    let chosen = pool.choose(key, &|id| if Some(id) == owner { 2 } else { 1 });
    assert!(chosen.is_some() && chosen != owner);
    Ok(())
}
