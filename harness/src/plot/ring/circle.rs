//! The circle of hashes in a picture: arcs and points by turns, from 0 to 1.

use std::collections::BTreeSet;

use crate::text::{self, natural};
use hashroute::change::Matched;
use hashroute::{Error, HashRanges, KeyHash, Node, NodeId, Refusal, Router};

/// The nodes of the picture: those of the first router in order of name, numbers as people count,
/// then those that join.
#[derive(Debug)]
pub(super) struct Cast {
    pub(super) members: Vec<Member>,
    /// For the routers before and after, the index in `members` of each of their nodes.
    indexes: [Vec<Option<usize>>; 2],
}

#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: String,
    /// The weights before and after; `None` if it is not a member.
    pub(super) weights: [Option<u32>; 2],
}

impl Cast {
    pub(super) fn new(before: &dyn Router, after: Option<&dyn Router>) -> Self {
        let matched = Matched::of(before.nodes(), after.unwrap_or(before).nodes());
        let mut order: Vec<_> = matched.pairs.iter().enumerate().collect();
        order.sort_by(|(_, a), (_, b)| {
            let joins = a[0].is_none().cmp(&b[0].is_none());
            joins.then_with(|| natural(name_of(a), name_of(b)))
        });
        let mut indexes = vec![None; order.len()];
        let mut members = Vec::new();
        for (index, [old, new]) in order {
            indexes[index] = Some(members.len());
            members.extend(old.or(*new).map(|node| Member {
                name: node.name().into(),
                weights: [old, new].map(|node| node.map(Node::weight)),
            }));
        }
        let index_of = |id: Option<NodeId>| *indexes.get(id?.index())?;
        Self {
            indexes: matched
                .ids
                .map(|ids| ids.into_iter().map(index_of).collect()),
            members,
        }
    }

    /// Returns the index of a node of the router before (0) or after (1).
    pub(super) fn index_of(&self, side: usize, id: NodeId) -> Option<usize> {
        self.indexes[side].get(id.index()).copied().flatten()
    }

    /// Returns the members that satisfy a predicate.
    pub(super) fn who(&self, is: impl Fn(&Member) -> bool) -> Vec<usize> {
        let members = self.members.iter().enumerate();
        let fitting = members.filter(|(_, member)| is(member));
        fitting.map(|(index, _)| index).collect()
    }
}

impl Member {
    pub(super) fn joins(&self) -> bool {
        self.weights[0].is_none()
    }

    pub(super) fn leaves(&self) -> bool {
        self.weights[1].is_none()
    }

    /// Returns whether the change concerns the node.
    pub(super) fn changes(&self) -> bool {
        self.weights[0] != self.weights[1]
    }

    /// Writes the weight, or both weights of a node that changes it.
    pub(super) fn weight(&self) -> String {
        let [old, new] = self
            .weights
            .map(|weight| weight.map(|weight| text::count(weight.into())));
        match (old, new) {
            (Some(old), Some(new)) if old != new => format!("{old} → {new}"),
            (old, new) => new.or(old).unwrap_or_default(),
        }
    }
}

fn name_of<'n>(pair: &[Option<&'n Node>; 2]) -> &'n str {
    pair[0].or(pair[1]).map_or("", Node::name)
}

/// A part of the circle with one owner, or none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Arc {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) owner: Option<usize>,
}

/// A part of the circle that changes its owner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Taken {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) by: Option<usize>,
}

/// The end of an arc: keys before it belong to its owner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) turn: f64,
    pub(super) owner: usize,
}

#[derive(Debug)]
pub(super) struct Circle {
    ranges: HashRanges,
    whole: f64,
    /// The arcs in order, from 0 to 1.
    pub(super) arcs: Vec<Arc>,
    /// The points in order.
    pub(super) points: Vec<Point>,
}

impl Circle {
    /// Builds the circle of the router before (0) or after (1).
    pub(super) fn new(router: &dyn Router, side: usize, cast: &Cast) -> Result<Self, Error> {
        let ranges = router.ranges();
        let ranges = ranges.filter(|ranges| ranges.modulus().is_none());
        let ranges = ranges.ok_or(Error::Unsupported {
            what: Refusal::NoCircle,
            advice: "take a ring, or a dialect of one",
        })?;
        let whole = 2.0 * (1_u64 << (ranges.bits() - 1)) as f64;
        let owner = |id: Option<NodeId>| cast.index_of(side, id?);
        let arcs: Vec<_> = ranges
            .iter()
            .map(|range| Arc {
                from: range.first as f64 / whole,
                // Rounded like the start of the next arc, so that there is no gap between them.
                to: range.last.checked_add(1).map_or(whole, |end| end as f64) / whole,
                owner: owner(range.owner),
            })
            .collect();
        Ok(Self {
            points: points(&arcs),
            ranges,
            whole,
            arcs,
        })
    }

    /// Returns the turn of a hash, and the arc that it lies in.
    pub(super) fn find(&self, hash: KeyHash) -> Option<(f64, Arc)> {
        let turn = self.ranges.position(hash)? as f64 / self.whole;
        let after = self.arcs.partition_point(|arc| arc.from <= turn);
        Some((turn, *self.arcs.get(after.checked_sub(1)?)?))
    }

    /// Returns the turn at which an arc ends, from 0 to 2: beyond 1, the arc passes the top.
    pub(super) fn end(&self, arc: &Arc) -> f64 {
        match (self.arcs.first(), self.points.last()) {
            (Some(first), Some(last)) if arc.from >= last.turn => first.to + 1.0,
            _ => arc.to,
        }
    }

    /// Returns the share of the circle that each member owns.
    pub(super) fn shares(&self, members: usize) -> Vec<f64> {
        let mut shares = vec![0.0; members];
        for arc in &self.arcs {
            if let Some(share) = arc.owner.and_then(|owner| shares.get_mut(owner)) {
                *share += arc.to - arc.from;
            }
        }
        shares
    }

    /// Returns the points that the other circle does not have.
    pub(super) fn points_beside(&self, other: &Self) -> Vec<Point> {
        let key = |point: &Point| (point.turn.to_bits(), point.owner);
        let there: BTreeSet<_> = other.points.iter().map(key).collect();
        let mut points = self.points.clone();
        points.retain(|point| !there.contains(&key(point)));
        points
    }

    /// Returns the parts with another owner on the other circle. Neighbours with the same new owner
    /// are joined.
    pub(super) fn taken(&self, after: &Self) -> Vec<Taken> {
        let mut taken: Vec<Taken> = Vec::new();
        let (mut old, mut new) = (self.arcs.iter().peekable(), after.arcs.iter().peekable());
        let mut from = 0.0;
        while let (Some(before), Some(after)) = (old.peek(), new.peek()) {
            let to = before.to.min(after.to);
            if before.owner != after.owner && from < to {
                match taken.last_mut() {
                    Some(last) if last.to >= from && last.by == after.owner => last.to = to,
                    _ => taken.push(Taken {
                        from,
                        to,
                        by: after.owner,
                    }),
                }
            }
            from = to;
            let (next_old, next_new) = (before.to <= to, after.to <= to);
            if next_old {
                old.next();
            }
            if next_new {
                new.next();
            }
        }
        taken
    }
}

/// Returns the ends of arcs. If the last arc only continues to the first, its end is no point.
fn points(arcs: &[Arc]) -> Vec<Point> {
    let around = match arcs {
        [first, .., last] if first.owner == last.owner => 1,
        _ => 0,
    };
    let ends = arcs[..arcs.len() - around].iter();
    let point = |arc: &Arc| {
        Some(Point {
            turn: arc.to,
            owner: arc.owner?,
        })
    };
    ends.filter_map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hashroute::{Change, Ring};

    fn ring(nodes: usize, points: u32) -> Result<Ring, Error> {
        Ring::with_points((0..nodes).map(|i| Node::new(format!("n{i}"))), points)
    }

    #[test]
    fn arcs_make_up_the_circle_and_points_are_those_of_the_ring() -> Result<(), Error> {
        for (nodes, points) in [(1, 1), (1, 8), (4, 8), (100, 160)] {
            let ring = ring(nodes, points)?;
            let cast = Cast::new(&ring, None);
            let circle = Circle::new(&ring, 0, &cast)?;
            assert_eq!(circle.points.len(), ring.points().count());
            let ends = circle
                .arcs
                .windows(2)
                .all(|pair| pair[0].to.to_bits() == pair[1].from.to_bits());
            assert!(ends && circle.arcs[0].from == 0.0);
            assert_eq!(circle.arcs.last().map(|arc| arc.to), Some(1.0));
            let ranges = ring.ranges().expect("arcs");
            let exact = ranges.shares(ring.nodes().id_bound());
            for (share, member) in circle.shares(nodes).iter().zip(&cast.members) {
                let id = ring.nodes().id(&member.name).map(NodeId::index);
                assert!((share - exact[id.unwrap_or_default()]).abs() < 1e-12);
            }
        }
        Ok(())
    }

    #[test]
    fn what_is_taken_is_what_the_new_node_owns() -> Result<(), Error> {
        let before = ring(4, 8)?;
        let mut after = before.clone();
        after.apply(&Change::Add(Node::new("new")))?;
        let cast = Cast::new(&before, Some(&after));
        let circles = [
            Circle::new(&before, 0, &cast)?,
            Circle::new(&after, 1, &cast)?,
        ];
        let taken = circles[0].taken(&circles[1]);
        let new = after.nodes().id("new").and_then(|id| cast.index_of(1, id));
        assert_eq!(new, Some(4));
        assert!(taken.iter().all(|taken| taken.by == new));
        let sum: f64 = taken.iter().map(|taken| taken.to - taken.from).sum();
        assert!((sum - circles[1].shares(5)[4]).abs() < 1e-12);
        assert_eq!(circles[1].points_beside(&circles[0]).len(), 8);
        assert!(circles[0].points_beside(&circles[1]).is_empty());
        assert!(circles[0].taken(&circles[0]).is_empty());
        Ok(())
    }

    #[test]
    fn an_arc_around_the_top_ends_at_the_first_point() -> Result<(), Error> {
        let ring = Ring::from_tokens([Node::new("a")], [(1 << 62, "a")])?;
        let circle = Circle::new(&ring, 0, &Cast::new(&ring, None))?;
        let found = circle.find(KeyHash::from_raw(1 << 63));
        let (turn, arc) = found.ok_or_else(|| Error::parameter("hash", "", ""))?;
        assert_eq!((turn, circle.end(&arc)), (0.5, 1.25));
        Ok(())
    }
}
