//! The laws of DESIGN.md over the whole registry: a strategy that joins it is held to them with
//! no line written here, and differs only by what its `Caps` say.
//!
//! | law | where |
//! |---|---|
//! | 1 the same input gives the same answer | `agreement`, `ranges`, and the constants of `values.rs` |
//! | 2 the order of insertion does not matter to a set | `agreement` |
//! | 3 a change moves only keys of the node it is about | `moves` |
//! | 4 and as many as its share | `moves` |
//! | 5 shares follow the weights | `shares` |
//! | 6 add, then remove, restores every route | `moves` |
//! | 7 a failed change changes nothing, nothing panics | `refusals` |
//! | 8 lookups do not allocate; routers are Send and Sync | `zero_alloc.rs`, `refusals` |
//! | 9 replicas and the walk they come from | `replicas` |

mod common;

#[path = "contract/agreement.rs"]
mod agreement;
#[path = "contract/moves.rs"]
mod moves;
#[path = "contract/ranges.rs"]
mod ranges;
#[path = "contract/refusals.rs"]
mod refusals;
#[path = "contract/replicas.rs"]
mod replicas;
#[path = "contract/shares.rs"]
mod shares;
