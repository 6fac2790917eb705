//! Reads Envoy's configuration: a cluster, a list of clusters, or a whole bootstrap, as YAML or
//! JSON.
//!
//! Clusters with another `lb_policy` are left out. Field names may have both forms that Envoy
//! accepts, `lb_policy` and `lbPolicy`.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::{
    BALANCE_FACTOR, HASH_FUNCTION, LbPolicy, MAX_RING_SIZE, MIN_RING_SIZE, POLICY, RingFunction,
    TABLE_SIZE,
};
use crate::Error;
use crate::Server;
use crate::compat::config::{expected, wrong};
use crate::compat::parts::yaml::{Entry, Value, Yaml};
use crate::registry::{Config, Scheme, Unknown};
use crate::strategy::Params;

mod endpoints;

/// Fields of a cluster that do not change the owner of a key.
const HARMLESS: &[&str] = &[
    "name",
    "alt_stat_name",
    "connect_timeout",
    "per_connection_buffer_limit_bytes",
    "health_checks",
    "max_requests_per_connection",
    "circuit_breakers",
    "upstream_http_protocol_options",
    "common_http_protocol_options",
    "http_protocol_options",
    "http2_protocol_options",
    "typed_extension_protocol_options",
    "dns_refresh_rate",
    "dns_failure_refresh_rate",
    "respect_dns_ttl",
    "dns_lookup_family",
    "dns_resolvers",
    "use_tcp_for_dns_lookups",
    "dns_resolution_config",
    "typed_dns_resolver_config",
    "wait_for_warm_on_init",
    "outlier_detection",
    "cleanup_interval",
    "upstream_bind_config",
    "transport_socket",
    "transport_socket_matches",
    "tls_context",
    "metadata",
    "protocol_selection",
    "upstream_connection_options",
    "close_connections_on_host_health_failure",
    "ignore_health_on_host_removal",
    "filters",
    "track_timeout_budgets",
    "track_cluster_stats",
    "upstream_config",
    "preconnect_policy",
];

pub(super) fn read(dialect: &'static Scheme, text: &str) -> Result<Vec<Config>, Error> {
    let document = Yaml::document(text)?;
    let mut configs = vec![];
    for cluster in clusters(&document)? {
        match Cluster::read(cluster) {
            Ok(cluster) => configs.extend(cluster.map(|cluster| cluster.config(dialect))),
            Err(error) => configs.push(Config::failed(dialect, name(cluster), error)),
        }
    }
    if configs.is_empty() {
        return Err(wrong(
            document.line,
            "no cluster has an lb_policy of RING_HASH or MAGLEV",
        ));
    }
    Ok(configs)
}

/// Returns the clusters of a bootstrap or a list, or the document itself as the only cluster.
fn clusters(document: &Yaml) -> Result<Vec<&Yaml>, Error> {
    if let Value::List(list) = &document.value {
        return Ok(list.iter().collect());
    }
    for field in fields(document, "the document")? {
        match &*field.name {
            "static_resources" => return clusters(field.value),
            "clusters" => return Ok(field.value.list("clusters")?.iter().collect()),
            _ => {}
        }
    }
    Ok(vec![document])
}

/// Returns the name of a cluster, or an empty text. It must not fail: the rest of the cluster may be
/// wrong.
fn name(cluster: &Yaml) -> &str {
    let Value::Map(entries) = &cluster.value else {
        return "";
    };
    let name = entries.iter().find(|entry| entry.key == "name");
    name.and_then(|entry| entry.value.text("name").ok())
        .unwrap_or_default()
}

/// A field, with its name in the form of `lb_policy`.
struct Field<'y> {
    name: String,
    line: usize,
    value: &'y Yaml,
}

fn fields<'y>(map: &'y Yaml, what: &str) -> Result<Vec<Field<'y>>, Error> {
    let field = |entry: &'y Entry| Field {
        name: snake(&entry.key),
        line: entry.line,
        value: &entry.value,
    };
    Ok(map.map(what)?.iter().map(field).collect())
}

/// Turns `lbPolicy` into `lb_policy`; names of another form stay as they are.
fn snake(name: &str) -> String {
    let camel = name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let mut snake = String::new();
    for letter in name.chars() {
        if camel && letter.is_ascii_uppercase() {
            snake.push('_');
            snake.push(letter.to_ascii_lowercase());
        } else {
            snake.push(letter);
        }
    }
    snake
}

/// Reads a number. Envoy also accepts one in quotes.
fn number<T: core::str::FromStr>(field: &Field<'_>) -> Result<T, Error> {
    let text = field.value.text(&field.name)?;
    let number = text.parse();
    number.map_err(|_| expected(field.line, &field.name, text, "a whole number"))
}

fn truth(field: &Field<'_>) -> Result<bool, Error> {
    match field.value.text(&field.name)? {
        "true" => Ok(true),
        "false" => Ok(false),
        other => Err(expected(field.line, &field.name, other, "true or false")),
    }
}

/// The parts of a cluster that decide routes.
#[derive(Debug, Default)]
struct Cluster {
    name: String,
    policy: Option<LbPolicy>,
    params: Params,
    /// The `type` of the cluster; `STATIC` by default.
    discovery: Discovery,
    /// The line of `use_hostname_for_hashing: true`.
    by_hostname: Option<usize>,
    servers: Vec<Server>,
    health: Health,
    unknown: Vec<Unknown>,
}

/// The number of endpoints of the first priority, the number of unhealthy ones, and the line of the
/// first unhealthy one.
#[derive(Clone, Copy, Debug, Default)]
struct Health {
    all: usize,
    down: usize,
    line: Option<usize>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Discovery {
    #[default]
    Static,
    Dns,
}

impl Cluster {
    /// Reads a cluster; `None` if it does not route by a hash.
    fn read(yaml: &Yaml) -> Result<Option<Self>, Error> {
        let fields = fields(yaml, "cluster")?;
        let mut cluster = Self::default();
        // The other fields first: they decide how endpoints are read, and may come after them.
        let (endpoints, others): (Vec<_>, Vec<_>) = fields
            .iter()
            .partition(|field| field.name == "load_assignment");
        for field in &others {
            cluster.policy(field)?;
        }
        if cluster.policy.is_none() {
            return Ok(None);
        }
        for field in &others {
            cluster.field(field)?;
        }
        if let (Discovery::Static, Some(line)) = (cluster.discovery, cluster.by_hostname) {
            let reason = "use_hostname_for_hashing: Envoy refuses it in a STATIC cluster";
            return Err(wrong(line, reason));
        }
        for field in endpoints {
            cluster.assignment(field)?;
        }
        match cluster.health {
            // Envoy's panic mode: it then uses all endpoints, which is not modelled.
            Health {
                all,
                down,
                line: Some(line),
            } if down * 2 > all => {
                cluster.tell(
                    line,
                    "health_status, with more than half of the endpoints down",
                );
            }
            _ => {}
        }
        if cluster.servers.is_empty() {
            let reason = format!("cluster {:?} has no endpoints in this file", cluster.name);
            return Err(wrong(yaml.line, reason));
        }
        Ok(Some(cluster))
    }

    fn policy(&mut self, field: &Field<'_>) -> Result<(), Error> {
        match &*field.name {
            "name" => self.name = field.value.text("name")?.into(),
            "lb_policy" => {
                let text = field.value.text("lb_policy")?;
                // Envoy accepts the name and its number in the enumeration.
                let text = match text {
                    "2" => "RING_HASH",
                    "5" => "MAGLEV",
                    _ => text,
                };
                self.policy = text.parse().ok();
                self.set(POLICY.name, text);
            }
            "load_balancing_policy" => {
                let reason = "load_balancing_policy is not supported: expected lb_policy";
                return Err(wrong(field.line, reason));
            }
            _ => {}
        }
        Ok(())
    }

    fn set(&mut self, name: &str, value: impl Into<String>) {
        self.params = core::mem::take(&mut self.params).with(name, value);
    }

    fn field(&mut self, field: &Field<'_>) -> Result<(), Error> {
        match &*field.name {
            "lb_policy" => {}
            "type" => self.discovery(field)?,
            "cluster_type" | "lb_subset_config" | "eds_cluster_config" => {
                return Err(wrong(
                    field.line,
                    format!("{} is not supported", field.name),
                ));
            }
            "ring_hash_lb_config" | "maglev_lb_config" => self.sizes(field)?,
            "common_lb_config" => self.common(field)?,
            name if HARMLESS.contains(&name) => {}
            _ => self.report(field),
        }
        Ok(())
    }

    fn report(&mut self, field: &Field<'_>) {
        self.tell(field.line, &field.name);
    }

    fn tell(&mut self, line: usize, text: &str) {
        self.unknown.push(Unknown::directive(line, text));
    }

    fn discovery(&mut self, field: &Field<'_>) -> Result<(), Error> {
        self.discovery = match field.value.text("type")? {
            "STATIC" => Discovery::Static,
            "STRICT_DNS" => Discovery::Dns,
            other => {
                let known = "STATIC or STRICT_DNS, which list their endpoints in the file";
                return Err(expected(field.line, "type", other, known));
            }
        };
        Ok(())
    }

    fn sizes(&mut self, config: &Field<'_>) -> Result<(), Error> {
        for field in fields(config.value, &config.name)? {
            let name = match &*field.name {
                "minimum_ring_size" => MIN_RING_SIZE.name,
                "maximum_ring_size" => MAX_RING_SIZE.name,
                "table_size" => TABLE_SIZE.name,
                "hash_function" => {
                    let text = field.value.text("hash_function")?;
                    if text.parse::<RingFunction>().is_err() {
                        let known = "XX_HASH or MURMUR_HASH_2";
                        return Err(expected(field.line, "hash_function", text, known));
                    }
                    self.set(HASH_FUNCTION.name, text);
                    continue;
                }
                _ => {
                    self.report(&field);
                    continue;
                }
            };
            let size: u64 = number(&field)?;
            self.set(name, format!("{size}"));
        }
        Ok(())
    }

    fn common(&mut self, config: &Field<'_>) -> Result<(), Error> {
        for field in fields(config.value, "common_lb_config")? {
            match &*field.name {
                "consistent_hashing_lb_config" => self.hashing(&field)?,
                "locality_weighted_lb_config" => {
                    return Err(wrong(field.line, "weights of localities are not supported"));
                }
                "update_merge_window"
                | "ignore_new_hosts_until_first_hc"
                | "close_connections_on_host_set_change" => {}
                _ => self.report(&field),
            }
        }
        Ok(())
    }

    fn hashing(&mut self, config: &Field<'_>) -> Result<(), Error> {
        for field in fields(config.value, "consistent_hashing_lb_config")? {
            match &*field.name {
                "use_hostname_for_hashing" => {
                    self.by_hostname = truth(&field)?.then_some(field.line);
                }
                "hash_balance_factor" => {
                    let factor: u32 = number(&field)?;
                    self.set(BALANCE_FACTOR.name, format!("{factor}"));
                }
                _ => self.report(&field),
            }
        }
        Ok(())
    }

    fn config(self, dialect: &'static Scheme) -> Config {
        Config {
            scheme: dialect,
            name: self.name.into(),
            servers: self.servers,
            params: self.params,
            unknown: self.unknown,
            error: None,
        }
    }
}

#[cfg(test)]
mod tests;
