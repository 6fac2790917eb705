//! Proofs by exhaustion: every value of a domain of 32 bits, in release mode, on every core.
//!
//! ```sh
//! cargo test --release -p hashroute-tests --features compat,redis --test exhaustive -- --ignored --nocapture
//! ```
//!
//! The tests are ignored by default, since they take minutes. Each prints its number of cases and
//! its worst error. The functions of the library that are not public are compiled from their files.

mod crcs;
mod jumps;
mod logarithm;
mod slots;

#[expect(unreachable_pub, reason = "the library exports some of it")]
#[path = "../../src/key/hash/mix.rs"]
mod mix;

#[path = "../../src/key/hash/log2.rs"]
mod log2;

use std::thread;

/// Splits all numbers of 32 bits among the cores, and joins what `check` returns for each part. The
/// first number of a part is also the last of the part before, so that pairs of neighbours are
/// complete.
fn for_every_u32<T: Send>(
    check: impl Fn(core::ops::RangeInclusive<u32>) -> T + Sync,
    join: impl Fn(T, T) -> T,
) -> T {
    let cores = thread::available_parallelism().map_or(1, usize::from) as u64;
    let end = u64::from(u32::MAX);
    let cut = |part: u64| u32::try_from(end * part / cores).unwrap_or(u32::MAX);
    let check = &check;
    thread::scope(|scope| {
        let parts: Vec<_> = (0..cores)
            .map(|part| scope.spawn(move || check(cut(part)..=cut(part + 1))))
            .collect();
        let done = parts.into_iter().map(|part| part.join().expect("a proof"));
        done.reduce(join).expect("a core")
    })
}
