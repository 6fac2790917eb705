//! What a system hashes of a request: two configurations with equal routes may still hash different keys.

use crate::two_files::{ABC, errors, twemproxy};
use crate::{file, json, stdout};

fn haproxy(name: &str, balance: &str) -> String {
    let text = format!(
        "backend b\n  mode http\n  balance {balance}\n  hash-type consistent\n  \
         server s1 10.0.0.1:80\n  server s2 10.0.0.2:80\n"
    );
    file(name, text).display().to_string()
}

fn nginx(name: &str, key: &str) -> String {
    let text = format!(
        "upstream u {{\n  hash {key} consistent;\n  server 10.0.0.1:80;\n  server 10.0.0.2:80;\n}}\n"
    );
    file(name, text).display().to_string()
}

/// Writes a configuration with one `balance` or `hash`.
type Write = fn(&str, &str) -> String;

#[test]
fn configurations_that_hash_different_keys_are_not_equal() {
    let pairs: [(&str, Write, &str, &str); 7] = [
        ("haproxy", haproxy, "uri", "hdr(x)"),
        ("haproxy", haproxy, "uri", "uri whole"),
        ("haproxy", haproxy, "uri", "uri depth 2"),
        ("haproxy", haproxy, "uri len 8", "uri len 9"),
        ("haproxy", haproxy, "url_param a", "url_param b"),
        ("nginx", nginx, "$uri", "$args"),
        ("nginx", nginx, "$uri", "$request_uri"),
    ];
    for (at, (dialect, write, one, other)) in pairs.into_iter().enumerate() {
        let from = write(&format!("{at}a.conf"), one);
        let to = write(&format!("{at}b.conf"), other);
        let line = format!("diff --dialect {dialect} --config {from} --to-config {to}");
        let text = stdout(&line);
        let said =
            format!("Equal for equal keys, but the two hash different keys: {one} and {other}.");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.starts_with(&said), "{text}");
        assert!(
            words.contains(&format!("- key: {one} to {other}")),
            "{text}"
        );
        let answer = json(&line);
        assert_eq!(answer["equal"], false);
        assert_eq!(answer["equal_for_equal_keys"], true);
        assert_eq!(answer["differences"][0]["kind"], "key");
        assert_eq!(answer["differences"].as_array().map(Vec::len), Some(1));
        for command in ["plan", "remap --range 0..99"] {
            let text = stdout(&line.replace("diff", command));
            assert!(text.contains("hash different keys"), "{command}: {text}");
            assert!(!text.contains("Equal for every key"), "{command}: {text}");
        }
    }
}

#[test]
fn the_same_key_in_other_words_is_no_difference() {
    let [one, other] = [("one.cfg", "hdr(X-User)"), ("other.cfg", "hdr(x-user)")]
        .map(|(name, balance)| haproxy(name, balance));
    let answer = json(&format!(
        "diff --dialect haproxy --config {one} --to-config {other}"
    ));
    assert_eq!(
        (&answer["equal"], &answer["differences"]),
        (&true.into(), &serde_json::json!([]))
    );
    // Two systems have different words for a header.
    let nginx = nginx("header.conf", "$http_x_user");
    let answer = json(&format!(
        "diff --dialect haproxy --config {one} --to-dialect nginx --to-config {nginx}"
    ));
    let differences = answer["differences"].as_array().expect("a list");
    assert!(
        differences.iter().all(|one| one["kind"] != "key"),
        "{answer}"
    );
}

#[test]
fn other_routes_and_other_keys_are_both_told() {
    let one = haproxy("routes.cfg", "uri");
    let text = std::fs::read_to_string(&one).expect("a file");
    let text = text.replace("balance uri", "balance hdr(x)");
    let other = file("routes2.cfg", text.replace("0.2:80", "0.2:80 weight 3"));
    let line = format!(
        "diff --dialect haproxy --config {one} --to-config {}",
        other.display()
    );
    let text = stdout(&line);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains(
            "of all keys move to another node. The two hash different keys, uri and hdr(x)"
        ),
        "{text}"
    );
    assert!(words.contains("- weights: 10.0.0.2:80 1 to 3"), "{text}");
    let answer = json(&line);
    assert_eq!(answer["equal_for_equal_keys"], false);
    // The only difference of routes moves what moves in all.
    assert_eq!(
        answer["differences"][1]["alone_share"],
        answer["moved_share"]
    );
}

#[test]
fn a_route_and_an_explanation_say_which_key_to_give() {
    let path = haproxy("depth.cfg", "uri depth 2");
    let at = format!("--dialect haproxy --config {path} /a/b");
    let (code, told) = errors(&format!("route {at}"));
    assert_eq!(code, Some(0));
    let said = "note: haproxy hashes uri depth 2: the key here is the path without the query, as sent, \
                cut after its first 2 parts (/1/2/3/4/5 gives /1/2)\n";
    assert_eq!(told, said);
    assert_eq!(errors(&format!("route -q {at}")).1, "");
    assert_eq!(
        json(&format!("explain {at}"))[0]["key_source"],
        "uri depth 2"
    );
    assert!(stdout(&format!("explain {at}")).contains("taken from"));
}

/// As `redis-cli --json cluster slots` and `redis-cli cluster slots` into a file print it.
#[test]
fn a_cluster_is_read_in_every_form_that_slots_show_reads() {
    let (a, b) = ("a".repeat(40), "b".repeat(40));
    let texts = [
        format!(
            "[[0,8191,[\"10.0.0.1\",7001,\"{a}\",[]]],[8192,16383,[\"10.0.0.2\",7002,\"{b}\",[]]]]"
        ),
        format!("0\n8191\n10.0.0.1\n7001\n{a}\n\n8192\n16383\n10.0.0.2\n7002\n{b}\n\n"),
    ];
    for (at, text) in texts.into_iter().enumerate() {
        let path = file(&format!("cluster{at}.txt"), text);
        let line = format!(
            "route --dialect redis-cluster --config {} foo",
            path.display()
        );
        // CLUSTER KEYSLOT foo is 12182.
        assert_eq!(stdout(&line), "foo\t10.0.0.2:7002\n");
    }
    let refused = file("noauth.txt", "NOAUTH Authentication required.\n");
    let line = format!(
        "route --dialect redis-cluster --config {} foo",
        refused.display()
    );
    let (code, told) = errors(&line);
    assert_eq!(code, Some(2));
    assert!(told.contains("REDISCLI_AUTH"), "{told}");
}

#[test]
fn nodes_that_are_written_keep_their_labels() {
    let config = twemproxy("labels.yml", &ABC);
    let csv = stdout(&format!(
        "spec write --dialect twemproxy --config {config} --to nodes"
    ));
    assert_eq!(
        csv,
        "name,weight,zone,rack,label\n10.0.0.1:6379,1,,,a\n10.0.0.2:6379,1,,,b\n10.0.0.3:6379,2,,,c\n"
    );
    let list = file("labels.csv", csv);
    let answer = json(&format!(
        "diff --dialect twemproxy --config {config} --to-nodes-file {}",
        list.display()
    ));
    assert_eq!(answer["equal"], true, "{answer}");
    // Without labels there is no column for them.
    let plain = stdout("spec write --nodes a,b=2 --to nodes");
    assert_eq!(plain, "name,weight,zone,rack\na,1,,\nb,2,,\n");
}

/// Writes a file of twemproxy with pools of these names, each with its own server.
fn pools(name: &str, pools: &[&str]) -> String {
    let pool = |pool: &&str| {
        format!("{pool}:\n  listen: 127.0.0.1:22121\n  servers:\n   - {pool}.example:6379:1\n")
    };
    let text: String = pools.iter().map(pool).collect();
    file(name, text).display().to_string()
}

#[test]
fn a_pool_is_looked_for_in_the_second_file_too() {
    let one = pools("pools1.yml", &["alpha", "beta"]);
    let line =
        |to: &str| format!("diff --dialect twemproxy --config {one} --pool beta --to-config {to}");
    let same = pools("pools2.yml", &["gamma", "beta"]);
    assert_eq!(json(&line(&same))["equal"], true);
    // The option still decides.
    let other = json(&format!("{} --to-pool gamma", line(&same)));
    assert_eq!(other["equal"], false);
    let none = pools("pools3.yml", &["gamma", "delta"]);
    let (code, told) = errors(&line(&none));
    assert_eq!(code, Some(2));
    assert!(told.contains("no pool \"beta\""), "{told}");
    assert!(
        told.contains("expected --to-pool with one of: gamma, delta"),
        "{told}"
    );
    // A single pool needs no name.
    let single = pools("pools4.yml", &["gamma"]);
    let (code, told) = errors(&line(&single));
    assert_eq!(code, Some(0));
    assert!(
        told.contains("its only pool, \"gamma\", is taken"),
        "{told}"
    );
}
