//! A drawing and its title.

/// A drawing.
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
    /// What it shows, in words.
    ///
    /// ```
    /// # use hashroute::redis::{SlotRule, Table};
    /// # use hashroute_harness::plot;
    /// assert!(!plot::slots(&Table::new(SlotRule::REDIS)).title().is_empty());
    /// ```
    pub fn title(&self) -> &str {
        &self.title
    }

    /// An `<svg>` element, to write into a file or inside a page. Its classes and ids begin with
    /// `hr-` and mean the same in every picture.
    ///
    /// ```
    /// # use hashroute::redis::{SlotRule, Table};
    /// # use hashroute_harness::plot;
    /// assert!(plot::slots(&Table::new(SlotRule::REDIS)).svg().ends_with("</svg>\n"));
    /// ```
    pub fn svg(&self) -> &str {
        &self.svg
    }
}
