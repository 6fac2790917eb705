//! The packages have floors, and arrows run down only: between rooms, and inside them where it says so.
//!
//! `cargo test --test rooms -- --nocapture` prints the arrows.

/// Makes the tests that hold for every package with a public interface, of its `HOUSE`.
macro_rules! keeps_the_rules_of_a_library {
    () => {
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
    };
}
use keeps_the_rules_of_a_library;

mod cli;
mod harness;
mod library;
