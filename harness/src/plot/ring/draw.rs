//! Draws the ring.

use super::scene::{RADII, RingScene};
use super::stage::Stage;
use super::{density, keys, panel, points, strip};
use crate::plot::canvas::{Anchor, COLOURS, Canvas, around};
use crate::plot::picture::Picture;
use crate::plot::text;
use hashroute::Error;

/// Draws the circle of hashes, clockwise from 0 at the top: points and arcs in the colours of their
/// nodes, keys with an arrow to their owner, what changes its owner outside the circle, and a list
/// of figures. Beyond eleven nodes, the nodes that the change concerns and those with the most of the
/// circle have colours, and the others are grey. Up to 400 points are drawn one by one. More are
/// counted by sectors, and a bar for each node shows its share. O(points² + nodes log nodes) up to
/// 400 points, O(points + nodes log nodes) beyond.
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
    let panel = panel::Panel::new(&stage, scene);
    let mut canvas = Canvas::new(
        PANEL + panel.width() + 20.0,
        &stage.title(),
        &lines(&stage, scene),
    );
    let top = canvas.top();
    let centre = (345.0, top + 318.0);
    if stage.distinct() {
        points::draw(&mut canvas, &stage, &panel, centre);
    } else {
        density::draw(&mut canvas, &stage, centre);
    }
    compass(&mut canvas, centre);
    let name = |owner| panel::whole(&stage, owner);
    keys::draw(&mut canvas, &stage.keys, centre, &name);
    let mut left = centre.1 + 318.0;
    if !stage.distinct() {
        strip::draw(&mut canvas, &stage, (20.0, left), 640.0);
        left += strip::HEIGHT;
    }
    let mut right = panel.nodes(&mut canvas, &stage, (PANEL, top + 10.0));
    // Below a long list of nodes there is no space, but there is below the circle.
    if panel.is_long() {
        left = panel.rest(&mut canvas, &stage, (20.0, left), 640.0);
    } else {
        right = panel.rest(&mut canvas, &stage, (PANEL, right), panel.width());
    }
    Ok(canvas.finish(left.max(right) + 20.0))
}

/// The left end of the list of nodes.
const PANEL: f64 = 705.0;

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
        let at = around(centre, RADII.1 + 72.0, turn);
        canvas.text((at.0, at.1 + 4.0), "hr-small hr-soft", anchor, name);
    }
}

fn lines(stage: &Stage, scene: &RingScene) -> Vec<String> {
    let balance = scene.balance;
    let mut lines = Vec::from([
        text::keys(balance.keys, scene.source, &balance.hash),
        String::from(
            "The circle is the hash space, clockwise from 0 at the top. A key belongs to the first point clockwise of it.",
        ),
    ]);
    if !stage.distinct() {
        lines.extend(density::captions(stage));
    }
    if stage.after.is_some() && stage.distinct() {
        lines.push(String::from(
            "Thin outer arcs change hands and have the colour of the new owner. Dashed: points that join; crossed: points that leave.",
        ));
    }
    if stage.distinct() && stage.colours.contains(&COLOURS) {
        let change = if stage.after.is_some() {
            "that the change concerns, and those "
        } else {
            ""
        };
        lines.push(format!(
            "{COLOURS} nodes have colours: those {change}with the most of the circle. The others are grey."
        ));
    }
    if keys::share_marks(&stage.keys) {
        lines.push("Keys whose hashes are very close share a mark.".into());
    }
    lines.extend(stage.names.caption());
    lines
}
