//! Bytes on the heap, by a counting allocator.
//!
//! It costs a few nanoseconds an allocation, so the peers that allocate in a lookup are timed
//! only at sizes where that is below 2 % of theirs.

use std::alloc::System;
use std::hint::black_box;

use peakmem_alloc::{PeakMemAlloc, PeakMemAllocTrait};

#[global_allocator]
static ALLOCATOR: PeakMemAlloc<System> = PeakMemAlloc::system();

/// More than anything here takes.
const PROBE: usize = 1 << 32;

/// The most bytes that `make` had on the heap at once, and those that the thing made still has.
pub(crate) struct Usage {
    pub(crate) peak: f64,
    pub(crate) live: f64,
}

pub(crate) fn usage<T>(make: impl FnOnce() -> T) -> Usage {
    ALLOCATOR.reset_peak_memory();
    let thing = black_box(make());
    let peak = ALLOCATOR.get_peak_memory();
    // The allocator tells only the peak, so we make one: that of what lives and a probe on top,
    // which is counted even when the system refuses it and is never touched when it does not.
    drop(black_box(Vec::<u8>::new().try_reserve_exact(PROBE)));
    let live = ALLOCATOR.get_peak_memory() - PROBE;
    drop(thing);
    Usage {
        peak: peak as f64,
        live: live as f64,
    }
}
