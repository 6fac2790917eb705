//! Parameters as text, as a configuration or a command line has them.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Display;
use core::str::FromStr;

use crate::{Error, KeyHasher};

/// A parameter that a strategy takes.
///
/// ```
/// let ring = hashroute::strategy::find("ring")?;
/// assert_eq!((ring.params[0].name, ring.params[0].default), ("points", "160"));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Param {
    /// Its name.
    pub name: &'static str,
    /// The value when it is not given.
    pub default: &'static str,
    /// What it is, with its unit.
    pub about: &'static str,
    /// Values that make shares more even, at a price: what a diagnosis tries.
    pub finer: &'static [&'static str],
    /// Values that hash keys by a function which spreads them better: what a diagnosis tries.
    pub hashes: &'static [&'static str],
}

impl Param {
    /// Describes a parameter.
    ///
    /// ```
    /// const POINTS: hashroute::registry::Param =
    ///     hashroute::registry::Param::new("points", "160", "points a unit of weight").with_finer(&["640"]);
    /// assert_eq!(POINTS.finer, ["640"]);
    /// ```
    pub const fn new(name: &'static str, default: &'static str, about: &'static str) -> Self {
        Self {
            name,
            default,
            about,
            finer: &[],
            hashes: &[],
        }
    }

    /// Sets the values that make shares more even.
    #[must_use]
    pub const fn with_finer(self, values: &'static [&'static str]) -> Self {
        Self {
            finer: values,
            ..self
        }
    }

    /// Sets the values that hash keys better.
    #[must_use]
    pub const fn with_hashes(self, values: &'static [&'static str]) -> Self {
        Self {
            hashes: values,
            ..self
        }
    }
}

/// The key hasher and the parameters of a strategy, as text from a configuration.
///
/// ```
/// use hashroute::{Node, {registry::Params, strategy}};
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
    /// # use hashroute::registry::Params;
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
    /// # use hashroute::{HashFunction, KeyHasher, registry::Params};
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
    /// # use hashroute::{KeyHasher, registry::Params};
    /// assert_eq!(Params::default().hasher(), KeyHasher::default());
    /// ```
    pub fn hasher(&self) -> KeyHasher {
        self.hasher_or(&KeyHasher::default())
    }

    /// The key hasher, or `default` unless another was set: for strategies that come with one.
    ///
    /// ```
    /// # use hashroute::{KeyHasher, registry::Params};
    /// assert_eq!(Params::default().hasher_or(&KeyHasher::REDIS), KeyHasher::REDIS);
    /// ```
    pub fn hasher_or(&self, default: &KeyHasher) -> KeyHasher {
        self.hasher.as_ref().unwrap_or(default).clone()
    }

    /// The key hasher alone.
    #[cfg(feature = "spec")]
    pub(crate) fn without_values(&self) -> Self {
        Self {
            hasher: self.hasher.clone(),
            values: Vec::new(),
        }
    }

    /// Refuse a parameter that is not among those that `who` takes.
    pub(super) fn check(&self, who: &str, taken: &[Param]) -> Result<(), Error> {
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
    /// # use hashroute::registry::Params;
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
    /// # use hashroute::{HashTag, registry::Params};
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
    /// # use hashroute::{HashTag, registry::Params};
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

/// Every parameter with its value or its default, each in one spelling.
pub(super) fn complete(
    taken: &[Param],
    params: &Params,
) -> Result<BTreeMap<&'static str, String>, Error> {
    let value = |param: &Param| {
        let given = params.get(param.name, param.default.to_owned())?;
        Ok((param.name, in_one_spelling(param.default, given)))
    };
    taken.iter().map(value).collect()
}

/// A number as Rust writes it, where the default says that it is one: `0160` is `160`, and
/// `1.50` is `1.5`.
fn in_one_spelling(default: &str, given: String) -> String {
    if default == "none" || default.parse::<u64>().is_ok() {
        given
            .parse::<u64>()
            .map_or(given, |number| number.to_string())
    } else if default.parse::<f64>().is_ok() {
        let number = given.parse().ok().filter(|number: &f64| number.is_finite());
        number.map_or(given, |number| number.to_string())
    } else {
        given
    }
}
