//! Partial files: what one process counted, written as a line of JSON for another process to merge.

mod counts;
mod evidence;
mod line;
mod records;

pub use evidence::Part;
