//! The errors of a server that redirect a client or ask it to wait.

use super::Address;
use super::node::number;

/// An error of a server that tells a client where, when or whether to retry.
///
/// ```
/// use hashroute::redis::{Address, Redirect};
///
/// let asked = Address::new("10.0.0.9", 7001);
/// let moved = Redirect::parse("MOVED 3999 10.0.0.1:6381", &asked);
/// assert_eq!(moved, Some(Redirect::Moved { slot: 3999, to: Address::new("10.0.0.1", 6381) }));
/// // An empty host means the host that was asked.
/// let ask = Redirect::parse("ASK 3999 :6381", &asked);
/// assert_eq!(ask, Some(Redirect::Ask { slot: 3999, to: Address::new("10.0.0.9", 6381) }));
/// assert_eq!(Redirect::parse("WRONGTYPE Operation against a key", &asked), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Redirect {
    /// Another server serves the slot from now on.
    Moved {
        /// The slot.
        slot: u32,
        /// The server. Its host is `?` if the answering server knows no address for clients.
        to: Address,
    },
    /// The client sends `ASKING` and then this one command to another server.
    Ask {
        /// The slot.
        slot: u32,
        /// The server.
        to: Address,
    },
    /// The keys are on two servers while their slot moves: retry a little later.
    TryAgain,
    /// The keys are in different slots: no retry helps.
    CrossSlot,
    /// In the view of this server, nobody serves the slot now.
    Down,
    /// This server loads its data, or is a replica without a connection to its primary.
    Busy,
}

impl Redirect {
    /// Reads an error from the wire, with or without the leading `-` and the line end. `asked` is
    /// the server that sent it. Returns `None` for any other or malformed error: that error is the
    /// answer to the command. Linear in the text.
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
