//! libketama: the original ketama of Last.fm, in C.
//!
//! Source: RJ/ketama 18cf9a7, `libketama/ketama.c`; compared with a running copy.
//!
//! | points | lookup |
//! |---|---|
//! | 4 from each MD5 of "address-i"; about 40 MD5s for each server | first point at or after the first word of the key's MD5 |
//!
//! - A server's address always includes its port. Its weight is its memory.
//! - The share of the memory is an f32, but its product with 40 and the number of servers is an
//!   f64. So the ring differs from twemproxy's with 25 or 50 equal servers, and equals it with 61.
//! - Keys are C strings in the original, so they end at the first NUL.
//! - libketama does not know servers that are down: they are left out, as if they were not in its
//!   file.

use alloc::vec::Vec;

use super::layout::check_capacity;
use super::parts::ketama::{Ketama, cut, words};
use super::{Layout, Pool, Rule, Server, System, boxed};
use crate::registry::{Origin, Params, Scheme};
use crate::{Error, NodeId, SystemHash};

pub(super) const DIALECT: Scheme = Scheme::dialect(
    "libketama",
    "the original ketama in C",
    Origin::recorded("RJ/ketama 18cf9a7"),
    |servers, params| boxed(pool(servers, params)),
);

/// Builds a pool of these servers, with options as text.
///
/// # Errors
/// [`Error::Parameter`] for a wrong value of an option; those of [`Pool::new`].
pub fn pool(servers: Vec<Server>, _: &Params) -> Result<Pool, Error> {
    Pool::new(Libketama, servers)
}

/// The original ketama. It has no options.
///
/// ```
/// use hashroute::compat::{Pool, Server, libketama::Libketama};
/// use hashroute::Router;
///
/// let servers = [("10.0.1.1:11211", 600), ("10.0.1.2:11211", 300)]
///     .map(|(address, memory)| Server::new(address).with_weight(memory));
/// let pool = Pool::new(Libketama, servers)?;
/// assert!(pool.route(b"key").is_some());
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Libketama;

impl System for Libketama {
    fn layout(&self, servers: &[(NodeId, Server)]) -> Result<Layout, Error> {
        let up: Vec<_> = servers.iter().filter(|(_, s)| !s.is_down()).collect();
        check_capacity(up.len() as u64 * 160)?;
        let total = up.iter().map(|(_, s)| u64::from(s.weight())).sum();
        let mut ketama = Ketama::default();
        for (id, server) in &up {
            let hashes = hashes(server.weight(), total, up.len());
            ketama.add(*id, server.label(), hashes, words);
        }
        Layout::circle(32, Rule::AtOrAfter, ketama.points)
    }

    fn hash(&self, key: &[u8], _: &[(NodeId, Server)], _: &Layout) -> Option<u64> {
        let end = key.iter().position(|byte| *byte == 0);
        Some(words(&key[..end.unwrap_or(key.len())])[0].into())
    }

    fn hash_id(&self, _: &[(NodeId, Server)], _: &Layout) -> Option<SystemHash> {
        Some(SystemHash::new("libketama", ()))
    }
}

/// Returns the number of MD5s of a server. The product is an f64; it is rounded to f32 and then cut,
/// because the C code calls `floorf`.
fn hashes(memory: u32, total: u64, servers: usize) -> u32 {
    let percent = memory as f32 / total as f32;
    #[expect(clippy::cast_possible_truncation, reason = "floorf takes an f32")]
    let product = (f64::from(percent) * 40.0 * servers as f64) as f32;
    cut(product.into())
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;
    use crate::{Change, Node, Router};

    #[test]
    fn some_numbers_of_equal_servers_have_39_md5s_each() {
        let short = |servers: &usize| hashes(1, *servers as u64, *servers) == 39;
        let servers: Vec<_> = (1..=250).filter(short).collect();
        assert_eq!(servers, [61, 122, 237, 244]);
    }

    #[test]
    fn a_server_that_is_down_is_left_out() -> Result<(), Error> {
        let server = |name: &str| Server::new(name).with_weight(3);
        let mut pool = Pool::new(Libketama, ["a:1", "b:1", "c:1"].map(server))?;
        pool.apply(&Change::reweight("b:1", 0))?;
        let two = Pool::new(Libketama, ["a:1", "c:1"].map(server))?;
        for i in 0..500 {
            let key = format!("key:{i}");
            let owner = |pool: &Pool| pool.route(key.as_bytes()).map(|node| format!("{node:?}"));
            assert_eq!(owner(&pool), owner(&two));
        }
        Ok(())
    }

    #[test]
    fn one_server_owns_every_key_and_a_key_ends_at_a_nul() -> Result<(), Error> {
        let one = Pool::new(Libketama, [Server::new("a:1")])?;
        assert_eq!(one.route(b"key").map(Node::name), Some("a:1"));
        assert_eq!(one.hash_key(b"key\0rest"), one.hash_key(b"key"));
        assert_eq!(Pool::new(Libketama, [])?.route(b"key"), None);
        Ok(())
    }
}
