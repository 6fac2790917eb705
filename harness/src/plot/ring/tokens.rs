//! Tokens, drawn one by one.

use super::circle::{Arc, Token};
use super::scene::{RADII, TAKEN};
use super::stage::Stage;
use crate::plot::canvas::{Anchor, Canvas, Pen, around, colour};

/// The least distance of two numbers, in turns: 13 pixels.
const ROOM: f64 = 0.0082;

pub(super) fn draw(canvas: &mut Canvas, stage: &Stage, centre: (f64, f64)) {
    owners(canvas, stage, centre);
    for taken in &stage.taken {
        let mut pen = Pen::default();
        pen.band(centre, TAKEN, taken.from, taken.to);
        match taken.by {
            Some(by) => canvas.fill(by, &pen),
            None => canvas.path("hr-void", &pen),
        }
    }
    let [joining, leaving] = match &stage.after {
        Some(after) => [
            after.tokens_beside(&stage.before),
            stage.before.tokens_beside(after),
        ],
        None => Default::default(),
    };
    for token in &stage.before.tokens {
        tick(canvas, centre, token, "hr-line");
    }
    for token in &joining {
        tick(canvas, centre, token, "hr-line hr-dash");
    }
    for token in &leaving {
        cross(canvas, centre, token);
    }
    numbers(canvas, stage, centre, &joining);
}

/// Draws the band of arcs, one path for each owner.
fn owners(canvas: &mut Canvas, stage: &Stage, centre: (f64, f64)) {
    let pen_of = |owner: Option<usize>| {
        let mut pen = Pen::default();
        let arcs = stage.before.arcs.iter();
        for arc in arcs.filter(|arc: &&Arc| arc.owner == owner) {
            pen.band(centre, RADII, arc.from, arc.to);
        }
        pen
    };
    canvas.path("hr-void", &pen_of(None));
    for member in 0..stage.cast.members.len() {
        canvas.fill(member, &pen_of(Some(member)));
    }
}

fn tick(canvas: &mut Canvas, centre: (f64, f64), token: &Token, class: &str) {
    let [inner, outer] = [RADII.0, TAKEN.1 + 8.0].map(|radius| around(centre, radius, token.turn));
    canvas.line(class, inner, outer);
    let end = around(centre, TAKEN.1 + 8.0, token.turn);
    canvas.circle(&colour(token.owner), end, 3.5);
}

fn cross(canvas: &mut Canvas, centre: (f64, f64), token: &Token) {
    let at = around(centre, TAKEN.1 + 8.0, token.turn);
    for step in [(5.0, 5.0), (5.0, -5.0)] {
        let (from, to) = (
            (at.0 - step.0, at.1 - step.1),
            (at.0 + step.0, at.1 + step.1),
        );
        canvas.line("hr-line", from, to);
    }
}

/// Draws the numbers of the owners as far as there is space, first those of nodes that join.
fn numbers(canvas: &mut Canvas, stage: &Stage, centre: (f64, f64), joining: &[Token]) {
    let mut taken: Vec<f64> = Vec::new();
    for token in joining.iter().chain(&stage.before.tokens) {
        let near = |turn: &f64| {
            let apart = (turn - token.turn).abs();
            apart.min(1.0 - apart) < ROOM // turns 0 and 1 are both the top
        };
        if taken.iter().any(near) {
            continue;
        }
        taken.push(token.turn);
        let at = around(centre, TAKEN.1 + 21.0, token.turn);
        let number = format!("{}", token.owner + 1);
        let at = (at.0, at.1 + 4.0);
        canvas.text(at, "hr-small", Anchor::Middle, &number);
    }
}
