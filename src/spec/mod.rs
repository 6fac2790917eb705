//! Specs: everything that peers must share to send every key to the same node.
//!
//! A [`Spec`] is data. It builds the router, applies changes, and has one canonical form in bytes.
//! The hash of these bytes, the fingerprint, shows whether two peers agree. `docs/spec.md` describes
//! the format.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

mod file;
mod hash;
mod ranges;
mod same;
mod text;

use self::file::File;
use crate::registry::{Params, Scheme, Setup};
use crate::{Change, Error, KeyHasher, Limit, Node, Refusal, Router, Server};

/// Everything that peers must share, and an epoch that counts the changes.
///
/// For a strategy: its parameters, the key hash with its seed or key and tag, the nodes with weights
/// and locations, and, if the strategy needs it, the order of the nodes or the table of slots. For a
/// dialect: its options and its servers.
///
/// Every spec can be built: each constructor builds its router once. To read, build or change a
/// spec costs as much time and memory as the strategy's `new`, and has the same limits.
///
/// Two specs with the same [fingerprint](Self::fingerprint) have the same router. A spec **contains
/// the secret key** of a keyed hash, and so does its text; `Debug`, the canonical bytes and the
/// fingerprint do not reveal it.
///
/// ```
/// use hashroute::{Change, Node, Router, Spec, strategy::{self, Params}};
///
/// let nodes = ["a", "b", "c"].map(Node::new);
/// let mut spec = Spec::new(strategy::find("ring")?, nodes, &Params::default())?;
/// spec.apply(&Change::Add(Node::new("d")))?;
/// let text = spec.to_toml(); // to the peers
///
/// let theirs: Spec = text.parse()?;
/// assert_eq!((theirs.epoch(), theirs.fingerprint()), (1, spec.fingerprint()));
/// let (ours, theirs) = (spec.build()?, theirs.build()?);
/// assert_eq!(ours.route(b"user:42"), theirs.route(b"user:42"));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "File", into = "File")]
pub struct Spec {
    epoch: u64,
    /// Without the parameters that have their default value. The key hash of a strategy is always
    /// present.
    setup: Setup,
    /// All parameters of the row with their values, given or default.
    params: BTreeMap<&'static str, String>,
}

/// The version of the values: the same for every strategy and dialect until one of them changes.
const VALUES: u32 = 1;

impl Spec {
    /// The version of the format.
    pub const FORMAT: u32 = 1;

    /// The maximum epoch: the largest integer that every JSON parser reads exactly.
    pub const MAX_EPOCH: u64 = (1 << 53) - 1;

    /// The maximum size of a text, in bytes.
    pub const MAX_TEXT: usize = 64 << 20;

    /// Builds the spec of a row with these members, at epoch 0. The order of the members counts for
    /// `jump` and for dialects, which use the order of the system's configuration.
    ///
    /// # Errors
    /// Those of [`Scheme::build`]. [`Error::Parameter`] for a row that is not in
    /// [`schemes()`](crate::schemes), because readers of the text look the name up there.
    ///
    /// ```
    /// use hashroute::{Node, Spec, strategy::{self, Params}};
    /// let ring = strategy::find("ring")?;
    /// let specs = [["a", "b"], ["b", "a"]].map(|names| Spec::new(ring, names.map(Node::new), &Params::default()));
    /// let [one, other] = specs;
    /// assert_eq!(one?.fingerprint(), other?.fingerprint());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn new(
        scheme: &'static Scheme,
        members: impl IntoIterator<Item = impl Into<Server>>,
        params: &Params,
    ) -> Result<Self, Error> {
        Ok(Self::of_setup(Setup::new(scheme, members, params.clone()))?.0)
    }

    /// Builds the spec of a router that this strategy built with these parameters, in its present
    /// state: for hash slots, with the present table. The epoch is 0. Loads are not part of a spec.
    ///
    /// Checks that the router fits: exactly if it has [ranges](Router::ranges), else with 4,096
    /// keys. For a router that bounds loads, checks the preference lists, but not `load` and `cap`,
    /// which a router does not reveal.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the router has another strategy or other parameters, and for a
    /// dialect.
    ///
    /// ```
    /// use hashroute::{HashSlots, Node, Router, Spec, strategy::{self, Params}};
    /// let mut table = HashSlots::new(["a", "b"].map(Node::new))?;
    /// table.assign(0..100, "b")?;
    /// let spec = Spec::of(strategy::find("slots")?, &Params::default(), &table)?;
    /// assert_eq!(spec.build()?.ranges(), table.ranges());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn of(
        scheme: &'static Scheme,
        params: &Params,
        router: &dyn Router,
    ) -> Result<Self, Error> {
        const OTHER: Error = Error::Unsupported {
            what: Refusal::OtherRouter,
            advice: "give the strategy and the parameters that it was built with",
        };
        let spec = Self::captured(scheme, params, router)?;
        let ours = spec.build().map_err(|_| OTHER)?;
        if !same::alike(&*ours, router) {
            return Err(OTHER);
        }
        Ok(spec)
    }

    /// Builds the spec of a setup, at epoch 0, and its router. The build checks the setup.
    ///
    /// # Errors
    /// Those of [`Setup::build`].
    pub fn of_setup(setup: Setup) -> Result<(Self, Box<dyn Router>), Error> {
        let scheme = setup.scheme();
        let params = given(scheme, setup.params())?;
        let setup = setup.with_params(params)?;
        let router = setup.build()?;
        let spec = if scheme.is_dialect() {
            Self::normal(setup)?
        } else {
            Self::captured(setup.scheme(), setup.params(), &*router)?
        };
        Ok((spec, router))
    }

    /// Builds the spec from the present state of a router, with the hasher that it uses.
    fn captured(
        scheme: &'static Scheme,
        params: &Params,
        router: &dyn Router,
    ) -> Result<Self, Error> {
        let hasher = router.hash_id().hasher().cloned().unwrap_or_default();
        let params = params.clone().with_hasher(hasher);
        Self::normal(Setup::of_router(scheme, router, params)?)
    }

    /// Builds the spec of a setup in its normal form: no parameter that has its default value.
    fn normal(setup: Setup) -> Result<Self, Error> {
        let scheme = setup.scheme();
        if !crate::schemes().any(|row| core::ptr::eq(row, scheme)) {
            let expected = "a row of hashroute::schemes(): readers of the spec find it by name";
            return Err(Error::parameter("strategy", scheme.name, expected));
        }
        let params = given(scheme, setup.params())?;
        Ok(Self {
            epoch: 0,
            params: scheme.values(&params)?,
            setup: setup.with_params(params)?,
        })
    }

    /// Sets the epoch.
    ///
    /// # Errors
    /// [`Error::Capacity`] beyond [`MAX_EPOCH`](Self::MAX_EPOCH).
    pub fn with_epoch(self, epoch: u64) -> Result<Self, Error> {
        if epoch > Self::MAX_EPOCH {
            return Err(Error::Capacity {
                what: Limit::Epochs,
                wanted: epoch,
                limit: Self::MAX_EPOCH,
                advice: "epochs count changes, from 0",
            });
        }
        Ok(Self { epoch, ..self })
    }

    /// Returns the epoch, which grows by one with each change. It is not part of the fingerprint.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Returns the row of the registry: the strategy or the dialect.
    pub fn scheme(&self) -> &'static Scheme {
        self.setup.scheme()
    }

    /// Returns the name of the strategy or dialect.
    pub fn name(&self) -> &'static str {
        self.scheme().name
    }

    /// Returns the key hasher; `None` for a dialect, which hashes keys as its system does.
    pub fn hasher(&self) -> Option<KeyHasher> {
        (!self.scheme().is_dialect()).then(|| self.setup.params().hasher())
    }

    /// Returns everything that decides routes: the spec without its epoch.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Returns the nodes in the order of the spec; servers that are down have weight 0.
    pub fn nodes(&self) -> Vec<Node> {
        self.setup.nodes()
    }

    /// Returns the members as servers; those of a dialect have their label and whether they are
    /// down.
    pub fn servers(&self) -> &[Server] {
        self.setup.servers()
    }

    /// Returns the key hasher and the parameters that differ from their defaults, in the form that
    /// [`Scheme::build`] takes.
    ///
    /// ```
    /// # use hashroute::{Node, Spec, strategy::{self, Params}};
    /// let params = Params::default().with("points", "0160").with("labels", "drawn");
    /// let spec = Spec::new(strategy::find("ring")?, [Node::new("a")], &params)?;
    /// assert_eq!(spec.params(), Params::default().with_hasher(spec.params().hasher()));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn params(&self) -> Params {
        self.setup.params().clone()
    }

    /// Builds the router. Every process that builds it gets the same routes and preference lists.
    ///
    /// # Errors
    /// Those of [`Scheme::build`]. A spec fails only on a machine with narrower pointers than the
    /// one that made it.
    ///
    /// ```
    /// # use hashroute::{Node, Router, Spec, strategy::{self, Params}};
    /// let spec = Spec::new(strategy::find("ring")?, [Node::new("a")], &Params::default())?;
    /// assert_eq!(spec.build()?.route(b"user:42").map(Node::name), Some("a"));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn build(&self) -> Result<Box<dyn Router>, Error> {
        self.setup.build()
    }

    /// Returns a spec with the same nodes, servers and table, and with these parameters and this key
    /// hash. Parameters and hash that are not given get their defaults. Costs a build.
    ///
    /// # Errors
    /// Those of [`Scheme::build`]; [`Error::Parameter`] if the number of slots differs from the
    /// table's.
    ///
    /// ```
    /// # use hashroute::{Node, Spec, strategy::{self, Params}};
    /// let (ring, node) = (strategy::find("ring")?, [Node::new("a")]);
    /// let params = Params::default().with("points", "300");
    /// let spec = Spec::new(ring, node.clone(), &Params::default())?.with_params(&params)?;
    /// assert_eq!(spec.fingerprint(), Spec::new(ring, node, &params)?.fingerprint());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn with_params(&self, params: &Params) -> Result<Self, Error> {
        let setup = self.setup.clone().with_params(params.clone())?;
        let (spec, _) = Self::of_setup(setup)?;
        spec.with_epoch(self.epoch)
    }

    /// Applies a change, adds one to the epoch, and returns the changed router. Costs a build and a
    /// change.
    ///
    /// # Errors
    /// Those of the router; [`Error::Capacity`] after [`MAX_EPOCH`](Self::MAX_EPOCH). The spec is
    /// unchanged then.
    ///
    /// ```
    /// # use hashroute::{Change, Node, Router, Spec, strategy::{self, Params}};
    /// let mut spec = Spec::new(strategy::find("ring")?, [Node::new("a")], &Params::default())?;
    /// let router = spec.apply(&Change::Add(Node::new("b")))?;
    /// assert_eq!((spec.epoch(), router.nodes().len()), (1, 2));
    /// assert!(spec.apply(&Change::remove("c")).is_err());
    /// assert_eq!(spec.epoch(), 1);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn apply(&mut self, change: &Change) -> Result<Box<dyn Router>, Error> {
        let epoch = self.epoch.saturating_add(1);
        let mut setup = self.setup.clone();
        let router = setup.apply(change)?;
        *self = Self::normal(setup)?.with_epoch(epoch)?;
        Ok(router)
    }
}

/// Returns the key hash and the parameters that differ from their defaults. Defaults must go: some
/// dialects have one that their parser would refuse as a given value.
fn given(scheme: &Scheme, params: &Params) -> Result<Params, Error> {
    let values = scheme.values(params)?;
    let others = scheme.params.iter().filter_map(|param| {
        let value = values.get(param.name)?;
        (*value != param.default).then_some((param.name, value))
    });
    Ok(
        others.fold(params.without_values(), |params, (name, value)| {
            params.with(name, value.as_str())
        }),
    )
}
