//! What is diagnosed.

use hashroute::registry::Setup;

/// What keys are placed by: a strategy or dialect, its parameters, its nodes; and on which other
/// numbers of nodes to look.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Diagnosis<'a> {
    /// The row with its members and parameters.
    pub setup: &'a Setup,
    /// The other numbers of nodes to look at; none stands for those nearby.
    pub node_counts: &'a [usize],
}

impl<'a> Diagnosis<'a> {
    /// Looks at this setup, and at numbers of nodes nearby.
    pub fn new(setup: &'a Setup) -> Self {
        Self {
            setup,
            node_counts: &[],
        }
    }

    /// Looks at these numbers of nodes.
    #[must_use]
    pub fn with_node_counts(self, node_counts: &'a [usize]) -> Self {
        Self {
            node_counts,
            ..self
        }
    }
}
