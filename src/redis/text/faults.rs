//! The faults of a text, told at once.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

use super::wrong;
use crate::Error;

/// The most faults of one text that are told.
const TOLD: usize = 5;

/// What is wrong with the lines of a text, told at once.
#[derive(Default)]
pub(super) struct Faults(Vec<(usize, String)>, Option<Error>);

impl Faults {
    /// Returns the value of a result. Keeps its error, and returns `None` then.
    pub(super) fn sift<T>(&mut self, read: Result<T, Error>) -> Option<T> {
        match read {
            Ok(value) => return Some(value),
            Err(Error::Config { line, reason }) => self.0.push((line, reason)),
            Err(other) => self.1 = self.1.take().or(Some(other)),
        }
        None
    }

    /// Returns the faults as one error, by line.
    pub(super) fn stop(mut self) -> Result<(), Error> {
        self.0.sort_by_key(|(line, _)| *line);
        let Some((line, first)) = self.0.first() else {
            return self.1.map_or(Ok(()), Err);
        };
        let mut reason = first.clone();
        for (line, more) in self.0.iter().take(TOLD).skip(1) {
            let _ = write!(reason, "; line {line}: {more}");
        }
        if self.0.len() > TOLD {
            let _ = write!(reason, "; and {} more", self.0.len() - TOLD);
        }
        Err(wrong(*line, reason))
    }
}
