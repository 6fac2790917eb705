//! Answers in every format, with the field names that are promised.

use serde_json::Value;

use crate::{file, json, stdout};

#[test]
fn help_and_version_succeed() {
    assert_eq!(
        stdout("-V"),
        concat!("hashroute ", env!("CARGO_PKG_VERSION"), "\n")
    );
    for command in [
        "compare",
        "route",
        "balance",
        "remap",
        "skew",
        "diff",
        "plan",
        "explain",
        "strategies",
        "hashes",
    ] {
        let help = stdout(&format!("{command} --help"));
        assert!(
            help.contains(&format!("hashroute {command}")) && help.contains("Example"),
            "{command}"
        );
        assert!(help.contains("--format"));
    }
}

/// Checks that the object has these fields, and which of them are text or numbers.
fn assert_fields(object: &Value, texts: &[&str], numbers: &[&str], others: &[&str]) {
    for field in texts {
        assert!(object[*field].is_string(), "{field} in {object}");
    }
    for field in numbers {
        assert!(object[*field].is_number(), "{field} in {object}");
    }
    for field in others {
        assert!(object.get(*field).is_some(), "{field} in {object}");
    }
}

const FIGURES: &[&str] = &[
    "used",
    "empty",
    "min",
    "max",
    "mean",
    "stddev",
    "cv",
    "noise_cv",
    "max_over_mean",
    "p95_over_mean",
    "max_over_median",
    "chi2",
    "df",
    "p_value",
];

fn assert_balance(balance: &Value) {
    assert_fields(
        balance,
        &["strategy", "hash"],
        &["keys", "distinct_keys"],
        &["nodes", "top"],
    );
    assert_fields(balance, &[], FIGURES, &[]);
    assert_fields(
        &balance["nodes"][0],
        &["name"],
        &["weight", "keys", "share", "fair_share"],
        &["zone", "rack"],
    );
    assert_fields(&balance["top"][0], &[], &["n", "share"], &[]);
}

fn assert_remap(remap: &Value) {
    let numbers = [
        "keys",
        "moved",
        "moved_share",
        "ideal_share",
        "excess",
        "excess_share",
    ];
    assert_fields(remap, &[], &numbers, &["flows"]);
    assert_fields(&remap["flows"][0], &["from", "to"], &["keys"], &[]);
}

#[test]
fn json_has_the_promised_fields() {
    let balance = json("balance --range 0..1000");
    assert_balance(&balance);
    assert_eq!(
        (&balance["keys"], &balance["strategy"], &balance["hash"]),
        (&1000.into(), &"ring".into(), &"xxh3".into())
    );
    assert_remap(&json("remap --range 0..1000 --add x=2"));
    let sizes = file(
        "sizes.csv",
        "key,size,requests\na,10,1\nb,20,2\nc,30,3\nd,40,4\ne,50,5\n",
    );
    let balance = json(&format!("balance --nodes a --csv {}", sizes.display()));
    for measure in ["bytes", "requests"] {
        assert_fields(&balance[measure], &[], FIGURES, &["top"]);
    }
    assert_fields(&balance["nodes"][0], &[], &["bytes", "requests"], &[]);
    assert_fields(
        &json("strategies")[0],
        &["name", "about", "weights", "leave", "share", "excess"],
        &[],
        &["parameters"],
    );
    assert_fields(
        &json("hashes")[0],
        &["name", "about", "secret"],
        &["bits"],
        &["spread"],
    );
    let way = &json("explain --count 10 k")[0];
    assert_fields(
        way,
        &["key", "hashed", "hash", "value_hex", "strategy"],
        &["value"],
        &["facts", "owner", "replicas"],
    );
}

#[test]
fn compare_has_the_promised_fields_and_fits_a_terminal() {
    let comparison = json("compare --range 0..2000");
    assert!(comparison["scenario"].is_object());
    let rows = comparison["rows"].as_array().expect("rows");
    let names: Vec<_> = rows
        .iter()
        .map(|row| row["strategy"].as_str().expect("a name"))
        .collect();
    assert_eq!(
        names,
        hashroute::strategy::ALL
            .iter()
            .map(|strategy| strategy.name)
            .collect::<Vec<_>>()
    );
    for row in rows {
        assert_fields(
            row,
            &["state"],
            &[
                "route_ns",
                "batch_ns",
                "build_ns",
                "change_ns",
                "heap_bytes",
            ],
            &["refused"],
        );
        assert_balance(&row["balance"]);
        assert_remap(&row["add"]);
        assert_remap(&row["remove"]);
        assert_eq!(row["allocations_per_lookup"], 0.0, "{}", row["strategy"]);
    }
    let text = stdout("compare --range 0..2000 --nodes a,b=2,c");
    let table = text.lines().take_while(|line| !line.contains("refused:"));
    let table = table.collect::<Vec<_>>().join("\n");
    assert_fits(&table, columns_of(&table));
}

#[test]
fn compare_shows_refused_changes() {
    let line = "compare --strategy jump,ring --nodes a,b,c --remove a --add d --range 0..1000";
    let rows = &json(line)["rows"];
    assert!(
        rows[0]["remove"].is_null()
            && rows[0]["refused"]
                .as_str()
                .is_some_and(|why| why.contains("only the last node"))
    );
    assert!(rows[1]["remove"].is_object() && rows[1]["refused"].is_null());
    let table = stdout(line);
    assert!(
        table.contains("refused") && table.contains("only the last node"),
        "{table}"
    );
}

#[test]
fn output_is_deterministic() {
    for line in [
        "balance --range 0..2000 --count 60",
        "balance --count 3 --range 0..2000 --format csv",
        "remap --range 0..2000 --add x --strategy maglev",
        "explain --count 9 k --replicas 4",
        "strategies --format markdown",
    ] {
        assert_eq!(stdout(line), stdout(line), "{line}");
    }
}

#[test]
fn tables_of_many_nodes_are_cut_and_csv_is_not() {
    let table = stdout("balance --range 0..500 --count 60");
    assert!(table.contains("10 most loaded of 60") && table.contains("10 least loaded"));
    let csv = stdout("balance --range 0..500 --count 60 --format csv");
    assert_eq!(csv.lines().count(), 61);
    assert_eq!(
        csv.lines().next(),
        Some("name,weight,zone,rack,keys,share,fair_share,bytes,requests")
    );
    assert!(
        stdout("balance --range 0..500 --count 50")
            .lines()
            .filter(|line| line.starts_with("node-"))
            .count()
            == 50
    );
}

/// 1,000 metric names under `modula` and `fnv1a_64` of twemproxy: used nodes, most keys, cv.
#[test]
fn modula_of_twemproxy_gives_the_known_uneven_shares() {
    let known = [
        (
            "{i}:metric:demo",
            [
                (60, 60, 26, 0.214),
                (61, 61, 24, 0.279),
                (64, 64, 20, 0.154),
                (87, 87, 20, 0.236),
            ],
        ),
        (
            "metric:{i}:demo",
            [
                (60, 60, 26, 0.251),
                (61, 61, 26, 0.218),
                (64, 64, 20, 0.139),
                (87, 87, 19, 0.251),
            ],
        ),
        (
            "metric:demo:{i}",
            [
                (60, 16, 200, 2.979),
                (61, 61, 22, 0.208),
                (64, 64, 24, 0.210),
                (87, 3, 890, 8.294),
            ],
        ),
    ];
    for (template, counts) in known {
        for (count, used, most, cv) in counts {
            let keys = format!("--template '{template}' --range 0..1000");
            let balance = json(&format!(
                "balance --strategy modulo --hash twemproxy-fnv1a-64 {keys} --count {count}"
            ));
            assert_eq!(
                (&balance["used"], &balance["max"]),
                (&used.into(), &most.into()),
                "{template} {count}"
            );
            let found = balance["cv"].as_f64().expect("a number");
            assert_eq!(
                format!("{found:.3}"),
                format!("{cv:.3}"),
                "{template} {count}"
            );
        }
    }
}

/// Checks that no line is wider than this many columns.
fn assert_fits(text: &str, columns: usize) {
    for line in text.lines() {
        assert!(line.chars().count() <= columns, "{line}\n{text}");
    }
}

/// Returns the columns that a comparison may take: more than 100 only where times are so long.
///
/// Its two columns of nanoseconds have room for five digits, and a busy machine may need more.
fn columns_of(comparison: &str) -> usize {
    let is_long = |word: &&str| word.len() > 5 && word.bytes().all(|byte| byte.is_ascii_digit());
    let long = comparison.split_whitespace().filter(is_long);
    100 + long.map(|word| word.len() - 5).sum::<usize>()
}

#[test]
fn no_table_is_wider_than_100_columns() {
    let keys = file("wide.csv", format!("key,size,requests\n{}", many_keys()));
    let keys = keys.display();
    let refused = "a-rather-long-name-of-a-node.in-a-long-domain.example";
    for line in [
        "strategies".to_owned(),
        "hashes".into(),
        format!("balance --csv {keys}"),
    ] {
        assert_fits(&stdout(&line), 100);
    }
    for line in [
        format!("compare --csv {keys}"),
        format!(
            "compare --strategy jump,ring --nodes {refused},b --remove {refused} --range 0..99"
        ),
    ] {
        let text = stdout(&line);
        assert_fits(&text, columns_of(&text));
    }
    for command in [
        "",
        "compare",
        "route",
        "balance",
        "remap",
        "explain",
        "strategies",
        "hashes",
    ] {
        assert_fits(&stdout(&format!("{command} --help")), 100);
    }
}

/// Returns keys of different sizes, one of them with many requests.
fn many_keys() -> String {
    let line = |i| format!("key-{i},{},{}\n", i % 100, if i == 7 { 9000 } else { 1 });
    (0..3000).map(line).collect()
}

#[test]
fn compare_shows_bytes_and_requests() {
    let keys = file(
        "measures.csv",
        format!("key,size,requests\n{}", many_keys()),
    );
    let line = format!(
        "compare --count 10 --strategy rendezvous --csv {}",
        keys.display()
    );
    let table = stdout(&line);
    for words in [
        "By bytes:",
        "By requests:",
        "Most uneven: requests with rendezvous.",
    ] {
        assert!(table.contains(words), "no {words} in {table}");
    }
    let balance = &json(&line)["rows"][0]["balance"];
    let csv = stdout(&format!("{line} --format csv"));
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let (names, values) = (
        lines.next().expect("a header"),
        lines.next().expect("a row"),
    );
    for measure in ["bytes", "requests"] {
        for figure in ["cv", "noise_cv", "max_over_mean"] {
            let index = names
                .iter()
                .position(|name| *name == format!("{measure}_{figure}"));
            assert_eq!(
                values[index.expect(figure)],
                balance[measure][figure].to_string()
            );
        }
    }
    assert!(!stdout("compare --strategy ring --range 0..99").contains("By bytes:"));
}

#[test]
fn keys_without_a_node_are_not_measured() {
    let balance = json("balance --strategy bounded --nodes a,b,c=3 --set cap=5 --range 0..1000");
    // The loads are 3, 3 and 5; the fair shares are 2.2, 2.2 and 6.6.
    assert_eq!(balance["unplaced"], 989);
    assert_eq!(
        format!("{:.4}", balance["chi2"].as_f64().expect("a number")),
        "0.9697"
    );
    assert_eq!(balance["effective_keys"], 11.0);
    let comparison =
        json("compare --strategy ring,bounded --nodes a,b,c=3 --set cap=5 --range 0..1000");
    assert_eq!(comparison["rows"][1]["balance"], balance);
}
