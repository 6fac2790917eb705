//! What a picture of a ring shows, and the radii of its parts.

use crate::measure::{Balance, Remap};
use hashroute::Router;

/// The inner and the outer radius of the band of owners.
pub(super) const RADII: (f64, f64) = (203.0, 225.0);
/// The inner and the outer radius of the band of what changes its owner.
pub(super) const TAKEN: (f64, f64) = (227.0, 235.0);

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
/// assert!(picture.title().starts_with("ring of 3 nodes, add d: "));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RingScene<'a> {
    /// A ring, or a dialect of one. A cell of Maglev is an arc too, and ends in a point.
    pub router: &'a dyn Router,
    /// How keys lie on its nodes.
    pub balance: &'a Balance,
    /// The router after a change, and what the change moves.
    pub changed: Option<(&'a dyn Router, &'a Remap)>,
    /// The keys to draw. Those beyond 26 are left out.
    pub keys: &'a [&'a [u8]],
    /// Where the keys that are counted come from, for the text below the title.
    pub source: &'a str,
}

impl<'a> RingScene<'a> {
    /// Shows this router and how keys lie on its nodes, without a change and without keys.
    pub const fn new(router: &'a dyn Router, balance: &'a Balance) -> Self {
        Self {
            router,
            balance,
            changed: None,
            keys: &[],
            source: "",
        }
    }

    /// Sets [`changed`](Self::changed).
    #[must_use]
    pub const fn with_changed(mut self, router: &'a dyn Router, remap: &'a Remap) -> Self {
        self.changed = Some((router, remap));
        self
    }
}

builder! { RingScene<'a>: with_keys(keys: &'a [&'a [u8]]), with_source(source: &'a str) }
