//! Where a range of hashes begins and ends.

use crate::output::Cell;
use crate::units;

/// A hash in hexadecimal digits, a cell as a number.
pub(crate) fn position(at: u64, modulus: Option<u64>) -> Cell {
    let shown = match modulus {
        None => hex(at),
        Some(_) => units::count(at),
    };
    Cell::new(at, shown)
}

/// As text, which no reader of JSON rounds.
pub(crate) fn hex(at: u64) -> String {
    format!("{at:016x}")
}

/// Shows the node at one end of a flow, or that there is none.
pub(crate) fn node(name: Option<&str>) -> Cell {
    name.map_or_else(|| Cell::new((), "(nobody)"), Cell::text)
}
