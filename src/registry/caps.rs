//! What a strategy can do, and what its users must share.

/// What a strategy can do, and what its users must share.
///
/// ```
/// use hashroute::registry::Agree;
/// let sets = hashroute::strategy::ALL.iter().filter(|row| row.agree() == Agree::Set);
/// assert!(sets.map(|row| row.name).any(|name| name == "ring"));
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Caps {
    /// Which weights it takes.
    pub weights: Weights,
    /// Which nodes may leave.
    pub leave: Leave,
    /// What two processes must share to agree on every key.
    pub agree: Agree,
    /// How many keys a change may move between nodes that it is not about.
    pub excess: Excess,
    /// How far shares may lie from the weights, where [`Router::ranges`](crate::Router::ranges)
    /// does not give them: the coefficient of variation of (share / fair share) over the nodes,
    /// given their number. 0 without a statement: only the sample of keys varies.
    pub share_cv: fn(usize) -> f64,
}

impl Caps {
    /// What most strategies can: any weights, any node may leave, peers share the set, and no key
    /// moves that need not.
    pub const SET: Self = Self {
        weights: Weights::Any,
        leave: Leave::Any,
        agree: Agree::Set,
        excess: Excess::None,
        share_cv: exact,
    };

    /// Sets the weights that it takes.
    #[must_use]
    pub const fn with_weights(self, weights: Weights) -> Self {
        Self { weights, ..self }
    }

    /// Sets the nodes that may leave.
    #[must_use]
    pub const fn with_leave(self, leave: Leave) -> Self {
        Self { leave, ..self }
    }

    /// Sets what peers must share.
    #[must_use]
    pub const fn with_agree(self, agree: Agree) -> Self {
        Self { agree, ..self }
    }

    /// Sets the keys that move beyond the minimum.
    #[must_use]
    pub const fn with_excess(self, excess: Excess) -> Self {
        Self { excess, ..self }
    }

    /// Sets how far shares may lie from the weights.
    ///
    /// ```
    /// use hashroute::registry::Caps;
    /// let caps = Caps::SET.with_share_cv(|_| 0.05);
    /// assert_eq!(((Caps::SET.share_cv)(10), (caps.share_cv)(10)), (0.0, 0.05));
    /// ```
    #[must_use]
    pub const fn with_share_cv(self, share_cv: fn(usize) -> f64) -> Self {
        Self { share_cv, ..self }
    }
}

/// Shares are the weights'.
fn exact(_: usize) -> f64 {
    0.0
}

/// Which weights a strategy takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Weights {
    /// Any: shares are proportional, 0 owns nothing.
    Any,
    /// Every node weighs 1.
    One,
}

/// Which nodes may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Leave {
    /// Any node, at any time.
    Any,
    /// Only the last that joined.
    Last,
}

/// What two processes must share to send every key to the same node: the property that
/// decides whether clients may learn of changes in different orders.
///
/// ```
/// # use hashroute::registry::Agree;
/// assert_eq!(hashroute::strategy::find("slots")?.agree(), Agree::Table);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Agree {
    /// The set of nodes with their weights; no order matters.
    Set,
    /// How many nodes there are, and their numbering.
    Count,
    /// All changes in the same order.
    History,
    /// A table that somebody wrote.
    Table,
    /// The set and the loads of the moment.
    Load,
    /// The list of servers in the order of the system's configuration, with its options.
    List,
}

impl Excess {
    /// Whether no key ever moves in vain.
    pub const fn is_none(self) -> bool {
        matches!(self, Self::None)
    }

    /// Whether there is a bound on the keys that move in vain.
    pub const fn is_bounded(self) -> bool {
        !matches!(self, Self::Unbounded)
    }
}

impl Agree {
    /// The word for it.
    ///
    /// ```
    /// assert_eq!(hashroute::registry::Agree::Set.name(), "set");
    /// ```
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

/// How many keys a change of one node may move between nodes that it is not about.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Excess {
    /// None, ever.
    None,
    /// At most this share of all keys, given the number of nodes with weight before or after
    /// the change, whichever is more, at the default parameters.
    AtMost(fn(usize) -> f64),
    /// No bound.
    Unbounded,
}
