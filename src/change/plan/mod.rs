//! Plans a migration from one router to another: in steps, under a budget, with replicas.
//!
//! A [`Plan`] contains the hash ranges that move in each step, the nodes that copy them, and the
//! nodes that may delete them afterwards. A [`Transition`] gives the nodes to read and to write at
//! every moment of the migration.
//!
//! ```
//! use hashroute::plan::{Budget, Plan, Replicas};
//! use hashroute::{Change, Node, Ring, Router};
//!
//! let old = Ring::new(["a", "b", "c"].map(Node::new))?;
//! let mut new = old.clone();
//! new.apply(&Change::Add(Node::new("d")))?;
//! let budget = Budget::default().with_step(0.1);
//! let plan = Plan::new(&old, &new, Replicas::default(), budget)?;
//! assert_eq!(plan.steps().len(), 3); // a quarter moves, a tenth at a time
//! for step in plan.steps() {
//!     assert!(step.moved() <= 0.1);
//!     assert!(step.transfers().iter().all(|transfer| transfer.to == "d"));
//! }
//! # Ok::<(), hashroute::Error>(())
//! ```

use alloc::vec::Vec;

mod cut;
mod identity;
mod moment;
mod steps;
mod transition;

use self::cut::{Cut, Division, Kind, Piece};
use self::identity::identity;
pub use self::moment::Moment;
pub use self::transition::{Lists, Owners, Phase, Sources, Transition};
use crate::change::diff::sample;
use crate::change::{Flows, Pair, Union};
use crate::space::HashSpace;
use crate::{Error, NodeId, Refusal, Router, RouterExt, Spread};

/// The number of nodes that hold each key, and their spread. By default one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct Replicas {
    /// The number of nodes for each key, from 1 to [`MAX`](Self::MAX).
    pub n: usize,
    /// Their spread over zones and racks.
    pub spread: Spread,
}

impl Replicas {
    /// Makes a value with `n` nodes for each key, spread over zones or racks by `spread`.
    pub const fn new(n: usize, spread: Spread) -> Self {
        Self { n, spread }
    }

    /// The largest number of nodes for each key.
    pub const MAX: usize = 32;
}

/// One node for each key.
impl Default for Replicas {
    fn default() -> Self {
        Self {
            n: 1,
            spread: Spread::Nodes,
        }
    }
}

/// The limits of one step, as shares of all keys: above 0, at most 1.
///
/// ```
/// use hashroute::plan::Budget;
/// let budget = Budget::default().with_node_in(0.01);
/// assert_eq!((budget.step, budget.node_in), (1.0, 0.01));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct Budget {
    /// The share of the keys that change their nodes.
    pub step: f64,
    /// The share of the keys that one node takes in.
    pub node_in: f64,
    /// The share of the keys that one node sends.
    pub node_out: f64,
}

/// Sets no limit: everything moves in one step.
impl Default for Budget {
    fn default() -> Self {
        Self {
            step: 1.0,
            node_in: 1.0,
            node_out: 1.0,
        }
    }
}

builder! { Budget: with_step(step: f64), with_node_in(node_in: f64), with_node_out(node_out: f64) }

/// The steps from an old router to a new one. See the [module](self).
///
/// A plan is [exact](Self::is_exact) if the two routers use the same hash function and have ranges
/// of one kind (see [`Diff`](crate::Diff)). With more than one replica their ranges must also
/// determine the whole list, as in ring and Maglev. The ranges of an exact plan are ranges of
/// hashes.
///
/// Otherwise a range is a part of all keys, chosen by a hash of the key. The amounts that move in
/// it are estimated from 16,384 keys, to within 1 % of all keys in 99 of 100 cases. Each key still
/// goes to its owner in the new router.
///
/// The same routers, replicas and budget give the same plan in every process. A router that
/// balances by load ([`BoundedLoad`](crate::BoundedLoad)) cannot be planned: use the router inside
/// it.
#[derive(Clone, Debug)]
pub struct Plan {
    members: Union,
    /// The identities of the old and the new router, which [`Transition::new`] checks.
    routers: [u64; 2],
    cut: Cut,
    space: HashSpace,
    replicas: Replicas,
    /// Denominator of all fractions: 1 if exact, otherwise the sample size.
    whole: u128,
    kinds: Vec<Kind>,
    steps: Vec<Vec<Piece>>,
}

/// The keys that one node sends to another.
///
/// ```
/// use hashroute::Ring;
/// use hashroute::plan::{Budget, Plan, Replicas};
///
/// let [old, new] = [Ring::new(["a"])?, Ring::new(["b"])?];
/// let plan = Plan::new(&old, &new, Replicas::default(), Budget::default())?;
/// let transfer = plan.steps().next().expect("a step").transfers()[0];
/// assert_eq!((transfer.from, transfer.to, transfer.share), ("a", "b", 1.0));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Transfer<'a> {
    /// The nearest old replica: in the same rack, else in the same zone, else the first.
    pub from: &'a str,
    /// The new replica.
    pub to: &'a str,
    /// The share of all keys.
    pub share: f64,
}

/// A step of a [`Plan`]: the ranges that move together.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    plan: &'a Plan,
    pieces: &'a [Piece],
}

/// A range of a [`Step`]: its keys change their nodes.
#[derive(Clone, Copy, Debug)]
pub struct PlannedRange<'a> {
    plan: &'a Plan,
    piece: &'a Piece,
}

impl Plan {
    /// Plans the steps from `old` to `new`. O(ranges x replicas), or the lists of 16,384 keys; then
    /// O(ranges + steps x nodes).
    ///
    /// # Errors
    /// [`Error::Parameter`] for a budget that is not a share, or too small to move even one
    /// position (a slot, a cell), with a budget that allows it; for 0 replicas, or too many.
    /// [`Error::Unsupported`] if keys have no owner in the new router, if keys of text have no
    /// owner in either router, or if a router balances by load. [`Error::Capacity`] for more than
    /// 65,536 steps or 16,777,216 ranges.
    ///
    /// ```
    /// use hashroute::plan::{Budget, Plan, Replicas};
    /// use hashroute::{HashSlots, Node};
    ///
    /// let (old, new) = (HashSlots::new([Node::new("a")])?, HashSlots::new([Node::new("b")])?);
    /// let budget = Budget::default().with_step(1e-6);
    /// let error = Plan::new(&old, &new, Replicas::default(), budget).unwrap_err();
    /// assert!(error.to_string().contains("at least 0.00006103515625")); // a slot of 16,384
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn new(
        old: &dyn Router,
        new: &dyn Router,
        replicas: Replicas,
        budget: Budget,
    ) -> Result<Self, Error> {
        check(replicas)?;
        check_owners(old, new)?;
        let members = Union::new(old.nodes(), new.nodes())?;
        let routers = [identity(&members, 0, old), identity(&members, 1, new)];
        let division = Division::new(&members, [old, new], replicas, routers);
        let steps = steps::pack(&division, members.nodes().id_bound(), budget)?;
        Ok(Self {
            members,
            routers,
            cut: division.cut,
            space: division.space,
            replicas,
            whole: division.whole,
            kinds: division.kinds,
            steps,
        })
    }

    /// Returns the steps in order; none if nothing moves.
    pub fn steps(&self) -> impl ExactSizeIterator<Item = Step<'_>> {
        self.steps.iter().map(|pieces| Step { plan: self, pieces })
    }

    /// Returns the share of all keys that change their nodes, in all steps.
    pub fn moved(&self) -> f64 {
        let pieces = self.steps.iter().flatten();
        let amounts = pieces.map(|piece| self.amount(piece, self.kind(piece).moved));
        self.share(amounts.sum())
    }

    /// Returns whether the plan is exact: its ranges are ranges of key hashes, all keys of a range
    /// move in the same way, and shares are exact.
    ///
    /// ```
    /// # use hashroute::{Node, Rendezvous, plan::{Budget, Plan, Replicas}};
    /// let router = Rendezvous::new([Node::new("a")])?;
    /// assert!(!Plan::new(&router, &router, Replicas::default(), Budget::default())?.is_exact());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn is_exact(&self) -> bool {
        self.cut == Cut::Positions
    }

    /// Returns the modulus that turns a hash into a position of an exact plan; `None` if the hash
    /// is the position.
    pub fn modulus(&self) -> Option<u64> {
        self.space.modulus()
    }

    /// Returns the number of nodes that hold each key, and their spread.
    pub fn replicas(&self) -> Replicas {
        self.replicas
    }

    fn name(&self, id: NodeId) -> &str {
        self.members.nodes().name(id).unwrap_or_default()
    }

    fn kind(&self, piece: &Piece) -> &Kind {
        &self.kinds[piece.kind as usize]
    }

    /// Returns the amount of a part of a piece, in hashes times the whole. Sums of amounts are
    /// exact.
    fn amount(&self, piece: &Piece, part: u128) -> u128 {
        self.space.count(piece.first, piece.last) * part
    }

    /// Returns an amount as a share of all keys.
    fn share(&self, amount: u128) -> f64 {
        amount as f64 / (self.space.hashes() * self.whole) as f64
    }
}

fn check_loads(routers: [&dyn Router; 2]) -> Result<(), Error> {
    if routers.iter().any(|router| router.loads().is_some()) {
        return Err(Error::Unsupported {
            what: Refusal::PlanByLoads,
            advice: "plan for the routers below them",
        });
    }
    Ok(())
}

/// Checks that keys have owners in the new router, and that owners do not depend on loads.
fn check_owners(old: &dyn Router, new: &dyn Router) -> Result<(), Error> {
    check_loads([old, new])?;
    // A system that does not hash text, such as one for packets, routes no key of the sample.
    let routes =
        |router: &dyn Router| sample(1024).any(|key| router.owner(key.as_bytes()).is_some());
    let is_empty = |router: &dyn Router| router.nodes().weighted() == 0;
    match (routes(old), routes(new)) {
        (true, false) => Err(Error::Unsupported {
            what: Refusal::PlanWithoutOwners,
            advice: "give a node of the new router weight, or slots",
        }),
        (false, false) if !(is_empty(old) && is_empty(new)) => Err(Error::Unsupported {
            what: Refusal::NothingToPlan,
            advice: "compare the two for keys of your own with `diff_keys`",
        }),
        _ => Ok(()),
    }
}

impl<'a> Step<'a> {
    /// Returns the ranges in order of position. No other step has them.
    pub fn ranges(&self) -> impl ExactSizeIterator<Item = PlannedRange<'a>> + use<'a> {
        let plan = self.plan;
        self.pieces
            .iter()
            .map(move |piece| PlannedRange { plan, piece })
    }

    /// Returns the share of all keys that change their nodes in this step.
    pub fn moved(&self) -> f64 {
        let pieces = self.pieces.iter();
        let amounts = pieces.map(|piece| self.plan.amount(piece, self.plan.kind(piece).moved));
        self.plan.share(amounts.sum())
    }

    /// Returns the copies from node to node, the largest first, then by name.
    pub fn transfers(&self) -> Vec<Transfer<'a>> {
        let plan = self.plan;
        let mut flows = Flows::default();
        for piece in self.pieces {
            for (pair, part) in &plan.kind(piece).transfers {
                flows.add(pair.map(Some), plan.amount(piece, *part));
            }
        }
        let flows = flows.largest_first(|amount| *amount).into_iter();
        let transfer = |(pair, amount): (Pair, u128)| {
            Some(Transfer {
                from: plan.name(pair[0]?),
                to: plan.name(pair[1]?),
                share: plan.share(amount),
            })
        };
        flows.filter_map(transfer).collect()
    }
}

impl<'a> PlannedRange<'a> {
    /// Returns the first position. In an [exact](Plan::is_exact) plan it is a position of key
    /// hashes, otherwise of a hash that only [`Transition`] computes.
    pub fn first(&self) -> u64 {
        self.piece.first
    }

    /// Returns the last position, included.
    pub fn last(&self) -> u64 {
        self.piece.last
    }

    /// Returns the share of all keys that are in the range and change their nodes.
    pub fn moved(&self) -> f64 {
        let Self { plan, piece } = self;
        plan.share(plan.amount(piece, plan.kind(piece).moved))
    }

    /// Returns the copies from node to node, in order of name. Empty if no node held the keys, or
    /// if all new nodes have them already.
    pub fn transfers(&self) -> impl Iterator<Item = Transfer<'a>> + use<'a> {
        let Self { plan, piece } = *self;
        let transfers = plan.kind(piece).transfers.iter();
        transfers.map(move |&([from, to], part)| Transfer {
            from: plan.name(from),
            to: plan.name(to),
            share: plan.share(plan.amount(piece, part)),
        })
    }

    /// Returns the old replicas that may delete keys once the step is [done](Phase::Done), in order
    /// of name, with the share of all keys. In a plan that is not exact, a node may delete only the
    /// keys for which [`Transition::may_delete`] is `true`.
    ///
    /// ```
    /// # use hashroute::{Node, Ring, plan::{Budget, Plan, Replicas}};
    /// let (old, new) = (Ring::new([Node::new("a")])?, Ring::new([Node::new("b")])?);
    /// let plan = Plan::new(&old, &new, Replicas::default(), Budget::default())?;
    /// let range = plan.steps().next().and_then(|step| step.ranges().next()).expect("all of it");
    /// assert_eq!(range.deletes().next(), Some(("a", 1.0)));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn deletes(&self) -> impl Iterator<Item = (&'a str, f64)> + use<'a> {
        let Self { plan, piece } = *self;
        let deletes = plan.kind(piece).deletes.iter();
        deletes.map(move |&(id, part)| (plan.name(id), plan.share(plan.amount(piece, part))))
    }
}

fn check(replicas: Replicas) -> Result<(), Error> {
    if (1..=Replicas::MAX).contains(&replicas.n) {
        return Ok(());
    }
    let expected = alloc::format!("a whole number from 1 to {}", Replicas::MAX);
    Err(Error::parameter("replicas", replicas.n, expected))
}
