//! Bounded load over a ring, as a row of the registry: [`BoundedLoad`] says what it is.
//!
//! | lookup | memory | change |
//! |---|---|---|
//! | that of the ring, and a few steps of its walk | 16 B a node more than the ring | that of the ring |
//!
//! Peers must share the set of nodes and the loads of the moment, which in practice means one
//! router for all.

use alloc::boxed::Box;
use alloc::string::String;

use super::Ring;
use super::ring::POINTS;
use crate::registry::{Agree, Caps, Excess, Param, Scheme};
use crate::{BoundedLoad, Error};

pub(super) const STRATEGY: Scheme = Scheme::strategy(
    "bounded",
    "a ring with bounded loads: nobody above c times the fair share",
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
        "c: the most a node may hold, as a multiple of its fair share",
    ),
    Param::new("cap", "none", "the most keys any node may hold"),
    POINTS,
]);

/// The worst that was measured, with room: 100,000 keys placed anew after a change.
fn excess_bound(nodes: usize) -> f64 {
    0.005 + 3e-5 * nodes as f64
}
