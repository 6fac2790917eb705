//! `check`: the balance against thresholds and a baseline.

pub(crate) mod args;
mod baseline;
mod compare;
mod junit;
mod limits;
mod report;

use hashroute::Node;
use hashroute::harness::{Balance, DumpSource, Keys, Measure, Placement, balance};

use self::args::CheckArgs;
use self::baseline::Baseline;
use self::compare::{Comparison, Now};
use self::limits::{Check, Limit};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::strategy::Choice;
use crate::{keys, nodes};

/// All that is known at the end.
#[derive(Debug)]
struct Findings {
    balances: Vec<Balance>,
    checks: Vec<Check>,
    comparison: Option<Comparison>,
    source: Option<DumpSource>,
}

impl Findings {
    fn failed(&self) -> usize {
        self.checks.iter().filter(|check| !check.passed).count()
    }
}

pub(crate) fn run(args: &CheckArgs) -> Result<(), Failure> {
    let limits = limits::limits(&args.limits);
    limits::refuse_none(args, &limits)?;
    let before = args.baseline.as_deref().map(baseline::read).transpose()?;
    let (choice, sets) = sets(args)?;
    let progress = Progress::steps(args.output.quiet, sets.len());
    progress.message("reading keys");
    let (keys, source) = keys::read_with_source(&args.keys)?;
    let set_up = baseline::set_up(args, &keys)?;
    let mut findings = Findings {
        balances: Vec::new(),
        checks: Vec::new(),
        comparison: before
            .as_ref()
            .map(|before| Comparison::new(before, &set_up)),
        source,
    };
    for (done, set) in sets.iter().enumerate() {
        progress.step(done, format!("placing keys on {} nodes", set.len()));
        measure(
            args,
            &limits,
            &choice,
            set,
            &keys,
            before.as_ref(),
            &mut findings,
        )?;
    }
    drop(progress);
    let baseline = Baseline::new(set_up, sets, &findings.balances);
    finish(args, &baseline, &findings)
}

/// What routes, and each set of nodes to check.
fn sets(args: &CheckArgs) -> Result<(Choice, Vec<Vec<Node>>), Failure> {
    let (choice, nodes) = Choice::read(&args.strategy, &args.nodes)?;
    Ok(match &args.node_counts {
        None => (choice, vec![nodes]),
        Some(counts) => {
            let sets = counts.0.iter().map(|&count| nodes::counted(count));
            (choice, sets.collect())
        }
    })
}

fn measure(
    args: &CheckArgs,
    limits: &[Limit],
    choice: &Choice,
    nodes: &[Node],
    keys: &Keys,
    before: Option<&Baseline>,
    findings: &mut Findings,
) -> Result<(), Failure> {
    let router = choice.build(nodes.to_vec())?;
    let placement = Placement::of(&*router, keys);
    let balance = balance(choice.way.name(), &*router, keys, &placement);
    if balance.figures.total == 0 {
        let why = choice.unplaced(balance.unplaced, nodes.iter().any(|node| node.weight() > 0));
        return Err(Failure::Input(format!("nothing to check: {why}")));
    }
    let measures: Vec<Measure> = args.measure.iter().map(|&one| one.into()).collect();
    findings
        .checks
        .extend(limits::hold(&balance, &measures, limits)?);
    if let (Some(before), Some(comparison)) = (before, &mut findings.comparison) {
        let now = Now {
            args,
            nodes,
            keys,
            placement: &placement,
            balance: &balance,
        };
        findings.checks.extend(comparison.add(before, &now)?);
    }
    findings.balances.push(balance);
    Ok(())
}

/// Writes what is asked for; a check that did not hold is told last.
fn finish(args: &CheckArgs, baseline: &Baseline, findings: &Findings) -> Result<(), Failure> {
    if let (Some(path), Some(balance)) = (&args.junit, findings.balances.first()) {
        junit::write(path, &balance.strategy, &findings.checks)?;
    }
    let failed = findings.failed();
    if let Some(path) = args.save_baseline.as_deref().filter(|_| failed == 0) {
        baseline.write(path)?;
    }
    report::report(findings)?.print(args.output.format)?;
    match failed {
        0 => Ok(()),
        failed => {
            let all = findings.checks.len();
            Err(Failure::Check(format!(
                "{failed} of {all} checks did not hold"
            )))
        }
    }
}
