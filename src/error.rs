//! What can go wrong, and what to do about it.

use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;

/// Why a router could not be built or changed. Nothing has changed when it is returned.
///
/// Each message says what was wrong and what would be right.
///
/// ```
/// use hashroute::{Error, Node, Ring};
///
/// let error = Ring::new([Node::new("a"), Node::new("a")]).unwrap_err();
/// assert_eq!(error, Error::DuplicateNode { name: "a".into() });
/// assert_eq!(error.to_string(), "node \"a\" is already there: names are identities, give each node its own");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A node without a name.
    EmptyName,
    /// A node whose name is taken.
    DuplicateNode {
        /// The name.
        name: Box<str>,
    },
    /// A node that is not a member.
    UnknownNode {
        /// The name.
        name: Box<str>,
    },
    /// Only the last node may leave this router.
    NotLast {
        /// The node that was to leave.
        name: Box<str>,
        /// The one that may.
        last: Box<str>,
    },
    /// A weight that this strategy cannot give.
    Weight {
        /// The node.
        name: Box<str>,
        /// The weight asked for.
        weight: u32,
        /// What the strategy can do instead.
        expected: &'static str,
    },
    /// Something would grow beyond a stated limit; no memory was taken.
    Capacity {
        /// What would grow.
        what: Limit,
        /// How much was asked for.
        wanted: u64,
        /// The most there may be.
        limit: u64,
        /// What to do instead.
        advice: &'static str,
    },
    /// A Maglev table size that cannot work.
    TableSize {
        /// The size asked for.
        size: u64,
        /// Why it cannot work.
        reason: &'static str,
        /// The nearest prime that can.
        nearest: u64,
    },
    /// A parameter that is unknown or has an unusable value.
    Parameter {
        /// Its name.
        name: Box<str>,
        /// The value as given.
        value: Box<str>,
        /// What would be right.
        expected: String,
    },
    /// Something that cannot be used in a configuration file, or in a text that a server printed.
    Config {
        /// The line, from 1.
        line: usize,
        /// What is wrong, and what would be right.
        reason: String,
    },
    #[cfg(feature = "redis")]
    /// Keys of one request that do not share a slot.
    CrossSlot {
        /// The first key.
        first: Box<[u8]>,
        /// Its slot.
        first_slot: u32,
        /// The first key that falls elsewhere.
        other: Box<[u8]>,
        /// Its slot.
        other_slot: u32,
    },
    #[cfg(feature = "redis")]
    /// A reply of a server that is not of the form it should have.
    Reply {
        /// Where in the reply, such as `[0].nodes[1].port`; empty for all of it.
        at: Box<str>,
        /// What should stand there.
        expected: &'static str,
    },
    /// A version that is no later than the one there is.
    Stale {
        /// Its epoch.
        given: u64,
        /// The epoch there is.
        current: u64,
    },
    /// A change that this router does not take.
    Unsupported {
        /// What was asked.
        what: Refusal,
        /// What to do instead.
        advice: &'static str,
    },
}

impl Error {
    /// A parameter error; for strategies outside this crate as well.
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
            Self::EmptyName => {
                f.write_str("a node has no name: names are identities, give each node one")
            }
            Self::DuplicateNode { name } => write!(
                f,
                "node {name:?} is already there: names are identities, give each node its own"
            ),
            Self::UnknownNode { name } => write!(f, "there is no node {name:?}"),
            Self::NotLast { name, last } => write!(
                f,
                "node {name:?} cannot leave: only the last node, {last:?}, may, since the routes depend on the count alone"
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
                    "{wanted} {what} are more than the {limit} there may be: {advice}"
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
                "epoch {given} is stale: the router is at epoch {current}, so give a later one, made from what is there now"
            ),
            Self::Unsupported { what, advice } => write!(f, "{what}: {advice}"),
        }
    }
}

impl core::error::Error for Error {}

/// Writes an enum whose variants stand for words of a message, and [`Display`](fmt::Display) for it.
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
    /// What would grow beyond its limit, in an [`Error::Capacity`].
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
    /// What is not supported, in an [`Error::Unsupported`].
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
        SharedRouter = "a shared router takes no change",
        RingDrawsPoints = "this ring draws its own points",
        RingOfTokens = "a ring of explicit tokens cannot choose tokens for a new node",
        NodeWithoutToken = "a node has no token",
        NothingToDiff = "neither router gives any of these keys an owner, so that nothing can be told",
        PlanByLoads = "a plan between routers whose loads decide who owns a key",
        PlanWithoutOwners = "the new router gives keys no owner, so that nobody could hold them",
        NoKeyPlaced = "no key has a node",
        NothingToPlan = "neither router gives an owner to any key of text, so that nothing can be planned",
        PlanOfOthers = "the plan is of other routers than these",
        ChangeOnItsWay = "a change on its way takes no other",
        LoadsInside = "the router inside counts loads already",
        NoConfig = "this system has no configuration file that is read here",
        History = "a history of changes cannot be saved yet",
        ServersOfRouter = "the servers of a dialect hold more than its router tells",
        OtherRouter = "the router is not of this strategy with these parameters",
        HashWithoutKey = "a keyed hash function without its key",
        CassandraWithoutToken = "a node without a token owns nothing in Cassandra",
        JumpServerDown = "a server is down that others follow, and jump knows servers by their number",
        SlotsOnTheMove = "a plan while slots are on the move",
        AtomicMoveBegun = "an atomic move of a slot that is on the move already",
        PromotionWithoutMajority = "a promotion without a majority of the primaries that own slots",
        NoVote = "no vote",
        UnknownMeasure = "what these keys hold is not known by this measure",
        NoCircle = "this router has no circle of hashes to draw",
        NoPixels = "this picture cannot be rendered",
    }
}

/// Bytes for a message: what cannot be printed escaped, what is long cut.
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
