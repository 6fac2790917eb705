//! A logarithm that is the same on every platform, because it uses only integers.
//!
//! `f64::ln` may differ between platforms and versions of Rust, so two processes could disagree on
//! a key near a tie. This logarithm is exact to 2^-45 and strictly monotone. Weighted rendezvous
//! needs that to have no excess moves.
//!
//! Method: split off the power of two; multiply by a reciprocal from a table, which leaves 1 + r
//! with
//! |r| < 2^-8; add the logarithm from the table and the series of log2(1 + r) up to r^4.

/// The number of fractional bits of the result.
const FRACTION: u32 = 58;

/// Returns -log2((x + 1/2) / 2^32) in units of 2^-58. The argument is in the open interval (0, 1),
/// so the result is never 0.
pub(crate) fn neg_log2(x: u32) -> u64 {
    let u = u64::from(x) << 1 | 1;
    let shift = u.leading_zeros();
    // u has 33 bits, so a shift of 31 is the octave just below 1.
    ((u64::from(shift - 31) + 1) << FRACTION) - log2_mantissa(u << shift)
}

/// Returns log2(`mantissa` / 2^63). The argument is in [1, 2).
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "|r| is below 2^-8"
)]
fn log2_mantissa(mantissa: u64) -> u64 {
    /// 1 / (k ln 2) for k = 4, 3, 2, 1, in units of 2^-62.
    const SERIES: [i64; 4] = [
        1_663_314_137_230_540_311,
        2_217_752_182_974_053_749,
        3_326_628_274_461_080_623,
        6_653_256_548_922_161_246,
    ];
    let (reciprocal, log) = TABLE[(mantissa >> 55 & 255) as usize];
    let product = u128::from(mantissa) * u128::from(reciprocal);
    // In units of 2^-64: 2^127 stands for 1.
    let r = (product.wrapping_sub(1 << 127) as i128 >> 63) as i64;
    let series = SERIES.iter().fold(0, |sum, &c| c - multiply_high(r, sum));
    log.saturating_add_signed(multiply_high(r, series) >> 4)
}

/// Returns the upper half of the product.
fn multiply_high(a: i64, b: i64) -> i64 {
    ((i128::from(a) * i128::from(b)) >> 64) as i64
}

/// A row for each 256th of [1, 2): the reciprocal of its middle in units of 2^-64, and -log2 of
/// that reciprocal in units of 2^-58.
#[expect(clippy::cast_possible_truncation, reason = "2^73 / 513 is below 2^64")]
static TABLE: [(u64, u64); 256] = {
    let mut table = [(0, 0); 256];
    let mut i = 0;
    while i < 256 {
        let reciprocal = ((1 << 73) / (513 + 2 * i as u128)) as u64;
        table[i] = (reciprocal, (1 << FRACTION) - log2_by_squaring(reciprocal));
        i += 1;
    }
    table
};

/// Returns log2(`mantissa` / 2^63) in [1, 2). Each squaring gives one bit: slow, but simple enough
/// to trust.
const fn log2_by_squaring(mantissa: u64) -> u64 {
    let mut square = mantissa as u128;
    let mut log = 0;
    let mut bit = 0;
    while bit < FRACTION {
        square = (square * square) >> 63;
        log <<= 1;
        if square >> 64 != 0 {
            square >>= 1;
            log |= 1;
        }
        bit += 1;
    }
    log
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_series_agrees_with_squaring() {
        let mut x = 1_u64 << 63;
        for _ in 0..50_000 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1) | 1 << 63;
            let error = log2_mantissa(x).abs_diff(log2_by_squaring(x));
            assert!(error < 1 << (FRACTION - 45), "{x:#x}: {error}");
        }
    }

    #[test]
    fn the_logarithm_is_strictly_monotone_at_every_row_of_the_table() {
        for octave in 0..32 {
            for segment in 256..512_u64 {
                let seam = (segment << octave) >> 8;
                for near in seam.saturating_sub(20)..=seam + 20 {
                    let (Ok(x), Ok(next)) = (u32::try_from(near), u32::try_from(near + 1)) else {
                        continue;
                    };
                    assert!(neg_log2(x) > neg_log2(next), "{near:#x}");
                }
            }
        }
    }

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "the test compares with the logarithm of the platform"
    )]
    fn the_logarithm_agrees_with_that_of_the_platform() {
        for x in [
            0,
            1,
            1 << 20,
            1 << 30,
            3 << 30,
            u32::MAX / 3,
            u32::MAX >> 1,
            u32::MAX,
        ] {
            let u = (f64::from(x) + 0.5) / (1_u64 << 32) as f64;
            let ours = neg_log2(x) as f64 / (1_u64 << FRACTION) as f64;
            assert!(
                (ours + u.log2()).abs() < 1e-12 * (1.0 + ours),
                "{x:#x}: {ours}"
            );
        }
        assert!(neg_log2(u32::MAX) > 0);
    }
}
