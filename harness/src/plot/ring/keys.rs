//! Keys at their hashes, each with an arrow to its owner.

use super::circle::{Cast, Circle};
use super::scene::{RADII, RingScene};
use crate::measure::assign;
use crate::plot::canvas::{Anchor, Canvas, Pen, around};
use crate::plot::text::whole;
use crate::text::key_text;

/// The most keys: each has a letter.
const MOST: usize = 26;
/// The radius of the outermost keys.
const OUTERMOST: f64 = RADII.0 - 44.0;
/// The distance between levels. A key that would cover another or its arrow goes one level in.
const LEVEL: f64 = 24.0;
const LEVELS: usize = 6;
/// The least distance of keys on a level, in turns: two dots on the innermost level.
const APART: f64 = 0.045;
/// The distance in turns below which keys with the same owner share a mark: most of a dot.
const ALIKE: f64 = 0.015;
/// The most letters in a mark.
const LETTERS: usize = 6;
/// How far from its point an arrow bends outwards.
const BEND: f64 = 14.0;

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

/// A mark: a key, or keys whose hashes are too close to be drawn apart.
#[derive(Debug)]
struct Mark<'a> {
    keys: Vec<&'a Shown>,
    turn: f64,
    end: Option<f64>,
}

/// Returns whether some keys share a mark.
pub(super) fn share_marks(shown: &[Shown]) -> bool {
    marks(shown).iter().any(|mark| mark.keys.len() > 1)
}

fn marks(shown: &[Shown]) -> Vec<Mark<'_>> {
    let mut marks: Vec<Mark> = Vec::new();
    for key in shown {
        let Some(turn) = key.turn else {
            continue;
        };
        let alike = |mark: &&mut Mark| {
            let apart = (mark.turn - turn).abs();
            let same = mark.end == key.end && mark.keys[0].moves() == key.moves();
            same && apart.min(1.0 - apart) < ALIKE && mark.keys.len() < LETTERS
        };
        match marks.iter_mut().find(alike) {
            Some(mark) => mark.keys.push(key),
            None => marks.push(Mark {
                keys: Vec::from([key]),
                turn,
                end: key.end,
            }),
        }
    }
    marks
}

pub(super) fn draw(
    canvas: &mut Canvas,
    shown: &[Shown],
    centre: (f64, f64),
    name: &dyn Fn(Option<usize>) -> String,
) {
    let mut levels = Levels::default();
    let mut dots = Vec::new();
    for mark in marks(shown) {
        let way = (mark.turn, mark.end.unwrap_or(mark.turn));
        let radius = OUTERMOST - LEVEL * levels.take(way) as f64;
        if mark.end.is_some() {
            arrow(canvas, centre, radius, way, mark.keys[0].moves());
        }
        dots.push((around(centre, radius, mark.turn), mark));
    }
    // After all arrows, so that every letter can be read.
    for (at, mark) in dots {
        let about = mark.keys.iter().map(|key| {
            let [old, new] = key.owners.map(name);
            let owner = if old == new {
                old
            } else {
                format!("{old} → {new}")
            };
            format!("{}: {} on {owner}", key.letter, whole(&key.text))
        });
        let about = about.collect::<Vec<_>>().join("; ");
        let letters: String = mark.keys.iter().map(|key| key.letter).collect();
        let more = 7.0 * (letters.len() as f64 - 1.0);
        canvas.titled(&about, |canvas| {
            if mark.keys.len() > 1 {
                canvas.rectangle("hr-ink", (at.0 - more / 2.0, at.1 - 9.0), (more, 18.0));
                canvas.circle("hr-ink", (at.0 + more / 2.0, at.1), 9.0);
            }
            canvas.circle("hr-ink", (at.0 - more / 2.0, at.1), 9.0);
            let below = (at.0, at.1 + 4.0);
            canvas.text(below, "hr-small hr-on", Anchor::Middle, &letters);
        });
    }
}

/// What is drawn on each level, from the outermost inwards.
#[derive(Debug, Default)]
struct Levels {
    /// The keys with their arrows along the level.
    ways: [Vec<(f64, f64)>; LEVELS],
    /// The turns at which arrows go from a level outwards.
    spokes: Vec<(f64, usize)>,
}

impl Levels {
    /// Takes the outermost level on which a key and its arrow cover no others, and are covered by
    /// none.
    fn take(&mut self, way: (f64, f64)) -> usize {
        let is_free = |level: &usize| {
            let alone = self.ways[*level]
                .iter()
                .all(|other| !covers(*other, way, APART));
            let end = (way.1, way.1);
            let mut outer = self.ways[..*level].iter().flatten();
            let crosses = outer.any(|other| covers(*other, end, APART / 2.0));
            let inner = self.spokes.iter().filter(|(_, from)| from > level);
            let is_crossed = inner
                .into_iter()
                .any(|(turn, _)| covers(way, (*turn, *turn), APART / 2.0));
            alone && !crosses && !is_crossed
        };
        let alone = |level: &usize| {
            self.ways[*level]
                .iter()
                .all(|other| !covers(*other, way, APART))
        };
        let free = (0..LEVELS)
            .find(is_free)
            .or_else(|| (0..LEVELS).find(alone));
        let level = free.unwrap_or(LEVELS - 1);
        self.ways[level].push(way);
        self.spokes.push((way.1, level));
        level
    }
}

/// Returns whether two stretches of the circle are nearer to each other than this.
fn covers(one: (f64, f64), other: (f64, f64), near: f64) -> bool {
    let mut shifted = [-1.0, 0.0, 1.0]
        .map(|shift| (one.0 + shift, one.1 + shift))
        .into_iter();
    shifted.any(|(from, to)| from - near < other.1 && other.0 - near < to)
}

/// Draws an arrow clockwise at the key's radius, which then bends out to the point; straight, if the
/// point is near.
fn arrow(
    canvas: &mut Canvas,
    centre: (f64, f64),
    radius: f64,
    (turn, end): (f64, f64),
    dashed: bool,
) {
    let mut pen = Pen::default();
    let start = around(centre, radius, turn);
    let tip = around(centre, RADII.0, end);
    pen.start(start);
    let length = radius * core::f64::consts::TAU;
    let straight = (end - turn) * length < 2.5 * BEND;
    if !straight {
        let bend = BEND / length;
        if end - turn - bend > 0.4 {
            pen.arc(
                radius,
                true,
                around(centre, radius, turn.midpoint(end - bend)),
            );
        }
        pen.arc(radius, true, around(centre, radius, end - bend));
        // A curve from along the circle to straight outwards, without a corner.
        pen.curve(
            around(centre, radius, end),
            around(centre, radius + BEND, end),
        );
    }
    let from = if straight {
        start
    } else {
        around(centre, radius, end)
    };
    let way = (tip.0 - from.0, tip.1 - from.1);
    let far = way.0.hypot(way.1).max(1.0);
    let along = |by: f64, aside: f64| {
        let (x, y) = (way.0 / far, way.1 / far);
        (tip.0 - by * x - aside * y, tip.1 - by * y + aside * x)
    };
    pen.to(along(1.0, 0.0));
    let class = if dashed { "hr-line hr-dash" } else { "hr-line" };
    canvas.path(class, &pen);
    let mut head = Pen::default();
    head.start(tip)
        .to(along(9.0, 4.0))
        .to(along(9.0, -4.0))
        .close();
    canvas.path("hr-ink", &head);
}
