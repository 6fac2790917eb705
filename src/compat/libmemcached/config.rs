//! Reads libmemcached's configuration string, statement by statement. A statement acts on the
//! settings so far, so the order of the statements decides routes.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use super::ServerDistribution;
use crate::Error;
use crate::Server;
use crate::compat::config::{expected, wrong};
use crate::compat::parts::hashkit::Function;
use crate::registry::{Config, Scheme, Unknown};
use crate::strategy::Params;

/// Options that do not change any route.
const OTHERS: [&str; 25] = [
    "BINARY-PROTOCOL",
    "BUFFER-REQUESTS",
    "CONNECT-TIMEOUT",
    "FETCH-VERSION",
    "IO-BYTES-WATERMARK",
    "IO-KEY-PREFETCH",
    "IO-MSG-WATERMARK",
    "NOREPLY",
    "NUMBER-OF-REPLICAS",
    "POLL-TIMEOUT",
    "POOL-MAX",
    "POOL-MIN",
    "RCV-TIMEOUT",
    "REMOVE-FAILED-SERVERS",
    "RETRY-TIMEOUT",
    "SND-TIMEOUT",
    "SOCKET-RECV-SIZE",
    "SOCKET-SEND-SIZE",
    "SUPPORT-CAS",
    "TCP-KEEPALIVE",
    "TCP-KEEPIDLE",
    "TCP-NODELAY",
    "USE-UDP",
    "USER-DATA",
    "VERIFY-KEY",
];

/// The hash functions that the string may name.
const HASHES: &str = "one of: MD5, CRC, FNV1_64, FNV1A_64, FNV1_32, FNV1A_32, MURMUR, JENKINS";

pub(super) fn read(dialect: &'static Scheme, text: &str) -> Result<Vec<Config>, Error> {
    let mut client = Client::default();
    for (line, statement) in statements(text) {
        if !client.take(line, statement)? {
            break;
        }
    }
    if client.servers.is_empty() {
        return Err(wrong(1, "no --SERVER"));
    }
    Ok(vec![client.config(dialect)])
}

/// Splits a text at blanks outside of quotes into statements, each with its line.
fn statements(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = (1..).zip(text.lines());
    let lines = lines.filter(|(_, line)| !line.starts_with('#'));
    lines.flat_map(|(number, line)| {
        let mut quoted = false;
        let parts = line.split(move |c: char| {
            quoted ^= c == '"';
            c.is_ascii_whitespace() && !quoted
        });
        let parts = parts.filter(|part| !part.is_empty());
        parts.map(move |part| (number, part))
    })
}

/// The state of a client after the statements so far.
#[derive(Default)]
struct Client {
    servers: Vec<Server>,
    distribution: ServerDistribution,
    weighted: bool,
    hash: Option<Box<str>>,
    /// The hash function at the time when the ring was last built.
    point_hash: Option<Box<str>>,
    sort_hosts: bool,
    namespace: Box<str>,
    hash_with_namespace: bool,
    unknown: Vec<Unknown>,
}

impl Client {
    /// Applies a statement; returns `false` at the end of the string.
    fn take(&mut self, line: usize, statement: &str) -> Result<bool, Error> {
        let (name, value) = match statement.split_once('=') {
            Some((name, value)) => (name, value),
            None => (statement, ""),
        };
        match name.to_ascii_uppercase().as_str() {
            "END" => return Ok(false),
            "RESET" => *self = Self::default(),
            "--SERVER" => self.server(server(line, value)?),
            "--SOCKET" => self.server(socket(line, value)?),
            "--HASH" => self.hash(line, value)?,
            "--DISTRIBUTION" => self.distribution(line, value)?,
            "--SORT-HOSTS" => {
                self.sort_hosts = true;
                self.make_ring();
            }
            "--NAMESPACE" => self.namespace = unquoted(value).into(),
            "--HASH-WITH-NAMESPACE" => self.hash_with_namespace = true,
            "INCLUDE" | "--CONFIGURE-FILE" => {
                return Err(wrong(
                    line,
                    "another file: expected its content in this text",
                ));
            }
            other => {
                let known = other.strip_prefix("--");
                if !known.is_some_and(|name| OTHERS.contains(&name)) {
                    self.unknown.push(Unknown::directive(line, statement));
                }
            }
        }
        Ok(true)
    }

    fn server(&mut self, server: Server) {
        self.weighted |= self.is_ring() && server.weight() > 1;
        self.servers.push(server);
        self.make_ring();
    }

    fn hash(&mut self, line: usize, name: &str) -> Result<(), Error> {
        if self.hash.is_some() {
            return Err(wrong(line, "a second --HASH"));
        }
        check_hash(line, name)?;
        self.hash = Some(name.into());
        Ok(())
    }

    /// Sets the distribution. A `,HASH` after it sets a function that libmemcached never calls.
    fn distribution(&mut self, line: usize, value: &str) -> Result<(), Error> {
        let (name, hash) = match value.split_once(',') {
            Some((name, hash)) => (name, Some(hash)),
            None => (value, None),
        };
        if let Some(hash) = hash {
            check_hash(line, hash)?;
        }
        match name.parse() {
            Ok(ServerDistribution::Modula) => self.distribution = ServerDistribution::Modula,
            Ok(ServerDistribution::Consistent) if !name.contains('_') => {
                self.distribution = ServerDistribution::Consistent;
                self.weighted = false;
            }
            Err(_) if name.eq_ignore_ascii_case("random") => {
                return Err(wrong(line, "random is not a function of the key"));
            }
            _ => {
                return Err(expected(
                    line,
                    "--DISTRIBUTION",
                    name,
                    "consistent or modula",
                ));
            }
        }
        self.make_ring();
        Ok(())
    }

    fn is_ring(&self) -> bool {
        self.distribution != ServerDistribution::Modula
    }

    fn make_ring(&mut self) {
        if self.is_ring() {
            self.point_hash.clone_from(&self.hash);
        }
    }

    fn config(self, dialect: &'static Scheme) -> Config {
        let text = |name: &Option<Box<str>>| name.as_deref().unwrap_or("DEFAULT").to_uppercase();
        let mut params = Params::default().with("hash", text(&self.hash));
        if self.is_ring() {
            let weighted = if self.weighted { "always" } else { "never" };
            params = params
                .with("distribution", "CONSISTENT")
                .with("weighted", weighted);
            if self.point_hash != self.hash {
                params = params.with("point_hash", text(&self.point_hash));
            }
        }
        if self.sort_hosts {
            params = params.with("sort_hosts", "true");
        }
        if self.hash_with_namespace {
            params = params.with("namespace", self.namespace);
        }
        Config {
            scheme: dialect,
            name: Box::default(),
            servers: self.servers,
            params,
            unknown: self.unknown,
            key_source: None,
            error: None,
        }
    }
}

fn check_hash(line: usize, name: &str) -> Result<(), Error> {
    match Function::of_libmemcached(name) {
        Ok(Function::OneAtATime | Function::Hsieh | Function::Murmur3) | Err(_) => {
            Err(expected(line, "hash", name, HASHES))
        }
        Ok(_) => Ok(()),
    }
}

/// Reads `host[:port][/?weight]`.
fn server(line: usize, text: &str) -> Result<Server, Error> {
    let (name, weight) = weighted(line, text)?;
    let malformed = || expected(line, "server", text, "host:port/?weight");
    let host = match name.split_once(':') {
        None => name,
        Some((host, port)) => {
            if port.is_empty() || !port.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(malformed());
            }
            // Port 0 is the default port.
            let number = port.parse::<u16>();
            number.map_err(|_| expected(line, "port of server", text, "up to 65535"))?;
            host
        }
    };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if host.is_empty() || !host.bytes().all(plain) {
        return Err(malformed());
    }
    Ok(Server::new(name).with_weight(weight))
}

/// Reads `"/path"[/?weight]`.
fn socket(line: usize, text: &str) -> Result<Server, Error> {
    let (path, weight) = weighted(line, text)?;
    let path = unquoted(path);
    if !path.starts_with('/') {
        return Err(expected(line, "socket", text, "\"/path\"/?weight"));
    }
    Ok(Server::new(path).with_weight(weight))
}

/// Splits off the weight after `/?`; 0 counts as 1.
fn weighted(line: usize, text: &str) -> Result<(&str, u32), Error> {
    let Some((name, weight)) = text.split_once("/?") else {
        return Ok((text, 1));
    };
    let number = weight.parse().ok().filter(|_| weight.len() <= 5);
    let number: u32 = number.ok_or_else(|| expected(line, "weight of", text, "1 to 5 digits"))?;
    Ok((name, number.max(1)))
}

fn unquoted(text: &str) -> &str {
    let inner = text
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'));
    inner.unwrap_or(text)
}
