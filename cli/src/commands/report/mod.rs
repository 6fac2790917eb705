//! `report`: an HTML page of a comparison, or of the reasons for an uneven balance.

mod args;
mod compare;
mod page;
mod skew;
mod table;
mod verdict;

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;

use self::args::PageArgs;
pub(super) use self::args::ReportArgs;
use crate::app::outputs;
use crate::failure::Failure;
use crate::output::stdout;

pub(crate) fn run(args: &ReportArgs) -> Result<(), Failure> {
    check(&args.page)?;
    let page = if args.skew {
        skew::page(args)?
    } else {
        compare::page(args)?
    };
    write(&page, &args.page.out)
}

/// Refuses a name that is not of a page, before the work is done.
fn check(args: &PageArgs) -> Result<(), Failure> {
    let extension = args.out.extension().map(OsStr::to_ascii_lowercase);
    if args.out.as_os_str() == "-" {
        return Ok(());
    }
    if extension.is_some_and(|name| name == "html" || name == "htm") {
        return Ok(());
    }
    let wrong = "expected a name that ends in .html, or -";
    Err(Failure::file("--out", &args.out, wrong))
}

fn write(page: &str, path: &Path) -> Result<(), Failure> {
    if path.as_os_str() == "-" {
        let mut out = stdout();
        out.write_all(page.as_bytes())?;
        return Ok(out.flush()?);
    }
    outputs::write("--out", path, page.as_bytes())
}
