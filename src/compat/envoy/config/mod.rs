//! Reads Envoy's configuration: a cluster, a list of clusters, or a whole bootstrap, as YAML or
//! JSON.
//!
//! The text may also be a dump of Envoy's admin port: entries of `/config_dump`, with the endpoints of
//! `include_eds`. Clusters with another `lb_policy` are left out. Field names may have both forms that Envoy
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
mod found;
mod policy;
mod routes;

use found::{CLUSTER_NAME, Found};

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
    "@type",
    "connection_pool_per_downstream_connection",
    "dns_jitter",
    "drain_connections_on_host_removal",
    "extension_protocol_options",
    "lrs_report_endpoint_metrics",
    "lrs_server",
];

/// Why a cluster of type `LOGICAL_DNS` is refused.
const LOGICAL: &str = "type LOGICAL_DNS has one endpoint, which takes every key, and connects to one address \
                       of it at a time: expected STRICT_DNS, which hashes all its addresses, or STATIC";

/// Why a cluster of type `ORIGINAL_DST` is refused.
const ORIGINAL: &str = "type ORIGINAL_DST sends a request where its client wanted it to go, not by a hash: \
                        expected STATIC, STRICT_DNS or EDS";

pub(super) fn read(dialect: &'static Scheme, text: &str) -> Result<Vec<Config>, Error> {
    let document = Yaml::document_with_aliases(text)?;
    let found = Found::in_document(&document)?;
    let mut configs = vec![];
    let sources = routes::sources(&document);
    for cluster in &found.clusters {
        match Cluster::read(cluster, &found.assignments) {
            Ok(cluster) => configs.extend(cluster.map(|cluster| {
                let source = sources.get(&*cluster.name).cloned();
                cluster.config(dialect).with_key_source(source)
            })),
            Err(error) => configs.push(Config::failed(dialect, name(cluster), error)),
        }
    }
    if configs.is_empty() {
        return Err(wrong(document.line, found.reason()));
    }
    Ok(configs)
}

/// Returns the name of a cluster, or an empty text. It must not fail: the rest of the cluster may be
/// wrong.
fn name(cluster: &Yaml) -> &str {
    text_of(cluster, &["name"]).unwrap_or_default()
}

/// Returns the text of a field that has one of these names, if there is one.
fn text_of<'y>(map: &'y Yaml, names: &[&str]) -> Option<&'y str> {
    let Value::Map(entries) = &map.value else {
        return None;
    };
    let entry = entries.iter().find(|entry| names.contains(&&*entry.key))?;
    entry.value.text("").ok()
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

/// Reads a name of an enumeration in upper case, since Envoy reads any case; `numbers` are the names by
/// their numbers, which Envoy accepts, too.
fn choice(field: &Field<'_>, numbers: &[&str]) -> Result<String, Error> {
    let text = field.value.text(&field.name)?;
    let named = text.parse::<usize>().ok();
    let named = named.and_then(|number| numbers.get(number));
    Ok(named.map_or_else(|| text.to_ascii_uppercase(), |name| String::from(*name)))
}

fn truth(field: &Field<'_>) -> Result<bool, Error> {
    match field.value.text(&field.name)? {
        "true" => Ok(true),
        "false" => Ok(false),
        other => Err(expected(field.line, &field.name, other, "true or false")),
    }
}

fn is_new(field: &Field<'_>) -> bool {
    field.name == "load_balancing_policy"
}

/// The parts of a cluster that decide routes.
#[derive(Debug, Default)]
struct Cluster {
    name: String,
    policy: Option<LbPolicy>,
    /// Whether the cluster has a `load_balancing_policy`, which counts instead of older fields.
    has_new: bool,
    params: Params,
    /// The `type` of the cluster; `STATIC` by default.
    discovery: Discovery,
    /// The line of `use_hostname_for_hashing: true`.
    by_hostname: Option<usize>,
    /// The name under which another part of the file lists the endpoints.
    service: Option<String>,
    /// The line of `locality_weighted_lb_config`.
    by_locality: Option<usize>,
    /// The number of localities of the first priority.
    localities: usize,
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
    /// The endpoints come from a server of endpoints; a dump shows them elsewhere.
    Eds(usize),
}

impl Cluster {
    /// Reads a cluster; `None` if it does not route by a hash. The endpoints of a cluster of type EDS
    /// are among the assignments.
    fn read(yaml: &Yaml, assignments: &[&Yaml]) -> Result<Option<Self>, Error> {
        let fields = fields(yaml, "cluster")?;
        let mut cluster = Self::default();
        // The other fields first: they decide how endpoints are read, and may come after them.
        let (endpoints, others): (Vec<_>, Vec<_>) = fields
            .iter()
            .partition(|field| field.name == "load_assignment");
        for field in &others {
            cluster.old_policy(field)?;
        }
        // It counts instead of `lb_policy`, wherever it is.
        for field in others.iter().filter(|field| is_new(field)) {
            policy::read(&mut cluster, field)?;
        }
        if cluster.policy.is_none() {
            return Ok(None);
        }
        for field in &others {
            cluster.field(field)?;
        }
        // Envoy does not check this of a typed policy.
        let refused = cluster.by_hostname.filter(|_| !cluster.has_new);
        if let (Discovery::Static, Some(line)) = (cluster.discovery, refused) {
            let reason = "use_hostname_for_hashing: Envoy refuses it in a STATIC cluster";
            return Err(wrong(line, reason));
        }
        if let Discovery::Eds(line) = cluster.discovery {
            let service = cluster.service.clone();
            let service = service.unwrap_or_else(|| cluster.name.clone());
            let is_own = |yaml: &&&Yaml| text_of(yaml, CLUSTER_NAME) == Some(&*service);
            let own = assignments.iter().find(is_own);
            let own = own.ok_or_else(|| wrong(line, cluster.no_endpoints(&service)))?;
            cluster.assignment(own)?;
        } else {
            for field in endpoints {
                cluster.assignment(field.value)?;
            }
        }
        if let Some(line) = cluster.by_locality.filter(|_| cluster.localities > 1) {
            let reason = "locality_weighted_lb_config: weights of several localities are not supported: \
                          expected one locality without it, in which the load_balancing_weight of an \
                          endpoint is its share of the weight of its locality (weight of the locality x \
                          weight of the endpoint / sum of these in the locality, all times one number)";
            return Err(wrong(line, reason));
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
                    "health_status: more than half of the endpoints are down, and Envoy then uses all",
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

    /// Says how to get the endpoints of a cluster of type EDS.
    fn no_endpoints(&self, service: &str) -> String {
        format!(
            "type EDS: the endpoints of cluster {:?} are not in this file: expected a dump with them \
             under the name {service:?}, as from /config_dump?include_eds of Envoy's admin port",
            self.name
        )
    }

    fn old_policy(&mut self, field: &Field<'_>) -> Result<(), Error> {
        const NUMBERS: &[&str] = &[
            "ROUND_ROBIN",
            "LEAST_REQUEST",
            "RING_HASH",
            "RANDOM",
            "ORIGINAL_DST_LB",
            "MAGLEV",
            "CLUSTER_PROVIDED",
            "LOAD_BALANCING_POLICY_CONFIG",
        ];
        match &*field.name {
            "name" => self.name = field.value.text("name")?.into(),
            "lb_policy" => {
                let text = choice(field, NUMBERS)?;
                self.policy = text.parse().ok();
                self.set(POLICY.name, text);
            }
            // The API before lb_policy. Envoy has not read it since 2018.
            "lb_type" if ["ring_hash", "maglev"].contains(&field.value.text("lb_type")?) => {
                let reason = "lb_type is of Envoy's API v1, which Envoy no longer reads: expected \
                              lb_policy and load_assignment";
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
            "lb_policy" | "load_balancing_policy" => {}
            "ring_hash_lb_config" | "maglev_lb_config" if self.has_new => {}
            "type" => self.discovery(field)?,
            "cluster_type" => self.discovery_by_name(field)?,
            "eds_cluster_config" => {
                for field in fields(field.value, "eds_cluster_config")? {
                    if field.name == "service_name" {
                        let service = field.value.text("service_name")?;
                        self.service = (!service.is_empty()).then(|| service.into());
                    }
                }
            }
            "hosts" => {
                let reason = "hosts is of Envoy's API v2: expected load_assignment";
                return Err(wrong(field.line, reason));
            }
            "lb_subset_config" => {
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
        self.unknown
            .push(Unknown::directive(field.line, &*field.name));
    }

    fn tell(&mut self, line: usize, text: &str) {
        self.unknown.push(Unknown::sentence(line, text));
    }

    fn discovery(&mut self, field: &Field<'_>) -> Result<(), Error> {
        const NUMBERS: &[&str] = &["STATIC", "STRICT_DNS", "LOGICAL_DNS", "EDS", "ORIGINAL_DST"];
        self.discovery = match &*choice(field, NUMBERS)? {
            "STATIC" => Discovery::Static,
            "STRICT_DNS" => Discovery::Dns,
            "EDS" => Discovery::Eds(field.line),
            "LOGICAL_DNS" => return Err(wrong(field.line, LOGICAL)),
            "ORIGINAL_DST" => return Err(wrong(field.line, ORIGINAL)),
            other => {
                let known = "STATIC, STRICT_DNS or EDS";
                return Err(expected(field.line, "type", other, known));
            }
        };
        Ok(())
    }

    fn discovery_by_name(&mut self, field: &Field<'_>) -> Result<(), Error> {
        self.discovery = match text_of(field.value, &["name"]) {
            Some("envoy.cluster.static") => Discovery::Static,
            Some("envoy.cluster.strict_dns") => Discovery::Dns,
            Some("envoy.cluster.eds") => Discovery::Eds(field.line),
            Some("envoy.cluster.logical_dns") => return Err(wrong(field.line, LOGICAL)),
            Some("envoy.cluster.original_dst") => return Err(wrong(field.line, ORIGINAL)),
            name => {
                let known = "envoy.cluster.static, envoy.cluster.strict_dns or envoy.cluster.eds";
                let name = name.unwrap_or_default();
                return Err(expected(field.line, "cluster_type", name, known));
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
                    let text = choice(&field, &["XX_HASH", "MURMUR_HASH_2"])?;
                    if text.parse::<RingFunction>().is_err() {
                        let known = "XX_HASH or MURMUR_HASH_2";
                        return Err(expected(field.line, "hash_function", &text, known));
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
                // A typed policy has these settings of its own.
                "consistent_hashing_lb_config" | "locality_weighted_lb_config" if self.has_new => {}
                "consistent_hashing_lb_config" => self.hashing(&field)?,
                "locality_weighted_lb_config" => self.by_locality = Some(field.line),
                // With so many endpoints down that it matters, `health_status` is reported.
                "healthy_panic_threshold"
                | "zone_aware_lb_config"
                | "override_host_status"
                | "update_merge_window"
                | "ignore_new_hosts_until_first_hc"
                | "close_connections_on_host_set_change" => {}
                _ => self.report(&field),
            }
        }
        Ok(())
    }

    fn hashing(&mut self, config: &Field<'_>) -> Result<(), Error> {
        for field in fields(config.value, "consistent_hashing_lb_config")? {
            self.hashing_field(&field)?;
        }
        Ok(())
    }

    fn hashing_field(&mut self, field: &Field<'_>) -> Result<(), Error> {
        match &*field.name {
            "use_hostname_for_hashing" => {
                self.by_hostname = truth(field)?.then_some(field.line);
            }
            "hash_balance_factor" => {
                let factor: u32 = number(field)?;
                if factor > 0 {
                    let text = format!(
                        "hash_balance_factor {factor}: an endpoint that holds more than {factor} % of the \
                         mean load passes requests on; the routes here are those without load"
                    );
                    self.tell(field.line, &text);
                }
                self.set(BALANCE_FACTOR.name, format!("{factor}"));
            }
            _ => self.report(field),
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
            key_source: None,
            error: None,
        }
    }
}

#[cfg(test)]
mod tests;
