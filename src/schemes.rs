//! All rows of the registry: strategies and dialects.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::registry::Scheme;
use crate::{Error, strategy};

/// Returns every row: the strategies, then the dialects (with the feature `compat`).
///
/// ```
/// let names: Vec<_> = hashroute::schemes().map(|row| row.name).collect();
/// assert!(names.starts_with(&["modulo", "ring"]));
/// ```
pub fn schemes() -> impl Iterator<Item = &'static Scheme> {
    #[cfg(feature = "compat")]
    let dialects = crate::compat::ALL;
    #[cfg(not(feature = "compat"))]
    let dialects: &[Scheme] = &[];
    strategy::ALL.iter().chain(dialects)
}

/// Finds a row by name. If a strategy and a dialect have the same name, the bare name means the
/// strategy, and the prefix `dialect:` the dialect, as in `dialect:jump`.
///
/// # Errors
/// [`Error::Parameter`], which lists the known names.
///
/// ```
/// use hashroute::scheme;
/// assert!(!scheme("jump")?.is_dialect());
/// # #[cfg(feature = "compat")]
/// assert!(scheme("dialect:jump")?.is_dialect() && scheme("nginx")?.is_dialect());
/// assert!(scheme("rign").unwrap_err().to_string().contains("ring, rendezvous"));
/// # Ok::<(), hashroute::Error>(())
/// ```
pub fn scheme(name: &str) -> Result<&'static Scheme, Error> {
    let (kind, bare) = match name.split_once(':') {
        Some(("strategy", bare)) => (Some(false), bare),
        Some(("dialect", bare)) => (Some(true), bare),
        _ => (None, name),
    };
    let fits = |row: &&Scheme| {
        row.name == bare && kind.is_none_or(|is_dialect| row.is_dialect() == is_dialect)
    };
    schemes().find(fits).ok_or_else(|| {
        let names: Vec<_> = schemes().map(|row| row.name).collect();
        let dialects = if cfg!(feature = "compat") {
            ""
        } else {
            "; dialects need the feature compat of hashroute"
        };
        let expected = format!("one of: {}{dialects}", names.join(", "));
        Error::parameter("strategy", name, expected)
    })
}

/// Returns the name by which [`scheme`] finds a row: `dialect:jump` for the dialect `jump`, because
/// `jump` alone means the strategy.
///
/// ```
/// use hashroute::{scheme, scheme_name};
/// assert_eq!(scheme_name(scheme("jump")?), "jump");
/// # #[cfg(feature = "compat")]
/// assert_eq!(scheme_name(scheme("dialect:jump")?), "dialect:jump");
/// # Ok::<(), hashroute::Error>(())
/// ```
pub fn scheme_name(row: &Scheme) -> String {
    match scheme(row.name) {
        Ok(first) if first.is_dialect() != row.is_dialect() => format!("dialect:{}", row.name),
        _ => row.name.into(),
    }
}
