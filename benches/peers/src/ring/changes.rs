//! What a ring costs to make, to change and to keep.

use hash_rings::consistent::Ring as Consistent;
use hashroute::{Change, Ring, Router};
use pingora_ketama::Continuum;

use super::{buckets, ours, pingora};
use crate::measure::{self, Op, Pair};
use crate::memory::usage;
use crate::row::{Row, Unit};
use crate::setup;

const POINTS: usize = Ring::DEFAULT_POINTS as usize;
const N: usize = 1_000;
const GROWTH: usize = 250;
/// Bytes a point.
const HEAP: f64 = 32.0;

pub(super) fn rows(names: &[&'static str]) -> Vec<Row> {
    let members = &names[..N];
    vec![
        build(members),
        change(members, "add", Op::Add),
        change(members, "remove", Op::Remove),
        grow(names),
        heap(members),
        peak(members),
    ]
}

pub(super) fn hash_rings<'a>(names: &'a [&'static str]) -> Consistent<'a, &'static str> {
    let mut ring = Consistent::new();
    for name in names {
        ring.insert_node(name, POINTS);
    }
    ring
}

fn build(names: &[&'static str]) -> Row {
    let pair = measure::build(
        &(|| setup::nodes(names), Ring::new),
        &(|| buckets(N), |buckets| Continuum::new(&buckets)),
    );
    Row::new("ring", N, "build", "pingora-ketama", pair).goal(1.0)
}

fn change(members: &[&'static str], metric: &'static str, timed: Op) -> Row {
    let (mut ring, mut peer) = (ours(members), hash_rings(members));
    let changes = setup::changes(members);
    let mut change_ours = |op, node: usize| {
        let change = changes[node].of(op);
        ring.apply(change).expect("it leaves and joins in turn");
    };
    let mut change_theirs = |op, node: usize| match op {
        Op::Add => peer.insert_node(&members[node], POINTS),
        Op::Remove => peer.remove_node(&members[node]),
    };
    let pair = measure::change(N, timed, &mut change_ours, &mut change_theirs);
    Row::new("ring", N, metric, "hash-rings", pair).goal(1.0)
}

/// The mean of many adds, so that what only some of them pay is in it.
fn grow(names: &[&'static str]) -> Row {
    let (members, join) = names[..N + GROWTH].split_at(N);
    let ring = ours(members);
    let adds: Vec<_> = setup::nodes(join).into_iter().map(Change::Add).collect();
    let mut pair = measure::build(
        &(
            || ring.clone(),
            |mut ring: Ring| {
                for add in &adds {
                    ring.apply(add).expect("it is new");
                }
                ring
            },
        ),
        &(
            || hash_rings(members),
            |mut ring: Consistent<'_, _>| {
                for name in join {
                    ring.insert_node(name, POINTS);
                }
                ring
            },
        ),
    );
    pair.ours /= GROWTH as f64;
    pair.peer /= GROWTH as f64;
    Row::new("ring", N, "grow", "hash-rings", pair).note("an add, the mean of 250 in a row")
}

fn heap(names: &[&'static str]) -> Row {
    let pair = Pair {
        ours: usage(|| ours(names)).live / (N * POINTS) as f64,
        peer: usage(|| pingora(N)).live / (N * POINTS) as f64,
    };
    Row::new("ring", N, "heap", "pingora-ketama", pair)
        .unit(Unit::BytesAPoint)
        .own_goal(HEAP)
        .note("names and weights included")
}

fn peak(names: &[&'static str]) -> Row {
    let pair = Pair {
        ours: usage(|| ours(names)).peak,
        peer: usage(|| pingora(N)).peak,
    };
    Row::new("ring", N, "peak", "pingora-ketama", pair)
}
