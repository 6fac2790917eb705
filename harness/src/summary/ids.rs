//! Ids of keys, and maps by id.

use core::hash::{BuildHasherDefault, Hasher};
use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_128_with_seed;

/// The number of keys that are added at once, so that memory accesses overlap.
pub(crate) const BLOCK: usize = 256;
/// The number of measures: keys, bytes and requests.
pub(crate) const MEASURES: usize = 3;
/// The amount that a key carries of each measure.
pub(crate) type Amounts = [u64; MEASURES];
/// The identity of a key: a 128-bit hash. The probability that any two of 10^12 keys collide is
/// about 10^-15.
pub(crate) type Id = u128;
pub(crate) type ById<T> = HashMap<Id, T, BuildHasherDefault<IdHasher>>;

/// Any constant that no router uses as a seed.
const SEED: u64 = 0x7374_7265_616d_6564;

/// Hashes an id by taking its lower half: an id is a hash already. The upper half decides which
/// keys are in the sample, so within a sample it is not uniform.
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
