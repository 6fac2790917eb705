//! `load_assignment`: the endpoints of a cluster.

use alloc::format;
use alloc::string::String;
use core::net::IpAddr;

use super::{Cluster, Discovery, Field, fields, number};
use crate::Error;
use crate::compat::Server;
use crate::compat::config::{expected, wrong};
use crate::compat::yaml::Yaml;

/// An endpoint as far as it is read.
#[derive(Debug)]
struct Endpoint {
    address: Option<String>,
    port: Option<u16>,
    hostname: Option<String>,
    hash_key: Option<String>,
    weight: u32,
    down: bool,
}

impl Cluster {
    pub(super) fn assignment(&mut self, field: &Field<'_>) -> Result<(), Error> {
        for field in fields(field.value, "load_assignment")? {
            match &*field.name {
                "cluster_name" => {}
                "endpoints" => {
                    for locality in field.value.list("endpoints")? {
                        self.locality(locality)?;
                    }
                }
                _ => self.report(&field),
            }
        }
        Ok(())
    }

    /// Endpoints of a priority below the first take no key while those above are healthy.
    fn locality(&mut self, yaml: &Yaml) -> Result<(), Error> {
        let fields = fields(yaml, "endpoints")?;
        let mut reserve = false;
        for field in &fields {
            match &*field.name {
                "priority" => reserve = number::<u32>(field)? > 0,
                "lb_endpoints" | "locality" | "load_balancing_weight" => {}
                _ => self.report(field),
            }
        }
        for field in fields.iter().filter(|field| field.name == "lb_endpoints") {
            for endpoint in field.value.list("lb_endpoints")? {
                let server = self.endpoint(endpoint, reserve)?;
                self.servers.push(server);
            }
        }
        Ok(())
    }

    fn endpoint(&mut self, yaml: &Yaml, reserve: bool) -> Result<Server, Error> {
        let mut endpoint = Endpoint {
            address: None,
            port: None,
            hostname: None,
            hash_key: None,
            weight: 1,
            down: reserve,
        };
        for field in fields(yaml, "lb_endpoints")? {
            match &*field.name {
                "endpoint" => self.inner(&field, &mut endpoint)?,
                "load_balancing_weight" => {
                    endpoint.weight = number(&field)?;
                    if endpoint.weight == 0 {
                        return Err(expected(field.line, &field.name, "0", "1 or more"));
                    }
                }
                "health_status" => endpoint.down |= is_down(&field)?,
                "metadata" => endpoint.hash_key = hash_key(&field)?,
                _ => self.report(&field),
            }
        }
        self.server(yaml.line, endpoint)
    }

    fn inner(&mut self, field: &Field<'_>, endpoint: &mut Endpoint) -> Result<(), Error> {
        for field in fields(field.value, "endpoint")? {
            match &*field.name {
                "address" => self.address(&field, endpoint)?,
                "hostname" => endpoint.hostname = Some(field.value.text("hostname")?.into()),
                "health_check_config" => {}
                _ => self.report(&field),
            }
        }
        Ok(())
    }

    fn address(&mut self, field: &Field<'_>, endpoint: &mut Endpoint) -> Result<(), Error> {
        for field in fields(field.value, "address")? {
            if field.name != "socket_address" {
                let known = "a socket_address";
                return Err(expected(field.line, "address", &field.name, known));
            }
            for field in fields(field.value, "socket_address")? {
                match &*field.name {
                    "address" => endpoint.address = Some(field.value.text("address")?.into()),
                    "port_value" => endpoint.port = Some(number(&field)?),
                    "protocol" | "resolver_name" | "ipv4_compat" => {}
                    _ => self.report(&field),
                }
            }
        }
        Ok(())
    }

    fn server(&mut self, line: usize, endpoint: Endpoint) -> Result<Server, Error> {
        let (Some(address), Some(port)) = (endpoint.address, endpoint.port) else {
            return Err(wrong(line, "an endpoint needs an address and a port_value"));
        };
        let hostname = match self.discovery {
            Discovery::Dns => Some(endpoint.hostname.unwrap_or_else(|| address.clone())),
            Discovery::Static => endpoint.hostname,
        };
        let hostname = hostname.filter(|_| self.by_hostname.is_some());
        let label = endpoint.hash_key.or(hostname);
        let name = match address.parse::<IpAddr>() {
            // In the way that Envoy writes addresses, which is what it hashes.
            Ok(IpAddr::V6(address)) => format!("[{address}]:{port}"),
            Ok(IpAddr::V4(address)) => format!("{address}:{port}"),
            Err(_) if label.is_none() => {
                let reason = format!(
                    "{address:?} is not an IP address, and Envoy hashes the one that DNS gives: \
                     expected use_hostname_for_hashing or a hash_key"
                );
                return Err(wrong(line, reason));
            }
            Err(_) => format!("{address}:{port}"),
        };
        let server = Server::new(name).with_weight(endpoint.weight);
        let server = match label {
            Some(label) => server.with_label(label),
            None => server,
        };
        Ok(if endpoint.down { server.down() } else { server })
    }
}

fn is_down(field: &Field<'_>) -> Result<bool, Error> {
    match field.value.text("health_status")? {
        "UNKNOWN" | "HEALTHY" => Ok(false),
        "UNHEALTHY" | "DRAINING" | "TIMEOUT" => Ok(true),
        other => {
            let known = "UNKNOWN, HEALTHY, UNHEALTHY, DRAINING or TIMEOUT";
            Err(expected(field.line, "health_status", other, known))
        }
    }
}

/// `filter_metadata` of `envoy.lb`: its `hash_key`; what else stands there decides nothing.
fn hash_key(field: &Field<'_>) -> Result<Option<String>, Error> {
    let mut key = None;
    for field in fields(field.value, "metadata")? {
        if field.name != "filter_metadata" {
            continue;
        }
        for filter in field.value.map("filter_metadata")? {
            if filter.key != "envoy.lb" {
                continue;
            }
            for entry in filter.value.map("envoy.lb")? {
                if entry.key == "hash_key" {
                    key = Some(entry.value.text("hash_key")?.into());
                }
            }
        }
    }
    Ok(key)
}
