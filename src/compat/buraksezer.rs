//! buraksezer/consistent: consistent hashing with bounded loads for Go.
//!
//! Mirrokni, Thorup and Zadimoghaddam, "Consistent Hashing with Bounded Loads" (2018),
//! arXiv:1608.01350, with partitions in place of keys.
//!
//! Source: <https://github.com/buraksezer/consistent>, v0.10.0 and v1.0.0; compared with running
//! copies of both.
//!
//! | value | v0.10.0 | v1.0.0 |
//! |---|---|---|
//! | point i of a member | hash(name + decimal i) | hash(decimal i + ":" + name) |
//! | load bound for P partitions and n members | ceil(floor(P / n) x load) | ceil(P / n x load) |
//! | points looked at for a partition, of N | the first N - 1 | all |
//!
//! In both versions the partition of a key is hash(key) mod P. Partitions are assigned in the order
//! 0, 1, …: each goes to the first point at or after hash(number as 8 little-endian bytes), and from
//! there on to the first member with fewer partitions than the bound. The bound counts partitions,
//! not the load of keys.
//!
//! Surprises:
//!
//! - The two versions share no routes, so an upgrade moves most keys.
//! - In v0.10.0 two labels can be equal ("node-1" + "10" and "node-11" + "0"). The last member owns
//!   such a point. If the library removes that member, the point can lose its owner; this code
//!   always builds a new ring.
//! - If the bound leaves no room, the library panics; here that is an error. v0.10.0 never looks at
//!   the last point, so it refuses a few full configurations that v1.0.0 routes, such as one member
//!   with one point.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use core::str::FromStr;

use super::layout::check_capacity;
use super::parts::servers::{unweighted, up};
use super::{Layout, Pool, Server, System, boxed};
use crate::registry::{Origin, Param, Params, Scheme};
use crate::{Error, HashFunction, NodeId, SystemHash};

pub(super) const DIALECT: Scheme = Scheme::dialect(
    "buraksezer-consistent",
    "buraksezer/consistent, a Go library: partitions with bounded loads",
    Origin::recorded("v0.10.0, v1.0.0"),
    |servers, params| boxed(pool(servers, params)),
)
.with_params(&[FORMAT, HASH, PARTITIONS, REPLICATION, LOAD]);

/// Builds a pool of these servers, with options as text.
///
/// # Errors
/// [`Error::Parameter`] for a wrong value of an option; those of [`Pool::new`].
pub fn pool(servers: Vec<Server>, params: &Params) -> Result<Pool, Error> {
    let default = Buraksezer::default();
    let buraksezer = Buraksezer {
        format: params.choice(FORMAT.name, default.format)?,
        hash: params.choice(HASH.name, default.hash)?,
        partitions: params.get(PARTITIONS.name, default.partitions)?,
        replication: params.get(REPLICATION.name, default.replication)?,
        load: params.get(LOAD.name, default.load)?,
    };
    Pool::new(buraksezer, servers)
}

const FORMAT: Param = Param::new(
    "format",
    "v1.0.0",
    "v0.10.0 or v1.0.0, which share no routes",
)
.with_values(&["v0.10.0", "v1.0.0"]);
const HASH: Param = Param::new(
    "hash",
    "xxh64",
    "the Hasher given to the library, of 64 bits",
)
.with_hashes(&["md5"]);
const PARTITIONS: Param = Param::new("partitions", "271", "PartitionCount");
const REPLICATION: Param = Param::new("replication", "20", "ReplicationFactor: points of a member");
const LOAD: Param = Param::new(
    "load",
    "1.25",
    "the most partitions of a member, relative to the average",
);

/// The partitions of buraksezer/consistent.
///
/// ```
/// use hashroute::compat::{Pool, Server, buraksezer::Buraksezer};
/// use hashroute::Router;
///
/// let pool = Pool::new(Buraksezer::default(), ["a", "b", "c"].map(Server::new))?;
/// let most = 113.0 / 271.0; // ceil(271 / 3 x 1.25) partitions
/// let shares = pool.ranges().expect("a table has cells").shares(3);
/// assert!(shares.iter().all(|share| *share <= most + 1e-9));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Buraksezer {
    /// The version: it decides the labels and the load bound.
    pub format: Format,
    /// The hash function.
    pub hash: HashFunction,
    /// The number of partitions, at least 1.
    pub partitions: u64,
    /// The number of points of a member, at least 1.
    pub replication: u32,
    /// The maximum number of partitions of a member, relative to the average.
    pub load: f64,
}

impl Default for Buraksezer {
    fn default() -> Self {
        Self {
            format: Format::V1,
            hash: HashFunction::Xxh64,
            partitions: 271,
            replication: 20,
            load: 1.25,
        }
    }
}

builder! { Buraksezer:
    with_format(format: Format),
    with_hash(hash: HashFunction),
    with_partitions(partitions: u64),
    with_replication(replication: u32),
    with_load(load: f64),
}

/// The versions of the library that differ in their routes.
///
/// ```
/// use hashroute::compat::buraksezer::Format;
/// assert_eq!("v0.10.0".parse::<Format>()?, Format::V0);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// v0.10.0 and before.
    V0,
    /// v1.0.0.
    #[default]
    V1,
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "v0.10.0" => Ok(Self::V0),
            "v1.0.0" => Ok(Self::V1),
            _ => Err(Error::parameter(FORMAT.name, text, "v0.10.0 or v1.0.0")),
        }
    }
}

impl Buraksezer {
    fn check(&self) -> Result<(), Error> {
        let at_least_1 = |param: &Param, value: u64| match value {
            0 => Err(Error::parameter(param.name, value, "at least 1")),
            _ => check_capacity(value),
        };
        at_least_1(&PARTITIONS, self.partitions)?;
        at_least_1(&REPLICATION, self.replication.into())?;
        if !self.load.is_finite() || self.load <= 0.0 {
            return Err(Error::parameter(LOAD.name, self.load, "a number above 0"));
        }
        Ok(())
    }

    fn value(&self, bytes: &[u8]) -> u64 {
        self.hash.value([0; 2], bytes)
    }

    /// Returns the points, each with the index of its member in the list.
    fn points(&self, members: &[(NodeId, &Server)]) -> Vec<(u64, usize)> {
        let mut points = Vec::new();
        for (at, (_, server)) in members.iter().enumerate() {
            let name = server.label();
            let point = |i| match self.format {
                Format::V0 => self.value(format!("{name}{i}").as_bytes()),
                Format::V1 => self.value(format!("{i}:{name}").as_bytes()),
            };
            points.extend((0..self.replication).map(|i| (point(i), at)));
        }
        points.sort_unstable();
        // The library keeps equal points in its sorted list, but its map from point to member has
        // only the last member. They count when the list is walked.
        for same in points.chunk_by_mut(|a, b| a.0 == b.0) {
            let (_, last) = same[same.len() - 1];
            for (_, at) in same {
                *at = last;
            }
        }
        points
    }

    /// Returns the load bound without the final rounding up: an integer load is below the rounded
    /// bound exactly if it is below this one.
    fn bound(&self, members: usize) -> f64 {
        match self.format {
            Format::V0 => (self.partitions / members as u64) as f64 * self.load,
            Format::V1 => self.partitions as f64 / members as f64 * self.load,
        }
    }

    /// Returns the number of points that are looked at for a partition, of `points`. The loop of
    /// v0.10.0 ends at `count >= len`, that of v1.0.0 at `count > len`.
    fn looked_at(&self, points: usize) -> usize {
        match self.format {
            Format::V0 => points.saturating_sub(1),
            Format::V1 => points,
        }
    }
}

impl System for Buraksezer {
    fn layout(&self, servers: &[(NodeId, Server)]) -> Result<Layout, Error> {
        self.check()?;
        unweighted(servers)?;
        let members: Vec<_> = up(servers).collect();
        check_capacity(u64::from(self.replication).saturating_mul(members.len() as u64))?;
        if members.is_empty() {
            return Layout::cells(64, Vec::new());
        }
        let points = self.points(&members);
        let bound = self.bound(members.len());
        let mut room = Room::new(&points, members.len(), bound, self.looked_at(points.len()));
        let owner = |partition: u64| {
            let member = room.take(self.value(&partition.to_le_bytes()))?;
            Some(members[member].0)
        };
        let cells: Option<Vec<_>> = (0..self.partitions).map(owner).collect();
        let full = || Error::parameter(LOAD.name, self.load, "more room for the partitions");
        Layout::cells(64, cells.ok_or_else(full)?)
    }

    fn hash(&self, key: &[u8], _: &[(NodeId, Server)], _: &Layout) -> Option<u64> {
        Some(self.value(key))
    }

    fn hash_id(&self, _: &[(NodeId, Server)], _: &Layout) -> Option<SystemHash> {
        (self.hash.bits() == 64).then(|| SystemHash::new("buraksezer", self.hash))
    }
}

/// The points, and the members that still have room.
struct Room<'a> {
    points: &'a [(u64, usize)],
    /// For each point, a point between it and the next one with room, or itself if it has room: a
    /// union-find, so that full members are skipped in nearly constant time.
    next: Vec<usize>,
    /// The points of each member.
    own: Vec<Vec<usize>>,
    loads: Vec<u64>,
    bound: f64,
    /// The number of points that are looked at for a partition.
    looked_at: usize,
    /// The number of members with points and room.
    open: usize,
}

impl<'a> Room<'a> {
    fn new(points: &'a [(u64, usize)], members: usize, bound: f64, looked_at: usize) -> Self {
        let mut own = vec![Vec::new(); members];
        for (at, (_, member)) in points.iter().enumerate() {
            own[*member].push(at);
        }
        Self {
            points,
            next: (0..points.len()).collect(),
            open: own.iter().filter(|own| !own.is_empty()).count(),
            own,
            loads: vec![0; members],
            bound,
            looked_at,
        }
    }

    /// Assigns a partition and returns its member; `None` if there is no room.
    fn take(&mut self, hash: u64) -> Option<usize> {
        let len = self.points.len();
        let from = self.points.partition_point(|(point, _)| *point < hash) % len;
        if self.open == 0 || self.bound <= 0.0 {
            return None;
        }
        let at = self.find(from);
        if (at + len - from) % len >= self.looked_at {
            return None;
        }
        let (_, member) = self.points[at];
        self.loads[member] += 1;
        if self.loads[member] as f64 >= self.bound {
            self.open -= 1;
            for &point in &self.own[member] {
                self.next[point] = (point + 1) % len;
            }
        }
        Some(member)
    }

    /// Returns the first point with room from here on, and shortens the chain to it. The caller
    /// makes sure that there is one.
    fn find(&mut self, from: usize) -> usize {
        let mut found = from;
        while self.next[found] != found {
            found = self.next[found];
        }
        let mut at = from;
        while at != found {
            at = core::mem::replace(&mut self.next[at], found);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Change, Node, Router};

    fn names(count: usize) -> Vec<Server> {
        let name = |i| Server::new(format!("node-{i}"));
        (0..count).map(name).collect()
    }

    /// Runs the library's loop: point by point, with a rounded bound, and the end of each version.
    fn slow(system: &Buraksezer, servers: &[Server]) -> Option<Vec<usize>> {
        let id = |i: usize| NodeId::from_index(i).expect("an id");
        let members: Vec<_> = servers
            .iter()
            .enumerate()
            .map(|(i, of)| (id(i), of))
            .collect();
        let points = system.points(&members);
        let bound = (1..=10_000).find(|whole| f64::from(*whole) >= system.bound(servers.len()))?;
        let mut loads = vec![0; servers.len()];
        let mut owners = Vec::new();
        for partition in 0..system.partitions {
            let hash = system.value(&partition.to_le_bytes());
            let from = points.partition_point(|(point, _)| *point < hash) % points.len();
            let looked_at = match system.format {
                Format::V0 => points.len() - 1,
                Format::V1 => points.len(),
            };
            let mut on = (from..points.len()).chain(0..from).take(looked_at);
            let at = on.find(|at| loads[points[*at].1] < bound)?;
            loads[points[at].1] += 1;
            owners.push(points[at].1);
        }
        Some(owners)
    }

    #[test]
    fn equals_the_loop_of_the_library() {
        for format in [Format::V0, Format::V1] {
            for (count, load) in [
                (1, 1.25),
                (3, 1.0),
                (7, 1.05),
                (12, 1.25),
                (30, 1.0),
                (30, 9.0),
            ] {
                let system = Buraksezer {
                    format,
                    load,
                    ..Buraksezer::default()
                };
                let wanted = slow(&system, &names(count));
                let pool = Pool::new(system, names(count));
                let cell = |pool: &Pool, cell| pool.layout().owner(cell).map(NodeId::index);
                let owners = pool.ok().map(|pool| {
                    let cells = (0..271).map(|at| cell(&pool, at));
                    cells.collect::<Option<Vec<_>>>().expect("owners")
                });
                assert_eq!(owners, wanted, "{format:?} {count} {load}");
            }
        }
    }

    #[test]
    fn the_last_member_owns_a_shared_point() {
        let system = Buraksezer {
            format: Format::V0,
            ..Buraksezer::default()
        };
        let servers = ["node-1", "node-11"].map(Server::new);
        let id = |i: usize| NodeId::from_index(i).expect("an id");
        let members = [(id(0), &servers[0]), (id(1), &servers[1])];
        let points = system.points(&members);
        let shared = system.value(b"node-110");
        let owners = points.iter().filter(|(point, _)| *point == shared);
        assert_eq!(owners.map(|(_, at)| *at).collect::<Vec<_>>(), [1, 1]);
    }

    #[test]
    fn members_that_are_down_own_nothing_and_no_room_is_refused() -> Result<(), Error> {
        assert!(
            Pool::new(Buraksezer::default(), [])?
                .route(b"key")
                .is_none()
        );
        let mut pool = Pool::new(Buraksezer::default(), names(2))?;
        pool.apply(&Change::reweight("node-0", 0))?;
        assert!((0..99_u8).all(|key| pool.route(&[key]).map(Node::name) == Some("node-1")));
        // floor(271 / 300) is 0.
        let v0 = Buraksezer {
            format: Format::V0,
            ..Buraksezer::default()
        };
        assert!(Pool::new(v0, names(300)).is_err());
        Ok(())
    }

    /// (partitions, replication, load, members) that v1.0.0 routes and v0.10.0 need not. The first
    /// four are cases of the library, published with its change 13, "The loop now visits every
    /// position".
    const FULL: [(u64, u32, f64, usize); 6] = [
        (100, 1, 1.25, 1),
        (1, 1, 1.0, 1),
        (10, 1, 1.1, 2),
        (5, 1, 1.5, 2),
        (2, 1, 1.0, 2),
        (3, 1, 1.0, 3),
    ];

    #[test]
    fn only_the_second_version_looks_at_the_last_point() {
        let mut refused = 0;
        for (partitions, replication, load, members) in FULL {
            let [old, new] = [Format::V0, Format::V1].map(|format| {
                let system = Buraksezer {
                    format,
                    partitions,
                    replication,
                    load,
                    ..Buraksezer::default()
                };
                let wanted = slow(&system, &names(members));
                let pool = Pool::new(system, names(members));
                assert_eq!(pool.is_ok(), wanted.is_some(), "{partitions} {members}");
                pool.is_ok()
            });
            let case = (partitions, replication, load, members);
            assert!(new && !(old && members == 1), "{case:?}");
            refused += usize::from(!old);
        }
        assert_eq!(
            refused, 3,
            "of these, v0.10.0 routes those whose last point is never needed"
        );
    }

    #[test]
    fn absurd_options_are_refused() {
        let refused = |system| Pool::new(system, names(2)).is_err();
        let default = Buraksezer::default;
        assert!(refused(Buraksezer {
            partitions: 0,
            ..default()
        }));
        assert!(refused(Buraksezer {
            partitions: u64::MAX,
            ..default()
        }));
        assert!(refused(Buraksezer {
            replication: 0,
            ..default()
        }));
        assert!(refused(Buraksezer {
            replication: u32::MAX,
            ..default()
        }));
        for load in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(refused(Buraksezer { load, ..default() }));
        }
        assert!("v2".parse::<Format>().is_err());
    }
}
