//! What Redis Cluster prints: tables, replies, redirects and addresses.

use arbitrary::Unstructured;
use hashroute::KeyHasher;
use hashroute::redis::{
    Address, ClusterNode, Endpoint, Flags, Link, Mark, Protocol, Redirect, Reply, Role, SlotRule,
    Table,
};

use crate::Outcome;
use crate::draw::{Draw, damage_text, put};

/// A rule of few slots in most cases, since a table of 16,384 takes most of the time.
fn rule(u: &mut Unstructured<'_>) -> SlotRule {
    let slots = match u.byte() {
        0..=251 => u.pick(&[16, 64, 100]),
        _ => return SlotRule::REDIS,
    };
    SlotRule::new(KeyHasher::REDIS, slots).expect("few slots")
}

fn host(u: &mut Unstructured<'_>) -> String {
    let mut host = String::new();
    match u.byte() {
        0..=179 => put!(host, "10.0.0.{}", u.below(200)),
        180..=199 => put!(host, "2001:db8::{:x}", u.below(99)),
        200..=219 => u.word(8, &mut host),
        220..=239 => {}
        _ => host.push('?'),
    }
    host
}

fn port(u: &mut Unstructured<'_>) -> u16 {
    match u.byte() {
        0..=219 => u.pick(&[6379, 7000, 7001, 30_001]),
        _ => u16::from_le_bytes(u.take()),
    }
}

fn node(u: &mut Unstructured<'_>, number: usize) -> ClusterNode {
    let node = ClusterNode::new(format!("id{number}")).expect("a word");
    let bits = u.byte() & u.byte() & u.byte();
    let flags = Flags::default()
        .with_suspected(bits & 1 > 0)
        .with_failed(bits & 2 > 0)
        .with_handshake(bits & 4 > 0)
        .with_no_address(bits & 8 > 0)
        .with_no_failover(bits & 16 > 0);
    let mut node = node
        .with_address(Address::new(host(u), port(u)))
        .with_flags(flags)
        .with_epoch(u.odd_number())
        .with_pings(u.odd_number(), u.odd_number())
        .with_offset(i64::from(u.byte()) * 17)
        .with_link(if u.chance(30) {
            Link::Disconnected
        } else {
            Link::Connected
        });
    if u.chance(80) {
        node = node.with_bus_port(port(u));
    }
    if u.chance(60) {
        let mut name = String::new();
        u.word(8, &mut name);
        node = node.with_hostname(name);
    }
    if u.chance(60) {
        node = node.with_extra(
            u.pick(&["shard-id", "nodename"]),
            u.pick(&["77", "abc", "x-y"]),
        );
    }
    if number > 0 && u.chance(80) {
        node = node.with_primary(if u.chance(230) { "id0" } else { "-" });
    }
    node
}

/// Builds a table of up to six nodes; with its slots and, for the node that reports, its marks.
pub(super) fn table(u: &mut Unstructured<'_>, rule: SlotRule) -> Table {
    let slots = rule.slots() as usize;
    let count = u.range(1, 6);
    let mut nodes: Vec<_> = (0..count).map(|number| node(u, number)).collect();
    let myself = u.chance(150).then(|| u.below(count));
    if let Some(at) = myself {
        let flags = nodes[at].flags().with_myself(true);
        nodes[at] = nodes[at].clone().with_flags(flags);
    }
    let mut table = Table::with_nodes(rule, nodes).expect("distinct ids");
    let mut start = 0;
    for _ in 0..u.range(1, 6) {
        if start >= slots {
            break;
        }
        let end = (start + u.below(slots / 2)).min(slots - 1);
        let owner = format!("id{}", u.below(count));
        // A replica refuses slots: they stay free.
        let _ = table.assign(start as u32..=end as u32, &owner);
        start = end + 1 + u.below(3);
    }
    if let Some(at) = myself {
        for _ in 0..u.below(3) {
            let peer = format!("id{}", u.below(7)).into();
            let mark = if u.chance(128) {
                Mark::Migrating(peer)
            } else {
                Mark::Importing(peer)
            };
            table
                .mark(u.below(slots) as u32, &format!("id{at}"), mark)
                .expect("a slot");
        }
    }
    table
}

/// Writes what a server prints for `CLUSTER NODES`, of this number of slots.
pub(super) fn nodes_text(u: &mut Unstructured<'_>, slots: usize) -> String {
    let mut text = String::new();
    let (count, mut start) = (u.range(1, 6), 0);
    for number in 0..count {
        put!(text, "id{number} {}:{}", host(u), port(u));
        if u.chance(230) {
            put!(text, "@{}", port(u));
        }
        if u.chance(60) {
            text.push_str(u.pick(&[",host.example", ",,shard-id=7", ",h,shard-id=7,tls-port=1"]));
        }
        let is_replica = number > 0 && u.chance(60);
        let role = if is_replica { "slave" } else { "master" };
        put!(
            text,
            " {}{role}{}",
            u.pick(&["", "", "myself,"]),
            u.pick(&["", "", "", ",fail", ",fail?"])
        );
        put!(text, " {}", if is_replica { "id0" } else { "-" });
        put!(text, " {} {} {}", u.byte(), u.odd_number(), u.odd_number());
        text.push_str(u.pick(&[" connected", " connected", " disconnected"]));
        if !is_replica {
            for _ in 0..u.below(3) {
                let end = (start + u.below(slots / 3)).min(slots - 1);
                if start < end {
                    put!(text, " {start}-{end}");
                    start = end + 1;
                }
            }
            if u.chance(30) {
                put!(text, " [{}-{}-id9]", u.below(slots), u.pick(&[">", "<"]));
            }
        }
        text.push_str(u.pick(&["\n", "\n", "\r\n"]));
    }
    if u.chance(60) {
        put!(
            text,
            "vars currentEpoch {} lastVoteEpoch {}\n",
            u.byte(),
            u.byte()
        );
    }
    text
}

/// Reads a text of a whole table, and checks in some cases that it can be written and read again.
fn read(text: &str, rule: SlotRule, again: bool) -> Outcome {
    match Table::from_text(text, rule.clone()) {
        Err(error) => {
            let message = error.to_string();
            assert!(
                !message.is_empty() && !message.contains("line 0"),
                "{message}"
            );
            Outcome::Refused
        }
        Ok(table) => {
            if !again {
                return Outcome::Accepted;
            }
            consistent(&table);
            let again = Table::from_nodes_text(&table.conf_text(), rule).expect("what we wrote");
            assert_eq!(again.conf_text(), table.conf_text(), "{text}");
            Outcome::Accepted
        }
    }
}

/// Checks what holds for every table.
fn consistent(table: &Table) {
    let slots = table.rule().slots();
    let (mut next, mut owned) = (0, 0);
    for (range, owner) in table.runs() {
        assert_eq!(*range.start(), next);
        next = range.end() + 1;
        if let Some(owner) = owner {
            assert_eq!(owner.role(), Role::Primary);
            owned += range.end() - range.start() + 1;
        }
    }
    assert_eq!(next, slots);
    assert_eq!(table.counts().iter().sum::<u32>(), owned);
    assert!(
        table
            .nodes()
            .windows(2)
            .all(|pair| pair[0].id() < pair[1].id())
    );
}

/// `CLUSTER NODES`, `nodes.conf` and `CLUSTERX SETNODES`.
pub(crate) fn nodes(u: &mut Unstructured<'_>) -> Outcome {
    let rule = rule(u);
    if u.chance(60) {
        let text = nodes_text(u, rule.slots() as usize);
        return damaged(u, text, rule);
    }
    let table = table(u, rule.clone());
    let (form, conf) = (u.below(4), table.conf_text());
    let text = match form {
        0 | 1 => conf,
        2 => table.nodes_text(),
        _ => table.setnodes_text(),
    };
    if form < 2 && u.chance(64) {
        let read = Table::from_nodes_text(&text, rule.clone()).expect("what we wrote");
        assert_eq!(read.conf_text(), text);
        let bare = bare(&table);
        assert!(read.marks().eq(table.marks()) && read.runs().eq(bare.runs()));
    }
    damaged(u, text, rule)
}

/// Returns the table without the offsets of replication, which `nodes.conf` does not have.
fn bare(table: &Table) -> Table {
    let nodes = table.nodes().iter().map(|node| node.clone().with_offset(0));
    let mut bare = Table::with_nodes(table.rule().clone(), nodes).expect("the same nodes");
    for (range, owner) in table.runs() {
        if let Some(owner) = owner {
            bare.assign(range, owner.id()).expect("the same slots");
        }
    }
    bare
}

/// Dresses a text as a shell or a terminal shows it, damages it, and reads it.
fn damaged(u: &mut Unstructured<'_>, mut text: String, rule: SlotRule) -> Outcome {
    match u.byte() {
        0..=15 => text = format!("127.0.0.1:6379> cluster nodes\n{text}"),
        16..=23 => text = serde_json::to_string(&text).expect("a text"),
        24..=31 => text = text.replace('\n', " "),
        _ => {}
    }
    damage_text(u, &mut text);
    let again = u.chance(24);
    read(&text, rule, again)
}

/// `CLUSTER SLOTS` and `CLUSTER SHARDS`: as values, printed to a terminal, raw and as JSON.
pub(crate) fn replies(u: &mut Unstructured<'_>) -> Outcome {
    let rule = rule(u);
    let table = table(u, rule.clone());
    let protocol = u.pick(&[Protocol::Resp2, Protocol::Resp3]);
    let endpoint = u.pick(&[
        Endpoint::Ip,
        Endpoint::Ip,
        Endpoint::Hostname,
        Endpoint::Unknown,
    ]);
    let slots = u.chance(128);
    let reply = if slots {
        table.to_slots(endpoint, protocol)
    } else {
        table.to_shards(endpoint, protocol)
    };
    if u.chance(24) {
        round(&table, &reply, slots);
    }
    let mut text = match u.below(3) {
        0 => reply.to_string(),
        1 => raw(&reply),
        _ => json(&reply),
    };
    damage_text(u, &mut text);
    if u.chance(24) {
        let parsed = if text.starts_with(['[', '{']) {
            Reply::from_json(&text)
        } else {
            Reply::from_printed(&text)
        };
        if let Ok(parsed) = parsed {
            let printed = parsed.to_string();
            assert_eq!(
                Reply::from_printed(&printed).expect("what we wrote"),
                parsed,
                "{text}"
            );
        }
    }
    let again = u.chance(24);
    self::read(&text, rule, again)
}

/// Reads the reply of a table: it has the same owners.
fn round(table: &Table, reply: &Reply, slots: bool) {
    let rule = table.rule().clone();
    let read = if slots {
        Table::from_slots(reply, rule, Some(&Address::new("10.9.9.9", 7000)))
    } else {
        Table::from_shards(reply, rule)
    };
    let told = read.expect("what we wrote");
    let owners = |table: &Table| {
        let runs = table.runs();
        let runs = runs.map(|(range, owner)| (range, owner.map(|node| node.id().to_owned())));
        runs.collect::<Vec<_>>()
    };
    assert_eq!(owners(&told), owners(table));
}

/// Writes a reply as `redis-cli` does into a pipe.
fn raw(reply: &Reply) -> String {
    fn put_all(reply: &Reply, text: &mut String) {
        match reply {
            Reply::Integer(number) => put!(text, "{number}\n"),
            Reply::Bytes(bytes) => put!(text, "{}\n", String::from_utf8_lossy(bytes)),
            Reply::Array(items) => items.iter().for_each(|item| put_all(item, text)),
            Reply::Map(pairs) => {
                for (name, value) in pairs {
                    put_all(name, text);
                    put_all(value, text);
                }
            }
            _ => text.push('\n'),
        }
    }
    let mut text = String::new();
    put_all(reply, &mut text);
    text
}

/// Writes a reply as JSON.
fn json(reply: &Reply) -> String {
    fn value(reply: &Reply) -> serde_json::Value {
        match reply {
            Reply::Integer(number) => (*number).into(),
            Reply::Bytes(bytes) => String::from_utf8_lossy(bytes).into(),
            Reply::Array(items) => items.iter().map(value).collect(),
            Reply::Map(pairs) => {
                let name = |name: &Reply| value(name).as_str().unwrap_or_default().to_owned();
                let pairs = pairs.iter().map(|(key, inner)| (name(key), value(inner)));
                serde_json::Value::Object(pairs.collect())
            }
            _ => serde_json::Value::Null,
        }
    }
    value(reply).to_string()
}

/// The errors of a server that redirect, with their addresses.
pub(crate) fn redirects(u: &mut Unstructured<'_>) -> Outcome {
    let asked = Address::new(host(u), port(u));
    let (to, slot) = (Address::new(host(u), port(u)), u.below(16_384) as u32);
    let mut text = String::from(u.pick(&["", "-"]));
    match u.byte() {
        0..=99 => put!(text, "MOVED {slot} {to}"),
        100..=199 => put!(text, "ASK {slot} {to}"),
        _ => text.push_str(u.pick(&[
            "TRYAGAIN Multiple keys request during rehashing of slot",
            "CROSSSLOT Keys in request don't hash to the same slot",
            "CLUSTERDOWN Hash slot not served",
            "LOADING Redis is loading the dataset in memory",
            "MASTERDOWN Link with MASTER is down",
        ])),
    }
    text.push_str(u.pick(&["", "\r\n", "\n"]));
    let damaged = damage_text(u, &mut text);
    let parsed = Redirect::parse(&text, &asked);
    if !damaged {
        let host = if to.host().is_empty() {
            asked.host()
        } else {
            to.host()
        };
        let to = Address::new(host, to.port());
        match &parsed {
            Some(
                Redirect::Moved {
                    slot: at,
                    to: there,
                }
                | Redirect::Ask {
                    slot: at,
                    to: there,
                },
            ) => {
                assert_eq!((*at, there), (slot, &to), "{text}");
            }
            Some(_) => {}
            None => panic!("{text}"),
        }
    }
    match parsed {
        None => Outcome::Refused,
        Some(Redirect::Moved { to, .. } | Redirect::Ask { to, .. }) => {
            assert_eq!(
                to.to_string().parse::<Address>().expect("what we wrote"),
                to
            );
            Outcome::Accepted
        }
        Some(_) => Outcome::Accepted,
    }
}

/// Any value of the protocol, printed and read.
pub(crate) fn values(u: &mut Unstructured<'_>) -> Outcome {
    let reply = value(u, 4);
    let mut text = reply.to_string();
    let damaged = damage_text(u, &mut text);
    match Reply::from_printed(&text) {
        Ok(read) => {
            assert!(damaged || read == reply, "{text}");
            assert_eq!(
                Reply::from_printed(&read.to_string()).expect("what we wrote"),
                read
            );
            Outcome::Accepted
        }
        Err(error) => {
            assert!(damaged, "{error}: {text}");
            Outcome::Refused
        }
    }
}

fn value(u: &mut Unstructured<'_>, depth: usize) -> Reply {
    match u.byte() {
        0..=19 => Reply::Null,
        20..=89 => Reply::Integer(u.odd_number() as i64),
        90..=159 => Reply::Bytes(u.key().into()),
        _ if depth == 0 => Reply::Integer(0),
        160..=219 => Reply::Array((0..u.below(6)).map(|_| value(u, depth - 1)).collect()),
        _ => {
            let mut name = String::new();
            let pairs = (0..u.below(5)).map(|_| {
                name.clear();
                u.word(4, &mut name);
                (Reply::from(&*name), value(u, depth - 1))
            });
            Reply::Map(pairs.collect())
        }
    }
}
