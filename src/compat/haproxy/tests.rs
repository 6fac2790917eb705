use alloc::format;
use alloc::string::ToString;

use super::*;
use crate::strategy::Params;
use crate::{Change, Loads, Node, Router};

fn pool(method: HashType, servers: Vec<Server>) -> Result<Pool, Error> {
    let system = HaProxy {
        method,
        ..HaProxy::default()
    };
    Pool::new(system, servers)
}

fn servers(n: usize) -> Vec<Server> {
    (1..=n).map(|n| Server::new(format!("s{n}"))).collect()
}

fn owners(pool: &Pool) -> Vec<Option<&str>> {
    let keys = (0..500_u32).map(u32::to_be_bytes);
    keys.map(|key| pool.route(&key).map(Node::name)).collect()
}

#[test]
fn a_position_is_an_id_unless_it_is_taken() -> Result<(), Error> {
    let ids_of = |labels: [Option<&str>; 4]| -> Result<Vec<u32>, Error> {
        let servers: Vec<_> = labels
            .iter()
            .zip(servers(4))
            .filter_map(|(label, server)| {
                let id = NodeId::from_index(0)?;
                let labelled = label.map(|label| server.clone().with_label(label));
                Some((id, labelled.unwrap_or(server)))
            })
            .collect();
        ids(&servers)
    };
    assert_eq!(ids_of([None; 4])?, [1, 2, 3, 4]);
    assert_eq!(ids_of([Some("3"), None, None, None])?, [3, 2, 4, 5]);
    for label in ["0", "x", "-1", "2147483648"] {
        assert!(ids_of([Some(label), None, None, None]).is_err(), "{label}");
    }
    assert!(ids_of([Some("7"), Some("7"), None, None]).is_err());
    // Whole ids decide which numbers are free; only points use 20 bits of them.
    assert_eq!(
        ids_of([Some("1048578"), None, None, None])?,
        [1_048_578, 2, 3, 4]
    );
    Ok(())
}

// With ids 7, 1048583 and 3 of 2.6.12, `hash-type consistent`, and the keys key0, key1, ... in a URL
// parameter, a running copy gave the 300 keys to the servers in these numbers.
#[test]
fn ids_that_are_equal_in_20_bits_share_their_points() -> Result<(), Error> {
    let labelled = || {
        let labelled = servers(3).into_iter().zip(["7", "1048583", "3"]);
        labelled.map(|(server, id)| server.with_label(id)).collect()
    };
    let counts = |pool: &Pool| {
        ["s1", "s2", "s3"].map(|name| {
            let keys = (0..300).map(|i| format!("key{i}"));
            let owners = keys.map(|key| pool.route(key.as_bytes()).map(Node::name) == Some(name));
            owners.filter(|own| *own).count()
        })
    };
    assert_eq!(
        counts(&pool(HashType::Consistent, labelled())?),
        [82, 63, 155]
    );
    // In 3.0, whole ids count.
    let system = HaProxy::default().with_id_bits(IdBits::All32);
    let whole = counts(&Pool::new(system, labelled())?);
    assert!(whole.iter().all(|count| *count > 40), "{whole:?}");
    Ok(())
}

#[test]
fn a_server_alone_owns_every_hash_even_with_shared_points() -> Result<(), Error> {
    let twins = ["7", "1048583"].map(|id| Server::new(id).with_label(id));
    let [first, last] = twins;
    for pair in [[first.clone().down(), last.clone()], [first, last.down()]] {
        let pool = pool(HashType::Consistent, pair.into())?;
        assert!(owners(&pool).iter().all(Option::is_some));
    }
    Ok(())
}

#[test]
fn an_address_may_identify_a_server() -> Result<(), Error> {
    let names = ["10.0.0.1:80", "10.0.0.2:80", "[::1]:80"];
    for (text, by) in [("addr", HashKey::Addr), ("addr-port", HashKey::AddrPort)] {
        let system = HaProxy::default().with_hash_key(by);
        let pool = Pool::new(system.clone(), names.map(Server::new))?;
        let mut back = names.map(Server::new);
        back.reverse();
        assert_eq!(owners(&pool), owners(&Pool::new(system, back)?), "{text}");
        // A label says the same for one server.
        let label = |name: &str| match by {
            HashKey::Addr => name.trim_end_matches(":80").to_string(),
            _ => name.to_string(),
        };
        let labelled = (1..)
            .zip(names)
            .map(|(n, name)| Server::new(format!("s{n}")).with_label(label(name)));
        let labelled = super::pool(labelled.collect(), &Params::default())?;
        let own = |pool: &Pool| -> Vec<_> {
            let keys = (0..500_u32).map(|i| pool.route(&i.to_be_bytes()).map(Node::name));
            keys.map(|name| pool.nodes().id(name.unwrap_or_default()))
                .collect()
        };
        assert_eq!(own(&pool), own(&labelled), "{text}");
        let asked = super::pool(servers(1), &Params::default().with("hash-key", text));
        assert!(asked.is_err(), "a name has no address");
    }
    Ok(())
}

#[test]
fn addresses_are_read_as_in_haproxy() {
    let read = |text| keys::Address::parse(text).map(|of| (of.ip.to_string(), of.port));
    for (text, ip, port) in [
        ("10.0.0.1", "10.0.0.1", None),
        ("10.0.0.1:80", "10.0.0.1", Some(80)),
        ("ipv4@10.0.0.1:80", "10.0.0.1", Some(80)),
        ("[::1]", "::1", None),
        ("[::1]:80", "::1", Some(80)),
        ("::1:80", "::1", Some(80)),
    ] {
        assert_eq!(read(text), Some((ip.into(), port)), "{text}");
    }
    for text in [
        "web:80",
        "10.0.0.1:+80",
        "unix@/run/s",
        "10.0.0.1:99999",
        "[::1",
        "",
    ] {
        assert_eq!(read(text), None, "{text}");
    }
}

#[test]
fn a_factor_overflows_as_in_haproxy() -> Result<(), Error> {
    let params = Params::default().with("balance-factor", "2147483647");
    let pool = super::pool(servers(3), &params)?;
    for _ in 0..6 {
        assert!(pool.acquire(b"key1").is_some());
    }
    // HAProxy 2.6.12 spreads six held requests in this way.
    let mut held: Vec<_> = pool.nodes().iter().map(|(id, _)| pool.load(id)).collect();
    held.sort_unstable();
    assert_eq!(held, [1, 2, 3]);
    let params = Params::default().with("balance-factor", "2147483648");
    assert!(super::pool(servers(3), &params).is_err());
    Ok(())
}

#[test]
fn ids_count_and_names_do_not() -> Result<(), Error> {
    for method in [HashType::Consistent, HashType::MapBased] {
        let plain = pool(method, servers(3))?;
        let labels = servers(3).into_iter().zip(["1", "2", "3"]);
        let labelled = labels.map(|(server, id)| server.with_label(id)).collect();
        assert_eq!(owners(&plain), owners(&pool(method, labelled)?));
    }
    let moved = servers(3).into_iter().zip(["7", "2", "3"]);
    let moved = moved.map(|(server, id)| server.with_label(id)).collect();
    let moved = pool(HashType::Consistent, moved)?;
    assert_ne!(
        owners(&pool(HashType::Consistent, servers(3))?),
        owners(&moved)
    );
    Ok(())
}

#[test]
fn a_server_that_is_down_keeps_its_number() -> Result<(), Error> {
    for method in [HashType::Consistent, HashType::MapBased] {
        let mut all = pool(method, servers(3))?;
        all.apply(&Change::reweight("s2", 0))?;
        let mut down = servers(3);
        down[1] = down[1].clone().down();
        assert_eq!(owners(&all), owners(&pool(method, down)?));
        assert!(!owners(&all).contains(&Some("s2")));
        assert!(owners(&all).contains(&Some("s1")) && owners(&all).contains(&Some("s3")));
    }
    Ok(())
}

#[test]
fn one_server_owns_every_key_and_none_owns_none() -> Result<(), Error> {
    for method in [HashType::Consistent, HashType::MapBased] {
        let one = pool(method, servers(1))?;
        assert!(owners(&one).iter().all(|owner| *owner == Some("s1")));
        assert_eq!(one.route(b"").map(Node::name), Some("s1"));
        let none = pool(method, vec![])?;
        assert!(owners(&none).iter().all(Option::is_none));
        let down = pool(method, vec![Server::new("s1").down()])?;
        assert!(owners(&down).iter().all(Option::is_none));
    }
    Ok(())
}

#[test]
fn the_weight_of_a_server_that_is_down_counts_for_the_common_factor() -> Result<(), Error> {
    let weights = |last: Server| {
        let heavy = [("s1", 4), ("s2", 6)].map(|(name, w)| Server::new(name).with_weight(w));
        pool(
            HashType::MapBased,
            heavy.into_iter().chain([last]).collect(),
        )
    };
    assert_eq!(
        weights(Server::new("s3").with_weight(2).down())?
            .layout()
            .len(),
        5
    );
    assert_eq!(
        weights(Server::new("s3").with_weight(3).down())?
            .layout()
            .len(),
        10
    );
    Ok(())
}

#[test]
fn a_busy_server_hands_requests_to_one_with_room() -> Result<(), Error> {
    let params = Params::default().with("balance-factor", "125");
    let pool = super::pool(servers(4), &params)?;
    let key = pool.hash_key(b"hot").expect("a hash");
    let owner = pool.route_hash(key);
    for _ in 0..100 {
        assert!(pool.acquire_hash(key).is_some());
    }
    for (id, _) in pool.nodes() {
        // ceil(1.25 * 100 / 4)
        assert!(pool.load(id) <= 32, "{}", pool.load(id));
    }
    assert_eq!(pool.choose(key, &|_| 0), owner);
    assert!(pool.choose(key, &|_| u64::MAX).is_some(), "full everywhere");
    Ok(())
}

#[test]
fn loads_leave_with_their_server() -> Result<(), Error> {
    let system = HaProxy {
        balance_factor: 150,
        ..HaProxy::default()
    };
    let mut pool = Pool::new(system, servers(2))?;
    let lease = pool.acquire(b"hot").expect("a server that is up");
    let placed = lease.node();
    let name = pool.nodes().name(placed).expect("a member").to_string();
    pool.apply(&Change::reweight(&*name, 2))?;
    assert_eq!(pool.load(placed), 1);
    pool.apply(&Change::remove(&*name))?;
    pool.apply(&Change::Add(Node::new(&*name)))?;
    assert!(pool.nodes().iter().all(|(id, _)| pool.load(id) == 0));
    Ok(())
}

#[test]
fn every_lookup_uses_the_present_load() -> Result<(), Error> {
    let params = Params::default().with("balance-factor", "125");
    let mut pool = super::pool(servers(3), &params)?;
    let key = pool.hash_key(b"hot").expect("a hash");
    let idle = pool.route_hash(key);
    let leases: Vec<_> = (0..3).filter_map(|_| pool.acquire_hash(key)).collect();
    let now = pool.route_hash(key);
    assert_ne!(now, idle, "the owner is full");
    let id = |node: &Node| pool.nodes().id(node.name());
    assert_eq!(pool.route(b"hot").and_then(id), now);

    // A server that takes the id of one that left starts without its load.
    let name = idle.and_then(|id| pool.nodes().name(id));
    let name = name.expect("one that is up").to_string();
    pool.apply(&Change::remove(&*name))?;
    pool.apply(&Change::Add(Node::new("new")))?;
    assert_eq!(pool.nodes().id("new"), idle);
    let own = pool.acquire_hash(key).expect("one that is up");
    let before: Vec<_> = pool.nodes().iter().map(|(id, _)| pool.load(id)).collect();
    let given = leases.into_iter().map(|lease| {
        let gone = Some(lease.node()) == idle;
        (gone, pool.release(lease))
    });
    assert!(
        given
            .collect::<Vec<_>>()
            .iter()
            .all(|(gone, given)| gone != given)
    );
    let new = pool.nodes().id("new").expect("a member");
    assert_eq!(pool.load(new), before[new.index()]);
    assert!(pool.release(own));
    Ok(())
}

#[test]
fn wrong_options_are_refused() {
    let dialect = super::super::find("haproxy").expect("a dialect");
    for (name, value) in [
        ("method", "nearest"),
        ("function", "md5"),
        ("avalanche", "yes"),
        ("balance-factor", "100"),
        ("balance-factor", "-1"),
        ("hash-key", "name"),
        ("id-bits", "28"),
    ] {
        let params = Params::default().with(name, value);
        assert!(
            dialect.build(servers(1), &params).is_err(),
            "{name}={value}"
        );
    }
    let heavy = Server::new("s1").with_weight(257);
    assert!(pool(HashType::Consistent, vec![heavy]).is_err());
}

#[test]
fn a_map_does_not_depend_on_loads() -> Result<(), Error> {
    let system = HaProxy {
        method: HashType::MapBased,
        balance_factor: 125,
        ..HaProxy::default()
    };
    let pool = Pool::new(system, servers(3))?;
    let key = pool.hash_key(b"hot").expect("a hash");
    assert!(pool.loads().is_none());
    let owner = pool.route_hash(key);
    assert_eq!(owner.map(|id| pool.load(id)), Some(0));
    let busy = pool.choose(key, &|id| if Some(id) == owner { 50 } else { 0 });
    assert_eq!(busy, owner);
    Ok(())
}
