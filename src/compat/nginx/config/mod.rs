//! Reads the `upstream` blocks of an nginx configuration.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::net::IpAddr;

use super::{METHOD, Method, host_and_port};
use crate::Error;
use crate::Server;
use crate::compat::config::{expected, wrong};
use crate::registry::{Config, Scheme, Unknown};
use crate::strategy::Params;

mod statement;

use statement::{End, Statement, Statements};

/// Directives that route by other rules than the key's hash.
const OTHERWISE: &[&str] = &[
    "balancer_by_lua_block",
    "balancer_by_lua_file",
    "consistent_hash",
    "fair",
    "include",
    "ip_hash",
    "least_conn",
    "least_time",
    "random",
    "session_sticky",
    "state",
    "sticky",
    "sticky_cookie_insert",
];

/// Directives that do not change any route.
const IRRELEVANT: &[&str] = &[
    "keepalive",
    "keepalive_requests",
    "keepalive_time",
    "keepalive_timeout",
    "ntlm",
    "queue",
    "resolver",
    "resolver_timeout",
    "zone",
];

/// Reads all upstreams of a file, in its order, at the top level or in `http` or `stream`.
pub(super) fn read(dialect: &'static Scheme, text: &str) -> Result<Vec<Config>, Error> {
    let mut statements = Statements::new(text);
    let (mut configs, mut open) = (Vec::new(), Vec::<String>::new());
    loop {
        let statement = statements.next()?;
        match (statement.end, statement.name()) {
            (End::Open, "upstream") if open.iter().all(|block| is_holder(block)) => {
                configs.push(Upstream::read(&mut statements, &statement)?.config(dialect));
            }
            (End::Open, name) => open.push(String::from(name)),
            (End::Close, _) if open.pop().is_none() => return Err(unexpected(&statement, "}")),
            (End::File, _) if !open.is_empty() => return Err(unclosed(&statement)),
            (End::File, _) if configs.is_empty() => {
                return Err(wrong(statement.line, "expected an upstream block"));
            }
            (End::File, _) => return Ok(configs),
            (End::Close | End::Directive, _) => {}
        }
    }
}

fn is_holder(block: &str) -> bool {
    matches!(block, "http" | "stream")
}

fn unexpected(statement: &Statement, what: &str) -> Error {
    wrong(statement.line, format!("unexpected {what:?}"))
}

fn unclosed(statement: &Statement) -> Error {
    wrong(statement.line, "the file ends in a block: expected }")
}

/// An upstream under construction.
struct Upstream {
    line: usize,
    name: String,
    method: Option<Method>,
    servers: Vec<Server>,
    names: BTreeSet<String>,
    unknown: Vec<Unknown>,
    /// The first error that leaves the rest of the file readable.
    error: Option<Error>,
}

impl Upstream {
    fn read(statements: &mut Statements, opening: &Statement) -> Result<Self, Error> {
        let [_, name] = opening.words.as_slice() else {
            return Err(wrong(opening.line, "upstream: expected one name"));
        };
        let mut upstream = Self {
            line: opening.line,
            name: name.clone(),
            method: None,
            servers: vec![],
            names: BTreeSet::new(),
            unknown: vec![],
            error: None,
        };
        let mut depth = 0_usize;
        loop {
            let statement = statements.next()?;
            match statement.end {
                End::File => return Err(unclosed(&statement)),
                End::Close if depth == 0 => return Ok(upstream),
                End::Close => depth -= 1,
                // Blocks inside an upstream are unknown; their directives are skipped.
                End::Open | End::Directive if depth == 0 => {
                    let taken = upstream.take(&statement);
                    upstream.error = upstream.error.or(taken.err());
                }
                End::Open | End::Directive => {}
            }
            depth += usize::from(statement.end == End::Open);
        }
    }

    fn take(&mut self, statement: &Statement) -> Result<(), Error> {
        match statement.name() {
            "server" => self.server(statement),
            "hash" => self.hash(statement),
            name if OTHERWISE.contains(&name) => {
                let reason = format!("{name} decides routes in another way than hash KEY");
                Err(wrong(statement.line, reason))
            }
            name if IRRELEVANT.contains(&name) => Ok(()),
            name => {
                self.report(statement, name);
                Ok(())
            }
        }
    }

    fn hash(&mut self, statement: &Statement) -> Result<(), Error> {
        if self.method.is_some() {
            return Err(wrong(statement.line, "hash is given twice"));
        }
        self.method = match &statement.words[1..] {
            [_] => Some(Method::Hash),
            [_, consistent] if consistent == "consistent" => Some(Method::Consistent),
            words => {
                let words = words.join(" ");
                return Err(expected(statement.line, "hash", &words, "KEY [consistent]"));
            }
        };
        Ok(())
    }

    fn server(&mut self, statement: &Statement) -> Result<(), Error> {
        let Some((address, parameters)) = statement.words[1..].split_first() else {
            return Err(wrong(statement.line, "server: expected an address"));
        };
        if self.names.contains(address) {
            let reason = format!("{address} is listed twice: nginx would alternate");
            return Err(wrong(statement.line, reason));
        }
        let (mut weight, mut down, mut backup) = (1, false, false);
        for parameter in parameters {
            match parameter.split_once('=').unwrap_or((parameter, "")) {
                ("weight", value) => weight = self::weight(statement, value)?,
                ("down", "") => down = true,
                ("backup", "") => backup = true,
                ("max_conns" | "max_fails" | "fail_timeout" | "resolve", _) => {}
                ("drain" | "route" | "service" | "slow_start", _) => {
                    let reason = format!("{parameter} decides routes in another way than hash KEY");
                    return Err(wrong(statement.line, reason));
                }
                _ => self.report(statement, parameter),
            }
        }
        if backup {
            return self.backup(statement);
        }
        self.names.insert(address.clone());
        let server = Server::new(address.as_str()).with_weight(weight);
        self.servers.push(if down { server.down() } else { server });
        Ok(())
    }

    /// Leaves out a backup server: it gets no keys by hash.
    fn backup(&self, statement: &Statement) -> Result<(), Error> {
        match self.method {
            None => Ok(()),
            Some(_) => Err(wrong(
                statement.line,
                "nginx refuses backup after hash: leave it out, or put the server before hash",
            )),
        }
    }

    fn report(&mut self, statement: &Statement, text: &str) {
        self.unknown.push(Unknown::directive(statement.line, text));
    }

    fn config(self, dialect: &'static Scheme) -> Config {
        let name = self.name.clone();
        self.readable(dialect)
            .unwrap_or_else(|error| Config::failed(dialect, &name, error))
    }

    fn readable(mut self, dialect: &'static Scheme) -> Result<Config, Error> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let Some(method) = self.method else {
            let reason = format!("upstream {} has no hash directive", self.name);
            return Err(wrong(self.line, reason));
        };
        if self.servers.is_empty() {
            let reason = format!("upstream {} has no server", self.name);
            return Err(wrong(self.line, reason));
        }
        if method == Method::Hash {
            self.report_names();
        }
        let method = match method {
            Method::Consistent => "consistent",
            Method::Hash => "hash",
        };
        Ok(Config {
            scheme: dialect,
            name: self.name.into(),
            servers: self.servers,
            params: Params::default().with(METHOD.name, method),
            unknown: self.unknown,
            error: None,
        })
    }

    /// Reports names among the servers: without `consistent`, nginx counts the weight once for each
    /// address of a name, and the file does not tell their number.
    fn report_names(&mut self) {
        let names = self.servers.iter().filter(|server| is_name(server.name()));
        self.unknown.extend(names.map(|server| {
            let text = format!("the addresses of {}: counted as one", server.name());
            Unknown::directive(self.line, text)
        }));
    }
}

fn weight(statement: &Statement, value: &str) -> Result<u32, Error> {
    let digits = value.bytes().all(|byte| byte.is_ascii_digit());
    match value.parse() {
        Ok(weight) if digits && weight > 0 => Ok(weight),
        _ => {
            let right = "a whole number from 1";
            Err(expected(statement.line, "weight", value, right))
        }
    }
}

/// Returns whether a server's text is a name that a resolver looks up.
fn is_name(text: &str) -> bool {
    let (host, _) = host_and_port(text);
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    !host.starts_with('/') && bare.parse::<IpAddr>().is_err()
}

#[cfg(test)]
mod tests {
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
            (inside("ip_hash; server a;"), 2),
            (inside("random two least_conn; server a;"), 2),
            (inside("include servers.conf;"), 2),
            (inside("balancer_by_lua_block { local a = {} }"), 2),
            (inside("server a;"), 1),
            (inside("hash $uri;"), 1),
            (inside("hash; server a;"), 2),
            (inside("hash $uri ketama; server a;"), 2),
            (inside("hash $uri;\nhash $uri; server a;"), 3),
            (inside("hash $uri; server a weight=0;"), 2),
            (inside("hash $uri; server a weight=+1;"), 2),
            (inside("hash $uri; server a weight=99999999999;"), 2),
            (inside("hash $uri; server a weight;"), 2),
            (inside("hash $uri; server a slow_start=30s;"), 2),
            (inside("hash $uri; server a;\nserver b backup;"), 3),
            (inside("hash $uri; server a;\nserver a;"), 3),
            (inside("hash $uri; server;"), 2),
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
}
