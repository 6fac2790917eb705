//! Names of strategies, dialects and hash functions, as options take them.

use std::ffi::OsStr;
use std::sync::LazyLock;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Error};
use hashroute::registry::Scheme;
use hashroute::{HashFunction, compat, scheme_name, schemes, strategy};

use crate::synonyms::plain;

/// The names of all rows, with the line about each.
static SCHEMES: LazyLock<Vec<(String, &str)>> = LazyLock::new(|| {
    let rows = schemes().map(|row| (scheme_name(row), row.about));
    rows.collect()
});

/// Parses a name in any case, with `-` or `_`, and returns it as the registry has it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Named {
    /// A strategy; `strategy:ring` is `ring`.
    Strategy,
    /// A dialect; `dialect:jump` is `jump`.
    Dialect,
    /// A strategy or a dialect: `jump` is the strategy, `dialect:jump` the dialect.
    Scheme,
    /// A hash function.
    Hash,
}

impl Named {
    /// Returns all names, with the line about each.
    fn all(self) -> Vec<(&'static str, &'static str)> {
        let rows = |rows: &'static [Scheme]| rows.iter().map(|row| (row.name, row.about));
        match self {
            Self::Strategy => rows(strategy::ALL).collect(),
            Self::Dialect => rows(compat::ALL).collect(),
            Self::Scheme => {
                let all = SCHEMES.iter();
                all.map(|(name, about)| (name.as_str(), *about)).collect()
            }
            Self::Hash => {
                let all = HashFunction::ALL.iter();
                all.map(|function| (function.name(), function.about()))
                    .collect()
            }
        }
    }

    /// Returns the name that `typed` stands for.
    fn find(self, typed: &str) -> Option<&'static str> {
        let typed = plain(typed);
        let all = self.all();
        let find = |text: &str| {
            let mut names = all.iter().map(|(name, _)| *name);
            names.find(|name| *name == text)
        };
        find(&typed).or_else(|| {
            let (kind, name) = typed.split_once(':')?;
            let fits = match (self, kind) {
                (Self::Strategy, "strategy") | (Self::Dialect, "dialect") => true,
                (Self::Scheme, "strategy") => strategy::find(name).is_ok(),
                (Self::Scheme, "dialect") => compat::find(name).is_ok(),
                _ => false,
            };
            find(name).filter(|_| fits)
        })
    }
}

impl TypedValueParser for Named {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, Error> {
        let typed = value.to_string_lossy();
        self.find(&typed).map(str::to_owned).ok_or_else(|| {
            let mut error = Error::new(ErrorKind::InvalidValue).with_cmd(command);
            let names = self
                .all()
                .into_iter()
                .map(|(name, _)| name.to_owned())
                .collect();
            let option = arg.map_or_else(|| "...".to_owned(), ToString::to_string);
            error.insert(ContextKind::InvalidArg, ContextValue::String(option));
            let typed = ContextValue::String(typed.into_owned());
            error.insert(ContextKind::InvalidValue, typed);
            error.insert(ContextKind::ValidValue, ContextValue::Strings(names));
            error
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let all = self.all().into_iter();
        Some(Box::new(
            all.map(|(name, about)| PossibleValue::new(name).help(about)),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::Named;

    #[test]
    fn names_are_found_in_any_spelling() {
        let found = |kind: Named, typed: &str| kind.find(typed);
        assert_eq!(found(Named::Hash, "MD5"), Some("md5"));
        assert_eq!(found(Named::Hash, "fnv1a_64"), Some("fnv1a-64"));
        assert_eq!(found(Named::Strategy, "Ring"), Some("ring"));
        assert_eq!(found(Named::Strategy, "strategy:jump"), Some("jump"));
        assert_eq!(found(Named::Strategy, "dialect:jump"), None);
        assert_eq!(found(Named::Dialect, "dialect:nginx"), Some("nginx"));
        let scheme = |typed| found(Named::Scheme, typed);
        assert_eq!(scheme("strategy:jump"), Some("jump"));
        assert_eq!(scheme("dialect:jump"), Some("dialect:jump"));
        assert_eq!(scheme("dialect:nginx"), Some("nginx"));
        assert_eq!(scheme("nginx:ring"), None);
    }

    #[test]
    fn every_name_is_its_own() {
        for kind in [Named::Strategy, Named::Dialect, Named::Scheme, Named::Hash] {
            for (name, _) in kind.all() {
                assert_eq!(kind.find(name), Some(name));
            }
        }
    }
}
