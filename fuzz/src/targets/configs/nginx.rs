//! `nginx.conf`.

use arbitrary::Unstructured;

use super::{address, check, gap, weight};
use crate::Outcome;
use crate::draw::{Draw, put};

pub(crate) fn nginx(u: &mut Unstructured<'_>) -> Outcome {
    let mut text = String::new();
    let nested = u.chance(128);
    if nested {
        text.push_str("user www-data;\nevents { worker_connections 768; }\nhttp {\n");
    }
    if u.chance(60) {
        text.push_str("map $uri $cache { default 1; \"~^/upstream {\" 0; }\n");
    }
    for upstream in 0..u.range(1, 3) {
        let name = ["a", "\"two words\"", "'c'"][upstream];
        put!(text, "upstream {name} {{\n");
        if u.chance(40) {
            text.push_str(u.pick(&[
                "  zone z 64k;\n",
                "  least_conn;\n",
                "  # note\n",
                "  keepalive 32;\n",
            ]));
        }
        let hash = |u: &mut Unstructured<'_>, text: &mut String| {
            let key = u.pick(&["$uri", "$scheme$uri${args}", "\"$a b\"", "$remote_addr"]);
            put!(
                text,
                "  hash {key}{};\n",
                u.pick(&["", " consistent", "\n  consistent"])
            );
        };
        let before = u.chance(160);
        if before {
            hash(u, &mut text);
        }
        for _ in 0..u.range(1, 5) {
            text.push_str("  server ");
            match u.byte() {
                0..=219 => address(u, &mut text),
                220..=239 => put!(text, "unix:/run/{}.sock", u.below(99)),
                _ => put!(text, "'10.1.0.{}:80'", u.below(99)),
            }
            for _ in 0..u.below(3) {
                gap(u, &mut text);
                match u.below(8) {
                    0..=3 => put!(text, "weight={}", weight(u)),
                    4 => text.push_str("down"),
                    5 => text.push_str(u.pick(&["max_fails=0", "fail_timeout=3s", "max_conns=9"])),
                    6 => text.push_str(u.pick(&["resolve", "slow_start=30s", "colour=red"])),
                    _ => text.push_str(if before { "max_fails=1" } else { "backup" }),
                }
            }
            text.push_str(u.pick(&[";\n", ";\n", "; # tail\n", " ;"]));
        }
        if !before {
            hash(u, &mut text);
        }
        if u.chance(30) {
            text.push_str("  frobnicate { server not:1; nested { on; } }\n");
        }
        text.push_str("}\n");
    }
    if nested {
        text.push_str("server { listen 80; location / { proxy_pass http://a; } }\n}\n");
    }
    check(u, "nginx", text)
}
