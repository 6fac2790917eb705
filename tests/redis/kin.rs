//! Forms of other programs and other ways to print, and texts that are no table.

use hashroute::redis::{ClusterNode, Role, SlotRule, Table};

use crate::{printed, table};
use hashroute_test_support::Outcome;

const A: &str = "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8";
const B: &str = "e9d71f5ee7c92d6dc9e92ffdad17b8bd49418f98";

fn read(text: &str) -> Result<Table, hashroute::Error> {
    Table::from_text(text, SlotRule::REDIS)
}

fn refused(text: &str) -> String {
    read(text).map_or_else(
        |error| error.to_string(),
        |table| format!("read: {table:?}"),
    )
}

/// Dragonfly, reported as dragonflydb/dragonfly #2726.
#[test]
fn replicas_that_share_an_id_are_told_apart_by_address() -> Outcome {
    let text = format!(
        "{A} 127.0.0.1:6379@6379 myself,master - 0 0 0 connected 0-16383\n\
         {B} 192.0.2.206:6379@6379 slave {A} 0 0 0 connected\n\
         {B} 192.0.2.23:6379@6379 slave {A} 0 0 0 connected\n"
    );
    let table = read(&text)?;
    assert_eq!(table.repeated_ids().collect::<Vec<_>>(), [B]);
    assert_eq!((table.replicas(A).count(), table.count(A)), (2, 16_384));
    assert!(table.node(&format!("{B}@192.0.2.23:6379")).is_some());
    // Two primaries of one id, or one node twice, come from two outputs in one file.
    let twice = text.replace(&format!("slave {A}"), "master -");
    assert!(refused(&twice).contains("line 3") && refused(&twice).contains("in line 2 already"));
    let again = refused(&(text.clone() + &text));
    assert!(
        again.contains("line 4") && again.contains("output of one server"),
        "{again}"
    );
    Ok(())
}

/// Apache Kvrocks, as in its pull request #302.
#[test]
fn tables_of_kvrocks_are_read_and_written() -> Outcome {
    let lines = format!(
        "{A} 192.0.2.1 30004 slave {B}\n{B} 192.0.2.1 30002 master - 0-5460 5462 10923-16383\n"
    );
    let found = read(&lines)?;
    assert_eq!(found.ranges(B), [0..=5460, 5462..=5462, 10_923..=16_383]);
    assert_eq!(found.node(A).map(ClusterNode::role), Some(Role::Replica));
    assert_eq!(found.setnodes_text(), lines);
    let command = format!("CLUSTERX SETNODES \"{}\" 7 force", lines.trim_end());
    assert_eq!(read(&command)?, found);
    assert!(refused(&lines.replace("5462", "5462x")).contains("line 2"));
    // Every table can be written so.
    let table = table("nodes_fragmented.txt")?;
    let again = read(&table.setnodes_text())?;
    for node in table.nodes() {
        assert_eq!(again.ranges(node.id()), table.ranges(node.id()));
    }
    Ok(())
}

fn same_owners(text: &str, expected: &Table) -> Outcome {
    let found = read(text)?;
    for node in expected.nodes() {
        assert_eq!(
            found.ranges(node.id()),
            expected.ranges(node.id()),
            "{text}"
        );
    }
    Ok(())
}

#[test]
fn json_of_redis_cli_is_read() -> Outcome {
    let expected = table("nodes_stable.txt")?;
    let nodes = printed("nodes_stable.txt")?;
    let quoted = nodes.replace('\n', "\\n");
    same_owners(&format!("\"{quoted}\"\n"), &expected)?;
    let (mut slots, mut flat, mut shards) = (Vec::new(), Vec::new(), Vec::new());
    for (range, owner) in expected.runs() {
        let node = owner.ok_or("no owner")?;
        let (first, last, id) = (range.start(), range.end(), node.id());
        let (host, port) = (node.address().host(), node.address().port());
        slots.push(format!(
            r#"[{first},{last},["{host}",{port},"{id}",{{"hostname":""}}]]"#
        ));
        flat.push(format!(r#"["slots",[{first},{last}],"nodes",[["id","{id}","port",{port},"ip","{host}","role","master","health","online"]]]"#));
        shards.push(format!("{{\"slots\":[{first},{last}],\n\"nodes\":[{{\"id\":\"{id}\",\"port\":{port},\"ip\":\"{host}\",\"endpoint\":\"\\u003f\",\"role\":\"master\",\"replication-offset\":0,\"health\":\"online\"}}]}}"));
    }
    for items in [&slots, &flat, &shards] {
        same_owners(&format!("[{}]\n", items.join(",")), &expected)?;
    }
    // What is wrong is told with the line of its entry.
    let odd = shards.join(",\n").replacen("5460]", "5460,7]", 1);
    let odd = refused(&format!("[\n{odd}]"));
    assert!(odd.contains("line 2") && odd.contains("[0].slots"), "{odd}");
    let cut = refused(&format!("[{}", slots.join(",")));
    assert!(
        cut.contains("line 1: JSON: expected a comma or the end"),
        "{cut}"
    );
    for text in [
        "[",
        "{\"a\"",
        "[1e5]",
        "[\"\\x\"]",
        "{}x",
        "[,]",
        "\"\\ud800\"",
        &"[".repeat(99),
    ] {
        assert!(read(text).is_err(), "{text}");
    }
    Ok(())
}

#[test]
fn recorded_json_gives_one_table() -> Outcome {
    let expected = table("json_shards.txt")?;
    assert_eq!(
        expected.ranges(expected.nodes()[1].id()),
        [8101..=16_263, 16_324..=16_383]
    );
    for name in ["json_shards_resp2.txt", "json_slots.txt"] {
        same_owners(&printed(name)?, &expected)?;
    }
    Ok(())
}

#[test]
fn what_was_copied_along_is_passed_over() -> Outcome {
    let expected = table("nodes_stable.txt")?;
    let nodes = printed("nodes_stable.txt")?;
    let slots = printed("slots_resp2.txt")?;
    let shards = printed("shards_resp3.txt")?;
    let raw = printed("slots_raw.txt")?;
    for text in [
        format!("127.0.0.1:27001> cluster nodes\n{nodes}127.0.0.1:27001>\n"),
        format!("127.0.0.1:27001> CLUSTER SLOTS\n{slots}127.0.0.1:27001> \n"),
        format!("[::1]:27001(TX)> cluster shards\n{shards}\n\n"),
        format!("$ redis-cli -p 27001 cluster nodes\n{nodes}"),
        format!("Warning: Using a password with '-a' or '-u' option may not be safe.\n{nodes}"),
        nodes.replace('\n', "\r\n"),
        slots.replace('\n', "\r\n"),
        format!("\n\n{nodes}\n\n"),
        // The shell joined all lines: echo $(redis-cli cluster nodes).
        nodes.trim_end().replace('\n', " "),
        raw.trim_end().replace("\n\n", "\n").replace('\n', " "),
    ] {
        same_owners(&text, &expected)?;
    }
    Ok(())
}

#[test]
fn texts_that_are_no_table_are_known_by_sight() {
    for (text, expected) in [
        ("NOAUTH Authentication required.\n", "REDISCLI_AUTH"),
        ("(error) NOAUTH Authentication required.", "REDISCLI_AUTH"),
        ("-NOAUTH Authentication required.", "REDISCLI_AUTH"),
        (
            "AUTH failed: WRONGPASS invalid username-password pair\nNOAUTH x",
            "user or the password",
        ),
        (
            "NOPERM User x has no permissions to run the 'cluster|nodes' command",
            "+cluster|nodes",
        ),
        (
            "Could not connect to Redis at 10.0.0.1:6379: Connection refused",
            "10.0.0.1:6379",
        ),
        (
            "ERR This instance has cluster support disabled",
            "cluster-enabled no",
        ),
        (
            "ERR Unknown subcommand or wrong number of arguments for 'SHARDS'. Try CLUSTER HELP.",
            "every version",
        ),
        (
            "ERR unknown command 'CLUSTER', with args beginning with: 'NODES'",
            "CLUSTER NODES",
        ),
        ("CLUSTERDOWN The cluster is down", "CLUSTER NODES"),
        ("MOVED 3999 127.0.0.1:6381", "redirection"),
        (
            "DENIED Redis is running in protected mode",
            "protected mode",
        ),
        ("Error: Server closed the connection", "--tls"),
        (
            ">>> Performing Cluster Check (using node 127.0.0.1:7000)",
            "--cluster check",
        ),
        (
            "127.0.0.1:7000 (c1007981...) -> 5 keys | 5461 slots | 1 slaves.",
            "--cluster check",
        ),
        (
            "M: c1007981 127.0.0.1:7000\n   slots:[0-5460] (5461 slots) master",
            "--cluster check",
        ),
        (
            "cluster_state:ok\r\ncluster_slots_assigned:16384",
            "CLUSTER INFO",
        ),
        ("# Server\r\nredis_version:7.0.15", "INFO"),
    ] {
        let error = refused(text);
        assert!(
            error.starts_with("line 1: ") && error.contains(expected),
            "{text}: {error}"
        );
    }
    let below = refused("\n\n127.0.0.1:1> cluster nodes\n(error) NOAUTH Authentication required.");
    assert!(below.starts_with("line 4: "), "{below}");
}

/// Letters were lost: all faults are told at once, each with its line (redis/redis #14137).
#[test]
fn every_fault_of_a_text_is_told_with_its_line() {
    let short = &A[1..];
    let text = format!(
        "{B} 2001:db8::1:6379@16379 slave {short} 0 0 8 connected\n\
         {A} 2001:db8::2:6379@16379 master - 0 0 8 connecte 0-5460\n\
         short\n"
    );
    let error = refused(&text);
    for part in [
        "line 1: the primary",
        "39 characters: expected 40",
        "line 2: expected connected",
        "found \"connecte\"",
        "line 3: expected id",
    ] {
        assert!(error.contains(part), "{error}");
    }
    let lines: Vec<_> = (0..9)
        .map(|i| format!("n{i} h:1@1 master - 0 0 1 up\n"))
        .collect();
    let many = lines.concat();
    assert!(refused(&many).ends_with("and 4 more"), "{}", refused(&many));
}

/// Shards that list slots in odd numbers (redis/redis #12832), in each form.
#[test]
fn a_fault_of_a_reply_has_the_line_of_its_entry() -> Outcome {
    let text = printed("shards_resp2.txt")?;
    let at = text
        .lines()
        .position(|line| line.starts_with("2) "))
        .ok_or("one shard")?;
    let (before, after) = text.split_at(text.find("\n2) ").ok_or("one shard")?);
    let broken = before.to_owned() + &after.replacen("\"slots\"", "\"sluts\"", 1);
    let error = refused(&broken);
    assert!(
        error.starts_with(&format!("line {}: [1]", at + 1)),
        "{error}"
    );
    Ok(())
}
