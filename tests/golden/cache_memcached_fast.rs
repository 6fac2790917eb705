//! `Cache::Memcached::Fast`: ring and modulo.

use hashroute::compat::{self, Server};
use hashroute::strategy::Params;
use serde_json::Value;

use crate::{Fallible, groups, known, routes, small, some};

pub(crate) fn check(file: &Value) -> Fallible<usize> {
    let mut checked = 0;
    for group in groups(file, &["ketama_points", "namespace", "servers"])? {
        let points = small(&group["ketama_points"])?;
        let (servers, unit) = servers(some(group, "servers")?)?;
        // The namespace is not hashed, since `hash_namespace` is off.
        group["namespace"].as_str().ok_or("no namespace")?;
        let params = Params::default()
            .with("ketama_points", points.to_string())
            .with("unit", unit.to_string());
        let pool = compat::find("cache-memcached-fast")?.build(servers, &params)?;
        checked += routes(group, &pool, str::to_owned)?;
    }
    Ok(checked)
}

/// Returns the servers with whole weights, and the unit of the weights.
fn servers(rows: &[Value]) -> Fallible<(Vec<Server>, u32)> {
    rows.iter()
        .try_for_each(|row| known(row, &["addr", "weight"]))?;
    let weights = rows.iter().map(|row| row["weight"].as_f64());
    let weights: Vec<_> = weights.collect::<Option<_>>().ok_or("no weight")?;
    let whole = |unit: u32| {
        let scaled = weights.iter().map(|weight| weight * f64::from(unit));
        let is_whole = |scaled: f64| (scaled - scaled.round()).abs() < 1e-9;
        scaled
            .clone()
            .all(is_whole)
            .then(|| (unit, scaled.collect::<Vec<_>>()))
    };
    let units = [1, 10, 100, 1000, 10_000].into_iter().find_map(whole);
    let (unit, scaled) = units.ok_or("weights of more than four digits after the point")?;
    let servers = rows.iter().zip(scaled).map(|(row, weight)| {
        let address = row["addr"].as_str().ok_or("a server without address")?;
        let weight: u32 = weight.round().to_string().parse()?;
        Ok(Server::new(address).with_weight(weight))
    });
    Ok((servers.collect::<Fallible<_>>()?, unit))
}
