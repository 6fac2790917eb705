//! `load_assignment`: the endpoints of a cluster.

use alloc::format;
use alloc::string::String;
use core::net::IpAddr;

use super::{Cluster, Discovery, Field, LbPolicy, choice, fields, number};
use crate::Error;
use crate::compat::Server;
use crate::compat::config::{expected, wrong};
use crate::compat::parts::yaml::{Value, Yaml};

/// An endpoint under construction.
#[derive(Debug)]
struct Endpoint {
    address: Option<String>,
    port: Option<u16>,
    hostname: Option<String>,
    hash_key: Option<String>,
    weight: u32,
    down: bool,
    /// The line of the hashed name, or of the endpoint if its address is hashed.
    label_line: usize,
}

impl Cluster {
    pub(super) fn assignment(&mut self, yaml: &Yaml) -> Result<(), Error> {
        for field in fields(yaml, "load_assignment")? {
            match &*field.name {
                // The policy is about several priorities, which are reported.
                "cluster_name" | "@type" | "policy" => {}
                "endpoints" => {
                    for locality in field.value.list("endpoints")? {
                        self.locality(locality)?;
                    }
                }
                _ => self.report(&field),
            }
        }
        Ok(())
    }

    /// Reads the endpoints of a locality. Those of a lower priority are down: they get keys only if
    /// endpoints of the first priority are unhealthy.
    fn locality(&mut self, yaml: &Yaml) -> Result<(), Error> {
        let fields = fields(yaml, "endpoints")?;
        let mut reserve = false;
        for field in &fields {
            match &*field.name {
                "priority" => {
                    reserve = number::<u32>(field)? > 0;
                    if reserve {
                        let text = "priority: these endpoints count as down, since Envoy uses them \
                                    only if those of priority 0 are unhealthy";
                        self.tell(field.line, text);
                    }
                }
                "lb_endpoints"
                | "locality"
                | "load_balancing_weight"
                | "proximity"
                | "metadata" => {}
                _ => self.report(field),
            }
        }
        self.localities += usize::from(!reserve);
        for field in fields.iter().filter(|field| field.name == "lb_endpoints") {
            for endpoint in field.value.list("lb_endpoints")? {
                let server = self.endpoint(endpoint, reserve)?;
                self.servers.push(server);
            }
        }
        Ok(())
    }

    fn endpoint(&mut self, yaml: &Yaml, reserve: bool) -> Result<Server, Error> {
        let mut endpoint = Endpoint {
            address: None,
            port: None,
            hostname: None,
            hash_key: None,
            weight: 1,
            down: reserve,
            label_line: yaml.line,
        };
        for field in fields(yaml, "lb_endpoints")? {
            match &*field.name {
                "endpoint" => self.inner(&field, &mut endpoint)?,
                "load_balancing_weight" => {
                    endpoint.weight = number(&field)?;
                    if endpoint.weight == 0 {
                        return Err(expected(field.line, &field.name, "0", "1 or more"));
                    }
                }
                "health_status" => {
                    if is_down(&field)? && !reserve {
                        self.health.down += 1;
                        self.health.line.get_or_insert(field.line);
                        endpoint.down = true;
                    }
                }
                "metadata" => self.hash_key(&field, &mut endpoint)?,
                _ => self.report(&field),
            }
        }
        self.health.all += usize::from(!reserve);
        self.server(yaml.line, endpoint)
    }

    fn inner(&mut self, field: &Field<'_>, endpoint: &mut Endpoint) -> Result<(), Error> {
        for field in fields(field.value, "endpoint")? {
            match &*field.name {
                "address" => self.address(&field, endpoint)?,
                "hostname" => endpoint.hostname = Some(field.value.text("hostname")?.into()),
                "health_check_config" | "additional_addresses" => {}
                _ => self.report(&field),
            }
        }
        Ok(())
    }

    fn address(&mut self, field: &Field<'_>, endpoint: &mut Endpoint) -> Result<(), Error> {
        for field in fields(field.value, "address")? {
            if field.name != "socket_address" {
                let known = "a socket_address";
                return Err(expected(field.line, "address", &field.name, known));
            }
            for field in fields(field.value, "socket_address")? {
                match &*field.name {
                    "address" => endpoint.address = Some(field.value.text("address")?.into()),
                    "port_value" => {
                        let port: u32 = number(&field)?;
                        let port = u16::try_from(port);
                        let port = port.map_err(|_| {
                            let text = field.value.text("port_value").unwrap_or_default();
                            expected(field.line, "port_value", text, "up to 65535")
                        })?;
                        endpoint.port = Some(port);
                    }
                    "protocol" | "resolver_name" | "ipv4_compat" => {}
                    _ => self.report(&field),
                }
            }
        }
        Ok(())
    }

    fn server(&mut self, line: usize, endpoint: Endpoint) -> Result<Server, Error> {
        let (Some(address), Some(port)) = (endpoint.address, endpoint.port) else {
            return Err(wrong(line, "an endpoint needs an address and a port_value"));
        };
        let hostname = endpoint.hostname.filter(|name| !name.is_empty());
        let named = self.by_hostname.is_some() && self.discovery != Discovery::Dns;
        if named && hostname.is_none() && endpoint.hash_key.is_none() {
            let reason = "use_hostname_for_hashing, but the endpoint has no hostname";
            return Err(wrong(line, reason));
        }
        let hostname = match self.discovery {
            Discovery::Dns => hostname.or_else(|| Some(address.clone())),
            Discovery::Static | Discovery::Eds(_) => hostname,
        };
        let hostname = hostname.filter(|_| self.by_hostname.is_some());
        let label = endpoint.hash_key.or(hostname);
        let name = match address.parse::<IpAddr>() {
            // Envoy hashes the address in its own normal form.
            Ok(IpAddr::V6(address)) => format!("[{address}]:{port}"),
            Ok(IpAddr::V4(address)) => format!("{address}:{port}"),
            Err(_) if label.is_none() => {
                let reason = format!(
                    "{address:?} is not an IP address, and Envoy hashes the address from DNS: \
                     expected use_hostname_for_hashing or a hash_key"
                );
                return Err(wrong(line, reason));
            }
            Err(_) => format!("{address}:{port}"),
        };
        let server = Server::new(name).with_weight(endpoint.weight);
        let server = match label {
            Some(label) => server.with_label(label),
            None => server,
        };
        // Both have the same points, and Envoy's sort is not stable: the owner is not defined.
        let same = |other: &Server| other.label() == server.label();
        if self.policy == Some(LbPolicy::RingHash) && self.servers.iter().any(same) {
            let text = format!(
                "{:?} is hashed for two endpoints, and Envoy does not define which of them gets the keys",
                server.label()
            );
            self.tell(endpoint.label_line, &text);
        }
        Ok(if endpoint.down { server.down() } else { server })
    }
}

fn is_down(field: &Field<'_>) -> Result<bool, Error> {
    const NUMBERS: &[&str] = &["UNKNOWN", "HEALTHY", "UNHEALTHY", "DRAINING", "TIMEOUT"];
    match &*choice(field, NUMBERS)? {
        "UNKNOWN" | "HEALTHY" => Ok(false),
        "UNHEALTHY" | "DRAINING" | "TIMEOUT" => Ok(true),
        other => {
            let known = "UNKNOWN, HEALTHY, UNHEALTHY, DRAINING or TIMEOUT";
            Err(expected(field.line, "health_status", other, known))
        }
    }
}

impl Cluster {
    /// Reads the `hash_key` from the `filter_metadata` of `envoy.lb`. Other metadata decides nothing.
    fn hash_key(&mut self, field: &Field<'_>, endpoint: &mut Endpoint) -> Result<(), Error> {
        for field in fields(field.value, "metadata")? {
            if field.name != "filter_metadata" {
                continue;
            }
            let filters = field.value.map("filter_metadata")?.iter();
            for filter in filters.filter(|filter| filter.key == "envoy.lb") {
                let entries = filter.value.map("envoy.lb")?.iter();
                for entry in entries.filter(|entry| entry.key == "hash_key") {
                    let Value::Text(text) = &entry.value.value else {
                        continue;
                    };
                    if kind(&entry.value, text) == Kind::Unclear {
                        let text = "hash_key: Envoy may read the value as a number, which does not count: \
                                expected quotes around it";
                        self.tell(entry.line, text);
                    }
                    let string = kind(&entry.value, text) != Kind::Other && !text.is_empty();
                    endpoint.hash_key = string.then(|| text.clone());
                    endpoint.label_line = entry.line;
                }
            }
        }
        Ok(())
    }
}

/// The type of a metadata value in Envoy, which uses only strings as `hash_key`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    String,
    /// A number, a boolean or null.
    Other,
    /// A number in JSON but a string in YAML, or a number in another notation.
    Unclear,
}

fn kind(value: &Yaml, text: &str) -> Kind {
    const WORDS: [&str; 10] = [
        "~", "null", "y", "n", "yes", "no", "true", "false", "on", "off",
    ];
    let upper = |word: &str| word.to_ascii_uppercase();
    let capital = |word: &str| match word.split_at_checked(1) {
        Some((first, rest)) => [&upper(first), rest].concat(),
        None => String::new(),
    };
    let is = |word: &&str| *word == text || upper(word) == text || capital(word) == text;
    let digits = text.trim_start_matches(['-', '+', '.']);
    let number = text.parse::<i32>();
    if value.quoted {
        Kind::String
    } else if text.is_empty()
        || WORDS.iter().any(is)
        || number.is_ok_and(|number| format!("{number}") == text)
    {
        Kind::Other
    } else if digits.starts_with(|first: char| first.is_ascii_digit())
        && (text.parse::<f64>().is_ok() || digits.starts_with("0x"))
    {
        Kind::Unclear
    } else {
        Kind::String
    }
}
