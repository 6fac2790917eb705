//! `parent.config` and `strategies.yaml` of Traffic Server.

use arbitrary::Unstructured;

use super::check;
use crate::Outcome;
use crate::draw::{Draw, put};

pub(crate) fn trafficserver(u: &mut Unstructured<'_>) -> Outcome {
    let text = if u.chance(128) {
        parents(u)
    } else {
        strategies(u)
    };
    check(u, "trafficserver", text)
}

fn fraction(u: &mut Unstructured<'_>) -> &'static str {
    u.pick(&["1", "1.0", "2", "0.5", "0.25", "1.5", "3", "0.999"])
}

fn parents(u: &mut Unstructured<'_>) -> String {
    let mut text = String::new();
    if u.chance(60) {
        text.push_str("# parents\n\n");
    }
    for rule in 0..u.range(1, 3) {
        let destination = u.pick(&[
            "dest_domain=.",
            "dest_host=a.example",
            "url_regex=img",
            "dest_ip=10.0.0.0",
        ]);
        put!(text, "{destination}");
        if u.chance(60) {
            text.push_str(u.pick(&[
                " method=get",
                " port=80",
                " scheme=http",
                " frob=1",
                " secondary_parent=\"r:1\"",
            ]));
        }
        put!(text, " {}=\"", u.pick(&["parent", "primary_parent"]));
        for parent in 0..u.range(1, 5) {
            if parent > 0 {
                text.push_str(u.pick(&[";", ", ", "; "]));
            }
            put!(text, "p{}.example:{}", u.below(60), 80 + u.below(9));
            if u.chance(128) {
                put!(text, "|{}", fraction(u));
            }
            if u.chance(50) {
                put!(text, "&label{parent}");
            }
        }
        let policy = if rule == 0 {
            "consistent_hash"
        } else {
            u.pick(&["consistent_hash", "strict"])
        };
        put!(text, "\" round_robin={policy}");
        if u.chance(80) {
            text.push_str(u.pick(&[" qstring=ignore", " qstring=consider", " go_direct=false"]));
        }
        text.push('\n');
    }
    text
}

fn strategies(u: &mut Unstructured<'_>) -> String {
    let (hosts, mut text) = (u.range(1, 5), String::from("hosts:\n"));
    for host in 0..hosts {
        put!(text, "  - &p{host}\n    host: p{host}.example\n");
        if u.chance(60) {
            put!(text, "    hash_string: label{host}\n");
        }
        put!(
            text,
            "    protocol:\n      - scheme: http\n        port: {}\n",
            80 + u.below(9)
        );
    }
    text.push_str("groups:\n  - &near\n");
    for host in 0..hosts {
        put!(text, "    - <<: *p{host}\n");
        if u.chance(200) {
            put!(text, "      weight: {}\n", fraction(u));
        }
    }
    text.push_str("strategies:\n");
    for strategy in 0..u.range(1, 3) {
        let policy = if strategy == 0 {
            "consistent_hash"
        } else {
            u.pick(&["consistent_hash", "rr_strict"])
        };
        put!(text, "  - strategy: 's{strategy}'\n    policy: {policy}\n");
        if u.chance(80) {
            put!(text, "    hash_key: {}\n", u.pick(&["path", "path+query"]));
        }
        if u.chance(60) {
            text.push_str(u.pick(&[
                "    go_direct: false\n",
                "    glow: true\n",
                "    failover: {ring_mode: exhaust_ring, response_codes: [404]}\n",
                "    failover: {ring_mode: peering_ring}\n",
            ]));
        }
        text.push_str("    groups:\n      - *near\n");
    }
    text
}
