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
use crate::registry::{Config, KeySource, Scheme, Unknown};
use crate::strategy::Params;

mod key;
mod statement;

use statement::{End, Statement, Statements};

/// Balancing methods other than `hash`. Of all methods of a block, nginx uses the last one, and warns.
const METHODS: &[&str] = &[
    "balancer_by_lua_block",
    "balancer_by_lua_file",
    "consistent_hash",
    "fair",
    "ip_hash",
    "least_conn",
    "least_time",
    "random",
];

/// Directives that route by other rules than the key's hash, whatever the method is.
const OTHERWISE: &[&str] = &[
    "include",
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
    // Of Tengine and of the module for health checks: they decide which servers are down.
    "check",
    "check_fastcgi_param",
    "check_http_expect_alive",
    "check_http_send",
    "check_keepalive_requests",
    "check_shm_size",
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

/// A balancing method of a block.
#[derive(Clone, Debug)]
enum Chosen {
    Hash(Method, KeySource),
    /// Another method, with its line.
    Other(usize, String),
}

impl Chosen {
    /// Returns the name of the method if nginx refuses a backup server after it.
    fn refuses_backup(&self) -> Option<&str> {
        match self {
            Self::Hash(..) => Some("hash"),
            Self::Other(_, name) if ["ip_hash", "random"].contains(&&**name) => Some(name),
            Self::Other(..) => None,
        }
    }
}

/// An upstream under construction.
struct Upstream {
    line: usize,
    name: String,
    method: Option<Chosen>,
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
            name if METHODS.contains(&name) => {
                self.method = Some(Chosen::Other(statement.line, name.into()));
                Ok(())
            }
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
        let method = match &statement.words[1..] {
            [_] => Method::Hash,
            [_, consistent] if consistent == "consistent" => Method::Consistent,
            words => {
                let words = words.join(" ");
                return Err(expected(statement.line, "hash", &words, "KEY [consistent]"));
            }
        };
        let source = key::source(statement.line, &statement.words[1]);
        if !source.text.contains('$') {
            let text = format!(
                "hash {}: no variable in it, so nginx hashes the same text for every request, and one \
                 server takes them all",
                statement.words[1]
            );
            self.unknown.push(Unknown::sentence(statement.line, text));
        }
        self.method = Some(Chosen::Hash(method, source));
        Ok(())
    }

    fn server(&mut self, statement: &Statement) -> Result<(), Error> {
        let Some((address, parameters)) = statement.words[1..].split_first() else {
            return Err(wrong(statement.line, "server: expected an address"));
        };
        check_address(statement, address)?;
        if self.names.contains(address) {
            let reason = format!("{address} is listed twice: nginx would alternate");
            return Err(wrong(statement.line, reason));
        }
        let (mut weight, mut down, mut backup) = (1, false, false);
        // `Some(true)` if DNS gives servers, `Some(false)` if it gives addresses.
        let mut by_dns = None;
        for parameter in parameters {
            match parameter.split_once('=').unwrap_or((parameter, "")) {
                ("weight", value) => weight = self::weight(statement, value)?,
                ("down", "") => down = true,
                ("backup", "") => backup = true,
                ("max_conns" | "max_fails" | "fail_timeout" | "route" | "id", _) => {}
                ("resolve", "") => by_dns = by_dns.or(Some(false)),
                ("service", _) => by_dns = Some(true),
                ("slow_start", _) => {
                    let reason = format!("{parameter}: nginx refuses slow_start with hash");
                    return Err(wrong(statement.line, reason));
                }
                ("drain", "") => {
                    let reason = "drain: only bound sessions reach the server: expected down";
                    return Err(wrong(statement.line, reason));
                }
                _ => self.report(statement, parameter),
            }
        }
        if backup {
            return self.backup(statement);
        }
        let text = match by_dns {
            Some(true) => Some(format!(
                "{address}: DNS gives servers, each with points of its own; they count as one here"
            )),
            Some(false) => Some(format!(
                "{address}: its addresses take turns; the routes here name it, not an address"
            )),
            None => None,
        };
        let text = text.filter(|_| is_name(address));
        self.unknown
            .extend(text.map(|text| Unknown::sentence(statement.line, text)));
        self.names.insert(address.clone());
        let server = Server::new(address.as_str()).with_weight(weight);
        self.servers.push(if down { server.down() } else { server });
        Ok(())
    }

    /// Leaves out a backup server: it gets no keys by hash.
    fn backup(&self, statement: &Statement) -> Result<(), Error> {
        let method = self.method.as_ref().and_then(Chosen::refuses_backup);
        method.map_or(Ok(()), |method| {
            let reason = format!(
                "nginx refuses backup after {method}: leave it out, or put the server before {method}"
            );
            Err(wrong(statement.line, reason))
        })
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
        let (method, source) = match self.method.take() {
            Some(Chosen::Hash(method, source)) => (method, source),
            Some(Chosen::Other(line, name)) => {
                let reason = format!(
                    "{name} decides routes in another way than hash KEY, and nginx uses the last \
                     method of an upstream"
                );
                return Err(wrong(line, reason));
            }
            None => {
                let reason = format!("upstream {} has no hash directive", self.name);
                return Err(wrong(self.line, reason));
            }
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
            key_source: Some(source),
            error: None,
        })
    }

    /// Reports names among the servers: without `consistent`, nginx counts the weight once for each
    /// address of a name, and the file does not tell their number.
    fn report_names(&mut self) {
        let names = self.servers.iter().filter(|server| is_name(server.name()));
        self.unknown.extend(names.map(|server| {
            let text = format!(
                "{} counts once here; nginx counts it once for each of its addresses, which may \
                 change routes",
                server.name()
            );
            Unknown::sentence(self.line, text)
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

/// Refuses the address of a server that nginx refuses.
fn check_address(statement: &Statement, address: &str) -> Result<(), Error> {
    let wrong = |known: &str| Err(expected(statement.line, "server", address, known));
    if address.contains('$') {
        return wrong("an address without variables: nginx replaces none here");
    }
    let is_socket = address.get(..5);
    if is_socket.is_some_and(|start| start.eq_ignore_ascii_case("unix:")) {
        return match address.len() {
            5 => wrong("a path after unix:"),
            _ => Ok(()),
        };
    }
    let (host, port) = match address.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((host, "")) => (host, None),
            Some((host, rest)) if rest.starts_with(':') => (host, Some(&rest[1..])),
            _ => return wrong("an IPv6 address in brackets, such as [::1]:80"),
        },
        None => match address.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (address, None),
        },
    };
    if host.is_empty() || address.contains(['/', '?']) {
        return wrong("HOST or HOST:PORT, without a scheme and a path");
    }
    let is_port = |port: &str| {
        let digits = port.bytes().all(|byte| byte.is_ascii_digit());
        digits && port.parse::<u16>().is_ok_and(|port| port > 0)
    };
    match port {
        Some(port) if !is_port(port) => {
            wrong("a port from 1 to 65535, and an IPv6 address in brackets")
        }
        _ => Ok(()),
    }
}

/// Returns whether a server's text is a name that a resolver looks up.
fn is_name(text: &str) -> bool {
    let (host, _) = host_and_port(text);
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    !host.starts_with('/') && bare.parse::<IpAddr>().is_err()
}

#[cfg(test)]
mod tests;
