use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::*;
use crate::strategy::Params;
use crate::{Change, Node, Router};

fn modula() -> Twemproxy {
    Twemproxy {
        distribution: Distribution::Modula,
        hash: Function::OneAtATime,
        ..Twemproxy::default()
    }
}

fn owner(pool: &Pool, key: &str) -> Option<String> {
    pool.route(key.as_bytes()).map(|node| node.name().into())
}

fn owners(pool: &Pool) -> Vec<Option<String>> {
    (0..500).map(|i| owner(pool, &format!("key:{i}"))).collect()
}

#[test]
fn a_server_that_is_down_is_left_out() -> Result<(), Error> {
    for distribution in [Distribution::Ketama, Distribution::Modula] {
        let twemproxy = Twemproxy {
            distribution,
            ..Twemproxy::default()
        };
        let server = |name: &str| Server::new(name).with_weight(2);
        let three = ["a:1", "b:1", "c:1"].map(server);
        let mut pool = Pool::new(twemproxy.clone(), three.clone())?;
        let before = owners(&pool);
        pool.apply(&Change::reweight("b:1", 0))?;
        let two = Pool::new(twemproxy.clone(), ["a:1", "c:1"].map(server))?;
        assert_eq!(owners(&pool), owners(&two));
        assert_eq!(pool.servers().nth(1).map(Server::weight), Some(2));
        pool.apply(&Change::reweight("b:1", 2))?;
        assert_eq!(owners(&pool), before);
        let none = Pool::new(twemproxy, three.map(Server::down))?;
        assert_eq!(owner(&none, "key"), None);
        assert!(none.layout().is_empty());
    }
    Ok(())
}

#[test]
fn cells_are_sorted_by_name_shorter_names_first() -> Result<(), Error> {
    let servers = [("1", "bb"), ("2", "ba"), ("3", "c")]
        .map(|(address, name)| Server::new(address).with_weight(2).with_label(name));
    let pool = Pool::new(modula(), servers)?;
    // The empty key hashes to 0; twemproxy does not call the function.
    assert_eq!(owner(&pool, "").as_deref(), Some("3"));
    let cell = |hash| {
        let id = pool.route_hash(crate::KeyHash::from_raw(hash));
        id.and_then(|id| pool.nodes().get(id)).map(Node::name)
    };
    let cells: Vec<_> = (0..7).filter_map(cell).collect();
    assert_eq!(cells, ["3", "3", "2", "2", "1", "1", "3"]);
    Ok(())
}

#[test]
fn the_empty_key_is_not_hashed_and_others_are() -> Result<(), Error> {
    let jenkins = Twemproxy {
        hash: Function::Jenkins,
        ..Twemproxy::default()
    };
    let pool = Pool::new(jenkins, ["a:1", "b:1"].map(Server::new))?;
    let zero = Some(crate::KeyHash::from_raw(0));
    assert_eq!(pool.hash_key(b""), zero);
    assert!(pool.hash_key(b"a").is_some_and(|hash| Some(hash) != zero));
    Ok(())
}

#[test]
fn a_name_is_derived_from_the_address_as_in_twemproxy() {
    for (address, made) in [
        ("10.0.0.1:11211", "10.0.0.1"),
        ("10.0.0.1:11212", "10.0.0.1:11212"),
        ("10.0.0.1:0011211", "10.0.0.1"),
        ("10.0.0.1:011212", "10.0.0.1:011212"),
        ("10.0.0.1:112110", "10.0.0.1:112110"),
        ("/run/redis.sock", "/run/redis.sock:"),
    ] {
        assert_eq!(name(&Server::new(address)), made);
        assert_eq!(name(&Server::new(address).with_label("x")), "x");
    }
}

#[test]
fn wrong_pools_are_refused() {
    let same = ["a:1", "b:1"].map(|address| Server::new(address).with_label("x"));
    assert!(Pool::new(Twemproxy::default(), same).is_err());
    let host = ["h:11211", "h"].map(Server::new);
    assert!(Pool::new(Twemproxy::default(), host).is_err());
    let zeros = ["h:11211", "h:011211"].map(Server::new);
    assert!(Pool::new(Twemproxy::default(), zeros).is_err());
    let heavy = || ["a", "b"].map(|name| Server::new(name).with_weight(u32::MAX));
    assert!(Pool::new(Twemproxy::default(), heavy()).is_err());
    assert!(Pool::new(modula(), [Server::new("a").with_weight(u32::MAX)]).is_err());
    let name = |length| [Server::new("a:1").with_label("x".repeat(length))];
    assert!(Pool::new(Twemproxy::default(), name(82)).is_ok());
    assert!(Pool::new(Twemproxy::default(), name(83)).is_err());
    assert!(Pool::new(modula(), name(83)).is_ok());
}

#[test]
fn a_wrong_option_names_the_right_values() {
    let refusal = |name: &str, value: &str| {
        let params = Params::default().with(name, value);
        let pool =
            crate::compat::find("twemproxy").and_then(|row| row.build([Node::new("a")], &params));
        pool.map_or_else(|error| error.to_string(), |_| String::new())
    };
    assert!(refusal("hash", "fnv").contains("one of: one_at_a_time, md5"));
    assert!(refusal("hash", "MURMUR3").contains("hash = "));
    assert!(refusal("distribution", "random").contains("not a function of the key"));
    assert!(
        refusal("hash_tag", "{").starts_with("hash_tag = \"{\" cannot be used: expected exactly")
    );
    assert!(refusal("char", "int").contains("signed or unsigned"));
    assert!(refusal("hsh", "md5").contains("hash, distribution, hash_tag, char"));
}

#[cfg(feature = "config")]
mod config {
    use super::*;
    use crate::compat::find;
    use crate::registry::Config;

    const FILE: &str = "\
# two pools
alpha:
  listen: 127.0.0.1:22121
  hash: crc32a
  distribution: modula
  hash_tag: \"$$\"
  redis: true
  frobnicate: on
  servers:
    - 10.0.0.1:6379:2 one
    - 10.0.0.2:6379:1

beta:
  timeout: 400
  servers: [ '/run/redis.sock:1' ]
";

    fn read(text: &str) -> Result<Vec<Config>, Error> {
        find("twemproxy")?.read(text)
    }

    #[test]
    fn pools_are_read_with_options_and_servers() -> Result<(), Error> {
        let pools = read(FILE)?;
        let [alpha, beta] = pools.as_slice() else {
            return Err(Error::EmptyName);
        };
        assert_eq!((alpha.name(), beta.name()), ("alpha", "beta"));
        let params = Params::default()
            .with("hash", "crc32a")
            .with("distribution", "modula")
            .with("hash_tag", "$$");
        assert_eq!(alpha.params(), &params);
        assert_eq!(beta.params(), &Params::default());
        assert_eq!(alpha.unknown().len(), 1);
        assert_eq!(
            (alpha.unknown()[0].line, &*alpha.unknown()[0].text),
            (8, "frobnicate")
        );
        let server = |at: usize| {
            let server = &alpha.servers()[at];
            (server.name(), server.label(), server.weight())
        };
        assert_eq!(server(0), ("10.0.0.1:6379", "one", 2));
        assert_eq!(server(1), ("10.0.0.2:6379", "10.0.0.2:6379", 1));
        assert_eq!(beta.servers()[0].name(), "/run/redis.sock");
        assert_eq!(alpha.build()?.nodes().len(), 2);
        let pool = pool(alpha.servers().to_vec(), alpha.params())?;
        assert_eq!(pool.layout().len(), 3);
        assert!(beta.build()?.route(b"key").is_some());
        Ok(())
    }

    #[test]
    fn a_pool_that_cannot_be_read_leaves_the_others() -> Result<(), Error> {
        let text = "a:\n  distribution: random\n  servers: [ 'h:1:1' ]\nb:\n  servers: [ 'h:1:1' ]\nc: 1\n";
        let pools = read(text)?;
        let names: Vec<_> = pools.iter().map(Config::name).collect();
        assert_eq!(names, ["a", "b", "c"]);
        let error = pools[0].build().unwrap_err().to_string();
        assert!(error.starts_with("line 2: distribution"), "{error}");
        assert!(pools[1].build()?.route(b"key").is_some());
        assert!(pools[2].error().is_some());
        Ok(())
    }

    #[test]
    fn an_error_names_its_line() {
        let pool = |line: &str| format!("a:\n  {line}\n  servers:\n    - h:1:1\n");
        for (text, start) in [
            (
                pool("hash: sha1"),
                "line 2: hash \"sha1\": expected one of: one_at_a_time",
            ),
            (
                pool("distribution: random"),
                "line 2: distribution \"random\": expected ketama or modula: random",
            ),
            (
                pool("hash_tag: '{'"),
                "line 2: hash_tag \"{\": expected exactly two",
            ),
            (pool("hash: [md5]"), "line 2: hash: expected a single"),
            (pool("hash: md5\n  hash: md5"), "line 3"),
            ("a: 1".into(), "line 1"),
            ("[a]".into(), "line 1"),
            ("a:\n  redis: true".into(), "line 1: a pool without servers"),
            ("a:\n  servers:\n    - h:1".into(), "line 3: server"),
            ("a:\n  servers:\n    - h:0:1".into(), "line 3: port"),
            ("a:\n  servers:\n    - h:1:0".into(), "line 3: weight"),
            ("a:\n  servers:\n    - h:1:-1".into(), "line 3: weight"),
            (
                "a:\n  servers:\n    - h:1:2147483648".into(),
                "line 3: weight",
            ),
            ("a:\n  servers:\n    - /s".into(), "line 3: server"),
            // twitter/twemproxy#30, #282 and #38.
            (
                "  listen: h:1\n  servers:\n- h:1:1\n".into(),
                "line 1: the pool has no name",
            ),
            (
                "a:\nlisten: h:1\nservers:\n- h:1:1\n".into(),
                "line 2: listen is not indented",
            ),
            (
                "a:\n  redis: true\n  servers:\n- h:1:1\n".into(),
                "line 4: the list of servers is not indented",
            ),
            (
                "a:\n  listen:h:1\n  servers:\n  - h:1:1\n".into(),
                "line 2: a blank is missing after \"listen:\"",
            ),
            (
                "a:\n  servers:\n  -h:1:1\n".into(),
                "line 3: a blank is missing after \"-\"",
            ),
            (
                "a:\n\tredis: true\n".into(),
                "line 2: a tab before the text",
            ),
            (
                "a:\n  servers:\n  - h:11211:1\n  - i:1:1\n  - h:11211:2\n".into(),
                "line 5: name of server \"h\": expected a name that no other server has: line 3",
            ),
            (pool("timeout: soon"), "line 2: timeout \"soon\""),
            (pool("timeout: -1"), "line 2: timeout"),
            (pool("backlog: 2147483648"), "line 2: backlog"),
            (
                pool("server_connections: 1.5"),
                "line 2: server_connections",
            ),
            (pool("timeout: [1]"), "line 2: timeout: expected a single"),
            (pool("redis: yes"), "line 2: redis \"yes\": expected true"),
            (pool("auto_eject_hosts: 1"), "line 2: auto_eject_hosts"),
            (
                pool("listen: h"),
                "line 2: listen \"h\": expected HOST:PORT",
            ),
            (pool("listen: h:0"), "line 2: listen"),
            (pool("listen: h:65536"), "line 2: listen"),
            ("a:\n  servers:\n    - h:65536:1".into(), "line 3: port"),
            (
                "a:\n  servers:\n  - h:1:1 x\n  - i:1:1 x\n".into(),
                "line 4: name of server \"x\"",
            ),
        ] {
            let refusal = read(&text).map_or_else(|error| error.to_string(), |_| String::new());
            assert!(refusal.starts_with(start), "{text:?}: {refusal}");
        }
    }

    // Reported as twitter/twemproxy#78 and #554: 16 names over 4 addresses.
    #[test]
    fn servers_of_one_address_are_told_apart_by_name() -> Result<(), Error> {
        let text = "a:\n  hash: crc32\n  distribution: modula\n  servers:\n\
                    \x20  - h:1:1 Server0\n   - h:1:2 Server1\n   - i:1:1 Server2\n";
        let config = read(text)?.remove(0);
        let servers = config.servers().iter();
        let servers: Vec<_> = servers
            .map(|server| (server.name(), server.label(), server.weight()))
            .collect();
        let expected = [
            ("Server0", "Server0", 1),
            ("Server1", "Server1", 2),
            ("i:1", "Server2", 1),
        ];
        assert_eq!(servers, expected);
        // One of them may have no name, and then has its address.
        let text = "a:\n  servers: [ 'h:1:1', 'h:1:1 h:11211' ]\n";
        let pool = read(text)?[0].build()?;
        assert_eq!(pool.nodes().len(), 2);
        Ok(())
    }

    #[test]
    fn a_pool_without_listen_is_told() -> Result<(), Error> {
        let notes = |listen: &str| -> Result<usize, Error> {
            let text = format!("a:\n{listen}  servers:\n  - h:1:1\n");
            let config = read(&text)?.remove(0);
            assert!(config.build()?.route(b"key").is_some());
            Ok(config.unknown().len())
        };
        assert_eq!(notes("")?, 1);
        for address in ["0.0.0.0:22121", "/run/nutcracker.sock 0666"] {
            assert_eq!(notes(&format!("  listen: {address}\n"))?, 0);
        }
        Ok(())
    }
}
