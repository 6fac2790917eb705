//! Tables as servers print them, read and written.

use std::fs;

use hashroute::Error;
use hashroute::redis::{
    Address, ClusterNode, Endpoint, Flags, Link, Mark, Protocol, Reply, Role, SlotRule, Table,
};
use proptest::prelude::*;

use crate::{folder, printed, table};
use hashroute_test_support::Outcome;

/// The rule of Redis with fewer slots, so that a debug build tests many tables.
fn small() -> SlotRule {
    SlotRule::new(hashroute::KeyHasher::REDIS, 512).unwrap_or_default()
}

fn files(start: &str, end: &str) -> Result<Vec<String>, std::io::Error> {
    let names = fs::read_dir(folder("redis"))?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    Ok(names
        .filter(|name| name.starts_with(start) && name.ends_with(end))
        .collect())
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn tables_of_real_servers_are_read_and_written_unchanged() -> Outcome {
    let mut names = files("nodes", ".txt")?;
    names.extend(files("", ".conf")?);
    assert!(names.len() > 10);
    for name in names {
        let (text, table) = (printed(&name)?, table(&name)?);
        assert_eq!(table.nodes().len(), 6, "{name}");
        let written = if name.contains(".conf") {
            table.conf_text()
        } else {
            table.nodes_text()
        };
        assert_eq!(sorted(&written), sorted(&text), "{name}");
    }
    Ok(())
}

#[test]
fn replies_of_redis_cli_are_read_and_written_unchanged() -> Outcome {
    let mut names = files("slots", "_resp2.txt")?;
    names.extend(files("s", "_resp3.txt")?);
    names.extend(files("shards", "_resp2.txt")?);
    assert!(names.len() > 10);
    for name in names {
        let text = printed(&name)?;
        assert_eq!(Reply::from_printed(&text)?.to_string(), text, "{name}");
    }
    Ok(())
}

/// Sorts the shards of a reply and the nodes of each.
fn in_order(text: &str) -> Result<Vec<String>, Error> {
    fn parts(reply: &Reply) -> Vec<String> {
        match reply {
            Reply::Array(items) => {
                let mut parts: Vec<_> = items.iter().map(|item| parts(item).join("\n")).collect();
                if parts.iter().all(|part| part.contains("\"id\"")) {
                    parts.sort();
                }
                parts
            }
            Reply::Map(pairs) => pairs
                .iter()
                .flat_map(|(k, v)| [k.to_string(), parts(v).join("\n")])
                .collect(),
            _ => vec![reply.to_string()],
        }
    }
    Ok(parts(&Reply::from_printed(text)?))
}

#[test]
fn replies_become_tables_and_replies_again() -> Outcome {
    for name in files("s", ".txt")? {
        if name.ends_with("_raw.txt") {
            continue;
        }
        let protocol = if name.contains("resp3") {
            Protocol::Resp3
        } else {
            Protocol::Resp2
        };
        let endpoint = match () {
            () if name.contains("unknown-endpoint") => Endpoint::Unknown,
            () if name == "slots_hostname_resp2.txt" || name == "shards_hostname_resp3.txt" => {
                Endpoint::Hostname
            }
            () => Endpoint::Ip,
        };
        let (text, table) = (printed(&name)?, table(&name)?);
        let reply = if name.starts_with("slots") {
            table.to_slots(endpoint, protocol)
        } else {
            table.to_shards(endpoint, protocol)
        };
        assert_eq!(in_order(&reply.to_string())?, in_order(&text)?, "{name}");
    }
    Ok(())
}

#[test]
fn a_pipe_and_a_terminal_show_the_same_table() -> Outcome {
    for (raw, terminal) in [
        ("slots_raw.txt", "slots_resp2.txt"),
        ("shards_raw.txt", "shards_resp3.txt"),
        ("shards_hostname_raw.txt", "shards_hostname_resp2.txt"),
        ("slots_hostname_raw.txt", "slots_hostname_resp2.txt"),
        ("slots_four_resp3_raw.txt", "slots_four_resp3.txt"),
        ("shards_four_resp3_raw.txt", "shards_four_resp3.txt"),
        (
            "slots_unknown-endpoint_raw.txt",
            "slots_unknown-endpoint_resp2.txt",
        ),
    ] {
        let (raw, terminal) = (table(raw)?, table(terminal)?);
        let heart = |table: &Table| {
            let nodes = table.nodes().iter().map(|node| node.clone().with_offset(0));
            let owners = table
                .runs()
                .map(|(range, owner)| (range, owner.map(|node| node.id().to_owned())));
            (nodes.collect::<Vec<_>>(), owners.collect::<Vec<_>>())
        };
        assert_eq!(heart(&raw), heart(&terminal));
    }
    Ok(())
}

/// A server without peers does not know its address; RESP3 then ends lines in a space.
#[test]
fn a_single_server_is_read_from_a_pipe() -> Outcome {
    let shard = |endpoint: &str| {
        format!(
            "slots 0\n9\nnodes id a\nport 7000\nip \nendpoint {endpoint}\nrole master\nhealth online\n"
        )
    };
    for (text, host) in [
        (&*shard("h.example"), "h.example"),
        (&*shard(""), ""),
        (&*shard("?"), ""),
        ("0\n9\nh.example\n7000\na\nip \n", ""),
        ("0\n9\n\n7000\na\nip \nhostname h.example\n", ""),
    ] {
        let table = Table::from_text(text, SlotRule::REDIS)?;
        assert_eq!(table.ranges("a"), [0..=9], "{text}");
        let address = table.node("a").map(ClusterNode::address);
        assert_eq!(address, Some(&Address::new(host, 7000)), "{text}");
    }
    let empty = Table::new(SlotRule::REDIS).to_slots(Endpoint::Ip, Protocol::Resp2);
    let empty = Table::from_text(&empty.to_string(), SlotRule::REDIS)?;
    assert_eq!(empty, Table::new(SlotRule::REDIS));
    let none = Table::from_text(
        "slots \nnodes id a\nport 1\nip \nrole master\n",
        SlotRule::REDIS,
    )?;
    assert!(none.ranges("a").is_empty());
    Ok(())
}

#[test]
fn an_empty_host_is_the_server_that_was_asked() -> Outcome {
    let reply = Reply::Array(vec![Reply::Array(vec![
        0.into(),
        5.into(),
        Reply::Array(vec![Reply::Null, 7000.into(), "a".into()]),
    ])]);
    let asked = Address::new("10.9.8.7", 7001);
    let table = Table::from_slots(&reply, SlotRule::REDIS, Some(&asked))?;
    let address = table.owner(0).map(|node| node.address().to_string());
    assert_eq!(address.as_deref(), Some("10.9.8.7:7000"));
    // Redis before 4.0 printed no ids.
    let old = Table::from_text(
        "1) 1) (integer) 0\n   2) (integer) 5\n   3) 1) \"10.0.0.1\"\n      2) (integer) 7000\n",
        SlotRule::REDIS,
    )?;
    assert_eq!(old.owner(5).map(ClusterNode::id), Some("10.0.0.1:7000"));
    Ok(())
}

#[test]
fn newer_and_older_forms_of_a_line_are_read() -> Outcome {
    let text = "\
        a 10.0.0.1:6379@16379,host.example,shard-id=77,tls-port=6380 myself,master,nofailover - 0 1 2 connected 0-99 200\n\
        b 2001:db8::2:6379@16379 slave,fail? a 0 1 2 connected\n\
        c :0@0 master,noaddr,fail - 5 6 1 disconnected\n\
        d 10.0.0.4:6379 handshake - 0 0 0 connected\n\
        e 10.0.0.5:6379@16379, noflags - 0 0 0 connected\n\
        vars currentEpoch 9 lastVoteEpoch 8\n";
    let table = Table::from_nodes_text(text, SlotRule::REDIS)?;
    let node = |id| table.node(id).ok_or("missing");
    assert_eq!(node("a")?.extra("shard-id"), Some("77"));
    assert_eq!(node("a")?.hostname(), Some("host.example"));
    assert_eq!(table.ranges("a"), [0..=99, 200..=200]);
    assert_eq!(node("b")?.address(), &Address::new("2001:db8::2", 6379));
    assert!(node("b")?.flags().suspected && !node("b")?.flags().failed);
    assert!(node("c")?.flags().no_address && node("c")?.flags().failed);
    assert_eq!(node("d")?.role(), Role::Unknown);
    assert_eq!(node("d")?.bus_port(), 16_379);
    assert_eq!(table.epochs(), (9, 8));
    assert_eq!(
        Table::from_nodes_text(&table.conf_text(), SlotRule::REDIS)?,
        table
    );
    Ok(())
}

#[test]
fn two_claims_on_a_slot_go_to_the_higher_epoch_in_any_order() -> Outcome {
    let lines = [
        "a h:1@1 master - 0 0 1 connected 0-9",
        "b h:2@2 master - 0 0 2 connected 5-14",
        "c h:3@3 master - 0 0 1 connected 8-20",
    ];
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 2, 1]] {
        let text = order.map(|i| lines[i]).join("\n");
        let table = Table::from_nodes_text(&text, SlotRule::REDIS)?;
        let ranges = ["a", "b", "c"].map(|id| table.ranges(id));
        assert_eq!(ranges, [[0..=4], [5..=14], [15..=20]]);
    }
    Ok(())
}

/// A promotion takes an epoch above that of every node, even where `vars` is behind.
#[test]
fn the_current_epoch_is_at_least_that_of_every_node() -> Outcome {
    let text = "a h:1@2 master,fail - 0 0 100 connected 0-5460\n\
                b h:2@2 myself,slave a 0 0 100 connected\n\
                vars currentEpoch 5 lastVoteEpoch 0\n";
    assert_eq!(Table::from_text(text, SlotRule::REDIS)?.epochs(), (100, 0));
    let cut = Table::from_text(text.trim_end_matches(" 0\n"), SlotRule::REDIS);
    let cut = cut.map(|_| ()).map_err(|error| error.to_string());
    assert_eq!(cut, Err("line 3: expected a number after each name".into()));
    Ok(())
}

/// A search through all slots for each node would take minutes here.
#[test]
fn a_line_that_repeats_itself_is_read_once() -> Outcome {
    let text = "a h:1@2 master - 0 0 1 connected".to_owned() + &" 0-16383".repeat(200_000);
    let table = Table::from_text(&text, SlotRule::REDIS)?;
    assert_eq!(table.ranges("a"), [0..=16_383]);
    let line = |i| format!("{i:05} h:{i}@2 master - 0 0 {i} connected 0-16383\n");
    let many = (0..2000).map(line).collect::<Vec<_>>().concat();
    let table = Table::from_text(&many, SlotRule::REDIS)?;
    assert_eq!(table.ranges("01999"), [0..=16_383]);
    Ok(())
}

#[test]
fn an_error_names_its_line() {
    let good = "a h:1@1 master - 0 0 1 connected";
    for (line, reason) in [
        ("b h:1@1 master - 0 0 1", "expected id address"),
        ("b h:1@1 master - 0 0 1 connected 5-4", "ascending range"),
        ("b h:1@1 master - 0 0 1 connected 16384", "within 0-16383"),
        ("b h:1@1 master - 0 0 1 connected x", "found \"x\""),
        ("b h:1@1 master - 0 0 1 connected [5->-]", "[slot->-id]"),
        ("b h:99999@1 master - 0 0 1 connected", "host:port@busport"),
        ("b h:1@1 king - 0 0 1 connected", "king"),
        ("b h:1@1 master - 0 0 -1 connected", "epoch"),
        ("b h:1@1 master - 0 0 1 maybe", "connected"),
        ("b h:1@1 master a 0 0 1 connected", "only a slave"),
        ("b h:1@1 slave a 0 0 1 connected 7", "primary"),
    ] {
        let error = Table::from_text(&format!("{good}\n{line}\n"), SlotRule::REDIS).map(|_| ());
        let error = error
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default();
        assert!(
            error.starts_with("line ") && error.contains(reason),
            "{line}: {error}"
        );
    }
    for text in [
        "",
        " \n ",
        "what",
        "1) what",
        "0\n5\nhost",
        "slots\n0",
        "1) (integer) 1\n3) (integer) 2",
        "1) 1) (integer) 0",
        "0\n5\nh\n1\na\n\n3\n9\nh\n2\nb\n\n",
    ] {
        let error = Table::from_text(text, SlotRule::REDIS).map(|_| ());
        let error = error.map_err(|error| error.to_string());
        assert!(
            error.is_err_and(|error| !error.contains("line 0")),
            "{text:?}"
        );
    }
    let deep = "1) ".repeat(100_000);
    assert!(Table::from_text(&deep, SlotRule::REDIS).is_err());
}

prop_compose! {
    fn flags()(bits in any::<[bool; 5]>()) -> Flags {
        let [suspected, failed, handshake, no_address, no_failover] = bits;
        Flags::default().with_suspected(suspected).with_failed(failed).with_handshake(handshake).with_no_address(no_address).with_no_failover(no_failover)
    }
}

fn host() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z0-9.]{0,12}",
        Just("2001:db8::1".to_owned()),
        Just("?".to_owned())
    ]
}

prop_compose! {
    fn node(id: usize)(
        host in host(), port in any::<u16>(), bus in any::<u16>(), name in "[a-z.]{0,8}",
        extra in prop::option::of("[a-z0-9]{1,5}"), replica in any::<bool>(), flags in flags(),
        times in any::<[u64; 3]>(), down in any::<bool>(), offset in any::<u32>(),
    ) -> ClusterNode {
        let node = ClusterNode::new(format!("id{id}")).unwrap_or_else(|error| panic!("{error}"));
        let node = node.with_address(Address::new(host, port)).with_bus_port(bus).with_hostname(name)
            .with_flags(flags).with_pings(times[0], times[1]).with_epoch(times[2]).with_offset(offset.into())
            .with_link(if down { Link::Disconnected } else { Link::Connected });
        let node = if let Some(value) = extra { node.with_extra("shard-id", value) } else { node };
        if replica && id > 0 { node.with_primary("id0") } else { node }
    }
}

prop_compose! {
    fn any_table()(
        nodes in (node(0), node(1), node(2), node(3)),
        runs in prop::collection::vec((0..512_u32, 0..40_u32, 0..4_usize), 0..12),
        marks in prop::collection::vec((0..512_u32, 0..4_usize, 0..4_usize, any::<bool>()), 0..5),
        myself in prop::option::of(0..4_usize),
    ) -> Table {
        let mut nodes: Vec<_> = [nodes.0, nodes.1, nodes.2, nodes.3].into();
        if let Some(i) = myself {
            let flags = nodes[i].flags().with_myself(true);
            nodes[i] = nodes[i].clone().with_flags(flags);
        }
        let mut table = Table::with_nodes(small(), nodes).unwrap_or_else(|error| panic!("{error}"));
        for (first, length, owner) in runs {
            // A replica refuses slots; such cases are skipped.
            let _ = table.assign(first..=(first + length).min(511), &format!("id{owner}"));
        }
        for (slot, from, to, migrating) in marks {
            let peer = format!("id{to}").into();
            let mark = if migrating { Mark::Migrating(peer) } else { Mark::Importing(peer) };
            // A view has only the marks of its own node.
            let _ = table.mark(slot, &format!("id{}", myself.unwrap_or(from)), mark);
        }
        table
    }
}

/// Removes what the format does not contain.
fn only(table: &Table, change: impl Fn(ClusterNode) -> ClusterNode) -> Result<Table, Error> {
    let nodes = table.nodes().iter().cloned().map(change);
    let mut copy = Table::with_nodes(small(), nodes)?;
    for (range, owner) in table.runs() {
        if let Some(owner) = owner {
            copy.assign(range, owner.id())?;
        }
    }
    Ok(copy)
}

proptest! {
    #![proptest_config(hashroute_test_support::fixed(256))]

    #[test]
    fn a_written_table_is_read_back_equal(table in any_table()) {
        let told: Vec<_> = table.nodes().iter().map(|node| node.clone().with_offset(0)).collect();
        let mut told = Table::with_nodes(small(), told)?;
        for (range, owner) in table.runs() {
            if let Some(owner) = owner {
                told.assign(range, owner.id())?;
            }
        }
        for (slot, id, mark) in table.marks() {
            told.mark(slot, id, mark.clone())?;
        }
        prop_assert_eq!(&Table::from_nodes_text(&table.conf_text(), small())?, &told);
        prop_assert_eq!(Table::from_text(&table.nodes_text(), small())?.nodes_text(), told.nodes_text());
    }

    #[test]
    fn shards_are_read_back_equal(table in any_table(), resp3 in any::<bool>()) {
        let protocol = if resp3 { Protocol::Resp3 } else { Protocol::Resp2 };
        let told = only(&table, |node| {
            let role = node.role();
            let primary = node.primary().map(str::to_owned);
            let flags = Flags::default().with_failed(node.flags().failed);
            let bare = ClusterNode::new(node.id()).unwrap_or_else(|error| panic!("{error}"));
            let bare = bare.with_address(node.address().clone()).with_hostname(node.hostname().unwrap_or_default())
                .with_flags(flags).with_role(role).with_offset(node.offset());
            if let Some(id) = primary { bare.with_primary(id) } else { bare }
        })?;
        let reply = table.to_shards(Endpoint::Ip, protocol);
        prop_assert_eq!(&Table::from_shards(&reply, small())?, &told);
        let text = reply.to_string();
        prop_assert_eq!(Reply::from_printed(&text)?, reply);
    }

    #[test]
    fn slots_are_read_back_equal(table in any_table(), resp3 in any::<bool>(), kind in 0..3_u8) {
        let protocol = if resp3 { Protocol::Resp3 } else { Protocol::Resp2 };
        let endpoint = [Endpoint::Ip, Endpoint::Hostname, Endpoint::Unknown][usize::from(kind)];
        // An unknown host is written like a known one, so it cannot be read back.
        let table = only(&table, |node| {
            let port = node.address().port();
            let host = if node.address().is_known() { node.address().host().to_owned() } else { "h".into() };
            node.with_address(Address::new(host, port))
        })?;
        let reply = table.to_slots(endpoint, protocol);
        let read = Table::from_slots(&reply, small(), None)?;
        for slot in 0..512 {
            prop_assert_eq!(read.owner(slot).map(ClusterNode::id), table.owner(slot).map(ClusterNode::id));
        }
        prop_assert_eq!(read.to_slots(endpoint, protocol), reply);
    }

    #[test]
    fn no_text_makes_the_readers_panic(text in "([0-9]{1,2}[)#] |[a-z]{1,4}| |\n|\\(integer\\) |\"|,|-|@|:|=>|slots\n|nodes\n|id\n|[0-9]{1,6}\n|\\[5->-a\\]|é){0,40}") {
        let _ = Table::from_text(&text, small());
        let _ = Reply::from_printed(&text);
        let _ = Table::from_nodes_text(&text, small());
    }

    #[test]
    fn replies_print_and_read_back(reply in reply()) {
        prop_assert_eq!(Reply::from_printed(&reply.to_string())?, reply);
    }
}

fn reply() -> impl Strategy<Value = Reply> {
    let leaf = prop_oneof![
        Just(Reply::Null),
        any::<i64>().prop_map(Reply::Integer),
        prop::collection::vec(any::<u8>(), 0..6).prop_map(|bytes| Reply::Bytes(bytes.into())),
    ];
    leaf.prop_recursive(4, 40, 12, |inner| {
        let key = "[a-z =>]{0,5}".prop_map(|key| Reply::from(&*key));
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..12).prop_map(Reply::Array),
            prop::collection::vec((key, inner), 0..12).prop_map(Reply::Map),
        ]
    })
}
