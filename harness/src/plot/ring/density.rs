//! Tokens by sectors, if there are too many to draw each.

use super::scene::RADII;
use super::stage::Stage;
use crate::plot::canvas::{Canvas, Pen};
use crate::plot::text;

const SECTORS: usize = 180;
/// The most nodes for which the band shows the owners of each sector.
const OWNERS: usize = 24;
/// The height of a bar for twice the mean number of tokens.
const REACH: f64 = 44.0;
/// The greatest height of a bar for what changes its owner.
const INWARD: f64 = 24.0;

pub(super) fn captions(stage: &Stage) -> Vec<String> {
    let [least, mean, most] = extremes(stage);
    let mut captions = Vec::from([format!(
        "Too many points to tell apart, so {SECTORS} sectors. Outer bars: points in each, {least:.0} to {most:.0}; dashed circle: the mean, {mean:.1}."
    )]);
    if shows_owners(stage) {
        captions.push("Coloured band: who owns how much of each sector.".into());
    }
    if stage.after.is_some() {
        captions.push(format!(
            "Inner bars: how much of each sector changes hands; thin circle: the most, {}.",
            text::percent(most_taken(&taken_parts(stage)))
        ));
    }
    captions
}

/// Returns true if the nodes are few enough for colours.
pub(super) fn shows_owners(stage: &Stage) -> bool {
    stage.cast.members.len() <= OWNERS
}

fn extremes(stage: &Stage) -> [f64; 3] {
    let counts = counts(stage);
    let least = counts.iter().copied().fold(f64::INFINITY, f64::min);
    let most = counts.iter().copied().fold(0.0, f64::max);
    let mean = stage.before.tokens.len() as f64 / SECTORS as f64;
    [least, mean, most]
}

/// Counts the tokens in each sector.
fn counts(stage: &Stage) -> Vec<f64> {
    let mut counts = vec![0.0; SECTORS];
    for token in &stage.before.tokens {
        counts[sector(token.turn)] += 1.0;
    }
    counts
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a turn is between 0 and 1"
)]
fn sector(turn: f64) -> usize {
    ((turn * SECTORS as f64) as usize).min(SECTORS - 1)
}

/// Returns the part of each sector that these stretches of the circle cover, by owner.
fn parts(stretches: impl Iterator<Item = (f64, f64, usize)>, owners: usize) -> Vec<Vec<f64>> {
    let mut parts = vec![vec![0.0; owners]; SECTORS];
    for (from, to, owner) in stretches {
        let (first, last) = (sector(from), sector(to));
        for (at, sums) in (first..).zip(&mut parts[first..=last]) {
            let [start, end] = [at, at + 1].map(|at| at as f64 / SECTORS as f64);
            let part = (to.min(end) - from.max(start)) * SECTORS as f64;
            if let Some(sum) = sums.get_mut(owner) {
                *sum += part.max(0.0);
            }
        }
    }
    parts
}

pub(super) fn draw(canvas: &mut Canvas, stage: &Stage, centre: (f64, f64)) {
    band(canvas, stage, centre);
    let mean = stage.before.tokens.len() as f64 / SECTORS as f64;
    let mut bars = Pen::default();
    for (at, count) in counts(stage).iter().enumerate() {
        // A bar of three times the mean would reach the edge of the picture.
        let height = REACH * (count / mean / 2.0).min(1.4);
        let [from, to] = [at as f64 + 0.1, at as f64 + 0.9].map(|at| at / SECTORS as f64);
        let radii = (RADII.1 + 3.0, RADII.1 + 3.0 + height);
        bars.band(centre, radii, from, to);
    }
    canvas.path("hr-mark", &bars);
    canvas.circle("hr-line hr-dash", centre, RADII.1 + 3.0 + REACH / 2.0);
    taken(canvas, stage, centre);
}

fn band(canvas: &mut Canvas, stage: &Stage, centre: (f64, f64)) {
    let members = stage.cast.members.len();
    if !shows_owners(stage) {
        let mut pen = Pen::default();
        pen.band(centre, RADII, 0.0, 1.0);
        return canvas.path("hr-void", &pen);
    }
    let arcs = stage.before.arcs.iter();
    let owned = arcs.filter_map(|arc| Some((arc.from, arc.to, arc.owner?)));
    let mut pens = vec![Pen::default(); members];
    for (at, parts) in parts(owned, members).iter().enumerate() {
        let [from, to] = [at, at + 1].map(|at| at as f64 / SECTORS as f64);
        let mut inner = RADII.0;
        for (pen, part) in pens.iter_mut().zip(parts) {
            let outer = inner + part * (RADII.1 - RADII.0);
            if *part > 0.0 {
                pen.band(centre, (inner, outer), from, to);
            }
            inner = outer;
        }
    }
    for (member, pen) in pens.iter().enumerate() {
        canvas.fill(member, pen);
    }
}

/// Draws the part of each sector that changes its owner, relative to the largest.
fn taken(canvas: &mut Canvas, stage: &Stage, centre: (f64, f64)) {
    if stage.after.is_none() {
        return;
    }
    let parts = taken_parts(stage);
    let most = most_taken(&parts);
    let outer = RADII.0 - 4.0;
    let mut pen = Pen::default();
    for (at, part) in parts.iter().enumerate() {
        let [from, to] = [at, at + 1].map(|at| at as f64 / SECTORS as f64);
        if *part > 0.0 {
            pen.band(centre, (outer - INWARD * part / most, outer), from, to);
        }
    }
    canvas.circle("hr-thin", centre, outer - INWARD);
    canvas.path("hr-alarm", &pen);
}

fn taken_parts(stage: &Stage) -> Vec<f64> {
    let all = stage.taken.iter().map(|taken| (taken.from, taken.to, 0));
    parts(all, 1).iter().map(|parts| parts[0]).collect()
}

fn most_taken(parts: &[f64]) -> f64 {
    parts.iter().copied().fold(0.0, f64::max)
}
