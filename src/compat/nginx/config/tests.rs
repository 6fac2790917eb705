use super::*;
use crate::compat;
use crate::{Node, Router};

fn parse(text: &str) -> Result<Vec<Config>, Error> {
    compat::find("nginx")?.read(text)
}

#[test]
fn upstreams_are_found_in_a_whole_file() -> Result<(), Error> {
    let configs = parse(
        r#"
        user www-data; # { not a block
        events { worker_connections 768; }
        http {
            map $uri $cache { default 1; "~^/upstream {" 0; }
            upstream "first" {
                zone first 64k;
                hash $scheme$uri${args} consistent;
                server 10.0.0.1;
                server '10.0.0.2:8080' weight=5 max_fails=0 fail_timeout=3s max_conns=9;
                server unix:/run/cache.sock down weight=2;
                keepalive 32;
            }
            server { listen 80; location / { proxy_pass http://first; } }
        }
        stream {
            upstream second {
                server spare:1 backup;
                server [::1]:80;
                hash $remote_addr;
                frobnicate { server not:1; nested { on; } }
                server 10.0.0.9:1 colour=red;
            }
        }"#,
    )?;
    let [first, second] = configs.as_slice() else {
        panic!("{configs:?}");
    };
    assert_eq!((first.name(), first.unknown()), ("first", &[][..]));
    let expected = [
        Server::new("10.0.0.1"),
        Server::new("10.0.0.2:8080").with_weight(5),
        Server::new("unix:/run/cache.sock").with_weight(2).down(),
    ];
    assert_eq!(first.servers(), expected);
    assert_eq!(
        first.params(),
        &Params::default().with("method", "consistent")
    );
    assert_eq!((second.name(), second.servers().len()), ("second", 2));
    assert_eq!(second.params(), &Params::default().with("method", "hash"));
    let unknown: Vec<_> = second
        .unknown()
        .iter()
        .map(|at| (at.line, &*at.text))
        .collect();
    assert_eq!(unknown, [(21, "frobnicate"), (22, "colour=red")]);
    let pool = first.build()?;
    assert!(pool.route(b"/").map(Node::name).is_some());
    Ok(())
}

#[test]
fn an_upstream_that_cannot_be_read_leaves_the_others() -> Result<(), Error> {
    let configs = parse(
        "http {
            upstream round { server a:1; server b:1; }
            upstream sticky { ip_hash; server a:1; }
            upstream least { server a:1; least_conn; }
            upstream twice { hash $uri; server a:1; server a:1; }
            upstream good { hash $uri; server a:1; server b:1; }
        }",
    )?;
    let lines = configs.iter().map(|config| match config.build() {
        Err(Error::Config { line, .. }) => line,
        _ => 0,
    });
    assert_eq!(lines.collect::<Vec<_>>(), [2, 3, 4, 5, 0]);
    let names: Vec<_> = configs.iter().map(Config::name).collect();
    assert_eq!(names, ["round", "sticky", "least", "twice", "good"]);
    assert_eq!(configs[4].servers().len(), 2);
    // An error that breaks the structure of the file fails the whole file.
    assert!(parse("upstream a { hash $uri; server a; }\nupstream b {").is_err());
    Ok(())
}

// Reported as kubernetes/ingress-nginx#1846: `least_conn` before the `hash` of an annotation.
#[test]
fn the_last_method_of_an_upstream_counts() -> Result<(), Error> {
    let parsed = |methods: &str| parse(&format!("upstream a {{ {methods} server b:1; }}"));
    for (methods, method) in [
        ("least_conn; hash $uri consistent;", "consistent"),
        ("ip_hash; random two; hash $uri;", "hash"),
        ("hash $a consistent; hash $b;", "hash"),
        ("hash $a; least_conn; hash $b consistent;", "consistent"),
    ] {
        let expected = Params::default().with("method", method);
        assert_eq!(parsed(methods)?[0].params(), &expected, "{methods}");
    }
    for methods in ["hash $uri; least_conn;", "hash $uri; hash $b; random;"] {
        assert!(parsed(methods).is_err(), "{methods}");
    }
    // nginx accepts a backup server as long as the method so far does.
    let text = "upstream a { least_conn; server c:1 backup; hash $uri; server b:1; }";
    assert_eq!(parse(text)?[0].servers().len(), 1);
    Ok(())
}

// Reported as nginx/nginx#523: one name with `resolve`, which "works like round robin".
#[test]
fn a_name_that_dns_resolves_is_one_server_with_a_note() -> Result<(), Error> {
    let text = "upstream a { zone a 1m; hash $uri consistent;\n\
                server web.example:80 resolve;\nserver web.example service=http resolve;\n\
                server 10.0.0.1:80 resolve; server plain.example:80; }";
    let config = parse(text)?.remove(0);
    let notes = config.unknown().iter();
    let notes: Vec<_> = notes
        .map(|note| (note.line, note.text.split(';').next().unwrap_or_default()))
        .collect();
    assert_eq!(
        notes,
        [
            (2, "web.example:80: its addresses take turns"),
            (
                3,
                "web.example: DNS gives servers, each with points of its own"
            ),
        ]
    );
    assert!(config.unknown().iter().all(|note| note.is_sentence));
    assert_eq!(config.servers().len(), 4);
    Ok(())
}

#[test]
fn a_mutilated_file_does_not_panic() {
    let text = "http { # ü\nupstream 'a' { hash \"$x\" consistent; server \\b:1 weight=2; } }";
    assert!(parse(text).is_ok());
    for (at, _) in text.char_indices() {
        assert!(parse(&text[..at]).is_err(), "{at}");
        let _ = parse(&text[at..]);
        for other in ["", "{", "}", ";", "\"", "\\", "$", "#"] {
            let _ = parse(&[&text[..at], other, &text[at..]].concat());
            let rest = text[at..]
                .char_indices()
                .nth(1)
                .map_or("", |(next, _)| &text[at + next..]);
            let _ = parse(&[&text[..at], other, rest].concat());
        }
    }
}

#[test]
fn names_are_reported_without_consistent() -> Result<(), Error> {
    let text = |method| {
        format!("upstream a {{ hash $uri {method}; server cache:80; server 10.0.0.1:80; }}")
    };
    assert!(parse(&text("consistent"))?[0].unknown().is_empty());
    let unknown = parse(&text(""))?[0].unknown().to_vec();
    assert!(
        unknown.len() == 1 && unknown[0].text.contains("cache:80"),
        "{unknown:?}"
    );
    Ok(())
}

#[test]
fn an_error_names_its_line() {
    let inside = |text| format!("upstream a {{\n{text}\n}}");
    for (text, line) in [
        (inside("hash $uri; server a;\nleast_conn;"), 3),
        (inside("hash $uri;\nip_hash; server a;"), 3),
        (inside("hash $uri; server a;\nserver b drain;"), 3),
        (
            inside("least_conn; hash $uri; server a;\nserver b backup;"),
            3,
        ),
        (inside("ip_hash; server a;"), 2),
        (inside("random two least_conn; server a;"), 2),
        (inside("include servers.conf;"), 2),
        (inside("balancer_by_lua_block { local a = {} }"), 2),
        (inside("server a;"), 1),
        (inside("hash $uri;"), 1),
        (inside("hash; server a;"), 2),
        (inside("hash $uri ketama; server a;"), 2),
        (inside("hash $uri; server a weight=0;"), 2),
        (inside("hash $uri; server a weight=+1;"), 2),
        (inside("hash $uri; server a weight=99999999999;"), 2),
        (inside("hash $uri; server a weight;"), 2),
        (inside("hash $uri; server a slow_start=30s;"), 2),
        (inside("hash $uri; server a;\nserver b backup;"), 3),
        (inside("hash $uri; server a;\nserver a;"), 3),
        (inside("hash $uri; server;"), 2),
        // What nginx 1.22.1 refuses.
        (inside("hash $uri; server a:0;"), 2),
        (inside("hash $uri; server a:65536;"), 2),
        (inside("hash $uri; server a:;"), 2),
        (inside("hash $uri; server a:http;"), 2),
        (inside("hash $uri; server ::1:80;"), 2),
        (inside("hash $uri; server [::1]:0;"), 2),
        (inside("hash $uri; server [::1;"), 2),
        (inside("hash $uri; server [::1]x;"), 2),
        (inside("hash $uri; server http://a;"), 2),
        (inside("hash $uri; server a:80/x;"), 2),
        (inside("hash $uri; server a?x;"), 2),
        (inside("hash $uri; server $backend;"), 2),
        (inside("hash $uri; server unix:;"), 2),
        (inside("hash $uri; server \"\";"), 2),
        ("upstream { hash $uri; server a; }".into(), 1),
        ("http {\nupstream a { hash $uri; server a; }\n".into(), 3),
        ("upstream a { hash $uri; server a;\n".into(), 2),
        ("upstream a { hash $uri; server a; }\n}".into(), 2),
        ("http { }\n".into(), 2),
        (String::new(), 1),
    ] {
        match parse(&text) {
            Err(Error::Config { line: at, reason }) => assert_eq!(at, line, "{text}: {reason}"),
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn a_hash_says_what_is_hashed() -> Result<(), Error> {
    for (expression, text, key) in [
        (
            "$uri",
            "$uri",
            "the path without the query, decoded and normalized",
        ),
        (
            "${request_uri}",
            "$request_uri",
            "the path with the query, as sent",
        ),
        (
            "$arg_id",
            "$arg_id",
            "the value of the parameter id of the query, as sent",
        ),
        (
            "$http_x_user",
            "$http_x_user",
            "the value of the header x-user",
        ),
        ("$cookie_sid", "$cookie_sid", "the value of the cookie sid"),
        ("${uri}x", "${uri}x", "the value of ${uri}x"),
        (
            "$scheme${uri}?",
            "$scheme$uri?",
            "the value of $scheme$uri?",
        ),
        ("$mine", "$mine", "the value of $mine"),
    ] {
        let text_of = format!("upstream a {{\n hash {expression} consistent;\n server a:1;\n}}");
        let config = parse(&text_of)?.remove(0);
        let source = config.key_source().expect("a hash");
        assert_eq!(
            (source.line, &*source.text, &*source.key),
            (2, text, key),
            "{expression}"
        );
        assert!(config.unknown().is_empty());
    }
    Ok(())
}

#[test]
fn a_hash_without_a_variable_is_told() -> Result<(), Error> {
    let config = parse("upstream a {\n hash uri consistent;\n server a:1;\n}")?.remove(0);
    let [note] = config.unknown() else {
        panic!("{:?}", config.unknown());
    };
    assert_eq!(note.line, 2);
    assert!(note.text.contains("no variable"), "{}", note.text);
    Ok(())
}
