//! The ring hash of Envoy, which gRPC adopted: the ring has a total size, divided by weight.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

use super::servers::up;
use crate::compat::layout::check_capacity;
use crate::compat::{Layout, Rule, Server};
use crate::{Error, Limit, NodeId};

/// The maximum ring size in both systems.
pub(in crate::compat) const MAX_SIZE: u64 = 8_388_608;

/// A server that is up, with its share of the total weight.
#[derive(Clone, Copy, Debug)]
pub(in crate::compat) struct Share<'a> {
    pub(in crate::compat) id: NodeId,
    pub(in crate::compat) label: &'a str,
    pub(in crate::compat) weight: f64,
}

/// Returns the servers that are up, in order, with their shares.
pub(in crate::compat) fn shares(servers: &[(NodeId, Server)]) -> Result<Vec<Share<'_>>, Error> {
    let total = total_weight(servers);
    if total > u64::from(u32::MAX) {
        return Err(Error::Capacity {
            what: Limit::WeightUnits,
            wanted: total,
            limit: u32::MAX.into(),
            advice: "divide all weights by a common factor",
        });
    }
    Ok(up(servers)
        .map(|(id, server)| Share {
            id,
            label: server.label(),
            weight: f64::from(server.weight()) / total as f64,
        })
        .collect())
}

pub(in crate::compat) fn total_weight(servers: &[(NodeId, Server)]) -> u64 {
    up(servers)
        .map(|(_, server)| u64::from(server.weight()))
        .sum()
}

/// Builds a ring of at least `least` and at most `most` points. The size is scaled so that the
/// lightest server has an integer number of points. Hosts take their points in turn, up to a running
/// sum of doubles, so rounding carries over to the next host. A point is the hash of `LABEL_n`.
pub(in crate::compat) fn ring(
    shares: &[Share<'_>],
    [least, most]: [u64; 2],
    hash: impl Fn(&[u8]) -> u64,
) -> Result<Layout, Error> {
    if least > most || most > MAX_SIZE || least == 0 {
        let sizes = format!("{least} to {most}");
        let expected = format!("a smallest and a largest size, from 1 to {MAX_SIZE}");
        return Err(Error::parameter("ring size", sizes, expected));
    }
    let lightest = shares.iter().map(|share| share.weight);
    let lightest = lightest.fold(1.0, f64::min);
    let scale = (ceil(lightest * least as f64) / lightest).min(most as f64);
    // At most `most` points, and one more for each server whose running sum is rounded up.
    check_capacity(MAX_SIZE.saturating_add(shares.len() as u64))?;
    let (mut points, mut label) = (Vec::new(), String::new());
    let (mut current, mut target) = (0.0, 0.0);
    for share in shares {
        target += scale * share.weight;
        let mut i = 0_u64;
        while current < target {
            label.clear();
            let _ = write!(label, "{}_{i}", share.label);
            points.push((hash(label.as_bytes()), share.id));
            current += 1.0;
            i += 1;
        }
    }
    Layout::circle(64, Rule::AtOrAfter, points)
}

/// Rounds up, for numbers from 0 to 2^53: `core` has no `ceil`.
pub(in crate::compat) fn ceil(x: f64) -> f64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "cuts the fraction on purpose"
    )]
    let whole = x as u64 as f64;
    if whole < x { whole + 1.0 } else { whole }
}
