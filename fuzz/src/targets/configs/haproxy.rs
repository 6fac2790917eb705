//! `haproxy.cfg`.

use arbitrary::Unstructured;

use super::{address, check, gap, weight};
use crate::Outcome;
use crate::draw::{Draw, put};

pub(crate) fn haproxy(u: &mut Unstructured<'_>) -> Outcome {
    let mut text = String::new();
    if u.chance(128) {
        text.push_str("global\n    maxconn 100\n");
    }
    let balance = |u: &mut Unstructured<'_>| {
        u.pick(&[
            "uri",
            "url_param id",
            "hdr(host)",
            "hash path",
            "rdp-cookie",
            "uri whole",
            "hash url_dec",
        ])
    };
    let hash_type = |u: &mut Unstructured<'_>, text: &mut String| {
        let method = u.pick(&["consistent", "map-based"]);
        let function = u.pick(&["", " sdbm", " djb2", " wt6", " crc32"]);
        let avalanche = if function.is_empty() {
            ""
        } else {
            u.pick(&["", " avalanche"])
        };
        put!(text, "    hash-type {method}{function}{avalanche}\n");
    };
    let is_named = u.chance(60);
    if u.chance(180) {
        put!(
            text,
            "defaults{}\n    mode http\n    timeout connect 5s\n",
            if is_named { " base" } else { "" }
        );
        if u.chance(128) {
            put!(text, "    balance {}\n", balance(u));
        }
        if u.chance(60) {
            hash_type(u, &mut text);
        }
        if u.chance(60) {
            put!(text, "    default-server weight {} check\n", weight(u));
        }
    } else {
        text.push_str("defaults base\n    mode http\n");
    }
    for section in 0..u.range(1, 3) {
        let kind = u.pick(&["backend", "backend", "listen"]);
        put!(
            text,
            "{kind} b{section}{}\n",
            if is_named && u.chance(99) {
                " from base"
            } else {
                ""
            }
        );
        if section == 0 || u.chance(200) {
            put!(text, "    mode http\n    balance {}\n", balance(u));
        }
        if u.chance(128) {
            hash_type(u, &mut text);
        }
        if u.chance(40) {
            put!(
                text,
                "    hash-balance-factor {}\n",
                u.pick(&["0", "101", "125", "150", "2147483647"])
            );
        }
        if u.chance(60) {
            let line = u.pick(&[
                "option allbackup",
                "option httplog",
                "frobnicate on",
                "http-request deny if { path / }",
                "http-request set-path /x",
                "use-server s1 if { path / }",
                "# a comment",
                "acl \"two words\" path_beg /a\\ b",
                "timeout server 3s",
                ".if defined(X)",
            ]);
            put!(text, "    {line}\n");
        }
        haproxy_servers(u, &mut text);
    }
    check(u, "haproxy", text)
}

fn haproxy_servers(u: &mut Unstructured<'_>, text: &mut String) {
    for server in 0..u.range(1, 5) {
        put!(text, "    server s{server} ");
        address(u, text);
        for _ in 0..u.below(3) {
            gap(u, text);
            match u.below(10) {
                0..=2 => put!(text, "weight {}", weight(u).min(256)),
                3 => put!(text, "id {}", server * 100 + u.range(1, 99)),
                4 => text.push_str(u.pick(&["disabled", "enabled"])),
                5 => text.push_str(u.pick(&["backup", "no-backup"])),
                6 => text.push_str(u.pick(&["hash-key id", "check", "hash-key id"])),
                7 => text.push_str(u.pick(&["inter 2s", "maxconn 9", "slowstart 5s", "ssl"])),
                8 => put!(text, "track b0/s{}", u.below(3)),
                _ => text.push_str(u.pick(&["# tail", "check inter \"1s\"", "cookie 'a b'"])),
            }
        }
        text.push('\n');
    }
}
