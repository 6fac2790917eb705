//! CRC-16/XMODEM, eight bytes at a step: Redis Cluster hashes the few bytes of a tag with it on
//! every lookup, and for so few the tables of the `crc` crate have no wide step.
//!
//! Source: Redis Cluster specification, appendix A; slicing by Kounavis and Berry, "Novel Table
//! Lookup-Based Algorithms for High-Performance CRC Generation", IEEE Transactions on Computers
//! 57(11), 2008.

use crc::{CRC_16_XMODEM, Crc, Table};

/// `TABLES[k][b]`: the remainder of byte b followed by k zero bytes.
#[expect(clippy::cast_possible_truncation, reason = "below 256")]
static TABLES: [[u16; 256]; 8] = {
    let crc = Crc::<u16, Table<1>>::new(&CRC_16_XMODEM);
    let zeros = [0; 8];
    let mut tables = [[0; 256]; 8];
    let mut k = 0;
    while k < 8 {
        let mut byte = 0;
        while byte < 256 {
            let mut message = zeros;
            message[7 - k] = byte as u8;
            tables[k][byte] = crc.checksum(&message);
            byte += 1;
        }
        k += 1;
    }
    tables
};

pub(super) fn crc16(bytes: &[u8]) -> u16 {
    let mut crc = 0;
    let mut rest = bytes;
    while let Some((step, after)) = rest.split_first_chunk::<8>() {
        crc = sliced(crc, step);
        rest = after;
    }
    if let Some((step, after)) = rest.split_first_chunk::<4>() {
        crc = sliced(crc, step);
        rest = after;
    }
    rest.iter()
        .fold(crc, |crc, byte| sliced(crc, &[*byte]) ^ crc << 8)
}

/// The bytes' own remainders are independent of each other; only the first two see the `crc`.
#[inline]
fn sliced<const N: usize>(crc: u16, bytes: &[u8; N]) -> u16 {
    let crc = crc.to_be_bytes();
    let seen = |at: usize| bytes[at] ^ crc.get(at).unwrap_or(&0);
    (0..N).fold(0, |sum, at| sum ^ TABLES[N - 1 - at][usize::from(seen(at))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_the_bytewise_form() {
        let bytewise = Crc::<u16, Table<1>>::new(&CRC_16_XMODEM);
        let bytes: alloc::vec::Vec<_> = (0..300_u32)
            .map(|i| i.wrapping_mul(i).to_le_bytes()[0] ^ i.to_le_bytes()[1])
            .collect();
        for start in 0..20 {
            for end in start..bytes.len() {
                let part = &bytes[start..end];
                assert_eq!(crc16(part), bytewise.checksum(part), "{start}..{end}");
            }
        }
    }
}
