//! The hash ring as people draw it.

mod circle;
mod density;
mod keys;
mod panel;
mod tokens;

use self::circle::{Cast, Circle, Member, Taken};
use super::canvas::{Anchor, Canvas, around};
use super::{Picture, text};
use crate::{Balance, Remap};
use hashroute::{Error, Router};

/// Up to so many tokens are drawn one by one; beyond, they are counted by sectors.
const DISTINCT: usize = 400;

/// What a picture of a ring shows.
///
/// ```
/// use hashroute_harness::{Keys, Assignment, balance, remap};
/// use hashroute_harness::plot::{RingScene, ring};
/// use hashroute::{Change, Node, Ring, Router};
///
/// let keys = Keys::template("user:{i}", 0..10_000)?;
/// let before = Ring::with_points(["a", "b", "c"].map(Node::new), 8)?;
/// let mut after = before.clone();
/// after.apply(&Change::Add(Node::new("d")))?;
/// let [old, new] = [&before, &after].map(|ring| Assignment::of(ring, &keys));
/// let (balance, remap) = (balance("ring", &before, &keys, &old), remap(&old, &new, &keys));
/// let scene = RingScene::new(&before, &balance).with_changed(&after, &remap);
/// let picture = ring(&scene.with_keys(&[b"user:1", b"user:2"]))?;
/// assert!(picture.title().starts_with("Hash ring of 3 nodes: d joins"));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RingScene<'a> {
    /// A ring, or a dialect of one. Maglev's cells are arcs too, each ending in a token.
    pub router: &'a dyn Router,
    /// How keys fall on its nodes.
    pub balance: &'a Balance,
    /// The router after a change, and what moves.
    pub changed: Option<(&'a dyn Router, &'a Remap)>,
    /// Keys to draw, some few: beyond 26 they are left out.
    pub keys: &'a [&'a [u8]],
}

impl<'a> RingScene<'a> {
    /// This router and how keys fall on its nodes, without a change and without keys.
    pub const fn new(router: &'a dyn Router, balance: &'a Balance) -> Self {
        Self {
            router,
            balance,
            changed: None,
            keys: &[],
        }
    }

    /// Sets [`changed`](Self::changed).
    #[must_use]
    pub const fn with_changed(mut self, router: &'a dyn Router, remap: &'a Remap) -> Self {
        self.changed = Some((router, remap));
        self
    }
}

builder! { RingScene<'a>: with_keys(keys: &'a [&'a [u8]]) }

/// The circle of hashes, clockwise from 0 at the top: tokens and arcs in the colours of their
/// nodes, keys with an arrow to their owner, what changes hands outside, and the figures beside.
/// Up to 400 tokens are drawn one by one; more are counted by sectors. O(tokens + nodes log nodes).
///
/// # Errors
/// [`Error::Unsupported`] when the [ranges](Router::ranges) of a router are no arcs: rendezvous,
/// jump, slots, modulo and others.
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
    let lines = stage.lines();
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
    keys::draw(&mut canvas, &stage, centre);
    panel.draw(&mut canvas, &stage, (705.0, top + 10.0));
    Ok(canvas.finish())
}

/// Where on the circle the quarters are; hashes begin anew at the top.
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

/// The inner and the outer edge of the band of owners.
const RADII: (f64, f64) = (203.0, 225.0);
/// The same of what changes hands.
const TAKEN: (f64, f64) = (227.0, 235.0);

/// All that the parts of the picture need.
#[derive(Debug)]
struct Stage {
    cast: Cast,
    before: Circle,
    after: Option<Circle>,
    taken: Vec<Taken>,
    keys: Vec<keys::Shown>,
    moved: Option<f64>,
}

impl Stage {
    fn new(scene: &RingScene) -> Result<Self, Error> {
        let changed = scene.changed.map(|(router, _)| router);
        let cast = Cast::new(scene.router, changed);
        let before = Circle::new(scene.router, 0, &cast)?;
        let after = changed
            .map(|router| Circle::new(router, 1, &cast))
            .transpose()?;
        let taken = after.as_ref().map(|after| before.taken(after));
        let mut stage = Self {
            taken: taken.unwrap_or_default(),
            moved: scene.changed.map(|(_, remap)| remap.moved_share),
            keys: Vec::new(),
            cast,
            before,
            after,
        };
        stage.keys = keys::shown(&stage, scene);
        Ok(stage)
    }

    /// After the change, if there is one.
    fn now(&self) -> &Circle {
        self.after.as_ref().unwrap_or(&self.before)
    }

    fn distinct(&self) -> bool {
        self.before.tokens.len().max(self.now().tokens.len()) <= DISTINCT
    }

    fn title(&self) -> String {
        let nodes = self.cast.who(|member| !member.joins()).len() as u64;
        let ring = format!("Hash ring of {}", text::counted(nodes, "node"));
        let tokens = text::counted(self.before.tokens.len() as u64, "token");
        match self.moved {
            None => format!("{ring} with {tokens}"),
            Some(moved) => {
                let moved = text::percent(moved);
                format!("{ring}: {}, {moved} of the keys move", self.change())
            }
        }
    }

    /// "d joins", "a and b leave".
    fn change(&self) -> String {
        let part = |is: fn(&Member) -> bool, one: &str, more: &str| {
            let who = self.cast.who(is);
            match who.as_slice() {
                [] => None,
                [only] => {
                    let name = text::name(&self.cast.members[*only].name, 14.0);
                    Some(format!("{name} {one}"))
                }
                all => Some(format!("{} nodes {more}", all.len())),
            }
        };
        let reweighted = |member: &Member| {
            !member.joins() && !member.leaves() && member.weights[0] != member.weights[1]
        };
        let parts = [
            part(Member::joins, "joins", "join"),
            part(Member::leaves, "leaves", "leave"),
            part(reweighted, "changes weight", "change weight"),
        ];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        if parts.is_empty() {
            String::from("no node changes")
        } else {
            parts.join(", ")
        }
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = Vec::from([String::from(
            "The circle is the space of hashes, clockwise from 0 at the top. A key belongs to the first token clockwise of it.",
        )]);
        if !self.distinct() {
            lines.extend(density::captions(self));
        }
        if self.after.is_some() && self.distinct() {
            lines.push(String::from(
                "Thin outer arcs change hands and have the colour of the new owner. Dashed: tokens that join; crossed: tokens that go.",
            ));
        }
        lines
    }
}
