//! Draws the ring.

use super::scene::{RADII, RingScene};
use super::stage::Stage;
use super::{density, keys, panel, tokens};
use crate::plot::canvas::{Anchor, Canvas, around};
use crate::plot::picture::Picture;
use hashroute::Error;

/// Draws the circle of hashes, clockwise from 0 at the top: tokens and arcs in the colours of their
/// nodes, keys with an arrow to their owner, what changes its owner outside the circle, and a list
/// of figures. Up to 400 tokens are drawn one by one; more are counted by sectors. O(tokens + nodes
/// log nodes).
///
/// # Errors
/// [`Error::Unsupported`] if the [ranges](hashroute::Router::ranges) of a router are not arcs, as
/// for rendezvous, jump, slots and modulo.
///
/// ```
/// # use hashroute_harness::{Keys, Assignment, balance};
/// # use hashroute_harness::plot::{RingScene, ring};
/// # use hashroute::{Node, Rendezvous, Ring, Router};
/// let keys = Keys::template("user:{i}", 0..1000)?;
/// let draw = |router: &dyn Router| {
///     let balance = balance("router", router, &keys, &Assignment::of(router, &keys));
///     ring(&RingScene::new(router, &balance))
/// };
/// assert!(draw(&Ring::new(["a", "b"].map(Node::new))?).is_ok());
/// assert!(draw(&Rendezvous::new(["a", "b"].map(Node::new))?).is_err());
/// # Ok::<(), hashroute::Error>(())
/// ```
pub fn ring(scene: &RingScene) -> Result<Picture, Error> {
    let stage = Stage::new(scene)?;
    let lines = lines(&stage);
    let top = 56.0 + 18.0 * lines.len() as f64;
    let centre = (345.0, top + 290.0);
    let panel = panel::Panel::new(&stage, scene);
    let height = (centre.1 + 300.0).max(top + panel.height());
    let mut canvas = Canvas::new(1100.0, height, &stage.title(), &lines);
    if stage.distinct() {
        tokens::draw(&mut canvas, &stage, centre);
    } else {
        density::draw(&mut canvas, &stage, centre);
    }
    compass(&mut canvas, centre);
    keys::draw(&mut canvas, &stage.keys, centre);
    panel.draw(&mut canvas, &stage, (705.0, top + 10.0));
    Ok(canvas.finish())
}

/// Marks the quarters of the circle.
fn compass(canvas: &mut Canvas, centre: (f64, f64)) {
    let [inner, outer] = [14.0, 0.0].map(|below| around(centre, RADII.0 - below, 0.0));
    canvas.line("hr-line", inner, outer);
    for (turn, name, anchor) in [
        (0.0, "0", Anchor::Middle),
        (0.25, "1/4", Anchor::Start),
        (0.5, "1/2", Anchor::Middle),
        (0.75, "3/4", Anchor::End),
    ] {
        let at = around(centre, RADII.1 + 50.0, turn);
        canvas.text((at.0, at.1 + 4.0), "hr-small hr-soft", anchor, name);
    }
}

fn lines(stage: &Stage) -> Vec<String> {
    let mut lines = Vec::from([String::from(
        "The circle is the hash space, clockwise from 0 at the top. A key belongs to the first point clockwise of it.",
    )]);
    if !stage.distinct() {
        lines.extend(density::captions(stage));
    }
    if stage.after.is_some() && stage.distinct() {
        lines.push(String::from(
            "Thin outer arcs change hands and have the colour of the new owner. Dashed: points that join; crossed: points that leave.",
        ));
    }
    lines
}
