//! The configuration files of real systems, as far as they decide routes.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::{Params, Scheme, Setup};
use crate::{Error, Router, Server};

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
    pub(crate) scheme: &'static Scheme,
    pub(crate) name: Box<str>,
    pub(crate) servers: Vec<Server>,
    pub(crate) params: Params,
    pub(crate) unknown: Vec<Unknown>,
    /// Why the pool cannot be read: the others of its file can be, all the same.
    pub(crate) error: Option<Error>,
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
#[non_exhaustive]
pub struct Unknown {
    /// The line, from 1.
    pub line: usize,
    /// The directive.
    pub text: Box<str>,
}

impl Config {
    /// Describes a pool that was read.
    pub fn new(scheme: &'static Scheme, name: &str, servers: Vec<Server>, params: Params) -> Self {
        Self {
            scheme,
            name: name.into(),
            servers,
            params,
            unknown: Vec::new(),
            error: None,
        }
    }

    /// Adds what its reader does not know.
    #[must_use]
    pub fn with_unknown(self, unknown: Vec<Unknown>) -> Self {
        Self { unknown, ..self }
    }

    /// Describes a pool that cannot be read, though others of its file can be.
    pub fn failed(scheme: &'static Scheme, name: &str, error: Error) -> Self {
        Self {
            scheme,
            name: name.into(),
            servers: Vec::new(),
            params: Params::default(),
            unknown: Vec::new(),
            error: Some(error),
        }
    }

    /// Returns the dialect whose system's file it is.
    pub fn scheme(&self) -> &'static Scheme {
        self.scheme
    }

    /// Returns the pool's name in the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the servers, in order.
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// Returns the options, as the dialect takes them.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Returns what the file says and the reader does not know.
    pub fn unknown(&self) -> &[Unknown] {
        &self.unknown
    }

    /// Returns why this pool cannot be read, where the rest of its file can be; it has no servers
    /// then.
    pub fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }

    /// Returns the pool as a setup.
    ///
    /// # Errors
    /// What [`error`](Self::error) has.
    pub fn setup(&self) -> Result<Setup, Error> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        let servers = self.servers.iter().cloned();
        Ok(Setup::new(self.scheme, servers, self.params.clone()))
    }

    /// Builds the router.
    ///
    /// # Errors
    /// What [`error`](Self::error) has, and as [`Scheme::build`].
    pub fn build(&self) -> Result<Box<dyn Router>, Error> {
        self.setup()?.build()
    }
}

/// How a row reads its system's configuration: the row itself, and the text.
pub type ConfigReader = fn(&'static Scheme, &str) -> Result<Vec<Config>, Error>;
