//! Short `Debug` for long state.

use core::fmt::{self, Write};

use xxhash_rust::xxh3::Xxh3;

/// Prints a long part of a state as the number of its entries and a digest of their text.
///
/// So a router takes one line in a log, but different states still print different texts, except
/// for a collision of 64 bits. Tests compare states by this text.
pub(crate) struct Digest<T>(pub(crate) usize, pub(crate) T);

impl<T: fmt::Debug> fmt::Debug for Digest<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sum = Sum(Xxh3::new());
        write!(sum, "{:?}", self.1)?;
        write!(f, "{} #{:016x}", self.0, sum.0.digest())
    }
}

struct Sum(Xxh3);

impl Write for Sum {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    #[test]
    fn the_digest_depends_on_every_entry_and_on_their_order() {
        let text = |cells: &[u32]| format!("{:?}", Digest(cells.len(), cells));
        assert_eq!(text(&[1, 2, 3]), text(&[1, 2, 3]));
        for other in [[1, 3, 2], [1, 2, 4], [0, 2, 3]] {
            assert_ne!(text(&[1, 2, 3]), text(&other));
        }
        assert!(text(&[7; 1000]).starts_with("1000 #"));
        assert_eq!(text(&[7; 1000]).len(), 22);
    }
}
