//! The targets.

mod cluster;
mod configs;
mod histories;
mod keys;
mod nodes;
mod params;
mod partial;
mod peers;
mod plans;
mod specs;

use crate::Target;

macro_rules! targets {
    ($($name:literal $run:path: $about:literal)+) => {
        /// All targets, in the order of their kinds.
        pub static ALL: &[Target] = &[$(Target { name: $name, about: $about, run: $run }),+];
    };
}

targets! {
    "config_haproxy" configs::haproxy: "haproxy.cfg: read, built, written, read again"
    "config_nginx" configs::nginx: "nginx.conf: read, built, written, read again"
    "config_twemproxy" configs::twemproxy: "nutcracker.yml: read, built, written, read again"
    "config_libmemcached" configs::libmemcached: "libmemcached's string: read, built, written, read again"
    "config_envoy" configs::envoy: "clusters in YAML and JSON: read, built, written, read again"
    "config_trafficserver" configs::trafficserver: "parent.config and strategies.yaml: read and built"
    "config_redis_cluster" configs::redis_cluster: "CLUSTER NODES as a configuration: read and built"
    "cluster_nodes" cluster::nodes: "CLUSTER NODES, nodes.conf and SETNODES: written and read"
    "cluster_replies" cluster::replies: "CLUSTER SLOTS and SHARDS: values, printed, raw, JSON"
    "cluster_values" cluster::values: "any value of RESP, printed and read"
    "cluster_redirects" cluster::redirects: "MOVED, ASK and other errors, with addresses"
    "specs" specs::specs: "specs as TOML and JSON: written, read, changed"
    "partial_tallies" partial::tallies: "counts: written, sealed again after damage, read, merged"
    "partial_evidence" partial::evidence: "evidence of skew: written, sealed again after damage, read, merged"
    "keys_lines" keys::lines: "one key a line, at once and in batches"
    "keys_csv" keys::csv: "comma-separated keys with sizes and requests"
    "keys_jsonl" keys::jsonl: "keys as JSON, one a line"
    "keys_dumps" keys::dumps: "keys that redis-cli and memcached print"
    "keys_kinds" keys::kinds: "the kind of a file by its start"
    "keys_packed" keys::packed: "files that gzip or zstd packed"
    "node_files" keys::nodes: "nodes as CSV and JSON, changes as JSON"
    "params" params::params: "parameters of every row, and what they build"
    "words" params::words: "hash tags, names, hashers and sets of nodes against models"
    "histories" histories::changes: "changes of every row against a fresh build, and the laws"
    "tokens" histories::tokens: "a ring of explicit tokens against a sorted list"
    "plans" plans::plans: "plans against their budget and the diff; transitions lose no key"
    "shared" plans::shared: "a shared router against a list of its versions"
    "leases" plans::leases: "bounded loads against a list of leases"
    "slot_plans" plans::slots: "plans of Redis slots: budgets, progress, the goal"
    "peer_jump" peers::jump: "jump against jump-consistent-hash and the paper's loop"
    "peer_slots" peers::slots: "slots of Redis against resp-rs and a bitwise CRC"
    "peer_ketama" peers::ketama: "nginx's ketama against pingora-ketama"
}
