//! From one router to another in steps, under a budget, with replicas and both epochs at once.
//!
//! A [`Plan`] says which hashes change hands in which step, who copies them to whom, and who may
//! delete them afterwards. A [`Transition`] says at every moment who is read and who is written.
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

/// How many nodes hold each key, and how far apart they stand.
///
/// ```
/// assert_eq!(hashroute::plan::Replicas::default().n, 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct Replicas {
    /// Nodes for each key, from 1 to [`MAX`](Self::MAX).
    pub n: usize,
    /// How far apart they stand.
    pub spread: Spread,
}

impl Replicas {
    /// `n` nodes for each key, as far apart as `spread` says.
    ///
    /// ```
    /// use hashroute::{Spread, plan::Replicas};
    /// assert_eq!(Replicas::new(3, Spread::Zones).n, 3);
    /// ```
    pub const fn new(n: usize, spread: Spread) -> Self {
        Self { n, spread }
    }

    /// The longest lists that a plan takes.
    ///
    /// ```
    /// assert_eq!(hashroute::plan::Replicas::MAX, 32);
    /// ```
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

/// What a step may do at most, in shares of all keys: above 0, at most 1.
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
    /// Keys whose nodes change.
    pub step: f64,
    /// Keys that one node takes in.
    pub node_in: f64,
    /// Keys that one node hands out copies of.
    pub node_out: f64,
}

/// No limit: everything in one step.
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

/// An order of steps from an old router to a new one. See the [module](self).
///
/// Ranges are of hashes where the two routers hash keys alike and their structure says who owns
/// what ([`Diff`](crate::Diff) tells); for more than one replica it must say the whole list, as
/// ring and Maglev do. Such a plan is [exact](Self::is_exact). Else a range is a part of all keys,
/// chosen by a hash of the key, and what moves in it is estimated from 16,384 keys, to within 1 % of
/// all keys, 99 times in 100; each key still goes where the new router says.
///
/// The same routers, replicas and budget give the same plan, in every process. Where loads decide
/// ([`BoundedLoad`](crate::BoundedLoad)) there is nothing to plan by: take the router below.
#[derive(Clone, Debug)]
pub struct Plan {
    members: Union,
    /// What the old and the new router are, for [`Transition::new`].
    routers: [u64; 2],
    cut: Cut,
    space: HashSpace,
    replicas: Replicas,
    /// Denominator of all fractions: 1 if exact, otherwise the sample size.
    whole: u128,
    kinds: Vec<Kind>,
    steps: Vec<Vec<Piece>>,
}

/// What one node sends another.
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
    /// Of all keys.
    pub share: f64,
}

/// A step of a [`Plan`]: what changes hands together.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    plan: &'a Plan,
    pieces: &'a [Piece],
}

/// A range of a [`Step`], whose keys change hands.
#[derive(Clone, Copy, Debug)]
pub struct PlannedRange<'a> {
    plan: &'a Plan,
    piece: &'a Piece,
}

impl Plan {
    /// The steps from `old` to `new`. O(ranges x replicas), or the lists of 16,384 keys; and O(ranges +
    /// steps x nodes).
    ///
    /// # Errors
    /// [`Error::Parameter`] for a budget that is no share, or so small that not even one position
    /// (a slot, a cell) could move, with the smallest that would do; for no replicas, or too many.
    /// [`Error::Unsupported`] when the new router has nobody to hold the keys, when neither gives an
    /// owner to keys of text, and where loads decide who owns a key.
    /// [`Error::Capacity`] for more than 65,536 steps or 16,777,216 ranges.
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

    /// The steps, in order; none when nothing moves.
    ///
    /// ```
    /// # use hashroute::{Node, Ring, plan::{Budget, Plan, Replicas}};
    /// let ring = Ring::new([Node::new("a")])?;
    /// assert_eq!(Plan::new(&ring, &ring, Replicas::default(), Budget::default())?.steps().len(), 0);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn steps(&self) -> impl ExactSizeIterator<Item = Step<'_>> {
        self.steps.iter().map(|pieces| Step { plan: self, pieces })
    }

    /// The share of all keys whose nodes change, in all steps.
    ///
    /// ```
    /// # use hashroute::{Node, Ring, plan::{Budget, Plan, Replicas}};
    /// let (old, new) = (Ring::new([Node::new("a")])?, Ring::new([Node::new("b")])?);
    /// assert_eq!(Plan::new(&old, &new, Replicas::default(), Budget::default())?.moved(), 1.0);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn moved(&self) -> f64 {
        let pieces = self.steps.iter().flatten();
        let amounts = pieces.map(|piece| self.amount(piece, self.kind(piece).moved));
        self.share(amounts.sum())
    }

    /// Whether ranges are of the routers' own hashes, so that all keys of one change hands alike
    /// and its shares are exact.
    ///
    /// ```
    /// # use hashroute::{Node, Rendezvous, plan::{Budget, Plan, Replicas}};
    /// let router = Rendezvous::new([Node::new("a")])?;
    /// assert!(!Plan::new(&router, &router, Replicas::default(), Budget::default())?.is_exact());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn is_exact(&self) -> bool {
        self.cut == Cut::Places
    }

    /// What a hash is taken modulo to give the positions of an exact plan; `None` where it is its own
    /// position.
    ///
    /// ```
    /// # use hashroute::{HashSlots, Node, plan::{Budget, Plan, Replicas}};
    /// let (old, new) = (HashSlots::new([Node::new("a")])?, HashSlots::new([Node::new("b")])?);
    /// let plan = Plan::new(&old, &new, Replicas::default(), Budget::default())?;
    /// assert_eq!(plan.modulus(), Some(16_384));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn modulus(&self) -> Option<u64> {
        self.space.modulus()
    }

    /// Returns the number of nodes that hold each key, and how far apart they stand.
    pub fn replicas(&self) -> Replicas {
        self.replicas
    }

    fn name(&self, id: NodeId) -> &str {
        self.members.nodes().name(id).unwrap_or_default()
    }

    fn kind(&self, piece: &Piece) -> &Kind {
        &self.kinds[piece.kind as usize]
    }

    /// What a part of a piece's kind comes to, in hashes times the whole: sums of it are exact.
    fn amount(&self, piece: &Piece, part: u128) -> u128 {
        self.space.count(piece.first, piece.last) * part
    }

    /// An amount as a share of all keys.
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

/// Every key must have somebody to hold it, and loads must not decide who.
fn check_owners(old: &dyn Router, new: &dyn Router) -> Result<(), Error> {
    check_loads([old, new])?;
    // A system that hashes something else than text routes no key of the sample.
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
    /// The ranges, in order of the position; exclusively this step's.
    ///
    /// ```
    /// # use hashroute::{Node, Ring, plan::{Budget, Plan, Replicas}};
    /// let (old, new) = (Ring::new([Node::new("a")])?, Ring::new([Node::new("b")])?);
    /// let plan = Plan::new(&old, &new, Replicas::default(), Budget::default())?;
    /// let range = plan.steps().next().and_then(|step| step.ranges().next()).expect("all of it");
    /// assert_eq!((range.first(), range.last()), (0, u64::MAX));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn ranges(&self) -> impl ExactSizeIterator<Item = PlannedRange<'a>> + use<'a> {
        let plan = self.plan;
        self.pieces
            .iter()
            .map(move |piece| PlannedRange { plan, piece })
    }

    /// The share of all keys whose nodes change.
    ///
    /// ```
    /// # use hashroute::{Node, Ring, plan::{Budget, Plan, Replicas}};
    /// let (old, new) = (Ring::new([Node::new("a")])?, Ring::new([Node::new("b")])?);
    /// let plan = Plan::new(&old, &new, Replicas::default(), Budget::default())?;
    /// assert_eq!(plan.steps().map(|step| step.moved()).sum::<f64>(), 1.0);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn moved(&self) -> f64 {
        let pieces = self.pieces.iter();
        let amounts = pieces.map(|piece| self.plan.amount(piece, self.plan.kind(piece).moved));
        self.plan.share(amounts.sum())
    }

    /// Who copies how much to whom, the most first, then by name.
    ///
    /// ```
    /// # use hashroute::{Node, Ring, plan::{Budget, Plan, Replicas}};
    /// let (old, new) = (Ring::new([Node::new("a")])?, Ring::new([Node::new("b")])?);
    /// let plan = Plan::new(&old, &new, Replicas::default(), Budget::default())?;
    /// let step = plan.steps().next().expect("one");
    /// let transfer = step.transfers()[0];
    /// assert_eq!((transfer.from, transfer.to, transfer.share), ("a", "b", 1.0));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
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
    /// The first position: of the routers' own hashes where the plan is
    /// [exact](Plan::is_exact), else of a hash that [`Transition`] knows.
    ///
    /// ```
    /// # use hashroute::{Node, Ring, plan::{Budget, Plan, Replicas}};
    /// let (old, new) = (Ring::new([Node::new("a")])?, Ring::new([Node::new("b")])?);
    /// let plan = Plan::new(&old, &new, Replicas::default(), Budget::default())?;
    /// assert_eq!(plan.steps().next().and_then(|step| step.ranges().next()).map(|range| range.first()), Some(0));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn first(&self) -> u64 {
        self.piece.first
    }

    /// The last position, included.
    ///
    /// ```
    /// # use hashroute::{Node, Ring, plan::{Budget, Plan, Replicas}};
    /// let (old, new) = (Ring::new([Node::new("a")])?, Ring::new([Node::new("b")])?);
    /// let plan = Plan::new(&old, &new, Replicas::default(), Budget::default())?;
    /// assert_eq!(plan.steps().next().and_then(|step| step.ranges().next()).map(|range| range.last()), Some(u64::MAX));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn last(&self) -> u64 {
        self.piece.last
    }

    /// The share of all keys that are in the range and whose nodes change.
    ///
    /// ```
    /// # use hashroute::{Node, Ring, plan::{Budget, Plan, Replicas}};
    /// let (old, new) = (Ring::new([Node::new("a")])?, Ring::new([Node::new("b")])?);
    /// let plan = Plan::new(&old, &new, Replicas::default(), Budget::default())?;
    /// assert_eq!(plan.steps().next().and_then(|step| step.ranges().next()).map(|range| range.moved()), Some(1.0));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn moved(&self) -> f64 {
        let Self { plan, piece } = self;
        plan.share(plan.amount(piece, plan.kind(piece).moved))
    }

    /// Who copies to whom, in order of name; nobody where nobody held the keys, or all the new
    /// nodes do already.
    ///
    /// ```
    /// # use hashroute::{Node, Ring, plan::{Budget, Plan, Replicas}};
    /// let (old, new) = (Ring::new([Node::new("a")])?, Ring::new([Node::new("b")])?);
    /// let plan = Plan::new(&old, &new, Replicas::default(), Budget::default())?;
    /// let range = plan.steps().next().and_then(|step| step.ranges().next()).expect("all of it");
    /// assert_eq!(range.transfers().next().map(|transfer| transfer.to), Some("b"));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn transfers(&self) -> impl Iterator<Item = Transfer<'a>> + use<'a> {
        let Self { plan, piece } = *self;
        let transfers = plan.kind(piece).transfers.iter();
        transfers.map(move |&([from, to], part)| Transfer {
            from: plan.name(from),
            to: plan.name(to),
            share: plan.share(plan.amount(piece, part)),
        })
    }

    /// Who may delete once the step is [done](Phase::Done), in order of name, with the share of
    /// all keys: old replicas that no new list needs. Of a plan that is not exact, they may delete
    /// those keys only of which [`Transition::may_delete`] says so.
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
