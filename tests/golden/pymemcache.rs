//! pymemcache: rendezvous over the labels of its `HashClient`.

use hashroute::compat::{self, Server};
use hashroute::strategy::Params;
use serde_json::Value;

use crate::{Fallible, groups, routes, some};

pub(crate) fn check(file: &Value) -> Fallible<usize> {
    groups(file, &["nodes"])?
        .iter()
        .try_fold(0, |checked, group| {
            let names = some(group, "nodes")?.iter().map(Value::as_str);
            let names: Option<Vec<_>> = names.collect();
            let servers = names
                .ok_or("a node without name")?
                .into_iter()
                .map(Server::new);
            let pool = compat::find("pymemcache")?.build(servers, &Params::default())?;
            Ok(checked + routes(group, &pool, str::to_owned)?)
        })
}
