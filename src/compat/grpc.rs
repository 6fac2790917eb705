//! gRPC: the `ring_hash` load balancing policy.
//!
//! Source: gRFC A42 and A61 and the policy in gRPC's core, in Go and in Java; written from the
//! source, not compared with a running client.
//!
//! | points | lookup |
//! |---|---|
//! | XXH64 of `ADDRESS_n`; about 1024 points in total and at most 4096, divided by weight | first point at or after the key's XXH64 |
//!
//! - A server's label is its hash key (gRFC A76), else `IP:PORT`.
//! - The ring is Envoy's, except for the limit of 4096 points. With more than 4096 servers, some
//!   have no point at all.
//! - Go sorts the servers by label; the other clients keep the given order. This matters if points
//!   cannot be divided evenly.
//! - The key is the value that the request's hash policy takes from a header. For a hash from
//!   another source, use [`route_hash`](crate::Router::route_hash).

use alloc::vec::Vec;
use core::str::FromStr;

use xxhash_rust::xxh64::xxh64;

use super::parts::ring_hash;
use super::{Layout, Pool, Server, System, boxed};
use crate::registry::{Origin, Param, Params, Scheme};
use crate::{Error, NodeId, SystemHash};

pub(super) const DIALECT: Scheme = Scheme::dialect(
    "grpc",
    "the ring_hash policy",
    Origin::source("1.7x"),
    |servers, params| boxed(pool(servers, params)),
)
.with_params(&[MIN_RING_SIZE, MAX_RING_SIZE, ORDER]);

/// Builds a pool of these servers, with options as text.
///
/// # Errors
/// [`Error::Parameter`] for a wrong value of an option; those of [`Pool::new`].
pub fn pool(servers: Vec<Server>, params: &Params) -> Result<Pool, Error> {
    let default = Grpc::default();
    let system = Grpc {
        min_ring_size: params.get(MIN_RING_SIZE.name, default.min_ring_size)?,
        max_ring_size: params.get(MAX_RING_SIZE.name, default.max_ring_size)?,
        order: params.choice(ORDER.name, default.order)?,
    };
    Pool::new(system, servers)
}

const MIN_RING_SIZE: Param = Param::new("min-ring-size", "1024", "min_ring_size, in points");

const MAX_RING_SIZE: Param = Param::new(
    "max-ring-size",
    "4096",
    "max_ring_size or the client's own limit, whichever is less, in points",
);

const ORDER: Param = Param::new(
    "order",
    "given",
    "the order in which servers take points: given (core, Java) or sorted (Go)",
)
.with_values(&["given", "sorted"]);

/// The options of the policy.
///
/// ```
/// use hashroute::compat::{Pool, Server, grpc::Grpc};
/// use hashroute::Router;
///
/// let servers = ["10.0.0.1:80", "10.0.0.2:80"].map(Server::new);
/// let pool = Pool::new(Grpc::default(), servers)?;
/// assert_eq!(pool.layout().len(), 1024);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Grpc {
    /// `min_ring_size`, in points. The client's limit, usually 4096, caps it.
    pub min_ring_size: u64,
    /// `max_ring_size`, in points, up to 8,388,608. The client's limit, usually 4096, caps it.
    pub max_ring_size: u64,
    /// The order in which the servers take their points.
    pub order: Order,
}

impl Default for Grpc {
    fn default() -> Self {
        Self {
            min_ring_size: 1024,
            max_ring_size: 4096,
            order: Order::Given,
        }
    }
}

builder! { Grpc:
    with_min_ring_size(min_ring_size: u64),
    with_max_ring_size(max_ring_size: u64),
    with_order(order: Order),
}

/// The order in which servers take their points. It differs between client languages.
///
/// ```
/// use hashroute::compat::grpc::Order;
/// assert_eq!("sorted".parse::<Order>()?, Order::Sorted);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Order {
    /// The order of the resolver: core (C++, Python, Ruby, ...) and Java.
    #[default]
    Given,
    /// Sorted by label: Go.
    Sorted,
}

impl FromStr for Order {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "given" => Ok(Self::Given),
            "sorted" => Ok(Self::Sorted),
            _ => Err(Error::parameter(ORDER.name, text, "given or sorted")),
        }
    }
}

impl System for Grpc {
    fn layout(&self, servers: &[(NodeId, Server)]) -> Result<Layout, Error> {
        let mut shares = ring_hash::shares(servers)?;
        if self.order == Order::Sorted {
            shares.sort_by_key(|share| share.label);
        }
        let sizes = [self.min_ring_size, self.max_ring_size];
        ring_hash::ring(&shares, sizes, |label| xxh64(label, 0))
    }

    fn hash(&self, key: &[u8], _: &[(NodeId, Server)], _: &Layout) -> Option<u64> {
        Some(xxh64(key, 0))
    }

    fn hash_id(&self, _: &[(NodeId, Server)], _: &Layout) -> Option<SystemHash> {
        Some(SystemHash::new("xxh64", ()))
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::vec::Vec;

    use super::*;
    use crate::compat::envoy::Envoy;
    use crate::{Node, Router};

    fn servers(weights: &[u32]) -> Vec<Server> {
        let named = weights.iter().enumerate();
        named
            .map(|(at, weight)| Server::new(format!("10.0.0.{}:80", 9 - at)).with_weight(*weight))
            .collect()
    }

    fn owners(pool: &Pool) -> Vec<Option<&str>> {
        let keys = (0..500_u32).map(u32::to_be_bytes);
        keys.map(|key| pool.route(&key).map(Node::name)).collect()
    }

    #[test]
    fn the_ring_equals_envoys() -> Result<(), Error> {
        let weights = [1, 2, 3, 1, 5];
        let grpc = Pool::new(Grpc::default(), servers(&weights))?;
        let envoy = Pool::new(Envoy::default(), servers(&weights))?;
        assert_eq!(owners(&grpc), owners(&envoy));
        Ok(())
    }

    #[test]
    fn the_order_matters_when_points_are_few() -> Result<(), Error> {
        let pool = |order: &str| {
            let params = Params::default()
                .with("order", order)
                .with("min-ring-size", "7")
                .with("max-ring-size", "7");
            pool(servers(&[3, 3, 4]), &params)
        };
        let [given, sorted] = [pool("given")?, pool("sorted")?];
        assert_eq!((given.layout().len(), sorted.layout().len()), (7, 7));
        assert_ne!(owners(&given), owners(&sorted));
        Ok(())
    }

    #[test]
    fn wrong_options_are_refused_and_no_servers_own_nothing() -> Result<(), Error> {
        let dialect = crate::compat::find("grpc")?;
        for (name, value) in [
            ("order", "up"),
            ("min-ring-size", "4097"),
            ("max-ring-size", "0"),
        ] {
            let params = Params::default().with(name, value);
            assert!(dialect.build(servers(&[1]), &params).is_err(), "{name}");
        }
        let nobody = Pool::new(Grpc::default(), [Server::new("a").down()])?;
        assert!(owners(&nobody).iter().all(Option::is_none));
        let one = Pool::new(Grpc::default(), servers(&[7]))?;
        assert!(owners(&one).iter().all(Option::is_some));
        Ok(())
    }
}
