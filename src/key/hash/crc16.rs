//! CRC-16/XMODEM, sixteen bytes at a step. Redis Cluster hashes the few bytes of a tag with it on
//! every lookup, and the tables of the `crc` crate have no wide step for a few bytes.
//!
//! Source: Redis Cluster specification, appendix A; slicing by Kounavis and Berry, "Novel Table
//! Lookup-Based Algorithms for High-Performance CRC Generation", IEEE Transactions on Computers
//! 57(11), 2008.

/// The generator polynomial, x^16 + x^12 + x^5 + 1, without its highest term.
const POLYNOMIAL: u16 = 0x1021;

/// `TABLES[k][b]`: the remainder of byte b followed by k zero bytes. 8 KB.
#[expect(clippy::cast_possible_truncation, reason = "a byte")]
static TABLES: [[u16; 256]; 16] = {
    let mut tables = [[0; 256]; 16];
    let mut byte = 0;
    while byte < 256 {
        // `byte` alone, a bit at a time; then one zero byte after it at each step of `k`.
        let mut crc = (byte as u16) << 8;
        let mut k = 0;
        while k < 16 {
            let mut bit = 0;
            while bit < 8 {
                let carry = crc >> 15;
                crc = (crc << 1) ^ (carry * POLYNOMIAL);
                bit += 1;
            }
            tables[k][byte] = crc;
            k += 1;
        }
        byte += 1;
    }
    tables
};

/// Returns the CRC as 64 bits, so that the caller need not widen it.
pub(super) fn crc16(bytes: &[u8]) -> u64 {
    let mut crc: u16 = 0;
    let mut rest = bytes;
    while let Some((step, after)) = rest.split_first_chunk::<16>() {
        let [upper, lower] = halves(u128::from_be_bytes(*step) ^ u128::from(crc) << 112);
        crc = remainder(upper, 8) ^ remainder(lower, 0);
        rest = after;
    }
    if let Some((step, after)) = rest.split_first_chunk::<8>() {
        crc = remainder(u64::from_be_bytes(*step) ^ u64::from(crc) << 48, 0);
        rest = after;
    }
    // Four to seven bytes are read as two overlapping words of four. Zeros in front do not change a
    // CRC that starts at 0.
    if let (Some(first), Some(last)) = (rest.first_chunk(), rest.last_chunk()) {
        let after_first = 8 * (rest.len() - 4);
        let first = u32::from_be_bytes(*first) ^ u32::from(crc) << 16;
        let first = u64::from(first) << after_first;
        let last = u64::from(u32::from_be_bytes(*last)) & ((1 << after_first) - 1);
        return remainder(first | last, 0).into();
    }
    let rest = rest.iter().fold(crc, |crc, byte| {
        let [upper, lower] = crc.to_be_bytes();
        u16::from_be_bytes([lower, 0]) ^ TABLES[0][usize::from(upper ^ byte)]
    });
    rest.into()
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "splits into halves")]
fn halves(bytes: u128) -> [u64; 2] {
    [(bytes >> 64) as u64, bytes as u64]
}

/// Returns the remainder of eight bytes, followed by `zeros` zero bytes.
#[inline]
fn remainder(bytes: u64, zeros: usize) -> u16 {
    // The remainder is linear, so the eight reads of tables are independent of each other.
    let bytes = bytes.to_le_bytes(); // the last byte first
    (0..8).fold(0, |sum, at| {
        sum ^ TABLES[zeros + at][usize::from(bytes[at])]
    })
}

#[cfg(test)]
mod tests {
    use crc::{CRC_16_XMODEM, Crc, Table};

    use super::*;

    #[test]
    fn wide_steps_equal_single_bytes() {
        let bytewise = Crc::<u16, Table<1>>::new(&CRC_16_XMODEM);
        let bytes: alloc::vec::Vec<_> = (0..300_u32)
            .map(|i| i.wrapping_mul(i).to_le_bytes()[0] ^ i.to_le_bytes()[1])
            .collect();
        for start in 0..20 {
            for end in start..bytes.len() {
                let part = &bytes[start..end];
                assert_eq!(
                    crc16(part),
                    u64::from(bytewise.checksum(part)),
                    "{start}..{end}"
                );
            }
        }
    }
}
