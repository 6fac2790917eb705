//! Jump consistent hash: for numbered shards, computed without a table.
//!
//! Lamping and Veach, "A Fast, Minimal Memory, Consistent Hash Algorithm" (2014),
//! arXiv:1406.2294. The order of its floating-point operations and their rounding are part of the
//! function: exact arithmetic or 32-bit floats give other buckets.
//!
//! | lookup | memory | change |
//! |---|---|---|
//! | O(ln n), about ln n + 0.58 steps | 0 | O(1); only the last node may leave |
//!
//! Peers must share the number of nodes and their numbering: first the order of the list, then the
//! order of joining.

use alloc::boxed::Box;
use alloc::string::String;

mod batch;

use crate::registry::{Agree, Caps, Leave, Param, Scheme, Weights};
use crate::{Change, Error, Explanation, HashId, KeyHash, KeyHasher, Node, NodeId, Nodes, Router};

pub(super) const STRATEGY: Scheme = Scheme::strategy(
    "jump",
    "jump consistent hash: no memory, even shares, only the last node may leave",
    Caps::SET
        .with_weights(Weights::One)
        .with_leave(Leave::Last)
        .with_agree(Agree::Count),
    |nodes, params| {
        let jump = match params.get("variant", String::from("reference"))?.as_str() {
            "reference" => Jump::new(nodes)?,
            "guava" => Jump::guava(nodes)?,
            other => return Err(Error::parameter("variant", other, "reference or guava")),
        };
        Ok(Box::new(jump.with_hasher(params.hasher())))
    },
)
.with_params(&[Param::new(
    "variant",
    "reference",
    "reference, or guava for Guava's consistentHash",
)]);

/// Returns the bucket of a key by the reference function; `None` for 0 buckets.
///
/// The keys should be spread over all 64 bits, because the function does not mix small or
/// sequential numbers. Pass those through [`KeyHash::from_integer`] first. O(ln n) expected steps.
///
/// ```
/// use hashroute::strategy::jump_hash;
///
/// assert_eq!(jump_hash(256, 10), Some(3));
/// assert_eq!(jump_hash(256, 0), None);
/// ```
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "a bucket is below `buckets`"
)]
pub fn jump_hash(key: u64, buckets: u32) -> Option<u32> {
    let mut state = key;
    let mut bucket = None;
    let mut next = 0;
    // The paper's loop: jump from bucket to bucket, and keep the last one before `buckets`.
    while next < u64::from(buckets) {
        bucket = Some(next as u32);
        state = step(state);
        next = product(
            next as u32,
            (1_u64 << 31) as f64 / ((state >> 33) + 1) as f64,
        );
    }
    bucket
}

/// Returns `(bucket + 1) * factor` with the rounding of doubles, truncated, for a factor from 1 to
/// 2^31. A result of 2^32 or more means only that it is that large.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "splits the product into halves"
)]
fn product(bucket: u32, factor: f64) -> u64 {
    // Each step waits for the product of the previous step. Integers multiply in a third of the
    // time that doubles take with the conversions there and back.
    let bits = factor.to_bits();
    // The factor is fraction * 2^exponent, with a fraction from 1/2 to below 1.
    let exponent = ((bits >> 52) as u32).wrapping_sub(1022); // 1 to 32
    let fraction = bits << 11 | 1 << 63; // 2^64 times the fraction, with the implicit bit
    let scaled = (u64::from(bucket) + 1).wrapping_shl(exponent);
    let product = u128::from(scaled) * u128::from(fraction);
    // Doubles round to 53 bits, which can reach the next whole number. Below 2^32 that moves the
    // product by at most half of 2^-21, so only the last 2^-22 before a whole number need doubles:
    // one step in four million.
    if product as u64 >= u64::MAX << 42 {
        return rounded(bucket, factor);
    }
    (product >> 64) as u64
}

#[cold]
#[inline(never)] // inlined, the compiler would compute it in every step
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "below 2^63, and never negative"
)]
fn rounded(bucket: u32, factor: f64) -> u64 {
    ((f64::from(bucket) + 1.0) * factor) as u64
}

/// Returns the bucket of a key by Guava's `Hashing.consistentHash(long, int)`; `None` for 0
/// buckets.
///
/// It differs from the reference function in two ways. It rounds once and not twice. And it stops
/// early when a draw of 31 ones overflows, once in 2^31 steps.
///
/// ```
/// use hashroute::strategy::{jump_hash, jump_hash_guava};
///
/// let key = 17_068_571_456_203_592_619;
/// assert_eq!((jump_hash(key, 10), jump_hash_guava(key, 10)), (Some(3), Some(0)));
/// ```
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "casts as in Java")]
pub fn jump_hash_guava(key: u64, buckets: u32) -> Option<u32> {
    let mut state = key;
    let mut bucket = 0;
    if buckets == 0 {
        return None;
    }
    loop {
        state = step(state);
        // Java's int arithmetic: + 1 wraps to -2^31, and the cast of a double saturates.
        let draw = f64::from(((state >> 33) as i32).wrapping_add(1)) / (1_u64 << 31) as f64;
        let next = (f64::from(bucket + 1) / draw) as i32;
        match u32::try_from(next) {
            Ok(next) if next < buckets && next > bucket => bucket = next,
            _ => return Some(bucket),
        }
    }
}

/// Returns the next state of the paper's 64-bit linear congruential generator.
#[inline]
fn step(state: u64) -> u64 {
    state
        .wrapping_mul(2_862_933_555_777_941_757)
        .wrapping_add(1)
}

/// Jump consistent hash over named nodes, for sharding: bucket i is node i.
///
/// All nodes have weight 1. Only the last node may leave, because the function knows a count and no
/// names: removing a node from the middle would renumber the nodes after it. For nodes that can
/// fail, use [`Rendezvous`](crate::Rendezvous) or [`Ring`](crate::Ring).
///
/// ```
/// use hashroute::{Change, Error, Jump, Node, Router};
///
/// let mut shards = Jump::new(["shard-0", "shard-1", "shard-2"].map(Node::new))?;
/// let error = shards.apply(&Change::remove("shard-0")).unwrap_err();
/// assert_eq!(error, Error::NotLast { name: "shard-0".into(), last: "shard-2".into() });
/// shards.apply(&Change::remove("shard-2"))?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Jump {
    nodes: Nodes,
    hasher: KeyHasher,
    guava: bool,
}

impl Jump {
    /// Builds a router over these nodes, numbered in the order given.
    ///
    /// # Errors
    /// The errors of [`Nodes::new`]; [`Error::Weight`] if a node does not have weight 1.
    ///
    /// ```
    /// # use hashroute::{Jump, Node};
    /// assert!(Jump::new([Node::new("a").with_weight(2)]).is_err());
    /// ```
    pub fn new(nodes: impl IntoIterator<Item = impl Into<Node>>) -> Result<Self, Error> {
        let nodes = Nodes::new(nodes)?;
        nodes
            .iter()
            .try_for_each(|(_, node)| weighs_one(node.name(), node.weight()))?;
        Ok(Self {
            nodes,
            hasher: KeyHasher::default(),
            guava: false,
        })
    }

    /// Builds a router with Guava's variant of the function.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new).
    ///
    /// ```
    /// # use hashroute::{Jump, KeyHash, Router};
    /// let shards = Jump::guava((0..10).map(|i| format!("shard-{i}")))?;
    /// let owner = shards.route_hash(KeyHash::from_raw(17_068_571_456_203_592_619)).expect("a member");
    /// assert_eq!(shards.nodes().name(owner), Some("shard-0"));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn guava(nodes: impl IntoIterator<Item = impl Into<Node>>) -> Result<Self, Error> {
        Ok(Self {
            guava: true,
            ..Self::new(nodes)?
        })
    }

    /// Sets the hash function for keys.
    #[must_use]
    pub fn with_hasher(mut self, hasher: KeyHasher) -> Self {
        self.hasher = hasher;
        self
    }

    fn last(&self) -> Option<NodeId> {
        NodeId::from_index(self.nodes.len().checked_sub(1)?)
    }
}

fn weighs_one(name: &str, weight: u32) -> Result<(), Error> {
    if weight == 1 {
        return Ok(());
    }
    Err(Error::Weight {
        name: name.into(),
        weight,
        expected: "1, since jump gives every node the same share",
    })
}

impl Router for Jump {
    fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    #[expect(clippy::inline_always, reason = "a call costs a third of the hash")]
    #[inline(always)]
    fn hash_key(&self, key: &[u8]) -> Option<KeyHash> {
        self.hasher.spread_some(key)
    }

    fn hash_id(&self) -> HashId {
        HashId::Spread(self.hasher.clone())
    }

    #[inline]
    fn route_hash(&self, key: KeyHash) -> Option<NodeId> {
        let buckets = u32::try_from(self.nodes.len()).ok()?;
        let function = if self.guava {
            jump_hash_guava
        } else {
            jump_hash
        };
        NodeId::from_index(function(key.get(), buckets)? as usize)
    }

    fn route_batch(&self, keys: &[KeyHash], out: &mut [Option<NodeId>]) {
        let len = keys.len().min(out.len());
        let (keys, out) = (&keys[..len], &mut out[..len]);
        let buckets = u32::try_from(self.nodes.len()).unwrap_or(0);
        if self.guava || buckets == 0 {
            for (owner, key) in out.iter_mut().zip(keys) {
                *owner = self.route_hash(*key);
            }
        } else {
            batch::route(keys, buckets, out);
        }
    }

    fn apply(&mut self, change: &Change) -> Result<(), Error> {
        self.nodes.check(change)?;
        match change {
            Change::Add(node) => weighs_one(node.name(), node.weight())?,
            Change::Reweight(name, weight) => weighs_one(name, *weight)?,
            Change::Remove(name) if self.nodes.id(name) != self.last() => {
                let last = self.last().and_then(|id| self.nodes.name(id));
                let last = last.unwrap_or_default().into();
                return Err(Error::NotLast {
                    name: name.clone(),
                    last,
                });
            }
            Change::Remove(_) => {}
        }
        self.nodes.apply(change).map(drop)
    }

    fn explain(&self, key: KeyHash) -> Explanation {
        let bucket = self.route_hash(key).map(|id| {
            let text = alloc::format!("{} of {}", id.index(), self.nodes.len());
            ("bucket", text)
        });
        bucket.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_equal_known_values() {
        let known = [
            (0, 1000, 0),
            (1, 10, 6),
            (42, 10, 2),
            (256, 10, 3),
            (0xdead_beef, 10, 5),
            (u64::MAX, 10, 9),
        ];
        for (key, buckets, bucket) in known {
            assert_eq!(jump_hash(key, buckets), Some(bucket), "{key}");
        }
    }

    /// Computes the function exactly as the paper prints it.
    #[expect(clippy::cast_possible_truncation, reason = "casts as in the paper")]
    fn textbook(key: u64, buckets: u32) -> u32 {
        let (mut state, mut bucket, mut next) = (key, -1, 0);
        while next < i64::from(buckets) {
            bucket = next;
            state = step(state);
            let factor = (1_i64 << 31) as f64 / ((state >> 33) + 1) as f64;
            next = ((bucket + 1) as f64 * factor) as i64;
        }
        u32::try_from(bucket).expect("a bucket")
    }

    #[test]
    fn buckets_equal_those_of_the_paper() {
        let counts = [1, 2, 7, 1000, 65_537, u32::MAX >> 1, 1 << 31, u32::MAX];
        for i in 0..20_000 {
            for buckets in counts {
                let key = crate::hash::mix64(i);
                let expected = Some(textbook(key, buckets));
                assert_eq!(jump_hash(key, buckets), expected, "{key} of {buckets}");
            }
        }
    }

    /// Random keys almost never give a product that rounding carries to the next whole number, so
    /// the test constructs such products.
    #[test]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "casts as in the paper"
    )]
    fn products_are_rounded_as_doubles_are() {
        let (mut carried, mut compared) = (0, 0);
        for i in 0..200_000_u64 {
            let bucket = (crate::hash::mix64(i) >> (32 + i % 32)) as u32 % u32::MAX;
            let times = u64::from(bucket) + 1;
            let goal = times + crate::hash::mix64(!i) % (1 << 32);
            // These draws give the products nearest to a whole number.
            let nearest = (times << 31) / goal;
            for draw in nearest.saturating_sub(1)..=nearest + 1 {
                let draw = draw.clamp(1, 1 << 31);
                let factor = (1_u64 << 31) as f64 / draw as f64;
                let expected = (times as f64 * factor) as u64;
                let exact = (u128::from(times) << 31) / u128::from(draw);
                carried += u32::from(u128::from(expected) != exact);
                compared += 1;
                let product = product(bucket, factor);
                assert_eq!(
                    product.min(1 << 32),
                    expected.min(1 << 32),
                    "{bucket} by {factor}"
                );
            }
        }
        assert!(carried > 0, "rounding carried none of {compared} products");
    }

    #[test]
    fn the_reference_and_guava_differ_for_known_keys() {
        assert_eq!(jump_hash(7_036_915_148_532_262_134, 1000), Some(70));
        assert_eq!(jump_hash_guava(7_036_915_148_532_262_134, 1000), Some(2));
        // Exact arithmetic would give ...033.
        assert_eq!(
            jump_hash(8_816_847_853_880_984_676, 2_147_483_647),
            Some(747_800_034)
        );
    }
}
