//! Ends of hash ranges and of flows, as `diff` and `plan` show them.

use crate::output::Cell;
use crate::units;

/// Shows a hash in hexadecimal; with a modulus, shows the remainder as a number.
pub(crate) fn position(at: u64, modulus: Option<u64>) -> Cell {
    let shown = match modulus {
        None => hex(at),
        Some(_) => units::count(at),
    };
    Cell::new(at, shown)
}

/// Returns a hash as 16 hexadecimal digits. JSON holds it as text, because many readers round large
/// numbers.
pub(crate) fn hex(at: u64) -> String {
    format!("{at:016x}")
}

/// Shows the node at one end of a flow, or that there is none.
pub(crate) fn node(name: Option<&str>) -> Cell {
    name.map_or_else(|| Cell::new((), "(nobody)"), Cell::text)
}
