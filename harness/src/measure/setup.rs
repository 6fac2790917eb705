//! How keys were routed. Counts of different setups cannot be added.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{Xxh3, xxh3_64_with_seed};

use super::assignment::assign;
use super::shares::exact_shares;
use crate::keys::Keys;
use crate::summary::{Census, IdSecret};
use crate::text::hash_name;
use hashroute::{Error, HashId, HashRanges, KeyHash, KeyHasher, Node, Router};

/// How keys were routed: the facts that a report names, and a hash of the routes of some keys,
/// which tells two setups apart. It holds no secret: the key of a keyed hash shows only in the
/// routes.
///
/// ```
/// use hashroute::{Node, Ring};
/// use hashroute_harness::stream::CountSetup;
///
/// let ring = |names: &[&str]| Ring::new(names.iter().map(|name| Node::new(*name)));
/// let setup = CountSetup::new("ring", &ring(&["a", "b"])?)?;
/// assert!(setup.check(&CountSetup::new("ring", &ring(&["b", "a"])?)?).is_ok());
/// let error = setup.check(&CountSetup::new("ring", &ring(&["a", "c"])?)?).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "node = \"c=1\" cannot be used: expected \"b=1\", as in the counts to add to"
/// );
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct CountSetup {
    /// The name of the strategy or dialect.
    pub strategy: String,
    /// The name of the key hash.
    pub hash: String,
    /// The two bytes of its hash tag, as ASCII; `None` if whole keys are hashed, or if the system
    /// hashes in its own way.
    pub tag: Option<String>,
    /// The nodes, in order of name.
    pub nodes: Vec<Node>,
    /// The exact share of each node, if the router has them.
    pub shares: Option<Vec<f64>>,
    /// A hash of the owners of a thousand fixed keys, and of the ranges if there are any. It
    /// depends on parameters, seeds, tags and tables.
    pub routes: String,
}

/// The number of plain keys that are routed to tell setups apart.
const PLAIN: u64 = 400;
/// The number of keys that hold every byte, and of keys that hold every printable byte: some
/// dialects refuse other bytes.
const MIXED: u64 = 300;

/// Returns the keys that are routed to tell setups apart. A mixed key holds every byte twice, in an
/// order of its own. So for any pair of tag bytes, the part between them differs from key to key.
fn probes() -> Result<Keys, Error> {
    let mut probes = Keys::template("{i}", 0..PLAIN)?;
    for bytes in [0..=u8::MAX, b'!'..=b'~'] {
        for number in 0..MIXED {
            let mut key: Vec<_> = bytes.clone().collect();
            key.sort_by_cached_key(|byte| xxh3_64_with_seed(&[*byte], number));
            probes.push(&key.repeat(2));
        }
    }
    Ok(probes)
}

impl CountSetup {
    /// Describes how `router` routes; `strategy` is a name for the reader.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a router that keeps loads: the owner of a key then depends on
    /// earlier keys, so counts of parts do not add up to the count of the whole.
    pub fn new(strategy: &str, router: &dyn Router) -> Result<Self, Error> {
        if router.loads().is_some() {
            let expected = "one that keeps no loads: with loads, the owner of a key depends on earlier \
                            keys, and counts of parts do not add up to the count of the whole";
            return Err(Error::parameter("strategy", strategy, expected));
        }
        let mut digest = Xxh3::new();
        for key in &probes()? {
            let node = assign(router, key).and_then(|id| router.nodes().name(id));
            digest.update(node.unwrap_or_default().as_bytes());
            digest.update(b"\0");
        }
        // The probes may miss two swapped cells of a table, or the seed of a system that hashes no
        // text keys, so the hash and the ranges count as well.
        if let HashId::System(hash) = router.hash_id() {
            digest.update(format!("{hash:?}").as_bytes());
        }
        let ranges = router.ranges();
        for range in ranges.iter().flat_map(HashRanges::iter) {
            let owner = range.owner.and_then(|id| router.nodes().name(id));
            digest.update(&range.first.to_le_bytes());
            digest.update(owner.unwrap_or_default().as_bytes());
            digest.update(b"\0");
        }
        Ok(Self {
            routes: format!("{:016x}", digest.digest()),
            ..Self::in_order(strategy, router)
        })
    }

    /// Describes a router that may keep loads. Its counts are never added to others.
    pub(super) fn in_order(strategy: &str, router: &dyn Router) -> Self {
        let nodes: Vec<_> = router
            .nodes()
            .iter()
            .map(|(_, node)| node.clone())
            .collect();
        let tag = router.hash_id().hasher().and_then(KeyHasher::tag);
        Self {
            strategy: strategy.to_owned(),
            hash: hash_name(router).to_owned(),
            tag: tag.map(|tag| tag.pair().escape_ascii().to_string()),
            shares: exact_shares(router, &nodes),
            nodes,
            routes: String::new(),
        }
    }

    /// Checks that another setup is the same.
    ///
    /// # Errors
    /// [`Error::Parameter`] that names what differs.
    pub fn check(&self, other: &Self) -> Result<(), Error> {
        let differ = |what: &str, here: &str, there: &str| {
            let expected = format!("{here:?}, as in the counts to add to");
            Err(Error::parameter(what, there, expected))
        };
        if self.strategy != other.strategy {
            return differ("strategy", &self.strategy, &other.strategy);
        }
        if self.hash != other.hash {
            return differ("hash", &self.hash, &other.hash);
        }
        if self.tag != other.tag {
            let [here, there] = [self, other].map(|setup| setup.tag.as_deref().unwrap_or("none"));
            return differ("hash-tag", here, there);
        }
        let mut pairs = self.nodes.iter().zip(&other.nodes);
        let pair = pairs.find(|(here, there)| here != there);
        if let Some((here, there)) = pair {
            let placed = here.zone() != there.zone() || here.rack() != there.rack();
            let [here, there] = [here, there].map(|node| shown(node, placed));
            return differ("node", &here, &there);
        }
        let [here, there] = [self, other].map(|setup| format!("{}", setup.nodes.len()));
        if here != there {
            return differ("number of nodes", &here, &there);
        }
        if self != other {
            return differ(
                "hash of the routes (parameters, seed, tag)",
                &self.routes,
                &other.routes,
            );
        }
        Ok(())
    }
}

/// Writes a node, with its location if that matters.
fn shown(node: &Node, placed: bool) -> String {
    let (name, weight) = (node.name(), node.weight());
    if !placed {
        return format!("{name}={weight}");
    }
    let [zone, rack] = [node.zone(), node.rack()].map(|part| part.unwrap_or("none"));
    format!("{name}={weight}, zone {zone}, rack {rack}")
}

/// Returns the secret of the ids of keys that this router places. It follows from the names and
/// weights of the nodes and from the router's key hash, so parts that are counted apart can be
/// merged, and the same input gives the same report. If the key hash has a secret key, nobody
/// without that key knows the ids.
pub(crate) fn id_secret(router: &dyn Router) -> IdSecret {
    let mut bytes = Vec::new();
    for (_, node) in router.nodes() {
        bytes.extend_from_slice(&(node.name().len() as u64).to_le_bytes());
        bytes.extend_from_slice(node.name().as_bytes());
        bytes.extend_from_slice(&node.weight().to_le_bytes());
    }
    // Two hashes of 64 bits with a secret key are worth the 128 bits of an id's secret.
    for probe in [b"ids of keys, 1", b"ids of keys, 2"] {
        let hash = router.hash_id().hash(probe).map(KeyHash::get);
        bytes.extend_from_slice(&hash.unwrap_or_default().to_le_bytes());
    }
    IdSecret::of(&bytes)
}

/// Refuses to add counts of keys with ids of another secret.
pub(crate) fn check_ids(census: &Census, other: &Census) -> Result<(), Error> {
    if census.secret() == other.secret() {
        return Ok(());
    }
    let expected = "those of the counts to add to: of the same nodes, with the same key hash";
    Err(Error::parameter("ids", "of other counts", expected))
}
