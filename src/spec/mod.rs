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
use self::ranges::Ranges;
#[cfg(feature = "compat")]
use crate::compat::{Dialect, Server};
use crate::strategy::{Agree, Param, Params, Strategy};
use crate::{Change, Error, HashSlots, KeyHash, KeyHasher, Node, NodeId, Router};

/// What peers must share: the strategy with its parameters, the key hash with its seed or key and
/// tag, the nodes with weights and places, their order or the table of slots where the strategy
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
    way: Way,
    /// Each that the strategy or dialect takes, whether it was given or not.
    params: BTreeMap<&'static str, String>,
}

/// What routes, and over what.
#[derive(Clone, Debug)]
enum Way {
    Strategy {
        strategy: &'static Strategy,
        hasher: KeyHasher,
        /// In order of name, or of their numbers where the strategy has some.
        nodes: Vec<Node>,
        /// For each node, where the strategy has a table.
        slots: Option<Vec<Ranges>>,
    },
    #[cfg(feature = "compat")]
    Dialect {
        dialect: &'static Dialect,
        servers: Vec<Server>,
    },
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

    /// The spec of a strategy over these nodes, at epoch 0. The order of the nodes counts where
    /// the strategy says that it does (jump).
    ///
    /// # Errors
    /// As [`Strategy::build`].
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
        strategy: &'static Strategy,
        nodes: impl IntoIterator<Item = Node>,
        params: &Params,
    ) -> Result<Self, Error> {
        let router = strategy.build(nodes, params)?;
        Self::capture(strategy, params, &*router)
    }

    /// The spec of a router that this strategy built with these parameters, whatever was changed
    /// since: of hash slots, the table as it is now. At epoch 0; loads are not part of it.
    ///
    /// Whether it is of these is checked: exactly where both have [ranges](Router::ranges), by
    /// 4,096 keys where they have none. Of a router that bounds loads the order of preference is
    /// checked, and not `load` and `cap`, which it does not tell.
    ///
    /// # Errors
    /// [`Error::Unsupported`] when the router is of another strategy or of other parameters.
    ///
    /// ```
    /// use hashroute::{HashSlots, Node, Router, Spec, strategy::{self, Params}};
    /// let mut table = HashSlots::new(["a", "b"].map(Node::new))?;
    /// table.assign(0..100, "b")?;
    /// let spec = Spec::of(strategy::find("slots")?, &Params::default(), &table)?;
    /// assert_eq!(spec.build()?.shares(), table.shares());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn of(
        strategy: &'static Strategy,
        params: &Params,
        router: &dyn Router,
    ) -> Result<Self, Error> {
        const OTHER: Error = Error::Unsupported {
            what: "the router is not of this strategy with these parameters",
            advice: "give those that it was built with",
        };
        let spec = Self::capture(strategy, params, router)?;
        let ours = spec.build().map_err(|_| OTHER)?;
        if !same::alike(&*ours, router) {
            return Err(OTHER);
        }
        Ok(spec)
    }

    /// The spec of a dialect over these servers, in the order of the system's configuration, at
    /// epoch 0.
    ///
    /// # Errors
    /// As [`Dialect::build`].
    ///
    /// ```
    /// use hashroute::{Spec, compat::{self, Server}, strategy::Params};
    /// let servers = [Server::new("10.0.0.1:80"), Server::new("10.0.0.2:80").down()];
    /// let spec = Spec::of_dialect(compat::find("nginx")?, servers, &Params::default())?;
    /// assert_eq!((spec.name(), spec.servers().len()), ("nginx", 2));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    #[cfg(feature = "compat")]
    pub fn of_dialect<S: Into<Server>>(
        dialect: &'static Dialect,
        servers: impl IntoIterator<Item = S>,
        params: &Params,
    ) -> Result<Self, Error> {
        let pool = dialect.build(servers, params)?;
        Ok(Self {
            epoch: 0,
            params: text::complete(dialect.params, params)?,
            way: Way::Dialect {
                dialect,
                servers: pool.servers().cloned().collect(),
            },
        })
    }

    /// What of a router decides its routes.
    fn capture(
        strategy: &'static Strategy,
        params: &Params,
        router: &dyn Router,
    ) -> Result<Self, Error> {
        let mut members: Vec<(NodeId, &Node)> = router.nodes().iter().collect();
        let slots = match strategy.caps.agree {
            Agree::Set | Agree::Load => None,
            Agree::Count => {
                members.sort_by_key(|(id, _)| *id);
                None
            }
            Agree::Table => {
                let count = params.get("slots", HashSlots::DEFAULT_SLOTS)?;
                // Slot i is where the hash i goes.
                let owner = |slot: u32| router.route_hash(KeyHash::from_raw(slot.into()));
                let ids = members.iter().map(|(id, _)| *id);
                Some(ranges::of_owners(ids, (0..count).map(owner)))
            }
            Agree::History => {
                return Err(Error::Unsupported {
                    what: "a spec has no history of changes yet",
                    advice: "take a strategy whose peers share a set, a count or a table",
                });
            }
        };
        Ok(Self {
            epoch: 0,
            params: text::complete(strategy.params, params)?,
            way: Way::Strategy {
                strategy,
                hasher: router.hasher().cloned().unwrap_or_default(),
                nodes: members.into_iter().map(|(_, node)| node.clone()).collect(),
                slots,
            },
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
                what: "epochs",
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

    /// The name of the strategy or dialect.
    ///
    /// ```
    /// # use hashroute::{Node, Spec, strategy::{self, Params}};
    /// let spec = Spec::new(strategy::find("jump")?, [Node::new("a")], &Params::default())?;
    /// assert_eq!(spec.name(), "jump");
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn name(&self) -> &'static str {
        match &self.way {
            Way::Strategy { strategy, .. } => strategy.name,
            #[cfg(feature = "compat")]
            Way::Dialect { dialect, .. } => dialect.name,
        }
    }

    /// The strategy; `None` for a dialect.
    ///
    /// ```
    /// # use hashroute::{Node, Spec, strategy::{self, Params}};
    /// let spec = Spec::new(strategy::find("jump")?, [Node::new("a")], &Params::default())?;
    /// assert!(spec.strategy().is_some());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn strategy(&self) -> Option<&'static Strategy> {
        match &self.way {
            Way::Strategy { strategy, .. } => Some(strategy),
            #[cfg(feature = "compat")]
            Way::Dialect { .. } => None,
        }
    }

    /// How keys are hashed; `None` for a dialect, whose system has a way of its own.
    ///
    /// ```
    /// # use hashroute::{KeyHasher, Node, Spec, strategy::{self, Params}};
    /// let spec = Spec::new(strategy::find("ring")?, [Node::new("a")], &Params::default())?;
    /// assert_eq!(spec.hasher(), Some(&KeyHasher::default()));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn hasher(&self) -> Option<&KeyHasher> {
        match &self.way {
            Way::Strategy { hasher, .. } => Some(hasher),
            #[cfg(feature = "compat")]
            Way::Dialect { .. } => None,
        }
    }

    /// The nodes in the order of the spec; servers that are down have weight 0.
    ///
    /// ```
    /// # use hashroute::{Node, Spec, strategy::{self, Params}};
    /// let spec = Spec::new(strategy::find("ring")?, ["b", "a"].map(Node::new), &Params::default())?;
    /// assert_eq!(spec.nodes(), ["a", "b"].map(Node::new));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn nodes(&self) -> Vec<Node> {
        match &self.way {
            Way::Strategy { nodes, .. } => nodes.clone(),
            #[cfg(feature = "compat")]
            Way::Dialect { servers, .. } => servers.iter().map(Server::to_node).collect(),
        }
    }

    /// The servers of a dialect; none for a strategy.
    ///
    /// ```
    /// # use hashroute::{Node, Spec, strategy::{self, Params}};
    /// let spec = Spec::new(strategy::find("ring")?, [Node::new("a")], &Params::default())?;
    /// assert!(spec.servers().is_empty());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    #[cfg(feature = "compat")]
    pub fn servers(&self) -> &[Server] {
        match &self.way {
            Way::Strategy { .. } => &[],
            Way::Dialect { servers, .. } => servers,
        }
    }

    /// The key hasher and those parameters that are not the defaults, as
    /// [`Strategy::build`] takes them.
    ///
    /// ```
    /// # use hashroute::{Node, Spec, strategy::{self, Params}};
    /// let params = Params::default().with("points", "0160").with("labels", "drawn");
    /// let spec = Spec::new(strategy::find("ring")?, [Node::new("a")], &params)?;
    /// assert_eq!(spec.params(), Params::default().with_hasher(spec.params().hasher()));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn params(&self) -> Params {
        let mut params = Params::default();
        if let Some(hasher) = self.hasher() {
            params = params.with_hasher(hasher.clone());
        }
        // A default is what comes without: of some dialects there is no word for it.
        let given = self.taken().iter().filter_map(|param| {
            let value = self.params.get(param.name)?;
            (*value != param.default).then_some((param.name, value))
        });
        given.fold(params, |params, (name, value)| {
            params.with(name, value.as_str())
        })
    }

    fn taken(&self) -> &'static [Param] {
        match &self.way {
            Way::Strategy { strategy, .. } => strategy.params,
            #[cfg(feature = "compat")]
            Way::Dialect { dialect, .. } => dialect.params,
        }
    }

    /// The router: the same routes and preference lists in every process that builds it.
    ///
    /// # Errors
    /// As [`Strategy::build`], or as the dialect's; of a spec that exists, none but those of a
    /// machine with narrower pointers.
    ///
    /// ```
    /// # use hashroute::{Node, Router, Spec, strategy::{self, Params}};
    /// let spec = Spec::new(strategy::find("ring")?, [Node::new("a")], &Params::default())?;
    /// assert_eq!(spec.build()?.route(b"user:42").map(Node::name), Some("a"));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn build(&self) -> Result<Box<dyn Router>, Error> {
        let params = self.params();
        match &self.way {
            Way::Strategy {
                nodes,
                slots: Some(slots),
                ..
            } => {
                let count = params.get("slots", HashSlots::DEFAULT_SLOTS)?;
                let ranges = nodes.iter().zip(slots).flat_map(|(node, slots)| {
                    let ranges = slots.iter().cloned();
                    ranges.map(|range| (range, node.name()))
                });
                let table = HashSlots::from_ranges(nodes.iter().cloned(), count, ranges)?;
                Ok(Box::new(table.with_hasher(params.hasher())))
            }
            Way::Strategy {
                strategy, nodes, ..
            } => strategy.build(nodes.iter().cloned(), &params),
            #[cfg(feature = "compat")]
            Way::Dialect { dialect, servers } => {
                Ok(Box::new(dialect.build(servers.iter().cloned(), &params)?))
            }
        }
    }

    /// The same nodes, servers and table with other parameters and another key hash: of both,
    /// those that are not given are the defaults. Costs a build.
    ///
    /// # Errors
    /// As [`Strategy::build`], or as the dialect's; [`Error::Parameter`] for another number of slots
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
        params.check(self.name(), self.taken())?;
        let mut spec = Self {
            params: text::complete(self.taken(), params)?,
            ..self.clone()
        };
        if let Way::Strategy {
            strategy,
            hasher,
            slots,
            ..
        } = &mut spec.way
        {
            let count = "slots";
            if slots.is_some() && spec.params.get(count) != self.params.get(count) {
                let expected = "as many as before: the table says whose each of them is";
                let given = spec.params.remove(count).unwrap_or_default();
                return Err(Error::parameter(count, given, expected));
            }
            *hasher = hasher_of(strategy, params)?;
        }
        Ok(spec.built()?.0)
    }

    /// In its one form, with the router that shows that it is right.
    fn built(self) -> Result<(Self, Box<dyn Router>), Error> {
        let router = self.build()?;
        let spec = match &self.way {
            Way::Strategy { strategy, .. } => {
                Self::capture(strategy, &self.params(), &*router)?.with_epoch(self.epoch)?
            }
            #[cfg(feature = "compat")]
            Way::Dialect { .. } => self,
        };
        Ok((spec, router))
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
        let (spec, router): (Self, Box<dyn Router>) = match &self.way {
            Way::Strategy { strategy, .. } => {
                let mut router = self.build()?;
                router.apply(change)?;
                (Self::capture(strategy, &self.params(), &*router)?, router)
            }
            #[cfg(feature = "compat")]
            Way::Dialect { dialect, servers } => {
                let mut pool = dialect.build(servers.iter().cloned(), &self.params())?;
                pool.apply(change)?;
                let servers = pool.servers().cloned().collect();
                let spec = Self {
                    way: Way::Dialect { dialect, servers },
                    ..self.clone()
                };
                (spec, Box::new(pool))
            }
        };
        *self = spec.with_epoch(epoch)?;
        Ok(router)
    }
}

/// The key hash of these parameters, or the strategy's own: that of the tutorial's ring is MD5.
fn hasher_of(strategy: &Strategy, params: &Params) -> Result<KeyHasher, Error> {
    let router = strategy.build([], params)?;
    Ok(router.hasher().cloned().unwrap_or_default())
}
