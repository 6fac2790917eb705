//! The floors of the harness; the files of a room have no circle either.

use hashroute_test_support::rooms::House;

const HOUSE: House = House {
    source: concat!(env!("CARGO_MANIFEST_DIR"), "/../harness/src"),
    floors: FLOORS,
    everywhere: &[],
    closed: CLOSED,
};

/// The rooms, the lowest first.
const FLOORS: &[&[&str]] = &[
    // Pages of the documentation.
    &["guide"],
    // The `with_*` methods of options.
    &["builder"],
    // Names and figures as text.
    &["text"],
    // Keys: their sources and formats.
    &["keys"],
    // What keys carry: counts that merge. Knows no router.
    &["summary"],
    // Figures and verdicts of a router.
    &["measure"],
    // Why a load is skewed.
    &["diagnose"],
    // Partial files, which hold results of the two rooms below.
    &["wire"],
    &["laws"],
    &["sim"],
    &["plot"],
];

/// Public data that is complete: a field or a variant more would be another type.
const CLOSED: &[&str] = &[];

crate::keeps_the_rules_of_a_library!();

#[test]
fn no_path_by_super_leaves_its_room() {
    HOUSE.super_stays_inside();
}

#[test]
fn files_of_a_room_have_no_circle() {
    HOUSE.files_have_no_circle();
}
