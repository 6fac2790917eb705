//! A picture: an SVG and its title.

/// A picture.
///
/// ```
/// use hashroute::redis::{SlotRule, Table};
/// let picture = hashroute_harness::plot::slots(&Table::new(SlotRule::REDIS));
/// assert_eq!(picture.title(), "Slots: nobody owns any of 16,384");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    pub(super) title: String,
    pub(super) svg: String,
}

impl Picture {
    /// Returns what the picture shows, as a sentence.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Returns an `<svg>` element, for a file or for a page. Its classes begin with `hr-` and
    /// mean the same in every picture, and it has no ids, so that a page can hold many.
    pub fn svg(&self) -> &str {
        &self.svg
    }
}
