//! Atomics and locks under the names of the standard library. Tests of interleavings, which run
//! with `--cfg shuttle`, get them from Shuttle, which chooses the next thread.

#[cfg(not(all(test, shuttle)))]
pub(crate) mod atomic {
    #[cfg(target_has_atomic = "64")]
    pub(crate) use core::sync::atomic::AtomicU64;
    pub(crate) use core::sync::atomic::AtomicUsize;
}

#[cfg(all(test, shuttle))]
pub(crate) mod atomic {
    pub(crate) use shuttle::sync::atomic::{AtomicU64, AtomicUsize};
}

#[cfg(all(feature = "shared", not(all(test, shuttle))))]
pub(crate) use std::sync::{Mutex, MutexGuard};

#[cfg(all(feature = "shared", test, shuttle))]
pub(crate) use shuttle::sync::{Mutex, MutexGuard};

/// Locks a mutex even if a thread panicked while it held the lock. Use it only for data that is
/// consistent at every moment.
#[cfg(feature = "shared")]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
