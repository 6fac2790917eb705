//! The logarithm of weighted rendezvous: monotone, and how exact it is.

use crate::for_every_u32;
use crate::log2::neg_log2;

/// The number of fractional bits of the logarithm.
const FRACTION: u32 = 58;

/// The fractional bits of the yardstick, above the error of its squarings.
const YARDSTICK: u32 = 58;

/// Returns -log2((x + 1/2) / 2^32) in units of 2^-58, a bit for each squaring. It truncates 58
/// times, so it is exact to a few hundred units at most: see the test of its own error.
fn by_squaring(x: u32) -> u64 {
    let u = u64::from(x) << 1 | 1;
    let shift = u.leading_zeros();
    let mut square = u128::from(u << shift);
    let mut log = 0_u64;
    for _ in 0..YARDSTICK {
        square = (square * square) >> 63;
        log <<= 1;
        if square >> 64 != 0 {
            square >>= 1;
            log |= 1;
        }
    }
    ((u64::from(shift - 31) + 1) << FRACTION) - log
}

/// The order of scores, and so the owner of a key, needs it: a higher score costs strictly less.
/// Then two nodes of equal weight are ordered by cost as they are by score.
#[test]
#[ignore = "2^32 cases"]
fn the_logarithm_is_strictly_monotone_everywhere() {
    let least = for_every_u32(
        |part| {
            let mut least = u64::MAX;
            let mut before = neg_log2(*part.start());
            for x in (*part.start()..*part.end()).map(|x| x + 1) {
                let log = neg_log2(x);
                assert!(log < before, "{x:#x}: {log} after {before}");
                least = least.min(before - log);
                before = log;
            }
            least
        },
        u64::min,
    );
    println!("logarithm: 4,294,967,296 arguments, strictly monotone, least step {least} of 2^-58");
    // The steps of the true logarithm are at least 2^-32 / ln 2.
    assert!(least > 1 << (FRACTION - 33));
}

/// The error against doubles, which are exact to 2^-52 of the result; and, for every 4,096th
/// argument and the arguments near every power of two, against bits by squaring.
#[test]
#[ignore = "2^32 cases"]
#[expect(
    clippy::disallowed_methods,
    reason = "the yardstick is the logarithm of the platform"
)]
fn the_logarithm_is_exact_to_2_to_the_minus_45() {
    let worst = for_every_u32(
        |part| {
            let mut worst = (0.0_f64, 0);
            for x in part {
                let u = (f64::from(x) + 0.5) / (1_u64 << 32) as f64;
                let ours = neg_log2(x) as f64 / (1_u64 << FRACTION) as f64;
                // Near 1 the logarithm of a double loses nothing here: u has 33 bits.
                let error = (ours + u.log2()).abs();
                if error > worst.0 {
                    worst = (error, x);
                }
            }
            worst
        },
        |a, b| if a.0 >= b.0 { a } else { b },
    );
    let bits = -worst.0.log2();
    println!(
        "logarithm: worst error against doubles 2^-{bits:.2}, at {:#x}",
        worst.1
    );
    assert!(worst.0 < 2_f64.powi(-45), "{worst:?}");

    let close = for_every_u32(
        |part| {
            let near =
                |x: u32| x.wrapping_add(8).trailing_zeros() > 9 || (x & x.wrapping_add(1)) == 0;
            let chosen = part.filter(|x| x % 4096 == 1 || near(*x));
            let errors = chosen.map(|x| (neg_log2(x).abs_diff(by_squaring(x)), 1_u64));
            errors.fold((0, 0), |sum, next| (sum.0.max(next.0), sum.1 + next.1))
        },
        |a, b| (a.0.max(b.0), a.1 + b.1),
    );
    println!(
        "logarithm: worst error against squarings {} of 2^-58, over {} arguments",
        close.0, close.1
    );
    assert!(close.0 < 1 << (FRACTION - 45));
}
