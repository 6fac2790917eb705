//! `nutcracker.yml`.

use arbitrary::Unstructured;
use hashroute::compat;

use super::{check, weight};
use crate::Outcome;
use crate::draw::{Draw, put};

pub(crate) fn twemproxy(u: &mut Unstructured<'_>) -> Outcome {
    let mut text = String::new();
    if u.chance(30) {
        text.push_str("---\n# pools\n");
    }
    for pool in 0..u.range(1, 3) {
        put!(text, "{}:\n", ["alpha", "'beta'", "\"ga mma\""][pool]);
        let options = u.range(0, 4);
        for option in 0..options {
            match (option + u.below(2)) % 5 {
                0 => text.push_str("  listen: 127.0.0.1:22121\n"),
                1 => {
                    let hash = u.pick(hashes());
                    let quote = if u.chance(8) { "'" } else { "" };
                    if option == 0 || !text.ends_with("hash: x\n") {
                        put!(text, "  # hash\n  hash: {quote}{hash}{quote}\n");
                        break;
                    }
                }
                2 => text.push_str("  auto_eject_hosts: true\n  timeout: 400\n"),
                3 => text.push_str(u.pick(&[
                    "  frobnicate: 1\n",
                    "  redis: true\n",
                    "  backlog: 1024\n",
                ])),
                _ => {}
            }
        }
        if u.chance(128) {
            put!(
                text,
                "  distribution: {}\n",
                u.pick(&["ketama", "modula", "\"ketama\""])
            );
        }
        if u.chance(60) {
            put!(text, "  hash_tag: \"{}\"\n", u.pick(&["{}", "$$", "[]"]));
        }
        text.push_str("  servers:\n");
        let quote = u.pick(&["", "", "'", "\""]);
        for server in 0..u.range(1, 5) {
            put!(text, "   - {quote}");
            if u.chance(230) {
                let (net, host, port) = (u.below(2), u.below(200), 6379 + u.below(3));
                put!(text, "10.0.{net}.{host}:{port}");
            } else {
                put!(text, "/run/{server}.sock");
            }
            put!(text, ":{}", weight(u));
            if u.chance(150) {
                put!(text, " server{server}");
            }
            put!(text, "{quote}\n");
        }
    }
    check(u, "twemproxy", text)
}

/// Returns the names of hash functions, as the dialect has them.
fn hashes() -> &'static [&'static str] {
    let dialect = compat::find("twemproxy").expect("a dialect");
    let mut params = dialect.params.iter();
    params
        .find(|param| param.name == "hash")
        .expect("a parameter")
        .values
}
