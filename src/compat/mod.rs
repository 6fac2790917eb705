//! Dialects: routers that send each key to the same node as a real system does.
//!
//! Each dialect is a [`System`], with the options of the real system as fields. A [`Pool`] of a
//! system and its [`Server`]s is a [`Router`].
//!
//! To add a dialect, add its file, its `mod` line and its row in [`ALL`]: the golden tests, the
//! harness and the command line then include it.
//!
//! ```
//! use hashroute::{Node, Router, compat, strategy::Params};
//!
//! let twemproxy = compat::find("twemproxy")?;
//! let params = Params::default().with("hash", "fnv1a_64").with("distribution", "modula");
//! let pool = twemproxy.build(["10.0.0.1:6379", "10.0.0.2:6379"].map(Node::new), &params)?;
//! assert!(pool.route(b"user:42").is_some());
//! # Ok::<(), hashroute::Error>(())
//! ```

use alloc::boxed::Box;

use crate::registry::{Scheme, find_in};
use crate::{Error, Router};

/// The reader of a system's configuration files; `None` without the feature `config`.
#[cfg(feature = "config")]
macro_rules! reader {
    ($read:path) => {
        Some($read)
    };
}
#[cfg(not(feature = "config"))]
macro_rules! reader {
    ($read:path) => {
        None
    };
}

pub mod buraksezer;
pub mod cache_memcached_fast;
pub mod cassandra;
pub mod cilium;
#[cfg(feature = "config")]
mod config;
pub mod dalli;
pub mod dubbo;
pub mod envoy;
pub mod ex_hash_ring;
pub mod go_maglev;
pub mod go_mpchash;
pub mod go_rendezvous;
pub mod groupcache;
pub mod grpc;
pub mod haproxy;
pub mod jump;
pub mod katran;
mod layout;
pub mod libketama;
pub mod libmemcached;
pub mod nginx;
pub mod npm_hashring;
mod parts;
mod pool;
pub mod pymemcache;
pub mod python_memcached;
#[cfg(feature = "config")]
mod recognize;
pub mod redis_cluster;
pub mod serialx;
pub mod stathat;
pub mod trafficserver;
pub mod twemproxy;
pub mod uhashring;
pub mod varnish;

pub use layout::{Layout, Rule};
pub use parts::hashkit;
pub use pool::{Pool, System};
#[cfg(feature = "config")]
pub use recognize::recognize;

pub use crate::Server;

/// All dialects, sorted by name.
///
/// ```
/// let names: Vec<_> = hashroute::compat::ALL.iter().map(|dialect| dialect.name).collect();
/// assert!(names.is_sorted());
/// ```
pub static ALL: &[Scheme] = &[
    buraksezer::DIALECT,
    cache_memcached_fast::DIALECT,
    cassandra::DIALECT,
    cilium::DIALECT,
    dalli::DIALECT,
    dubbo::DIALECT,
    envoy::DIALECT,
    ex_hash_ring::DIALECT,
    jump::GO_JUMP,
    go_maglev::DIALECT,
    go_mpchash::DIALECT,
    go_rendezvous::DIALECT,
    groupcache::DIALECT,
    grpc::DIALECT,
    jump::GUAVA,
    haproxy::DIALECT,
    jump::JUMP,
    katran::DIALECT,
    libketama::DIALECT,
    libmemcached::DIALECT,
    jump::LITHAMMER,
    nginx::DIALECT,
    npm_hashring::DIALECT,
    pymemcache::DIALECT,
    python_memcached::DIALECT,
    redis_cluster::DIALECT,
    serialx::DIALECT,
    stathat::DIALECT,
    trafficserver::DIALECT,
    twemproxy::DIALECT,
    uhashring::DIALECT,
    varnish::DIALECT,
];

/// Finds a dialect by name.
///
/// # Errors
/// [`Error::Parameter`] with the known names.
///
/// ```
/// let error = hashroute::compat::find("ngnix").unwrap_err();
/// assert!(error.to_string().contains("nginx"));
/// ```
pub fn find(name: &str) -> Result<&'static Scheme, Error> {
    find_in(ALL, "dialect", name)
}

/// Boxes a pool as a router.
fn boxed(pool: Result<Pool, Error>) -> Result<Box<dyn Router>, Error> {
    Ok(Box::new(pool?))
}
