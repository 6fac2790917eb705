//! Failed checks as annotations of a GitHub workflow: one `::error` line each.

use std::io::Write;

use super::findings::Findings;
use crate::failure::Failure;
use crate::output::stdout;

/// Prints a line for each check that failed. The runner shows it on the page of the run.
pub(super) fn print(findings: &Findings) -> Result<(), Failure> {
    let mut out = stdout();
    for check in findings.checks.iter().filter(|check| !check.passed) {
        let message = escaped(&check.message());
        writeln!(out, "::error title=hashroute check::{message}")?;
    }
    Ok(out.flush()?)
}

/// Escapes what would end the line or start an escape of the runner.
fn escaped(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn a_message_stays_on_its_line() {
        assert_eq!(escaped("5% of\r\n::error"), "5%25 of%0D%0A::error");
    }
}
