//! What the errors of a cluster mean to a client.

use super::Address;
use super::node::number;

/// An error that says where, when or whether to ask again.
///
/// ```
/// use hashroute::redis::{Address, Redirect};
///
/// let asked = Address::new("10.0.0.9", 7001);
/// let moved = Redirect::parse("MOVED 3999 10.0.0.1:6381", &asked);
/// assert_eq!(moved, Some(Redirect::Moved { slot: 3999, to: Address::new("10.0.0.1", 6381) }));
/// // No host means the one that was asked.
/// let ask = Redirect::parse("ASK 3999 :6381", &asked);
/// assert_eq!(ask, Some(Redirect::Ask { slot: 3999, to: Address::new("10.0.0.9", 6381) }));
/// assert_eq!(Redirect::parse("WRONGTYPE Operation against a key", &asked), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Redirect {
    /// The slot is served there from now on.
    Moved {
        /// The slot.
        slot: u32,
        /// Where. Its host is `?` where the server does not know what to tell clients.
        to: Address,
    },
    /// This command alone is to be sent there, behind `ASKING`.
    Ask {
        /// The slot.
        slot: u32,
        /// Where.
        to: Address,
    },
    /// The keys are on two servers: ask again a little later.
    TryAgain,
    /// The keys are not in one slot: no retry can help.
    CrossSlot,
    /// The cluster, as this server sees it, does not serve the slot now.
    Down,
    /// This server does not answer yet, or not without its primary.
    Busy,
}

impl Redirect {
    /// Reads an error as it is on the wire, with or without the leading `-` and the line end;
    /// `asked` is the server that sent it. `None` for any other error, or one that is malformed:
    /// that is the answer, then. Linear in the text.
    ///
    /// ```
    /// use hashroute::redis::{Address, Redirect};
    ///
    /// let asked = Address::new("10.0.0.9", 7001);
    /// let Some(Redirect::Moved { to, .. }) = Redirect::parse("-MOVED 7 2001:db8::1:6381\r\n", &asked) else {
    ///     panic!();
    /// };
    /// assert_eq!((to.host(), to.port()), ("2001:db8::1", 6381));
    /// assert_eq!(Redirect::parse("MOVED 7 nowhere", &asked), None);
    /// ```
    pub fn parse(error: &str, asked: &Address) -> Option<Self> {
        let error = error.strip_prefix('-').unwrap_or(error);
        let mut words = error.split_ascii_whitespace();
        let kind = words.next()?;
        let mut redirected = || -> Option<(u32, Address)> {
            let slot = number(words.next()?)?;
            let to: Address = words.next()?.parse().ok()?;
            let host = if to.host().is_empty() {
                asked.host()
            } else {
                to.host()
            };
            Some((slot, Address::new(host, to.port())))
        };
        match kind {
            "MOVED" => redirected().map(|(slot, to)| Self::Moved { slot, to }),
            "ASK" => redirected().map(|(slot, to)| Self::Ask { slot, to }),
            "TRYAGAIN" => Some(Self::TryAgain),
            "CROSSSLOT" => Some(Self::CrossSlot),
            "CLUSTERDOWN" => Some(Self::Down),
            "LOADING" | "MASTERDOWN" => Some(Self::Busy),
            _ => None,
        }
    }
}
