//! Keys at their hashes, each with an arrow to its owner.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{RADII, RingScene, Stage};
use crate::harness::place_key;
use crate::plot::canvas::{Anchor, Canvas, Pen, around};

/// As many as there are letters.
const MOST: usize = 26;
/// Where the outermost keys stand, in density and in tokens alike.
const OUTERMOST: f64 = RADII.0 - 44.0;
/// How much further in a key stands that would cover another.
const LEVEL: f64 = 24.0;
const LEVELS: usize = 5;

#[derive(Debug)]
pub(super) struct Shown {
    pub(super) letter: char,
    pub(super) text: String,
    /// Where it is, and where its arc ends: past 1 it is around the top.
    place: Option<(f64, f64)>,
    pub(super) owners: [Option<usize>; 2],
}

impl Shown {
    pub(super) fn moves(&self) -> bool {
        self.owners[0] != self.owners[1]
    }
}

pub(super) fn shown(stage: &Stage, scene: &RingScene) -> Vec<Shown> {
    let letters = 'a'..='z';
    let keys = scene.keys.iter().take(MOST).zip(letters);
    keys.map(|(key, letter)| {
        let now = scene.changed.map_or(scene.router, |(router, _)| router);
        let owners = [scene.router, now].map(|router| {
            let id = place_key(router, key)?;
            stage.cast.place(router.nodes().name(id))
        });
        let found = stage.now().find(now.hash_key(key));
        let text = core::str::from_utf8(key);
        Shown {
            letter,
            text: text.map_or_else(|_| key.escape_ascii().to_string(), String::from),
            place: found.map(|(turn, arc)| (turn, stage.now().end(&arc))),
            owners,
        }
    })
    .collect()
}

pub(super) fn draw(canvas: &mut Canvas, stage: &Stage, centre: (f64, f64)) {
    let mut dots: Vec<(f64, f64)> = Vec::new();
    for key in &stage.keys {
        let Some((turn, end)) = key.place else {
            continue;
        };
        let radius = free_radius(&dots, centre, turn);
        let at = around(centre, radius, turn);
        dots.push(at);
        arrow(canvas, centre, radius, (turn, end), key.moves());
        canvas.circle("hr-ink", at, 9.0);
        let mut letter = [0; 4];
        let letter: &str = key.letter.encode_utf8(&mut letter);
        letter_on_dot(canvas, at, letter);
    }
}

fn letter_on_dot(canvas: &mut Canvas, at: (f64, f64), letter: &str) {
    canvas.text((at.0, at.1 + 4.0), "hr-small hr-on", Anchor::Middle, letter);
}

/// The outermost of the levels where the key covers no other.
fn free_radius(dots: &[(f64, f64)], centre: (f64, f64), turn: f64) -> f64 {
    let radii = (0..LEVELS).map(|level| OUTERMOST - LEVEL * level as f64);
    let free = |radius: &f64| {
        let (x, y) = around(centre, *radius, turn);
        let apart = |dot: &(f64, f64)| (dot.0 - x).abs().max((dot.1 - y).abs()) > 19.0;
        dots.iter().all(apart)
    };
    let mut free_ones = radii.filter(free);
    free_ones.next().unwrap_or(OUTERMOST)
}

/// Clockwise at the key's radius, then out to the token.
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
