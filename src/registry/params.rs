//! Parameters as text, from a configuration or a command line.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
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
    /// The name.
    pub name: &'static str,
    /// The default value.
    pub default: &'static str,
    /// A description with the unit.
    pub about: &'static str,
    /// Values that make shares more even, at a cost. A diagnosis tries them.
    pub finer: &'static [&'static str],
    /// Values that select a hash function which spreads keys better. A diagnosis tries them.
    pub hashes: &'static [&'static str],
    /// All values, if these are a few words that change routes; otherwise empty. A search for the
    /// settings that keep most keys tries them.
    pub values: &'static [&'static str],
}

impl Param {
    /// Makes a parameter with a name, a default value and a description.
    ///
    /// ```
    /// const POINTS: hashroute::registry::Param =
    ///     hashroute::registry::Param::new("points", "160", "points per unit of weight").with_finer(&["640"]);
    /// assert_eq!(POINTS.finer, ["640"]);
    /// ```
    pub const fn new(name: &'static str, default: &'static str, about: &'static str) -> Self {
        Self {
            name,
            default,
            about,
            finer: &[],
            hashes: &[],
            values: &[],
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

    /// Sets all values, for a parameter that takes one of a few words.
    ///
    /// ```
    /// use hashroute::registry::Param;
    /// const MODE: Param = Param::new("mode", "ring", "ring or table").with_values(&["ring", "table"]);
    /// assert!(MODE.values.contains(&MODE.default));
    /// ```
    #[must_use]
    pub const fn with_values(self, values: &'static [&'static str]) -> Self {
        Self { values, ..self }
    }

    /// Sets the values that select a better hash function.
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
    /// Sets a parameter. A later value replaces an earlier one.
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

    /// Sets the key hasher.
    ///
    /// ```
    /// # use hashroute::{HashFunction, KeyHasher, registry::Params};
    /// let params = Params::default().with_hasher(KeyHasher::new(HashFunction::Fnv1a64));
    /// assert_eq!(params.hasher().function(), HashFunction::Fnv1a64);
    /// ```
    #[must_use]
    pub fn with_hasher(mut self, hasher: KeyHasher) -> Self {
        self.hasher = Some(hasher);
        self
    }

    /// Returns the key hasher. The default is XXH3.
    pub fn hasher(&self) -> KeyHasher {
        self.hasher_or(&KeyHasher::default())
    }

    /// Returns the key hasher, or `default` if none was set, for strategies with their own hasher.
    ///
    /// ```
    /// # use hashroute::{KeyHasher, registry::Params};
    /// assert_eq!(Params::default().hasher_or(&KeyHasher::REDIS), KeyHasher::REDIS);
    /// ```
    pub fn hasher_or(&self, default: &KeyHasher) -> KeyHasher {
        self.hasher.as_ref().unwrap_or(default).clone()
    }

    /// Returns the key hasher without parameters.
    #[cfg(feature = "spec")]
    pub(crate) fn without_values(&self) -> Self {
        Self {
            hasher: self.hasher.clone(),
            values: Vec::new(),
        }
    }

    /// Refuses a parameter that `who` does not take.
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

    /// Returns the value of a parameter, or `default` if it is not set.
    ///
    /// # Errors
    /// [`Error::Parameter`] if the text does not parse.
    ///
    /// ```
    /// # use hashroute::registry::Params;
    /// assert_eq!(Params::default().get("points", 160_u32)?, 160);
    /// assert!(Params::default().with("points", "many").get("points", 160_u32).is_err());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn get<T: FromStr>(&self, name: &str, default: T) -> Result<T, Error> {
        match self.values.iter().find(|(known, _)| known == name) {
            None => Ok(default),
            Some((_, value)) => value.parse().map_err(|_| {
                let takes = |text: &str| text.parse::<T>().is_ok();
                let most = ["18446744073709551615", "4294967295", "65535", "255"];
                let most = most.into_iter().find(|most| takes(most));
                let expected = match most {
                    _ if takes("0.5") => "a number".into(),
                    Some(most) if !takes("-1") => alloc::format!("a whole number from 0 to {most}"),
                    _ => "a whole number".into(),
                };
                Error::parameter(name, value, expected)
            }),
        }
    }

    /// Returns the value of a parameter that is one of several words, or `default` if it is not
    /// set.
    ///
    /// # Errors
    /// [`Error::Parameter`], which lists the words, as the `FromStr` of the type does.
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

    /// Returns the value of a parameter that is one of several words; `None` if it is not set.
    ///
    /// # Errors
    /// The errors of [`choice`](Self::choice).
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

/// Returns every parameter with its value or its default, in a canonical form.
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

/// Returns a number in the form that Rust writes, if the default is a number: `0160` becomes `160`,
/// and `1.50` becomes `1.5`.
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
