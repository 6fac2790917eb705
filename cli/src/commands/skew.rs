//! `skew`: why the balance is uneven.

use std::path::PathBuf;

use clap::Args;
use hashroute::Router;
use hashroute_harness::skew::Diagnosis;
use hashroute_harness::skew::{
    CountRow, Evidence, Finding, Gatherer, KeyStage, MeasureSkew, Part, Remedy, Skew, Status,
};
use hashroute_harness::stream;

use crate::app::keys::{self, Counting, Source};
use crate::app::nodes;
use crate::app::partial;
use crate::app::skew::{notes, refuse_none};
use crate::app::strategy::Choice;
use crate::args::{Counts, KeyArgs, NodeArgs, OutputArgs, PartsArgs, StrategyArgs, counts};
use crate::failure::Failure;
use crate::output::{Cell, Fields, MadeUp, Report, Table, Tone};
use crate::progress::Progress;
use crate::units;

/// The most remedies, and the most dangerous numbers of nodes, that people see.
const REMEDIES: usize = 10;
const ROWS: usize = 10;

/// Explain an uneven balance: is it chance, which stage causes it, what would help
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SkewArgs {
    /// Also test which of these numbers of nodes are dangerous: 8,16 or 2..=128
    #[arg(long, value_name = "LIST", value_parser = counts)]
    pub(crate) node_counts: Option<Counts>,
    #[command(flatten)]
    pub(crate) parts: PartsArgs,
    #[command(flatten)]
    pub(crate) nodes: NodeArgs,
    #[command(flatten)]
    pub(crate) strategy: StrategyArgs,
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

const EXAMPLES: &str = "\
Examples:
  hashroute skew --count 60 --strategy modulo --hash twemproxy-fnv1a-64 --template 'metric:demo:{i}' --range 0..1000
  hashroute skew --csv keys.csv --count 10
  hashroute skew --dialect twemproxy --config nutcracker.yml --pool alpha --keys keys.txt
  hashroute skew --count 64 --node-counts 2..=128 --keys keys.txt --format json
  hashroute skew --count 64 --keys part-1.txt --partial part-1.evidence
  hashroute skew --count 64 --parts part-*.evidence";

pub(crate) fn run(args: &SkewArgs) -> Result<(), Failure> {
    let (choice, nodes) = Choice::read(&args.strategy, &args.nodes)?;
    let router = choice.build(&nodes)?;
    let setup = choice.setup(&nodes);
    let counts = args.node_counts.as_ref();
    let diagnosis =
        Diagnosis::new(&setup).with_node_counts(counts.map_or(&[], |counts| &counts.numbers));
    let source = match args.parts.parts.as_slice() {
        [] => Some(Source::of(&args.keys)?),
        _ => None,
    };
    let Some(evidence) = gather(args, source.as_ref(), &choice.name(), &*router)? else {
        return Ok(());
    };
    // The diagnosis builds routers of its own, and a large ring takes much memory.
    drop(router);
    let progress = Progress::start(args.output.quiet, "looking for what is uneven");
    let skew = diagnosis
        .judge(&evidence)
        .map_err(|error| choice.refusal(error))?;
    drop(progress);
    refuse_none(&skew, &choice)?;
    let made_up = MadeUp {
        keys: source.as_ref().and_then(Source::made_up),
        nodes: nodes::made_up(&args.nodes, args.strategy.spec.as_deref()),
    };
    report(&skew, &choice)?
        .with_labels(&choice.labels())?
        .with_made_up(&made_up)?
        .print(args.output.format)
}

/// Gathers the evidence from the keys, or without them from parts; `None` if it was only written to
/// a file.
fn gather(
    args: &SkewArgs,
    source: Option<&Source>,
    name: &str,
    router: &dyn Router,
) -> Result<Option<Evidence>, Failure> {
    let PartsArgs { partial, parts } = &args.parts;
    let part = if let Some(source) = source {
        if partial.is_some() {
            stream::CountSetup::new(name, router)?; // refused before all keys are read
        }
        read(source, args, router)?
    } else {
        merged(parts, &stream::CountSetup::new(name, router)?, router)?
    };
    let empty = part.evidence.total().keys == 0;
    let Some(path) = partial else {
        let none = "--parts: no keys in any of these files: expected at least one";
        return if empty {
            Err(Failure::input(none))
        } else {
            Ok(Some(part.evidence))
        };
    };
    let setup = stream::CountSetup::new(name, router)?;
    let written = partial::write(path, |out| part.write(&setup, out))?;
    Ok(Some(part.evidence).filter(|_| !written && !empty))
}

fn read(source: &Source, args: &SkewArgs, router: &dyn Router) -> Result<Part, Failure> {
    let counting = Counting {
        may_be_empty: args.parts.partial.is_some(),
        ..Counting::of(router, args.output.quiet)
    };
    let (gatherer, read) = source.count(&Gatherer::new(router), counting)?;
    let mut evidence = gatherer.into_evidence();
    evidence.add_unreadable(read.unreadable);
    Ok(Part::from(evidence).with_sources(Vec::from_iter(read.source)))
}

fn merged(
    files: &[PathBuf],
    setup: &stream::CountSetup,
    router: &dyn Router,
) -> Result<Part, Failure> {
    let mut sum = Part::from(Evidence::new(router));
    let read = |input| Part::read_all(router, setup, input);
    let count = |part: &Part| part.evidence.total().keys;
    partial::read_all(files, "--parts ", read, count, |part| sum.merge(part))?;
    keys::tell_limits_of_parts(&sum.sources);
    Ok(sum)
}

fn report(skew: &Skew, choice: &Choice) -> Result<Report, Failure> {
    let mut verdict = vec![skew.verdict.clone(), skew.advice.clone()];
    if skew.unplaced > 0 {
        verdict.push(choice.unplaced(skew.unplaced, skew.nodes > 0));
    }
    verdict.extend(units::unreadable(skew.unreadable));
    let report = Report::new(skew, count_table(&skew.node_counts.rows))?
        .with_text(verdict)
        .with_table(measures(skew))
        .with_table(stages(skew));
    let report = with_counts(report, skew);
    let report = if skew.remedies.is_empty() {
        report
    } else {
        report
            .with_text(["Changes that were tried, the best first:"])
            .with_table(remedies(skew))
    };
    Ok(report.with_text([notes(skew)]))
}

/// Adds the dangerous numbers of nodes, or that there are none.
fn with_counts(report: Report, skew: &Skew) -> Report {
    let counts = &skew.node_counts;
    let (Some(first), Some(last)) = (counts.rows.first(), counts.rows.last()) else {
        return report;
    };
    let looked = if first.nodes == last.nodes {
        units::counted(first.nodes, "node")
    } else {
        format!("{} to {} nodes", first.nodes, last.nodes)
    };
    let bad: Vec<_> = counts
        .rows
        .iter()
        .filter(|row| row.dangerous)
        .cloned()
        .collect();
    if bad.is_empty() {
        let beyond = skew.worst().map_or("", |_| " beyond what was found above");
        return report.with_text([if first.nodes == last.nodes {
            format!("{looked}: not dangerous for these keys{beyond}.")
        } else {
            format!("{looked}: no number is dangerous for these keys{beyond}.")
        }]);
    }
    let numbers: Vec<_> = bad.iter().map(|row| row.nodes.to_string()).collect();
    let mut worst = bad.clone();
    worst.sort_by(|a, b| b.cv.total_cmp(&a.cv));
    worst.truncate(ROWS);
    let which = if worst.len() < bad.len() {
        " The worst:"
    } else {
        ""
    };
    let lines = [if first.nodes == last.nodes {
        format!("{looked}: dangerous for these keys.")
    } else {
        format!(
            "{looked}: {} of {} numbers are dangerous for these keys: {}.{which}",
            bad.len(),
            counts.rows.len(),
            numbers.join(" ")
        )
    }];
    report.with_text(lines).with_table(count_table(&worst))
}

fn measures(skew: &Skew) -> Table {
    let fields = Fields::<MeasureSkew>::new()
        .text("", "measure", |one| Cell::text(one.measure.to_string()))
        .number("", "cv", |one| Cell::four(one.cv))
        .number("", "by chance", |one| {
            Cell::four(if one.few_keys {
                one.equal_noise_cv
            } else {
                one.noise_cv
            })
        })
        .minor(1)
        .number("", "rarely above", |one| {
            Cell::four(if one.few_keys {
                one.equal_noise_cv_p99
            } else {
                one.noise_cv_p99
            })
        })
        .minor(3)
        .number("", "most / mean", |one| Cell::ratio(one.max_over_mean))
        .text("", "fullest", |one| Cell::text(one.fullest.as_str()))
        .number("", "p", |one| Cell::chance(one.p_value))
        .minor(2)
        .text("", "verdict", |one| {
            if one.uneven {
                Cell::text("uneven").toned(Tone::Bad)
            } else {
                Cell::text("even").toned(Tone::Good)
            }
        });
    Table::of(fields, &skew.measures)
}

fn stages(skew: &Skew) -> Table {
    let fields = Fields::<Finding>::new()
        .text("", "stage", |one| Cell::text(one.stage.to_string()))
        .text("", "verdict", |one| {
            let is_cause = one.status == Status::AtFault;
            let tone = if is_cause { Tone::Bad } else { Tone::Plain };
            match (one.stage, is_cause) {
                // A heavy node is meant to hold more: nobody is at fault.
                (KeyStage::Nodes, true) => Cell::text("by weight"),
                _ => Cell::text(one.status.to_string()).toned(tone),
            }
        })
        .number("", "adds cv", |one| Cell::four(one.cv))
        .minor(1)
        .number("", "p", |one| Cell::number(one.p_value, units::chance))
        .minor(2)
        .prose("", "what was found", |one| Cell::text(one.text.as_str()));
    Table::of(fields, &skew.stages)
}

fn count_table(rows: &[CountRow]) -> Table {
    let fields = Fields::<CountRow>::new()
        .number("nodes", "nodes", |row| Cell::count(row.nodes))
        .number("used", "used", |row| Cell::count(row.used))
        .minor(3)
        .number("max", "most", |row| Cell::count(row.max))
        .number("cv", "cv", |row| Cell::four(row.cv))
        .number("noise_cv", "by chance", |row| Cell::four(row.noise_cv))
        .minor(2)
        .number("noise_cv_p99", "rarely above", |row| {
            Cell::four(row.noise_cv_p99)
        })
        .minor(4)
        .number("p_value", "p", |row| Cell::chance(row.p_value))
        .minor(1)
        .text("dangerous", "", |row| Cell::new(row.dangerous, ""))
        .prose("because", "divisors", |row| {
            let because: Vec<_> = row.because.iter().map(u64::to_string).collect();
            Cell::text(because.join(" "))
        });
    Table::of(fields, rows)
}

fn remedies(skew: &Skew) -> Table {
    let fields = Fields::<Remedy>::new()
        .prose("", "change", |one| Cell::text(one.what.as_str()))
        .number("", "cv", |one| Cell::four(one.cv))
        .number("", "by chance", |one| Cell::four(one.noise_cv))
        .minor(1)
        .number("", "p", |one| Cell::chance(one.p_value))
        .minor(2)
        .text("", "even", |one| {
            Cell::text(if one.even { "yes" } else { "no" })
        })
        .number("", "keys that move", |one| Cell::share(one.moved_share));
    Table::of(fields, skew.remedies.iter().take(REMEDIES))
}
