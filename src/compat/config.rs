//! The configuration files of real systems, as far as they decide routes.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Dialect, Pool, Server};
use crate::Error;
use crate::strategy::Params;

/// One pool of a system's own configuration.
///
/// ```
/// use hashroute::{Router, compat};
///
/// let text = "upstream cache {\n  hash $uri consistent;\n  server 10.0.0.1:80 weight=2;\n}\n";
/// let config = compat::find("nginx")?.read(text)?.remove(0);
/// assert_eq!((config.name(), config.unknown().len()), ("cache", 0));
/// assert!(config.build()?.route(b"/index.html").is_some());
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Config {
    pub(super) dialect: &'static Dialect,
    pub(super) name: Box<str>,
    pub(super) servers: Vec<Server>,
    pub(super) params: Params,
    pub(super) unknown: Vec<Unknown>,
    /// Why the pool cannot be read: the others of its file can be, all the same.
    pub(super) error: Option<Error>,
}

/// Something in a configuration that its reader does not know: it may or may not change routes.
///
/// ```
/// use hashroute::compat;
/// let text = "upstream cache {\n  hash $uri;\n  frobnicate on;\n  server 10.0.0.1:80;\n}\n";
/// let config = compat::find("nginx")?.read(text)?.remove(0);
/// assert_eq!((config.unknown()[0].line, &*config.unknown()[0].text), (3, "frobnicate"));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// The line, from 1.
    pub line: usize,
    /// The directive.
    pub text: Box<str>,
}

impl Config {
    /// A pool that cannot be read.
    pub(super) fn failed(dialect: &'static Dialect, name: &str, error: Error) -> Self {
        Self {
            dialect,
            name: name.into(),
            servers: Vec::new(),
            params: Params::default(),
            unknown: Vec::new(),
            error: Some(error),
        }
    }

    /// The dialect whose system's file it is.
    ///
    /// ```
    /// # use hashroute::compat;
    /// let text = "upstream cache { hash $uri; server 10.0.0.1:80; }";
    /// assert_eq!(compat::find("nginx")?.read(text)?[0].dialect().name, "nginx");
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn dialect(&self) -> &'static Dialect {
        self.dialect
    }

    /// The pool's name in the file.
    ///
    /// ```
    /// # use hashroute::compat;
    /// let text = "upstream cache { hash $uri; server 10.0.0.1:80; }";
    /// assert_eq!(compat::find("nginx")?.read(text)?[0].name(), "cache");
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The servers, in order.
    ///
    /// ```
    /// # use hashroute::compat;
    /// let text = "upstream cache { hash $uri; server 10.0.0.1:80; }";
    /// assert_eq!(compat::find("nginx")?.read(text)?[0].servers().len(), 1);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// The options, as the dialect's [`params`](Dialect::params).
    ///
    /// ```
    /// # use hashroute::{compat, strategy::Params};
    /// let text = "upstream cache { hash $uri; server 10.0.0.1:80; }";
    /// let config = compat::find("nginx")?.read(text)?.remove(0);
    /// assert_eq!(config.params(), &Params::default().with("method", "hash"));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// What the file says that the reader does not know.
    ///
    /// ```
    /// # use hashroute::compat;
    /// let text = "upstream cache { hash $uri; keepalive 8; server 10.0.0.1:80; }";
    /// assert!(compat::find("nginx")?.read(text)?[0].unknown().is_empty());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn unknown(&self) -> &[Unknown] {
        &self.unknown
    }

    /// Why this pool cannot be read, where the rest of its file can be; it has no servers then.
    ///
    /// ```
    /// # use hashroute::compat;
    /// let text = "upstream cache { hash $uri; server 10.0.0.1:80; }";
    /// assert_eq!(compat::find("nginx")?.read(text)?[0].error(), None);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }

    /// The pool.
    ///
    /// # Errors
    /// What [`error`](Self::error) has, and as [`Dialect::build`].
    ///
    /// ```
    /// # use hashroute::{Router, compat};
    /// let text = "upstream cache { hash $uri; server 10.0.0.1:80; }";
    /// assert_eq!(compat::find("nginx")?.read(text)?[0].build()?.nodes().len(), 1);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn build(&self) -> Result<Pool, Error> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        self.dialect
            .build(self.servers.iter().cloned(), &self.params)
    }
}

impl Dialect {
    /// The pools of a configuration file of this system, in its order. One that cannot be read
    /// beside others that can has its [`error`](Config::error).
    ///
    /// # Errors
    /// [`Error::Config`] with the line of what is wrong or decides routes in a way that is not
    /// known here, for the whole file or its only pools; [`Error::Unsupported`] for a system without a configuration of its own.
    ///
    /// ```
    /// # use hashroute::compat;
    /// let error = compat::find("nginx")?.read("upstream cache {\n  hash $uri\n}").unwrap_err();
    /// assert!(error.to_string().starts_with("line 3"), "{error}");
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn read(&'static self, text: &str) -> Result<Vec<Config>, Error> {
        match self.config {
            Some(read) => {
                let configs = read(self, text)?;
                match configs.first().and_then(Config::error) {
                    Some(error) if configs.iter().all(|config| config.error.is_some()) => {
                        Err(error.clone())
                    }
                    _ => Ok(configs),
                }
            }
            None => Err(Error::Unsupported {
                what: "this system has no configuration file that is read here",
                advice: "give its servers and options",
            }),
        }
    }
}

/// How a [`Dialect`] reads its system's configuration.
///
/// ```
/// # use hashroute::compat::{self, ConfigReader};
/// let read: Option<ConfigReader> = compat::find("nginx")?.config;
/// assert!(read.is_some());
/// # Ok::<(), hashroute::Error>(())
/// ```
pub type ConfigReader = fn(&'static Dialect, &str) -> Result<Vec<Config>, Error>;

/// An error on a line of a configuration.
pub(super) fn wrong(line: usize, reason: impl Into<String>) -> Error {
    Error::Config {
        line,
        reason: reason.into(),
    }
}

/// The error of a value that is not what it should be.
pub(super) fn expected(line: usize, what: &str, value: &str, expected: &str) -> Error {
    wrong(line, format!("{what} {value:?}: expected {expected}"))
}
