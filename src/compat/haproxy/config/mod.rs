//! Reads HAProxy's configuration: the `backend` and `listen` sections that balance by a hash of a
//! key.
//!
//! Other sections are left out. Backup servers are down while another server is up, as in HAProxy.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::{AVALANCHE, BALANCE_FACTOR, FUNCTION, HashType, MAX_FACTOR, METHOD, ServerHash};
use crate::Error;
use crate::Server;
use crate::compat::config::{expected, wrong};
use crate::registry::{Config, Scheme, Unknown};
use crate::strategy::Params;

mod known;

use known::{ACTIONS, FLAGS, HARMLESS, VALUES};

/// The settings that a `defaults` section passes to later sections.
#[derive(Clone, Debug, Default)]
struct Settings {
    /// Whether `mode` is `http`; the default is `tcp`.
    http: bool,
    /// A `balance` by a hash of a key, and its line.
    balance: Option<(usize, String)>,
    hash_type: Vec<(&'static str, String)>,
    factor: Option<String>,
    default_server: Line,
    all_backups: bool,
    unknown: Vec<Unknown>,
    /// The first error of the section.
    error: Option<Error>,
}

/// The options of a server line that decide routes.
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

/// A section under construction.
#[derive(Debug, Default)]
struct Section {
    kind: Kind,
    name: String,
    settings: Settings,
    servers: Vec<Named>,
}

#[derive(Debug)]
struct Named {
    name: String,
    address: String,
    line: Line,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Other,
    Defaults,
    Pool,
}

pub(super) fn read(dialect: &'static Scheme, text: &str) -> Result<Vec<Config>, Error> {
    let (mut configs, mut defaults) = (vec![], BTreeMap::new());
    let (mut section, mut conditions) = (Section::default(), vec![]);
    for (at, line) in text.lines().enumerate() {
        let words = match words(line, at + 1) {
            Ok(words) => words,
            // The name of the new section cannot be read, so the rest of the file has no section.
            Err(error) if begins(line) => return Err(error),
            Err(error) => {
                section.fail(error);
                continue;
            }
        };
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let Some((&first, rest)) = words.split_first() else {
            continue;
        };
        if first.starts_with('.') {
            conditions.push(Unknown::directive(at + 1, first));
        }
        match kind(first) {
            Some(kind) => {
                let ended = core::mem::take(&mut section);
                end(dialect, ended, &mut defaults, &mut configs);
                section = begin(kind, rest, &defaults, at + 1)?;
            }
            None => {
                if let Err(error) = section.directive(at + 1, first, rest) {
                    section.fail(error);
                }
            }
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
    // A condition may enclose any section, so each section reports all of them.
    for config in configs.iter_mut().filter(|config| config.error.is_none()) {
        config.unknown.extend_from_slice(&conditions);
    }
    Ok(configs)
}

fn begins(line: &str) -> bool {
    let first = line.split_whitespace().next();
    first.is_some_and(|word| kind(word).is_some())
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

/// Starts a section with the settings of the last `defaults` section, or of the one that it names.
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
        // A `defaults` section inherits nothing unless it names another one.
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

/// The key of the last `defaults` section. No section can have this name.
const LAST: &str = " ";

fn end(
    dialect: &'static Scheme,
    section: Section,
    defaults: &mut BTreeMap<String, Settings>,
    configs: &mut Vec<Config>,
) {
    match section.kind {
        Kind::Defaults => {
            defaults.insert(section.name, section.settings.clone());
            defaults.insert(LAST.into(), section.settings);
        }
        Kind::Pool if section.settings.balance.is_some() => configs.push(section.config(dialect)),
        _ => {}
    }
}

impl Section {
    fn fail(&mut self, error: Error) {
        self.settings.error.get_or_insert(error);
    }

    fn directive(&mut self, line: usize, first: &str, rest: &[&str]) -> Result<(), Error> {
        if self.kind == Kind::Other {
            return Ok(());
        }
        let value = || {
            let value = rest.first().copied();
            value.ok_or_else(|| wrong(line, format!("{first} without a value")))
        };
        match first {
            "mode" => self.settings.http = value()? == "http",
            "balance" => {
                let algorithm = value()?;
                let hashes = by_hash(algorithm);
                self.settings.balance = hashes.then(|| (line, algorithm.into()));
            }
            "hash-type" => self.settings.hash_type = hash_type(line, rest)?,
            "hash-balance-factor" => {
                let factor = value()?;
                match factor.parse::<u32>() {
                    Ok(number) if number == 0 || (101..=MAX_FACTOR).contains(&number) => {}
                    _ => {
                        let known = "0, or from 101 to 2147483647";
                        return Err(expected(line, first, factor, known));
                    }
                }
                self.settings.factor = Some(factor.into());
            }
            "default-server" => {
                let mut defaults = core::mem::take(&mut self.settings.default_server);
                self.options(line, &mut defaults, rest)?;
                self.settings.default_server = defaults;
            }
            "server" => self.server(line, rest)?,
            "server-template" => return Err(wrong(line, "server-template is not supported")),
            "option" => self.settings.all_backups |= rest.first() == Some(&"allbackup"),
            "no" if rest == ["option", "allbackup"] => self.settings.all_backups = false,
            "no" if rest.first() == Some(&"option") => {}
            _ if first.starts_with('.') => {
                return Err(wrong(
                    line,
                    format!("{first}: conditions are not supported"),
                ));
            }
            "http-request" => {
                let action = value()?;
                let name = action.split('(').next().unwrap_or_default();
                let counts = name.starts_with("sc-") || name.ends_with("set-var");
                if !counts && !ACTIONS.contains(&name) {
                    self.report(line, &format!("{first} {action}"));
                }
            }
            _ if HARMLESS.contains(&first) => {}
            _ => self.report(line, first),
        }
        Ok(())
    }

    fn report(&mut self, line: usize, text: &str) {
        self.settings.unknown.push(Unknown::directive(line, text));
    }

    fn server(&mut self, line: usize, rest: &[&str]) -> Result<(), Error> {
        let [name, address, options @ ..] = rest else {
            return Err(wrong(line, "a server needs a name and an address"));
        };
        let mut server = self.settings.default_server.clone();
        self.options(line, &mut server, options)?;
        if self.servers.iter().any(|other| other.name == *name) {
            let known = "a name that no other server of the section has";
            return Err(expected(line, "server", name, known));
        }
        self.servers.push(Named {
            name: (*name).into(),
            address: (*address).into(),
            line: server,
        });
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

    /// Refuses a hash of an HTTP request in `mode tcp`: HAProxy then balances round robin.
    fn check_mode(&self) -> Result<(), Error> {
        match &self.settings.balance {
            Some((line, algorithm)) if !self.settings.http && of_http(algorithm) => {
                let reason = format!(
                    "balance {algorithm}: expected `mode http` in section {:?}; without it, HAProxy \
                     balances round robin",
                    self.name
                );
                Err(wrong(*line, reason))
            }
            _ => Ok(()),
        }
    }

    fn config(mut self, dialect: &'static Scheme) -> Config {
        if let Err(error) = self.check_mode() {
            self.fail(error);
        }
        if let Some(error) = self.settings.error {
            return Config::failed(dialect, &self.name, error);
        }
        let mut params = Params::default();
        let kind = if self.settings.hash_type.is_empty() {
            plain(HashType::MapBased)
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
            scheme: dialect,
            name: self.name.into(),
            servers: up(self.servers, self.settings.all_backups),
            params,
            unknown: self.settings.unknown,
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
            _ => return Err(expected(line, word, value, "id, the only supported value")),
        }
        Ok(())
    }

    fn is_up(&self) -> bool {
        !self.disabled && self.weight > 0
    }
}

/// Marks servers as up or down. Backup servers are up only if no other server is: the first of them,
/// or all with `allbackup`.
fn up(servers: Vec<Named>, all_backups: bool) -> Vec<Server> {
    let active = servers
        .iter()
        .any(|Named { line, .. }| !line.backup && line.is_up());
    let first = servers
        .iter()
        .position(|Named { line, .. }| line.backup && line.is_up());
    let mut addresses = BTreeMap::<_, usize>::new();
    for server in &servers {
        *addresses.entry(server.address.clone()).or_default() += 1;
    }
    let server = |(
        at,
        Named {
            name,
            address,
            line,
        },
    ): (usize, Named)| {
        let works = if line.backup {
            !active && (all_backups || first == Some(at))
        } else {
            active
        };
        // Names are unique in a section, addresses need not be.
        let alone = addresses.get(&address) == Some(&1);
        let mut server = Server::new(if alone { address } else { name }).with_weight(line.weight);
        if let Some(id) = &line.id {
            server = server.with_label(&**id);
        }
        if works && line.is_up() {
            server
        } else {
            server.down()
        }
    };
    servers.into_iter().enumerate().map(server).collect()
}

/// Returns whether a `balance` uses a hash of a key's bytes.
fn by_hash(algorithm: &str) -> bool {
    let name = algorithm.split('(').next().unwrap_or_default();
    ["uri", "url_param", "hdr", "hash", "rdp-cookie"].contains(&name)
}

/// Returns whether a `balance` needs an HTTP request.
fn of_http(algorithm: &str) -> bool {
    let name = algorithm.split('(').next().unwrap_or_default();
    ["uri", "url_param", "hdr"].contains(&name)
}

/// Returns the options of a method without a function: `sdbm`, with `avalanche` only for
/// `consistent`.
fn plain(method: HashType) -> Vec<(&'static str, String)> {
    let (name, avalanche) = match method {
        HashType::Consistent => ("consistent", "on"),
        HashType::MapBased => ("map-based", "off"),
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
    if function.parse::<ServerHash>().is_err() {
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

/// Splits a line into words, without quotes, backslashes and the comment.
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
            (Some('"'), '$') => return Err(wrong(at, "variables are not supported")),
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
mod tests;
