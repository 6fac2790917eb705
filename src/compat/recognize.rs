//! Recognizes the system of a configuration file by the words in its lines.

use super::{envoy, haproxy, libmemcached, nginx, redis_cluster, trafficserver, twemproxy};
use crate::redis::{SlotRule, Table};
use crate::registry::Scheme;

/// The number of lines that are looked at.
const LINES: usize = 2000;

/// The size in bytes of the longest text that is read as a reply of a cluster.
const REPLY: usize = 1 << 20;

/// Whether a line stands only in the configurations of one system.
type Sight = fn(&str) -> bool;

/// Returns the dialect that the text is a configuration of; `None` if it looks like none, or like
/// several.
///
/// ```
/// let text = "upstream cache {\n  hash $uri consistent;\n  server 10.0.0.1:80;\n}\n";
/// let dialect = hashroute::compat::recognize(text);
/// assert_eq!(dialect.map(|dialect| dialect.name), Some("nginx"));
/// assert!(hashroute::compat::recognize("name,weight\na,1\n").is_none());
/// ```
pub fn recognize(text: &str) -> Option<&'static Scheme> {
    static SIGHTS: [(&Scheme, Sight); 7] = [
        (&envoy::DIALECT, is_envoy),
        (&haproxy::DIALECT, is_haproxy),
        (&libmemcached::DIALECT, is_libmemcached),
        (&nginx::DIALECT, is_nginx),
        (&redis_cluster::DIALECT, is_redis_cluster),
        (&trafficserver::DIALECT, is_trafficserver),
        (&twemproxy::DIALECT, is_twemproxy),
    ];
    let lines = || {
        let lines = text.lines().take(LINES);
        lines.filter(|line| !line.trim_start().starts_with('#'))
    };
    let seen = SIGHTS.iter().filter(|(_, sight)| lines().any(sight));
    let mut seen = seen.map(|(row, _)| row.name);
    match (seen.next(), seen.next()) {
        (Some(name), None) => super::find(name).ok(),
        (None, _) if is_reply(text) => Some(&redis_cluster::DIALECT),
        _ => None,
    }
}

/// Returns the key of a line of YAML or JSON, without dash and quotes.
fn key(line: &str) -> Option<&str> {
    let (key, _) = line.split_once(':')?;
    let key = key.trim_start_matches([' ', '\t', '-', '{', '[', ',']);
    Some(key.trim().trim_matches(['"', '\'']))
}

fn is_envoy(line: &str) -> bool {
    let keys = [
        "static_resources",
        "staticResources",
        "load_assignment",
        "loadAssignment",
        "lb_policy",
        "lbPolicy",
        "load_balancing_policy",
        "lb_type",
        "dynamic_active_clusters",
        "dynamic_endpoint_configs",
    ];
    key(line).is_some_and(|key| keys.contains(&key))
        || line.contains("type.googleapis.com/envoy.")
        // JSON on one line.
        || (line.starts_with(['{', '[']) && keys.iter().any(|key| line.contains(key)))
}

fn is_haproxy(line: &str) -> bool {
    let mut words = line.split_whitespace();
    match (words.next(), words.next()) {
        (Some("defaults" | "global"), None) => true,
        // `listen 80 default_server;` is nginx's.
        (Some("backend" | "frontend" | "listen"), Some(_)) => !line.contains(['{', ';']),
        _ => false,
    }
}

fn is_libmemcached(line: &str) -> bool {
    let upper = line.to_ascii_uppercase();
    upper.contains("--SERVER=") || upper.contains("--SOCKET=")
}

fn is_nginx(line: &str) -> bool {
    let first = line.split_whitespace().next().unwrap_or_default();
    ["upstream", "http", "stream", "http{", "stream{", "events"].contains(&first)
        && (line.contains('{') || first == "upstream")
}

fn is_redis_cluster(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let (id, address) = (words.next(), words.next());
    let flags = words.next().unwrap_or_default();
    let is_id = |id: &str| id.len() == 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let roles = ["master", "slave", "myself"];
    id.is_some_and(is_id)
        && address.is_some_and(|address| address.contains(':'))
        && flags.split(',').any(|flag| roles.contains(&flag))
}

/// Returns whether a text is a reply of a cluster that says who owns slots, in another form than
/// `CLUSTER NODES`.
fn is_reply(text: &str) -> bool {
    if text.len() > REPLY {
        return false;
    }
    let table = Table::from_text(text, SlotRule::REDIS);
    table.is_ok_and(|table| table.runs().any(|(_, owner)| owner.is_some()))
}

fn is_trafficserver(line: &str) -> bool {
    let labels = [
        "dest_domain=",
        "dest_host=",
        "dest_ip=",
        "url_regex=",
        "host_regex=",
    ];
    labels
        .iter()
        .any(|label| line.trim_start().starts_with(label))
        || line.starts_with("strategies:")
        || key(line) == Some("policy") && line.ends_with("consistent_hash")
}

fn is_twemproxy(line: &str) -> bool {
    let keys = [
        "auto_eject_hosts",
        "server_retry_timeout",
        "server_failure_limit",
        "distribution",
    ];
    key(line).is_some_and(|key| keys.contains(&key)) || is_server_of_twemproxy(line)
}

/// Returns whether a line is an entry of `servers`, such as `- 10.0.0.1:6379:1 cache-1`.
fn is_server_of_twemproxy(line: &str) -> bool {
    let entry = line.trim_start().strip_prefix("- ").map(str::trim);
    let server = entry.and_then(|entry| entry.split(' ').next());
    let mut parts = server.unwrap_or_default().rsplitn(3, ':');
    let mut number = || parts.next().is_some_and(|part| part.parse::<u32>().is_ok());
    number() && number() && parts.next().is_some_and(|host| !host.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_lines() {
        let of = |text: &str| recognize(text).map(|dialect| dialect.name);
        let id = "0123456789abcdef0123456789abcdef01234567";
        let table =
            alloc::format!("{id} 10.0.0.1:6379@16379 myself,master - 0 0 1 connected 0-9\n");
        for (text, name) in [
            ("http {\n  upstream a { server b; }\n}", Some("nginx")),
            ("upstream a\n{\n", Some("nginx")),
            (
                "http {\n server {\n  listen 80 default_server;\n }\n}",
                Some("nginx"),
            ),
            (
                "# backend\nglobal\n  maxconn 1\nbackend a\n",
                Some("haproxy"),
            ),
            ("listen stats\n  bind :80\n", Some("haproxy")),
            (
                "alpha:\n  listen: h:1\n  distribution: ketama\n",
                Some("twemproxy"),
            ),
            ("a:\n  servers:\n  - h:11211:1 a\n", Some("twemproxy")),
            ("static_resources:\n  clusters: []\n", Some("envoy")),
            ("{\"configs\": [{\"lbPolicy\": \"MAGLEV\"}]}", Some("envoy")),
            (" {\n  \"lb_policy\": \"MAGLEV\"\n}", Some("envoy")),
            (
                "dest_domain=. parent=a:1 round_robin=true",
                Some("trafficserver"),
            ),
            ("hosts:\n  - &a\nstrategies:\n", Some("trafficserver")),
            (
                "--SERVER=a:1 --DISTRIBUTION=consistent",
                Some("libmemcached"),
            ),
            (&table, Some("redis-cluster")),
            ("name,weight\na,1\n", None),
            ("", None),
            ("global\nupstream a {\n", None),
        ] {
            assert_eq!(of(text), name, "{text}");
        }
    }

    #[test]
    fn every_dialect_with_a_reader_can_be_recognized() {
        let readers = super::super::ALL.iter().filter(|row| row.reads_config());
        assert_eq!(readers.count(), 7);
    }
}
