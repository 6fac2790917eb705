//! pymemcache's `HashClient`: rendezvous hashing of Python strings.
//!
//! Source: pymemcache 4.0.0, `pymemcache/client/rendezvous.py` and `murmur3.py`; compared with a
//! running copy.
//!
//! | name | value |
//! |---|---|
//! | score of a server | `MurmurHash3_x86_32`, seed 0, of `LABEL-KEY` |
//! | owner | the server with the highest score; at a tie, the one with the greater label |
//!
//! - A label is `HOST:PORT` or the path of a socket.
//! - The function reads characters, not bytes. It uses the lower 8 bits of each, and the number of
//!   characters as the length. So "中" counts as one byte, 0x2d, which is "-".
//! - A key of the Python type `bytes` is hashed as Python prints it, with quotes and escapes. So it
//!   has another owner than the same text as `str`: see [`KeyType`].
//! - `key_prefix` is not hashed. There are no weights. A server that is down is left out.
//!
//! The score combines label and key, so a key alone has no hash. Here the `KeyHash` of a key has the
//! highest score in its upper half and the owner's position in its lower half.

use alloc::vec::Vec;
use core::ascii::escape_default;
use core::str::FromStr;

use super::parts::servers::up;
use super::{Layout, Pool, Server, System, boxed};
use crate::registry::{Origin, Param, Params, Scheme};
use crate::{Error, NodeId};

pub(super) const DIALECT: Scheme = Scheme::dialect(
    "pymemcache",
    "the Python client's HashClient: rendezvous",
    Origin::recorded("4.0.0"),
    |servers, params| boxed(pool(servers, params)),
)
.with_params(&[KEYS]);

/// Builds a pool of these servers, with options as text.
///
/// # Errors
/// [`Error::Parameter`] for a wrong value of an option; those of [`Pool::new`].
pub fn pool(servers: Vec<Server>, params: &Params) -> Result<Pool, Error> {
    let keys = params.choice(KEYS.name, KeyType::default())?;
    Pool::new(Pymemcache { keys }, servers)
}

const KEYS: Param = Param::new(
    "keys",
    "str",
    "the type of the keys in Python: str or bytes",
);

/// pymemcache's `HashClient`.
///
/// ```
/// use hashroute::compat::{Pool, Server, pymemcache::Pymemcache};
/// use hashroute::Router;
///
/// let servers = ["10.0.0.1:11211", "10.0.0.2:11211"].map(Server::new);
/// let pool = Pool::new(Pymemcache::default(), servers)?;
/// assert!(pool.route(b"key").is_some() && pool.route(b"\xff").is_none());
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pymemcache {
    /// The type of the keys in Python.
    pub keys: KeyType,
}

builder! { Pymemcache: with_keys(keys: KeyType) }

/// The type of the keys in Python.
///
/// ```
/// use hashroute::compat::{Pool, Server, pymemcache::{KeyType, Pymemcache}};
/// use hashroute::Router;
///
/// let pool = |keys| Pool::new(Pymemcache::default().with_keys(keys), ["a:1", "b:1"].map(Server::new));
/// assert_eq!(pool(KeyType::Bytes)?.route(b"it's"), pool(KeyType::Str)?.route(b"b\"it's\""));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyType {
    /// `str`: give keys in UTF-8; other bytes have no owner.
    #[default]
    Str,
    /// `bytes`: hashed as `b'...'`.
    Bytes,
}

impl FromStr for KeyType {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "str" => Ok(Self::Str),
            "bytes" => Ok(Self::Bytes),
            _ => Err(Error::parameter(KEYS.name, text, "str or bytes")),
        }
    }
}

impl System for Pymemcache {
    fn layout(&self, servers: &[(NodeId, Server)]) -> Result<Layout, Error> {
        if let Some((_, server)) = servers.iter().find(|(_, server)| server.weight() > 1) {
            return Err(Error::Weight {
                name: server.name().into(),
                weight: server.weight(),
                expected: "1, because pymemcache has no weights, or 0 for a server that is down",
            });
        }
        let up: Vec<_> = up(servers).map(|(id, _)| id).collect();
        Ok(Layout::buckets(up, |hash, count| {
            let [.., a, b, c, d] = hash.to_be_bytes();
            let position = u32::from_be_bytes([a, b, c, d]);
            // `u64::MAX` is no hash of a key: there are fewer than 2^32 servers.
            (hash < u64::MAX).then_some(position.checked_rem(count)?)
        }))
    }

    fn hash(&self, key: &[u8], servers: &[(NodeId, Server)], _: &Layout) -> Option<u64> {
        match self.keys {
            KeyType::Str => {
                let key = core::str::from_utf8(key).ok()?;
                best(servers, || low_bytes(key))
            }
            KeyType::Bytes => best(servers, || printed(key)),
        }
    }
}

/// Returns the highest score, with the position of its server in the lower half.
fn best<I: Iterator<Item = u8>>(servers: &[(NodeId, Server)], key: impl Fn() -> I) -> Option<u64> {
    let scored = (0..).zip(up(servers)).map(|(position, (_, server))| {
        let text = low_bytes(server.label()).chain([b'-']).chain(key());
        (murmur3(text), server.label(), position)
    });
    let (score, _, position): (u32, _, u64) =
        scored.max_by_key(|(score, label, _)| (*score, *label))?;
    Some(u64::from(score) << 32 | position)
}

/// Returns the lower 8 bits of each character.
fn low_bytes(text: &str) -> impl Iterator<Item = u8> {
    text.chars().map(|char| u32::from(char).to_le_bytes()[0])
}

/// Returns bytes in the form in which Python prints them.
fn printed(key: &[u8]) -> impl Iterator<Item = u8> {
    let quote = if key.contains(&b'\'') && !key.contains(&b'"') {
        b'"'
    } else {
        b'\''
    };
    let escaped = key.iter().flat_map(move |byte| {
        // Rust escapes both kinds of quotes, Python only the kind that encloses the text.
        let bare = matches!(byte, b'\'' | b'"') && *byte != quote;
        escape_default(*byte).skip(usize::from(bare))
    });
    [b'b', quote].into_iter().chain(escaped).chain([quote])
}

/// Computes `MurmurHash3_x86_32` with seed 0 over an iterator of bytes.
///
/// Source: <https://github.com/aappleby/smhasher>.
fn murmur3(bytes: impl Iterator<Item = u8>) -> u32 {
    let scramble = |block: u32| {
        let block = block.wrapping_mul(0xcc9e_2d51).rotate_left(15);
        block.wrapping_mul(0x1b87_3593)
    };
    let (mut hash, mut block, mut length) = (0_u32, 0_u32, 0_u32);
    for byte in bytes {
        block |= u32::from(byte) << (length % 4 * 8);
        length = length.wrapping_add(1);
        if length % 4 == 0 {
            hash = (hash ^ scramble(block)).rotate_left(13);
            hash = hash.wrapping_mul(5).wrapping_add(0xe654_6b64);
            block = 0;
        }
    }
    // Without a tail `block` is 0, which scrambles to 0 and changes nothing.
    hash ^= scramble(block) ^ length;
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}

#[cfg(test)]
mod tests {
    use alloc::string::String;
    use alloc::vec;
    use alloc::{format, string::ToString};

    use super::*;
    use crate::{Change, HashFunction, KeyHasher, Node, Router};

    fn pool(names: &[&str]) -> Pool {
        let servers = names.iter().map(|name| Server::new(*name));
        Pool::new(Pymemcache::default(), servers).expect("a pool")
    }

    fn owner<'a>(pool: &'a Pool, key: &[u8]) -> Option<&'a str> {
        pool.route(key).map(Node::name)
    }

    #[test]
    fn the_hash_function_is_murmur3() {
        let hasher = KeyHasher::new(HashFunction::Murmur3_32);
        let bytes: Vec<_> = (0..=255_u8).rev().collect();
        for end in 0..bytes.len() {
            let bytes = &bytes[..end];
            let hash = u64::from(murmur3(bytes.iter().copied()));
            assert_eq!(hash, hasher.raw(bytes).get(), "{end}");
        }
    }

    #[test]
    fn characters_lose_their_upper_bits() {
        assert_eq!(low_bytes("中a").collect::<Vec<_>>(), b"-a");
        let pool = pool(&["a:1", "b:1", "c:1"]);
        assert_eq!(pool.hash_key("中".as_bytes()), pool.hash_key(b"-"));
    }

    #[test]
    fn bytes_are_printed_as_in_python() {
        for (key, text) in [
            (&b"plain"[..], "b'plain'"),
            (b"it's", "b\"it's\""),
            (b"say \"no\"", "b'say \"no\"'"),
            (b"it's \"no\"", "b'it\\'s \"no\"'"),
            (b"\\\t\r\n\0\x7f\xff~", "b'\\\\\\t\\r\\n\\x00\\x7f\\xff~'"),
            (b"", "b''"),
        ] {
            let printed = String::from_utf8(printed(key).collect()).expect("ASCII");
            assert_eq!(printed, text);
        }
    }

    #[test]
    fn equal_scores_go_to_the_greater_label() {
        // Both have the lower bits of "-", so all scores are equal.
        for names in [["\u{42d}", "\u{52d}"], ["\u{52d}", "\u{42d}"]] {
            assert_eq!(owner(&pool(&names), b"key"), Some("\u{52d}"));
        }
    }

    #[test]
    fn a_server_that_is_down_is_left_out() -> Result<(), Error> {
        let mut three = pool(&["a:1", "b:1", "c:1"]);
        three.apply(&Change::reweight("b:1", 0))?;
        let two = pool(&["a:1", "c:1"]);
        for i in 0..500 {
            let key = format!("user:{i}");
            let [left, right] = [&three, &two].map(|pool| owner(pool, key.as_bytes()));
            assert_eq!(left, right, "{key}");
        }
        Ok(())
    }

    #[test]
    fn keys_that_are_not_utf_8_have_no_owner() {
        assert_eq!(owner(&pool(&[]), b"key"), None);
        assert_eq!(owner(&pool(&["a:1"]), b""), Some("a:1"));
        assert_eq!(owner(&pool(&["a:1", "b:1"]), b"\xff"), None);
        let down = Pool::new(Pymemcache::default(), vec![Server::new("a:1").down()]);
        assert_eq!(owner(&down.expect("a pool"), b"key"), None);
    }

    #[test]
    fn weights_are_refused() {
        let heavy = Server::new("a:1").with_weight(2);
        let error = Pool::new(Pymemcache::default(), [heavy]).unwrap_err();
        assert!(error.to_string().contains("no weights"), "{error}");
        assert!("text".parse::<KeyType>().is_err());
    }
}
