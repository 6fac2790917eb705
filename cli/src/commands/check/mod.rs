//! `check`: the balance against thresholds and a baseline.

mod args;
mod baseline;
mod compare;
mod findings;
mod github;
mod junit;
mod limits;
mod next;
mod report;

use hashroute::Node;
use hashroute_harness::stream::{Consumer, Counter};
use hashroute_harness::{Assignment, Balance, Keys};

pub(super) use self::args::CheckArgs;
use self::args::CheckFormat;
use self::baseline::{Baseline, Fingerprint, SetUp};
use self::compare::{Comparison, Now};
use self::findings::Findings;
use self::limits::Limit;
use crate::app::keys::{Counting, Source};
use crate::app::nodes;
use crate::app::strategy::Choice;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::units;

pub(crate) fn run(args: &CheckArgs) -> Result<(), Failure> {
    let limits = limits::limits(&args.limits);
    limits::refuse_none(args, &limits)?;
    let before = args.baseline.as_deref().map(baseline::read).transpose()?;
    let (choice, sets) = sets(args)?;
    let run = Run {
        args,
        source: Source::of(&args.keys)?.given()?,
        limits,
        choice,
        before,
    };
    let (set_up, findings) = match (sets.as_slice(), &run.before) {
        ([nodes], None) => run.streamed(nodes)?,
        _ => run.in_memory(&sets)?,
    };
    let baseline = Baseline::new(set_up, sets, &findings.balances);
    finish(args, &baseline, &findings)
}

/// Reads the choice and the sets of nodes to check.
fn sets(args: &CheckArgs) -> Result<(Choice, Vec<Vec<Node>>), Failure> {
    if args.node_counts.is_none() {
        nodes::given(&args.nodes, &args.strategy)?;
    }
    let (choice, nodes) = Choice::read(&args.strategy, &args.nodes)?;
    Ok(match &args.node_counts {
        None => (choice, vec![nodes]),
        Some(counts) => {
            let sets = counts.numbers.iter().map(|&count| nodes::counted(count));
            (choice, sets.collect())
        }
    })
}

/// What all sets of nodes are checked with.
struct Run<'a> {
    args: &'a CheckArgs,
    source: Source<'a>,
    limits: Vec<Limit>,
    choice: Choice,
    /// The baseline to compare with.
    before: Option<Baseline>,
}

impl Run<'_> {
    /// Checks a single set of nodes, with any number of keys.
    fn streamed(&self, nodes: &[Node]) -> Result<(SetUp, Findings), Failure> {
        let quiet = self.args.output.quiet;
        let router = self.choice.build(nodes)?;
        let consumer = (
            Fingerprint::default(),
            Counter::in_order(&self.choice.name(), &*router),
        );
        let counting = Counting::of(&*router, quiet);
        let ((keys, counter), read) = self.source.count(&consumer, counting)?;
        let progress = Progress::start(quiet, "judging the balance");
        let balance = counter.into_tally().balance()?;
        drop(progress);
        let mut findings = Findings::of(read, None);
        self.hold(balance, &mut findings)?;
        Ok((baseline::set_up(self.args, &self.source, &keys), findings))
    }

    /// Checks several sets of nodes, or a baseline: each needs all keys again, so they are in
    /// memory.
    fn in_memory(&self, sets: &[Vec<Node>]) -> Result<(SetUp, Findings), Failure> {
        let progress = Progress::steps(self.args.output.quiet, sets.len());
        progress.message("reading keys");
        let (keys, read) = self.source.read_all()?;
        let mut fingerprint = Fingerprint::default();
        fingerprint.add(&keys);
        let set_up = baseline::set_up(self.args, &self.source, &fingerprint);
        let before = self.before.as_ref();
        let comparison = before.map(|before| Comparison::new(before, &set_up));
        let mut findings = Findings::of(read, comparison);
        for (done, nodes) in sets.iter().enumerate() {
            progress.step(done, format!("placing keys on {} nodes", nodes.len()));
            self.measure(nodes, &keys, &mut findings)?;
        }
        Ok((set_up, findings))
    }

    /// Measures one set of nodes, and compares it with the baseline.
    fn measure(&self, nodes: &[Node], keys: &Keys, findings: &mut Findings) -> Result<(), Failure> {
        let router = self.choice.build(nodes)?;
        let mut counter = Counter::in_order(&self.choice.name(), &*router);
        counter.add(keys);
        self.hold(counter.into_tally().balance()?, findings)?;
        let balance = findings.balances.last();
        if let (Some(before), Some(comparison), Some(balance)) =
            (&self.before, &mut findings.comparison, balance)
        {
            // A new router: one that keeps loads is full after the first count.
            let router = self.choice.build(nodes)?;
            let assignment = Assignment::of(&*router, keys);
            let now = Now {
                args: self.args,
                nodes,
                keys,
                assignment: &assignment,
                balance,
            };
            findings.checks.extend(comparison.add(before, &now)?);
        }
        Ok(())
    }

    /// Checks a balance against the limits, and adds both to the findings.
    fn hold(&self, balance: Balance, findings: &mut Findings) -> Result<(), Failure> {
        if balance.figures.total == 0 {
            let weight = balance.nodes.iter().any(|node| node.weight > 0);
            let why = self.choice.unplaced(balance.unplaced, weight);
            return Err(Failure::Input(format!("nothing to check: {why}")));
        }
        let mut checks = limits::hold(&balance, &self.args.measures(), &self.limits)?;
        for check in checks.iter_mut().filter(|check| !check.passed) {
            check.command = Some(next::explain(self.args, check.nodes));
        }
        findings.labels = self.choice.labels();
        findings.checks.extend(checks);
        findings.balances.push(balance);
        Ok(())
    }
}

/// Refuses a list of keys if more lines were skipped than read. The figures would describe a minority.
fn refuse_unreadable(findings: &Findings) -> Result<(), Failure> {
    let skipped = findings.read.unreadable;
    let balance = findings.balances.first();
    let keys = balance.map_or(0, |balance| balance.figures.total + balance.unplaced);
    if skipped <= keys {
        return Ok(());
    }
    Err(Failure::Input(format!(
        "nothing to check: {} of {} could not be read: expected at most half of them",
        units::count(skipped),
        units::counted(skipped.saturating_add(keys), "line"),
    )))
}

/// Writes files and the report, then fails if a check did not hold.
fn finish(args: &CheckArgs, baseline: &Baseline, findings: &Findings) -> Result<(), Failure> {
    refuse_unreadable(findings)?;
    if let (Some(path), Some(balance)) = (&args.junit, findings.balances.first()) {
        junit::write(path, &balance.strategy, findings)?;
    }
    let failed = findings.failed();
    if let Some(path) = args.save_baseline.as_deref().filter(|_| failed == 0) {
        baseline.write(path)?;
    }
    if args.output.format == CheckFormat::Github {
        github::print(findings)?;
    }
    report::report(findings, args)?
        .with_labels(&findings.labels)?
        .print(args.output.format.of_report())?;
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
