//! Tokens of the partitioners of Cassandra.

use hashroute::Router;
use hashroute::compat::cassandra::Partitioner;
use hashroute::compat::{self, Server};
use hashroute::strategy::Params;
use serde_json::Value;

use crate::{Fallible, bytes, groups, some};

pub(crate) fn check(file: &Value) -> Fallible<usize> {
    let groups = groups(file, &[])?.iter();
    groups.map(check_group).sum()
}

/// Compares the tokens, and the owner in a ring: the node with the first token at or after it.
fn check_group(group: &Value) -> Fallible<usize> {
    let (name, partitioner, tokens) = match group["config"].as_str().unwrap_or_default() {
        "Murmur3Partitioner" => (
            "murmur3",
            Partitioner::Murmur3,
            [i128::from(i64::MIN), -4 << 60, 0, 4 << 60],
        ),
        config if config.starts_with("RandomPartitioner") => (
            "random",
            Partitioner::Random,
            [0, 1 << 125, 1 << 126, 3 << 125],
        ),
        other => return Err(format!("an unknown partitioner: {other:?}").into()),
    };
    let map = tokens.map(|token| format!("{token}={token}")).join(";");
    let params = Params::default().with("partitioner", name);
    let servers = tokens.map(|token| Server::new(token.to_string()));
    let pool = compat::find("cassandra")?.build(servers, &params.with("tokens", map))?;
    let rows = some(group, "vectors")?;
    for row in rows {
        let key = bytes(&row[0])?;
        let expected: i128 = row[1].as_str().ok_or("no token")?.parse()?;
        let token = partitioner.token(&key);
        if token != expected {
            return Err(format!("{name}: {row}, not {token}").into());
        }
        let owner = tokens.iter().find(|of| **of >= token).unwrap_or(&tokens[0]);
        let routed = pool.route(&key).map(hashroute::Node::name);
        assert_eq!(routed, Some(&*owner.to_string()), "{row}");
    }
    Ok(rows.len())
}
