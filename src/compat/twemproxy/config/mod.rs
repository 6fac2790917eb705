//! Reads twemproxy's YAML: pools by name, each with its options and `servers`.
//!
//! Options are parsed to check them and then kept as text, because a spec needs the text.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{DISTRIBUTION, Distribution, HASH, HASH_TAG, name};
use crate::Server;
use crate::compat::config::{expected, wrong};
use crate::compat::parts::hashkit::Function;
use crate::compat::parts::yaml::{Entry, Yaml};
use crate::registry::{Config, Scheme, Unknown};
use crate::strategy::Params;
use crate::{Error, HashTag};

mod form;

/// Options that do not change any route, with the form of their values.
const OTHERS: [(&str, Form); 14] = [
    ("listen", Form::Listen),
    ("timeout", Form::Number),
    ("backlog", Form::Number),
    ("client_connections", Form::Number),
    ("tcpkeepalive", Form::Truth),
    ("redis", Form::Truth),
    ("redis_auth", Form::Text),
    ("redis_db", Form::Number),
    ("preconnect", Form::Truth),
    ("auto_eject_hosts", Form::Truth),
    ("server_connections", Form::Number),
    ("server_retry_timeout", Form::Number),
    ("server_failure_limit", Form::Number),
    ("reuseport", Form::Truth),
];

/// The form of a value. twemproxy does not start with another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Text,
    Number,
    Truth,
    /// An address to listen on.
    Listen,
}

/// Options that change routes, and the list of servers.
const ROUTING: [&str; 4] = ["hash", "hash_tag", "distribution", "servers"];

pub(super) fn read(dialect: &'static Scheme, text: &str) -> Result<Vec<Config>, Error> {
    form::check(text)?;
    let document = Yaml::document(text)?;
    let pools = document.map("twemproxy's file: expected pools, such as `alpha:`")?;
    let read = |entry: &Entry| {
        pool(dialect, entry).unwrap_or_else(|error| Config::failed(dialect, &entry.key, error))
    };
    Ok(pools.iter().map(read).collect())
}

fn pool(dialect: &'static Scheme, entry: &Entry) -> Result<Config, Error> {
    let mut config = Config {
        scheme: dialect,
        name: entry.key.as_str().into(),
        servers: Vec::new(),
        params: Params::default(),
        unknown: Vec::new(),
        key_source: None,
        error: None,
    };
    let mut lines = Vec::new();
    let directives = entry.value.map("a pool with its options")?;
    for directive in directives {
        apply(&mut config, directive, &mut lines)?;
    }
    if !directives.iter().any(|directive| directive.key == "listen") {
        let text = "no listen in this pool: twemproxy does not start without it";
        config.unknown.push(Unknown::sentence(entry.line, text));
    }
    tell_apart(&mut config.servers, &lines)?;
    if config.servers.is_empty() {
        return Err(wrong(entry.line, "a pool without servers"));
    }
    Ok(config)
}

/// Applies an option of a pool; adds the line of each server to `lines`.
fn apply(
    config: &mut Config,
    Entry { line, key, value }: &Entry,
    lines: &mut Vec<usize>,
) -> Result<(), Error> {
    let reason = |error| match error {
        Error::Parameter {
            value, expected, ..
        } => self::expected(*line, key, &value, &expected),
        error => error,
    };
    match key.as_str() {
        "servers" => {
            for value in value.list(key)? {
                let server = server(value.line, value.text("a server")?)?;
                config.servers.push(server);
                lines.push(value.line);
            }
            return Ok(());
        }
        "hash" => Function::of_twemproxy(value.text(key)?).map(|_| HASH),
        "distribution" => value.text(key)?.parse().map(|_: Distribution| DISTRIBUTION),
        "hash_tag" => value.text(key)?.parse().map(|_: HashTag| HASH_TAG),
        other => {
            match OTHERS.iter().find(|(name, _)| *name == other) {
                Some((_, form)) => check_form(*form, key, value)?,
                None => config.unknown.push(Unknown::directive(*line, other)),
            }
            return Ok(());
        }
    }
    .map_err(reason)
    .map(|param| {
        let text = value.text(key).unwrap_or_default();
        config.params = core::mem::take(&mut config.params).with(param.name, text);
    })
}

/// Refuses a value that twemproxy refuses.
fn check_form(form: Form, key: &str, value: &Yaml) -> Result<(), Error> {
    let text = value.text(key)?;
    let is_number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits
            && text
                .parse::<u32>()
                .is_ok_and(|number| number <= 0x7fff_ffff)
    };
    let wrong = |known| Err(expected(value.line, key, text, known));
    match form {
        Form::Number if !is_number(text) => wrong("a whole number up to 2147483647"),
        Form::Truth if !["true", "false"].contains(&text) => wrong("true or false"),
        Form::Listen if !is_listen(text) => {
            wrong("HOST:PORT with a port from 1 to 65535, or the path of a socket")
        }
        _ => Ok(()),
    }
}

/// Returns whether twemproxy can listen on an address. A socket may have its permissions after a blank.
fn is_listen(text: &str) -> bool {
    if text.starts_with('/') {
        return true;
    }
    let port = text.rsplit_once(':').and_then(|(_, port)| number(port));
    port.is_some_and(|port| (1..=65535).contains(&port))
}

/// Names servers by their names in twemproxy if several have one address, which is valid. Refuses equal
/// names, as twemproxy does.
fn tell_apart(servers: &mut [Server], lines: &[usize]) -> Result<(), Error> {
    let mut taken = BTreeMap::new();
    let mut addresses = BTreeMap::<_, usize>::new();
    for (server, line) in servers.iter().zip(lines) {
        if let Some(first) = taken.insert(name(server), *line) {
            let known = format!("a name that no other server has: line {first} has it");
            return Err(expected(*line, "name of server", &name(server), &known));
        }
        *addresses.entry(String::from(server.name())).or_default() += 1;
    }
    for server in servers {
        if addresses.get(server.name()) != Some(&1) {
            let name = name(server);
            let down = server.is_down();
            let named = Server::new(&*name)
                .with_weight(server.weight())
                .with_label(&*name);
            *server = if down { named.down() } else { named };
        }
    }
    Ok(())
}

/// Reads `host:port:weight [name]` or `/path:weight [name]`, split from the end as in twemproxy.
fn server(line: usize, text: &str) -> Result<Server, Error> {
    const FORM: &str = "host:port:weight [name] or /path:weight [name]";
    let malformed = || expected(line, "server", text, FORM);
    let (address, name) = match text.rsplit_once(' ') {
        Some((address, name)) => (address, Some(name)),
        None => (text, None),
    };
    let (address, weight) = address.rsplit_once(':').ok_or_else(malformed)?;
    if !address.starts_with('/') {
        let (host, port) = address.rsplit_once(':').ok_or_else(malformed)?;
        let port = number(port).filter(|port| (1..=65535).contains(port));
        if host.is_empty() || port.is_none() {
            return Err(expected(line, "port of server", text, "from 1 to 65535"));
        }
    }
    // twemproxy reads the weight into an `int`.
    let weight = number(weight).filter(|weight| (1..=0x7fff_ffff).contains(weight));
    let weight = weight.ok_or_else(|| expected(line, "weight of server", text, "at least 1"))?;
    let server = Server::new(address).with_weight(weight);
    Ok(match name {
        Some("") => return Err(malformed()),
        Some(name) => server.with_label(name),
        None => server,
    })
}

fn number(digits: &str) -> Option<u32> {
    let all = digits.bytes().all(|byte| byte.is_ascii_digit());
    all.then(|| digits.parse().ok()).flatten()
}
