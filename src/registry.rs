//! Rows of the registry: what routes, what it can do, which parameters it takes. Knows no
//! strategy.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Display;
use core::str::FromStr;

use crate::{Error, KeyHasher, Node, Router};

/// A registry row: what a strategy is called, what it can do, and how to build it.
///
/// ```
/// let jump = hashroute::strategy::find("jump")?;
/// assert_eq!(jump.caps.leave, hashroute::strategy::Leave::Last);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Strategy {
    /// The name by which configuration and the command line know it.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// What it can do and what it needs.
    pub caps: Caps,
    /// The parameters it takes.
    pub params: &'static [Param],
    /// Builds a router; [`build`](Self::build) checks the parameters' names first.
    pub new: Constructor,
}

/// How a [`Strategy`] makes a router of nodes and parameters.
///
/// ```
/// use hashroute::{Node, strategy::{self, Constructor, Params}};
/// let ring: Constructor = strategy::find("ring")?.new;
/// assert_eq!(ring(vec![Node::new("a")], &Params::default())?.nodes().len(), 1);
/// # Ok::<(), hashroute::Error>(())
/// ```
pub type Constructor = fn(Vec<Node>, &Params) -> Result<Box<dyn Router>, Error>;

/// What a strategy can do, and what its users must share.
///
/// ```
/// use hashroute::strategy::{self, Agree};
/// let sets = strategy::ALL.iter().filter(|strategy| strategy.caps.agree == Agree::Set);
/// assert!(sets.map(|strategy| strategy.name).any(|name| name == "ring"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Which weights it takes.
    pub weights: Weights,
    /// Which nodes may leave.
    pub leave: Leave,
    /// What two processes must share to agree on every key.
    pub agree: Agree,
    /// How many keys a change may move between nodes that it is not about.
    pub excess: Excess,
}

/// Which weights a strategy takes.
///
/// ```
/// # use hashroute::strategy::{self, Weights};
/// assert_eq!(strategy::find("jump")?.caps.weights, Weights::One);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Weights {
    /// Any: shares are proportional, 0 owns nothing.
    Any,
    /// Every node weighs 1.
    One,
}

/// Which nodes may leave.
///
/// ```
/// # use hashroute::strategy::{self, Leave};
/// assert_eq!(strategy::find("ring")?.caps.leave, Leave::Any);
/// # Ok::<(), hashroute::Error>(())
/// ```
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
/// # use hashroute::strategy::{self, Agree};
/// assert_eq!(strategy::find("slots")?.caps.agree, Agree::Table);
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
}

impl Agree {
    /// The word for it.
    ///
    /// ```
    /// assert_eq!(hashroute::strategy::Agree::Set.name(), "set");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Count => "count",
            Self::History => "history",
            Self::Table => "table",
            Self::Load => "load",
        }
    }
}

/// How many keys a change of one node may move between nodes that it is not about.
///
/// ```
/// # use hashroute::strategy::{self, Excess};
/// assert_eq!(strategy::find("rendezvous")?.caps.excess, Excess::None);
/// # Ok::<(), hashroute::Error>(())
/// ```
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

impl PartialEq for Excess {
    fn eq(&self, other: &Self) -> bool {
        core::mem::discriminant(self) == core::mem::discriminant(other)
    }
}

impl Eq for Excess {}

/// A parameter that a strategy takes.
///
/// ```
/// let ring = hashroute::strategy::find("ring")?;
/// assert_eq!((ring.params[0].name, ring.params[0].default), ("points", "160"));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its name.
    pub name: &'static str,
    /// The value when it is not given.
    pub default: &'static str,
    /// What it is, with its unit.
    pub about: &'static str,
}

/// The key hasher and the parameters of a strategy, as text from a configuration.
///
/// ```
/// use hashroute::{Node, strategy::{self, Params}};
/// let error = strategy::find("ring")?
///     .build([Node::new("a")], &Params::default().with("pionts", "100"))
///     .unwrap_err();
/// assert_eq!(error.to_string(), "pionts = \"100\" cannot be used: expected one of: points, labels");
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Params {
    hasher: Option<KeyHasher>,
    values: Vec<(String, String)>,
}

impl Params {
    /// The same with this parameter set; a later value replaces an earlier one.
    ///
    /// ```
    /// # use hashroute::strategy::Params;
    /// let params = Params::default().with("points", "40").with("points", "100");
    /// assert_eq!(params.get("points", 160_u32)?, 100);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let name = name.into();
        self.values.retain(|(known, _)| *known != name);
        self.values.push((name, value.into()));
        self
    }

    /// The same with this key hasher.
    ///
    /// ```
    /// # use hashroute::{HashFunction, KeyHasher, strategy::Params};
    /// let params = Params::default().with_hasher(KeyHasher::new(HashFunction::Md5));
    /// assert_eq!(params.hasher().function(), HashFunction::Md5);
    /// ```
    #[must_use]
    pub fn with_hasher(mut self, hasher: KeyHasher) -> Self {
        self.hasher = Some(hasher);
        self
    }

    /// The key hasher; xxh3 unless another was set.
    ///
    /// ```
    /// # use hashroute::{KeyHasher, strategy::Params};
    /// assert_eq!(Params::default().hasher(), KeyHasher::default());
    /// ```
    pub fn hasher(&self) -> KeyHasher {
        self.hasher_or(&KeyHasher::default())
    }

    /// The key hasher, or `default` unless another was set: for strategies that come with one.
    ///
    /// ```
    /// # use hashroute::{KeyHasher, strategy::Params};
    /// assert_eq!(Params::default().hasher_or(&KeyHasher::REDIS), KeyHasher::REDIS);
    /// ```
    pub fn hasher_or(&self, default: &KeyHasher) -> KeyHasher {
        self.hasher.as_ref().unwrap_or(default).clone()
    }

    /// Refuse a parameter that is not among those that `who` takes.
    pub(crate) fn check(&self, who: &str, taken: &[Param]) -> Result<(), Error> {
        let known = |name: &str| taken.iter().any(|param| param.name == name);
        let Some((name, value)) = self.values.iter().find(|(name, _)| !known(name)) else {
            return Ok(());
        };
        let names: Vec<_> = taken.iter().map(|param| param.name).collect();
        let expected = match names.as_slice() {
            [] => alloc::format!("no parameter, {who} takes none"),
            _ => alloc::format!("one of: {}", names.join(", ")),
        };
        Err(Error::parameter(name.as_str(), value, expected))
    }

    /// The value of a parameter, or `default` when it was not given.
    ///
    /// # Errors
    /// [`Error::Parameter`] when the text does not parse.
    ///
    /// ```
    /// # use hashroute::strategy::Params;
    /// assert_eq!(Params::default().get("points", 160_u32)?, 160);
    /// assert!(Params::default().with("points", "many").get("points", 160_u32).is_err());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn get<T: FromStr<Err: Display>>(&self, name: &str, default: T) -> Result<T, Error> {
        match self.values.iter().find(|(known, _)| known == name) {
            None => Ok(default),
            Some((_, value)) => value.parse().map_err(|error: T::Err| {
                let whole = if "0.5".parse::<T>().is_err() {
                    "whole "
                } else {
                    ""
                };
                Error::parameter(name, value, alloc::format!("a {whole}number ({error})"))
            }),
        }
    }

    /// The value of a parameter that is one of several words, or `default` when it was not given.
    ///
    /// # Errors
    /// [`Error::Parameter`] that says what the words are, as the type's own `FromStr` does.
    ///
    /// ```
    /// # use hashroute::{HashTag, strategy::Params};
    /// let params = Params::default().with("hash_tag", "{");
    /// let error = params.choice("hash_tag", HashTag::BRACES).unwrap_err();
    /// assert!(error.to_string().starts_with("hash_tag = \"{\" cannot be used: expected exactly two"));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn choice<T: FromStr<Err = Error>>(&self, name: &str, default: T) -> Result<T, Error> {
        Ok(self.optional(name)?.unwrap_or(default))
    }

    /// As [`choice`](Self::choice), for a parameter without a default.
    ///
    /// # Errors
    /// As `choice`.
    ///
    /// ```
    /// # use hashroute::{HashTag, strategy::Params};
    /// assert_eq!(Params::default().optional::<HashTag>("hash_tag")?, None);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn optional<T: FromStr<Err = Error>>(&self, name: &str) -> Result<Option<T>, Error> {
        let Some((_, value)) = self.values.iter().find(|(known, _)| known == name) else {
            return Ok(None);
        };
        match value.parse() {
            Ok(value) => Ok(Some(value)),
            Err(Error::Parameter { expected, .. }) => Err(Error::parameter(name, value, expected)),
            Err(error) => Err(error),
        }
    }
}

impl Strategy {
    /// A router over these nodes.
    ///
    /// # Errors
    /// [`Error::Parameter`] for an unknown parameter or one whose value cannot be used, and what
    /// the strategy's own constructor refuses.
    ///
    /// ```
    /// # use hashroute::{Node, strategy::{self, Params}};
    /// for strategy in strategy::ALL {
    ///     let router = strategy.build([Node::new("only")], &Params::default())?;
    ///     assert_eq!(router.route(b"key").map(Node::name), Some("only"));
    /// }
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn build(
        &self,
        nodes: impl IntoIterator<Item = Node>,
        params: &Params,
    ) -> Result<Box<dyn Router>, Error> {
        params.check(self.name, self.params)?;
        (self.new)(nodes.into_iter().collect(), params)
    }
}
