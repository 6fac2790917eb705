//! The keys and values of a check.

use crate::random::Random;

/// Keys that share a hash tag.
pub(super) const GROUP: usize = 5;

#[derive(Clone)]
pub(super) struct Data {
    pub(super) keys: Vec<Vec<u8>>,
    /// How often each key was written.
    pub(super) versions: Vec<u32>,
}

impl Data {
    /// Makes this many keys, half of them in groups of one tag; some tags are unusual.
    pub(super) fn new(count: usize, random: &mut Random) -> Self {
        let prefix = random.text(1..9);
        let keys = (0..count).map(|i| {
            let (group, member) = (i / GROUP, i % GROUP);
            let text = match group % 40 {
                // The first braces are empty, so the whole key is hashed.
                0 => format!("{{}}{prefix}{{{i}}}"),
                2 => format!("{prefix}{{{i}"),
                4 => format!("}}{prefix}{i}{{"),
                // A tag that begins with a brace.
                1 => format!("{{{{{prefix}:{group}}}:{member}"),
                3 => format!("{member}:{{{prefix}:{group}}}{{{i}}}"),
                even if even % 2 == 0 => format!("{prefix}:{i}"),
                _ => format!("{{{prefix}:{group}}}:{member}"),
            };
            text.into_bytes()
        });
        Self {
            keys: keys.collect(),
            versions: vec![0; count],
        }
    }

    pub(super) fn value(&self, key: usize) -> Vec<u8> {
        format!("value {key} of version {}", self.versions[key]).into_bytes()
    }

    /// Returns a random key.
    pub(super) fn any(&self, random: &mut Random) -> usize {
        random.below(self.keys.len())
    }

    /// Returns all keys of a random tag.
    pub(super) fn group(&self, random: &mut Random) -> std::ops::Range<usize> {
        let group = random.below(self.keys.len() / GROUP / 2) * 2 + 1;
        group * GROUP..(group + 1) * GROUP
    }

    pub(super) fn some(&self, keys: std::ops::Range<usize>) -> Vec<&[u8]> {
        self.keys[keys].iter().map(Vec::as_slice).collect()
    }
}
