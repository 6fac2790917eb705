//! Slot tables, as servers print them.

use std::path::Path;

use hashroute::redis::{SlotRule, Table};

use super::files;
use crate::failure::{Asked, Failure};

/// Reads a table from a file or from standard input (-).
pub(crate) fn read(path: &Path) -> Result<Table, Failure> {
    let text = files::read(path, "TABLE", Table::MAX_TEXT, "what a server printed")?;
    Table::from_text(&text, SlotRule::REDIS)
        .map_err(|error| Asked::file("TABLE", path).refused(error))
}
