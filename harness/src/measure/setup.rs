//! What keys were routed with: counts of different set-ups cannot be added.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{Xxh3, xxh3_64_with_seed};

use super::assignment::assign;
use super::shares::exact_shares;
use crate::keys::Keys;
use crate::text::hash_name;
use hashroute::{Error, HashId, HashRanges, KeyHasher, Node, Router};

/// How keys were routed, in words and by the routes of some keys: all that a report says of it,
/// and enough to tell two apart. It holds no secret: of a hash's key, only what it does.
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
///     "node = \"c=1\" cannot be used: expected \"b=1\", as in the counts that these are added to"
/// );
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct CountSetup {
    /// The name of the strategy or dialect.
    pub strategy: String,
    /// The key hash's name.
    pub hash: String,
    /// The two bytes of its hash tag, as ASCII; none for what hashes whole keys, or in a way of
    /// its own.
    pub tag: Option<String>,
    /// The nodes, in order of name.
    pub nodes: Vec<Node>,
    /// The exact share of each node, where the router gives them.
    pub shares: Option<Vec<f64>>,
    /// A hash over the nodes of a thousand fixed keys, and over the ranges, where there are any:
    /// parameters, seeds, tags and tables show in it.
    pub routes: String,
}

/// How many plain keys are routed to tell set-ups apart, …
const PLAIN: u64 = 400;
/// … and how many that hold each byte, and each that prints, for dialects that take no others.
const MIXED: u64 = 300;

/// The keys that are routed to tell set-ups apart. The mixed ones have every byte twice, in an
/// order of their own, so between the first of any and the next of any other lies another tag in
/// each.
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
    /// How `router` routes; `strategy` is a name for the reader.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a router that keeps loads: where a key goes depends on those
    /// before it, so counts of parts do not add up to those of the whole.
    ///
    /// ```
    /// # use hashroute::{Node, Ring};
    /// # use hashroute_harness::stream::CountSetup;
    /// assert_eq!(CountSetup::new("ring", &Ring::new([Node::new("a")])?)?.hash, "xxh3");
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn new(strategy: &str, router: &dyn Router) -> Result<Self, Error> {
        if router.loads().is_some() {
            let expected = "one that keeps no loads: with them a key goes where those before it \
                            leave room, and counts of parts do not add up to those of the whole";
            return Err(Error::parameter("strategy", strategy, expected));
        }
        let mut digest = Xxh3::new();
        for key in &probes()? {
            let node = assign(router, key).and_then(|id| router.nodes().name(id));
            digest.update(node.unwrap_or_default().as_bytes());
            digest.update(b"\0");
        }
        // What hardly any key tells: cells that were swapped, seeds of systems that hash no text.
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

    /// Of a router that may keep loads: its counts are never added to others.
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

    /// That the other is the same.
    ///
    /// # Errors
    /// [`Error::Parameter`] that says what differs.
    ///
    /// ```
    /// # use hashroute::{Node, Ring};
    /// # use hashroute_harness::stream::CountSetup;
    /// let [few, many] = [10, 160].map(|points| Ring::with_points(["a", "b"].map(Node::new), points));
    /// assert!(CountSetup::new("ring", &few?)?.check(&CountSetup::new("ring", &many?)?).is_err());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn check(&self, other: &Self) -> Result<(), Error> {
        let differ = |what: &str, here: &str, there: &str| {
            let expected = format!("{here:?}, as in the counts that these are added to");
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

/// A node in words, and where it stands when that matters.
fn shown(node: &Node, placed: bool) -> String {
    let (name, weight) = (node.name(), node.weight());
    if !placed {
        return format!("{name}={weight}");
    }
    let [zone, rack] = [node.zone(), node.rack()].map(|part| part.unwrap_or("none"));
    format!("{name}={weight}, zone {zone}, rack {rack}")
}
