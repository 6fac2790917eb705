//! A wrong spec is refused with a message and never with a panic.

use hashroute::registry::{Caps, Params, Scheme};
use hashroute::{Error, Rendezvous, Spec};
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::sample::Index;

use hashroute_test_support::for_all;

fn refused(text: &str, expected: &str) {
    let error = match text.parse::<Spec>() {
        Ok(spec) => panic!("{text} is {spec:?}"),
        Err(error) => error.to_string(),
    };
    assert!(error.contains(expected), "{text}\n{error}\n{expected}");
    assert!(
        !error.contains("u32") && !error.contains("struct"),
        "{error}"
    );
}

const HEAD: &str = "format = 1\nvalues = 1\nstrategy = \"ring\"\n";

#[test]
fn unknown_names_are_refused_with_the_known_ones() {
    for (text, expected) in [
        ("", "line 1: missing field `format`"),
        (
            "format = 2\ncolour = 7\n",
            "format = \"2\" cannot be used: expected 1, the only one",
        ),
        ("format = \"1\"\n", "line 1: invalid type"),
        (
            "format = 1\nvalues = 2\nstrategy = \"ring\"\n",
            "values = \"2\" cannot be used",
        ),
        ("format = 1\nvalues = 1\n", "a strategy or a dialect"),
        (
            "format = 1\nstrategy = \"ring\"\n",
            "missing field `values`",
        ),
        (
            "format = 1\nvalues = 1\nstrategy = \"rign\"\n",
            "expected one of: modulo, ring",
        ),
        (
            "format = 1\nvalues = 1\ndialect = \"ngnix\"\n",
            "expected one of: buraksezer",
        ),
        (
            "format = 1\nvalues = 1\ndialect = \"nginx\"\nstrategy = \"ring\"",
            "either a strategy or a dialect, not both",
        ),
        (
            "{\"format\": 1, \"valeus\": 1}",
            "line 1: unknown field `valeus`, expected one of `format`",
        ),
        (
            "{\"format\": 1,\n\"format\": 1}",
            "line 2: duplicate field `format`",
        ),
        ("{\"format\": 1", "line 1: EOF"),
        ("[1]", "line 1"),
        ("format", "line 1"),
    ] {
        refused(text, expected);
    }
}

#[test]
fn a_wrong_field_is_named_with_what_was_expected() {
    for (text, expected) in [
        ("colour = 7", "line 4: unknown field `colour`"),
        (
            "[params]\npionts = 7",
            "pionts = \"7\" cannot be used: expected one of: points, labels",
        ),
        ("[params]\npoints = \"many\"", "points = \"many\""),
        ("[params]\npoints = 0", "at least 1"),
        (
            "[params]\npoints = [1]",
            "line 5: invalid type: sequence, expected a text or a number",
        ),
        ("[hash]\nfunction = \"xxh5\"", "expected one of xxh3"),
        ("[hash]\nfunction = \"xxh3\"\nkey = \"00\"", "key"),
        (
            "[hash]\nfunction = \"md5\"\nseed = 7",
            "neither seed nor key",
        ),
        (
            "[hash]\nfunction = \"xxh3\"\nseed = -7",
            "a whole number below 2^64",
        ),
        (
            "[hash]\nfunction = \"murmur3-32\"\nseed = \"4294967296\"",
            "32 bits",
        ),
        ("[hash]\nfunction = \"sip13\"", "without its key: add `key`"),
        (
            "[hash]\nfunction = \"sip13\"\nkey = \"+0112233445566778899aabbccddeef\"",
            "32 hexadecimal",
        ),
        (
            "[hash]\nfunction = \"xxh3\"\ntag = \"{\"",
            "exactly two bytes",
        ),
        ("[hash]\nseed = 7", "missing field `function`"),
        ("[[node]]\nweight = 7", "line 4: missing field `name`"),
        ("[[node]]\nname = \"\"", "no name"),
        (
            "[[node]]\nname = \"a\"\n[[node]]\nname = \"a\"",
            "node \"a\" is already there",
        ),
        (
            "[[node]]\nname = \"a\"\nweight = 4294967296",
            "expected a whole number below 2^32",
        ),
        (
            "[[node]]\nname = \"a\"\nweight = -1",
            "expected a whole number below 2^32",
        ),
        (
            "[[node]]\nname = \"a\"\nweight = 4294967295",
            "more than the limit of 67108864",
        ),
        (
            "[[node]]\nname = \"a\"\nzome = \"z\"",
            "line 6: unknown field `zome`",
        ),
        ("[[node]]\nname = \"a\"\nlabel = \"b\"", "label"),
        (
            "[[node]]\nname = \"a\"\ndown = true",
            "nodes of ring have none",
        ),
        (
            "[[node]]\nname = \"a\"\nslots = \"0-9\"",
            "nodes of ring have none",
        ),
        ("node = 7", "line 4: invalid type"),
    ] {
        refused(&format!("{HEAD}{text}\n"), expected);
    }
    for epoch in [
        "-1",
        "9007199254740992",
        "18446744073709551616",
        "1.5",
        "\"1\"",
    ] {
        let epoch = format!("{HEAD}epoch = {epoch}\n");
        refused(&epoch, "");
    }
}

#[test]
fn a_table_of_slots_is_checked_against_the_nodes() {
    let head = "format = 1\nvalues = 1\nstrategy = \"slots\"\nparams.slots = ";
    let node = |slots: &str| format!("[[node]]\nname = \"n-{slots}\"\nslots = \"{slots}\"\n");
    for (slots, nodes, expected) in [
        (
            "10",
            node("0-10"),
            "0-10\" cannot be used: expected slots from 0 to 9",
        ),
        ("10", node("4294967295"), "slots from 0 to 9"),
        (
            "10",
            node("0-18446744073709551615"),
            "no slot after the last of the table, 16383 unless",
        ),
        (
            "10",
            node("0-5") + &node("5-9"),
            "slots that no other range has",
        ),
        ("10", node("0-5,5"), "slots that no other range has"),
        ("10", node("5-0"), "the lower slot first: 0-5"),
        ("10", node("x"), "slots and ranges, such as 0-99,105"),
        (
            "10",
            node("0-9") + "weight = 0",
            "more than 0 before it can own slots",
        ),
        (
            "10",
            "[[node]]\nname = \"a\"".into(),
            "the slots that each node owns",
        ),
        ("1", node("0") + &node(""), "more than the limit of 1"),
        ("0", String::new(), "at least 1"),
        (
            "4294967295",
            String::new(),
            "more than the limit of 67108864",
        ),
        ("\"18446744073709551616\"", String::new(), "a whole number"),
    ] {
        refused(&format!("{head}{slots}\n{nodes}\n"), expected);
    }
}

#[test]
fn fields_of_a_strategy_are_refused_for_a_dialect() {
    let head = "format = 1\nvalues = 1\ndialect = \"nginx\"\n";
    for (text, expected) in [
        ("[hash]\nfunction = \"md5\"", "the dialect nginx has none"),
        (
            "[[node]]\nname = \"a\"\nslots = \"0\"",
            "the dialect nginx has none",
        ),
        (
            "[params]\npoints = 7",
            "points = \"7\" cannot be used: expected one of: method",
        ),
    ] {
        refused(&format!("{head}{text}\n"), expected);
    }
}

/// Readers of JSON differ in which of two equal fields they take.
#[test]
fn a_field_that_stands_twice_is_refused() {
    let text =
        r#"{"format": 1, "values": 1, "strategy": "ring", "params": {"points": 1, "points": 2}}"#;
    refused(text, "\"points\" is given twice");
}

#[test]
fn long_and_deeply_nested_texts_are_refused() {
    let long = " ".repeat(Spec::MAX_TEXT + 1);
    assert!(matches!(long.parse::<Spec>(), Err(Error::Capacity { .. })));
    for open in ["[", "{\"a\":", "{\"format\":1,\"x\":["] {
        assert!(open.repeat(100_000).parse::<Spec>().is_err());
    }
    assert!(
        format!("format = {}", "[".repeat(100_000))
            .parse::<Spec>()
            .is_err()
    );
}

#[test]
fn damaged_texts_never_panic() {
    let text = include_str!("../data/spec/slots.toml");
    let json = text.parse::<Spec>().expect("the golden file").to_json();
    for text in [text, &json] {
        let inputs = vec((any::<Index>(), any::<u8>()), 1..6);
        for_all(300, &inputs, |damage| {
            let mut bytes = text.as_bytes().to_vec();
            for (index, byte) in damage {
                let at = index.index(bytes.len());
                bytes[at] = byte;
            }
            if let Ok(spec) = String::from_utf8_lossy(&bytes).parse::<Spec>() {
                assert!(spec.build().is_ok());
            }
        });
    }
}

#[test]
fn a_row_of_another_crate_cannot_be_read_back_and_is_refused() {
    static OURS: Scheme = Scheme::strategy("ring", "our own", Caps::SET, |nodes, _| {
        Ok(Box::new(Rendezvous::new(nodes)?))
    });
    let error = Spec::new(&OURS, ["a", "b"], &Params::default()).expect_err("another ring");
    assert!(
        error.to_string().contains("hashroute::schemes()"),
        "{error}"
    );
    let ring = Rendezvous::new(["a", "b"]).expect("nodes");
    assert!(Spec::of(&OURS, &Params::default(), &ring).is_err());
}
