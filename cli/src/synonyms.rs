//! What people of this field call things that have another name here, in one place.

/// Names that people type, and the name here.
type Row = (&'static [&'static str], &'static str);

/// What stands for the typed value.
pub(crate) const VALUE: &str = "{}";

/// Options of other tools. If a name is in several rows, the first one counts whose option the
/// command has.
const OPTIONS: &[Row] = &[
    (&["json"], "--format json"),
    (&["csv-output", "as-csv"], "--format csv"),
    (&["markdown", "md"], "--format markdown"),
    (&["output-format", "fmt"], "--format {}"),
    (
        &[
            "vnodes",
            "vnode",
            "virtual-nodes",
            "points",
            "tokens",
            "num-tokens",
            "points-per-node",
            "virtual-node-count",
        ],
        "--set points={}",
    ),
    (&["table-size", "lookup-table-size"], "--set table-size={}"),
    (&["slots", "partitions", "num-slots"], "--set slots={}"),
    (
        &[
            "load",
            "load-factor",
            "balance-factor",
            "hash-balance-factor",
        ],
        "--set load={}",
    ),
    (&["param", "parameter"], "--set {}"),
    (
        &[
            "servers",
            "server",
            "hosts",
            "backends",
            "members",
            "node",
            "node-list",
        ],
        "--nodes {}",
    ),
    (
        &[
            "num-nodes",
            "node-count",
            "nodes-count",
            "number-of-nodes",
            "num",
        ],
        "--count {}",
    ),
    (
        &["input", "file", "key-file", "keys-file", "input-file"],
        "--keys {}",
    ),
    (&["keys-csv", "key-csv"], "--csv {}"),
    (&["ndjson", "json-lines", "jsonlines"], "--jsonl {}"),
    (&["pattern", "key-pattern", "key-template"], "--template {}"),
    (&["output", "out-file", "output-file"], "--out {}"),
    (
        &["algorithm", "algo", "router", "distribution"],
        "--strategy {}",
    ),
    (&["strategies"], "--strategy {}"),
    (&["system", "proxy", "mimic"], "--dialect {}"),
    (
        &["hash-function", "hash-fn", "hasher", "hash-algorithm"],
        "--hash {}",
    ),
    (&["seed"], "--hash-seed {}"),
    (&["hashtag", "tag"], "--hash-tag {}"),
    (&["conf", "config-file", "configuration"], "--config {}"),
    (&["cluster", "upstream", "backend", "section"], "--pool {}"),
    (&["add-node", "join", "new-node"], "--add {}"),
    (
        &["delete", "rm", "drop", "remove-node", "del"],
        "--remove {}",
    ),
    (&["set-weight", "weight"], "--reweight {}"),
    (&["drain", "evacuate", "decommission"], "--reweight {}=0"),
    (
        &["drain", "evacuate", "decommission", "del-node"],
        "--remove {}",
    ),
    (&["rebalance", "balance", "use-empty-masters"], "--even"),
    (
        &["apply", "execute", "run", "script", "shell"],
        "--commands sh",
    ),
    (&["measure", "metric", "weigh-by"], "--by {}"),
    (
        &["copies", "replication-factor", "rf", "replication"],
        "--replicas {}",
    ),
    (&["silent", "no-progress"], "--quiet"),
    (&["settings", "options-file", "profile"], "--options {}"),
    (
        &["max-mean", "max-load", "max-imbalance", "threshold"],
        "--max-over-mean {}",
    ),
    (&["max-stddev", "max-cov"], "--max-cv {}"),
];

/// Commands.
const COMMANDS: &[Row] = &[
    (&["completion", "complete"], "completions"),
    (&["manual", "manpage", "man-page", "manpages"], "man"),
    (
        &["lookup", "locate", "get", "owner", "find", "hash"],
        "route",
    ),
    (
        &[
            "distribution",
            "spread",
            "stats",
            "count",
            "measure",
            "imbalance",
        ],
        "balance",
    ),
    (&["bench", "benchmark", "contest"], "compare"),
    (
        &["move", "moves", "simulate", "add", "remove", "disruption"],
        "remap",
    ),
    (
        &["why", "diagnose", "analyze", "analyse", "hotspots"],
        "skew",
    ),
    (&["migrate", "migration", "rebalance", "reshard"], "plan"),
    (&["trace", "describe"], "explain"),
    (&["plot", "picture", "graph", "svg"], "draw"),
    (&["html", "page"], "report"),
    (&["assert", "verify", "test", "ci"], "check"),
    (&["algorithms", "routers"], "strategies"),
    (&["systems", "proxies"], "dialects"),
    (&["hash-functions", "hashers"], "hashes"),
    (&["fingerprint"], "spec fingerprint"),
    (&["version"], "--version"),
];

/// Strategies. A name that starts with `--` is an option that takes its place.
const STRATEGIES: &[Row] = &[
    (
        &[
            "hrw",
            "highest-random-weight",
            "rendezvous-hashing",
            "weighted-rendezvous",
            "rdv",
        ],
        "rendezvous",
    ),
    (
        &[
            "consistent",
            "consistent-hash",
            "consistent-hashing",
            "consistenthash",
            "hash-ring",
            "hashring",
            "ring-hash",
            "karger",
            "chash",
            "continuum",
        ],
        "ring",
    ),
    (&["ketama", "ketama-ring"], "--dialect libketama"),
    (&["memcached", "memcache"], "--dialect libmemcached"),
    (&["nutcracker"], "--dialect twemproxy"),
    (
        &["redis", "valkey", "rediscluster"],
        "--dialect redis-cluster",
    ),
    (&["ats"], "--dialect trafficserver"),
    (
        &["jump-hash", "jumphash", "jump-consistent-hash", "jch"],
        "jump",
    ),
    (
        &["mod", "modula", "mod-n", "hash-mod", "remainder"],
        "modulo",
    ),
    (
        &["maglev-hash", "maglev-hashing", "mh", "lookup-table"],
        "maglev",
    ),
    (
        &[
            "chbl",
            "bounded-load",
            "bounded-loads",
            "consistent-hashing-with-bounded-loads",
        ],
        "bounded",
    ),
    (&["hash-slots", "hashslots", "slot"], "slots"),
];

/// Parameters. The first row counts whose parameter the strategy has.
const PARAMETERS: &[Row] = &[
    (POINTS, "points"),
    (POINTS, "vnodes"),
    (POINTS, "replicas"),
    (POINTS, "tokens"),
    (POINTS, "ketama_points"),
    (POINTS, "min-ring-size"),
    (TABLE, "table-size"),
    (TABLE, "slots"),
    (TABLE, "partitions"),
    (LOAD, "load"),
    (LOAD, "balance-factor"),
    (
        &["distribution", "algorithm", "lb-policy", "policy"],
        "method",
    ),
    (&["lb-policy", "method"], "policy"),
    (&["hash-function", "hash-type"], "function"),
    (&["hash", "algorithm"], "hash-function"),
    (&["hash-function", "hash-type", "algorithm"], "hash"),
];
const POINTS: &[&str] = &[
    "vnodes",
    "vnode",
    "virtual-nodes",
    "replicas",
    "tokens",
    "num-tokens",
    "points",
    "points-per-node",
    "weight-multiplier",
    "ring-size",
];
const TABLE: &[&str] = &[
    "size",
    "table",
    "lookup-table-size",
    "slots",
    "partitions",
    "m",
    "cells",
    "buckets",
];
const LOAD: &[&str] = &[
    "load-factor",
    "factor",
    "c",
    "balance-factor",
    "hash-balance-factor",
    "max-load",
    "overload",
];

/// Hash functions.
const HASHES: &[Row] = &[
    (&["xxhash", "xxh", "xxh3-64", "xxhash3", "xxh128"], "xxh3"),
    (&["xxhash64", "xx64"], "xxh64"),
    (
        &["siphash", "sip", "siphash24", "siphash-2-4", "sip-2-4"],
        "sip24",
    ),
    (&["siphash13", "siphash-1-3", "sip-1-3"], "sip13"),
    (
        &[
            "murmur",
            "murmur3",
            "murmurhash",
            "murmurhash3",
            "mmh3",
            "murmur32",
        ],
        "murmur3-32",
    ),
    (
        &["murmur128", "murmur3-x64-128", "murmur3-128-x64"],
        "murmur3-128",
    ),
    (&["fnv", "fnv1a", "fnv-1a", "fnv64", "fnv1a64"], "fnv1a-64"),
    (&["fnv1", "fnv-1", "fnv1-64bit"], "fnv1-64"),
    (&["fnv32", "fnv1a32"], "fnv1a-32"),
    (&["crc", "crc-32", "crc32-ieee"], "crc32"),
    (&["crc-16", "crc16-xmodem", "redis"], "crc16"),
    (&["ketama"], "md5"),
];

/// Values of `--format`.
const FORMATS: &[Row] = &[
    (&["md", "gfm"], "markdown"),
    (&["text", "txt", "plain", "human", "pretty"], "table"),
    (&["tsv"], "csv"),
    (&["jsonl", "ndjson"], "json"),
];

/// Values of options with a few values of their own.
const VALUES: &[Row] = &[
    (&["size", "sizes", "byte", "memory", "mem"], "bytes"),
    (
        &["request", "hits", "ops", "qps", "rps", "traffic", "freq"],
        "requests",
    ),
    (&["key", "count", "number"], "keys"),
    (&["bash", "shell", "script", "zsh", "redis-cli"], "sh"),
    (&["setslot", "migrate", "redis", "valkey"], "classic"),
    (&["import", "migration", "asm"], "atomic"),
    (&["pwsh", "ps1"], "powershell"),
    (&["sh", "ksh", "dash"], "bash"),
    (&["yml", "yaml", "text"], "toml"),
    (&["zone", "az", "datacenter", "dc"], "zones"),
    (&["rack"], "racks"),
];

/// The kind of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Option,
    Command,
    Strategy,
    Parameter,
    Hash,
    Format,
    /// A value of any other option.
    Value,
}

/// Returns the text in lower case, with `-` for `_`: the form in which names are compared.
pub(crate) fn plain(name: &str) -> String {
    name.to_lowercase().replace('_', "-")
}

/// Returns what the typed name may mean here, the best first.
pub(crate) fn meanings(kind: Kind, typed: &str) -> impl Iterator<Item = &'static str> {
    let rows = match kind {
        Kind::Option => OPTIONS,
        Kind::Command => COMMANDS,
        Kind::Strategy => STRATEGIES,
        Kind::Parameter => PARAMETERS,
        Kind::Hash => HASHES,
        Kind::Format => FORMATS,
        Kind::Value => VALUES,
    };
    let typed = plain(typed);
    let meant = move |row: &&Row| row.0.contains(&&*typed);
    rows.iter().filter(meant).map(|row| row.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_their_plain_form() {
        for rows in [
            OPTIONS, COMMANDS, STRATEGIES, PARAMETERS, HASHES, FORMATS, VALUES,
        ] {
            for typed in rows.iter().flat_map(|row| row.0) {
                assert_eq!(*typed, plain(typed));
            }
        }
    }

    #[test]
    fn what_is_meant_exists() {
        for (_, name) in HASHES {
            assert!(name.parse::<hashroute::HashFunction>().is_ok(), "{name}");
        }
        for (_, name) in STRATEGIES {
            let found = match name.strip_prefix("--dialect ") {
                Some(dialect) => hashroute::compat::find(dialect),
                None => hashroute::strategy::find(name),
            };
            assert!(found.is_ok(), "{name}");
        }
        let params = || hashroute::schemes().flat_map(|row| row.params);
        for (_, name) in PARAMETERS {
            assert!(params().any(|param| param.name == *name), "{name}");
        }
    }

    #[test]
    fn a_name_of_ours_has_no_other_meaning() {
        for row in hashroute::strategy::ALL {
            assert_eq!(
                meanings(Kind::Strategy, row.name).next(),
                None,
                "{}",
                row.name
            );
        }
        for function in hashroute::HashFunction::ALL {
            assert_eq!(
                meanings(Kind::Hash, function.name()).next(),
                None,
                "{function:?}"
            );
        }
    }
}
