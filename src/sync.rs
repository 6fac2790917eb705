//! What threads share, under the names of the standard library. Tests that try out the order of
//! events, run with `--cfg shuttle`, get it from Shuttle, which decides who goes next.

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

/// Lock, whoever panicked while holding it: for what is whole at every moment.
#[cfg(feature = "shared")]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
