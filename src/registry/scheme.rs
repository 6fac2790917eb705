//! A row of the registry.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use super::params::complete;
use super::{Agree, Caps, Config, ConfigReader, Param, Params};
use crate::{Error, Node, NodeId, Refusal, Router, Server};

/// A row of the registry: a strategy of ours, or the dialect of a real system.
///
/// ```
/// let jump = hashroute::strategy::find("jump")?;
/// assert_eq!((jump.name, jump.agree().name()), ("jump", "count"));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Scheme {
    /// The name by which configuration and the command line know it.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// A strategy with its capabilities, or a dialect with its origin.
    pub kind: Kind,
    /// The parameters it takes.
    pub params: &'static [Param],
    /// The keys it routes.
    pub keys: KeyForm,
    /// How its table is saved and restored, where its state is one.
    pub table: Option<TableForm>,
    build: Build,
    reader: Option<ConfigReader>,
}

/// What a row is.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Kind {
    /// An algorithm of its own.
    Strategy(Caps),
    /// The same key to the same node as a real system.
    Dialect(Origin),
}

/// Which system a dialect speaks like, and how that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Origin {
    /// The version, or versions, of the system that it was compared with.
    pub version: &'static str,
    /// How it is known to be right.
    pub proof: Proof,
}

impl Origin {
    /// Compared with the recorded answers of this version.
    pub const fn recorded(version: &'static str) -> Self {
        let proof = Proof::Recorded;
        Self { version, proof }
    }

    /// Written from the source of this version.
    pub const fn source(version: &'static str) -> Self {
        let proof = Proof::Source;
        Self { version, proof }
    }
}

/// How a dialect is known to be right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Proof {
    /// Equal to the recorded answers of the running program, all of them.
    Recorded,
    /// Written from the system's public source; never compared with it running.
    Source,
}

impl Proof {
    /// Returns the words for it: `recorded`, or `from source, not run`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Recorded => "recorded",
            Self::Source => "from source, not run",
        }
    }
}

/// Builds a router of nodes and parameters.
pub type BuildOfNodes = fn(Vec<Node>, &Params) -> Result<Box<dyn Router>, Error>;

/// Builds a router of servers, in the order of the system's configuration, and parameters.
pub type BuildOfServers = fn(Vec<Server>, &Params) -> Result<Box<dyn Router>, Error>;

/// How a row makes a router of its members and parameters.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Build {
    /// Of nodes, as strategies are.
    Nodes(BuildOfNodes),
    /// Of servers in the order of the system's configuration, as dialects are.
    Servers(BuildOfServers),
}

/// Which keys a row routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyForm {
    /// Any bytes; a system may refuse some, such as the empty key.
    Bytes,
    /// Decimal numbers as text.
    Number,
    /// A flow: addresses, ports and protocol in this number of bytes.
    Flow(u8),
}

impl KeyForm {
    /// Returns the `i`-th of a series of distinct keys of this form, for tests and samples.
    ///
    /// ```
    /// use hashroute::registry::KeyForm;
    /// assert_eq!(KeyForm::Bytes.sample(7), b"user:7");
    /// assert_eq!(KeyForm::Flow(9).sample(7).len(), 9);
    /// assert_eq!(KeyForm::Number.sample(u32::MAX), b"6230880200713266500");
    /// ```
    pub fn sample(self, i: u32) -> Vec<u8> {
        match self {
            Self::Bytes => format!("user:{i}").into(),
            // An odd multiple of 4 modulo 2^64: no two of 2^32 numbers meet.
            Self::Number => u64::from(i)
                .wrapping_mul(0x1234_5678_9abc)
                .to_string()
                .into(),
            Self::Flow(length) => {
                // Source address and port from the number, then port 80 over TCP.
                let [port, net, subnet, host] = i.to_be_bytes();
                let flow = [192, net, subnet, host, 0x9c, port, 0, 80, 6];
                let flow = flow.into_iter().chain(core::iter::repeat(0));
                flow.take(length.into()).collect()
            }
        }
    }
}

/// Returns the owner of each cell of a router, in order.
pub type Save = fn(&dyn Router, &Params) -> Result<Vec<Option<NodeId>>, Error>;

/// How the table of a row is saved and restored, where somebody writes a table that peers share.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TableForm {
    /// The parameter that gives the number of cells.
    pub cells: &'static str,
    /// Returns the owner of each cell, in order.
    pub save: Save,
    /// Builds the router of these nodes in which each owns the cells that are given with its name.
    pub restore: Restore,
}

/// Builds a router from a table: nodes, parameters, and ranges of cells with their owners' names.
pub type Restore =
    fn(Vec<Node>, &Params, &[(RangeInclusive<u32>, &str)]) -> Result<Box<dyn Router>, Error>;

impl TableForm {
    /// Describes the table of a row.
    pub const fn new(cells: &'static str, save: Save, restore: Restore) -> Self {
        Self {
            cells,
            save,
            restore,
        }
    }
}

impl Scheme {
    /// Makes the row of a strategy.
    pub const fn strategy(
        name: &'static str,
        about: &'static str,
        caps: Caps,
        build: BuildOfNodes,
    ) -> Self {
        Self {
            name,
            about,
            kind: Kind::Strategy(caps),
            params: &[],
            keys: KeyForm::Bytes,
            table: None,
            build: Build::Nodes(build),
            reader: None,
        }
    }

    /// Makes the row of a dialect.
    pub const fn dialect(
        name: &'static str,
        about: &'static str,
        origin: Origin,
        build: BuildOfServers,
    ) -> Self {
        Self {
            name,
            about,
            kind: Kind::Dialect(origin),
            params: &[],
            keys: KeyForm::Bytes,
            table: None,
            build: Build::Servers(build),
            reader: None,
        }
    }

    /// Sets the parameters it takes.
    #[must_use]
    pub const fn with_params(self, params: &'static [Param]) -> Self {
        Self { params, ..self }
    }

    /// Sets the form of the keys it routes.
    #[must_use]
    pub const fn with_keys(self, keys: KeyForm) -> Self {
        Self { keys, ..self }
    }

    /// Sets how its table is saved and restored.
    #[must_use]
    pub const fn with_table(self, table: TableForm) -> Self {
        Self {
            table: Some(table),
            ..self
        }
    }

    /// Sets the reader of the system's own configuration.
    #[must_use]
    pub const fn with_reader(self, reader: Option<ConfigReader>) -> Self {
        Self { reader, ..self }
    }

    /// Returns the capabilities of a strategy; `None` for a dialect.
    pub const fn caps(&self) -> Option<Caps> {
        match self.kind {
            Kind::Strategy(caps) => Some(caps),
            Kind::Dialect(_) => None,
        }
    }

    /// Returns the origin of a dialect; `None` for a strategy.
    pub const fn origin(&self) -> Option<Origin> {
        match self.kind {
            Kind::Strategy(_) => None,
            Kind::Dialect(origin) => Some(origin),
        }
    }

    /// Returns what two processes must share to agree on every key.
    pub const fn agree(&self) -> Agree {
        match self.kind {
            Kind::Strategy(caps) => caps.agree,
            Kind::Dialect(_) => Agree::List,
        }
    }

    /// Whether it is a dialect.
    pub const fn is_dialect(&self) -> bool {
        matches!(self.kind, Kind::Dialect(_))
    }

    /// Whether the order of the members decides routes.
    pub const fn minds_order(&self) -> bool {
        !matches!(self.agree(), Agree::Set | Agree::Load)
    }

    /// Returns the kind and the name: `strategy ring`, `dialect nginx`.
    pub fn title(&self) -> String {
        let kind = if self.is_dialect() {
            "dialect"
        } else {
            "strategy"
        };
        format!("{kind} {}", self.name)
    }

    /// Builds a router over these members: nodes in any form, or servers in the order of the
    /// system's configuration.
    ///
    /// # Errors
    /// [`Error::Parameter`] for an unknown parameter or one whose value cannot be used, and for a
    /// label where a strategy takes none; and what the row's own constructor refuses.
    ///
    /// ```
    /// # use hashroute::{Node, Router, registry::Params, strategy};
    /// for row in strategy::ALL {
    ///     let router = row.build(["only"], &Params::default())?;
    ///     assert_eq!(router.route(b"key").map(Node::name), Some("only"));
    /// }
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn build(
        &self,
        members: impl IntoIterator<Item = impl Into<Server>>,
        params: &Params,
    ) -> Result<Box<dyn Router>, Error> {
        params.check(self.name, self.params)?;
        let servers: Vec<Server> = members.into_iter().map(Into::into).collect();
        match self.build {
            Build::Servers(build) => build(servers, params),
            Build::Nodes(build) => build(self.nodes(&servers)?, params),
        }
    }

    /// The nodes that servers are to a strategy.
    pub(super) fn nodes(&self, servers: &[Server]) -> Result<Vec<Node>, Error> {
        if let Some(label) = servers.iter().find_map(Server::own_label) {
            let expected = format!("no label: {} hashes names", self.title());
            return Err(Error::parameter("label", label, expected));
        }
        Ok(servers.iter().map(Server::to_node).collect())
    }

    /// Refuses parameters that this row does not take.
    ///
    /// # Errors
    /// [`Error::Parameter`] that lists those it takes.
    pub fn check(&self, params: &Params) -> Result<(), Error> {
        params.check(self.name, self.params)
    }

    /// Returns every parameter with its value or its default, each in one spelling: `0160` is `160`.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a parameter that this row does not take.
    pub fn values(&self, params: &Params) -> Result<BTreeMap<&'static str, String>, Error> {
        self.check(params)?;
        complete(self.params, params)
    }

    /// Whether it reads the system's own configuration.
    pub const fn reads_config(&self) -> bool {
        self.reader.is_some()
    }

    /// Reads the system's own configuration: its pools, in order.
    ///
    /// # Errors
    /// [`Error::Config`] with the line, [`Error::Unsupported`] for a row without a reader; the
    /// error of the first pool when none can be used.
    pub fn read(&'static self, text: &str) -> Result<Vec<Config>, Error> {
        let read = self.reader.ok_or(Error::Unsupported {
            what: Refusal::NoConfig,
            advice: "give its servers and options",
        })?;
        let configs = read(self, text)?;
        match configs.first().and_then(Config::error) {
            Some(error) if configs.iter().all(|config| config.error().is_some()) => {
                Err(error.clone())
            }
            _ => Ok(configs),
        }
    }
}

/// The row of this name.
pub(crate) fn find_in(
    rows: &'static [Scheme],
    what: &str,
    name: &str,
) -> Result<&'static Scheme, Error> {
    rows.iter().find(|row| row.name == name).ok_or_else(|| {
        let names: Vec<_> = rows.iter().map(|row| row.name).collect();
        Error::parameter(what, name, format!("one of: {}", names.join(", ")))
    })
}
