//! The ketama ring of memcached clients: each MD5 of "label-i" gives four points.
//!
//! Clients agree on the points only. The number of MD5s of a server is
//! 40 x its share of the weights x the number of servers, and each client rounds it differently.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

use md5::{Digest, Md5};

use crate::NodeId;

/// Returns the MD5 digest as four little-endian words.
pub(in crate::compat) fn words(bytes: &[u8]) -> [u32; 4] {
    let digest: [u8; 16] = Md5::digest(bytes).into();
    let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| digest[4 * at + byte]));
    [0, 1, 2, 3].map(word)
}

/// A ring under construction: the points of all servers, server by server.
#[derive(Debug, Default)]
pub(in crate::compat) struct Ketama {
    pub(in crate::compat) points: Vec<(u64, NodeId)>,
    text: String,
}

impl Ketama {
    /// Adds the points of a server: `points` turns each of the `count` texts "label-i" into points.
    pub(in crate::compat) fn add<P: IntoIterator<Item: Into<u64>>>(
        &mut self,
        id: NodeId,
        label: &str,
        count: u32,
        points: impl Fn(&[u8]) -> P,
    ) {
        for i in 0..count {
            self.text.clear();
            // Writing to a string cannot fail.
            let _ = write!(self.text, "{label}-{i}");
            let points = points(self.text.as_bytes()).into_iter();
            self.points.extend(points.map(|point| (point.into(), id)));
        }
    }
}

/// Returns the number of MD5s of a server in twemproxy and libmemcached, computed in f32 as both do.
///
/// Both add 1e-10 before they cut the fraction. This code leaves it out, because it never changes
/// the result: for values from 2^-9 on, the rounding to f32 loses it, and a smaller value stays
/// below 1 with it.
pub(in crate::compat) fn hashes_f32(weight: u32, total: u64, servers: usize) -> u32 {
    let percent = weight as f32 / total as f32;
    cut((percent * 160.0 / 4.0 * servers as f32).into())
}

/// Rounds towards zero.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "cuts, as the systems do"
)]
pub(in crate::compat) fn cut(number: f64) -> u32 {
    number as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f32_gives_some_numbers_of_servers_39_md5s_instead_of_40() {
        let short = |servers: usize| hashes_f32(1, servers as u64, servers) == 39;
        let servers: Vec<_> = (1..=100).filter(|&servers| short(servers)).collect();
        assert_eq!(servers, [25, 47, 50, 55, 61, 71, 94, 100]);
        assert!((1..=100).all(|servers| hashes_f32(1, servers as u64, servers) >= 39));
    }

    #[test]
    fn adding_1e_10_changes_no_count() {
        for total in 1..400_u32 {
            for weight in 1..=total {
                let percent = weight as f32 / total as f32;
                for servers in [1, 2, 7, 25, 61, 1000] {
                    let product = percent * 160.0 / 4.0 * servers as f32;
                    let plain = hashes_f32(weight, total.into(), servers);
                    assert_eq!(cut((product + 1e-10).into()), plain);
                    #[expect(clippy::cast_possible_truncation, reason = "as twemproxy does")]
                    let twemproxy = (f64::from(product) + 1e-10) as f32;
                    assert_eq!(cut(twemproxy.into()), plain);
                }
            }
        }
    }

    #[test]
    fn words_are_little_endian() {
        // RFC 1321: the digest of "" is d41d8cd98f00b204e9800998ecf8427e.
        assert_eq!(
            words(b""),
            [0xd98c_1dd4, 0x04b2_008f, 0x9809_80e9, 0x7e42_f8ec]
        );
    }
}
