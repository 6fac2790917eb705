//! Gathers the evidence of keys beyond memory.

use super::evidence::Evidence;
use crate::keys::{Consumer, Keys};
use hashroute::Router;

/// Gathers [`Evidence`] of a stream of keys, on any number of threads.
///
/// Memory: one [`Evidence`] for each thread.
///
/// ```
/// use hashroute_harness::skew::Gatherer;
/// use hashroute_harness::stream::{KeySource, Reading, read};
/// use hashroute::{Node, Rendezvous};
///
/// let router = Rendezvous::new(["a", "b"].map(Node::new))?;
/// let source = KeySource::template("user:{i}", 0..100_000)?;
/// let (gatherer, _) = read(source, &Gatherer::new(&router), &Reading::default())?;
/// assert_eq!(gatherer.into_evidence().distinct_keys(), 100_000.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Gatherer<'a> {
    router: &'a dyn Router,
    evidence: Evidence,
}

impl<'a> Gatherer<'a> {
    /// Starts without evidence, for keys that this router places. If the router keeps loads, keys
    /// must come in order, to one thread.
    pub fn new(router: &'a dyn Router) -> Self {
        Self {
            router,
            evidence: Evidence::new(router),
        }
    }

    /// Returns the evidence.
    pub fn into_evidence(mut self) -> Evidence {
        self.evidence.settle();
        self.evidence
    }
}

impl Consumer for Gatherer<'_> {
    fn add(&mut self, keys: &Keys) {
        self.evidence.add_all(self.router, keys);
    }

    fn merge(&mut self, other: Self) {
        self.evidence.absorb(other.evidence);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::id_secret;
    use crate::summary::Measure;
    use hashroute::{Node, Ring};

    #[test]
    fn a_hot_key_beyond_the_sample_is_known() {
        let ring = Ring::new(["a", "b", "c"].map(Node::new)).expect("a ring");
        let count = Evidence::MOST as u64 + 50_000;
        let keys = Keys::template("k{i}", 0..count).expect("keys");
        let mut parts = [0, 1].map(|_| Evidence::new(&ring));
        let last = keys
            .iter()
            .max_by_key(|key| id_secret(&ring).id(key))
            .expect("a key");
        for _ in 0..5000 {
            parts[1].add(&ring, last, None, None);
        }
        parts[0].add_all(&ring, &keys);
        let [mut evidence, hot] = parts;
        evidence.absorb(hot);
        let carriers = evidence.carriers(Measure::Keys);
        let known = carriers.known().next().expect("a key");
        assert!(known.key == last && carriers.known().count() == 1);
        // The sketch adds what a few other keys in the same cells carry.
        assert!((5001..5020).contains(&known.amount), "{known:?}");
        let keys = carriers.units(0).keys / count as f64;
        assert!((keys - 1.0).abs() < 0.005, "{keys}");
    }
}
