//! The configuration files of real systems: read, built, written and read again.

use arbitrary::Unstructured;
use hashroute::compat;
use hashroute::registry::{Config, Scheme, Setup};
use hashroute::{Node, Router};

use crate::Outcome;
use crate::draw::{Draw, damage_text, put};

/// The largest number in a parameter, and the largest sum of weights, with which a pool is built.
/// Larger ones are legal, and only slow.
const MOST: u64 = 4096;
const MOST_WEIGHT: u64 = 64;

/// Reads the text of a dialect, damaged or not, and checks what was read.
fn check(u: &mut Unstructured<'_>, dialect: &str, mut text: String) -> Outcome {
    let scheme = compat::find(dialect).expect("a dialect");
    let damaged = damage_text(u, &mut text);
    let read = scheme.read(&text);
    let configs = match read {
        Ok(configs) => configs,
        Err(error) => {
            let message = error.to_string();
            assert!(
                !message.is_empty() && !message.contains("line 0"),
                "{message}"
            );
            return Outcome::Refused;
        }
    };
    let lines = text.lines().count() + 1;
    assert!(!configs.is_empty());
    if !damaged && u.chance(16) {
        let seen = compat::recognize(&text).map(|scheme| scheme.name);
        assert!(seen.is_none_or(|seen| seen == dialect), "{seen:?}: {text}");
    }
    for config in &configs {
        assert!(core::ptr::eq(config.scheme(), scheme));
        for unknown in config.unknown() {
            assert!(
                (1..=lines).contains(&unknown.line),
                "{unknown:?} of {lines} lines"
            );
            assert!(!unknown.message().is_empty());
        }
        if let Some(error) = config.error() {
            assert!(!error.to_string().is_empty() && config.servers().is_empty());
        } else {
            assert!(scheme.check(config.params()).is_ok(), "{config:?}");
            if u.chance(12) && is_small(config) {
                built(u, config);
            }
        }
    }
    Outcome::Accepted
}

fn is_small(config: &Config) -> bool {
    let weight: u64 = config
        .servers()
        .iter()
        .map(|server| u64::from(server.weight()))
        .sum();
    let Ok(values) = config.scheme().values(config.params()) else {
        return false;
    };
    let mut numbers = values
        .values()
        .filter_map(|value| value.parse::<u64>().ok());
    // The default ring of Envoy, and its table, are larger.
    weight <= MOST_WEIGHT && numbers.all(|number| number <= MOST)
}

/// Builds a pool, and writes and reads it again.
fn built(u: &mut Unstructured<'_>, config: &Config) {
    let setup = config.setup().expect("no error");
    let Ok(router) = config.build() else {
        return;
    };
    assert_eq!(router.nodes().len(), config.servers().len());
    let keys: [Vec<u8>; 3] = core::array::from_fn(|_| u.key());
    for key in &keys {
        let hash = router.hash_key(key);
        let owner = router.route(key);
        assert_eq!(
            owner,
            hash.and_then(|hash| router.nodes().get(router.route_hash(hash)?))
        );
        assert!(owner.is_none_or(|node| node.weight() > 0), "{owner:?}");
    }
    again(config.scheme(), &setup, &*router, &keys);
}

/// Writes a set-up as a configuration, and reads the same pool from it.
fn again(scheme: &'static Scheme, setup: &Setup, router: &dyn Router, keys: &[Vec<u8>]) {
    if !scheme.writes_config() {
        return;
    }
    let Ok(written) = scheme.write(setup, "pool") else {
        return;
    };
    let configs = scheme.read(&written).expect("what we wrote");
    let [config] = configs.as_slice() else {
        panic!("{written}");
    };
    // A name that DNS may resolve to several addresses gets a sentence; we write no directive.
    assert!(
        config.unknown().iter().all(|unknown| unknown.is_sentence),
        "{written}"
    );
    assert_eq!(config.servers(), setup.servers(), "{written}");
    let other = config.build().expect("what we wrote");
    for key in keys {
        let [ours, theirs] = [router, &*other].map(|router| router.route(key).map(Node::name));
        assert_eq!(ours, theirs, "{written}");
    }
}

/// Puts an address: IPv4 with a port in most cases.
fn address(u: &mut Unstructured<'_>, text: &mut String) {
    match u.byte() {
        0..=179 => put!(
            text,
            "10.0.{}.{}:{}",
            u.below(3),
            u.below(200),
            80 + u.below(3)
        ),
        180..=209 => put!(text, "h{}.example:80{}", u.below(50), u.below(10)),
        210..=229 => put!(text, "[fd00::{:x}]:80", u.below(99)),
        _ => {
            u.word(8, text);
            put!(text, ":{}", u.range(1, 65_535));
        }
    }
}

fn weight(u: &mut Unstructured<'_>) -> usize {
    match u.byte() {
        0..=239 => u.range(1, 5),
        _ => u.range(1, 256),
    }
}

/// Puts white space, and sometimes a comment.
fn gap(u: &mut Unstructured<'_>, text: &mut String) {
    text.push_str(u.pick(&[" ", " ", " ", "  ", "\t", " \t "]));
}

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
                    let hash = u.pick(&[
                        "one_at_a_time",
                        "md5",
                        "crc16",
                        "crc32",
                        "crc32a",
                        "fnv1_64",
                        "fnv1a_64",
                        "fnv1_32",
                        "fnv1a_32",
                        "hsieh",
                        "murmur",
                        "jenkins",
                        "'murmur'",
                    ]);
                    if option == 0 || !text.ends_with("hash: x\n") {
                        put!(text, "  # hash\n  hash: {hash}\n");
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

pub(crate) fn envoy(u: &mut Unstructured<'_>) -> Outcome {
    let json = u.chance(80);
    let mut text = String::new();
    let clusters = u.range(1, 2);
    if json {
        text.push_str(u.pick(&[
            "[",
            "{\"clusters\": [",
            "{\"static_resources\": {\"clusters\": [",
        ]));
    } else {
        text.push_str(u.pick(&["clusters:\n", "admin: {}\nclusters:\n"]));
    }
    let ends = text.matches('{').count();
    for cluster in 0..clusters {
        if json {
            put!(
                text,
                "{}{{\"name\": \"c{cluster}\", ",
                if cluster > 0 { ",\n" } else { "" }
            );
        } else {
            put!(text, "- name: c{cluster}\n");
        }
        let ring = u.chance(128);
        let line = |text: &mut String, key: &str, value: &str| {
            if json {
                // A flow map of YAML without quotes is no JSON.
                let value = quoted(value);
                put!(text, "{}: {value}, ", quoted(key));
            } else {
                put!(text, "  {key}: {value}\n");
            }
        };
        if u.chance(128) {
            line(
                &mut text,
                "type",
                u.pick(&["STATIC", "STRICT_DNS", "static"]),
            );
        }
        line(
            &mut text,
            "lb_policy",
            if ring {
                u.pick(&["RING_HASH", "ring_hash", "2"])
            } else {
                "MAGLEV"
            },
        );
        if ring {
            let hash = u.pick(&["XX_HASH", "MURMUR_HASH_2"]);
            let (least, most) = (u.range(1, 64), u.range(64, 256));
            line(
                &mut text,
                "ring_hash_lb_config",
                &format!(
                    "{{minimum_ring_size: {least}, maximum_ring_size: {most}, hash_function: {hash}}}"
                ),
            );
        } else {
            let size = u.pick(&["11", "13", "251", "509"]);
            line(
                &mut text,
                "maglev_lb_config",
                &format!("{{table_size: {size}}}"),
            );
        }
        match u.below(6) {
            0 => line(
                &mut text,
                "common_lb_config",
                "{consistent_hashing_lb_config: {hash_balance_factor: 150}}",
            ),
            1 => line(
                &mut text,
                "common_lb_config",
                "{consistent_hashing_lb_config: {use_hostname_for_hashing: true}}",
            ),
            2 => line(&mut text, "frobnicate", "true"),
            _ => {}
        }
        let endpoints = envoy_endpoints(u);
        if json {
            put!(text, "\"load_assignment\": {}}}", quoted(&endpoints));
        } else {
            put!(text, "  load_assignment: {endpoints}\n");
        }
    }
    if json {
        text.push(']');
        text.push_str(&"}".repeat(ends));
    }
    check(u, "envoy", text)
}

fn envoy_endpoints(u: &mut Unstructured<'_>) -> String {
    let mut endpoints = String::from("{cluster_name: c, endpoints: [{lb_endpoints: [");
    for endpoint in 0..u.range(1, 5) {
        let comma = if endpoint > 0 { ", " } else { "" };
        put!(
            endpoints,
            "{comma}{{endpoint: {{address: {{socket_address: {{address: 10.0.{}.{}, port_value: {}}}}}}}",
            u.below(2),
            u.below(200),
            80 + endpoint
        );
        if u.chance(80) {
            put!(endpoints, ", load_balancing_weight: {}", u.range(1, 3));
        }
        if u.chance(60) {
            put!(
                endpoints,
                ", health_status: {}",
                u.pick(&["HEALTHY", "UNHEALTHY", "DEGRADED", "DRAINING"])
            );
        }
        if u.chance(60) {
            put!(
                endpoints,
                ", metadata: {{filter_metadata: {{envoy.lb: {{hash_key: k{}}}}}}}",
                u.below(20)
            );
        }
        endpoints.push('}');
    }
    endpoints.push_str("]}]}");
    endpoints
}

/// Puts every word of a flow map of YAML in quotes, and leaves its numbers.
fn quoted(flow: &str) -> String {
    let (mut text, mut word) = (String::new(), String::new());
    let end = |text: &mut String, word: &mut String| {
        if word.is_empty() || word.bytes().all(|byte| byte.is_ascii_digit()) || word == "true" {
            text.push_str(word);
        } else {
            put!(text, "\"{word}\"");
        }
        word.clear();
    };
    let mut letters = flow.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            ':' if letters.peek() != Some(&' ') => word.push(letter),
            '{' | '}' | '[' | ']' | ',' | ':' | ' ' => {
                end(&mut text, &mut word);
                text.push(letter);
            }
            _ => word.push(letter),
        }
    }
    end(&mut text, &mut word);
    text
}

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

pub(crate) fn redis_cluster(u: &mut Unstructured<'_>) -> Outcome {
    let text = super::cluster::nodes_text(u, 16_384);
    check(u, "redis-cluster", text)
}
