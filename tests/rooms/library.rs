//! The floors of the library.

use hashroute_test_support::rooms::House;

const HOUSE: House = House {
    source: concat!(env!("CARGO_MANIFEST_DIR"), "/../src"),
    floors: FLOORS,
    everywhere: &["forward_router"],
    // A C compiler's `char` has a sign or has none.
    closed: &["Char"],
};

/// The rooms, the lowest first.
const FLOORS: &[&[&str]] = &[
    // Pages of the documentation.
    &["guide"],
    &["builder"],
    &["digest"],
    &["error"],
    &["sync"],
    &["key"],
    &["node"],
    &["space"],
    &["load"],
    // The trait, its preference lists and its forwarding: each needs the others.
    &["router", "replicas", "forward"],
    &["registry"],
    &["wrap"],
    &["strategy"],
    &["change"],
    &["redis"],
    &["compat"],
    &["schemes"],
    &["spec"],
];

crate::keeps_the_rules_of_a_library!();
