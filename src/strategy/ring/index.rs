//! From a hash to the point that owns it, without a search of the whole ring.

use alloc::vec::Vec;

use crate::hash::scale;

/// Where the points of each equal part of the circle start. There are about as many parts as
/// points, so that a search looks at a handful.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    starts: Vec<u32>,
}

impl Index {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "MAX_POINTS fits in 32 bits"
    )]
    pub(super) fn new(points: &[u64]) -> Self {
        if points.is_empty() {
            return Self::default();
        }
        let parts = points.len().next_power_of_two();
        let mut starts = Vec::with_capacity(parts + 1);
        for (at, &point) in points.iter().enumerate() {
            // No point before `at` lies in this part or in those since the last point's, and
            // points ascend, so this only ever grows.
            starts.resize(scale(point, parts) + 1, at as u32);
        }
        starts.resize(parts + 1, points.len() as u32);
        Self { starts }
    }

    /// The index of the first point at or after `hash`, wrapping to the first.
    #[inline]
    pub(super) fn find(&self, points: &[u64], hash: u64) -> Option<usize> {
        let part = scale(hash, self.starts.len().checked_sub(1)?);
        let (start, end) = (self.starts[part] as usize, self.starts[part + 1] as usize);
        let at = start + points[start..end].partition_point(|&point| point < hash);
        Some(if at == points.len() { 0 } else { at })
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.starts.capacity() * size_of::<u32>()
    }
}
