//! The capabilities of a strategy, and the state that its users must share.

/// The capabilities of a strategy, and the state that its users must share.
///
/// ```
/// use hashroute::registry::Agree;
/// let sets = hashroute::strategy::ALL.iter().filter(|row| row.agree() == Agree::Set);
/// assert!(sets.map(|row| row.name).any(|name| name == "ring"));
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Caps {
    /// The weights that it accepts.
    pub weights: Weights,
    /// The nodes that may leave.
    pub leave: Leave,
    /// The state that two processes must share to agree on every key.
    pub agree: Agree,
    /// The disruption beyond the minimum: the keys that a change moves between other nodes.
    pub excess: Excess,
    /// The deviation of shares from the weights, for routers without
    /// [`Router::ranges`](crate::Router::ranges): the coefficient of variation of (share / fair
    /// share) over the nodes, given their number. 0 by default: shares vary only by the sample of
    /// keys.
    pub share_cv: fn(usize) -> f64,
}

impl Caps {
    /// The capabilities of most strategies: any weights, any node may leave, peers share the set of
    /// nodes, and no key moves without need.
    pub const SET: Self = Self {
        weights: Weights::Any,
        leave: Leave::Any,
        agree: Agree::Set,
        excess: Excess::None,
        share_cv: exact,
    };

    /// Sets the weights that it accepts.
    #[must_use]
    pub const fn with_weights(self, weights: Weights) -> Self {
        Self { weights, ..self }
    }

    /// Sets the nodes that may leave.
    #[must_use]
    pub const fn with_leave(self, leave: Leave) -> Self {
        Self { leave, ..self }
    }

    /// Sets the state that peers must share.
    #[must_use]
    pub const fn with_agree(self, agree: Agree) -> Self {
        Self { agree, ..self }
    }

    /// Sets the excess: the disruption beyond the minimum.
    #[must_use]
    pub const fn with_excess(self, excess: Excess) -> Self {
        Self { excess, ..self }
    }

    /// Sets the deviation of shares from the weights.
    #[must_use]
    pub const fn with_share_cv(self, share_cv: fn(usize) -> f64) -> Self {
        Self { share_cv, ..self }
    }
}

/// Shares follow the weights exactly.
fn exact(_: usize) -> f64 {
    0.0
}

/// The weights that a strategy accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Weights {
    /// Any weight. Shares are proportional to weights; a node with weight 0 owns nothing.
    Any,
    /// Only weight 1.
    One,
}

/// The nodes that may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Leave {
    /// Any node, at any time.
    Any,
    /// Only the node that joined last.
    Last,
}

/// The state that two processes must share to send every key to the same node. It decides whether
/// clients may learn of changes in different orders.
///
/// ```
/// # use hashroute::registry::Agree;
/// assert_eq!(hashroute::strategy::find("slots")?.agree(), Agree::Table);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Agree {
    /// The set of nodes with their weights, in any order.
    Set,
    /// The number of nodes and their numbering.
    Count,
    /// All changes in the same order.
    History,
    /// A table of owners, which one process writes and the others read.
    Table,
    /// The set of nodes and the current loads.
    Load,
    /// The list of servers in the order of the system's configuration, with its options.
    List,
}

impl Excess {
    /// Returns whether no key ever moves without need.
    pub const fn is_none(self) -> bool {
        matches!(self, Self::None)
    }

    /// Returns whether the excess has a bound.
    pub const fn is_bounded(self) -> bool {
        !matches!(self, Self::Unbounded)
    }
}

impl Agree {
    /// Returns its name in one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Count => "count",
            Self::History => "history",
            Self::Table => "table",
            Self::Load => "load",
            Self::List => "list",
        }
    }
}

/// The excess moves of a strategy: the keys that a change of one node moves between other nodes.
///
/// This is the disruption beyond the minimum (minimal disruption means an excess of 0). A node that
/// joins must take its share of the keys, and a node that leaves must give up its keys; these moves
/// are not excess.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Excess {
    /// No excess: minimal disruption.
    None,
    /// At most this share of all keys, with the default parameters. The argument is the number of
    /// nodes with weight before or after the change, whichever is larger.
    AtMost(fn(usize) -> f64),
    /// No bound.
    Unbounded,
}
