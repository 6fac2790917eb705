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

#[test]
fn arrows_between_rooms_run_down() {
    HOUSE.arrows_run_down();
}

#[test]
fn every_file_of_the_source_is_in_a_room() {
    HOUSE.every_file_is_in_a_room();
}

#[test]
fn no_two_public_types_share_a_name() {
    HOUSE.public_types_have_names_of_their_own();
}

#[test]
fn public_data_has_room_to_grow() {
    HOUSE.public_data_has_room_to_grow();
}
