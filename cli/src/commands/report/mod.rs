//! `report`: an HTML page of a comparison, or of the reasons for an uneven balance.

mod args;
mod compare;
mod page;
mod skew;
mod table;
mod verdict;

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::Path;

use self::args::PageArgs;
pub(super) use self::args::ReportArgs;
use crate::failure::Failure;
use crate::output::{self, stdout};

pub(crate) fn run(args: &ReportArgs) -> Result<(), Failure> {
    check(&args.page)?;
    let page = if args.skew {
        skew::page(args)?
    } else {
        compare::page(args)?
    };
    write(&page, &args.page.out)
}

/// Refuses a file that cannot be written, before the work is done.
fn check(args: &PageArgs) -> Result<(), Failure> {
    let extension = args.out.extension().map(OsStr::to_ascii_lowercase);
    if args.out.as_os_str() == "-" {
        return Ok(());
    }
    let wrong = |why: String| Failure::file("--out", &args.out, why);
    if extension.is_some_and(|name| name == "html" || name == "htm") {
        return output::check(&args.out).map_err(|error| wrong(error.to_string()));
    }
    Err(wrong("expected a name that ends in .html, or -".into()))
}

fn write(page: &str, path: &Path) -> Result<(), Failure> {
    if path.as_os_str() == "-" {
        let mut out = stdout();
        out.write_all(page.as_bytes())?;
        return Ok(out.flush()?);
    }
    fs::write(path, page).map_err(|error| Failure::file("--out", path, error))
}
