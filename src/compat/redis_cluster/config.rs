//! Reads what a cluster prints about itself: `CLUSTER NODES` or `nodes.conf`, and all other forms that
//! [`Table::from_text`] reads.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::{SLOTS, range};
use crate::Error;
use crate::Server;
use crate::compat::config::{expected, wrong};
use crate::redis::{SlotRule, Table};
use crate::registry::{Config, Scheme, Unknown};
use crate::strategy::Params;

/// Reads a table in any form. Errors in a text that is no `CLUSTER NODES` are those of the table.
pub(super) fn read(dialect: &'static Scheme, text: &str) -> Result<Vec<Config>, Error> {
    match read_nodes(dialect, text) {
        Ok(config) => Ok(vec![config]),
        Err(error) => {
            let table = Table::from_text(text, SlotRule::REDIS)?;
            // The lines of the new text are not those of the file.
            let config = read_nodes(dialect, &table.nodes_text()).map_err(|_| error)?;
            Ok(vec![config])
        }
    }
}

/// Reads the masters and their slots. A failed master is down. Moving slots are reported as unknown,
/// because either end may have their keys.
fn read_nodes(dialect: &'static Scheme, text: &str) -> Result<Config, Error> {
    let mut config = Config {
        scheme: dialect,
        name: "cluster".into(),
        servers: Vec::new(),
        params: Params::default(),
        unknown: Vec::new(),
        key_source: None,
        error: None,
    };
    let mut slots = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line_slots = read_line(&mut config, at + 1, line)?;
        slots.extend(line_slots);
    }
    if slots.is_empty() {
        return Err(wrong(1, "no master: expected the text of CLUSTER NODES"));
    }
    config.params = config.params.with(SLOTS.name, slots.join(";"));
    Ok(config)
}

/// Reads a line; returns the entry of its slots if it is a master's.
fn read_line(config: &mut Config, line: usize, text: &str) -> Result<Option<String>, Error> {
    let mut words = text.split_whitespace();
    let Some(id) = words.next() else {
        return Ok(None);
    };
    if id == "vars" {
        return Ok(None); // the epochs in nodes.conf
    }
    let (address, flags) = (words.next(), words.next());
    let (Some(address), Some(flags), Some(_)) = (address, flags, words.nth(4)) else {
        return Err(wrong(line, "expected the eight fields of CLUSTER NODES"));
    };
    let has = |flag| flags.split(',').any(|of| of == flag);
    if !has("master") || has("noaddr") || has("handshake") {
        return Ok(None);
    }
    // 10.0.0.1:6379@16379,hostname
    let name = address.split(['@', ',']).next().unwrap_or(address);
    if name.contains(['=', ';']) {
        return Err(expected(line, "address", name, "a host and a port"));
    }
    let mut slots = Vec::new();
    for word in words {
        if word.starts_with('[') {
            config.unknown.push(Unknown::directive(line, word));
            continue;
        }
        range(word).ok_or_else(|| expected(line, "slots", word, "as in 0-99, below 16384"))?;
        slots.push(word.to_string());
    }
    let server = Server::new(name);
    config
        .servers
        .push(if has("fail") { server.down() } else { server });
    Ok(Some(format!("{name}={}", slots.join(","))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compat::find;
    use crate::redis::{Endpoint, Protocol};
    use crate::{KeyHash, Router};

    const TEXT: &str = "\
07c3 127.0.0.1:30004@31004,hostname4 slave e7d1 0 1426238317239 4 connected
67ed 127.0.0.1:30002@31002,hostname2 master - 0 1426238316232 2 connected 5461-10921 [10922->-292f]
292f 127.0.0.1:30003@31003 master,fail - 0 1426238318243 3 connected 10923-16383
e7d1 127.0.0.1:30001 myself,master - 0 0 1 connected 0-5459 5460
aaaa :0@0 master,noaddr - 0 0 1 disconnected
bbbb 127.0.0.1:30005@31005 master,handshake - 0 0 0 connected
vars currentEpoch 6 lastVoteEpoch 0
";

    fn read_text(text: &str) -> Result<Config, Error> {
        Ok(find("redis-cluster")?.read(text)?.remove(0))
    }

    #[test]
    fn the_example_of_the_manual_is_read() -> Result<(), Error> {
        let config = read_text(TEXT)?;
        let names: Vec<_> = config.servers().iter().map(Server::name).collect();
        assert_eq!(
            names,
            ["127.0.0.1:30002", "127.0.0.1:30003", "127.0.0.1:30001"]
        );
        assert_eq!(config.unknown().len(), 1);
        assert_eq!(
            (config.unknown()[0].line, &*config.unknown()[0].text),
            (2, "[10922->-292f]")
        );
        let pool = config.build()?;
        let owner = |slot| {
            let id = pool.route_hash(KeyHash::from_raw(slot))?;
            pool.nodes().name(id)?.strip_prefix("127.0.0.1:3000")
        };
        let owners = [0, 5460, 5461, 10921, 10922, 10923].map(owner);
        assert_eq!(
            owners,
            [Some("1"), Some("1"), Some("2"), Some("2"), None, None]
        );
        Ok(())
    }

    #[test]
    fn every_form_that_a_cluster_prints_gives_the_same_routes() -> Result<(), Error> {
        let id = |digit: &str| digit.repeat(40);
        let (a, b) = (id("a"), id("b"));
        let nodes = format!(
            "{a} 10.0.0.1:7001@17001 myself,master - 0 0 1 connected 0-8191\n\
             {b} 10.0.0.2:7002@17002 master - 0 0 2 connected 8192-16383\n"
        );
        let table = Table::from_text(&nodes, SlotRule::REDIS)?;
        let slots = table.to_slots(Endpoint::Ip, Protocol::Resp2);
        let shards = table.to_shards(Endpoint::Ip, Protocol::Resp3);
        let forms = [
            nodes.clone(),
            format!("{nodes:?}"),
            format!("127.0.0.1:7001> cluster nodes\n{nodes}"),
            slots.to_string(),
            shards.to_string(),
            format!("0\n8191\n10.0.0.1\n7001\n{a}\n\n8192\n16383\n10.0.0.2\n7002\n{b}\n\n"),
            format!(
                "[[0,8191,[\"10.0.0.1\",7001,\"{a}\"]],[8192,16383,[\"10.0.0.2\",7002,\"{b}\"]]]"
            ),
            format!("{a} 10.0.0.1 7001 master - 0-8191\n{b} 10.0.0.2 7002 master - 8192-16383\n"),
        ];
        for text in forms {
            let config = read_text(&text)?;
            let names: Vec<_> = config.servers().iter().map(Server::name).collect();
            assert_eq!(names, ["10.0.0.1:7001", "10.0.0.2:7002"], "{text}");
            let pool = config.build()?;
            for slot in [0, 8191, 8192, 16383] {
                let id = pool.route_hash(KeyHash::from_raw(slot));
                let name = id.and_then(|id| pool.nodes().name(id));
                assert_eq!(name, Some(names[usize::from(slot > 8191)]), "{text}");
            }
            let known = crate::compat::recognize(&text).map(|dialect| dialect.name);
            assert_eq!(known, Some("redis-cluster"), "{text}");
        }
        Ok(())
    }

    #[test]
    fn an_error_of_the_server_is_known_by_sight() {
        let error = read_text("NOAUTH Authentication required.\n").unwrap_err();
        let error = error.to_string();
        assert!(error.contains("password"), "{error}");
    }

    #[test]
    fn an_error_names_its_line() {
        for (text, start) in [
            ("", "line 1: the text is empty"),
            ("a b master", "line 1: "),
            ("\na h:1 master - 0 0 1 connected 5-x", "line 2: "),
            ("a h:1 master - 0 0 1 connected 16384", "line 1: "),
            ("a h=:1 master - 0 0 1 connected", "line 1: address"),
        ] {
            let error = read_text(text).unwrap_err().to_string();
            assert!(error.starts_with(start), "{error}");
        }
    }
}
