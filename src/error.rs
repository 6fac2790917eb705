//! Errors: each says what is wrong and what to do about it.

use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;

/// The reason why a router cannot be built or changed. After an error everything is as it was
/// before.
///
/// Each message says what is wrong and what would be right.
///
/// ```
/// use hashroute::{Error, Node, Ring};
///
/// let error = Ring::new([Node::new("a"), Node::new("a")]).unwrap_err();
/// assert_eq!(error, Error::DuplicateNode { name: "a".into() });
/// assert_eq!(error.to_string(), "node \"a\" is already there: expected a different name for each node");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A node without a name.
    EmptyName,
    /// A node with the name of another member.
    DuplicateNode {
        /// The name.
        name: Box<str>,
    },
    /// A name of no member.
    UnknownNode {
        /// The name.
        name: Box<str>,
    },
    /// Only the last node may leave this router.
    NotLast {
        /// The node that cannot leave.
        name: Box<str>,
        /// The last node, which may leave.
        last: Box<str>,
    },
    /// A weight that this strategy does not accept.
    Weight {
        /// The name of the node.
        name: Box<str>,
        /// The requested weight.
        weight: u32,
        /// The weights that the strategy accepts.
        expected: &'static str,
    },
    /// An amount above a stated limit. No memory was allocated for it.
    Capacity {
        /// The thing that is limited.
        what: Limit,
        /// The requested amount.
        wanted: u64,
        /// The largest possible amount.
        limit: u64,
        /// What to do instead.
        advice: &'static str,
    },
    /// A size that a Maglev table cannot have.
    TableSize {
        /// The requested size.
        size: u64,
        /// The reason why it cannot work.
        reason: &'static str,
        /// The nearest prime that works.
        nearest: u64,
    },
    /// An unknown parameter, or a value that cannot be used.
    Parameter {
        /// The name of the parameter.
        name: Box<str>,
        /// The given value.
        value: Box<str>,
        /// The values that would be right.
        expected: String,
    },
    /// A line that cannot be used, in a configuration file or in the output of a server.
    Config {
        /// The line, from 1.
        line: usize,
        /// What is wrong and what would be right.
        reason: String,
    },
    #[cfg(feature = "redis")]
    /// Keys of one request that do not share a slot.
    CrossSlot {
        /// The first key.
        first: Box<[u8]>,
        /// Its slot.
        first_slot: u32,
        /// The first key with another slot.
        other: Box<[u8]>,
        /// Its slot.
        other_slot: u32,
    },
    #[cfg(feature = "redis")]
    /// A reply of a server that does not have the right form.
    Reply {
        /// The position in the reply, such as `[0].nodes[1].port`; empty for the whole reply.
        at: Box<str>,
        /// The form that was expected there.
        expected: &'static str,
    },
    /// An epoch that is not above the current one.
    Stale {
        /// The given epoch.
        given: u64,
        /// The current epoch.
        current: u64,
    },
    /// Something that this router does not support.
    Unsupported {
        /// The refused request.
        what: Refusal,
        /// What to do instead.
        advice: &'static str,
    },
}

impl Error {
    /// Makes an [`Error::Parameter`], also for strategies outside this crate.
    ///
    /// ```
    /// let error = hashroute::Error::parameter("points", "0", "at least 1");
    /// assert_eq!(error.to_string(), "points = \"0\" cannot be used: expected at least 1");
    /// ```
    pub fn parameter(
        name: impl Into<Box<str>>,
        value: impl fmt::Display,
        expected: impl Into<String>,
    ) -> Self {
        Self::Parameter {
            name: name.into(),
            value: alloc::format!("{value}").into(),
            expected: expected.into(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmptyName => f.write_str("a node has no name: expected a name for each node"),
            Self::DuplicateNode { name } => write!(
                f,
                "node {name:?} is already there: expected a different name for each node"
            ),
            Self::UnknownNode { name } => write!(f, "there is no node {name:?}"),
            Self::NotLast { name, last } => write!(
                f,
                "node {name:?} cannot leave: only the last node, {last:?}, can, since routes depend on the number of nodes alone"
            ),
            Self::Weight {
                name,
                weight,
                expected,
            } => {
                write!(
                    f,
                    "node {name:?} cannot have weight {weight}: expected {expected}"
                )
            }
            Self::Capacity {
                what,
                wanted,
                limit,
                advice,
            } => {
                write!(
                    f,
                    "{wanted} {what} are more than the limit of {limit}: {advice}"
                )
            }
            Self::TableSize {
                size,
                reason,
                nearest,
            } => {
                write!(
                    f,
                    "a table of {size} cells {reason}: the nearest prime that works is {nearest}"
                )
            }
            Self::Parameter {
                name,
                value,
                expected,
            } => {
                write!(f, "{name} = {value:?} cannot be used: expected {expected}")
            }
            #[cfg(feature = "redis")]
            Self::CrossSlot {
                first,
                first_slot,
                other,
                other_slot,
            } => write!(
                f,
                "key {} falls into slot {first_slot}, but key {} into slot {other_slot}: give both the same {{tag}}, or send a request for each",
                Quoted(first),
                Quoted(other)
            ),
            #[cfg(feature = "redis")]
            Self::Reply { at, expected } if at.is_empty() => {
                write!(f, "the reply cannot be read: expected {expected}")
            }
            #[cfg(feature = "redis")]
            Self::Reply { at, expected } => {
                write!(f, "the reply cannot be read at {at}: expected {expected}")
            }
            Self::Config { line, reason } => write!(f, "line {line}: {reason}"),
            Self::Stale { given, current } => write!(
                f,
                "epoch {given} is stale: the router is at epoch {current}, so start from the current version and use a later epoch"
            ),
            Self::Unsupported { what, advice } => write!(f, "{what}: {advice}"),
        }
    }
}

impl core::error::Error for Error {}

/// Writes an enum of words for messages, with its [`Display`](fmt::Display).
macro_rules! words {
    ($(#[$attribute:meta])* $name:ident { $($variant:ident = $words:literal,)+ }) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $(#[doc = concat!("\"", $words, "\".")] $variant,)+
            /// Words of another crate.
            Other(&'static str),
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(match self {
                    $(Self::$variant => $words,)+
                    Self::Other(words) => words,
                })
            }
        }
    };
}

words! {
    /// The thing that is limited, in an [`Error::Capacity`].
    ///
    /// ```
    /// use hashroute::{Error, Limit, Ring};
    ///
    /// let error = Ring::with_points(["a", "b"], u32::MAX).unwrap_err();
    /// assert!(matches!(error, Error::Capacity { what: Limit::Points, .. }));
    /// assert_eq!(Limit::Points.to_string(), "points on the ring");
    /// ```
    Limit {
        Nodes = "nodes",
        WeightedNodes = "nodes with weight",
        Points = "points on the ring",
        PointsOrCells = "points or cells",
        Slots = "slots",
        Masters = "masters",
        WeightUnits = "units of weight",
        TurnsToFill = "turns to fill the table",
        StepsToMap = "steps to make the map",
        ServersWithoutKetama = "servers without ketama_points",
        Epochs = "epochs",
        HotKeys = "hot keys",
        Steps = "steps",
        MovedRanges = "ranges that move",
        RangesInSteps = "ranges in all steps",
        SpecBytes = "bytes of a spec",
        ClusterNodes = "cluster nodes",
        LoadUnits = "units of load",
        TextBytes = "bytes of text",
        Keys = "keys",
        KeyBytes = "bytes of keys",
    }
}

words! {
    /// The refused request, in an [`Error::Unsupported`].
    ///
    /// ```
    /// use hashroute::{Change, Error, Refusal, Ring, Router};
    ///
    /// let mut ring = Ring::from_tokens(["a"], [(7, "a")])?;
    /// let error = ring.apply(&Change::add("b")).unwrap_err();
    /// assert!(matches!(error, Error::Unsupported { what: Refusal::RingOfTokens, .. }));
    /// # Ok::<(), Error>(())
    /// ```
    Refusal {
        SharedRouter = "a shared router refuses changes",
        RingDrawsPoints = "this ring draws its own points",
        RingOfTokens = "a ring of explicit tokens cannot choose tokens for a new node",
        NodeWithoutToken = "a node has no token",
        NothingToDiff = "neither router gives an owner to any of these keys, so there is nothing to compare",
        PlanByLoads = "routers that depend on loads cannot be planned",
        PlanWithoutOwners = "keys have no owner in the new router, so nobody could hold them",
        NoKeyPlaced = "no key has a node",
        NothingToPlan = "neither router gives an owner to keys of text, so there is nothing to plan",
        PlanOfOthers = "the plan was made for other routers",
        ChangeOnItsWay = "a migration in progress refuses other changes",
        LoadsInside = "the router inside counts loads already",
        NoConfig = "this system has no configuration file that can be read",
        History = "a history of changes cannot be saved yet",
        ServersOfRouter = "the servers of a dialect cannot be recovered from its router",
        OtherRouter = "the router was not built by this strategy with these parameters",
        HashWithoutKey = "a keyed hash function without its key",
        CassandraWithoutToken = "a node without a token owns nothing in Cassandra",
        JumpServerDown = "a server that is down is not the last one, and jump knows servers by their number",
        SlotsOnTheMove = "a plan while slots are on the move",
        AtomicMoveBegun = "an atomic move of a slot that is on the move already",
        PromotionWithoutMajority = "a promotion without a majority of the primaries that own slots",
        NoVote = "no vote",
        UnknownMeasure = "the amounts of these keys are not known in this measure",
        NoCircle = "this router has no circle of hashes to draw",
        NoPixels = "this picture cannot be rendered",
    }
}

/// Writes bytes for a message: escapes unprintable bytes, and cuts after 64.
#[cfg(feature = "redis")]
struct Quoted<'a>(&'a [u8]);

#[cfg(feature = "redis")]
impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.0.get(..64).unwrap_or(self.0);
        let more = if shown.len() < self.0.len() { ".." } else { "" };
        write!(f, "\"{}\"{more}", shown.escape_ascii())
    }
}
