//! `report`: pages for a browser, and refusals.

use std::fs;

use serde_json::Value;

use crate::{file, json, run, stdout};

const FEW: &str = "--count 4 --range 0..500";
const METRIC: &str = "--strategy modulo --count 60 --hash twemproxy-fnv1a-64 --template 'metric:demo:{i}' --range 0..1000";

/// Returns the JSON inside a page.
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
fn the_page_of_skew_shows_the_figures_of_skew_and_balance() {
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
fn ids_are_unique_and_headings_in_order() {
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
fn pictures_of_moves_name_the_strategy_and_the_change() {
    let page = stdout(&format!("report {FEW} --strategy ring,jump"));
    for strategy in ["ring", "jump"] {
        for change in ["add node-4", "remove node-3"] {
            let title = format!("<title>{strategy}, {change}: ");
            assert!(page.contains(&title), "{title}");
        }
    }
}

#[test]
fn a_page_says_that_wide_parts_scroll() {
    let page = stdout(&format!("report {FEW} --strategy ring"));
    assert!(page.contains("wider than this window scroll sideways"));
    assert!(page.contains(".narrow{display:none") && page.contains(".narrow{display:block}"));
}

#[test]
fn names_and_keys_are_escaped() {
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
fn a_page_that_cannot_be_made_is_refused() {
    for (line, message) in [
        (
            "report --out r.png",
            "--out r.png: expected a name that ends in .html",
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

#[test]
fn names_that_read_backwards_are_shown_as_escapes() {
    let page = stdout("report --strategy ring --nodes '\u{202e}evil,b' --range 0..99");
    let (shown, _) = page.split_once("<script").expect("JSON");
    assert!(!shown.contains('\u{202e}') && shown.contains("\\u{202e}evil"));
}

/// Returns the text of the verdict of a page, without its markup.
fn verdict(line: &str) -> String {
    let page = stdout(line);
    let (_, rest) = page
        .split_once("<div class=\"verdict\">")
        .expect("a verdict");
    let (verdict, _) = rest.split_once("</div>").expect("its end");
    let pieces = verdict
        .split('<')
        .map(|piece| piece.split_once('>').map_or(piece, |(_, text)| text));
    pieces.collect::<Vec<_>>().join("")
}

/// Returns the keys `k1`, `k2` and so on, with size 1.
fn small(end: u32) -> String {
    let line = |i| format!("k{i},1\n");
    (1..end).map(line).collect()
}

#[test]
fn a_page_blames_no_strategy_for_chance_or_large_keys() {
    let few = verdict("report --count 100 --range 0..200 --strategy rendezvous,jump");
    assert!(
        few.starts_with(
            "rendezvous and jump show no fault, but these keys do not show how even they are"
        ),
        "{few}"
    );
    assert!(
        few.contains("Too few keys to judge the balance") && !few.contains("neven"),
        "{few}"
    );
    let large = small(2000);
    let large = file("large.csv", format!("key,size\nk0,4000\n{large}"));
    let heavy = verdict(&format!(
        "report --count 4 --strategy jump --csv '{}'",
        large.display()
    ));
    assert!(
        heavy.contains("Few keys carry much") && !heavy.contains("neven"),
        "{heavy}"
    );
    let uneven = verdict("report --count 4 --strategy ring --set points=1 --range 0..9999");
    assert!(
        uneven.starts_with("It is uneven") && uneven.contains("Uneven, the most uneven"),
        "{uneven}"
    );
    let even = verdict("report --count 4 --strategy jump --range 0..9999");
    assert!(even.starts_with("jump is even up to chance"), "{even}");
}

#[test]
fn a_page_repeats_node_counts_as_typed() {
    let page =
        stdout("report --skew --range 0..500 --strategy jump --count 5 --node-counts 2..=30,40");
    assert!(page.contains("--node-counts 2..=30,40 "));
    assert!(!page.contains("2,3,4"));
}

/// One key holds a third of the bytes. The page shows the figures that p is computed from, and the
/// picture does not call the bytes even.
#[test]
fn a_page_compares_heavy_keys_with_equal_ones() {
    let sizes = small(3000);
    let csv = file("few.csv", format!("key,size\nk0,1500\n{sizes}"));
    let line = format!(
        "--skew --count 20 --strategy rendezvous --csv '{}'",
        csv.display()
    );
    let page = stdout(&format!("report {line}"));
    let skew = &inside(&page)["skew"];
    let bytes = &skew["measures"][1];
    assert_eq!(
        (&bytes["few_keys"], &bytes["uneven"]),
        (&true.into(), &true.into())
    );
    let figure = |name: &str| bytes[name].as_f64().expect(name);
    assert!(figure("equal_noise_cv_p99") < figure("cv"));
    assert!(page.contains("data-field=\"/skew/measures/1/equal_noise_cv_p99\""));
    assert!(page.contains("data-field=\"/skew/measures/0/noise_cv_p99\""));
    assert!(!page.contains("data-field=\"/skew/measures/1/noise_cv\""));
    let title = "rendezvous: none of 20 nodes holds more bytes than unequal keys explain";
    assert!(page.contains(title));
    let table = stdout(&line.replace("--skew", "skew"));
    let row = table
        .lines()
        .find(|line| line.starts_with("bytes"))
        .expect("a row");
    for name in ["equal_noise_cv", "equal_noise_cv_p99"] {
        assert!(row.contains(&format!("{:.4}", figure(name))), "{row}");
    }
    let whole = table.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        whole.contains("Few keys carry much of the bytes: there, \"by chance\" is the value"),
        "{whole}"
    );
}

#[test]
fn an_unwritable_page_is_refused_before_the_work() {
    // The missing file of keys would be reported first if it were read first.
    let output = run("report --out /no/such/directory/q.html --keys /no/such/keys");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2));
    assert!(told.contains("--out /no/such/directory/q.html"), "{told}");
}
