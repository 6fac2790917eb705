//! Dialects: the same key to the same node as a real system, byte for byte.
//!
//! A dialect is one file here and one line in [`ALL`]; the golden tests, the harness and the
//! command line then have it. Each is a [`System`] with the options of the real one as fields; a
//! [`Pool`] of it and of [`Server`]s is a [`Router`](crate::Router).
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

use alloc::format;
use alloc::vec::Vec;

use crate::Error;
use crate::strategy::{Param, Params};

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
pub mod redis_cluster;
pub mod serialx;
pub mod stathat;
pub mod trafficserver;
pub mod twemproxy;
pub mod uhashring;
pub mod varnish;

#[cfg(feature = "config")]
pub use config::{Config, ConfigReader, Unknown};
pub use layout::{Layout, Rule};
pub use parts::hashkit;
pub use pool::{Pool, Server, System};

/// Every dialect, by name.
///
/// ```
/// let names: Vec<_> = hashroute::compat::ALL.iter().map(|dialect| dialect.name).collect();
/// assert!(names.is_sorted());
/// ```
pub static ALL: &[Dialect] = &[
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

/// A registry row: which system a dialect speaks like, how that was proved, and how to build it.
///
/// ```
/// let nginx = hashroute::compat::find("nginx")?;
/// assert_eq!(nginx.proof, hashroute::compat::Proof::Recorded);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    /// The name by which configuration and the command line know it.
    pub name: &'static str,
    /// The system and how it routes, in a few words.
    pub about: &'static str,
    /// The version, or versions, of the system that it was compared with.
    pub version: &'static str,
    /// How it is known to be right.
    pub proof: Proof,
    /// The options it takes.
    pub params: &'static [Param],
    /// Builds a pool; [`build`](Self::build) checks the parameters' names first.
    pub new: Constructor,
    /// Reads the system's own configuration, where people have one.
    #[cfg(feature = "config")]
    pub config: Option<ConfigReader>,
}

/// How a [`Dialect`] makes a pool of servers, in the order of its configuration, and options.
///
/// ```
/// use hashroute::{Node, Router, compat::{self, Constructor, Server}, strategy::Params};
/// let new: Constructor = compat::find("nginx")?.new;
/// assert_eq!(new(vec![Server::new("a:80")], &Params::default())?.nodes().len(), 1);
/// # Ok::<(), hashroute::Error>(())
/// ```
pub type Constructor = fn(Vec<Server>, &Params) -> Result<Pool, Error>;

/// How a dialect is known to be right.
///
/// ```
/// use hashroute::compat::{self, Proof};
/// assert!(compat::ALL.iter().any(|dialect| dialect.proof == Proof::Recorded));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Proof {
    /// Equal to the recorded answers of the running program, all of them.
    Recorded,
    /// Written from the system's public source; never compared with it running.
    Source,
}

impl Proof {
    /// The words for it.
    ///
    /// ```
    /// assert_eq!(hashroute::compat::Proof::Source.name(), "from source, not run");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Recorded => "recorded",
            Self::Source => "from source, not run",
        }
    }
}

impl Dialect {
    /// A pool of these servers, in the order of the system's configuration.
    ///
    /// # Errors
    /// [`Error::Parameter`] for an unknown option or one whose value cannot be used, and what
    /// [`Pool::new`] refuses.
    ///
    /// ```
    /// # use hashroute::{Node, Router, compat, strategy::Params};
    /// let pool = compat::find("nginx")?.build([Node::new("10.0.0.1:80")], &Params::default())?;
    /// assert_eq!(pool.route(b"key").map(Node::name), Some("10.0.0.1:80"));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn build<S: Into<Server>>(
        &self,
        servers: impl IntoIterator<Item = S>,
        params: &Params,
    ) -> Result<Pool, Error> {
        params.check(self.name, self.params)?;
        (self.new)(servers.into_iter().map(Into::into).collect(), params)
    }
}

/// The dialect of this name.
///
/// # Errors
/// [`Error::Parameter`] that lists the known names.
///
/// ```
/// let error = hashroute::compat::find("ngnix").unwrap_err();
/// assert!(error.to_string().contains("nginx"));
/// ```
pub fn find(name: &str) -> Result<&'static Dialect, Error> {
    ALL.iter()
        .find(|dialect| dialect.name == name)
        .ok_or_else(|| {
            let names: Vec<_> = ALL.iter().map(|dialect| dialect.name).collect();
            Error::parameter("dialect", name, format!("one of: {}", names.join(", ")))
        })
}
