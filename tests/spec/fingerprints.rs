//! Each field of a spec changes the fingerprint or leaves it, as it decides routes or not.

use hashroute::Spec;

use crate::read;

const RING: &str = r#"{
    "format": 1, "epoch": 3, "strategy": "ring", "values": 1,
    "params": {"points": 160, "labels": "drawn"},
    "hash": {"function": "xxh64", "seed": "7", "tag": "{}"},
    "node": [
        {"name": "a", "weight": 2, "zone": "z1", "rack": "r1"},
        {"name": "b"},
        {"name": "c", "weight": 0}
    ]
}"#;

const SIP: &str = r#"{"format": 1, "values": 1, "strategy": "rendezvous",
    "hash": {"function": "sip13", "key": "000102030405060708090a0b0c0d0e0f"},
    "node": [{"name": "a"}, {"name": "b"}]}"#;

const JUMP: &str = r#"{"format": 1, "values": 1, "strategy": "jump",
    "node": [{"name": "a"}, {"name": "b"}]}"#;

const SLOTS: &str = r#"{"format": 1, "values": 1, "strategy": "slots", "params": {"slots": 10},
    "node": [{"name": "a", "slots": "0-4"}, {"name": "b", "slots": "5-8"}]}"#;

const BOUNDED: &str = r#"{"format": 1, "values": 1, "strategy": "bounded",
    "params": {"load": 1.5, "cap": 100}, "node": [{"name": "a"}]}"#;

const TWEMPROXY: &str = r#"{"format": 1, "values": 1, "dialect": "twemproxy",
    "params": {"hash": "md5"},
    "node": [{"name": "a", "label": "one"}, {"name": "b", "weight": 2}, {"name": "c", "down": true}]}"#;

/// Replaces one piece of the base and checks whether the fingerprint is the same.
fn check(base: &str, pieces: &[(&str, &str)], same: bool) {
    let before = read(base);
    for (piece, other) in pieces {
        assert_eq!(base.matches(piece).count(), 1, "{piece}");
        let after = read(&base.replace(piece, other));
        let equal = after.fingerprint() == before.fingerprint();
        assert_eq!(equal, same, "{piece} -> {other}");
        assert_eq!(after.canonical() == before.canonical(), same, "{piece}");
    }
}

#[test]
fn every_field_that_decides_routes_changes_the_fingerprint() {
    check(
        RING,
        &[
            (r#""ring""#, r#""bounded""#),
            (r#""points": 160"#, r#""points": 161"#),
            ("drawn", "tutorial"),
            ("xxh64", "xxh3"),
            (r#""7""#, r#""8""#),
            (r#", "tag": "{}""#, ""),
            ("{}", "[]"),
            (r#""name": "a""#, r#""name": "A""#),
            (r#""weight": 2"#, r#""weight": 3"#),
            ("z1", "z2"),
            ("r1", "r2"),
            (r#""zone": "z1", "#, ""),
            (r#"{"name": "b"},"#, ""),
            (r#""weight": 0"#, r#""weight": 1"#),
        ]
        .map(|pair| match pair {
            // Bounded load has no labels.
            (_, r#""bounded""#) => (
                r#""ring", "values": 1,
    "params": {"points": 160, "labels": "drawn"}"#,
                r#""bounded", "values": 1"#,
            ),
            other => other,
        }),
        false,
    );
    check(SIP, &[("0e0f", "0e0e"), ("sip13", "sip24")], false);
    check(
        JUMP,
        &[(
            r#"{"name": "a"}, {"name": "b"}"#,
            r#"{"name": "b"}, {"name": "a"}"#,
        )],
        false,
    );
    check(
        JUMP,
        &[(r#""jump","#, r#""jump", "params": {"variant": "guava"},"#)],
        false,
    );
    check(
        SLOTS,
        &[
            ("0-4", "0-3"),
            ("5-8", "5-9"),
            (r#""slots": 10"#, r#""slots": 11"#),
        ],
        false,
    );
    check(
        BOUNDED,
        &[("1.5", "1.6"), ("100", "101"), (r#", "cap": 100"#, "")],
        false,
    );
    check(
        TWEMPROXY,
        &[
            ("md5", "crc32"),
            (r#""params": {"hash": "md5"},"#, ""),
            ("twemproxy", "libketama"),
            (r#""one""#, r#""two""#),
            (r#", "label": "one""#, ""),
            (r#""weight": 2"#, r#""weight": 3"#),
            (r#", "down": true"#, ""),
            (r#""down": true"#, r#""weight": 0"#),
        ]
        .map(|pair| match pair {
            (_, "libketama") => (
                r#""twemproxy",
    "params": {"hash": "md5"}"#,
                r#""libketama""#,
            ),
            other => other,
        }),
        false,
    );
}

#[test]
fn a_field_that_decides_no_route_keeps_the_fingerprint() {
    check(
        RING,
        &[
            (r#""epoch": 3"#, r#""epoch": 4"#),
            (r#""epoch": 3, "#, ""),
            ("160", r#""160""#),
            ("160", r#""0160""#),
            ("160", r#""+160""#),
            (r#""points": 160, "#, ""),
            (r#", "labels": "drawn""#, ""),
            (r#""7""#, "7"),
            (r#""7""#, r#""0x7""#),
            ("{}", "hex:7b7d"),
            (r#"{"name": "b"}"#, r#"{"name": "b", "weight": 1}"#),
            (",\n        {\"name\": \"c\", \"weight\": 0}", ""),
            (r#""name": "c""#, r#""name": "d", "zone": "z9""#),
            (
                r#"{"name": "b"}"#,
                r#"{"name": "b", "zone": "", "rack": ""}"#,
            ),
        ],
        true,
    );
    check(SIP, &[("0a0b0c0d0e0f", "0A0B0C0D0E0F")], true);
    check(SLOTS, &[("0-4", "0,1-3,4"), ("0-4", "3-4,0-2")], true);
    check(
        BOUNDED,
        &[
            ("1.5", r#""1.50""#),
            ("1.5", r#""15e-1""#),
            ("100", r#""0100""#),
        ],
        true,
    );
    check(
        TWEMPROXY,
        &[(
            r#""hash": "md5""#,
            r#""distribution": "ketama", "hash": "md5""#,
        )],
        true,
    );
}

/// The tutorial ring hashes keys with MD5 unless a hash is given.
#[test]
fn a_missing_hash_is_the_default_of_the_strategy() {
    let ring =
        r#"{"format": 1, "values": 1, "strategy": "ring", "params": {"labels": "tutorial"}}"#;
    let md5 = ring.replace("\"params\"", r#""hash": {"function": "md5"}, "params""#);
    assert_eq!(read(ring).fingerprint(), read(&md5).fingerprint());
}

#[test]
fn the_secret_stays_out_of_debug_and_canonical_form() {
    let spec: Spec = read(SIP);
    let key = "0405060708090a0b";
    assert!(spec.to_toml().contains(key) && spec.to_json().contains(key));
    let shown = format!("{spec:?}{}", spec.canonical()).to_lowercase();
    assert!(!shown.contains(key), "{shown}");
    // The two halves of the secret as numbers, in both byte orders.
    for word in [0x0001_0203_0405_0607_u64, 0x0809_0a0b_0c0d_0e0f] {
        for number in [word, word.swap_bytes()] {
            assert!(!shown.contains(&number.to_string()), "{shown}");
        }
    }
}
