//! Specs: the whole of what peers must share to send every key to the same node.
//!
//! A [`Spec`] is data. It builds the router, takes changes, and has one defined form in bytes whose
//! hash, the fingerprint, says whether two peers agree. `docs/spec.md` has the format.

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

/// What peers must share: the strategy with its parameters, the key hash with its seed or key and
/// tag, the nodes with weights and locations, their order or the table of slots where the strategy
/// needs it; or a dialect with its options and servers. And an epoch, which counts the changes.
///
/// A spec that exists can be built: each constructor builds it once. Reading, building and
/// applying cost what the strategy's `new` costs, its limits of memory included.
///
/// The routers of two specs are the same when the [fingerprints](Self::fingerprint) are. A spec
/// **holds the secret key** of a keyed hash, in its text as well; `Debug`, the canonical bytes and
/// the fingerprint do not tell it.
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
    /// Its parameters are those that are not the defaults, its key hash is always there where the
    /// row is a strategy.
    setup: Setup,
    /// Each that the row takes, whether it was given or not.
    params: BTreeMap<&'static str, String>,
}

/// The version of the values, of every strategy and dialect alike until one of them changes.
const VALUES: u32 = 1;

impl Spec {
    /// The version of the format.
    ///
    /// ```
    /// assert_eq!(hashroute::Spec::FORMAT, 1);
    /// ```
    pub const FORMAT: u32 = 1;

    /// The last epoch: the largest number that every reader of JSON holds exactly.
    ///
    /// ```
    /// assert_eq!(hashroute::Spec::MAX_EPOCH, (1 << 53) - 1);
    /// ```
    pub const MAX_EPOCH: u64 = (1 << 53) - 1;

    /// The longest text that is read, in bytes.
    ///
    /// ```
    /// assert_eq!(hashroute::Spec::MAX_TEXT, 64 << 20);
    /// ```
    pub const MAX_TEXT: usize = 64 << 20;

    /// Makes the spec of a row over these members, at epoch 0. Their order counts where the row says
    /// so: jump, and the dialects, whose members stand in the order of the system's configuration.
    ///
    /// # Errors
    /// As [`Scheme::build`]. [`Error::Parameter`] for a row that is none of
    /// [`schemes()`](crate::schemes): its readers find it there, by name.
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

    /// The spec of a router that this strategy built with these parameters, whatever was changed
    /// since: of hash slots, the table as it is now. At epoch 0; loads are not part of it.
    ///
    /// Whether it is of these is checked: exactly where both have [ranges](Router::ranges), by
    /// 4,096 keys where they have none. Of a router that bounds loads the order of preference is
    /// checked, and not `load` and `cap`, which it does not tell.
    ///
    /// # Errors
    /// [`Error::Unsupported`] when the router is of another strategy or of other parameters, and for a
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
            advice: "give those that it was built with",
        };
        let spec = Self::captured(scheme, params, router)?;
        let ours = spec.build().map_err(|_| OTHER)?;
        if !same::alike(&*ours, router) {
            return Err(OTHER);
        }
        Ok(spec)
    }

    /// Makes the spec of a setup, at epoch 0, and builds its router, which shows that it is right.
    ///
    /// # Errors
    /// As [`Setup::build`].
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

    /// What of a router decides its routes.
    fn captured(
        scheme: &'static Scheme,
        params: &Params,
        router: &dyn Router,
    ) -> Result<Self, Error> {
        let hasher = router.hash_id().hasher().cloned().unwrap_or_default();
        let params = params.clone().with_hasher(hasher);
        Self::normal(Setup::of_router(scheme, router, params)?)
    }

    /// A setup in its one form.
    fn normal(setup: Setup) -> Result<Self, Error> {
        let scheme = setup.scheme();
        if !crate::schemes().any(|row| core::ptr::eq(row, scheme)) {
            let expected =
                "a row of hashroute::schemes(), where readers of the spec find it by name";
            return Err(Error::parameter("strategy", scheme.name, expected));
        }
        let params = given(scheme, setup.params())?;
        Ok(Self {
            epoch: 0,
            params: scheme.values(&params)?,
            setup: setup.with_params(params)?,
        })
    }

    /// The same at this epoch.
    ///
    /// # Errors
    /// [`Error::Capacity`] beyond [`MAX_EPOCH`](Self::MAX_EPOCH).
    ///
    /// ```
    /// # use hashroute::{Node, Spec, strategy::{self, Params}};
    /// let spec = Spec::new(strategy::find("ring")?, [Node::new("a")], &Params::default())?;
    /// assert_eq!(spec.with_epoch(7)?.epoch(), 7);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
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

    /// The epoch: the number of the state, one more after each change. Not part of the
    /// fingerprint.
    ///
    /// ```
    /// # use hashroute::{Node, Spec, strategy::{self, Params}};
    /// let spec = Spec::new(strategy::find("ring")?, [Node::new("a")], &Params::default())?;
    /// assert_eq!(spec.epoch(), 0);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Returns the row: the strategy, or the dialect.
    pub fn scheme(&self) -> &'static Scheme {
        self.setup.scheme()
    }

    /// Returns the name of the strategy or dialect.
    pub fn name(&self) -> &'static str {
        self.scheme().name
    }

    /// Returns how keys are hashed; `None` for a dialect, whose system has a way of its own.
    pub fn hasher(&self) -> Option<KeyHasher> {
        (!self.scheme().is_dialect()).then(|| self.setup.params().hasher())
    }

    /// Returns all that decides routes, without the epoch.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Returns the nodes in the order of the spec; servers that are down have weight 0.
    ///
    /// ```
    /// # use hashroute::{Node, Spec, registry::Params, strategy};
    /// let spec = Spec::new(strategy::find("ring")?, ["b", "a"], &Params::default())?;
    /// assert_eq!(spec.nodes(), ["a", "b"].map(Node::new));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn nodes(&self) -> Vec<Node> {
        self.setup.nodes()
    }

    /// Returns the members as servers, with label and state where it is a dialect's.
    pub fn servers(&self) -> &[Server] {
        self.setup.servers()
    }

    /// The key hasher and those parameters that are not the defaults, as
    /// [`Scheme::build`] takes them.
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

    /// The router: the same routes and preference lists in every process that builds it.
    ///
    /// # Errors
    /// As [`Scheme::build`]; of a spec that exists, none but those of a
    /// machine with narrower pointers.
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

    /// The same nodes, servers and table with other parameters and another key hash: of both,
    /// those that are not given are the defaults. Costs a build.
    ///
    /// # Errors
    /// As [`Scheme::build`]; [`Error::Parameter`] for another number of slots
    /// than those of the table.
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

    /// Make one change, wholly or not at all; the epoch is one more then. Gives the router after
    /// it, so that spec and router are in step. Costs a build and a change.
    ///
    /// # Errors
    /// What the router refuses; [`Error::Capacity`] after [`MAX_EPOCH`](Self::MAX_EPOCH). Nothing
    /// has changed then.
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

/// The key hash and those parameters that are not the defaults: some dialects have a default that
/// cannot be written.
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
