//! python-memcached: the modulo of `Cache::Memcached`; keys of a server that is down are hashed
//! again.
//!
//! Source: python-memcached 1.62, `memcache.py`; compared with a running copy.
//!
//! | name | value |
//! |---|---|
//! | hash | bits 16 to 30 of the key's CRC-32; 1 if they are all 0 |
//! | buckets | one for each unit of weight, in the order of the servers, also for servers that are down |
//! | owner | the bucket at the hash modulo the number of buckets |
//!
//! - The order of the servers matters; their names do not.
//! - If the server is down, the client hashes the decimal digits of the hash followed by the number
//!   of the try, 0 to 9. After ten servers that are down it gives up: the key has no owner.
//! - The client refuses keys that are empty, longer than 250 bytes, or contain a space or control
//!   character: they have no owner.
//! - A key given as `(number, key)` is routed by the number: use
//!   [`Router::route_hash`](crate::Router::route_hash).

use alloc::vec::Vec;
use core::iter::repeat_n;

use super::layout::check_capacity;
use super::nginx::{crc32, middle};
use super::parts::servers::down;
use super::{Layout, Pool, Server, System, boxed};
use crate::registry::{Origin, Params, Scheme};
use crate::{Error, NodeId};

pub(super) const DIALECT: Scheme = Scheme::dialect(
    "python-memcached",
    "the Python client: modulo; keys of a server that is down are hashed again",
    Origin::recorded("1.62"),
    |servers, params| boxed(pool(servers, params)),
);

/// Builds a pool of these servers, with options as text.
///
/// # Errors
/// [`Error::Parameter`] for a wrong value of an option; those of [`Pool::new`].
pub fn pool(servers: Vec<Server>, _: &Params) -> Result<Pool, Error> {
    Pool::new(PythonMemcached, servers)
}

/// python-memcached. It has no options that change routes.
///
/// ```
/// use hashroute::compat::{Pool, Server, python_memcached::PythonMemcached};
/// use hashroute::Router;
///
/// let servers = ["10.0.0.1:11211", "10.0.0.2:11211"].map(Server::new);
/// let pool = Pool::new(PythonMemcached, servers)?;
/// assert!(pool.route(b"key").is_some() && pool.route(b"two words").is_none());
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PythonMemcached;

/// The number of servers that the client tries before it gives up.
const TRIES: u8 = 10;

/// The maximum length of a key, in bytes.
const LONGEST: usize = 250;

impl System for PythonMemcached {
    fn layout(&self, servers: &[(NodeId, Server)]) -> Result<Layout, Error> {
        let total = servers.iter().map(|(_, server)| u64::from(server.weight()));
        check_capacity(total.sum())?;
        let buckets = servers
            .iter()
            .flat_map(|(id, server)| repeat_n(*id, server.weight() as usize));
        let down = down(servers);
        // A caller's own number may be large; 63 bits accept all of them except the largest.
        Ok(Layout::cells(63, buckets.collect())?.without(down))
    }

    fn hash(&self, key: &[u8], _: &[(NodeId, Server)], layout: &Layout) -> Option<u64> {
        if !is_taken(key) {
            return None;
        }
        let mut value = hash(&[key]);
        for round in 0..TRIES {
            if layout.owner(value.into()).is_some() {
                return Some(value.into());
            }
            let digits = digits(value);
            let start = digits.iter().take_while(|digit| **digit == b'0').count();
            value = hash(&[&digits[start..], &[b'0' + round]]);
        }
        None
    }
}

fn is_taken(key: &[u8]) -> bool {
    let printable = |byte: &u8| *byte > b' ' && *byte != 0x7f;
    (1..=LONGEST).contains(&key.len()) && key.iter().all(printable)
}

fn hash(parts: &[&[u8]]) -> u32 {
    middle(crc32(parts)).max(1)
}

/// Returns the decimal digits of a number of 15 bits, with leading zeros.
fn digits(value: u32) -> [u8; 5] {
    [10_000, 1000, 100, 10, 1].map(|unit| b'0' + (value / unit % 10).to_le_bytes()[0])
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;
    use alloc::vec;

    use alloc::vec::Vec;

    use super::*;
    use crate::{KeyHash, Node, Router};

    fn servers(weights: &[u32]) -> Vec<Server> {
        let servers = (0..).zip(weights);
        servers
            .map(|(i, weight)| Server::new(format!("{i}")).with_weight(*weight))
            .collect()
    }

    fn owner<'a>(pool: &'a Pool, key: &str) -> Option<&'a str> {
        pool.route(key.as_bytes()).map(Node::name)
    }

    #[test]
    fn keys_of_a_server_that_is_down_are_hashed_again_as_in_the_client() -> Result<(), Error> {
        let mut servers = servers(&[1, 6, 1]);
        servers[1] = servers[1].clone().down();
        let pool = Pool::new(PythonMemcached, servers)?;
        let [mut late, mut never] = [0; 2];
        for i in 0..3000 {
            let key = format!("user:{i}");
            let mut text = key.clone();
            let mut expected = None;
            for round in 0..10 {
                let value = hash(&[text.as_bytes()]);
                if let 0 | 7 = value % 8 {
                    late += u32::from(round > 5);
                    expected = Some(if value % 8 == 0 { "0" } else { "2" });
                    break;
                }
                text = format!("{value}{round}");
            }
            never += u32::from(expected.is_none());
            assert_eq!(owner(&pool, &key), expected, "{key}");
        }
        assert!(late > 50 && never > 50, "{late} {never}");
        Ok(())
    }

    #[test]
    fn a_hash_of_0_becomes_1() -> Result<(), Error> {
        let zero = |key: &String| middle(crc32(&[key.as_bytes()])) == 0;
        let key = (0..1 << 20).map(|i| format!("user:{i}")).find(zero);
        let key = key.expect("one of a million");
        let pool = Pool::new(PythonMemcached, servers(&[1, 1]))?;
        assert_eq!(owner(&pool, &key), Some("1"), "{key}");
        Ok(())
    }

    #[test]
    fn keys_that_the_client_refuses_have_no_owner() -> Result<(), Error> {
        let pool = Pool::new(PythonMemcached, servers(&[1, 1]))?;
        let long = "k".repeat(251);
        for key in ["", "a b", "a\tb", "a\n", "\0", "\x7f", &long] {
            assert_eq!(owner(&pool, key), None, "{key:?}");
        }
        for key in ["!", "~", "é", &long[1..]] {
            assert!(owner(&pool, key).is_some(), "{key:?}");
        }
        Ok(())
    }

    #[test]
    fn one_server_owns_every_key_and_none_owns_none() -> Result<(), Error> {
        assert_eq!(owner(&Pool::new(PythonMemcached, vec![])?, "key"), None);
        assert_eq!(
            owner(&Pool::new(PythonMemcached, servers(&[3]))?, "key"),
            Some("0")
        );
        let down = servers(&[3, 1]).into_iter().map(Server::down);
        assert_eq!(owner(&Pool::new(PythonMemcached, down)?, "key"), None);
        let heavy = Pool::new(PythonMemcached, servers(&[u32::MAX]));
        assert!(matches!(heavy.unwrap_err(), Error::Capacity { .. }));
        Ok(())
    }

    #[test]
    fn a_callers_own_number_is_the_hash() -> Result<(), Error> {
        let pool = Pool::new(PythonMemcached, servers(&[1, 1, 1]))?;
        let id = pool.route_hash(KeyHash::from_raw(1_000_000_000_001));
        assert_eq!(id.and_then(|id| pool.nodes().name(id)), Some("2"));
        Ok(())
    }
}
