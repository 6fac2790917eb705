//! Reads HAProxy's configuration: the `backend` and `listen` sections that balance by a hash of a
//! key.
//!
//! Other sections are left out. Backup servers are down while another server is up, as in HAProxy.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::{BALANCE_FACTOR, HASH_KEY, HashKey, HashType, MAX_FACTOR, METHOD};
use crate::Error;
use crate::Server;
use crate::compat::config::{expected, wrong};
use crate::registry::{Config, Scheme, Unknown};
use crate::strategy::Params;

mod balance;
mod known;
mod labels;
mod track;
mod values;

use balance::{ALGORITHMS, Balance};
use known::{ACTIONS, FLAGS, HARMLESS, VALUES};
use values::{hash_type, name, plain, words};

/// The settings that a `defaults` section passes to later sections.
#[derive(Clone, Debug, Default)]
struct Settings {
    /// Whether `mode` is `http`; the default is `tcp`.
    http: bool,
    /// A `balance` by a hash of a key.
    balance: Option<Balance>,
    hash_type: Vec<(&'static str, String)>,
    /// `hash-balance-factor` and its line.
    factor: Option<(usize, String)>,
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
    hash_key: HashKey,
    /// The server that decides whether this one is up: `SECTION/SERVER`, or a server of the section.
    track: Option<String>,
}

impl Default for Line {
    fn default() -> Self {
        Self {
            weight: 1,
            id: None,
            disabled: false,
            backup: false,
            hash_key: HashKey::Id,
            track: None,
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
    /// The line in the file.
    at: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Other,
    Defaults,
    Pool,
}

pub(super) fn read(dialect: &'static Scheme, text: &str) -> Result<Vec<Config>, Error> {
    let (mut sections, mut defaults) = (vec![], BTreeMap::new());
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
        if let Err(error) = words.check(at + 1) {
            // The name of a section is needed; another line spoils its section alone.
            if begins(line) {
                return Err(error);
            }
            section.fail(error);
            if words.words.first().is_some_and(|first| first == "balance") {
                section.settings.balance = Some(Balance::unreadable(at + 1));
            }
            continue;
        }
        let words: Vec<_> = words.words.iter().map(String::as_str).collect();
        let Some((&first, rest)) = words.split_first() else {
            continue;
        };
        if first.starts_with('.') {
            conditions.push(Unknown::directive(at + 1, first));
        }
        match kind(first) {
            Some(kind) => {
                let ended = core::mem::take(&mut section);
                end(ended, &mut defaults, &mut sections);
                section = begin(kind, rest, &defaults, at + 1)?;
            }
            None => {
                if let Err(error) = section.directive(at + 1, first, rest) {
                    section.fail(error);
                }
            }
        }
    }
    end(section, &mut defaults, &mut sections);
    track::apply(&mut sections);
    let by_hash = sections
        .into_iter()
        .filter(|section| section.settings.balance.is_some());
    let mut configs: Vec<_> = by_hash.map(|section| section.config(dialect)).collect();
    if configs.is_empty() {
        return Err(wrong(
            1,
            format!(
                "no backend or listen section balances by a hash: expected a `balance` of {ALGORITHMS}"
            ),
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
        | "program" | "ring" | "http-errors" | "fcgi-app" | "log-forward" | "traces"
        | "crt-store" | "acme" | "log-profile" | "healthcheck" => Some(Kind::Other),
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

fn end(section: Section, defaults: &mut BTreeMap<String, Settings>, sections: &mut Vec<Section>) {
    match section.kind {
        Kind::Defaults => {
            defaults.insert(section.name, section.settings.clone());
            defaults.insert(LAST.into(), section.settings);
        }
        Kind::Pool => sections.push(section),
        Kind::Other => {}
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
                // A section with a wrong line is refused, not left out.
                self.settings.balance = Some(Balance::unreadable(line));
                self.settings.balance = Balance::read(line, rest)?;
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
                self.settings.factor = Some((line, factor.into()));
            }
            "default-server" => {
                let mut defaults = core::mem::take(&mut self.settings.default_server);
                self.options(line, &mut defaults, rest)?;
                self.settings.default_server = defaults;
            }
            "server" => self.server(line, rest)?,
            "hash-preserve-affinity" if rest == ["always"] => {}
            "server-template" => return Err(template(line, rest)),
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

    fn tell(&mut self, line: usize, text: &str) {
        self.settings.unknown.push(Unknown::sentence(line, text));
    }

    fn server(&mut self, line: usize, rest: &[&str]) -> Result<(), Error> {
        let [name, address, options @ ..] = rest else {
            return Err(wrong(line, "a server needs a name and an address"));
        };
        values::check_address(line, address)?;
        let mut server = self.settings.default_server.clone();
        self.options(line, &mut server, options)?;
        if self.servers.iter().any(|other| other.name == *name) {
            let known = "a name that no other server of the section has";
            return Err(expected(line, "server", name, known));
        }
        let id = server.id.as_ref();
        let same = |other: &&Named| id.is_some() && other.line.id.as_ref() == id;
        if let Some(other) = self.servers.iter().find(same) {
            let id = id.map_or("", String::as_str);
            let known = format!(
                "an id that no other server has: server {} has it",
                other.name
            );
            return Err(expected(line, "id", id, &known));
        }
        self.servers.push(Named {
            at: line,
            name: (*name).into(),
            address: (*address).into(),
            line: server,
        });
        Ok(())
    }

    fn options(&mut self, line: usize, server: &mut Line, words: &[&str]) -> Result<(), Error> {
        let mut words = words.iter().peekable();
        while let Some(&word) = words.next() {
            match word {
                "disabled" => server.disabled = true,
                "enabled" => server.disabled = false,
                "backup" => server.backup = true,
                "no-backup" => server.backup = false,
                _ if FLAGS.contains(&word) => {}
                "weight" | "id" | "hash-key" | "track" => {
                    let value = words.next().copied().unwrap_or_default();
                    server.set(line, word, value)?;
                }
                _ if VALUES.contains(&name(word)) => {
                    words.next();
                }
                "agent-check" => {
                    self.tell(
                        line,
                        "agent-check: the agent may change the weight of the server",
                    );
                }
                "slowstart" => {
                    words.next();
                    self.tell(
                        line,
                        "slowstart: a server that comes back has less weight at first",
                    );
                }
                _ => {
                    // The next word is its value, unless it is an option.
                    let value = words.next_if(|next| !is_option(next));
                    let text = value.map_or_else(|| word.into(), |value| format!("{word} {value}"));
                    self.report(line, &text);
                }
            }
        }
        Ok(())
    }

    /// Refuses a hash of an HTTP request in `mode tcp`: HAProxy then balances round robin.
    fn check_mode(&self) -> Result<(), Error> {
        match &self.settings.balance {
            Some(balance) if !self.settings.http && balance.of_http => {
                let reason = format!(
                    "balance {}: expected `mode http` in section {:?}; without it, HAProxy \
                     balances round robin",
                    balance.algorithm, self.name
                );
                Err(wrong(balance.line, reason))
            }
            _ => Ok(()),
        }
    }

    fn config(mut self, dialect: &'static Scheme) -> Config {
        if let Err(error) = self.check_mode() {
            self.fail(error);
        }
        if let Some(error) = self.settings.error.take() {
            return Config::failed(dialect, &self.name, error);
        }
        let (by, labels) = match labels::of(&self.servers) {
            Ok(of) => of,
            Err(error) => return Config::failed(dialect, &self.name, error),
        };
        let mut params = Params::default();
        let mut kind = core::mem::take(&mut self.settings.hash_type);
        if kind.is_empty() {
            kind = plain(HashType::MapBased);
        }
        let consistent = (METHOD.name, String::from("consistent"));
        let is_consistent = kind.contains(&consistent);
        for (name, value) in kind {
            params = params.with(name, value);
        }
        if let Some((line, factor)) = self.settings.factor.take() {
            // Only `consistent` has a bound, and 0 is none.
            if is_consistent && factor != "0" {
                let text = format!(
                    "hash-balance-factor {factor}: a server that holds more than {factor} % of the mean \
                     load passes requests on; the routes here are those without load"
                );
                self.tell(line, &text);
            }
            params = params.with(BALANCE_FACTOR.name, factor);
        }
        if let Some(by) = by {
            params = params.with(HASH_KEY.name, by);
        }
        Config {
            scheme: dialect,
            name: self.name.into(),
            servers: up(self.servers, labels, self.settings.all_backups),
            params,
            unknown: self.settings.unknown,
            key_source: self.settings.balance.and_then(|balance| balance.source),
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
                Ok(id) if (1..1 << 31).contains(&id) => self.id = Some(format!("{id}")),
                _ => {
                    return Err(expected(
                        line,
                        word,
                        value,
                        "a whole number from 1 to 2147483647",
                    ));
                }
            },
            "track" => self.track = Some(value.into()),
            _ => {
                let known = match value {
                    "id32" => "id, addr or addr-port: id32, of HAProxy 3.4, is not supported",
                    _ => "id, addr or addr-port",
                };
                let parsed = value.parse();
                self.hash_key = parsed.map_err(|_| expected(line, word, value, known))?;
            }
        }
        Ok(())
    }

    fn is_up(&self) -> bool {
        !self.disabled && self.weight > 0
    }
}

/// Marks servers as up or down. Backup servers are up only if no other server is: the first of them,
/// or all with `allbackup`.
fn up(servers: Vec<Named>, labels: Vec<Option<String>>, all_backups: bool) -> Vec<Server> {
    let active = servers
        .iter()
        .any(|Named { line, .. }| !line.backup && line.is_up());
    let first = servers
        .iter()
        .position(|Named { line, .. }| line.backup && line.is_up());
    let names = labels::names(&servers);
    let server = |(at, ((named, label), name)): (usize, ((Named, Option<String>), String))| {
        let line = named.line;
        let works = if line.backup {
            !active && (all_backups || first == Some(at))
        } else {
            active
        };
        let mut server = Server::new(name).with_weight(line.weight);
        if let Some(label) = label {
            server = server.with_label(label);
        }
        if works && line.is_up() {
            server
        } else {
            server.down()
        }
    };
    let servers = servers.into_iter().zip(labels).zip(names);
    servers.enumerate().map(server).collect()
}

/// Refuses `server-template`, since DNS decides which of its servers are up, and says what to write.
fn template(line: usize, rest: &[&str]) -> Error {
    let (prefix, range) = match rest {
        [prefix, range, ..] => (*prefix, *range),
        _ => ("PREFIX", "N"),
    };
    let first = range.split_once('-').map_or("1", |(first, _)| first);
    let port = rest.get(2).and_then(|name| name.rsplit_once(':'));
    let port = port.map_or_else(String::new, |(_, port)| format!(":{port}"));
    let reason = format!(
        "server-template: DNS decides which of its servers have an address: expected a line for each \
         server, such as `server {prefix}{first} ADDRESS{port}`, with `disabled` for those without one"
    );
    wrong(line, reason)
}

/// Returns whether a word is an option of a server.
fn is_option(word: &str) -> bool {
    const OTHERS: [&str; 10] = [
        "agent-check",
        "backup",
        "disabled",
        "enabled",
        "hash-key",
        "id",
        "no-backup",
        "slowstart",
        "track",
        "weight",
    ];
    OTHERS.contains(&word) || FLAGS.contains(&word) || VALUES.contains(&name(word))
}

#[cfg(test)]
mod tests;
