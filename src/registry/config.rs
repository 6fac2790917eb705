//! The configuration files of real systems: the parts that determine routes.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Params, Scheme, Setup};
use crate::{Error, Router, Server};

/// One pool of a system's own configuration.
///
/// ```
/// # #[cfg(feature = "config")]
/// # fn main() -> Result<(), hashroute::Error> {
/// use hashroute::{Router, compat};
///
/// let text = "upstream cache {\n  hash $uri consistent;\n  server 10.0.0.1:80 weight=2;\n}\n";
/// let config = compat::find("nginx")?.read(text)?.remove(0);
/// assert_eq!((config.name(), config.unknown().len()), ("cache", 0));
/// assert!(config.build()?.route(b"/index.html").is_some());
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "config"))]
/// # fn main() {}
/// ```
#[derive(Clone, Debug)]
pub struct Config {
    pub(crate) scheme: &'static Scheme,
    pub(crate) name: Box<str>,
    pub(crate) servers: Vec<Server>,
    pub(crate) params: Params,
    pub(crate) unknown: Vec<Unknown>,
    /// What the system hashes of a request, if the file says so.
    pub(crate) key_source: Option<KeySource>,
    /// The reason why this pool cannot be read. Other pools of the file may be readable.
    pub(crate) error: Option<Error>,
}

/// A line of a configuration that may change routes in a way that the reader does not know.
///
/// ```
/// # #[cfg(feature = "config")]
/// # fn main() -> Result<(), hashroute::Error> {
/// let text = "upstream cache {\n  hash $uri;\n  server 10.0.0.1:80;\n  frobnicate on;\n}\n";
/// let config = hashroute::compat::find("nginx")?.read(text)?.remove(0);
/// let unknown = &config.unknown()[0];
/// assert_eq!((unknown.line, &*unknown.text), (4, "frobnicate"));
/// assert_eq!(unknown.message(), "unknown to hashroute, may change routes: frobnicate");
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "config"))]
/// # fn main() {}
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unknown {
    /// The line, from 1.
    pub line: usize,
    /// The directive, or a sentence about it.
    pub text: Box<str>,
    /// Whether the text is a sentence that says what may change routes.
    pub is_sentence: bool,
}

impl Unknown {
    /// Makes a directive that the reader does not know.
    pub fn directive(line: usize, text: impl Into<Box<str>>) -> Self {
        let text = text.into();
        Self {
            line,
            text,
            is_sentence: false,
        }
    }

    /// Makes a sentence about a line that the reader knows.
    pub fn sentence(line: usize, text: impl Into<Box<str>>) -> Self {
        let text = text.into();
        Self {
            line,
            text,
            is_sentence: true,
        }
    }

    /// Returns the text as a sentence, without the line.
    pub fn message(&self) -> String {
        if self.is_sentence {
            return self.text.as_ref().into();
        }
        format!("unknown to hashroute, may change routes: {}", self.text)
    }
}

/// The part of a request that a system hashes: what must be given here as the key.
///
/// Two pools with equal routes still send a request to different servers if they hash different parts of
/// it.
///
/// ```
/// # #[cfg(feature = "config")]
/// # fn main() -> Result<(), hashroute::Error> {
/// let text = "upstream cache {\n  hash $request_uri;\n  server 10.0.0.1:80;\n}\n";
/// let config = hashroute::compat::find("nginx")?.read(text)?.remove(0);
/// let source = config.key_source().expect("a hash directive");
/// assert_eq!((source.line, &*source.text), (2, "$request_uri"));
/// assert_eq!(&*source.key, "the path with the query, as sent");
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "config"))]
/// # fn main() {}
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeySource {
    /// The line, from 1.
    pub line: usize,
    /// The part in the words of the system, in one form for one meaning: `hdr(host)`, `$request_uri`.
    pub text: Box<str>,
    /// The key to give, in words: "the path without the query".
    pub key: Box<str>,
}

impl KeySource {
    /// Makes a part of a request from its words in the configuration and the key to give.
    pub fn new(line: usize, text: impl Into<Box<str>>, key: impl Into<Box<str>>) -> Self {
        Self {
            line,
            text: text.into(),
            key: key.into(),
        }
    }

    /// Returns whether both are the same part of a request. The lines do not count, and two systems may
    /// have different words for one part.
    pub fn is_same(&self, other: &Self) -> bool {
        self.text == other.text || self.key == other.key
    }
}

impl Config {
    /// Makes a pool from its parts.
    pub fn new(scheme: &'static Scheme, name: &str, servers: Vec<Server>, params: Params) -> Self {
        Self {
            scheme,
            name: name.into(),
            servers,
            params,
            unknown: Vec::new(),
            key_source: None,
            error: None,
        }
    }

    /// Sets the unknown directives.
    #[must_use]
    pub fn with_unknown(self, unknown: Vec<Unknown>) -> Self {
        Self { unknown, ..self }
    }

    /// Sets what the system hashes of a request.
    #[must_use]
    pub fn with_key_source(self, key_source: impl Into<Option<KeySource>>) -> Self {
        Self {
            key_source: key_source.into(),
            ..self
        }
    }

    /// Makes a pool that cannot be read, although other pools of its file may be readable.
    pub fn failed(scheme: &'static Scheme, name: &str, error: Error) -> Self {
        Self {
            scheme,
            name: name.into(),
            servers: Vec::new(),
            params: Params::default(),
            unknown: Vec::new(),
            key_source: None,
            error: Some(error),
        }
    }

    /// Returns the dialect of the file.
    pub fn scheme(&self) -> &'static Scheme {
        self.scheme
    }

    /// Returns the name of the pool in the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the servers, in order.
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// Returns the options as parameters of the dialect.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Returns the unknown directives.
    pub fn unknown(&self) -> &[Unknown] {
        &self.unknown
    }

    /// Returns what the system hashes of a request; `None` if the file does not say it, or if the system
    /// hashes keys as they are.
    pub fn key_source(&self) -> Option<&KeySource> {
        self.key_source.as_ref()
    }

    /// Returns the reason why this pool cannot be read. It has no servers then.
    pub fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }

    /// Returns the pool as a setup.
    ///
    /// # Errors
    /// The error of [`error`](Self::error).
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
    /// The error of [`error`](Self::error), and those of [`Scheme::build`].
    pub fn build(&self) -> Result<Box<dyn Router>, Error> {
        self.setup()?.build()
    }
}

/// Reads the configuration of a row's system from the row itself and the text.
pub type ConfigReader = fn(&'static Scheme, &str) -> Result<Vec<Config>, Error>;

/// Writes a setup as the configuration of its system, with the name of the pool.
pub type ConfigWriter = fn(&Setup, &str) -> Result<alloc::string::String, Error>;
