//! Templates of keys: every run of digits replaced by `{i}`.

use super::census::Census;
use super::ids::{Amounts, MEASURES};

/// Writes the template of a key into `template`.
fn fill(template: &mut Vec<u8>, key: &[u8]) {
    template.clear();
    let mut digits = false;
    for &byte in key {
        if !byte.is_ascii_digit() {
            template.push(byte);
        } else if !digits {
            template.extend_from_slice(b"{i}");
        }
        digits = byte.is_ascii_digit();
    }
}

/// Counts consecutive keys of the same template together, since neighbours mostly share one.
#[derive(Debug, Default)]
pub(crate) struct Run {
    template: Vec<u8>,
    amounts: Amounts,
    next: Vec<u8>,
}

impl Run {
    pub(crate) fn add(&mut self, key: &[u8], amounts: &Amounts, census: &mut Census) {
        fill(&mut self.next, key);
        if self.next != self.template {
            self.count(census);
            core::mem::swap(&mut self.template, &mut self.next);
        }
        for (sum, amount) in self.amounts.iter_mut().zip(amounts) {
            *sum = sum.saturating_add(*amount);
        }
    }

    /// Counts the last run.
    pub(crate) fn end(mut self, census: &mut Census) {
        self.count(census);
    }

    fn count(&mut self, census: &mut Census) {
        if self.amounts != [0; MEASURES] {
            census.add(&[(&self.template, self.amounts)]);
        }
        self.amounts = [0; MEASURES];
    }
}
