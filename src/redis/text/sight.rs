//! Texts that are no table, known by sight: errors of servers, and other reports of `redis-cli`.

use alloc::format;
use alloc::string::String;

/// A start of a line, and what it means.
const STARTS: &[(&str, &str)] = &[
    (
        "NOAUTH",
        "the server wants a password: set REDISCLI_AUTH and print the table again (redis-cli --user NAME for an ACL user)",
    ),
    (
        "WRONGPASS",
        "the server refused the user or the password: set REDISCLI_AUTH and redis-cli --user, and print the table again",
    ),
    (
        "AUTH failed",
        "the server refused the user or the password: set REDISCLI_AUTH and redis-cli --user, and print the table again",
    ),
    (
        "NOPERM",
        "the user may not run CLUSTER: give it +cluster|nodes (ACL SETUSER), or take another user",
    ),
    (
        "Could not connect",
        "redis-cli reached no server: check redis-cli -h HOST -p PORT, and --tls if the port wants it",
    ),
    (
        "Error: Server closed the connection",
        "the server closed the connection: add redis-cli --tls if the port wants it",
    ),
    (
        "Error: Connection reset by peer",
        "the server closed the connection: add redis-cli --tls if the port wants it",
    ),
    (
        "I/O error",
        "redis-cli lost the connection: add --tls if the port wants it, and print the table again",
    ),
    (
        "ERR This instance has cluster support disabled",
        "the server runs without cluster mode (cluster-enabled no): it has no slots to show",
    ),
    (
        "ERR unknown command",
        "the server does not know CLUSTER: expected the output of CLUSTER NODES from a server in cluster mode",
    ),
    (
        "ERR Unknown subcommand",
        "the server does not know this form: expected the output of CLUSTER NODES, which every version has",
    ),
    (
        "ERR unknown subcommand",
        "the server does not know this form: expected the output of CLUSTER NODES, which every version has",
    ),
    (
        "CLUSTERDOWN",
        "the answer to a request for a key while the cluster is down: expected the output of CLUSTER NODES, which servers give even then",
    ),
    (
        "MOVED ",
        "a redirection of a request for a key: expected the output of CLUSTER NODES",
    ),
    (
        "ASK ",
        "a redirection of a request for a key: expected the output of CLUSTER NODES",
    ),
    (
        "LOADING",
        "the server is still loading its data: print the table again later",
    ),
    (
        "MASTERDOWN",
        "a replica without its primary: print the table of another server",
    ),
    (
        "DENIED",
        "the server is in protected mode: ask it from its own host, or with a password",
    ),
    (
        "READONLY",
        "the refusal of a write: expected the output of CLUSTER NODES",
    ),
    (
        ">>> Performing Cluster Check",
        "the output of redis-cli --cluster check: expected that of redis-cli cluster nodes",
    ),
    (
        "M: ",
        "the output of redis-cli --cluster check: expected that of redis-cli cluster nodes",
    ),
    (
        "S: ",
        "the output of redis-cli --cluster check: expected that of redis-cli cluster nodes",
    ),
    (
        "[OK] ",
        "the output of redis-cli --cluster: expected that of redis-cli cluster nodes",
    ),
    (
        "[ERR] ",
        "the output of redis-cli --cluster: expected that of redis-cli cluster nodes",
    ),
    (
        ">>> ",
        "the output of redis-cli --cluster: expected that of redis-cli cluster nodes",
    ),
    (
        "cluster_enabled:",
        "the output of INFO: expected that of CLUSTER NODES",
    ),
    (
        "cluster_state:",
        "the output of CLUSTER INFO: expected that of CLUSTER NODES",
    ),
    ("# ", "the output of INFO: expected that of CLUSTER NODES"),
    (
        "redis_version:",
        "the output of INFO: expected that of CLUSTER NODES",
    ),
    (
        "ERR ",
        "an error of the server: expected the output of CLUSTER NODES",
    ),
    (
        "Unrecognized option",
        "redis-cli does not know an option: check redis-cli --help, and print the table again",
    ),
];

/// Returns what a first line is, if it is known to be no table.
pub(super) fn known(line: &str) -> Option<String> {
    let bare = line.strip_prefix("(error) ").unwrap_or(line);
    let bare = bare
        .strip_prefix('-')
        .filter(|rest| rest.starts_with(|first: char| first.is_ascii_uppercase()))
        .unwrap_or(bare);
    if is_summary(bare) {
        return Some(
            "the output of redis-cli --cluster check or info: expected that of redis-cli cluster nodes".into(),
        );
    }
    let (start, meaning) = STARTS.iter().find(|(start, _)| bare.starts_with(start))?;
    // A word in capitals is shown with the rest of its line, which names the server or the slot.
    let shown: String = bare.chars().take(100).collect();
    let is_word = start.starts_with(|first: char| first.is_ascii_alphabetic());
    Some(if is_word {
        format!("{shown:?}: {meaning}")
    } else {
        (*meaning).into()
    })
}

/// Returns whether a line is `10.0.0.1:6379 (c1007981...) -> 5 keys | 5461 slots | 1 slaves.`.
fn is_summary(line: &str) -> bool {
    line.contains("...) -> ") && line.contains(" keys | ")
}

/// Returns whether a line is no part of an answer: a prompt with a command, a command of a shell,
/// or a warning about a password.
pub(super) fn is_beside(line: &str) -> bool {
    let line = line.trim();
    is_prompt(line)
        || line.starts_with("Warning: ")
        || line.split_whitespace().any(|word| {
            let word = word.rsplit('/').next().unwrap_or(word);
            matches!(word, "redis-cli" | "valkey-cli" | "keydb-cli")
        })
}

/// Returns whether a line is `127.0.0.1:7000> cluster nodes`, or such a prompt alone.
fn is_prompt(line: &str) -> bool {
    let Some((place, _)) = line.split_once('>') else {
        return false;
    };
    // The number of the database comes in brackets, a transaction as (TX).
    let place = place.trim_end_matches("(TX)");
    let place = match place.rsplit_once('[') {
        Some((place, _)) if place.contains(':') => place,
        _ => place,
    };
    let port = place.rsplit_once(':').map_or("", |(_, port)| port);
    !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) && !place.contains(' ')
}
