//! HAProxy's configuration: the `backend` and `listen` sections that balance by a hash of a key.
//!
//! Sections that balance otherwise are left out. Backup servers are down while another server
//! is up, as in HAProxy.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::{AVALANCHE, BALANCE_FACTOR, FUNCTION, Function, METHOD, Method};
use crate::Error;
use crate::compat::config::{expected, wrong};
use crate::compat::{Config, Dialect, Server, Unknown};
use crate::strategy::Params;

/// Directives of a section that leave the owner of a key alone.
const HARMLESS: &[&str] = &[
    "mode",
    "timeout",
    "retries",
    "log",
    "log-format",
    "log-tag",
    "maxconn",
    "fullconn",
    "bind",
    "acl",
    "capture",
    "compression",
    "default_backend",
    "description",
    "id",
    "enabled",
    "disabled",
    "email-alert",
    "errorfile",
    "errorloc",
    "errorloc302",
    "errorloc303",
    "external-check",
    "filter",
    "http-check",
    "http-request",
    "http-response",
    "http-reuse",
    "http-send-name-header",
    "max-keep-alive-queue",
    "monitor-uri",
    "rate-limit",
    "retry-on",
    "server-state-file-name",
    "source",
    "stats",
    "tcp-check",
    "tcp-request",
    "tcp-response",
    "unique-id-format",
    "unique-id-header",
    "backlog",
    "clitcpka-cnt",
    "srvtcpka-cnt",
];

/// What stands behind a server and takes no value.
const FLAGS: &[&str] = &[
    "check",
    "no-check",
    "ssl",
    "no-ssl",
    "check-ssl",
    "no-check-ssl",
    "send-proxy",
    "send-proxy-v2",
    "send-proxy-v2-ssl",
    "check-send-proxy",
    "non-stick",
    "stick",
    "tfo",
    "no-sslv3",
    "no-tlsv10",
    "no-tlsv11",
    "no-tlsv12",
    "no-tlsv13",
    "allow-0rtt",
    "no-ssl-reuse",
    "ssl-reuse",
    "force-tlsv12",
    "force-tlsv13",
    "agent-check",
];

/// What stands behind a server with a value.
const VALUES: &[&str] = &[
    "port",
    "inter",
    "fastinter",
    "downinter",
    "rise",
    "fall",
    "maxconn",
    "minconn",
    "maxqueue",
    "cookie",
    "addr",
    "sni",
    "check-sni",
    "ca-file",
    "crl-file",
    "verify",
    "verifyhost",
    "crt",
    "alpn",
    "check-alpn",
    "proto",
    "check-proto",
    "observe",
    "on-error",
    "error-limit",
    "on-marked-down",
    "on-marked-up",
    "resolvers",
    "resolve-prefer",
    "resolve-net",
    "resolve-opts",
    "init-addr",
    "namespace",
    "source",
    "redir",
    "ciphers",
    "ciphersuites",
    "ssl-min-ver",
    "ssl-max-ver",
    "pool-max-conn",
    "pool-low-conn",
    "pool-purge-delay",
    "max-reuse",
    "agent-addr",
    "agent-inter",
    "agent-port",
    "agent-send",
    "tcp-ut",
    "proxy-v2-options",
    "log-proto",
    "curves",
    "sigalgs",
    "ws",
    "socks4",
    "usesrc",
    "interface",
];

/// What `defaults` hands on to the sections behind it.
#[derive(Clone, Debug, Default)]
struct Settings {
    /// Whether `balance` is by a hash of a key.
    hashes: bool,
    hash_type: Vec<(&'static str, String)>,
    factor: Option<String>,
    default_server: Line,
    all_backups: bool,
}

/// What decides routes of a server line.
#[derive(Clone, Debug)]
struct Line {
    weight: u32,
    id: Option<String>,
    disabled: bool,
    backup: bool,
}

impl Default for Line {
    fn default() -> Self {
        Self {
            weight: 1,
            id: None,
            disabled: false,
            backup: false,
        }
    }
}

/// A section as far as it is read.
#[derive(Debug, Default)]
struct Section {
    kind: Kind,
    name: String,
    settings: Settings,
    servers: Vec<(String, Line)>,
    unknown: Vec<Unknown>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Other,
    Defaults,
    Pool,
}

pub(super) fn read(dialect: &'static Dialect, text: &str) -> Result<Vec<Config>, Error> {
    let (mut configs, mut defaults) = (vec![], BTreeMap::new());
    let mut section = Section::default();
    for (at, line) in text.lines().enumerate() {
        let words = words(line, at + 1)?;
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let Some((&first, rest)) = words.split_first() else {
            continue;
        };
        match kind(first) {
            Some(kind) => {
                let ended = core::mem::take(&mut section);
                end(dialect, ended, &mut defaults, &mut configs);
                section = begin(kind, rest, &defaults, at + 1)?;
            }
            None => section.directive(at + 1, first, rest)?,
        }
    }
    end(dialect, section, &mut defaults, &mut configs);
    if configs.is_empty() {
        return Err(wrong(
            1,
            "no backend or listen section balances by a hash: expected a `balance` of uri, \
             url_param, hdr, hash or rdp-cookie",
        ));
    }
    Ok(configs)
}

fn kind(word: &str) -> Option<Kind> {
    match word {
        "defaults" => Some(Kind::Defaults),
        "backend" | "listen" => Some(Kind::Pool),
        "global" | "frontend" | "peers" | "resolvers" | "userlist" | "mailers" | "cache"
        | "program" | "ring" | "http-errors" | "fcgi-app" | "log-forward" | "traces" => {
            Some(Kind::Other)
        }
        _ => None,
    }
}

/// A section begins with what the last `defaults` said, or the one that it names.
fn begin(
    kind: Kind,
    rest: &[&str],
    defaults: &BTreeMap<String, Settings>,
    line: usize,
) -> Result<Section, Error> {
    let name = rest.first().copied().unwrap_or_default();
    let from = rest.iter().position(|word| *word == "from");
    let settings = match from.and_then(|at| rest.get(at + 1)) {
        Some(from) => Some(
            defaults
                .get(*from)
                .ok_or_else(|| expected(line, "from", from, "the name of a defaults section"))?,
        ),
        // A `defaults` section starts afresh.
        None if kind == Kind::Defaults => None,
        None => defaults.get(LAST),
    };
    if kind == Kind::Pool && name.is_empty() {
        return Err(wrong(line, "a section without a name"));
    }
    Ok(Section {
        kind,
        name: name.into(),
        settings: settings.cloned().unwrap_or_default(),
        ..Section::default()
    })
}

/// Under which the last `defaults` section is kept; no section has it as its name.
const LAST: &str = " ";

fn end(
    dialect: &'static Dialect,
    section: Section,
    defaults: &mut BTreeMap<String, Settings>,
    configs: &mut Vec<Config>,
) {
    match section.kind {
        Kind::Defaults => {
            defaults.insert(section.name, section.settings.clone());
            defaults.insert(LAST.into(), section.settings);
        }
        Kind::Pool if section.settings.hashes => configs.push(section.config(dialect)),
        _ => {}
    }
}

impl Section {
    fn directive(&mut self, line: usize, first: &str, rest: &[&str]) -> Result<(), Error> {
        if self.kind == Kind::Other {
            return Ok(());
        }
        let value = || {
            let value = rest.first().copied();
            value.ok_or_else(|| wrong(line, format!("{first} without a value")))
        };
        match first {
            "balance" => self.settings.hashes = by_hash(value()?),
            "hash-type" => self.settings.hash_type = hash_type(line, rest)?,
            "hash-balance-factor" => {
                let factor = value()?;
                match factor.parse::<u32>() {
                    Ok(number) if number == 0 || number > 100 => {}
                    _ => return Err(expected(line, first, factor, "0 or more than 100")),
                }
                self.settings.factor = Some(factor.into());
            }
            "default-server" => {
                let mut defaults = core::mem::take(&mut self.settings.default_server);
                self.options(line, &mut defaults, rest)?;
                self.settings.default_server = defaults;
            }
            "server" => self.server(line, rest)?,
            "server-template" => return Err(wrong(line, "server-template is not known here")),
            "option" => self.settings.all_backups |= rest.first() == Some(&"allbackup"),
            "no" if rest == ["option", "allbackup"] => self.settings.all_backups = false,
            "no" if rest.first() == Some(&"option") => {}
            _ if first.starts_with('.') => {
                return Err(wrong(
                    line,
                    format!("{first}: conditions are not known here"),
                ));
            }
            _ if HARMLESS.contains(&first) => {}
            _ => self.report(line, first),
        }
        Ok(())
    }

    fn report(&mut self, line: usize, text: &str) {
        let text = text.into();
        self.unknown.push(Unknown { line, text });
    }

    fn server(&mut self, line: usize, rest: &[&str]) -> Result<(), Error> {
        let [_, address, options @ ..] = rest else {
            return Err(wrong(line, "a server needs a name and an address"));
        };
        let mut server = self.settings.default_server.clone();
        self.options(line, &mut server, options)?;
        self.servers.push(((*address).into(), server));
        Ok(())
    }

    fn options(&mut self, line: usize, server: &mut Line, words: &[&str]) -> Result<(), Error> {
        let mut words = words.iter();
        while let Some(&word) = words.next() {
            match word {
                "disabled" => server.disabled = true,
                "enabled" => server.disabled = false,
                "backup" => server.backup = true,
                "no-backup" => server.backup = false,
                _ if FLAGS.contains(&word) => {}
                "weight" | "id" | "hash-key" => {
                    let value = words.next().copied().unwrap_or_default();
                    server.set(line, word, value)?;
                }
                _ if VALUES.contains(&word) => {
                    words.next();
                }
                _ => self.report(line, word),
            }
        }
        Ok(())
    }

    fn config(self, dialect: &'static Dialect) -> Config {
        let mut params = Params::default();
        let kind = if self.settings.hash_type.is_empty() {
            plain(Method::MapBased)
        } else {
            self.settings.hash_type
        };
        for (name, value) in kind {
            params = params.with(name, value);
        }
        if let Some(factor) = self.settings.factor {
            params = params.with(BALANCE_FACTOR.name, factor);
        }
        Config {
            dialect,
            name: self.name.into(),
            servers: up(self.servers, self.settings.all_backups),
            params,
            unknown: self.unknown,
            error: None,
        }
    }
}

impl Line {
    fn set(&mut self, line: usize, word: &str, value: &str) -> Result<(), Error> {
        match word {
            "weight" => match value.parse() {
                Ok(weight) if weight <= 256 => self.weight = weight,
                _ => return Err(expected(line, word, value, "a whole number up to 256")),
            },
            "id" => match value.parse::<u32>() {
                Ok(id) if id > 0 => self.id = Some(format!("{id}")),
                _ => return Err(expected(line, word, value, "a whole number from 1")),
            },
            _ if value == "id" => {}
            _ => return Err(expected(line, word, value, "id, which alone is known here")),
        }
        Ok(())
    }

    fn is_up(&self) -> bool {
        !self.disabled && self.weight > 0
    }
}

/// Backup servers work when nobody else does: the first of them, or all with `allbackup`.
fn up(lines: Vec<(String, Line)>, all_backups: bool) -> Vec<Server> {
    let active = lines.iter().any(|(_, line)| !line.backup && line.is_up());
    let first = lines
        .iter()
        .position(|(_, line)| line.backup && line.is_up());
    let server = |(at, (address, line)): (usize, (String, Line))| {
        let works = if line.backup {
            !active && (all_backups || first == Some(at))
        } else {
            active
        };
        let mut server = Server::new(address).with_weight(line.weight);
        if let Some(id) = &line.id {
            server = server.with_label(&**id);
        }
        if works && line.is_up() {
            server
        } else {
            server.down()
        }
    };
    lines.into_iter().enumerate().map(server).collect()
}

/// Whether a `balance` is by a hash of a key's bytes.
fn by_hash(algorithm: &str) -> bool {
    let name = algorithm.split('(').next().unwrap_or_default();
    ["uri", "url_param", "hdr", "hash", "rdp-cookie"].contains(&name)
}

/// A method without a function: sdbm, and only `consistent` mixes once more.
fn plain(method: Method) -> Vec<(&'static str, String)> {
    let (name, avalanche) = match method {
        Method::Consistent => ("consistent", "on"),
        Method::MapBased => ("map-based", "off"),
    };
    vec![
        (METHOD.name, name.into()),
        (FUNCTION.name, "sdbm".into()),
        (AVALANCHE.name, avalanche.into()),
    ]
}

fn hash_type(line: usize, words: &[&str]) -> Result<Vec<(&'static str, String)>, Error> {
    let about = "METHOD [FUNCTION [avalanche]]";
    let (method, function, avalanche) = match words {
        [method] => (method, None, false),
        [method, function] => (method, Some(function), false),
        [method, function, "avalanche"] => (method, Some(function), true),
        _ => return Err(expected(line, "hash-type", &words.join(" "), about)),
    };
    let parsed = method
        .parse()
        .map_err(|_| expected(line, "hash-type", method, "consistent or map-based"))?;
    let Some(function) = function else {
        return Ok(plain(parsed));
    };
    if function.parse::<Function>().is_err() {
        let known = "sdbm, djb2, wt6 or crc32";
        return Err(expected(line, "hash-type function", function, known));
    }
    let avalanche = if avalanche { "on" } else { "off" };
    Ok(vec![
        (METHOD.name, (*method).into()),
        (FUNCTION.name, (*function).into()),
        (AVALANCHE.name, avalanche.into()),
    ])
}

/// The words of a line, with quotes and backslashes taken off and without its comment.
fn words(line: &str, at: usize) -> Result<Vec<String>, Error> {
    let (mut words, mut word, mut quote) = (vec![], None::<String>, None);
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None | Some('"'), '\\') => {
                let next = letters.next().unwrap_or('\\');
                word.get_or_insert_default().push(next);
            }
            (Some('"'), '$') => return Err(wrong(at, "variables are not known here")),
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, '#') => break,
            (None, ' ' | '\t' | '\r') => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    if quote.is_some() {
        return Err(wrong(at, "a quote that is not closed"));
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
