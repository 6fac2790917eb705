//! python-memcached: the modulo of `Cache::Memcached`, with a new hash where a server is down.
//!
//! Source: python-memcached 1.62, `memcache.py`; compared with it running.
//!
//! | what | value |
//! |---|---|
//! | hash | bits 16 to 30 of the key's CRC-32; 1 where they are all 0 |
//! | buckets | one per unit of weight, in the order of the servers, also of those that are down |
//! | owner | the bucket of the hash modulo their number |
//!
//! The order of the servers matters, their names do not. Where a server is down, the decimal
//! digits of the hash and of the number of the try, 0 to 9, are hashed in place of the key; after
//! ten servers that are down the client gives up, so such a key has no owner. The client refuses
//! keys that are empty, longer than 250 bytes, or have a space or control character in them: no
//! owner either. A key given as `(number, key)` goes by the number: that is
//! [`Router::route_hash`](crate::Router::route_hash) of it.

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
    "the Python client: modulo, hashed anew where a server is down",
    Origin::recorded("1.62"),
    |servers, params| boxed(pool(servers, params)),
);

/// Builds a pool of these servers, with options as text.
///
/// # Errors
/// [`Error::Parameter`] for an option whose value cannot be used, and as [`Pool::new`].
pub fn pool(servers: Vec<Server>, _: &Params) -> Result<Pool, Error> {
    Pool::new(PythonMemcached, servers)
}

/// python-memcached, which has no options that change routes.
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

/// How many servers the client looks at before it gives up.
const TRIES: u8 = 10;

/// The longest key that it takes.
const LONGEST: usize = 250;

impl System for PythonMemcached {
    fn layout(&self, servers: &[(NodeId, Server)]) -> Result<Layout, Error> {
        let total = servers.iter().map(|(_, server)| u64::from(server.weight()));
        check_capacity(total.sum())?;
        let buckets = servers
            .iter()
            .flat_map(|(id, server)| repeat_n(*id, server.weight() as usize));
        let down = down(servers);
        // The numbers of the caller's own may be large, but what stands for no hash is none.
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

/// The decimal digits of 15 bits, with zeros before them.
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
    fn a_server_that_is_down_is_passed_over_as_in_the_client() -> Result<(), Error> {
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
    fn no_bits_are_a_1() -> Result<(), Error> {
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
    fn few_servers() -> Result<(), Error> {
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
    fn numbers_of_the_callers_own_are_taken_as_they_are() -> Result<(), Error> {
        let pool = Pool::new(PythonMemcached, servers(&[1, 1, 1]))?;
        let id = pool.route_hash(KeyHash::from_raw(1_000_000_000_001));
        assert_eq!(id.and_then(|id| pool.nodes().name(id)), Some("2"));
        Ok(())
    }
}
