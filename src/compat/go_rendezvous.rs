//! dgryski/go-rendezvous: rendezvous hashing for Go.
//!
//! Source: <https://github.com/dgryski/go-rendezvous> at 9f7001d; compared with a running copy.
//!
//! | name | value |
//! |---|---|
//! | score of a node | xorshift64* of hash(key) xor hash(node) |
//! | owner | the node with the highest score; at a tie, the first in the list |
//!
//! The user of the library gives the hash function to `New`; here it is an option. go-redis's `Ring`
//! uses this library with xxHash. A key that equals the name of a node has the lowest score there,
//! 0: another node owns it.

use super::go_maglev::HASH;
use super::layout::check_capacity;
use super::parts::servers::{unweighted, up};
use super::{Layout, Pool, Server, System, boxed};
use crate::registry::{Origin, Params, Scheme};
use crate::{Error, HashFunction, NodeId};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

pub(super) const DIALECT: Scheme = Scheme::dialect(
    "go-rendezvous",
    "dgryski/go-rendezvous, a Go library",
    Origin::recorded("9f7001d (2020-08-22)"),
    |servers, params| boxed(pool(servers, params)),
)
.with_params(&[HASH])
.with_free_order(no_tie);

/// Returns whether no two servers have the same seed. The score is a bijection of the key's hash and
/// the seed, so two scores are equal only if the seeds are, and only then the first server wins.
fn no_tie(servers: &[Server], params: &Params) -> bool {
    let Ok(hash) = params.choice(HASH.name, GoRendezvous::default().hash) else {
        return false;
    };
    let seeds = servers.iter().map(|server| seed(hash, server));
    let seeds: BTreeSet<_> = seeds.collect();
    seeds.len() == servers.len()
}

fn seed(hash: HashFunction, server: &Server) -> u64 {
    hash.value([0; 2], server.label().as_bytes())
}

/// Builds a pool of these servers, with options as text.
///
/// # Errors
/// [`Error::Parameter`] for a wrong value of an option; those of [`Pool::new`].
pub fn pool(servers: Vec<Server>, params: &Params) -> Result<Pool, Error> {
    let hash = params.choice(HASH.name, GoRendezvous::default().hash)?;
    Pool::new(GoRendezvous { hash }, servers)
}

/// The scores of go-rendezvous.
///
/// ```
/// use hashroute::compat::{Pool, Server, go_rendezvous::GoRendezvous};
/// use hashroute::{HashFunction, Node, Router};
///
/// let nodes = ["node-0", "node-1", "node-2"].map(Server::new);
/// let pool = Pool::new(GoRendezvous::default().with_hash(HashFunction::Fnv1a64), nodes)?;
/// assert!(pool.route(b"key").is_some());
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GoRendezvous {
    /// The hash of keys and of nodes.
    pub hash: HashFunction,
}

impl Default for GoRendezvous {
    fn default() -> Self {
        Self {
            hash: HashFunction::Xxh64,
        }
    }
}

builder! { GoRendezvous: with_hash(hash: HashFunction) }

/// Computes xorshift64* by Vigna.
fn score(key: u64, node: u64) -> u64 {
    let mut x = key ^ node;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    x.wrapping_mul(2_685_821_657_736_338_717)
}

impl System for GoRendezvous {
    fn layout(&self, servers: &[(NodeId, Server)]) -> Result<Layout, Error> {
        unweighted(servers)?;
        check_capacity(servers.len() as u64)?;
        let seeds = up(servers).map(|(id, server)| (seed(self.hash, server), id));
        Ok(Layout::scores(seeds.collect(), score))
    }

    fn hash(&self, key: &[u8], _: &[(NodeId, Server)], _: &Layout) -> Option<u64> {
        Some(self.hash.value([0; 2], key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Node, Router};

    #[test]
    fn a_node_does_not_own_its_own_name() -> Result<(), Error> {
        let pool = Pool::new(GoRendezvous::default(), ["a", "b"].map(Server::new))?;
        assert_eq!(pool.route(b"a").map(Node::name), Some("b"));
        assert_eq!(pool.route(b"b").map(Node::name), Some("a"));
        Ok(())
    }

    #[test]
    fn the_first_node_that_is_up_wins_a_tie() -> Result<(), Error> {
        let same = |names: [&str; 2]| names.map(|name| Server::new(name).with_label("same"));
        let owner = |servers| {
            let pool = Pool::new(GoRendezvous::default(), servers)?;
            Ok::<_, Error>(pool.route(b"key").map(|node| node.name().len()))
        };
        assert_eq!(owner(same(["one", "three"]))?, Some(3));
        assert_eq!(owner(same(["three", "one"]))?, Some(5));
        let [down, up] = same(["three", "one"]);
        assert_eq!(owner([down.down(), up])?, Some(3));
        assert!(
            Pool::new(GoRendezvous::default(), [])?
                .route(b"key")
                .is_none()
        );
        Ok(())
    }
}
