//! The guide: how to use hashroute and how it works. One module is one page.
//!
//! | page | about |
//! |---|---|
//! | [`change`] | what moves when the set of nodes changes, in what order, and who serves meanwhile |
//! | [`cluster`] | resharding a Redis Cluster |
#![cfg_attr(
    feature = "spec",
    doc = "| [`spec`] | the file that holds all that peers must share |"
)]
#![cfg_attr(
    feature = "compat",
    doc = "| [`dialects`] | one page for each real system: what it hashes, what surprises, how to move away |"
)]
//! | [`answers`] | known answers of this field, each with the command that prints it |
//! | [`draws`] | where points and scores come from, and what shows that they are even |
//! | [`ports`] | checksums that tell whether a port to another language or machine is right |
//! | [`security`] | what is promised against hostile input, what is not, how to report a fault |
//! | [`design`] | how the code is divided, the laws, the terms, how to add to it |
//!
//! The [guide of hashroute-harness](https://docs.rs/hashroute-harness/latest/hashroute_harness/guide/)
//! has the pages on skew, scale, pictures and continuous integration.

#[doc = include_str!("../docs/change.md")]
pub mod change {}

#[doc = include_str!("../docs/cluster.md")]
pub mod cluster {}

#[cfg(feature = "spec")]
#[doc = include_str!("../docs/spec.md")]
pub mod spec {}

#[doc = include_str!("../docs/answers.md")]
pub mod answers {}

#[doc = include_str!("../docs/draws.md")]
pub mod draws {}

#[doc = include_str!("../docs/ports.md")]
pub mod ports {}

#[doc = include_str!("../SECURITY.md")]
pub mod security {}

#[doc = include_str!("../docs/DESIGN.md")]
pub mod design {}

#[cfg(feature = "compat")]
/// The real systems whose routes the dialects give, one page each.
pub mod dialects {
    #[doc = include_str!("../docs/dialects/buraksezer-consistent.md")]
    pub mod buraksezer_consistent {}

    #[doc = include_str!("../docs/dialects/cache-memcached-fast.md")]
    pub mod cache_memcached_fast {}

    #[doc = include_str!("../docs/dialects/cassandra.md")]
    pub mod cassandra {}

    #[doc = include_str!("../docs/dialects/cilium.md")]
    pub mod cilium {}

    #[doc = include_str!("../docs/dialects/dalli.md")]
    pub mod dalli {}

    #[doc = include_str!("../docs/dialects/dubbo.md")]
    pub mod dubbo {}

    #[doc = include_str!("../docs/dialects/envoy.md")]
    pub mod envoy {}

    #[doc = include_str!("../docs/dialects/ex-hash-ring.md")]
    pub mod ex_hash_ring {}

    #[doc = include_str!("../docs/dialects/go-maglev.md")]
    pub mod go_maglev {}

    #[doc = include_str!("../docs/dialects/go-mpchash.md")]
    pub mod go_mpchash {}

    #[doc = include_str!("../docs/dialects/go-rendezvous.md")]
    pub mod go_rendezvous {}

    #[doc = include_str!("../docs/dialects/groupcache.md")]
    pub mod groupcache {}

    #[doc = include_str!("../docs/dialects/grpc.md")]
    pub mod grpc {}

    #[doc = include_str!("../docs/dialects/haproxy.md")]
    pub mod haproxy {}

    #[doc = include_str!("../docs/dialects/jump.md")]
    pub mod jump {}

    #[doc = include_str!("../docs/dialects/katran.md")]
    pub mod katran {}

    #[doc = include_str!("../docs/dialects/libketama.md")]
    pub mod libketama {}

    #[doc = include_str!("../docs/dialects/libmemcached.md")]
    pub mod libmemcached {}

    #[doc = include_str!("../docs/dialects/nginx.md")]
    pub mod nginx {}

    #[doc = include_str!("../docs/dialects/npm-hashring.md")]
    pub mod npm_hashring {}

    #[doc = include_str!("../docs/dialects/pymemcache.md")]
    pub mod pymemcache {}

    #[doc = include_str!("../docs/dialects/python-memcached.md")]
    pub mod python_memcached {}

    #[doc = include_str!("../docs/dialects/redis-cluster.md")]
    pub mod redis_cluster {}

    #[doc = include_str!("../docs/dialects/serialx-hashring.md")]
    pub mod serialx_hashring {}

    #[doc = include_str!("../docs/dialects/stathat-consistent.md")]
    pub mod stathat_consistent {}

    #[doc = include_str!("../docs/dialects/trafficserver.md")]
    pub mod trafficserver {}

    #[doc = include_str!("../docs/dialects/twemproxy.md")]
    pub mod twemproxy {}

    #[doc = include_str!("../docs/dialects/uhashring.md")]
    pub mod uhashring {}

    #[doc = include_str!("../docs/dialects/varnish.md")]
    pub mod varnish {}
}
