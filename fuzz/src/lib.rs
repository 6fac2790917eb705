//! Fuzz targets of hashroute: every reader and writer, and random histories against models.
//!
//! A target makes a valid text or history from the bytes of an input first, and damages one in six
//! afterwards. So most inputs go deep: [`Outcome`] says which were accepted. A broken law panics.
//!
//! The same functions run under libFuzzer (`fuzz_targets`) and under the runner (`src/main.rs`).

mod draw;
mod targets;

use arbitrary::Unstructured;

/// Whether the program accepted an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The whole input was read, and every check after it ran.
    Accepted,
    /// The program refused the input with an error.
    Refused,
}

/// A function that takes an input apart, and checks what the program does with it.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name: that of its corpus and of its libFuzzer target.
    pub name: &'static str,
    /// What it checks, in a line.
    pub about: &'static str,
    /// Runs an input.
    ///
    /// # Panics
    /// If a law does not hold.
    pub run: fn(&mut Unstructured<'_>) -> Outcome,
}

impl Target {
    /// Runs the bytes of an input.
    ///
    /// # Panics
    /// If a law does not hold.
    pub fn run(&self, bytes: &[u8]) -> Outcome {
        (self.run)(&mut Unstructured::new(bytes))
    }
}

pub use targets::ALL;

/// Finds a target by name.
pub fn find(name: &str) -> Option<&'static Target> {
    ALL.iter().find(|target| target.name == name)
}

/// Runs an input of libFuzzer.
///
/// # Panics
/// If there is no such target, or if a law does not hold.
pub fn fuzz(name: &str, input: &[u8]) {
    let target = find(name).expect("the name of a target");
    let _ = target.run(input);
}
