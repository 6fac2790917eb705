//! Finds the owners of keys, block by block.

use super::assignment::assign;
use hashroute::{KeyHash, NodeId, Router};

/// Finds the owners of blocks of keys. Each key is hashed once, and a router without loads routes
/// the hashes of a block together.
#[derive(Clone, Debug)]
pub(crate) struct Batch<'a> {
    router: &'a dyn Router,
    /// The hashes of the current block of keys.
    hashes: Vec<KeyHash>,
    /// For each key of the block, its owner.
    owners: Vec<Option<NodeId>>,
}

impl<'a> Batch<'a> {
    pub(crate) fn new(router: &'a dyn Router) -> Self {
        Self {
            router,
            hashes: Vec::new(),
            owners: Vec::new(),
        }
    }

    /// Finds the owners of these keys, in order. A router that keeps loads counts them.
    pub(crate) fn route(&mut self, keys: &[&[u8]]) {
        let router = self.router;
        self.owners.clear();
        if router.loads().is_some() {
            let owners = keys.iter().map(|key| assign(router, key));
            return self.owners.extend(owners);
        }
        // Without loads the hash decides, and a batch of hashes routes faster.
        self.hashes.clear();
        let hashes = keys.iter().filter_map(|key| router.hash_key(key));
        self.hashes.extend(hashes);
        self.owners.resize(self.hashes.len(), None);
        router.route_batch(&self.hashes, &mut self.owners);
        if self.owners.len() < keys.len() {
            // The batch leaves out keys that the router refuses. Put `None` back in their
            // positions.
            let mut batch = core::mem::take(&mut self.owners).into_iter();
            let hashes = keys.iter().map(|key| router.hash_key(key));
            let owned = |hash: Option<KeyHash>| hash.and_then(|_| batch.next().flatten());
            self.owners.extend(hashes.map(owned));
        }
    }

    /// Returns the owner of a key of the last block, by its index there.
    pub(crate) fn owner(&self, index: usize) -> Option<NodeId> {
        self.owners.get(index).copied().flatten()
    }
}
