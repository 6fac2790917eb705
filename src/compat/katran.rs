//! Katran: both of its Maglev tables.
//!
//! Source: `MaglevHash`, `MaglevHashV2`, `MaglevBase`, `Vip` and the data plane of Katran, and
//! `IPAddressV4::hash` of folly; written from the source, not compared with a running Katran.
//!
//! | version | table | lookup |
//! |---|---|---|
//! | `v1` | in the first round a server claims as many cells as its weight, then one in each round | hash of the flow, modulo 65537 |
//! | `v2` | a server claims a cell whenever its added weights reach the largest weight | the same |
//!
//! - With `v1`, weights hardly count, unless they are large compared with the table.
//! - A server's name is its IPv4 address; folly's hash of it decides the cells. For other addresses,
//!   the label is that hash, as a number.
//! - The order of the servers does not matter: they are sorted by their hashes.
//! - The steps of a permutation are counted in 32 bits, which overflow in tables with more than
//!   65537 cells.
//!
//! A key is the hashed part of a packet, in network byte order: the client's address (4 or 16
//! bytes), its port and the VIP's port (2 bytes each). Other keys have no owner. If the client's port
//! is not hashed (`F_HASH_NO_SRC_PORT`), give port 0. Katran looks at its connection table, QUIC and
//! routing by source first; these are not part of this dialect.

use alloc::vec::Vec;
use core::net::Ipv4Addr;
use core::str::FromStr;

use super::parts::jhash;
use super::parts::permutation::{Table, count};
use super::parts::servers::up;
use super::{Layout, Pool, Server, System, boxed};
use crate::registry::{KeyForm, Origin, Param, Params, Scheme};
use crate::{Error, NodeId, SystemHash};

pub(super) const DIALECT: Scheme = Scheme::dialect(
    "katran",
    "Maglev v1 and v2, over the flow",
    Origin::source("of 2024"),
    |servers, params| boxed(pool(servers, params)),
)
.with_params(&[VERSION, RING_SIZE])
.with_keys(KeyForm::Flow(8));

/// Builds a pool of these servers, with options as text.
///
/// # Errors
/// [`Error::Parameter`] for a wrong value of an option; those of [`Pool::new`].
pub fn pool(servers: Vec<Server>, params: &Params) -> Result<Pool, Error> {
    let default = Katran::default();
    let system = Katran {
        version: params.choice(VERSION.name, default.version)?,
        ring_size: params.get(RING_SIZE.name, default.ring_size)?,
    };
    Pool::new(system, servers)
}

const VERSION: Param =
    Param::new("version", "v1", "the version of the table: v1 or v2").with_values(&["v1", "v2"]);

const RING_SIZE: Param = Param::new("ring-size", "65537", "cells of the table, a prime");

/// The options of a VIP.
///
/// ```
/// use hashroute::compat::{Pool, Server, katran::Katran};
/// use hashroute::Router;
///
/// let pool = Pool::new(Katran::default(), ["10.0.0.1", "10.0.0.2"].map(Server::new))?;
/// let flow = [192, 0, 2, 7, 0x9c, 0x40, 0, 80]; // 192.0.2.7, port 40000, to port 80
/// assert!(pool.route(&flow).is_some() && pool.route(b"user:42").is_none());
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Katran {
    /// The version of the table: it decides how weights count.
    pub version: RingVersion,
    /// The number of cells of a table, a prime of up to 5,000,011.
    pub ring_size: u64,
}

impl Default for Katran {
    fn default() -> Self {
        Self {
            version: RingVersion::V1,
            ring_size: 65_537,
        }
    }
}

builder! { Katran: with_version(version: RingVersion), with_ring_size(ring_size: u64) }

/// The version of Katran's table.
///
/// ```
/// use hashroute::compat::katran::RingVersion;
/// assert_eq!("v2".parse::<RingVersion>()?, RingVersion::V2);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RingVersion {
    /// `MaglevHash`: weights count in the first round only.
    #[default]
    V1,
    /// `MaglevHashV2`: weights count in all rounds.
    V2,
}

impl FromStr for RingVersion {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "v1" => Ok(Self::V1),
            "v2" => Ok(Self::V2),
            _ => Err(Error::parameter(VERSION.name, text, "v1 or v2")),
        }
    }
}

/// The number of cells of all tables, at the default sizes: Katran uses it as the seed of the flow's
/// hash.
const SEED: u32 = 512 * 65_537;

/// The maximum number of VIPs: Katran uses it as the seed for IPv6 addresses.
const SEED_V6: u32 = 512;

impl System for Katran {
    fn layout(&self, servers: &[(NodeId, Server)]) -> Result<Layout, Error> {
        let mut table = Table::new(self.ring_size)?;
        let permutations =
            up(servers).map(|(id, server)| Permutation::new(id, server, self.ring_size));
        let mut permutations = permutations.collect::<Result<Vec<_>, _>>()?;
        permutations.sort_by_key(|permutation| permutation.hash);
        match permutations.as_slice() {
            [] => return Layout::cells(32, Vec::new()),
            [one] => table.fill(one.id),
            _ => match self.version {
                RingVersion::V1 => fill_v1(&mut table, &mut permutations, self.ring_size)?,
                RingVersion::V2 => fill_v2(&mut table, &mut permutations, self.ring_size)?,
            },
        }
        table.layout(32)
    }

    fn hash(&self, key: &[u8], _: &[(NodeId, Server)], _: &Layout) -> Option<u64> {
        if let Some([source, ports]) = jhash::packet(key) {
            return Some(jhash::words([source, ports], SEED).into());
        }
        let [a, b, c, d, ports] = jhash::packet(key)?;
        let source = jhash::address([a, b, c, d], SEED_V6);
        Some(jhash::words([source, ports], SEED).into())
    }

    fn hash_id(&self, _: &[(NodeId, Server)], _: &Layout) -> Option<SystemHash> {
        Some(SystemHash::new("katran", ()))
    }
}

/// The order in which a server claims cells, counted in 32 bits as in Katran.
struct Permutation {
    id: NodeId,
    hash: u64,
    offset: u32,
    skip: u32,
    next: u32,
    weight: u32,
    /// The weight added up since the last cell.
    saved: u32,
}

impl Permutation {
    fn new(id: NodeId, server: &Server, size: u64) -> Result<Self, Error> {
        let hash = hash_of(server)?;
        let part = |value: u64| u32::try_from(value).unwrap_or(0); // at most the table's size
        Ok(Self {
            id,
            hash,
            offset: part(murmur(hash, 42, 0) % size),
            skip: part(murmur(hash, 2_718_281_828, 2307) % (size - 1) + 1),
            next: 0,
            weight: server.weight(),
            saved: 0,
        })
    }

    fn claim(&mut self, table: &mut Table, size: u64, turns: &mut u64) -> Result<(), Error> {
        loop {
            count(turns)?;
            let at = self.offset.wrapping_add(self.next.wrapping_mul(self.skip));
            self.next = self.next.wrapping_add(1);
            let at = usize::try_from(u64::from(at) % size).unwrap_or(usize::MAX);
            if table.take(at, self.id) {
                return Ok(());
            }
        }
    }
}

fn fill_v1(table: &mut Table, permutations: &mut [Permutation], size: u64) -> Result<(), Error> {
    let mut turns = 0;
    while !table.is_full() {
        for permutation in &mut *permutations {
            for _ in 0..permutation.weight {
                if table.is_full() {
                    return Ok(());
                }
                permutation.claim(table, size, &mut turns)?;
            }
            permutation.weight = 1;
        }
    }
    Ok(())
}

fn fill_v2(table: &mut Table, permutations: &mut [Permutation], size: u64) -> Result<(), Error> {
    let largest = permutations
        .iter()
        .map(|permutation| permutation.weight)
        .max()
        .unwrap_or(0);
    let mut turns = 0;
    while !table.is_full() {
        for permutation in &mut *permutations {
            count(&mut turns)?;
            permutation.saved = permutation.saved.wrapping_add(permutation.weight);
            if permutation.saved < largest {
                continue;
            }
            permutation.saved -= largest;
            if table.is_full() {
                return Ok(());
            }
            permutation.claim(table, size, &mut turns)?;
        }
    }
    Ok(())
}

/// Returns the hash that decides a server's cells: its label, or folly's hash of its address.
fn hash_of(server: &Server) -> Result<u64, Error> {
    if let Some(label) = server.own_label() {
        let number = label.parse();
        return number.map_err(|_| Error::parameter("label", label, "a number below 2^64"));
    }
    let address: Result<Ipv4Addr, _> = server.name().parse();
    let address = address.map_err(|_| {
        let expected = "an IPv4 address, or a label with the hash of the address";
        Error::parameter("server", server.name(), expected)
    })?;
    Ok(folly(address))
}

/// Computes folly's `IPAddressV4::hash`: FNV-1 with 32 bits over signed bytes, combined with the
/// number of the address family.
fn folly(address: Ipv4Addr) -> u64 {
    const FACTOR: u64 = 0x9ddf_ea08_eb38_2d69;
    const FAMILY: u64 = 2;
    let hash = address
        .octets()
        .iter()
        .fold(2_166_136_261_u32, |hash, byte| {
            let sign = if *byte < 0x80 { 0 } else { 0xffff_ff00 };
            hash.wrapping_mul(16_777_619) ^ (sign | u32::from(*byte))
        });
    let shift = |x: u64| x ^ (x >> 47);
    let low = shift((u64::from(hash) ^ FAMILY).wrapping_mul(FACTOR));
    shift((FAMILY ^ low).wrapping_mul(FACTOR)).wrapping_mul(FACTOR)
}

/// Returns the first half of Murmur3 over two words.
fn murmur(first: u64, second: u64, seed: u32) -> u64 {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&first.to_le_bytes());
    bytes[8..].copy_from_slice(&second.to_le_bytes());
    mur3::murmurhash3_x64_128(&bytes, seed).0
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::ToString;

    use super::*;
    use crate::{Change, KeyHash, Router};

    fn pool(version: RingVersion, ring_size: u64, reals: &[(u32, u32)]) -> Result<Pool, Error> {
        let server = |(hash, weight): &(u32, u32)| {
            let server = Server::new(format!("real-{hash}")).with_weight(*weight);
            server.with_label(format!("{hash}"))
        };
        Pool::new(Katran { version, ring_size }, reals.iter().map(server))
    }

    fn cells(pool: &Pool, size: u64) -> Vec<usize> {
        let owner = |cell| pool.route_hash(KeyHash::from_raw(cell)).map(NodeId::index);
        (0..size).filter_map(owner).collect()
    }

    fn counts(version: RingVersion, weights: [u32; 2]) -> Result<[usize; 2], Error> {
        let pool = pool(version, 7, &[(1000, weights[0]), (2000, weights[1])])?;
        let cells = cells(&pool, 7);
        Ok([0, 1].map(|id| cells.iter().filter(|cell| **cell == id).count()))
    }

    #[test]
    fn weights_count_once_in_v1_and_always_in_v2() -> Result<(), Error> {
        // The counts of Katran's own tests for these servers in a table of 7.
        assert_eq!(counts(RingVersion::V1, [2, 1])?, [4, 3]);
        assert_eq!(counts(RingVersion::V2, [2, 1])?, [5, 2]);
        assert_eq!(
            counts(RingVersion::V1, [1, 1])?,
            counts(RingVersion::V2, [1, 1])?
        );
        Ok(())
    }

    #[test]
    fn the_order_of_the_servers_does_not_matter() -> Result<(), Error> {
        for version in [RingVersion::V1, RingVersion::V2] {
            let one = pool(version, 251, &[(5, 3), (9, 2), (7, 1)])?;
            let other = pool(version, 251, &[(7, 1), (5, 3), (9, 2)])?;
            for cell in 0..251 {
                let name = |pool: &Pool| {
                    let id = pool.route_hash(KeyHash::from_raw(cell));
                    id.and_then(|id| pool.nodes().name(id))
                        .map(ToString::to_string)
                };
                assert_eq!(name(&one), name(&other));
            }
        }
        Ok(())
    }

    #[test]
    fn only_flows_have_an_owner() -> Result<(), Error> {
        let mut pool = Pool::new(
            Katran::default(),
            ["10.0.0.1", "200.1.2.3"].map(Server::new),
        )?;
        for (len, owned) in [
            (0, false),
            (4, false),
            (8, true),
            (16, false),
            (20, true),
            (24, false),
        ] {
            assert_eq!(pool.route(&[7_u8; 24][..len]).is_some(), owned, "{len}");
        }
        pool.apply(&Change::reweight("10.0.0.1", 0))?;
        assert_eq!(
            pool.route(&[7; 8]).map(crate::Node::name),
            Some("200.1.2.3")
        );
        pool.apply(&Change::remove("200.1.2.3"))?;
        assert!(pool.route(&[7; 8]).is_none());
        Ok(())
    }

    #[test]
    fn bytes_of_an_address_are_signed() {
        let fnv = |bytes: [u8; 4]| folly(Ipv4Addr::from(bytes));
        assert_ne!(fnv([10, 0, 0, 1]), fnv([10, 0, 0, 2]));
        // Addresses that differ in a sign bit have different hashes; the value must not change.
        assert_ne!(fnv([0x80, 0, 0, 1]), fnv([0, 0, 0, 1]));
        assert_eq!(fnv([0x80, 0, 0, 1]), 0xc420_89e1_2f2d_0c64);
    }

    #[test]
    fn wrong_servers_and_sizes_are_refused() {
        assert!(Pool::new(Katran::default(), [Server::new("fc00::1")]).is_err());
        assert!(Pool::new(Katran::default(), [Server::new("a").with_label("x")]).is_err());
        for size in [0, 1, 100, 5_000_013] {
            assert!(pool(RingVersion::V1, size, &[(1, 1)]).is_err(), "{size}");
        }
        assert!("v3".parse::<RingVersion>().is_err());
    }

    #[test]
    fn large_tables_overflow_and_still_fill() -> Result<(), Error> {
        for version in [RingVersion::V1, RingVersion::V2] {
            let pool = pool(version, 131_071, &[(1, 1), (2, 3), (3, 2)])?;
            assert_eq!(pool.layout().len(), 131_071);
        }
        Ok(())
    }
}
