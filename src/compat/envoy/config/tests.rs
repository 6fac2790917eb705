use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt::Write;

use crate::registry::Config;
use crate::strategy::Params;
use crate::{Error, Router};
use crate::{Server, compat};

const TEXT: &str = r#"
admin: {}
static_resources:
  clusters:
  - name: ring
    type: STATIC
    connect_timeout: 1s
    lb_policy: RING_HASH
    ring_hash_lb_config:
      minimum_ring_size: "64"
      maximum_ring_size: 128
      hash_function: MURMUR_HASH_2
    common_lb_config:
      consistent_hashing_lb_config: { hash_balance_factor: 150 }
    frobnicate: true
    load_assignment:
      cluster_name: ring
      endpoints:
      - lb_endpoints:
        - endpoint: { address: { socket_address: { address: 10.0.0.1, port_value: 80 } } }
        - endpoint: { address: { socket_address: { address: "::1", port_value: 80 } } }
          load_balancing_weight: 3
          metadata: { filter_metadata: { envoy.lb: { hash_key: zeta, other: 1 } } }
        - endpoint: { address: { socket_address: { address: 10.0.0.3, port_value: 80 } } }
          health_status: UNHEALTHY
      - priority: 1
        lb_endpoints:
        - endpoint: { address: { socket_address: { address: 10.0.0.4, port_value: 80 } } }
  - name: other
    lb_policy: ROUND_ROBIN
"#;

const JSON: &str = r#"{
  "name": "table", "type": "STRICT_DNS", "lbPolicy": "MAGLEV",
  "maglevLbConfig": {"tableSize": 251},
  "commonLbConfig": {"consistentHashingLbConfig": {"useHostnameForHashing": true}},
  "loadAssignment": {"clusterName": "table", "endpoints": [{"lbEndpoints": [
    {"endpoint": {"address": {"socketAddress": {"address": "a.example", "portValue": 80}}}},
    {"endpoint": {"hostname": "beta",
                  "address": {"socketAddress": {"address": "10.0.0.2", "portValue": 80}}}}
  ]}]}
}"#;

fn read(text: &str) -> Result<Vec<Config>, Error> {
    compat::find("envoy")?.read(text)
}

#[test]
fn a_bootstrap_in_yaml() -> Result<(), Error> {
    let configs = read(TEXT)?;
    assert_eq!(configs.len(), 1);
    let config = &configs[0];
    let expected = Params::default()
        .with("policy", "RING_HASH")
        .with("min-ring-size", "64")
        .with("max-ring-size", "128")
        .with("hash-function", "MURMUR_HASH_2")
        .with("balance-factor", "150");
    assert_eq!((config.name(), config.params()), ("ring", &expected));
    let servers = config.servers().iter();
    let names: Vec<_> = servers.clone().map(Server::name).collect();
    assert_eq!(
        names,
        ["10.0.0.1:80", "[::1]:80", "10.0.0.3:80", "10.0.0.4:80"]
    );
    let down: Vec<_> = servers.map(Server::is_down).collect();
    assert_eq!(down, [false, false, true, true]);
    let second = &config.servers()[1];
    assert_eq!((second.weight(), second.own_label()), (3, Some("zeta")));
    let notes = [
        (14, "hash_balance_factor 150"),
        (15, "frobnicate"),
        (26, "priority"),
    ];
    assert_eq!(starts(config), notes);
    assert!(config.build()?.route(b"key").is_some());
    Ok(())
}

#[test]
fn a_cluster_in_json() -> Result<(), Error> {
    for text in [JSON.to_string(), ["[", JSON, "]"].concat()] {
        let configs = read(&text)?;
        let expected = Params::default()
            .with("policy", "MAGLEV")
            .with("table-size", "251");
        assert_eq!(configs[0].params(), &expected);
        let servers = configs[0].servers().iter();
        let labels: Vec<_> = servers.map(Server::own_label).collect();
        assert_eq!(labels, [Some("a.example"), Some("beta")]);
        assert_eq!(configs[0].build()?.nodes().len(), 2);
        let pool = super::super::pool(configs[0].servers().to_vec(), configs[0].params())?;
        assert_eq!(pool.layout().len(), 251);
    }
    Ok(())
}

#[test]
fn an_error_names_its_line() {
    for (from, to, start) in [
        ("type: STATIC", "type: EDS", "line 6: type"),
        (
            "type: STATIC",
            "type: LOGICAL_DNS",
            "line 6: type LOGICAL_DNS has one endpoint",
        ),
        (
            "type: STATIC",
            "cluster_type: {name: envoy.cluster.logical_dns}",
            "line 6: type LOGICAL_DNS has one endpoint",
        ),
        (
            "type: STATIC",
            "type: ORIGINAL_DST",
            "line 6: type ORIGINAL_DST",
        ),
        (
            "minimum_ring_size: \"64\"",
            "minimum_ring_size: x",
            "line 10: minimum_ring_size",
        ),
        ("MURMUR_HASH_2", "DEFAULT_HASH", "line 12: hash_function"),
        (
            "frobnicate: true",
            "lb_subset_config: {}",
            "line 15: lb_subset_config",
        ),
        (
            "frobnicate: true",
            "load_balancing_policy: {}",
            "line 15: load_balancing_policy",
        ),
        (
            "hash_balance_factor: 150",
            "use_hostname_for_hashing: true",
            "line 14: use_hostname",
        ),
        (
            "hash_balance_factor: 150",
            "use_hostname_for_hashing: 1",
            "line 14: use_hostname",
        ),
        (
            "load_balancing_weight: 3",
            "load_balancing_weight: 0",
            "line 22: load_balancing",
        ),
        ("UNHEALTHY", "DEGRADED", "line 25: health_status"),
        ("10.0.0.1", "a.example", "line 20: \"a.example\""),
        (
            "port_value: 80 } } }\n        - endpoint",
            "port_value: 65536 } } }\n        - endpoint",
            "line 20: port_value",
        ),
        ("address: 10.0.0.1, ", "", "line 20: an endpoint"),
        ("RING_HASH", "LEAST_REQUEST", "line 2: no cluster"),
        ("name: ring", "name: [", "line"),
        ("load_assignment:", "metadata:", "line 5: cluster \"ring\""),
    ] {
        let text = TEXT.replacen(from, to, 1);
        let message = read(&text).map_or_else(|error| error.to_string(), |_| to.into());
        assert!(message.starts_with(start), "{to}: {message}");
    }
    assert!(read("").is_err() && read("7").is_err());
}

#[test]
fn a_cluster_that_cannot_be_read_leaves_the_others_readable() -> Result<(), Error> {
    let eds = "clusters:\n- name: far\n  type: EDS\n  lb_policy: RING_HASH\n";
    let near = "- name: near\n  lb_policy: RING_HASH\n  load_assignment: {endpoints: [\
                {lb_endpoints: [{endpoint: {address: {socket_address: \
                {address: 10.0.0.1, port_value: 80}}}}]}]}\n";
    let configs = compat::find("envoy")?.read(&[eds, near].concat())?;
    assert_eq!((configs[0].name(), configs[1].name()), ("far", "near"));
    let error = configs[0].build().expect_err("no endpoints in the file");
    assert!(error.to_string().starts_with("line 3: type"), "{error}");
    assert_eq!(configs[0].error(), Some(&error));
    assert!(configs[1].build()?.route(b"key").is_some());
    assert_eq!(compat::find("envoy")?.read(eds).err(), Some(error));
    Ok(())
}

const ONE: &str = "{endpoint: {address: {socket_address: {address: 10.0.0.1, port_value: 80}}}}";

/// Writes a cluster of endpoints 10.0.0.1, 10.0.0.2, ..., each on its line with some more text.
fn cluster(policy: &str, endpoints: &[&str]) -> String {
    let mut text = format!(
        "name: a\nlb_policy: {policy}\nload_assignment:\n  endpoints:\n  - lb_endpoints:\n"
    );
    for (at, more) in (1..).zip(endpoints) {
        let endpoint = ONE.replace("0.0.1", &format!("0.0.{at}"));
        let open = endpoint.strip_suffix('}').unwrap_or_default();
        let _ = writeln!(text, "    - {open}, {more}}}");
    }
    text
}

fn hash_key(value: &str) -> String {
    format!("metadata: {{filter_metadata: {{envoy.lb: {{hash_key: {value}}}}}}}")
}

/// Returns the lines that may change routes, each with the text before its colon.
fn starts(config: &Config) -> Vec<(usize, &str)> {
    let unknown = unknown(config).into_iter();
    let start = |text: &'_ str| text.find(':').unwrap_or(text.len());
    unknown
        .map(|(line, text)| (line, &text[..start(text)]))
        .collect()
}

fn unknown(config: &Config) -> Vec<(usize, &str)> {
    let unknown = config.unknown().iter();
    unknown.map(|one| (one.line, &*one.text)).collect()
}

#[test]
fn only_a_string_is_a_hash_key() -> Result<(), Error> {
    for (value, label) in [
        ("7", None),
        ("-7", None),
        ("true", None),
        ("No", None),
        ("null", None),
        ("\"\"", None),
        ("[a]", None),
        ("\"7\"", Some("7")),
        ("'true'", Some("true")),
        ("a7", Some("a7")),
        ("truth", Some("truth")),
    ] {
        let configs = read(&cluster("RING_HASH", &[&hash_key(value)]))?;
        assert_eq!(configs[0].servers()[0].own_label(), label, "{value}");
        assert!(configs[0].unknown().is_empty(), "{value}");
    }
    for value in ["1.5", "0x1f", "007", "99999999999"] {
        let configs = read(&cluster("RING_HASH", &[&hash_key(value)]))?;
        assert_eq!(starts(&configs[0]), [(6, "hash_key")], "{value}");
    }
    Ok(())
}

#[test]
fn an_empty_hostname_counts_as_none() -> Result<(), Error> {
    let text = JSON.replacen(
        "{\"endpoint\": {",
        "{\"endpoint\": {\"hostname\": \"\", ",
        1,
    );
    assert_ne!(text, JSON);
    assert_eq!(read(&text)?[0].servers()[0].label(), "a.example");
    Ok(())
}

#[test]
fn features_that_are_not_modelled_are_reported() -> Result<(), Error> {
    let same = [hash_key("a"), hash_key("a")];
    let same: Vec<_> = same.iter().map(String::as_str).collect();
    let ring = read(&cluster("RING_HASH", &same))?;
    let twice =
        "\"a\" is hashed for two endpoints, and Envoy does not define which of them gets the keys";
    assert_eq!(unknown(&ring[0]), [(7, twice)]);
    assert!(unknown(&read(&cluster("MAGLEV", &same))?[0]).is_empty());

    let (up, down) = ("health_status: HEALTHY", "health_status: UNHEALTHY");
    let half = read(&cluster("MAGLEV", &[up, down, down, up]))?;
    assert!(unknown(&half[0]).is_empty());
    let most = read(&cluster("MAGLEV", &[up, down, down]))?;
    assert_eq!(starts(&most[0]), [(7, "health_status")]);

    let text = cluster("MAGLEV", &[up]) + "  - priority: 1\n    lb_endpoints: []\n";
    assert_eq!(starts(&read(&text)?[0]), [(7, "priority")]);
    Ok(())
}

#[test]
fn a_policy_may_be_a_number() -> Result<(), Error> {
    for (number, policy) in [("2", "RING_HASH"), ("5", "MAGLEV")] {
        let configs = read(&cluster(number, &["health_status: HEALTHY"]))?;
        let expected = Params::default().with("policy", policy);
        assert_eq!(configs[0].params(), &expected);
    }
    assert!(read(&cluster("1", &["health_status: HEALTHY"])).is_err());
    Ok(())
}

#[test]
fn a_hash_key_goes_before_a_hostname() -> Result<(), Error> {
    let endpoint = r#"{"endpoint": {"hostname": "beta","#;
    let metadata = r#"{"metadata": {"filterMetadata": {"envoy.lb": {"hash_key": "zeta"}}},"#;
    let text = JSON.replace(endpoint, &[metadata, &endpoint[1..]].concat());
    for (text, label) in [(JSON, "beta"), (&text, "zeta")] {
        assert_eq!(read(text)?[0].servers()[1].own_label(), Some(label));
    }
    Ok(())
}

// envoyproxy/envoy reads enumerations without regard to case.
#[test]
fn enumerations_may_have_any_case() -> Result<(), Error> {
    for (policy, kind) in [
        ("ring_hash", "static"),
        ("Ring_Hash", "Strict_Dns"),
        ("2", "1"),
    ] {
        let text = cluster(policy, &["health_status: healthy", "health_status: 2"]);
        let text = text.replace("lb_policy", &format!("type: {kind}\nlb_policy"));
        let config = read(&text)?.remove(0);
        assert_eq!(
            config.params(),
            &Params::default().with("policy", "RING_HASH")
        );
        let down: Vec<_> = config.servers().iter().map(Server::is_down).collect();
        assert_eq!(down, [false, true], "{policy}");
    }
    Ok(())
}

/// Writes a policy of `load_balancing_policy` with its settings.
fn typed(name: &str, kind: &str, settings: &str) -> String {
    format!(
        "{{typed_extension_config: {{name: envoy.load_balancing_policies.{name}, typed_config: {{\
         \"@type\": type.googleapis.com/envoy.extensions.load_balancing_policies.{name}.v3.{kind}, \
         {settings}}}}}}}"
    )
}

fn with_policies(policies: &[String]) -> String {
    let text = cluster("ROUND_ROBIN", &["health_status: HEALTHY"]);
    let list = format!(
        "load_balancing_policy: {{policies: [{}]}}",
        policies.join(", ")
    );
    text.replace("lb_policy: ROUND_ROBIN", &list)
}

#[test]
fn the_first_typed_policy_that_envoy_has_counts() -> Result<(), Error> {
    let ring = typed(
        "ring_hash",
        "RingHash",
        "minimum_ring_size: 64, maximumRingSize: \"128\", hash_function: murmur_hash_2, \
         consistent_hashing_lb_config: {hash_balance_factor: 150}",
    );
    let maglev = typed(
        "maglev",
        "Maglev",
        "table_size: 251, locality_weighted_lb_config: {}",
    );
    let even = typed("round_robin", "RoundRobin", "");
    let future = typed("next_year", "NextYear", "");
    let of_ring = Params::default()
        .with("policy", "RING_HASH")
        .with("min-ring-size", "64")
        .with("max-ring-size", "128")
        .with("hash-function", "MURMUR_HASH_2")
        .with("balance-factor", "150");
    let of_table = Params::default()
        .with("policy", "MAGLEV")
        .with("table-size", "251");
    for (policies, params) in [
        (vec![ring.clone(), maglev.clone()], &of_ring),
        (vec![maglev.clone(), ring.clone()], &of_table),
        (vec![maglev.clone(), even.clone()], &of_table),
    ] {
        let config = read(&with_policies(&policies))?.remove(0);
        assert_eq!(config.params(), params);
        let bound = params.get("balance-factor", 0)? > 0;
        assert_eq!(config.unknown().len(), usize::from(bound));
        assert!(config.build()?.route(b"key").is_some());
    }
    assert!(read(&with_policies(&[even, ring])).is_err(), "no hash");
    let config = read(&with_policies(&[future.clone(), maglev]))?.remove(0);
    assert_eq!(starts(&config), [(2, "policy next_year")]);
    for policies in [vec![future], vec![typed("subset", "Subset", "")], vec![]] {
        let error = read(&with_policies(&policies)).unwrap_err().to_string();
        assert!(error.starts_with("line 2: "), "{error}");
    }
    Ok(())
}

#[test]
fn a_typed_policy_counts_instead_of_lb_policy() -> Result<(), Error> {
    let text = with_policies(&[typed("maglev", "Maglev", "")]);
    let both = text.clone() + "lb_policy: RING_HASH\nring_hash_lb_config: {minimum_ring_size: 7}\n";
    assert_eq!(read(&both)?[0].params(), read(&text)?[0].params());
    Ok(())
}

#[test]
fn a_host_name_may_be_hashed_by_a_typed_policy() -> Result<(), Error> {
    let by_name = "consistent_hashing_lb_config: {use_hostname_for_hashing: true}";
    let policy = typed("maglev", "Maglev", by_name);
    let text = with_policies(&[policy]).replace("name: a\n", "name: a\ntype: STRICT_DNS\n");
    let text = text.replace("address: 10.0.0.1", "address: a.example");
    assert_eq!(read(&text)?[0].servers()[0].own_label(), Some("a.example"));
    Ok(())
}

const EDS: &str = r#"{"version_info": "7", "cluster": {
  "@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster",
  "name": "outbound|80||math", "type": "EDS", "connect_timeout": "10s", "lb_policy": "RING_HASH",
  "eds_cluster_config": {"eds_config": {"ads": {}}, "service_name": "math"},
  "ring_hash_lb_config": {"minimum_ring_size": "1024"}}}"#;

const ENDPOINTS: &str = r#"{"endpoint_config": {
  "@type": "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
  "cluster_name": "math", "policy": {"overprovisioning_factor": 140},
  "endpoints": [{"locality": {"zone": "z"}, "load_balancing_weight": 1, "lb_endpoints": [
    {"endpoint": {"address": {"socket_address": {"address": "10.0.0.1", "port_value": 80}}},
     "health_status": "HEALTHY", "metadata": {"filter_metadata": {"istio": {}}},
     "load_balancing_weight": 2}]}]}}"#;

// envoyproxy/envoy#26153 and #19739.
#[test]
fn a_dump_joins_a_cluster_with_its_endpoints() -> Result<(), Error> {
    let cluster = "{\"name\": \"b\", \"lb_policy\": \"MAGLEV\", \"load_assignment\": {}}";
    let dumps = [
        format!("{{\"configs\": [{EDS}, {ENDPOINTS}]}}"),
        format!("[{ENDPOINTS}, {EDS}]"),
        format!(
            "{{\"configs\": [{{\"bootstrap\": {{\"static_resources\": {{\"clusters\": [{cluster}]}}}}}}, \
             {{\"dynamic_active_clusters\": [{EDS}], \"static_clusters\": [{{\"cluster\": {cluster}}}]}}, \
             {{\"dynamic_endpoint_configs\": [{ENDPOINTS}]}}, {{\"dynamic_listeners\": []}}]}}"
        ),
    ];
    for dump in dumps {
        let configs = read(&dump)?;
        let config = &configs[0];
        assert_eq!(config.name(), "outbound|80||math");
        let server = &config.servers()[0];
        assert_eq!((server.name(), server.weight()), ("10.0.0.1:80", 2));
        assert!(config.unknown().is_empty(), "{:?}", config.unknown());
        let names: Vec<_> = configs.iter().map(Config::name).collect();
        assert!(names.len() == 1 || names[1..] == ["b"], "{names:?}");
    }
    let error = read(EDS).unwrap_err().to_string();
    assert!(
        error.starts_with("line 3: type EDS") && error.contains("include_eds"),
        "{error}"
    );
    Ok(())
}

#[test]
fn old_forms_and_other_files_are_named() {
    let old = "clusters:\n- {name: a, lb_type: ring_hash, hosts: [{url: 'tcp://a:1'}]}";
    let second = "{name: a, lb_policy: MAGLEV, hosts: []}";
    for (text, part) in [
        (old, "line 2: lb_type is of Envoy's API v1"),
        (second, "line 1: hosts is of Envoy's API v2"),
        (ENDPOINTS, "endpoints without a cluster"),
        ("{cluster_statuses: []}", "no cluster of Envoy"),
        (
            "{name: a, lb_policy: RANDOM}",
            "no cluster has an lb_policy",
        ),
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
}

#[test]
fn weights_of_localities_matter_only_with_several() -> Result<(), Error> {
    let text = cluster("MAGLEV", &["health_status: HEALTHY"])
        + "common_lb_config: {locality_weighted_lb_config: {}}\n";
    assert!(read(&text)?[0].build()?.route(b"key").is_some());
    let more = format!(
        "  - lb_endpoints: [{}]\ncommon_lb",
        ONE.replace("0.1", "0.2")
    );
    let error = read(&text.replace("common_lb", &more)).unwrap_err();
    let error = error.to_string();
    assert!(error.contains("several localities"), "{error}");
    assert!(error.contains("expected one locality"), "{error}");
    Ok(())
}

#[test]
fn anchors_are_read() -> Result<(), Error> {
    let text = cluster("RING_HASH", &["health_status: HEALTHY"])
        .replace(
            "lb_policy",
            "ring_hash_lb_config: &size {minimum_ring_size: 64}\nlb_policy",
        )
        .replace(
            "name: a\n",
            "name: a\ncircuit_breakers: &x {y: 1}\nmetadata: *x\n",
        );
    assert_eq!(read(&text)?[0].params().get("min-ring-size", 0)?, 64);
    Ok(())
}

#[test]
fn routes_say_what_is_hashed() -> Result<(), Error> {
    let routes = |policies: &[&str]| -> Result<Option<String>, Error> {
        let of = |policy: &&str| {
            format!("  - match: {{prefix: /}}\n    route: {{cluster: c, {policy}}}\n")
        };
        let routes: String = policies.iter().map(of).collect();
        let clusters = cluster("MAGLEV", &["health_status: HEALTHY"]).replace("name: a", "name: c");
        let text = format!(
            "clusters:\n- {}\nroutes:\n{routes}",
            clusters.trim_end().replace('\n', "\n  ")
        );
        let config = read(&text)?.remove(0);
        Ok(config.key_source().map(|source| source.key.to_string()))
    };
    let header = "hash_policy: [{header: {header_name: X-User}}]";
    let camel = "hashPolicy: [{header: {headerName: x-user}}]";
    let cookie = "hash_policy: [{cookie: {name: sid, ttl: 0s}}]";
    let user = Some(String::from("the value of the header x-user"));
    assert_eq!(routes(&["timeout: 1s"])?, None);
    assert_eq!(routes(&[header])?, user);
    assert_eq!(routes(&[header, camel])?, user);
    let both = routes(&[header, cookie])?;
    assert_eq!(
        both.as_deref(),
        Some("the value of the header x-user, or the value of the cookie sid")
    );
    let path = "hash_policy: [{header: {header_name: ':path'}, terminal: true}]";
    assert_eq!(
        routes(&[path])?.as_deref(),
        Some("the path with the query, as sent")
    );
    let two =
        "hash_policy: [{connection_properties: {source_ip: true}}, {query_parameter: {name: q}}]";
    let two = routes(&[two])?.unwrap_or_default();
    assert!(
        two.starts_with("a combination of the address of the client"),
        "{two}"
    );
    let unknown = "hash_policy: [{header: {header_name: x-user}}, {frobnicate: {}}]";
    let unknown = routes(&[unknown])?.unwrap_or_default();
    assert!(
        unknown.contains("and what frobnicate gives, which is unknown here"),
        "{unknown}"
    );
    Ok(())
}
