//! Layouts: how the servers of a pool share the hash space.

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use core::fmt;
use core::ops::ControlFlow;

use crate::digest::Digest;
use crate::strategy::{Points, Ring};
use crate::{Error, Explanation, HashRanges, KeyHash, Limit, NodeId};

/// The mapping from hashes to the servers of a [`Pool`](super::Pool): points on a circle, cells,
/// scores or buckets.
///
/// ```
/// use hashroute::compat::{Layout, Rule};
/// use hashroute::{Node, Nodes};
///
/// let nodes = Nodes::new(["a", "b"].map(Node::new))?;
/// let [a, b] = ["a", "b"].map(|name| nodes.id(name).expect("a member"));
/// let circle = Layout::circle(32, Rule::AtOrAfter, vec![(100, a), (200, b)])?;
/// assert_eq!([100, 101, 201].map(|hash| circle.owner(hash)), [Some(a), Some(b), Some(a)]);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone)]
pub struct Layout(Kind);

impl fmt::Debug for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Layout")
            .field(&Digest(self.len(), &self.0))
            .finish()
    }
}

#[derive(Clone, Debug)]
enum Kind {
    /// Hashes have `bits` bits and are stored in the upper bits of a point, because [`Points`] is
    /// a circle of 64 bits.
    Circle { points: Points, bits: u32 },
    /// The cell at the hash modulo the number of cells holds the owner.
    Cells {
        cells: Vec<Option<NodeId>>,
        bits: u32,
    },
    /// The server with the highest score owns; at a tie, the first.
    Scores(Vec<(u64, NodeId)>, fn(u64, u64) -> u64),
    /// A function of the hash and the number of servers returns the owner's position.
    Buckets(Vec<NodeId>, fn(u64, u32) -> Option<u32>),
    /// The inner layout, but hashes of these servers have no owner. Sorted, for a binary search.
    Without(Box<Layout>, Vec<NodeId>),
}

/// The rule by which a point of a circle owns a hash.
///
/// ```
/// use hashroute::compat::{Layout, Rule};
/// use hashroute::{Node, Nodes};
///
/// let nodes = Nodes::new(["a", "b"].map(Node::new))?;
/// let [a, b] = ["a", "b"].map(|name| nodes.id(name).expect("a member"));
/// let owner = |rule| Ok(Layout::circle(32, rule, vec![(100, a), (200, b)])?.owner(100));
/// assert_eq!(owner(Rule::AtOrAfter)?, Some(a));
/// assert_eq!(owner(Rule::After)?, Some(b));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rule {
    /// The first point at or after the hash; past the last point, the first one. The usual rule.
    AtOrAfter,
    /// The first point strictly after the hash; past the last point, the first one.
    After,
    /// The last point at or before the hash; before the first point, the last one.
    AtOrBefore,
    /// The nearest point in either direction; at the same distance, the one before the hash.
    Nearest,
    /// The first point at or after the hash; past the last point, the last one.
    AtOrAfterUnwrapped,
}

impl Layout {
    /// Builds a circle of 2^`bits` hashes, 1 to 64 bits, from points. Of equal points, the first
    /// given is kept. O(points log points).
    ///
    /// # Errors
    /// [`Error::Capacity`] beyond [`Ring::MAX_POINTS`]; [`Error::Parameter`] for a point with more
    /// than `bits` bits.
    pub fn circle(bits: u32, rule: Rule, mut points: Vec<(u64, NodeId)>) -> Result<Self, Error> {
        check_capacity(points.len() as u64)?;
        let last = last_hash(bits)?;
        if let Some((point, _)) = points.iter().find(|(point, _)| *point > last) {
            return Err(Error::parameter("point", point, format!("at most {last}")));
        }
        // A stable sort: of equal points the first given stays first, and `dedup` keeps it.
        points.sort_by_key(|(point, _)| *point);
        points.dedup_by_key(|(point, _)| *point);
        let mut arcs = arcs(rule, &points, last);
        for (end, _) in &mut arcs {
            *end <<= 64 - bits;
        }
        let points = Points::new(arcs);
        Ok(Self(Kind::Circle { points, bits }))
    }

    /// Builds cells for hashes of `bits` bits, 1 to 64: the cell at the hash modulo the number of
    /// cells holds the owner.
    ///
    /// # Errors
    /// [`Error::Capacity`] beyond [`Ring::MAX_POINTS`].
    pub fn cells(bits: u32, cells: Vec<NodeId>) -> Result<Self, Error> {
        check_capacity(cells.len() as u64)?;
        Self::table(bits, cells.into_iter().map(Some).collect())
    }

    /// Builds cells, some of them without an owner: keys of such a cell have no owner.
    ///
    /// # Errors
    /// Those of [`cells`](Self::cells).
    ///
    /// ```
    /// # use hashroute::compat::Layout;
    /// assert_eq!(Layout::table(32, vec![None; 7])?.owner(3), None);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn table(bits: u32, cells: Vec<Option<NodeId>>) -> Result<Self, Error> {
        check_capacity(cells.len() as u64)?;
        last_hash(bits)?;
        Ok(Self(Kind::Cells { cells, bits }))
    }

    /// Builds scores: `score` of the hash and of a server's seed. The server with the highest score
    /// owns the hash; at a tie, the first given.
    pub fn scores(seeds: Vec<(u64, NodeId)>, score: fn(u64, u64) -> u64) -> Self {
        Self(Kind::Scores(seeds, score))
    }

    /// Builds buckets: a function of the hash and the number of servers returns the position of the
    /// owner.
    pub fn buckets(servers: Vec<NodeId>, function: fn(u64, u32) -> Option<u32>) -> Self {
        Self(Kind::Buckets(servers, function))
    }

    /// Returns a layout in which the hashes of these servers have no owner. Some systems do not move
    /// the keys of a server that is down, and others hash those keys again.
    ///
    /// ```
    /// # use hashroute::{Node, Nodes, compat::Layout};
    /// let nodes = Nodes::new(["a", "b"].map(Node::new))?;
    /// let [a, b] = ["a", "b"].map(|name| nodes.id(name).expect("a member"));
    /// let cells = Layout::cells(32, vec![a, b])?.without([b]);
    /// assert_eq!([0, 1].map(|hash| cells.owner(hash)), [Some(a), None]);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    #[must_use]
    pub fn without(self, absent: impl IntoIterator<Item = NodeId>) -> Self {
        let mut absent: Vec<_> = absent.into_iter().collect();
        if absent.is_empty() {
            return self;
        }
        absent.sort_unstable();
        Self(Kind::Without(Box::new(self), absent))
    }

    /// Returns the owner of a hash; `None` for a hash with too many bits.
    pub fn owner(&self, hash: u64) -> Option<NodeId> {
        match &self.0 {
            Kind::Circle { points, bits } => points.owner(point(hash, *bits)?),
            Kind::Cells { cells, bits } => {
                point(hash, *bits)?;
                *cells.get(remainder(hash, cells.len())?)?
            }
            Kind::Scores(seeds, score) => {
                // `max_by_key` returns the last of equal maxima, so reversed the first wins a tie.
                let best = seeds.iter().rev();
                best.max_by_key(|(seed, _)| score(hash, *seed))
                    .map(|(_, id)| *id)
            }
            Kind::Buckets(servers, function) => {
                let bucket = function(hash, u32::try_from(servers.len()).ok()?)?;
                servers.get(bucket as usize).copied()
            }
            Kind::Without(all, absent) => all
                .owner(hash)
                .filter(|id| absent.binary_search(id).is_err()),
        }
    }

    /// Returns the last hash of the arc that a hash is on; `None` if this is no circle. Some systems
    /// measure the distance from a hash to its point.
    ///
    /// ```
    /// # use hashroute::{Node, Nodes, compat::{Layout, Rule}};
    /// let nodes = Nodes::new([Node::new("a")])?;
    /// let a = nodes.id("a").expect("a member");
    /// let circle = Layout::circle(32, Rule::AtOrAfter, vec![(100, a), (200, a)])?;
    /// assert_eq!([100, 101, 201].map(|hash| circle.arc_end(hash)), [Some(100), Some(200), Some(100)]);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn arc_end(&self, hash: u64) -> Option<u64> {
        let Kind::Circle { points, bits } = &self.0 else {
            return None;
        };
        let mut end = None;
        let _ = points.walk(point(hash, *bits)?, |(point, _)| {
            end = Some(point >> (64 - bits));
            ControlFlow::Break(())
        });
        end
    }

    /// Returns the number of arcs, cells or servers.
    pub fn len(&self) -> usize {
        match &self.0 {
            Kind::Circle { points, .. } => points.len(),
            Kind::Cells { cells, .. } => cells.len(),
            Kind::Buckets(servers, _) => servers.len(),
            Kind::Scores(seeds, _) => seeds.len(),
            Kind::Without(all, _) => all.len(),
        }
    }

    /// Returns whether there are none: no hash has an owner.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Visits owners in order of preference: on a circle the points from the key's on, else the
    /// owner of the key and the owners of its rehashes.
    pub(super) fn walk(
        &self,
        key: KeyHash,
        visit: &mut dyn FnMut(NodeId) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if let Kind::Without(all, absent) = &self.0 {
            return all.walk(key, &mut |id| match absent.binary_search(&id) {
                Ok(_) => ControlFlow::Continue(()),
                Err(_) => visit(id),
            });
        }
        if let Kind::Circle { points, bits } = &self.0 {
            return match point(key.get(), *bits) {
                Some(start) => points.walk(start, |(_, id)| visit(id)),
                None => ControlFlow::Continue(()),
            };
        }
        if let Some(owner) = self.owner(key.get()) {
            visit(owner)?;
            let bits = match self.0 {
                Kind::Cells { bits, .. } => bits,
                _ => 64,
            };
            // 64 draws may miss a server; the pool visits all members afterwards.
            for round in 1..=64 {
                if let Some(id) = self.owner(key.rehash(round).get() >> (64 - bits)) {
                    visit(id)?;
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Returns the hash space by owner; `None` for scores and buckets, which have no ranges.
    pub(super) fn ranges(&self) -> Option<HashRanges> {
        match &self.0 {
            Kind::Circle { points, bits } => {
                let ends = points.iter().map(|(end, id)| (end >> (64 - bits), id));
                Some(HashRanges::arcs(*bits, ends).with_lists())
            }
            Kind::Cells { cells, bits } => Some(HashRanges::cells(
                *bits,
                cells.iter().map(|owner| (1, *owner)),
            )),
            Kind::Without(all, absent) => Some(all.ranges()?.without(absent)),
            Kind::Scores(..) | Kind::Buckets(..) => None,
        }
    }

    pub(super) fn explain(&self, hash: u64) -> Explanation {
        match &self.0 {
            Kind::Circle { points, bits } => {
                let digits = bits.div_ceil(4) as usize + 2;
                let end = self.arc_end(hash).map(|end| {
                    let text = format!("{end:#0digits$x}, of {} arcs", points.len());
                    ("arc up to", text)
                });
                end.into_iter().collect()
            }
            Kind::Cells { cells, .. } => {
                let cell = remainder(hash, cells.len());
                let text = |cell| format!("{cell} of {}", cells.len());
                cell.map(|cell| ("cell", text(cell))).into_iter().collect()
            }
            Kind::Without(all, _) => all.explain(hash),
            Kind::Scores(..) | Kind::Buckets(..) => Explanation::default(),
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        match &self.0 {
            Kind::Circle { points, .. } => points.heap_bytes(),
            Kind::Cells { cells, .. } => cells.capacity() * size_of::<Option<NodeId>>(),
            Kind::Buckets(servers, _) => servers.capacity() * size_of::<NodeId>(),
            Kind::Scores(seeds, _) => seeds.capacity() * size_of::<(u64, NodeId)>(),
            Kind::Without(all, absent) => {
                size_of::<Self>() + all.heap_bytes() + absent.capacity() * size_of::<NodeId>()
            }
        }
    }
}

/// Returns the arcs of the points, each by its last hash. With these as points, every rule becomes
/// "the first at or after the hash", so lookups need only one form.
fn arcs(rule: Rule, points: &[(u64, NodeId)], last: u64) -> Vec<(u64, NodeId)> {
    let nexts = points.iter().cycle().skip(1);
    let pairs = points.iter().zip(nexts);
    let mut arcs: Vec<_> = pairs
        .map(|(&(point, id), &(next, _))| {
            // Subtractions wrap: arcs may cross hash 0. The mask cuts to the bits of the circle.
            let end = match rule {
                Rule::AtOrAfter | Rule::AtOrAfterUnwrapped => point,
                Rule::After => point.wrapping_sub(1),
                Rule::AtOrBefore => next.wrapping_sub(1),
                Rule::Nearest => point.wrapping_add((next.wrapping_sub(point) & last) / 2),
            };
            (end & last, id)
        })
        .collect();
    match points.last() {
        Some(&(point, id)) if rule == Rule::AtOrAfterUnwrapped && point < last => {
            arcs.push((last, id));
        }
        _ => {}
    }
    arcs
}

/// Returns the point of a hash; `None` if the hash has more than `bits` bits.
fn point(hash: u64, bits: u32) -> Option<u64> {
    let point = hash << (64 - bits);
    (point >> (64 - bits) == hash).then_some(point)
}

fn last_hash(bits: u32) -> Result<u64, Error> {
    if !(1..=64).contains(&bits) {
        return Err(Error::parameter("bits", bits, "from 1 to 64"));
    }
    Ok(u64::MAX >> (64 - bits))
}

fn remainder(hash: u64, count: usize) -> Option<usize> {
    usize::try_from(hash.checked_rem(count as u64)?).ok()
}

/// Refuses more points or cells than a ring may have. Call it before allocating them.
pub(super) fn check_capacity(points: u64) -> Result<(), Error> {
    if points <= Ring::MAX_POINTS {
        return Ok(());
    }
    Err(Error::Capacity {
        what: Limit::PointsOrCells,
        wanted: points,
        limit: Ring::MAX_POINTS,
        advice: "divide all weights by a common factor",
    })
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn a_hash_that_is_too_wide_has_no_owner() -> Result<(), Error> {
        let a = NodeId::from_index(0).expect("an id");
        for layout in [
            Layout::cells(32, vec![a; 7])?,
            Layout::circle(32, Rule::AtOrAfter, vec![(100, a)])?,
        ] {
            assert_eq!(layout.owner(u32::MAX.into()), Some(a));
            assert_eq!(layout.owner(1 << 32), None);
        }
        Ok(())
    }
}
