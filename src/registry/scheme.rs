//! A row of the registry.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use super::params::complete;
use super::{Agree, Caps, Config, ConfigReader, ConfigWriter, Param, Params, Setup};
use crate::{Error, Node, NodeId, Refusal, Router, Server};

/// A row of the registry: a strategy of this crate, or the dialect of a real system.
///
/// ```
/// let jump = hashroute::strategy::find("jump")?;
/// assert_eq!((jump.name, jump.agree().name()), ("jump", "count"));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Scheme {
    /// The name in configurations and on the command line.
    pub name: &'static str,
    /// A description in a few words.
    pub about: &'static str,
    /// A strategy with its capabilities, or a dialect with its origin.
    pub kind: Kind,
    /// The parameters that it takes.
    pub params: &'static [Param],
    /// The keys that it routes.
    pub keys: KeyForm,
    /// The functions that save and restore its table, if its state is a table.
    pub table: Option<TableForm>,
    build: Build,
    reader: Option<ConfigReader>,
    writer: Option<ConfigWriter>,
    free: FreeOrder,
}

/// The kind of a row.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Kind {
    /// An algorithm of this crate or of a program.
    Strategy(Caps),
    /// The routes of a real system: the same owner for every key.
    Dialect(Origin),
}

/// The version of the system behind a dialect, and the proof that the dialect equals it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Origin {
    /// The version or versions of the system.
    pub version: &'static str,
    /// The proof that the dialect is right.
    pub proof: Proof,
}

impl Origin {
    /// Makes the origin of a dialect that equals the recorded answers of this version.
    pub const fn recorded(version: &'static str) -> Self {
        let proof = Proof::Recorded;
        Self { version, proof }
    }

    /// Makes the origin of a dialect that follows the source of this version.
    pub const fn source(version: &'static str) -> Self {
        let proof = Proof::Source;
        Self { version, proof }
    }
}

/// The proof that a dialect is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Proof {
    /// The dialect equals all recorded answers of the running program.
    Recorded,
    /// The dialect follows the public source of the system and was never compared with it running.
    Source,
}

impl Proof {
    /// Returns it in words: `recorded`, or `from source, not run`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Recorded => "recorded",
            Self::Source => "from source, not run",
        }
    }
}

/// Builds a router from nodes and parameters.
pub type BuildOfNodes = fn(Vec<Node>, &Params) -> Result<Box<dyn Router>, Error>;

/// Builds a router from parameters and servers in the order of the system's configuration.
pub type BuildOfServers = fn(Vec<Server>, &Params) -> Result<Box<dyn Router>, Error>;

/// The constructor of a row.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Build {
    /// Builds from nodes: a strategy.
    Nodes(BuildOfNodes),
    /// Builds from servers in the order of the system's configuration: a dialect.
    Servers(BuildOfServers),
}

/// Returns whether no other order of these servers changes a route, by a rule of the system.
pub type FreeOrder = fn(&[Server], &Params) -> bool;

/// The keys that a row routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyForm {
    /// Any bytes. A system may refuse some keys, such as the empty key.
    Bytes,
    /// Decimal numbers as text.
    Number,
    /// Flows: addresses, ports and protocol in this number of bytes.
    Flow(u8),
}

impl KeyForm {
    /// Returns key `i` of a series of distinct keys of this form, for tests and samples.
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
            // The factor is 4 times an odd number, so 2^32 numbers stay distinct modulo 2^64.
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

/// Saves and restores the table of a row that has one, for peers that share it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TableForm {
    /// The parameter that gives the number of cells.
    pub cells: &'static str,
    /// Returns the owner of each cell, in order.
    pub save: Save,
    /// Builds a router in which each node owns the cells with its name.
    pub restore: Restore,
}

/// Builds a router from nodes, parameters, and ranges of cells with the names of their owners.
pub type Restore =
    fn(Vec<Node>, &Params, &[(RangeInclusive<u32>, &str)]) -> Result<Box<dyn Router>, Error>;

impl TableForm {
    /// Makes the description of a table.
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
            writer: None,
            free: |_, _| false,
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
            writer: None,
            free: |_, _| false,
        }
    }

    /// Sets the parameters that it takes.
    #[must_use]
    pub const fn with_params(self, params: &'static [Param]) -> Self {
        Self { params, ..self }
    }

    /// Sets the form of the keys that it routes.
    #[must_use]
    pub const fn with_keys(self, keys: KeyForm) -> Self {
        Self { keys, ..self }
    }

    /// Sets the functions that save and restore its table.
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

    /// Sets the writer of the system's own configuration.
    #[must_use]
    pub const fn with_writer(self, writer: Option<ConfigWriter>) -> Self {
        Self { writer, ..self }
    }

    /// Sets the rule by which the order of the servers decides nothing. It is needed only where the
    /// table of the pool does not show it: if the hash has no identity, or there are no ranges.
    #[must_use]
    pub const fn with_free_order(self, free: FreeOrder) -> Self {
        Self { free, ..self }
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

    /// Returns the state that two processes must share to agree on every key.
    pub const fn agree(&self) -> Agree {
        match self.kind {
            Kind::Strategy(caps) => caps.agree,
            Kind::Dialect(_) => Agree::List,
        }
    }

    /// Returns whether the row is a dialect.
    pub const fn is_dialect(&self) -> bool {
        matches!(self.kind, Kind::Dialect(_))
    }

    /// Returns whether routes depend on the order of the members.
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
    /// [`Error::Parameter`] for an unknown parameter, for a value that cannot be used, and for a
    /// label in a strategy, which takes none; and the errors of the row's constructor.
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

    /// Converts servers into the nodes of a strategy.
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
    /// [`Error::Parameter`], which lists the parameters that the row takes.
    pub fn check(&self, params: &Params) -> Result<(), Error> {
        params.check(self.name, self.params)
    }

    /// Returns every parameter with its value or its default, in a canonical form: `0160` is `160`.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a parameter that this row does not take.
    pub fn values(&self, params: &Params) -> Result<BTreeMap<&'static str, String>, Error> {
        self.check(params)?;
        complete(self.params, params)
    }

    /// Returns whether no other order of these servers changes a route, by a rule of the system:
    /// twemproxy sorts its servers. `false` promises nothing: two orders may still have the same
    /// table.
    ///
    /// ```
    /// # #[cfg(feature = "compat")]
    /// # fn main() -> Result<(), hashroute::Error> {
    /// use hashroute::{Server, compat, registry::Params};
    /// let servers = ["b:1", "a:1"].map(Server::new);
    /// assert!(compat::find("twemproxy")?.has_free_order(&servers, &Params::default()));
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "compat"))]
    /// # fn main() {}
    /// ```
    pub fn has_free_order(&self, servers: &[Server], params: &Params) -> bool {
        !self.minds_order() || (self.free)(servers, params)
    }

    /// Returns whether the row can write the system's own configuration.
    pub const fn writes_config(&self) -> bool {
        self.writer.is_some()
    }

    /// Writes a setup of this row as the system's own configuration, with this name for the pool.
    /// The text is read back: it has the same servers and the same routes.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a row without a writer; [`Error::Parameter`] for a name, label or
    /// option that the configuration cannot state; those of [`read`](Self::read).
    ///
    /// ```
    /// # #[cfg(feature = "config")]
    /// # fn main() -> Result<(), hashroute::Error> {
    /// use hashroute::registry::{Params, Setup};
    /// use hashroute::compat;
    ///
    /// let nginx = compat::find("nginx")?;
    /// let setup = Setup::new(nginx, ["10.0.0.1:80", "10.0.0.2:80"], Params::default());
    /// let text = nginx.write(&setup, "cache")?;
    /// assert_eq!(nginx.read(&text)?[0].servers(), setup.servers());
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "config"))]
    /// # fn main() {}
    /// ```
    pub fn write(&'static self, setup: &Setup, pool: &str) -> Result<String, Error> {
        const NO_WRITER: Error = Error::Unsupported {
            what: Refusal::Other("this dialect has no writer for a configuration"),
            advice: "write its options and servers as the system asks for them",
        };
        const OTHER: Error = Error::Unsupported {
            what: Refusal::Other("the configuration cannot state this set-up"),
            advice: "change its names, labels or options",
        };
        let write = self.writer.ok_or(NO_WRITER)?;
        let text = write(setup, pool)?;
        // A text that means something else would send keys elsewhere without an error.
        let config = self.read(&text)?.into_iter().next().ok_or(OTHER)?;
        let read = config.setup()?;
        let same = read.servers() == setup.servers()
            && (self.values(read.params())? == self.values(setup.params())?
                || read.is_alike(setup)?);
        if same { Ok(text) } else { Err(OTHER) }
    }

    /// Returns whether the row can read the system's own configuration.
    pub const fn reads_config(&self) -> bool {
        self.reader.is_some()
    }

    /// Reads the system's own configuration and returns its pools in order.
    ///
    /// # Errors
    /// [`Error::Config`] with the line; [`Error::Unsupported`] for a row without a reader; the
    /// error of the first pool if no pool can be used.
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

/// Returns the row with this name.
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
