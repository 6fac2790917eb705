//! Cilium: the Maglev tables of its load balancer.
//!
//! Source: `pkg/maglev` and the hashing of flows in `bpf/lib` of Cilium 1.17; written from the
//! source, not compared with a running Cilium. A unit test checks the table of one of Cilium's own
//! tests.
//!
//! | table | lookup |
//! |---|---|
//! | Murmur3 (128 bits, seeded) of `[IP:PORT/TCP,State:active]` gives offset and skip; servers claim cells in the order of that text, by weight | hash of the flow, modulo the number of cells |
//!
//! - A server's name is `IP:PORT`, with an IPv6 address in brackets. A label replaces the whole
//!   hashed text.
//! - The order of the servers does not matter.
//! - Weights count only if their mean, rounded down, is 2 or more: the weights 1, 1 and 3 all count
//!   the same.
//! - The whole cluster has one seed, `bpf-lb-maglev-hash-seed`.
//!
//! A key is the hashed part of a packet, in network byte order: the client's address (4 or 16
//! bytes), its port and the service's port (2 bytes each), and the protocol (1 byte: 6 is TCP).
//! Other keys have no owner. Cilium looks at its connection table first; that table is not part of
//! this dialect.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::parts::jhash;
use super::parts::permutation::{Permutation, Table, count};
use super::parts::ring_hash::total_weight;
use super::parts::servers::up;
use super::{Layout, Pool, Server, System, boxed};
use crate::registry::{KeyForm, Origin, Param, Params, Scheme};
use crate::{Error, NodeId, SystemHash};

pub(super) const DIALECT: Scheme = Scheme::dialect(
    "cilium",
    "Maglev, over the flow",
    Origin::source("1.17"),
    |servers, params| boxed(pool(servers, params)),
)
.with_params(&[TABLE_SIZE, HASH_SEED, PROTOCOL])
.with_keys(KeyForm::Flow(9));

/// Builds a pool of these servers, with options as text.
///
/// # Errors
/// [`Error::Parameter`] for a wrong value of an option; those of [`Pool::new`].
pub fn pool(servers: Vec<Server>, params: &Params) -> Result<Pool, Error> {
    let default = Cilium::default();
    let seed: String = params.get(HASH_SEED.name, HASH_SEED.default.into())?;
    let system = Cilium {
        table_size: params.get(TABLE_SIZE.name, default.table_size)?,
        hash_seed: decode(&seed)
            .ok_or_else(|| Error::parameter(HASH_SEED.name, &seed, "12 bytes in base64"))?,
        protocol: params.get(PROTOCOL.name, default.protocol)?,
    };
    Pool::new(system, servers)
}

const TABLE_SIZE: Param = Param::new(
    "table-size",
    "16381",
    "bpf-lb-maglev-table-size: cells, one of Cilium's primes",
)
.with_finer(&["655373"]);

const HASH_SEED: Param = Param::new(
    "hash-seed",
    "JLfvgnHc2kaSUFaI",
    "bpf-lb-maglev-hash-seed: 12 bytes in base64",
);

const PROTOCOL: Param = Param::new(
    "protocol",
    "TCP",
    "the protocol of the servers: TCP, UDP, SCTP, ...",
);

/// The table sizes that Cilium accepts.
const SIZES: [u64; 10] = [
    251, 509, 1021, 2039, 4093, 8191, 16_381, 32_749, 65_521, 131_071,
];

/// The options of a cluster and of a service.
///
/// ```
/// use hashroute::compat::{Pool, Server, cilium::Cilium};
/// use hashroute::Router;
///
/// let pool = Pool::new(Cilium::default(), ["10.0.0.1:80", "10.0.0.2:80"].map(Server::new))?;
/// let flow = [192, 0, 2, 7, 0x9c, 0x40, 0, 80, 6]; // 192.0.2.7, port 40000, to port 80, TCP
/// assert!(pool.route(&flow).is_some() && pool.route(b"user:42").is_none());
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cilium {
    /// `bpf-lb-maglev-table-size`, in cells: one of the ten primes that Cilium accepts.
    pub table_size: u64,
    /// `bpf-lb-maglev-hash-seed`, decoded.
    pub hash_seed: [u8; 12],
    /// The protocol in the hashed text of a server.
    pub protocol: String,
}

impl Default for Cilium {
    fn default() -> Self {
        Self {
            table_size: 16_381,
            hash_seed: [
                0x24, 0xb7, 0xef, 0x82, 0x71, 0xdc, 0xda, 0x46, 0x92, 0x50, 0x56, 0x88,
            ],
            protocol: "TCP".into(),
        }
    }
}

builder! { Cilium:
    with_table_size(table_size: u64),
    with_hash_seed(hash_seed: [u8; 12]),
    with_protocol(protocol: impl Into<String>),
}

impl Cilium {
    /// Returns the seeds of the table, of IPv4 flows and of IPv6 flows.
    fn seeds(&self) -> [u32; 3] {
        let seed = |at: usize| {
            let bytes = &self.hash_seed[at..at + 4];
            bytes
                .iter()
                .fold(0, |seed, byte| seed << 8 | u32::from(*byte))
        };
        [0, 4, 8].map(seed)
    }
}

impl System for Cilium {
    fn layout(&self, servers: &[(NodeId, Server)]) -> Result<Layout, Error> {
        if !SIZES.contains(&self.table_size) {
            let sizes = SIZES.map(|size| format!("{size}")).join(", ");
            let expected = format!("one of: {sizes}");
            return Err(Error::parameter(TABLE_SIZE.name, self.table_size, expected));
        }
        if let Some((_, server)) = up(servers).find(|(_, server)| server.weight() > 0xffff) {
            return Err(Error::Weight {
                name: server.name().into(),
                weight: server.weight(),
                expected: "at most 65535",
            });
        }
        let mut named: Vec<_> = up(servers)
            .map(|(id, server)| (self.text(server), id, server.weight()))
            .collect();
        named.sort();
        let ways = named.iter().map(|(text, id, weight)| {
            let (offset, skip) = mur3::murmurhash3_x64_128(text.as_bytes(), self.seeds()[0]);
            (
                Permutation::new(*id, [offset, skip], self.table_size),
                u64::from(*weight),
            )
        });
        fill(ways.collect(), total_weight(servers), self.table_size)
    }

    fn hash(&self, key: &[u8], _: &[(NodeId, Server)], _: &Layout) -> Option<u64> {
        let (protocol, flow) = key.split_last()?;
        let protocol = u32::from(*protocol);
        let [_, seed, seed_v6] = self.seeds();
        if let Some([source, ports]) = jhash::packet(flow) {
            return Some(jhash::words([source, swap(ports), protocol], seed).into());
        }
        let [a, b, c, d, ports] = jhash::packet(flow)?;
        let mut state = jhash::mix([a, b, c]);
        jhash::add(&mut state, &[d, swap(ports), protocol]);
        state = jhash::mix(state);
        jhash::add(&mut state, &[seed_v6]);
        Some(jhash::last(state).into())
    }

    fn hash_id(&self, _: &[(NodeId, Server)], _: &Layout) -> Option<SystemHash> {
        Some(SystemHash::new("cilium", self.hash_seed))
    }
}

impl Cilium {
    /// Returns the text of a server that is hashed, and by which servers are sorted.
    fn text(&self, server: &Server) -> String {
        match server.own_label() {
            Some(label) => label.into(),
            None => format!("[{}/{},State:active]", server.name(), self.protocol),
        }
    }
}

/// Swaps the two ports: Cilium's tuple has the service's port first.
fn swap(ports: u32) -> u32 {
    ports.rotate_left(16)
}

/// Fills the table: servers take turns, and a server that is ahead of its weight passes its turn to
/// the next.
fn fill(mut ways: Vec<(Permutation, u64)>, total: u64, size: u64) -> Result<Layout, Error> {
    let mut table = Table::new(size)?;
    let members = ways.len();
    if members == 0 {
        return Layout::cells(32, Vec::new());
    }
    let weighted = total / members as u64 > 1;
    let start = |(_, weight): &(Permutation, u64)| *weight as f64 / members as f64;
    let mut due: Vec<f64> = ways.iter().map(start).collect();
    let mut turns = 0;
    for cell in 0..size {
        let mut at = usize::try_from(cell).unwrap_or(0) % members; // below 131,071
        while weighted && is_ahead(cell, ways[at].1, due[at]) {
            count(&mut turns)?;
            at = (at + 1) % members;
        }
        due[at] += total as f64;
        table.claim(&mut ways[at].0);
    }
    table.layout(32)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "compares integers, as Cilium does; all are below 2^53"
)]
fn is_ahead(cell: u64, weight: u64, due: f64) -> bool {
    (cell + 1) * weight < due as u64
}

/// Decodes 12 bytes from base64.
fn decode(text: &str) -> Option<[u8; 12]> {
    let mut seed = [0; 12];
    if text.len() != 16 {
        return None;
    }
    for (bytes, letters) in seed
        .chunks_exact_mut(3)
        .zip(text.as_bytes().chunks_exact(4))
    {
        let bits = letters
            .iter()
            .try_fold(0, |bits, letter| Some(bits << 6 | digit(*letter)?))?;
        bytes.copy_from_slice(&u32::to_be_bytes(bits)[1..]);
    }
    Some(seed)
}

fn digit(letter: u8) -> Option<u32> {
    let digit = match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(digit.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KeyHash, Node, Router};

    fn small(servers: &[(&str, u32)]) -> Result<Pool, Error> {
        let system = Cilium {
            table_size: 251,
            ..Cilium::default()
        };
        let servers = servers.iter();
        Pool::new(
            system,
            servers.map(|(name, w)| Server::new(*name).with_weight(*w)),
        )
    }

    fn names(pool: &Pool) -> Vec<&str> {
        let owner = |cell| pool.route_hash(KeyHash::from_raw(cell));
        let owners = (0..pool.layout().len() as u64).filter_map(owner);
        owners.filter_map(|id| pool.nodes().name(id)).collect()
    }

    /// The table that one of Cilium's tests expects: the index of a server, and the length of its
    /// run.
    const EXPECTED: &str = "2(5),3(1),2(3),1(1),2(2),0(1),2(1),3(1),2(1),3(1),2(1),1(1),2(7),\
        1(1),2(14),3(1),2(1),1(2),2(12),3(1),2(3),1(1),2(4),3(1),2(8),3(1),2(2),1(1),2(16),1(2),\
        2(3),3(1),2(11),1(2),2(4),3(1),2(3),1(1),2(4),3(1),2(1),0(1),1(1),2(8),1(1),2(7),1(1),\
        2(4),3(1),2(1),3(1),2(9),1(2),2(5),1(1),2(7),3(1),2(1),3(1),1(1),2(8),1(1),2(4),0(1),\
        2(1),1(1),2(5),3(1),2(3),1(1),2(4),3(1),2(3),1(1),2(12),0(1),3(1),2(3),3(1),2(4),3(1),\
        2(2),1(1),2(7)";

    #[test]
    fn the_table_equals_that_of_ciliums_own_test() -> Result<(), Error> {
        let servers = [
            ("0.0.0.1:1", 2),
            ("0.0.0.3:3", 13),
            ("0.0.0.4:4", 111),
            ("0.0.0.5:5", 10),
        ];
        let pool = small(&servers)?;
        let mut cells = Vec::new();
        for run in EXPECTED.split(',') {
            let (number, times) = run.split_once('(').unwrap_or_default();
            let times: usize = times.trim_end_matches(')').parse().unwrap_or(0);
            let number: usize = number.trim().parse().unwrap_or(9);
            cells.extend(core::iter::repeat_n(servers[number].0, times));
        }
        assert_eq!(names(&pool), cells);
        Ok(())
    }

    #[test]
    fn weights_with_a_mean_below_2_do_not_count() -> Result<(), Error> {
        let even = small(&[("a:1", 1), ("b:1", 1), ("c:1", 1)])?;
        let light = small(&[("c:1", 3), ("b:1", 1), ("a:1", 1)])?;
        assert_eq!(names(&even), names(&light));
        let heavy = small(&[("a:1", 1), ("b:1", 1), ("c:1", 4)])?;
        assert_ne!(names(&even), names(&heavy));
        Ok(())
    }

    #[test]
    fn only_flows_have_an_owner() -> Result<(), Error> {
        let pool = small(&[("a:1", 1), ("b:1", 1)])?;
        for (len, owned) in [
            (0, false),
            (8, false),
            (9, true),
            (20, false),
            (21, true),
            (25, false),
        ] {
            assert_eq!(pool.route(&[7_u8; 25][..len]).is_some(), owned, "{len}");
        }
        let down = Pool::new(Cilium::default(), [Server::new("a:1").down()])?;
        assert!(down.route(&[7; 9]).is_none());
        let one = Pool::new(Cilium::default(), [Server::new("a:1")])?;
        assert_eq!(one.route(&[7; 9]).map(Node::name), Some("a:1"));
        Ok(())
    }

    #[test]
    fn wrong_options_are_refused_and_the_protocol_counts() -> Result<(), Error> {
        assert_eq!(decode(HASH_SEED.default), Some(Cilium::default().hash_seed));
        let dialect = crate::compat::find("cilium")?;
        let servers = ["a:1", "b:1"].map(Server::new);
        for (name, value) in [
            ("table-size", "13"),
            ("hash-seed", "AAAA"),
            ("hash-seed", "JLfvgnHc2kaSUFa!"),
        ] {
            let params = Params::default().with(name, value);
            assert!(
                dialect.build(servers.clone(), &params).is_err(),
                "{name}={value}"
            );
        }
        let tcp = pool(servers.to_vec(), &Params::default())?;
        let udp = pool(servers.into(), &Params::default().with("protocol", "UDP"))?;
        assert_ne!(names(&tcp), names(&udp));
        assert!(small(&[("a:1", 65_536)]).is_err());
        Ok(())
    }

    #[test]
    fn the_port_of_the_service_is_hashed_first() -> Result<(), Error> {
        let pool = small(&[("a:1", 1)])?;
        let key = [192, 0, 2, 7, 0x9c, 0x40, 0, 80, 6];
        let (source, ports) = ([192, 0, 2, 7], [0, 80, 0x9c, 0x40]);
        let [source, ports] = [source, ports].map(u32::from_le_bytes);
        let [_, seed, _] = Cilium::default().seeds();
        let hash = jhash::words([source, ports, 6], seed);
        assert_eq!(pool.hash_key(&key), Some(KeyHash::from_raw(hash.into())));
        Ok(())
    }
}
