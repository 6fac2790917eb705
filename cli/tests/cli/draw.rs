//! `draw`: pictures, their files and refusals.

use std::fs;

use crate::slots::{STABLE, data};
use crate::{file, run, stdout};

/// Commands that draw a picture of a few keys.
const LINES: &[&str] = &[
    "ring --count 4 --set points=8 --add node-4 --range 0..1000",
    "ring --count 3 --dialect twemproxy --range 0..1000 user:1 user:2",
    "balance --count 5 --strategy maglev --range 0..1000",
    "balance --count 12 --sort name --range 0..1000",
    "node-counts --count 6 --strategy modulo --range 0..1000",
    "remap --count 5 --remove node-2 --range 0..1000",
    "node-counts --node-counts 2..=5,9 --strategy modulo --range 0..1000",
];

#[test]
fn pictures_go_to_standard_output_and_to_files_alike() {
    for line in LINES {
        let svg = stdout(&format!("draw {line}"));
        assert!(
            svg.starts_with("<svg ") && svg.ends_with("</svg>\n"),
            "{line}"
        );
        let path = file("picture.svg", "");
        let line = format!("draw {line} --out '{}'", path.display());
        assert_eq!(stdout(&line), "");
        assert_eq!(fs::read_to_string(&path).expect("a picture"), svg, "{line}");
    }
}

/// One in a hundred counts is above the band by chance; `skew` calls none of them dangerous.
#[test]
fn chance_is_not_drawn_as_a_danger() {
    let options = "--node-counts 2..=128 --strategy rendezvous --range 0..3000";
    let svg = stdout(&format!("draw node-counts {options}"));
    assert!(svg.contains("127 node counts: none is less even"));
    let modulo = "--strategy modulo --hash twemproxy-fnv1a-64 --template 'metric:demo:{i}'";
    let svg = stdout(&format!(
        "draw node-counts --node-counts 60,61,87 {modulo} --range 0..1000"
    ));
    assert!(svg.contains("2 of 3 node counts are less even"));
}

#[test]
fn slots_are_drawn_from_the_table_of_a_server() {
    let svg = stdout(&format!("draw slots '{}'", data(STABLE)));
    assert!(svg.contains("Slots: 3 primaries own all 16,384") && svg.contains("127.0.0.1:"));
}

#[test]
fn open_slots_are_marked_and_reported() {
    let stable = stdout(&format!("draw slots '{}'", data(STABLE)));
    assert!(!stable.contains("on the move"));
    let moving = stdout(&format!("draw slots '{}'", data("nodes_migrating.txt")));
    for words in ["</title>", "MIGRATING", "on the move", " → 127.0.0.1:"] {
        assert!(moving.contains(words), "{words}");
    }
    let title = moving.split("</title>").next().unwrap_or_default();
    assert!(
        title.ends_with("are on the move") || title.ends_with("; 1 slot is on the move"),
        "{title}"
    );
    assert_eq!(moving.matches("<circle class=\"hr-line\"").count(), 1);
}

/// The title says the change and the strategy; the line below it the hash function and the keys.
#[test]
fn pictures_say_what_they_are_of() {
    let svg = stdout("draw remap --count 12 --add node-12 --range 0..1000");
    let title = svg
        .split_once("<title>")
        .and_then(|(_, rest)| rest.split_once("</title>"));
    let (title, rest) = title.expect("a title");
    assert!(title.starts_with("ring, add node-12: "), "{title}");
    for picture in [
        "remap --remove node-2",
        "ring --add d",
        "balance",
        "node-counts",
    ] {
        let svg = stdout(&format!(
            "draw {picture} --count 4 --range 0..1000 --hash xxh64"
        ));
        for words in ["1,000 keys from --template", "hashed by xxh64."] {
            assert!(svg.contains(words), "{words} in {picture}");
        }
    }
    assert!(rest.contains("hashed by xxh3."));
}

#[test]
fn a_missing_or_mistyped_picture_is_answered_with_all_pictures() {
    for (line, hint) in [
        ("draw", "hint: for example: hashroute draw balance"),
        (
            "draw --count 3",
            "hint: for example: hashroute draw balance --count 3",
        ),
        (
            "draw rnig --count 3",
            "hint: did you mean hashroute draw ring?",
        ),
    ] {
        let output = run(line);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {errors}");
        for words in [hint, "ring, balance, remap, slots, node-counts"] {
            assert!(errors.contains(words), "{line}: {errors}");
        }
    }
}

/// As `skew` does without numbers.
#[test]
fn node_counts_near_the_present_one_are_the_default() {
    let svg = stdout("draw node-counts --count 40 --strategy rendezvous --range 0..1000");
    assert!(svg.contains("16 node counts:"), "{svg:.600}");
    assert!(svg.contains(">32 nodes: cv") && svg.contains(">47 nodes: cv"));
}

#[test]
fn an_undrawable_picture_is_refused_with_the_drawable_ones() {
    let mut cases = vec![
        ("ring --strategy rendezvous --range 0..10", "dialect"),
        ("ring --range 0..10 --shown 27", "--shown"),
        ("balance --range 0..10 --by bytes", "--csv"),
        ("remap --range 0..10", "nothing changes"),
        ("node-counts --range 0..10 --node-counts 5..2", "2..=128"),
        ("balance --scale 3", "--scale 3: an SVG has no pixels"),
        (
            "balance --out picture.svg --scale 3",
            "--scale 3: an SVG has no pixels",
        ),
        ("balance --out picture.gif", ".svg"),
        ("balance --out picture", ".svg"),
        (
            "balance --keys /no/such/keys --out /no/such/directory/a.svg",
            "--out",
        ),
    ];
    if cfg!(not(feature = "png")) {
        cases.push((
            "balance --out picture.png",
            "cargo install hashroute-cli --features png",
        ));
    } else {
        cases.push((
            "balance --range 0..10 --out picture.png --scale 0",
            "--scale",
        ));
    }
    for (line, right) in cases {
        let output = run(&format!("draw {line}"));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {errors}");
        assert!(
            errors.contains(right) && output.stdout.is_empty(),
            "{line}: {errors}"
        );
    }
}
