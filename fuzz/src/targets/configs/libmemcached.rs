//! The configuration string of libmemcached.

use arbitrary::Unstructured;

use super::{check, weight};
use crate::Outcome;
use crate::draw::{Draw, put};

pub(crate) fn libmemcached(u: &mut Unstructured<'_>) -> Outcome {
    let mut text = String::new();
    let (mut hashed, statements) = (false, u.range(1, 8));
    for statement in 0..statements {
        match if statement == 0 { 0 } else { u.below(12) } {
            0..=4 => {
                put!(text, "--SERVER=");
                match u.byte() {
                    0..=179 => put!(text, "10.0.0.{}", u.below(200)),
                    _ => u.word(8, &mut text),
                }
                if u.chance(180) {
                    put!(text, ":{}", u.below(65_536));
                }
                if u.chance(100) {
                    put!(text, "/?{}", weight(u));
                }
            }
            5 => put!(text, "--SOCKET=\"/run/{}.sock\"", u.below(99)),
            6 if !hashed => {
                hashed = true;
                let hash = u.pick(&[
                    "MD5", "CRC", "FNV1_64", "FNV1A_64", "FNV1_32", "FNV1A_32", "MURMUR",
                    "JENKINS", "md5",
                ]);
                put!(text, "--HASH={hash}");
            }
            7 | 8 => {
                let distribution =
                    u.pick(&["consistent", "modula", "CONSISTENT", "consistent,MD5"]);
                put!(text, "--DISTRIBUTION={distribution}");
            }
            9 => text.push_str(u.pick(&[
                "--SORT-HOSTS",
                "--HASH-WITH-NAMESPACE",
                "--NAMESPACE=\"foo bar\"",
            ])),
            10 => text.push_str(u.pick(&[
                "--BINARY-PROTOCOL",
                "--POOL-MIN=10",
                "--frob=1",
                "--USE-UDP",
            ])),
            _ => text.push_str(u.pick(&["--TCP-NODELAY", "\n# comment", "--server=b"])),
        }
        text.push_str(u.pick(&[" ", " ", "\n", "\t", "\n\n"]));
    }
    check(u, "libmemcached", text)
}
