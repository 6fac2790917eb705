//! Keys at their hashes, each with an arrow to its owner.

use super::circle::{Cast, Circle};
use super::scene::{RADII, RingScene};
use crate::measure::assign;
use crate::plot::canvas::{Anchor, Canvas, Pen, around};
use crate::text::key_text;

/// The most keys: each has a letter.
const MOST: usize = 26;
/// The radius of the outermost keys, with tokens and with sectors.
const OUTERMOST: f64 = RADII.0 - 44.0;
/// The distance between levels. A key that would cover another or its arrow goes one level in.
const LEVEL: f64 = 24.0;
const LEVELS: usize = 6;
/// The least distance of keys on a level, in turns: two dots on the innermost level.
const APART: f64 = 0.045;

#[derive(Debug)]
pub(super) struct Shown {
    pub(super) letter: char,
    pub(super) text: String,
    /// The turn of the key.
    turn: Option<f64>,
    /// The turn at which its arc ends: beyond 1, the arc passes the top. `None` without an owner.
    end: Option<f64>,
    pub(super) owners: [Option<usize>; 2],
}

impl Shown {
    pub(super) fn moves(&self) -> bool {
        self.owners[0] != self.owners[1]
    }
}

pub(super) fn shown(cast: &Cast, circle: &Circle, scene: &RingScene) -> Vec<Shown> {
    let letters = 'a'..='z';
    let keys = scene.keys.iter().take(MOST).zip(letters);
    keys.map(|(key, letter)| {
        let now = scene.changed.map_or(scene.router, |(router, _)| router);
        let owners = [(0, scene.router), (1, now)];
        let owners = owners.map(|(side, router)| cast.index_of(side, assign(router, key)?));
        let found = now.hash_key(key).and_then(|hash| circle.find(hash));
        let owned = found.filter(|(_, arc)| arc.owner.is_some());
        Shown {
            letter,
            text: key_text(key).into_owned(),
            turn: found.map(|(turn, _)| turn),
            end: owned.map(|(_, arc)| circle.end(&arc)),
            owners,
        }
    })
    .collect()
}

pub(super) fn draw(canvas: &mut Canvas, shown: &[Shown], centre: (f64, f64)) {
    let mut levels: [Vec<(f64, f64)>; LEVELS] = Default::default();
    let mut dots = Vec::new();
    for key in shown {
        let Some(turn) = key.turn else {
            continue;
        };
        let way = (turn, key.end.unwrap_or(turn));
        let radius = OUTERMOST - LEVEL * free_level(&mut levels, way) as f64;
        dots.push((key.letter, around(centre, radius, turn)));
        if key.end.is_some() {
            arrow(canvas, centre, radius, way, key.moves());
        }
    }
    // After all arrows, so that every letter can be read.
    for (letter, at) in dots {
        canvas.circle("hr-ink", at, 9.0);
        let below = (at.0, at.1 + 4.0);
        let letter = letter.to_string();
        canvas.text(below, "hr-small hr-on", Anchor::Middle, &letter);
    }
}

/// Takes the outermost level on which a key and its arrow cover no others.
fn free_level(levels: &mut [Vec<(f64, f64)>; LEVELS], way: (f64, f64)) -> usize {
    let covers = |other: &(f64, f64)| {
        let shifts = [-1.0, 0.0, 1.0].into_iter();
        let mut shifted = shifts.map(|shift| (other.0 + shift, other.1 + shift));
        shifted.any(|(from, to)| from - APART < way.1 && way.0 - APART < to)
    };
    let mut free = (0..LEVELS).filter(|level| !levels[*level].iter().any(covers));
    let level = free.next().unwrap_or(LEVELS - 1);
    levels[level].push(way);
    level
}

/// Draws an arrow clockwise at the key's radius, then out to the token.
fn arrow(
    canvas: &mut Canvas,
    centre: (f64, f64),
    radius: f64,
    (turn, end): (f64, f64),
    dashed: bool,
) {
    let mut pen = Pen::default();
    pen.start(around(centre, radius, turn));
    if end - turn > 0.4 {
        pen.arc(radius, true, around(centre, radius, turn.midpoint(end)));
    }
    pen.arc(radius, true, around(centre, radius, end));
    pen.to(around(centre, RADII.0 - 1.0, end));
    let class = if dashed { "hr-line hr-dash" } else { "hr-line" };
    canvas.path(class, &pen);
    let mut head = Pen::default();
    let back = RADII.0 - 9.0;
    let wing = 4.0 / (back * core::f64::consts::TAU);
    head.start(around(centre, RADII.0, end))
        .to(around(centre, back, end - wing))
        .to(around(centre, back, end + wing))
        .close();
    canvas.path("hr-ink", &head);
}
