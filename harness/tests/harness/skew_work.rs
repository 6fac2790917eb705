//! The work of a diagnosis, counted instead of timed.

use core::error::Error;
use core::sync::atomic::{AtomicUsize, Ordering};

use hashroute::registry::{Caps, Scheme, Setup};
use hashroute::strategy::Params;
use hashroute::{Change, HashId, KeyHash, Modulo, NodeId, Nodes, Router};
use hashroute_harness::Keys;
use hashroute_harness::skew::{Diagnosis, Evidence};

use crate::nodes;

static HASHED: AtomicUsize = AtomicUsize::new(0);

/// Counts how often a key is hashed.
#[derive(Debug)]
struct Counted(Modulo);

impl Router for Counted {
    fn nodes(&self) -> &Nodes {
        self.0.nodes()
    }
    fn hash_id(&self) -> HashId {
        self.0.hash_id()
    }
    fn hash_key(&self, key: &[u8]) -> Option<KeyHash> {
        HASHED.fetch_add(1, Ordering::Relaxed);
        self.0.hash_key(key)
    }
    fn route_hash(&self, key: KeyHash) -> Option<NodeId> {
        self.0.route_hash(key)
    }
    fn apply(&mut self, change: &Change) -> Result<(), hashroute::Error> {
        self.0.apply(change)
    }
}

static COUNTED: Scheme = Scheme::strategy("counted", "counts hashes", Caps::SET, |nodes, _| {
    Ok(Box::new(Counted(Modulo::new(nodes)?)))
});

/// This keeps the cost of `skew` near that of `balance`, which hashes each key once, however many
/// keys there are.
#[test]
fn each_key_is_hashed_once_and_each_sampled_key_once_more() -> Result<(), Box<dyn Error>> {
    let setup = Setup::new(&COUNTED, nodes(3), Params::default());
    for count in [5000, Evidence::MOST + 20_000] {
        let keys = Keys::template("work:{i}", 0..count as u64)?;
        HASHED.store(0, Ordering::Relaxed);
        let evidence = Evidence::of(&*setup.build()?, &keys);
        assert_eq!(HASHED.swap(0, Ordering::Relaxed), count);
        let skew = Diagnosis::new(&setup)
            .with_node_counts(&[3, 4])
            .judge(&evidence)?;
        assert!(skew.remedies.is_empty(), "{}", skew.verdict);
        let sampled = count.min(Evidence::MOST);
        assert_eq!(skew.sampled_keys, sampled as u64);
        // Each number of nodes hashes a few keys to see whether they hash alike there.
        let hashed = HASHED.load(Ordering::Relaxed);
        assert!((sampled..sampled + 100).contains(&hashed), "{hashed}");
    }
    Ok(())
}
