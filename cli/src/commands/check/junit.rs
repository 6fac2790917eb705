//! The checks as JUnit XML: one suite per number of nodes, one case per check.

use std::path::Path;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::findings::Findings;
use super::limits::Check;
use crate::app::outputs;
use crate::failure::Failure;

/// Writes the checks.
pub(super) fn write(path: &Path, strategy: &str, findings: &Findings) -> Result<(), Failure> {
    let xml = report(strategy, findings).to_string();
    let xml = xml.map_err(|error| Failure::file("--junit", path, error))?;
    outputs::write("--junit", path, xml.as_bytes())
}

fn report(strategy: &str, findings: &Findings) -> Report {
    let mut report = Report::new("hashroute check");
    for checks in findings.checks.chunk_by(|a, b| a.nodes == b.nodes) {
        let nodes = checks.first().map_or(0, |check| check.nodes);
        let mut suite = TestSuite::new(format!("{strategy}, {nodes} nodes"));
        suite.add_test_cases(checks.iter().map(|check| case(strategy, check)));
        let unreadable = findings.read.unreadable;
        if unreadable > 0 {
            suite.add_property(("unreadable", unreadable.to_string().as_str()));
        }
        report.add_test_suite(suite);
    }
    report
}

fn case(strategy: &str, check: &Check) -> TestCase {
    let status = if check.passed {
        TestCaseStatus::success()
    } else {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status
            .set_type(check.figure.as_str())
            .set_message(check.message());
        status
    };
    let Check {
        measure,
        figure,
        limit,
        ..
    } = check;
    let name = format!("{measure}: {figure} {} {limit}", check.relation());
    let mut case = TestCase::new(name, status);
    case.set_classname(format!("hashroute.{strategy}.{}", check.nodes));
    case
}
