//! A logarithm that is the same everywhere: integers only.
//!
//! `f64::ln` may differ between platforms and versions of Rust, so that two processes could
//! disagree on a key near a tie. This one is exact to 2^-56 and strictly monotone in the top 53
//! bits of its argument, which is what keeps weighted rendezvous free of excess moves.
//!
//! Way: split off the power of two; multiply by a table's reciprocal, which leaves 1 + r with
//! |r| < 2^-8; add the table's logarithm and the series of log2(1 + r) up to r^6.

/// Fractional bits of the result.
const FRACTION: u32 = 58;

/// -log2 of a number drawn from the open interval (0, 1): (top 53 bits of `x` + 1/2) / 2^53,
/// in units of 2^-58. Never 0.
pub(crate) fn neg_log2(x: u64) -> u64 {
    let u = (x >> 11) << 1 | 1;
    let shift = u.leading_zeros();
    let mantissa = u << shift;
    // u has 54 bits, so a shift of 10 is the octave just below 1.
    ((u64::from(shift - 10) + 1) << FRACTION) - log2_mantissa(mantissa)
}

/// log2 of `mantissa` / 2^63, which lies in [1, 2).
#[expect(
    clippy::cast_possible_wrap,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a product near 2^127 less 2^127 is small, and a logarithm in [0, 1] takes 58 bits"
)]
fn log2_mantissa(mantissa: u64) -> u64 {
    /// 1 / (k ln 2) for k = 6, 5, ... 1, in units of 2^-62.
    const SERIES: [i64; 6] = [
        1_108_876_091_487_026_874,
        1_330_651_309_784_432_249,
        1_663_314_137_230_540_311,
        2_217_752_182_974_053_749,
        3_326_628_274_461_080_623,
        6_653_256_548_922_161_246,
    ];
    let (reciprocal, log) = TABLE[(mantissa >> 55 & 255) as usize];
    let product = u128::from(mantissa) * u128::from(reciprocal);
    let r = (product.wrapping_sub(1 << 127) as i128) >> 63;
    let series = SERIES
        .iter()
        .fold(0, |sum, &c| i128::from(c) - ((r * sum) >> 64));
    (i128::from(log) + ((r * series) >> 68)).max(0) as u64
}

/// For each 256th of [1, 2): the reciprocal of its middle in units of 2^-64, and -log2 of that
/// reciprocal in units of 2^-58.
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

/// log2 of `mantissa` / 2^63 in [1, 2), a bit a squaring: slow, and plain enough to trust.
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
    fn series_agrees_with_squaring() {
        let mut x = 1_u64 << 63;
        for _ in 0..100_000 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1) | 1 << 63;
            assert!(
                log2_mantissa(x).abs_diff(log2_by_squaring(x)) <= 8,
                "{x:#x}"
            );
        }
    }

    #[test]
    fn strictly_monotone_at_every_seam() {
        let check = |top: u64| {
            for near in top.saturating_sub(50)..top.saturating_add(50).min((1 << 53) - 1) {
                assert!(
                    neg_log2(near << 11) > neg_log2((near + 1) << 11),
                    "{near:#x}"
                );
            }
        };
        for octave in 0..53 {
            for segment in 256..512_u64 {
                let edge = (u128::from(segment) << octave) >> 8;
                check(u64::try_from(edge).expect("below 2^53"));
            }
        }
    }

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "the platform's logarithm is the thing to compare with"
    )]
    fn agrees_with_the_platform() {
        for x in [
            0,
            1,
            1 << 20,
            1 << 40,
            1 << 62,
            3 << 62,
            u64::MAX / 3,
            u64::MAX >> 1,
            u64::MAX,
        ] {
            let u = ((x >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
            let ours = neg_log2(x) as f64 / (1_u64 << FRACTION) as f64;
            assert!(
                (ours + u.log2()).abs() < 1e-13 * (1.0 + ours),
                "{x:#x}: {ours} {}",
                -u.log2()
            );
        }
        assert!(neg_log2(u64::MAX) > 0);
    }
}
