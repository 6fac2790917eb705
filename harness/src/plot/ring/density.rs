//! Points by sectors, if there are too many to draw each.

use super::scene::RADII;
use super::stage::Stage;
use crate::plot::canvas::{Canvas, Pen};
use crate::plot::text;

const SECTORS: usize = 180;
/// The height of a bar for twice the mean number of points.
const REACH: f64 = 56.0;
/// The radius at which the bars stand.
const BASE: f64 = RADII.0 + 3.0;
/// The greatest height of a bar for what changes its owner.
const INWARD: f64 = 24.0;

pub(super) fn captions(stage: &Stage) -> Vec<String> {
    let [least, mean, most] = extremes(stage);
    let mut captions = Vec::from([format!(
        "Too many points to tell apart, so {SECTORS} sectors. Outer bars: points in each, {least:.0} to {most:.0}; dashed circle: the mean, {mean:.1}. The shares of the nodes stand below the circle."
    )]);
    if stage.after.is_some() {
        captions.push(format!(
            "Inner bars: how much of each sector changes hands; thin circle: the most, {}.",
            text::percent(most_taken(&taken_parts(stage)))
        ));
    }
    captions
}

fn extremes(stage: &Stage) -> [f64; 3] {
    let counts = counts(stage);
    let least = counts.iter().copied().fold(f64::INFINITY, f64::min);
    let most = counts.iter().copied().fold(0.0, f64::max);
    let mean = stage.before.points.len() as f64 / SECTORS as f64;
    [least, mean, most]
}

/// Counts the points in each sector.
fn counts(stage: &Stage) -> Vec<f64> {
    let mut counts = vec![0.0; SECTORS];
    for point in &stage.before.points {
        counts[sector(point.turn)] += 1.0;
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

/// Returns the part of each sector that changes its owner.
fn taken_parts(stage: &Stage) -> Vec<f64> {
    let mut parts = vec![0.0; SECTORS];
    for taken in &stage.taken {
        let (first, last) = (sector(taken.from), sector(taken.to));
        for (at, sum) in (first..).zip(&mut parts[first..=last]) {
            let [start, end] = [at, at + 1].map(|at| at as f64 / SECTORS as f64);
            let part = (taken.to.min(end) - taken.from.max(start)) * SECTORS as f64;
            *sum += part.max(0.0);
        }
    }
    parts
}

pub(super) fn draw(canvas: &mut Canvas, stage: &Stage, centre: (f64, f64)) {
    let mean = stage.before.points.len() as f64 / SECTORS as f64;
    for (at, count) in counts(stage).iter().enumerate() {
        // A bar of three times the mean would reach the edge of the picture.
        let height = REACH * (count / mean / 2.0).min(1.4);
        let [from, to] = [at as f64 + 0.1, at as f64 + 0.9].map(|at| at / SECTORS as f64);
        let about = format!("sector {} of {SECTORS}: {count} points", at + 1);
        canvas.titled(&about, |canvas| {
            let mut pen = Pen::default();
            pen.band(centre, (BASE, BASE + height), from, to);
            canvas.path("hr-mark", &pen);
        });
    }
    canvas.circle("hr-line", centre, RADII.0);
    canvas.circle("hr-line hr-dash", centre, BASE + REACH / 2.0);
    taken(canvas, stage, centre);
}

/// Draws the part of each sector that changes its owner, relative to the largest.
fn taken(canvas: &mut Canvas, stage: &Stage, centre: (f64, f64)) {
    if stage.after.is_none() {
        return;
    }
    let parts = taken_parts(stage);
    let most = most_taken(&parts);
    let outer = RADII.0 - 4.0;
    for (at, part) in parts.iter().enumerate().filter(|(_, part)| **part > 0.0) {
        let [from, to] = [at, at + 1].map(|at| at as f64 / SECTORS as f64);
        let share = text::percent(*part);
        let about = format!(
            "sector {} of {SECTORS}: {share} of it changes hands",
            at + 1
        );
        canvas.titled(&about, |canvas| {
            let mut pen = Pen::default();
            pen.band(centre, (outer - INWARD * part / most, outer), from, to);
            canvas.path("hr-alarm", &pen);
        });
    }
    canvas.circle("hr-thin", centre, outer - INWARD);
}

fn most_taken(parts: &[f64]) -> f64 {
    parts.iter().copied().fold(0.0, f64::max)
}
