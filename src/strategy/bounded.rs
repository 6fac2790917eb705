//! A ring with bounded loads as a row of the registry. [`BoundedLoad`] describes the algorithm.
//!
//! | lookup | memory | change |
//! |---|---|---|
//! | as the ring, then a few steps of its walk | 16 B a node more than the ring | as the ring |
//!
//! Peers must share the set of nodes and the current loads. In practice one process routes for all.

use alloc::boxed::Box;
use alloc::string::String;

use super::Ring;
use super::ring::POINTS;
use crate::registry::{Agree, Caps, Excess, Param, Scheme};
use crate::{BoundedLoad, Error};

pub(super) const STRATEGY: Scheme = Scheme::strategy(
    "bounded",
    "a ring with bounded loads: no node above c times its fair share",
    Caps::SET
        .with_agree(Agree::Load)
        .with_excess(Excess::AtMost(excess_bound)),
    |nodes, params| {
        let points = params.get(POINTS.name, Ring::DEFAULT_POINTS)?;
        let ring = Ring::with_points(nodes, points)?.with_hasher(params.hasher());
        let mut bounded = BoundedLoad::new(ring, params.get("load", BoundedLoad::DEFAULT_FACTOR)?)?;
        if params.get("cap", String::from("none"))? != "none" {
            let cap = match params.get("cap", u64::MAX) {
                Ok(cap) if cap > 0 => cap,
                _ => {
                    let given = params.get("cap", String::new())?;
                    return Err(Error::parameter(
                        "cap",
                        given,
                        "a whole number from 1, or none",
                    ));
                }
            };
            bounded = bounded.with_cap(cap);
        }
        Ok(Box::new(bounded))
    },
)
.with_params(&[
    Param::new(
        "load",
        "1.25",
        "c: the largest load of a node, as a multiple of its fair share",
    ),
    Param::new("cap", "none", "the largest number of keys on any node"),
    POINTS,
]);

/// Returns the largest excess that was measured, with a margin: 100,000 keys placed again after a
/// change.
fn excess_bound(nodes: usize) -> f64 {
    0.005 + 3e-5 * nodes as f64
}
