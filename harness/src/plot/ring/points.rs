//! Points, drawn one by one.

use core::f64::consts::TAU;

use super::circle::{Arc, Point};
use super::panel::Panel;
use super::scene::{RADII, TAKEN};
use super::stage::Stage;
use crate::plot::canvas::{Anchor, COLOURS, Canvas, Pen, around, class};
use crate::plot::text;

/// The radius of the dots at the ends of points, and of the numbers beyond them.
const DOTS: f64 = TAKEN.1 + 8.0;
const NUMBERS: f64 = TAKEN.1 + 33.0;
/// The least distance of two numbers, in turns: 17 pixels.
const ROOM: f64 = 17.0 / (NUMBERS * TAU);
/// The greatest distance of a number from its point, in turns.
const REACH: f64 = 2.5 * ROOM;

pub(super) fn draw(canvas: &mut Canvas, stage: &Stage, panel: &Panel, centre: (f64, f64)) {
    for arc in &stage.before.arcs {
        canvas.titled(&about(stage, arc), |canvas| {
            let mut pen = Pen::default();
            pen.band(centre, RADII, arc.from, arc.to);
            canvas.path(&class_of(stage, arc.owner), &pen);
        });
    }
    for taken in &stage.taken {
        let part = text::percent(taken.to - taken.from);
        let about = format!("{part} of the circle goes to {}", whole(stage, taken.by));
        canvas.titled(&about, |canvas| {
            let mut pen = Pen::default();
            pen.band(centre, TAKEN, taken.from, taken.to);
            canvas.path(&class_of(stage, taken.by), &pen);
        });
    }
    let [joining, leaving] = match &stage.after {
        Some(after) => [
            after.points_beside(&stage.before),
            stage.before.points_beside(after),
        ],
        None => Default::default(),
    };
    for point in &stage.before.points {
        tick(canvas, stage, centre, point, "hr-line");
    }
    for point in &joining {
        tick(canvas, stage, centre, point, "hr-line hr-dash");
    }
    for point in &leaving {
        cross(canvas, centre, point);
    }
    let mut points: Vec<_> = joining.iter().map(|point| (*point, true)).collect();
    points.extend(stage.before.points.iter().map(|point| (*point, false)));
    points.retain(|(point, _)| panel.lists(point.owner));
    // Numbers of points that join come first, then those of nodes with a colour of their own.
    points.sort_by_key(|(point, joins)| (!joins, stage.colours[point.owner] >= COLOURS));
    for (point, turn) in spread(thinned(points)) {
        number(canvas, centre, &point, turn);
    }
}

fn class_of(stage: &Stage, owner: Option<usize>) -> String {
    owner.map_or_else(|| "hr-void".into(), |owner| class(stage.colours[owner]))
}

/// Returns the full name of an owner.
fn whole(stage: &Stage, owner: Option<usize>) -> String {
    let member = owner.and_then(|owner| stage.cast.members.get(owner));
    member.map_or_else(|| "nobody".into(), |member| text::whole(&member.name))
}

fn about(stage: &Stage, arc: &Arc) -> String {
    let part = text::percent(arc.to - arc.from);
    format!(
        "{}: {part} of the circle in this arc",
        whole(stage, arc.owner)
    )
}

fn tick(canvas: &mut Canvas, stage: &Stage, centre: (f64, f64), point: &Point, line: &str) {
    let [inner, outer] = [RADII.0, DOTS].map(|radius| around(centre, radius, point.turn));
    let about = format!("a point of {}", whole(stage, Some(point.owner)));
    canvas.titled(&about, |canvas| {
        canvas.line(line, inner, outer);
        canvas.circle(&class(stage.colours[point.owner]), outer, 3.5);
    });
}

fn cross(canvas: &mut Canvas, centre: (f64, f64), point: &Point) {
    let at = around(centre, DOTS, point.turn);
    for step in [(5.0, 5.0), (5.0, -5.0)] {
        let (from, to) = (
            (at.0 - step.0, at.1 - step.1),
            (at.0 + step.0, at.1 + step.1),
        );
        canvas.line("hr-line", from, to);
    }
}

/// Leaves out points whose surroundings have as many numbers as there is space for, the last first.
/// O(points²).
fn thinned(points: Vec<(Point, bool)>) -> Vec<(Point, bool)> {
    let mut kept: Vec<(Point, bool)> = Vec::new();
    for point in points {
        let near = |other: &&(Point, bool)| apart(other.0.turn, point.0.turn).abs() < REACH;
        if kept.iter().filter(near).count() < 5 {
            kept.push(point);
        }
    }
    kept
}

/// Returns points with the turns of their numbers: at the point, or as near to it as there is
/// space, in the order of the points, so that no lines cross. Where too many points lie together,
/// numbers are left out, those of points that join (`true`) last. O(points²) at most.
fn spread(mut points: Vec<(Point, bool)>) -> Vec<(Point, f64)> {
    points.sort_by(|(a, _), (b, _)| a.turn.total_cmp(&b.turn));
    // Start after the largest gap, where numbers are least likely to meet.
    let gap = |at: &usize| {
        let before = (at + points.len() - 1) % points.len();
        (points[*at].0.turn - points[before].0.turn).rem_euclid(1.0)
    };
    let start = (0..points.len()).max_by(|a, b| gap(a).total_cmp(&gap(b)));
    points.rotate_left(start.unwrap_or(0));
    let first = points.first().map_or(0.0, |(point, _)| point.turn);
    loop {
        let at: Vec<_> = points
            .iter()
            .map(|(point, _)| (point.turn - first).rem_euclid(1.0))
            .collect();
        let turns = separate(&at);
        let far = |index: &usize| (turns[*index] - at[*index]).abs();
        let crowded = (0..at.len()).filter(|index| far(index) > REACH);
        let worst = crowded.max_by(|a, b| far(a).total_cmp(&far(b)));
        let worst = worst.and_then(|index| densest(&points, &at, index));
        let meets = turns.len() > 1 && turns[turns.len() - 1] - turns[0] > 1.0 - ROOM;
        let Some(index) = worst.or(meets.then(|| turns.len() - 1)) else {
            let turns = turns.into_iter().map(|turn| turn + first);
            let points = points.into_iter().map(|(point, _)| point);
            return points.zip(turns).collect();
        };
        points.remove(index);
    }
}

/// Returns which of the points around one makes the most space if it goes: that with the nearest
/// neighbours, and one that joins only if there is no other.
fn densest(points: &[(Point, bool)], at: &[f64], index: usize) -> Option<usize> {
    let (first, last) = (*at.first()?, *at.last()?);
    let gap = |index: usize| {
        let before = index.checked_sub(1).map_or(last - 1.0, |before| at[before]);
        at.get(index + 1).copied().unwrap_or(first + 1.0) - before
    };
    let around = index.saturating_sub(10)..(index + 11).min(at.len());
    around.min_by(|&a, &b| {
        let joins = points[a].1.cmp(&points[b].1);
        joins.then(gap(a).total_cmp(&gap(b)))
    })
}

/// Moves ascending turns as little as possible (least squares), so that neighbours are `ROOM`
/// apart: blocks of numbers that would meet are put around the mean of their points.
fn separate(turns: &[f64]) -> Vec<f64> {
    let mut blocks: Vec<(f64, usize)> = Vec::new(); // the start of the first number, and how many
    for &turn in turns {
        let mut block = (turn, 1);
        while let Some(&(start, count)) = blocks.last() {
            if start + ROOM * count as f64 <= block.0 {
                break;
            }
            blocks.pop();
            let (here, there) = (count as f64, block.1 as f64);
            // Both starts, as if the second block followed the first.
            let mean = (start * here + (block.0 - ROOM * here) * there) / (here + there);
            block = (mean, count + block.1);
        }
        blocks.push(block);
    }
    let spread = blocks
        .into_iter()
        .flat_map(|(start, count)| (0..count).map(move |index| start + ROOM * index as f64));
    spread.collect()
}

/// Returns the way from one turn to another, from -0.5 to 0.5: turns 0 and 1 are both the top.
fn apart(from: f64, to: f64) -> f64 {
    (to - from + 1.5).rem_euclid(1.0) - 0.5
}

/// Draws the number of an owner, with a line to the point if the number had to move aside.
fn number(canvas: &mut Canvas, centre: (f64, f64), point: &Point, turn: f64) {
    let at = around(centre, NUMBERS, turn);
    if apart(point.turn, turn).abs() > ROOM / 8.0 {
        let from = around(centre, DOTS + 4.0, point.turn);
        canvas.line("hr-thin", from, around(centre, NUMBERS - 8.0, turn));
    }
    let number = format!("{}", point.owner + 1);
    canvas.text((at.0, at.1 + 4.0), "hr-small", Anchor::Middle, &number);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    /// The same inputs in every run.
    fn fixed() -> ProptestConfig {
        ProptestConfig {
            rng_seed: RngSeed::Fixed(0),
            failure_persistence: None,
            ..ProptestConfig::default()
        }
    }

    proptest! {
        #![proptest_config(fixed())]

        #[test]
        fn numbers_are_apart_and_near_their_points(
            turns in prop::collection::vec(0.0_f64..1.0, 0..150),
        ) {
            let points = turns.iter().map(|&turn| (Point { turn, owner: 0 }, turn < 0.1));
            let points: Vec<_> = points.collect();
            let thin = thinned(points.clone());
            prop_assert!(thin.len() >= points.len().min(5));
            let shown = spread(thin);
            prop_assert!(shown.is_empty() == turns.is_empty());
            for (index, (point, turn)) in shown.iter().enumerate() {
                prop_assert!(apart(point.turn, *turn).abs() <= REACH + 1e-9);
                for (_, at) in &shown[..index] {
                    prop_assert!(apart(*at, *turn).abs() >= ROOM - 1e-9);
                }
            }
        }
    }

    #[test]
    fn five_points_close_together_all_have_numbers() {
        let turn = |i: u32| 0.25 + 0.001 * f64::from(i);
        let points = (0..5)
            .map(|i| {
                (
                    Point {
                        turn: turn(i),
                        owner: 0,
                    },
                    false,
                )
            })
            .collect();
        let shown = spread(points);
        assert_eq!(shown.len(), 5);
        assert!((shown[2].1 - turn(2)).abs() < 1e-9); // the one in the middle stays
    }
}
