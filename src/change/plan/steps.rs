//! Divides a plan into steps. Each step takes pieces in order of position until its budget is used.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::Budget;
use super::cut::{Division, Kind, Piece};
use crate::space::HashSpace;
use crate::{Error, Limit, NodeId};

const MAX_STEPS: usize = 1 << 16;
const MAX_RANGES: usize = 1 << 24;
/// The number of pieces that do not fit and are skipped before a step ends. Without a limit, each
/// step could cost a pass over all pieces.
const LOOK_AHEAD: usize = 1024;

/// Packs all pieces into steps; `nodes` is above all indexes of nodes.
pub(super) fn pack(
    division: &Division,
    nodes: usize,
    budget: Budget,
) -> Result<Vec<Vec<Piece>>, Error> {
    check(
        Limit::MovedRanges,
        division.pieces.len(),
        MAX_RANGES,
        "change fewer nodes at once",
    )?;
    let limits = limits(division, budget)?;
    let mut rest: VecDeque<Piece> = division.pieces.iter().copied().collect();
    let (mut steps, mut ranges) = (Vec::new(), 0);
    let mut room = Room::new(division, limits, nodes);
    while !rest.is_empty() {
        let step = room.step(&mut rest);
        ranges += step.len();
        steps.push(step);
        let advice = "allow a larger share in each step";
        check(Limit::Steps, steps.len(), MAX_STEPS, advice)?;
        check(Limit::RangesInSteps, ranges, MAX_RANGES, advice)?;
    }
    Ok(steps)
}

fn check(what: Limit, wanted: usize, limit: usize, advice: &'static str) -> Result<(), Error> {
    if wanted <= limit {
        return Ok(());
    }
    Err(Error::Capacity {
        what,
        wanted: wanted as u64,
        limit: limit as u64,
        advice,
    })
}

/// The limits of a step, in hashes: all that moves, what one node takes in, what one node sends.
type Limits = [u128; 3];

/// Converts the budget into hashes, and checks that it allows a plan.
fn limits(division: &Division, budget: Budget) -> Result<Limits, Error> {
    let &Division {
        space,
        whole,
        ref kinds,
        ..
    } = division;
    let shares = [
        ("step", budget.step, 0),
        ("node_in", budget.node_in, 1),
        ("node_out", budget.node_out, 2),
    ];
    let mut limits = [0; 3];
    for (name, share, at) in shares {
        if !(share > 0.0 && share <= 1.0) {
            let expected = "a share above 0, at most 1";
            return Err(Error::parameter(name, text(share), expected));
        }
        limits[at] = hashes(space, share);
        // Each limit must allow the most expensive position alone. Otherwise a step could be empty
        // and the loop of `pack` would never end.
        let needs = kinds.iter().map(|kind| {
            let parts = if at == 0 {
                kind.moved
            } else {
                largest(&kind.loads[at - 1])
            };
            cost(space.largest(), parts, whole)
        });
        let position = needs.max().unwrap_or(0);
        // `even` is the least limit with which MAX_STEPS full steps could move everything. A step
        // leaves less than one position of its limit unused, so `enough` suffices, unless the
        // look-ahead ends steps early: then `pack` refuses the plan.
        let all = total(division, at);
        let even = all.div_ceil(whole * MAX_STEPS as u128);
        let enough = position + all.div_ceil(whole * (MAX_STEPS as u128 - 1));
        for (least, enough, why) in [
            (position, position, "what one position takes"),
            (even, enough, "so that 65536 steps can be enough"),
        ] {
            if limits[at] < least {
                let enough = text(share_of(space, enough));
                let expected = alloc::format!("at least {enough}, {why}");
                return Err(Error::parameter(name, text(share), expected));
            }
        }
    }
    Ok(limits)
}

/// Returns the amount that moves, or that the busiest node takes in or sends, in hashes times the
/// whole.
fn total(division: &Division, at: usize) -> u128 {
    let mut sums: BTreeMap<Option<NodeId>, u128> = BTreeMap::new();
    for piece in &division.pieces {
        let hashes = division.space.count(piece.first, piece.last);
        let kind = &division.kinds[piece.kind as usize];
        if at == 0 {
            *sums.entry(None).or_default() += hashes * kind.moved;
            continue;
        }
        for (id, part) in &kind.loads[at - 1] {
            *sums.entry(Some(*id)).or_default() += hashes * part;
        }
    }
    sums.into_values().max().unwrap_or(0)
}

/// Returns the smallest share that gives at least `count` hashes when it is converted back.
fn share_of(space: HashSpace, count: u128) -> f64 {
    let share = count as f64 / space.hashes() as f64;
    // The quotient may have been rounded down, and a user who follows the advice must succeed.
    if hashes(space, share) < count {
        return share * (1.0 + 2.0 * f64::EPSILON);
    }
    share
}

/// Writes a share without hundreds of zeros.
fn text(share: f64) -> String {
    if share > 0.0 && share < 1e-5 {
        alloc::format!("{share:e}")
    } else {
        share.to_string()
    }
}

fn largest(loads: &[(NodeId, u128)]) -> u128 {
    loads.iter().map(|(_, part)| *part).max().unwrap_or(0)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share from 0 to 1 of at most 2^64"
)]
fn hashes(space: HashSpace, share: f64) -> u128 {
    (share * space.hashes() as f64) as u128
}

/// Returns the cost of a part of `hashes` hashes, rounded up.
fn cost(hashes: u128, part: u128, whole: u128) -> u128 {
    // No overflow: at most 2^64 hashes, and parts of a sample of 2^14 keys with 32 replicas.
    (hashes * part).div_ceil(whole)
}

/// The room that a step has left.
struct Room<'a> {
    division: &'a Division,
    limits: Limits,
    moved: u128,
    /// What each node takes in, and what it sends, by index of the node.
    used: [Vec<u128>; 2],
}

impl<'a> Room<'a> {
    fn new(division: &'a Division, limits: Limits, nodes: usize) -> Self {
        Self {
            division,
            limits,
            moved: 0,
            used: [vec![0; nodes], vec![0; nodes]],
        }
    }

    /// Takes the next step out of the remaining pieces. There is at least one piece.
    fn step(&mut self, rest: &mut VecDeque<Piece>) -> Vec<Piece> {
        self.moved = 0;
        self.used.iter_mut().for_each(|used| used.fill(0));
        let (mut step, mut passed) = (Vec::new(), Vec::new());
        // First fit: a piece that a busy node has no room for does not end the step, since later
        // pieces of other nodes may still fit.
        while passed.len() < LOOK_AHEAD && self.moved < self.limits[0] {
            let Some(piece) = rest.pop_front() else { break };
            let kind = &self.division.kinds[piece.kind as usize];
            let (taken, left) = split(piece, self.positions(&piece, kind));
            if let Some(taken) = taken {
                self.charge(&taken, kind);
                step.push(taken);
            }
            // The remainder of the piece does not fit into this step.
            passed.extend(left);
        }
        // Back to the front in their old order, so that the next step begins with them.
        for piece in passed.into_iter().rev() {
            rest.push_front(piece);
        }
        step
    }

    /// Returns the number of positions of a piece that fit.
    fn positions(&self, piece: &Piece, kind: &Kind) -> u128 {
        // Costs are rounded up and room is rounded down, so a budget is never exceeded. A part of 0
        // costs nothing and always fits.
        let fit = |limit: u128, used: u128, part: u128| {
            let fit = (limit.saturating_sub(used) * self.division.whole).checked_div(part);
            fit.unwrap_or(u128::MAX)
        };
        let mut most = fit(self.limits[0], self.moved, kind.moved);
        for (side, loads) in kind.loads.iter().enumerate() {
            for (id, part) in loads {
                let used = self.used[side][id.index()];
                most = most.min(fit(self.limits[side + 1], used, *part));
            }
        }
        // The whole piece fits, or else as many positions as fit if each has the most hashes.
        if self.division.space.count(piece.first, piece.last) <= most {
            u128::MAX
        } else {
            most / self.division.space.largest()
        }
    }

    fn charge(&mut self, piece: &Piece, kind: &Kind) {
        let hashes = self.division.space.count(piece.first, piece.last);
        self.moved += cost(hashes, kind.moved, self.division.whole);
        for (used, loads) in self.used.iter_mut().zip(&kind.loads) {
            for (id, part) in loads {
                used[id.index()] += cost(hashes, *part, self.division.whole);
            }
        }
    }
}

/// Splits a piece after a number of positions; either part may be missing.
fn split(piece: Piece, positions: u128) -> (Option<Piece>, Option<Piece>) {
    let length = u128::from(piece.last - piece.first) + 1;
    if positions >= length {
        return (Some(piece), None);
    }
    let Ok(taken @ 1..) = u64::try_from(positions) else {
        return (None, Some(piece));
    };
    let middle = piece.first + taken;
    let (before, after) = (
        Piece {
            last: middle - 1,
            ..piece
        },
        Piece {
            first: middle,
            ..piece
        },
    );
    (Some(before), Some(after))
}
