//! Wrappers: routers around a router.

pub(crate) mod bounded;
#[cfg(target_has_atomic = "64")]
pub mod health;
pub mod hot;
#[cfg(all(test, shuttle, feature = "shared"))]
mod interleavings;
#[cfg(feature = "shared")]
pub mod shared;

/// Refuses a router that counts loads: two counters of one key would not know of each other, and
/// the preference lists inside would follow loads.
fn check_uncounted<R: crate::Router>(router: &R) -> Result<(), crate::Error> {
    match router.loads() {
        None => Ok(()),
        Some(_) => Err(crate::Error::Unsupported {
            what: crate::Refusal::LoadsInside,
            advice: "wrap the router below it: one wrapper counts",
        }),
    }
}
