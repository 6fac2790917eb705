//! Wrappers: routers around a router.

pub(crate) mod bounded;
#[cfg(target_has_atomic = "64")]
pub mod health;
pub mod hot;
#[cfg(all(test, shuttle, feature = "shared"))]
mod interleavings;
#[cfg(feature = "shared")]
pub mod shared;
#[cfg(all(test, not(shuttle), feature = "shared"))]
mod tests;

/// Refuses a router that counts loads. Two counters would not know about each other, and the
/// preference lists of the router inside would change with its loads.
fn check_uncounted<R: crate::Router>(router: &R) -> Result<(), crate::Error> {
    match router.loads() {
        None => Ok(()),
        Some(_) => Err(crate::Error::Unsupported {
            what: crate::Refusal::LoadsInside,
            advice: "wrap the router inside it, so that only one wrapper counts",
        }),
    }
}
