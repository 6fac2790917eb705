//! What to diagnose.

use hashroute::registry::Setup;

/// What to diagnose: a strategy or dialect with its parameters and nodes, and the other numbers of
/// nodes to look at.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Diagnosis<'a> {
    /// The row with its members and parameters.
    pub setup: &'a Setup,
    /// The other numbers of nodes to look at; empty for the default, those nearby.
    pub node_counts: &'a [usize],
}

impl<'a> Diagnosis<'a> {
    /// Diagnoses this setup, and numbers of nodes nearby.
    pub fn new(setup: &'a Setup) -> Self {
        Self {
            setup,
            node_counts: &[],
        }
    }

    /// Sets the other numbers of nodes to look at.
    #[must_use]
    pub fn with_node_counts(self, node_counts: &'a [usize]) -> Self {
        Self {
            node_counts,
            ..self
        }
    }
}
