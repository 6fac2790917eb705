//! Writes a cluster of Envoy.

use alloc::format;
use alloc::string::String;
use core::fmt::Write as _;
use core::net::IpAddr;

use super::{BALANCE_FACTOR, HASH_FUNCTION, MAX_RING_SIZE, MIN_RING_SIZE, POLICY, TABLE_SIZE};
use crate::Error;
use crate::compat::Server;
use crate::compat::parts::writing::{host_and_port, plain, quoted, values};
use crate::registry::Setup;

pub(super) fn write(setup: &Setup, pool: &str) -> Result<String, Error> {
    let values = values(setup)?;
    let pool = plain("pool", pool)?;
    let servers = setup.servers();
    let is_ip = |server: &Server| Ok::<_, Error>(host(server)?.0.parse::<IpAddr>().is_ok());
    let mut discovery = "STATIC";
    for server in servers {
        if !is_ip(server)? {
            discovery = "STRICT_DNS";
        }
    }
    let policy = &values[POLICY.name];
    let mut text =
        format!("name: {pool}\nconnect_timeout: 1s\ntype: {discovery}\nlb_policy: {policy}\n");
    let table = if policy == "MAGLEV" {
        format!(
            "maglev_lb_config:\n  table_size: {}\n",
            values[TABLE_SIZE.name]
        )
    } else {
        format!(
            "ring_hash_lb_config:\n  minimum_ring_size: {}\n  maximum_ring_size: {}\n  hash_function: {}\n",
            values[MIN_RING_SIZE.name], values[MAX_RING_SIZE.name], values[HASH_FUNCTION.name],
        )
    };
    text += &table;
    if values[BALANCE_FACTOR.name] != "0" {
        let _ = writeln!(
            text,
            "common_lb_config:\n  consistent_hashing_lb_config:\n    hash_balance_factor: {}",
            values[BALANCE_FACTOR.name]
        );
    }
    let _ = writeln!(
        text,
        "load_assignment:\n  cluster_name: {pool}\n  endpoints:\n  - lb_endpoints:"
    );
    for server in servers {
        text += &endpoint(server)?;
    }
    Ok(text)
}

/// Returns the host, without the brackets of an IPv6 address, and the port.
fn host(server: &Server) -> Result<(&str, u16), Error> {
    let (host, port) = host_and_port(server.name())?;
    let inner = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    Ok((inner.unwrap_or(host), port))
}

fn endpoint(server: &Server) -> Result<String, Error> {
    let (host, port) = host(server)?;
    let mut text = format!(
        "    - endpoint:\n        address:\n          socket_address: {{ address: {}, port_value: {port} }}\n",
        quoted(host)
    );
    let _ = writeln!(text, "      load_balancing_weight: {}", server.weight());
    if server.is_down() {
        text += "      health_status: UNHEALTHY\n";
    }
    if let Some(label) = server.own_label() {
        let label = quoted(plain("label", label)?);
        let _ = writeln!(
            text,
            "      metadata: {{ filter_metadata: {{ envoy.lb: {{ hash_key: {label} }} }} }}"
        );
    }
    Ok(text)
}
