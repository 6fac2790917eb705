//! `report`: pages for the browser, and what is refused.

use std::fs;

use serde_json::Value;

use crate::{file, json, run, stdout};

const FEW: &str = "--count 4 --range 0..500";
const METRIC: &str = "--strategy modulo --count 60 --hash twemproxy-fnv1a-64 --template 'metric:demo:{i}' --range 0..1000";

/// The JSON inside a page.
fn inside(page: &str) -> Value {
    let (_, rest) = page
        .split_once("type=\"application/json\">")
        .expect("JSON in the page");
    let (text, _) = rest.split_once("</script>").expect("its end");
    serde_json::from_str(text).expect("valid JSON")
}

#[test]
fn a_comparison_is_the_same_each_time_and_says_what_compare_says() {
    let line = format!("report {FEW} --strategy ring,jump,modulo");
    let page = stdout(&line);
    assert_eq!(page, stdout(&line));
    let path = file("page.html", "");
    assert_eq!(stdout(&format!("{line} --out '{}'", path.display())), "");
    assert_eq!(fs::read_to_string(&path).expect("a page"), page);
    let ours = inside(&page);
    let theirs = json(&format!("compare {FEW} --strategy ring,jump,modulo"));
    let rows = ours["comparison"]["rows"].as_array().expect("rows");
    for (row, field) in rows.iter().zip(0..) {
        for part in ["strategy", "balance", "add", "remove", "refused"] {
            assert_eq!(row[part], theirs["rows"][field][part]);
        }
        assert!(row["route_ns"].is_null());
    }
    for command in [
        "hashroute draw ring --count 4 --strategy ring --range 0..500 --add node-4",
        "hashroute draw remap --count 4 --strategy modulo --range 0..500 --remove node-3",
        "hashroute compare --count 4 --strategy ring,jump,modulo --range 0..500 --format json",
    ] {
        assert!(
            page.contains(&format!("<code>{command}</code>")),
            "{command}"
        );
    }
}

#[test]
fn skew_says_what_skew_and_balance_say() {
    let page = stdout(&format!("report --skew {METRIC}"));
    let ours = inside(&page);
    assert_eq!(ours["skew"], json(&format!("skew {METRIC}")));
    assert_eq!(ours["balance"], json(&format!("balance {METRIC}")));
    let verdict = ours["skew"]["verdict"].as_str().expect("a verdict");
    let at = |text: &str| page.find(text).expect(text);
    assert!(at(verdict) < at("<table"));
    assert!(page.contains("Dangerous numbers of nodes"));
}

#[test]
fn every_figure_is_a_field_of_the_json() {
    let page = stdout(&format!("report {FEW} --strategy ring,modulo --costs"));
    let json = inside(&page);
    let mut figures = 0;
    for figure in page.split("<data data-field=\"").skip(1) {
        let (field, rest) = figure.split_once("\" value=\"").expect("a value");
        let (value, _) = rest.split_once('"').expect("its end");
        assert_eq!(json.pointer(field).expect(field).to_string(), value);
        figures += 1;
    }
    assert!(figures > 50, "{figures}");
}

#[test]
fn ids_are_once_and_headings_in_order() {
    let page = stdout(&format!("report {FEW} --strategy ring,maglev"));
    let mut ids: Vec<_> = page
        .split(" id=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count);
    let mut last = 0;
    for heading in page.split("<h").skip(1) {
        let Some(level) = heading.chars().next().and_then(|c| c.to_digit(10)) else {
            continue;
        };
        assert!(level <= last + 1, "{heading:.40}");
        last = level;
    }
    assert_eq!(page.matches("<h1").count(), 1);
}

#[test]
fn names_and_keys_stay_text() {
    let line = "--strategy ring --nodes '<script>alert(1)</script>,a\"b,--></script>' --template '</title><img src=x>{i}' --range 0..99";
    for mode in ["", "--skew"] {
        let page = stdout(&format!("report {mode} {line}"));
        assert_eq!(page.matches("<script").count(), 1);
        assert_eq!(page.matches("</script").count(), 1);
        assert!(!page.contains("<img") && page.contains("&lt;script&gt;alert"));
    }
}

#[test]
fn a_secret_stays_out_of_the_page() {
    let key = "00112233445566778899aabbccddeeff";
    let page = stdout(&format!(
        "report {FEW} --strategy ring --hash sip24 --hash-key {key}"
    ));
    assert!(!page.contains(key) && page.contains("--hash-key HEX32"));
}

#[test]
fn what_makes_no_page_is_refused() {
    for (line, message) in [
        (
            "report --out r.png",
            "--out r.png: expected a name that ends in .html",
        ),
        (
            "report --dialect nginx",
            "--dialect nginx: only strategies are compared",
        ),
        (
            "report --skew --strategy ring,jump",
            "--strategy ring,jump: expected one with --skew",
        ),
        ("report --skew --add d", "--add"),
        ("report --node-counts 2,3", "--skew"),
    ] {
        let output = run(line);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(told.contains(message), "{told}");
    }
}
