//! The file of a spec: TOML or JSON, with the same fields.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::str::FromStr;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::hash::Hash;
use super::ranges::Ranges;
use super::text::{Values, Word};
use super::{Spec, VALUES, same};
#[cfg(feature = "compat")]
use crate::compat;
use crate::registry::{Params, Scheme, Setup};
use crate::{Error, Limit, Node, Router, Server, strategy};

/// The fields, in the order in which they are written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    format: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    epoch: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    strategy: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dialect: Option<String>,
    values: u32,
    #[serde(default)]
    params: Values,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hash: Option<Hash>,
    #[serde(default)]
    node: Vec<Row>,
}

/// A node or a server.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: Box<str>,
    #[serde(default = "one")]
    weight: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    zone: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rack: Option<Box<str>>,
    /// The text that a system hashes instead of the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    label: Option<Box<str>>,
    /// Whether the system knows the server but sends it no keys, whatever its weight.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    down: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    slots: Option<Ranges>,
}

fn one() -> u32 {
    1
}

impl Spec {
    /// Reads a spec as [`parse`](str::parse) does, and returns it with its router. Reading builds
    /// the router, so this saves a second [build](Self::build).
    ///
    /// # Errors
    /// Those of `parse`.
    ///
    /// ```
    /// # use hashroute::{Node, Router, Spec};
    /// let text = "format = 1\nvalues = 1\nstrategy = \"ring\"\nnode = [{ name = \"a\" }]\n";
    /// let (spec, router) = Spec::read(text)?;
    /// assert_eq!(spec.nodes().len(), router.nodes().len());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn read(text: &str) -> Result<(Self, Box<dyn Router>), Error> {
        if text.len() > Self::MAX_TEXT {
            return Err(Error::Capacity {
                what: Limit::SpecBytes,
                wanted: text.len() as u64,
                limit: Self::MAX_TEXT as u64,
                advice: "use fewer nodes, or a table with fewer ranges",
            });
        }
        let text = text.trim_start_matches('\u{feff}');
        // The format first: in another format, the fields have another meaning.
        check_format(read::<Head>(text)?.format)?;
        read::<File>(text)?.build()
    }

    /// Writes the spec as TOML, which [`parse`](str::parse) reads. It contains the secret key of a
    /// keyed hash.
    ///
    /// ```
    /// # use hashroute::{Node, Spec, strategy::{self, Params}};
    /// let spec = Spec::new(strategy::find("rendezvous")?, [Node::new("a")], &Params::default())?;
    /// assert!(spec.to_toml().ends_with("[[node]]\nname = \"a\"\nweight = 1\n"));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn to_toml(&self) -> String {
        toml::to_string(&File::from(self)).expect("texts and small numbers")
    }

    /// Writes the spec as JSON with the same fields, which [`parse`](str::parse) reads. It contains
    /// the secret key of a keyed hash.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(&File::from(self)).expect("texts and small numbers")
    }

    /// Returns the canonical form of the spec: JSON in the form of RFC 8785, without the epoch.
    ///
    /// Nodes of weight 0 are left out, because they own nothing. The secret key is replaced by its
    /// hash of the empty key. A dialect keeps all its servers, because some systems look at servers
    /// that are down. They are sorted by name if their order decides nothing: if the system sorts
    /// them, or if in order of name they have the same table. To find out, two routers are built.
    ///
    /// ```
    /// # use hashroute::{Node, Spec, strategy::{self, Params}};
    /// let spec = Spec::new(strategy::find("rendezvous")?, [Node::new("a")], &Params::default())?;
    /// assert_eq!(
    ///     spec.canonical(),
    ///     r#"{"format":1,"hash":{"function":"xxh3","seed":"0"},"node":[{"name":"a","weight":1}],"params":{},"strategy":"rendezvous","values":1}"#
    /// );
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn canonical(&self) -> String {
        let mut file = File::from(self);
        file.epoch = None;
        file.hash = self.hasher().as_ref().map(Hash::veiled);
        if file.strategy.is_some() {
            file.node.retain(|row| row.weight > 0);
        } else if same::has_free_order(&self.setup) {
            file.node.sort_by(|a, b| a.name.cmp(&b.name));
        }
        serde_json_canonicalizer::to_string(&file).expect("texts and small numbers")
    }

    /// Returns the XXH3 hash (64 bits, seed 0) of the [canonical](Self::canonical) bytes. Peers
    /// with the same fingerprint send every key to the same nodes. Linear in the spec of a strategy;
    /// for a dialect, two builds.
    ///
    /// ```
    /// # use hashroute::{Node, Spec, strategy::{self, Params}};
    /// let spec = Spec::new(strategy::find("rendezvous")?, [Node::new("a")], &Params::default())?;
    /// assert_eq!(format!("{:016x}", spec.fingerprint()), "ef7d8c6442e5e7da");
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn fingerprint(&self) -> u64 {
        xxh3_64(self.canonical().as_bytes())
    }
}

/// Reads TOML, or JSON when the first character is `{`.
///
/// # Errors
/// [`Error::Config`] with the line of an unknown, missing or malformed field; [`Error::Parameter`]
/// for an unknown format, version of the values, strategy or parameter; [`Error::Capacity`] beyond
/// [`Spec::MAX_TEXT`]; those of the strategy.
///
/// ```
/// use hashroute::Spec;
///
/// let head = "format = 1\nvalues = 1\nstrategy = \"ring\"\n";
/// let spec: Spec = format!("{head}[[node]]\nname = \"a\"\n").parse()?;
/// assert_eq!(spec.nodes().len(), 1);
/// let error = format!("{head}colour = 7\n").parse::<Spec>().unwrap_err();
/// assert!(error.to_string().starts_with("line 4: unknown field `colour`"), "{error}");
/// # Ok::<(), hashroute::Error>(())
/// ```
impl FromStr for Spec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Ok(Self::read(text)?.0)
    }
}

/// The field that decides how the other fields are read.
#[derive(Deserialize)]
struct Head {
    format: u32,
}

fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Error> {
    let config = |line, message: &str| Error::Config {
        line,
        reason: in_words(message),
    };
    if text.trim_start().starts_with('{') {
        return serde_json::from_str(text).map_err(|error| {
            let message = error.to_string();
            let (message, _) = message.rsplit_once(" at line").unwrap_or((&message, ""));
            config(error.line(), message)
        });
    }
    toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        let before = text.get(..start).unwrap_or_default();
        config(before.split('\n').count(), error.message())
    })
}

/// Replaces the names of Rust types in a parser's message by words that users understand.
fn in_words(message: &str) -> String {
    message
        .replace("expected u32", "expected a whole number below 2^32")
        .replace("expected u64", "expected a whole number below 2^53")
        .replace("struct Row", "a node with a name")
        .replace("struct Hash", "a function with its seed or key")
        .replace("struct File", "a spec")
        .replace("struct Head", "a spec")
}

fn check_format(format: u32) -> Result<(), Error> {
    if format == Spec::FORMAT {
        return Ok(());
    }
    let expected = format!("{}, the only one known here", Spec::FORMAT);
    Err(Error::parameter("format", format, expected))
}

impl From<&Spec> for File {
    fn from(spec: &Spec) -> Self {
        let params = spec.params.iter();
        let params = params.map(|(name, value)| ((*name).to_owned(), Word(value.clone())));
        let scheme = spec.scheme();
        let name = Some(scheme.name.to_owned());
        let (strategy, dialect) = if scheme.is_dialect() {
            (None, name)
        } else {
            (name, None)
        };
        let mut node: Vec<_> = spec.servers().iter().map(Row::from).collect();
        for (row, cells) in node.iter_mut().zip(spec.setup.table().unwrap_or_default()) {
            row.slots = Some(Ranges::from(cells.clone()));
        }
        Self {
            format: Spec::FORMAT,
            epoch: Some(spec.epoch),
            strategy,
            dialect,
            values: VALUES,
            params: Values(params.collect()),
            hash: spec.hasher().as_ref().map(Hash::from),
            node,
        }
    }
}

impl From<Spec> for File {
    fn from(spec: Spec) -> Self {
        Self::from(&spec)
    }
}

impl From<&Node> for Row {
    fn from(node: &Node) -> Self {
        Self {
            name: node.name().into(),
            weight: node.weight(),
            zone: node.zone().map(Into::into),
            rack: node.rack().map(Into::into),
            label: None,
            down: false,
            slots: None,
        }
    }
}

impl From<&Server> for Row {
    fn from(server: &Server) -> Self {
        Self {
            weight: server.weight(),
            label: server.own_label().map(Into::into),
            down: server.is_down() && server.weight() > 0,
            ..Self::from(&server.to_node())
        }
    }
}

impl TryFrom<File> for Spec {
    type Error = Error;

    fn try_from(file: File) -> Result<Self, Error> {
        Ok(file.build()?.0)
    }
}

impl File {
    fn build(self) -> Result<(Spec, Box<dyn Router>), Error> {
        check_format(self.format)?;
        if self.values != VALUES {
            let expected = format!("{VALUES}, the only ones known here");
            return Err(Error::parameter("values", self.values, expected));
        }
        let epoch = self.epoch.unwrap_or(0);
        let (spec, router) = match (&self.strategy, &self.dialect) {
            (Some(name), None) => spec_of(strategy::find(name)?, self)?,
            #[cfg(feature = "compat")]
            (None, Some(name)) => spec_of(compat::find(name)?, self)?,
            #[cfg(not(feature = "compat"))]
            (None, Some(name)) => {
                let expected = "a strategy: this build has no dialects (feature compat)";
                return Err(Error::parameter("dialect", name, expected));
            }
            (Some(name), Some(_)) => {
                return Err(Error::parameter(
                    "strategy",
                    name,
                    "either a strategy or a dialect, not both",
                ));
            }
            (None, None) => {
                return Err(Error::parameter("strategy", "", "a strategy or a dialect"));
            }
        };
        Ok((spec.with_epoch(epoch)?, router))
    }

    fn params(&self) -> Params {
        let params = self.params.0.iter();
        params.fold(Params::default(), |params, (name, value)| {
            params.with(name.as_str(), value.0.as_str())
        })
    }
}

fn spec_of(scheme: &'static Scheme, file: File) -> Result<(Spec, Box<dyn Router>), Error> {
    let mut params = file.params();
    scheme.check(&params)?;
    check_fields(scheme, &file)?;
    if let Some(hash) = &file.hash {
        params = params.with_hasher(hash.hasher()?);
    }
    let slots = file.node.iter().map(|row| row.slots.clone());
    let table: Vec<Vec<_>> = slots
        .map(|slots| slots.unwrap_or_default().into())
        .collect();
    let setup = Setup::new(scheme, file.node.into_iter().map(Server::from), params);
    Spec::of_setup(match scheme.table {
        Some(_) => setup.with_table(table),
        None => setup,
    })
}

/// Refuses a field that has no meaning for the row: it is a mistake of the writer.
fn check_fields(scheme: &Scheme, file: &File) -> Result<(), Error> {
    let refused = |field, value: &str| {
        let expected = if scheme.is_dialect() {
            format!("no such field: the dialect {} has none", scheme.name)
        } else {
            format!("no such field: nodes of {} have none", scheme.name)
        };
        Err(Error::parameter(field, value, expected))
    };
    if let (Some(hash), true) = (&file.hash, scheme.is_dialect()) {
        return refused("hash", &hash.function);
    }
    for row in &file.node {
        if let (Some(label), false) = (&row.label, scheme.is_dialect()) {
            return refused("label", label);
        }
        if row.down && !scheme.is_dialect() {
            return refused("down", "true");
        }
        if let (Some(slots), None) = (&row.slots, scheme.table) {
            return refused("slots", &slots.to_string());
        }
    }
    let missing = file.node.iter().all(|row| row.slots.is_none());
    if scheme.table.is_some() && missing && file.node.iter().any(|row| row.weight > 0) {
        let expected = "the slots that each node owns, such as 0-8191";
        return Err(Error::parameter("slots", "", expected));
    }
    Ok(())
}

impl From<Row> for Node {
    fn from(row: Row) -> Self {
        let node = Self::new(row.name).with_weight(row.weight);
        node.located(row.zone, row.rack)
    }
}

impl From<Row> for Server {
    fn from(mut row: Row) -> Self {
        let (label, down) = (row.label.take(), row.down);
        let mut server = Self::from(Node::from(row));
        if let Some(label) = label {
            server = server.with_label(label);
        }
        if down { server.down() } else { server }
    }
}
