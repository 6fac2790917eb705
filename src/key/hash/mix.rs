//! Integer mixers.

/// 2⁶⁴ divided by the golden ratio, rounded to an odd number. Multiples of it are spread evenly.
pub(crate) const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// Scrambles 64 bits so that each bit of the result depends on every bit of `x`.
///
/// It is a bijection: different numbers stay different. 0 stays 0; add a constant first if that
/// matters. Two multiplications, about a nanosecond.
///
/// Source: David Stafford's Mix13, the finaliser of `SplitMix64` (Steele, Lea and Flood, "Fast
/// splittable pseudorandom number generators", OOPSLA 2014).
///
/// ```
/// use hashroute::hash::mix64;
///
/// assert_eq!(mix64(0), 0);
/// assert_eq!(mix64(1), 0x5692_161d_100b_05e5);
/// ```
#[inline]
pub const fn mix64(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Returns the index of the part of the hash space that contains `hash`, out of `range` equal parts
/// in order. A multiplication in place of a division. 0 if `range` is 0.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the product's upper half is below `range`"
)]
pub(crate) const fn scale(hash: u64, range: usize) -> usize {
    ((hash as u128 * range as u128) >> 64) as usize
}

#[cfg(test)]
mod tests {
    use super::{GOLDEN_GAMMA, mix64};

    #[test]
    fn mix64_is_the_finaliser_of_splitmix64() {
        // The first outputs of SplitMix64 from state 1234567, as published with the generator.
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
        ];
        for (step, &value) in (1..).zip(&expected) {
            assert_eq!(
                mix64(GOLDEN_GAMMA.wrapping_mul(step).wrapping_add(1_234_567)),
                value
            );
        }
    }

    #[test]
    fn mix64_is_pinned() {
        let values = [0, 1, u64::MAX].map(mix64);
        assert_eq!(values, [0, 0x5692_161d_100b_05e5, 0xb4d0_55fc_f2cb_bd7b]);
    }

    #[test]
    fn every_input_bit_flips_every_output_bit_half_the_time() {
        const SAMPLES: u64 = 1 << 14;
        // Binomial(n, 1/2): 4096 proportions within 6 standard deviations, p < 1e-5 in all.
        let limit = 6.0 * (SAMPLES as f64 * 0.25).sqrt();
        for input in 0..64 {
            let mut flips = [0u32; 64];
            for id in 0..SAMPLES {
                let x = id.wrapping_mul(GOLDEN_GAMMA);
                let changed = mix64(x) ^ mix64(x ^ (1 << input));
                for (output, count) in flips.iter_mut().enumerate() {
                    *count += u32::from(changed >> output & 1 == 1);
                }
            }
            for (output, &count) in flips.iter().enumerate() {
                let off = (f64::from(count) - SAMPLES as f64 / 2.0).abs();
                assert!(
                    off <= limit,
                    "bit {input} flips bit {output} {count} times of {SAMPLES}"
                );
            }
        }
    }
}
