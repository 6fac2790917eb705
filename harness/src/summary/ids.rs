//! Ids of keys, and maps by id.

use core::hash::{BuildHasherDefault, Hasher};
use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_128_with_seed;

/// Keys that are looked at together.
pub(crate) const BLOCK: usize = 256;
/// Keys, bytes and requests.
pub(crate) const MEASURES: usize = 3;
/// What a key carries of each.
pub(crate) type Amounts = [u64; MEASURES];
/// What keys are told apart by: 128 bits, of which two among 10^12 keys agree once in 10^14 times.
pub(crate) type Id = u128;
pub(crate) type ById<T> = HashMap<Id, T, BuildHasherDefault<IdHasher>>;

/// Any number that no router's hash is seeded with.
const SEED: u64 = 0x7374_7265_616d_6564;

/// An id is a hash already. Its upper half says who is in the sample, so the lower one is taken.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "the lower half")]
    fn write_u128(&mut self, id: u128) {
        self.0 = id as u64;
    }
}

pub(crate) fn id(key: &[u8]) -> Id {
    xxh3_128_with_seed(key, SEED)
}
