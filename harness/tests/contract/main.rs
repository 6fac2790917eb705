//! The laws of docs/DESIGN.md over the whole registry.
//!
//! A new row is checked without a line written here; its `Caps` decide what it must keep. The laws
//! are public, `hashroute_harness::laws`, so rows of other crates can be checked as well.
//!
//! | what | where |
//! |---|---|
//! | laws 1 to 12, over every row | here |
//! | each law catches a row that breaks it | `breaches` |
//! | law 1 across versions and platforms | `tests/values.rs`, `tests/golden` |
//! | law 5 where the theory of a strategy says more | `theory` |
//! | law 8: lookups do not allocate | `tests/zero_alloc.rs` |
//! | properties of types | `types` |

mod breaches;
mod theory;
mod types;

use hashroute::registry::{Excess, Scheme};
use hashroute::{compat, strategy};
use hashroute_harness::laws::{LAWS, check};

fn hold(rows: &'static [Scheme]) {
    let breaches: Vec<_> = rows.iter().flat_map(check).collect();
    let lines: Vec<_> = breaches.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "{}", lines.join("\n"));
}

#[test]
fn every_strategy_keeps_the_laws() {
    hold(strategy::ALL);
}

#[test]
fn every_dialect_keeps_the_laws() {
    hold(compat::ALL);
}

/// Returns the clauses that a row is exempt from.
fn waived(row: &Scheme) -> Vec<(u8, &'static str)> {
    let clauses = LAWS.iter().flat_map(|law| {
        let of = law.clauses.iter();
        of.map(|clause| (law.number, clause))
    });
    let waived = clauses.filter(|(_, clause)| clause.waiver(row).is_some());
    waived.map(|(law, clause)| (law, clause.name())).collect()
}

/// Exemptions are listed here, so none can appear unnoticed.
#[test]
fn a_row_is_held_to_every_law_but_stated_exceptions() {
    const BOUND: &str = "a stated bound at any size, with keys assigned one after the other";
    const LOADS: &str = "no node holds more than the bound on loads";
    for row in strategy::ALL {
        let waived = waived(row);
        let plain = row
            .caps()
            .is_some_and(|caps| matches!(caps.excess, Excess::None) && !row.minds_order());
        if plain {
            assert_eq!(waived, [(3, BOUND), (5, LOADS)], "{}", row.name);
        }
        let always = [1, 7, 8, 9, 10, 11, 12];
        let held = waived.iter().all(|(law, _)| !always.contains(law));
        assert!(held, "{}: {waived:?}", row.name);
    }
    for row in compat::ALL {
        let waived = waived(row);
        let held = waived.iter().all(|(law, _)| (2..=6).contains(law));
        assert!(
            held && waived.len() < LAWS.len() + 4,
            "{}: {waived:?}",
            row.name
        );
    }
}
