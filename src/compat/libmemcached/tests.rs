use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::*;
use crate::{Change, Node, Router};

fn ring() -> Libmemcached {
    Libmemcached {
        distribution: ServerDistribution::Consistent,
        ..Libmemcached::default()
    }
}

fn owners(pool: &Pool) -> Vec<Option<String>> {
    let owner = |key: String| Some(pool.route(key.as_bytes())?.name().into());
    (0..500).map(|i| owner(format!("key:{i}"))).collect()
}

#[test]
fn a_ring_leaves_out_servers_that_are_down_and_modula_does_not() -> Result<(), Error> {
    let three = ["a:1", "b:1", "c:1"].map(Server::new);
    let two = ["a:1", "c:1"].map(Server::new);
    for weighted in [Weighted::IfAny, Weighted::Always] {
        let system = Libmemcached { weighted, ..ring() };
        let mut pool = Pool::new(system.clone(), three.clone())?;
        pool.apply(&Change::reweight("b:1", 0))?;
        assert_eq!(owners(&pool), owners(&Pool::new(system, two.clone())?));
    }
    let mut pool = Pool::new(Libmemcached::default(), three)?;
    let before = owners(&pool);
    pool.apply(&Change::reweight("b:1", 0))?;
    let after = before
        .iter()
        .cloned()
        .map(|owner| owner.filter(|name| name != "b:1"));
    assert_eq!(owners(&pool), after.collect::<Vec<_>>());
    Ok(())
}

#[test]
fn a_label_omits_the_default_port_except_for_spy() {
    let spy = Libmemcached {
        distribution: ServerDistribution::Spy,
        ..ring()
    };
    for (name, plain, spied) in [
        ("h:11211", "h", "/h:11211"),
        ("h", "h", "/h:11211"),
        ("h:1", "h:1", "/h:1"),
        ("::1:11211", "::1", "/::1:11211"),
        ("/run/m.sock", "/run/m.sock:0", "//run/m.sock:0"),
        ("h:port", "h:port", "/h:port:11211"),
    ] {
        assert_eq!(ring().label(&Server::new(name)), plain);
        assert_eq!(spy.label(&Server::new(name)), spied);
    }
    let labelled = Server::new("h:1").with_label("x");
    assert_eq!(
        (&*ring().label(&labelled), &*spy.label(&labelled)),
        ("x", "/x")
    );
}

#[test]
fn weights_above_one_make_a_ring_weighted_unless_it_is_never() -> Result<(), Error> {
    let points = |weighted, weight| {
        let servers = [Server::new("a:1"), Server::new("b:1").with_weight(weight)];
        Ok(Pool::new(Libmemcached { weighted, ..ring() }, servers)?
            .layout()
            .len())
    };
    assert_eq!(points(Weighted::IfAny, 1)?, 200);
    assert_eq!(points(Weighted::IfAny, 3)?, 320);
    assert_eq!(points(Weighted::Never, 3)?, 200);
    assert_eq!(points(Weighted::Always, 1)?, 320);
    // A server that is down makes it weighted as well.
    let down = Server::new("b:1").with_weight(3).down();
    let pool = Pool::new(ring(), [Server::new("a:1"), down])?;
    assert_eq!(pool.layout().len(), 160);
    Ok::<(), Error>(())
}

#[test]
fn sorted_hosts_decide_the_order_of_modula() -> Result<(), Error> {
    let sorted = Libmemcached {
        sort_hosts: true,
        ..Libmemcached::default()
    };
    let pool = Pool::new(sorted, ["b:1", "a:20", "a:3"].map(Server::new))?;
    let owner = |hash| pool.route_hash(crate::KeyHash::from_raw(hash));
    let names = [0, 1, 2].map(|hash| pool.nodes().get(owner(hash)?).map(Node::name));
    assert_eq!(names, [Some("a:3"), Some("a:20"), Some("b:1")]);
    Ok(())
}

#[test]
fn a_namespace_is_hashed_before_the_key() -> Result<(), Error> {
    let spaced = Libmemcached {
        namespace: "app:".into(),
        ..ring()
    };
    let [plain, spaced] = [ring(), spaced].map(|system| Pool::new(system, [Server::new("a")]));
    let (plain, spaced) = (plain?, spaced?);
    assert_eq!(spaced.hash_key(b"k"), plain.hash_key(b"app:k"));
    let zero = Some(crate::KeyHash::from_raw(0));
    let longest = spaced.hash_key(&[b'k'; 246]);
    assert!(longest.is_some() && longest != zero);
    assert_eq!(spaced.hash_key(&[b'k'; 247]), zero);
    assert_eq!(Pool::new(ring(), [])?.route(b"k"), None);
    Ok(())
}

#[test]
fn a_wrong_option_names_the_right_values() {
    let refusal = |name: &str, value: &str| {
        let params = Params::default().with(name, value);
        let pool = DIALECT.build([Node::new("a")], &params);
        pool.map_or_else(|error| error.to_string(), |_| String::new())
    };
    assert!(refusal("hash", "crc16").contains("one of: DEFAULT, MD5"));
    assert!(refusal("hash", "HSIEH").contains("built without HSIEH"));
    assert!(refusal("point_hash", "HSIEH").starts_with("point_hash"));
    assert!(refusal("distribution", "RANDOM").contains("not a function of the key"));
    assert!(refusal("weighted", "yes").contains("always, if-any or never"));
    assert!(refusal("sort_hosts", "1").contains("true or false"));
}

#[cfg(feature = "config")]
mod config {
    use super::*;
    use crate::compat::find;
    use crate::registry::Config;

    fn read(text: &str) -> Result<Config, Error> {
        Ok(find("libmemcached")?.read(text)?.remove(0))
    }

    #[test]
    fn statements_act_in_their_order() -> Result<(), Error> {
        let ring = |weighted| {
            Params::default()
                .with("distribution", "CONSISTENT")
                .with("weighted", weighted)
        };
        let default = |params: Params| params.with("hash", "DEFAULT");
        for (text, params) in [
            ("--SERVER=a", default(Params::default())),
            (
                "--server=a --hash=md5",
                Params::default().with("hash", "MD5"),
            ),
            (
                "--DISTRIBUTION=consistent --SERVER=a/?2",
                default(ring("always")),
            ),
            (
                "--DISTRIBUTION=consistent --SERVER=a/?2 --DISTRIBUTION=consistent",
                default(ring("never")),
            ),
            (
                "--SERVER=a/?2 --DISTRIBUTION=consistent",
                default(ring("never")),
            ),
            (
                "--DISTRIBUTION=consistent,MD5 --SERVER=a",
                default(ring("never")),
            ),
            (
                "--DISTRIBUTION=consistent --SERVER=a --HASH=CRC",
                ring("never")
                    .with("hash", "CRC")
                    .with("point_hash", "DEFAULT"),
            ),
            (
                "--DISTRIBUTION=consistent --SERVER=a --HASH=CRC --SORT-HOSTS",
                ring("never").with("hash", "CRC").with("sort_hosts", "true"),
            ),
            (
                "--SERVER=b RESET --SERVER=a --NAMESPACE=\"x y\" --HASH-WITH-NAMESPACE",
                default(Params::default()).with("namespace", "x y"),
            ),
            ("--SERVER=a END --HASH=CRC", default(Params::default())),
        ] {
            let config = read(text)?;
            for param in DIALECT.params {
                let value = |params: &Params| params.get(param.name, String::new());
                assert_eq!(
                    value(config.params())?,
                    value(&params)?,
                    "{text}: {}",
                    param.name
                );
            }
            assert_eq!(config.servers().len(), 1, "{text}");
            config.build()?;
        }
        Ok(())
    }

    #[test]
    fn port_0_is_the_default_port() -> Result<(), Error> {
        let routes = |port: &str| {
            let text = format!("--DISTRIBUTION=consistent --SERVER=a{port} --SERVER=b{port}");
            let pool = read(&text)?.build()?;
            let host = |node: &Node| String::from(&node.name()[..1]);
            let keys = (0..100).map(|i| format!("key:{i}"));
            let hosts = keys.map(|key| pool.route(key.as_bytes()).map(host));
            Ok::<Vec<_>, Error>(hosts.collect())
        };
        for port in [":0", ":00", ":011211", ":11211"] {
            assert_eq!(routes(port)?, routes("")?, "{port}");
        }
        assert_ne!(routes(":11212")?, routes("")?);
        assert_eq!(address("/run/m.sock"), ("/run/m.sock", 0));
        Ok(())
    }

    #[test]
    fn servers_with_and_without_port_and_weight() -> Result<(), Error> {
        let text = "# two\n--SERVER=10.0.0.1:11212/?3\n\t--SERVER=cache-b.example\n\
                    --SOCKET=\"/run/m.sock\"/?0 --POLL-TIMEOUT=5\n--FROBNICATE --RANDOMIZE-REPLICA-READ";
        let config = read(text)?;
        let servers: Vec<_> = config
            .servers()
            .iter()
            .map(|s| (s.name(), s.weight()))
            .collect();
        assert_eq!(
            servers,
            [
                ("10.0.0.1:11212", 3),
                ("cache-b.example", 1),
                ("/run/m.sock", 1)
            ]
        );
        let unknown: Vec<_> = config
            .unknown()
            .iter()
            .map(|u| (u.line, &*u.text))
            .collect();
        assert_eq!(
            unknown,
            [(5, "--FROBNICATE"), (5, "--RANDOMIZE-REPLICA-READ")]
        );
        Ok(())
    }

    #[test]
    fn an_error_names_its_line() {
        for (text, start) in [
            ("--HASH=MD5", "line 1: no --SERVER"),
            (
                "--SERVER=a\n--HASH=sha1",
                "line 2: hash \"sha1\": expected one of: MD5",
            ),
            ("--SERVER=a\n--HASH=HSIEH", "line 2: hash"),
            ("--HASH=MD5 --HASH=CRC", "line 1: a second"),
            ("--DISTRIBUTION=random", "line 1: random is not"),
            ("--DISTRIBUTION=ketama", "line 1: --DISTRIBUTION"),
            ("--DISTRIBUTION=consistent_ketama", "line 1: --DISTRIBUTION"),
            ("--SERVER=a:x", "line 1: server"),
            ("--SERVER=a:+1", "line 1: server"),
            ("--SERVER=a:65536", "line 1: port of server \"a:65536\""),
            ("--SERVER=", "line 1: server"),
            ("--SERVER=a/?x", "line 1: weight"),
            ("--SOCKET=\"m\"", "line 1: socket"),
            ("--CONFIGURE-FILE=\"/etc/m\"", "line 1: another file"),
        ] {
            let refusal = read(text).map_or_else(|error| error.to_string(), |_| String::new());
            assert!(refusal.starts_with(start), "{text:?}: {refusal}");
        }
    }
}
