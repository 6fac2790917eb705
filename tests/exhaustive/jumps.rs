//! Jump: the integer product that replaces a product of doubles, for every draw of the generator.

use hashroute::strategy::{jump_hash, jump_hash_guava};

use crate::for_every_u32;

/// The multiplier of the paper's generator, and its inverse modulo 2^64.
const MULTIPLIER: u64 = 2_862_933_555_777_941_757;

fn inverse() -> u64 {
    // Newton's iteration doubles the number of right bits, and an odd number is its own inverse
    // modulo 8.
    let mut inverse = MULTIPLIER;
    for _ in 0..5 {
        inverse = inverse.wrapping_mul(2_u64.wrapping_sub(MULTIPLIER.wrapping_mul(inverse)));
    }
    assert_eq!(MULTIPLIER.wrapping_mul(inverse), 1);
    inverse
}

/// Returns the key whose first draw is `draw`, with these low bits of the state.
fn key_of(draw: u32, low: u64, inverse: u64) -> u64 {
    let state = u64::from(draw) << 33 | low;
    state.wrapping_sub(1).wrapping_mul(inverse)
}

/// The loop of the paper, in doubles and with its casts.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the casts of the paper"
)]
fn paper(mut key: u64, buckets: u32) -> u32 {
    let (mut bucket, mut next) = (-1_i64, 0_i64);
    while next < i64::from(buckets) {
        bucket = next;
        key = key.wrapping_mul(MULTIPLIER).wrapping_add(1);
        let factor = (1_i64 << 31) as f64 / ((key >> 33) + 1) as f64;
        next = ((bucket + 1) as f64 * factor) as i64;
    }
    bucket as u32
}

/// All 2^31 draws as the first of a key: the first jump starts at bucket 0, and the later ones
/// start wherever it led. Most keys have few buckets, to which the proof takes a third of the time.
#[test]
#[ignore = "2^31 cases"]
fn jump_is_the_loop_of_the_paper_for_every_first_draw() {
    let inverse = inverse();
    let cases = for_every_u32(
        |part| {
            let mut cases = 0_u64;
            for x in part.filter(|x| x & 1 == 0) {
                // 31 bits of draw; the rest of the state is all zeros or all ones.
                let (draw, low) = (x >> 1, if x & 2 == 0 { 0 } else { (1 << 33) - 1 });
                let key = key_of(draw, low, inverse);
                let buckets = if x % 32 == 0 { u32::MAX } else { 1 + (x >> 20) };
                assert_eq!(
                    jump_hash(key, buckets),
                    Some(paper(key, buckets)),
                    "{key:#x} {buckets}"
                );
                cases += 1;
            }
            cases
        },
        |a, b| a + b,
    );
    println!("jump: {cases} keys, with every first draw of 31 bits, against the loop of the paper");
}

/// Java's form ends, and in range, for every first draw.
#[test]
#[ignore = "2^31 cases"]
fn guava_stays_in_range_for_every_first_draw() {
    let inverse = inverse();
    let most = for_every_u32(
        |part| {
            let mut most = 0;
            for x in part.filter(|x| x & 1 == 1) {
                let key = key_of(x >> 1, (1 << 33) - 1, inverse);
                let buckets = 1 + (x >> 4);
                let bucket = jump_hash_guava(key, buckets).expect("some bucket");
                assert!(bucket < buckets, "{key:#x} {buckets}");
                most = most.max(bucket);
            }
            most
        },
        u32::max,
    );
    println!("guava: every first draw of 31 bits, the highest bucket {most}");
}
