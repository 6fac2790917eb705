use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::registry::Config;
use crate::strategy::Params;
use crate::{Error, Router};
use crate::{Server, compat};

const TEXT: &str = r#"
global
    maxconn 100
defaults
    mode http
    balance uri
    default-server weight 2 check
backend cache
    hash-type consistent wt6 avalanche   # a comment
    hash-balance-factor 150
    server s1 10.0.0.1:80
    server s2 10.0.0.2:80 weight 5 id 9 inter 2s
    server s3 10.0.0.3:80 disabled
    server s4 10.0.0.4:80 backup slowstart 5s
    use-server s1 if { path / }
backend other
    balance roundrobin
    server s1 10.0.0.1:80
listen "two words"
    hash-type consistent
    server s1 10.0.0.1:80 disabled
    server s2 10.0.0.2:80 backup
    server s3 10.0.0.3:80 backup
backend plain
    server s1 10.0.0.1:80
"#;

fn read(text: &str) -> Result<Vec<Config>, Error> {
    compat::find("haproxy")?.read(text)
}

#[test]
fn sections_inherit_from_defaults() -> Result<(), Error> {
    let configs = read(TEXT)?;
    let names: Vec<_> = configs.iter().map(Config::name).collect();
    assert_eq!(names, ["cache", "two words", "plain"]);

    let expected = Params::default()
        .with("method", "consistent")
        .with("function", "wt6")
        .with("avalanche", "on")
        .with("balance-factor", "150");
    assert_eq!(configs[0].params(), &expected);
    let servers = configs[0].servers();
    let weights: Vec<_> = servers.iter().map(Server::weight).collect();
    assert_eq!(weights, [2, 5, 2, 2]);
    assert_eq!(servers[1].own_label(), Some("9"));
    let down: Vec<_> = servers.iter().map(Server::is_down).collect();
    assert_eq!(down, [false, false, true, true]);
    let unknown = configs[0].unknown().iter();
    let unknown: Vec<_> = unknown.map(|one| (one.line, &*one.text)).collect();
    let expected = [
        (
            14,
            "slowstart: a server that comes back has less weight at first",
        ),
        (15, "use-server"),
    ];
    let (bound, unknown) = unknown.split_last().expect("three notes");
    assert!(bound.0 == 10 && bound.1.starts_with("hash-balance-factor 150: "));
    assert_eq!(unknown, expected);
    assert!(configs[0].build()?.route(b"/").is_some());
    Ok(())
}

#[test]
fn backups_take_over_one_at_a_time() -> Result<(), Error> {
    let configs = read(TEXT)?;
    let up = |config: &Config| -> Vec<bool> {
        let servers = config.servers().iter();
        servers.map(|server| !server.is_down()).collect()
    };
    assert_eq!(up(&configs[1]), [false, true, false]);
    let all = TEXT.replace("listen \"two words\"", "listen all\n    option allbackup");
    assert_eq!(up(&read(&all)?[1]), [false, true, true]);
    let not = all.replace(
        "option allbackup",
        "option allbackup\n    no option allbackup",
    );
    assert_eq!(up(&read(&not)?[1]), [false, true, false]);
    Ok(())
}

#[test]
fn a_hash_type_without_a_function_is_sdbm() -> Result<(), Error> {
    let configs = read(TEXT)?;
    let expected = |method: &str, avalanche: &str| {
        Params::default()
            .with("method", method)
            .with("function", "sdbm")
            .with("avalanche", avalanche)
    };
    assert_eq!(configs[1].params(), &expected("consistent", "on"));
    assert_eq!(configs[2].params(), &expected("map-based", "off"));
    Ok(())
}

#[test]
fn a_section_may_name_its_defaults() -> Result<(), Error> {
    let text = "defaults a\n mode http\n balance uri\ndefaults b\n balance leastconn\n\
                backend one from a\n server s 10.0.0.1:80\nbackend two\n server s 10.0.0.1:80\n";
    let configs = read(text)?;
    assert_eq!(
        configs.iter().map(Config::name).collect::<Vec<_>>(),
        ["one"]
    );
    assert!(read(&text.replace("from a", "from c")).is_err());
    Ok(())
}

#[test]
fn an_error_names_its_line() {
    let section = "backend b\n balance hash path\n";
    for (line, start) in [
        ("hash-type nearest", "line 3: hash-type"),
        ("hash-type consistent md5", "line 3: hash-type function"),
        ("hash-type consistent sdbm twice", "line 3: hash-type"),
        ("hash-balance-factor 100", "line 3: hash-balance-factor"),
        (
            "hash-balance-factor 2147483648",
            "line 3: hash-balance-factor",
        ),
        ("balance uri", "line 3: balance uri: expected `mode http`"),
        ("balance hdr(x)", "line 3: balance hdr(x)"),
        ("hash-balance-factor", "line 3: hash-balance-factor"),
        ("server s1", "line 3: a server"),
        ("server s1 10.0.0.1:80 weight 257", "line 3: weight"),
        ("server s1 10.0.0.1:80 weight", "line 3: weight"),
        ("server s1 10.0.0.1:80 id 0", "line 3: id"),
        ("server s1 10.0.0.1:80 hash-key name", "line 3: hash-key"),
        (
            "server s1 web:80 hash-key addr",
            "line 3: server \"web:80\"",
        ),
        ("server s1 10.0.0.1:80 id 2147483648", "line 3: id"),
        (
            "server s1 10.0.0.1:80 id 7\n server s2 10.0.0.2:80 id 7",
            "line 4: id \"7\": expected an id that no other server has: server s1",
        ),
        (
            "server-template s 1-3 10.0.0.1:80",
            "line 3: server-template",
        ),
        (".if defined(X)", "line 3: .if"),
        ("server \"s1 10.0.0.1:80", "line 3: a quote"),
        (
            "server s1 \"$HOST\":80",
            "line 3: ${HOST}: a variable of the environment",
        ),
        ("server s1 ${HOST-x}:80", "line 3: ${HOST}: a variable"),
        (
            "server s1 10.0.0.1:80 weight \"${W}\"",
            "line 3: ${W}: a variable",
        ),
        ("hash-type \"${KIND}\"", "line 3: ${KIND}: a variable"),
        ("balance \"${WAY}\"", "line 3: ${WAY}: a variable"),
        ("server s1 10.0.0.1:65536", "line 3: port of server"),
        ("server s1 10.0.0.1:http", "line 3: port of server"),
        ("server s1 10.0.0.1:80-90", "line 3: port of server"),
        ("server s1 [::1]:70000", "line 3: port of server"),
        (
            "server s1 10.0.0.1:80 hash-key id32",
            "line 3: hash-key \"id32\": expected id, addr or addr-port: id32, of HAProxy 3.4",
        ),
        (
            "server-template web 2-4 web.example:8080 check",
            "line 3: server-template: DNS decides which of its servers have an address: expected a \
             line for each server, such as `server web2 ADDRESS:8080`",
        ),
    ] {
        let text = [section, " ", line].concat();
        let message = read(&text).map_or_else(|error| error.to_string(), |_| line.into());
        assert!(message.starts_with(start), "{message}");
    }
    assert!(read("backend b\n balance roundrobin\n").is_err());
    assert!(read("").is_err());
}

#[test]
fn sections_that_cannot_be_read_leave_the_others_readable() -> Result<(), Error> {
    let text = "defaults\n mode http\n balance uri\n\
                backend a\n balance leastconn\n server-template n 5 10.0.0.9:80\n\
                backend b\n server-template n 5 10.0.0.9:80\n\
                backend c\n mode tcp\n server s1 10.0.0.1:80\n\
                backend d\n server s1 10.0.0.1:80\n";
    let configs = read(text)?;
    let errors = configs.iter().map(|config| {
        let error = config.error().map(ToString::to_string);
        (config.name(), error.unwrap_or_default())
    });
    let errors: Vec<_> = errors.collect();
    assert_eq!(errors.len(), 3);
    assert!(errors[0].0 == "b" && errors[0].1.starts_with("line 8: server-template"));
    assert!(errors[1].0 == "c" && errors[1].1.starts_with("line 3: balance uri"));
    assert_eq!(errors[2], ("d", String::new()));
    Ok(())
}

#[test]
fn directives_that_may_change_routes_are_reported() -> Result<(), Error> {
    let text = "global\n .if defined(X)\n .endif\n\
                defaults\n mode http\n http-request set-header x y\n\
                backend a\n balance uri\n disabled\n http-request deny\n\
                http-request replace-path a b\n server s1 10.0.0.1:80 agent-check check\n";
    let unknown = read(text)?[0].unknown().to_vec();
    let unknown: Vec<_> = unknown.iter().map(|one| (one.line, &*one.text)).collect();
    let expected = [
        (6, "http-request set-header"),
        (9, "disabled"),
        (11, "http-request replace-path"),
        (
            12,
            "agent-check: the agent may change the weight of the server",
        ),
        (2, ".if"),
        (3, ".endif"),
    ];
    assert_eq!(unknown, expected);
    Ok(())
}

#[test]
fn servers_that_share_an_address_are_named_by_their_names() -> Result<(), Error> {
    let text = "backend a\n mode http\n balance uri\n server s1 10.0.0.1:80\n\
                server s2 10.0.0.1:80\n server s3 10.0.0.3:80\n";
    let config = read(text)?.remove(0);
    assert_eq!(config.build()?.nodes().len(), 3);
    let pool = super::super::pool(config.servers().to_vec(), config.params())?;
    let names: Vec<_> = pool.servers().map(Server::name).collect();
    assert_eq!(names, ["s1", "s2", "10.0.0.3:80"]);
    assert!(read(&text.replace("s2", "s1")).is_err());
    Ok(())
}

#[test]
fn enabled_undoes_disabled() -> Result<(), Error> {
    let text = "backend a\n balance hash path\n default-server disabled\n\
                server s1 10.0.0.1:80 enabled\n server s2 10.0.0.2:80\n";
    let configs = read(text)?;
    let down: Vec<_> = configs[0].servers().iter().map(Server::is_down).collect();
    assert_eq!(down, [false, true]);
    Ok(())
}

#[test]
fn hash_keys_of_addresses_make_the_order_meaningless() -> Result<(), Error> {
    let text = |order: [u8; 3], by: &str| {
        let servers = order.map(|n| format!(" server s{n} 10.0.0.{n}:80\n"));
        format!(
            "backend b\n balance hash path\n hash-type consistent\n default-server {by} check\n{}",
            servers.concat()
        )
    };
    let routes = |text: &str| -> Result<Vec<Option<String>>, Error> {
        let pool = read(text)?[0].build()?;
        let owner = |i: u32| pool.route(&i.to_be_bytes()).map(|node| node.name().into());
        Ok((0..200).map(owner).collect())
    };
    for by in ["hash-key addr", "hash-key addr-port"] {
        assert_eq!(
            routes(&text([1, 2, 3], by))?,
            routes(&text([3, 1, 2], by))?,
            "{by}"
        );
    }
    let id = routes(&text([1, 2, 3], "hash-key id"))?;
    assert_eq!(id, routes(&text([1, 2, 3], ""))?);
    assert_ne!(id, routes(&text([3, 1, 2], ""))?);
    assert_ne!(id, routes(&text([1, 2, 3], "hash-key addr"))?);
    Ok(())
}

#[test]
fn servers_may_have_different_hash_keys() -> Result<(), Error> {
    let text = "backend b\n balance hash path\n hash-type consistent\n\
                server s1 10.0.0.1:80\n server s2 10.0.0.2:80 hash-key addr\n\
                server s3 10.0.0.3:80 id 4\n server s4 ipv6@[::1]:80 hash-key addr-port\n\
                server s5 unix@/run/s hash-key addr\n";
    let config = read(text)?.remove(0);
    let servers = config.servers().iter();
    let labels: Vec<_> = servers
        .map(|server| server.own_label().unwrap_or(""))
        .collect();
    assert_eq!(labels, ["1", "10.0.0.2", "4", "[::1]:80", "6"]);
    assert_eq!(config.params().get("hash-key", String::new())?, "");
    assert!(config.build()?.route(b"key").is_some());
    Ok(())
}

// Seen with HAProxy 2.6.12: a server that tracks a disabled one gets no request.
#[test]
fn a_server_that_tracks_a_disabled_one_is_down() -> Result<(), Error> {
    let text = "backend b\n balance hash path\n server s1 10.0.0.1:80 track a/t1\n\
                server s2 10.0.0.2:80 track a/t2\n server s3 10.0.0.3:80 track s1\n\
                server s4 10.0.0.4:80 track s4\n\
                backend a\n server t1 10.0.0.1:80 disabled check\n server t2 10.0.0.2:80 check\n";
    let config = read(text)?.remove(0);
    let down: Vec<_> = config.servers().iter().map(Server::is_down).collect();
    assert_eq!(down, [true, false, true, false]);
    assert!(config.unknown().is_empty());
    Ok(())
}

#[test]
fn an_unknown_option_is_reported_with_its_value() -> Result<(), Error> {
    let text = "backend b\n balance hash path\n\
                server s1 10.0.0.1:80 glow 5 check\n server s2 10.0.0.2:80 glow weight 2\n";
    let config = read(text)?.remove(0);
    let unknown = config.unknown().iter();
    let unknown: Vec<_> = unknown.map(|one| (one.line, &*one.text)).collect();
    assert_eq!(unknown, [(3, "glow 5"), (4, "glow")]);
    assert_eq!(config.servers()[1].weight(), 2);
    Ok(())
}

/// Returns what a `balance` hashes, or its error.
fn balance(words: &str) -> Result<(String, String), String> {
    let text = format!("backend b\n mode http\n balance {words}\n server s1 10.0.0.1:80\n");
    let config = read(&text).map_err(|error| error.to_string())?.remove(0);
    if let Some(error) = config.error() {
        return Err(error.to_string());
    }
    let source = config.key_source().ok_or("no source")?;
    assert_eq!(source.line, 3);
    Ok((source.text.to_string(), source.key.to_string()))
}

#[test]
fn a_balance_says_what_is_hashed() -> Result<(), String> {
    for (words, text, key) in [
        ("uri", "uri", "the path without the query, as sent"),
        (
            "uri len 20 depth 2 whole",
            "uri whole depth 2 len 20",
            "the path with the query, as sent, cut after its first 2 parts (/1/2/3/4/5 gives /1/2) and \
             after 20 bytes",
        ),
        // Of two numbers the last one counts.
        (
            "uri len 7 path-only len 9",
            "uri path-only len 9",
            "the path without the query, as sent, without scheme and host, cut after 9 bytes",
        ),
        (
            "url_param user check_post 10",
            "url_param user check_post",
            "the value of the parameter user of the query or the body of a POST, as sent",
        ),
        (
            "hdr(X-User)",
            "hdr(x-user)",
            "the value of the header x-user",
        ),
        (
            "hdr(host) use_domain_only",
            "hdr(host) use_domain_only",
            "the main part of the domain in the header host: www.example.com gives example",
        ),
        (
            "rdp-cookie",
            "rdp-cookie(mstshash)",
            "the value of the RDP cookie mstshash",
        ),
        (
            "hash path,lower",
            "hash path,lower",
            "the value of path,lower",
        ),
    ] {
        assert_eq!(balance(words)?, (text.into(), key.into()), "{words}");
    }
    Ok(())
}

/// The words that HAProxy 2.6.12 refuses.
#[test]
fn a_balance_that_haproxy_refuses_is_refused() {
    for words in [
        "hdr",
        "hdr()",
        "hdr(x",
        "hdr(host) foo",
        "HDR(x)",
        "hdr_dom(host)",
        "url_param",
        "url_param a b",
        "uri depth",
        "uri depth x",
        "uri depth 0",
        "uri len -1",
        "uri foo",
        "rdp-cookie()",
        "foo",
        "hash",
        "hash(path)",
        "hash path,lower foo",
    ] {
        let error = balance(words).unwrap_err();
        assert!(error.starts_with("line 3: balance"), "{words}: {error}");
        assert!(error.contains("expected"), "{words}: {error}");
    }
    // Without a hash there is no pool.
    for words in ["", "roundrobin", "source", "random(2)", "leastconn"] {
        let error = balance(words).unwrap_err();
        assert!(error.starts_with("line 1: no backend"), "{words}: {error}");
    }
}

#[test]
fn addresses_that_haproxy_takes_are_taken() -> Result<(), Error> {
    for address in [
        "10.0.0.1",
        "10.0.0.1:",
        "10.0.0.1:0",
        "10.0.0.1:080",
        "10.0.0.1:+5",
        "10.0.0.1:-5",
        "[::1]:80",
        "[::1]",
        "cache.example:80",
        "/run/cache:sock",
        "unix@cache:sock",
    ] {
        let text = format!("backend b\n balance hash path\n server s {address}\n");
        let config = read(&text)?.remove(0);
        assert!(config.error().is_none(), "{address}: {:?}", config.error());
    }
    Ok(())
}

#[test]
fn a_variable_that_decides_no_route_is_passed_over() -> Result<(), Error> {
    let text = "backend b\n balance hash path,regsub(a$,b)\n log \"${LOG}:514\" local0\n \
                server s 10.0.0.1:80 ssl crt \"${DIR}/x.pem\"\n";
    let config = read(text)?.remove(0);
    assert!(config.error().is_none(), "{:?}", config.error());
    assert!(config.unknown().is_empty(), "{:?}", config.unknown());
    Ok(())
}

#[test]
fn a_bound_on_the_load_is_told_where_it_counts() -> Result<(), Error> {
    let notes = |lines: &str| -> Result<usize, Error> {
        let text = format!("backend b\n balance hash path\n{lines} server s 10.0.0.1:80\n");
        let config = read(&text)?.remove(0);
        let unknown = config.unknown();
        let told = |one: &crate::registry::Unknown| one.text.contains("passes requests on");
        assert!(unknown.iter().all(told), "{unknown:?}");
        Ok(unknown.len())
    };
    assert_eq!(
        notes(" hash-balance-factor 150\n hash-type consistent\n")?,
        1
    );
    // HAProxy ignores it.
    assert_eq!(notes(" hash-balance-factor 150\n")?, 0);
    assert_eq!(notes(" hash-balance-factor 0\n hash-type consistent\n")?, 0);
    Ok(())
}
