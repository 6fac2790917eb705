//! `skew`: why the keys lie unevenly on the nodes.

use std::path::PathBuf;

use clap::Args;
use hashroute::Router;
use hashroute_harness::skew::Diagnosis;
use hashroute_harness::skew::{
    CountRow, Evidence, Finding, Gatherer, MeasureSkew, Part, Remedy, Skew,
};
use hashroute_harness::stream;

use crate::app::keys::{self, Counting};
use crate::app::partial;
use crate::app::skew::{notes, refuse_none};
use crate::app::strategy::Choice;
use crate::args::{Counts, KeyArgs, NodeArgs, OutputArgs, PartsArgs, StrategyArgs, counts};
use crate::failure::Failure;
use crate::output::{Cell, Column, Report, Table};
use crate::progress::Progress;
use crate::units;

/// How many remedies people see, and how many dangerous numbers of nodes.
const REMEDIES: usize = 10;
const ROWS: usize = 10;

/// Say why keys lie unevenly: is it real, which stage is at fault, what would help
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SkewArgs {
    /// Say which of these numbers of nodes are dangerous too: 8,16 or 2..=128
    #[arg(long, value_name = "LIST", value_parser = counts)]
    pub(crate) node_counts: Option<Counts>,
    #[command(flatten)]
    pub(crate) nodes: NodeArgs,
    #[command(flatten)]
    pub(crate) strategy: StrategyArgs,
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
    #[command(flatten)]
    pub(crate) parts: PartsArgs,
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
    let Some(evidence) = gather(args, &choice.name(), &*router)? else {
        return Ok(());
    };
    let progress = Progress::start(args.output.quiet, "looking for what is uneven");
    let skew = diagnosis
        .judge(&evidence)
        .map_err(|error| choice.refusal(&error))?;
    drop(progress);
    refuse_none(&skew, &choice)?;
    report(&skew, &choice)?.print(args.output.format)
}

/// What is known of the keys; nothing where it was written only.
fn gather(args: &SkewArgs, name: &str, router: &dyn Router) -> Result<Option<Evidence>, Failure> {
    let PartsArgs { partial, parts } = &args.parts;
    partial::check(partial.as_ref(), keys::file(&args.keys)?)?;
    let part = if parts.is_empty() {
        if partial.is_some() {
            stream::CountSetup::new(name, router)?; // refused before all keys are read
        }
        read(args, router)?
    } else {
        merged(parts, &stream::CountSetup::new(name, router)?, router)?
    };
    let empty = part.evidence.total().keys == 0;
    let Some(path) = partial else {
        let none = "--parts: no keys in any of these files, expected at least one";
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

fn read(args: &SkewArgs, router: &dyn Router) -> Result<Part, Failure> {
    let counting = Counting {
        may_be_empty: args.parts.partial.is_some(),
        ..Counting::of(router, args.output.quiet)
    };
    let (gatherer, read) = keys::count(&args.keys, &Gatherer::new(router), counting)?;
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
    partial::read_all(files, "--parts ", read, |part| sum.merge(part))?;
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
            .with_text(["What was tried, the best first:"])
            .with_table(remedies(skew))
    };
    Ok(report.with_text([notes(skew)]))
}

/// The dangerous numbers of nodes, or that there are none.
fn with_counts(report: Report, skew: &Skew) -> Report {
    let counts = &skew.node_counts;
    let (Some(first), Some(last)) = (counts.rows.first(), counts.rows.last()) else {
        return report;
    };
    let looked = format!("{} to {} nodes", first.nodes, last.nodes);
    let bad: Vec<_> = counts
        .rows
        .iter()
        .filter(|row| row.dangerous)
        .cloned()
        .collect();
    if bad.is_empty() {
        let beyond = skew.worst().map_or("", |_| " beyond what was found above");
        return report.with_text([format!(
            "Of {looked}, none of {} is dangerous for these keys{beyond}.",
            counts.rows.len()
        )]);
    }
    let numbers: Vec<_> = bad.iter().map(|row| row.nodes.to_string()).collect();
    let mut worst = bad.clone();
    worst.sort_by(|a, b| b.cv.total_cmp(&a.cv));
    worst.truncate(ROWS);
    let which = if worst.len() < bad.len() {
        " The worst of them:"
    } else {
        ""
    };
    let lines = [format!(
        "Of {looked}, {} of {} are dangerous for these keys: {}.{which}",
        bad.len(),
        counts.rows.len(),
        numbers.join(" ")
    )];
    report.with_text(lines).with_table(count_table(&worst))
}

fn measures(skew: &Skew) -> Table {
    let table = Table::new([
        Column::text("", "measure"),
        Column::number("", "cv"),
        Column::number("", "by chance"),
        Column::number("", "99% below"),
        Column::number("", "most / mean"),
        Column::text("", "fullest"),
        Column::number("", "p"),
        Column::text("", "verdict"),
    ]);
    let row = |one: &MeasureSkew| {
        let [noise, p99] = if one.few_keys {
            [one.equal_noise_cv, one.equal_noise_cv_p99]
        } else {
            [one.noise_cv, one.noise_cv_p99]
        };
        [
            one.measure.to_string(),
            format!("{:.4}", one.cv),
            format!("{noise:.4}"),
            format!("{p99:.4}"),
            format!("{:.3}", one.max_over_mean),
            one.fullest.clone(),
            units::chance(one.p_value),
            if one.uneven { "uneven" } else { "even" }.into(),
        ]
        .map(Cell::text)
        .into()
    };
    table.with_rows(skew.measures.iter().map(row))
}

fn stages(skew: &Skew) -> Table {
    let table = Table::new([
        Column::text("", "stage"),
        Column::text("", "verdict"),
        Column::number("", "adds cv"),
        Column::number("", "p"),
        Column::text("", "what was found"),
    ]);
    let row = |one: &Finding| {
        [
            one.stage.to_string(),
            one.status.to_string(),
            format!("{:.4}", one.cv),
            one.p_value.map_or_else(|| "-".into(), units::chance),
            one.text.clone(),
        ]
        .map(Cell::text)
        .into()
    };
    table.with_rows(skew.stages.iter().map(row))
}

fn count_table(rows: &[CountRow]) -> Table {
    let table = Table::new([
        Column::number("nodes", "nodes"),
        Column::number("used", "used"),
        Column::number("max", "most"),
        Column::number("cv", "cv"),
        Column::number("noise_cv", "by chance"),
        Column::number("noise_cv_p99", "99% below"),
        Column::number("p_value", "p"),
        Column::text("dangerous", ""),
        Column::text("because", "divisors"),
    ]);
    let row = |row: &CountRow| {
        let figure = |figure: f64| Cell::new(figure, format!("{figure:.4}"));
        let because: Vec<_> = row.because.iter().map(u64::to_string).collect();
        vec![
            Cell::new(row.nodes, units::count(row.nodes)),
            Cell::new(row.used, units::count(row.used)),
            Cell::new(row.max, units::count(row.max)),
            figure(row.cv),
            figure(row.noise_cv),
            figure(row.noise_cv_p99),
            Cell::new(row.p_value, units::chance(row.p_value)),
            Cell::new(row.dangerous, ""),
            Cell::text(because.join(" ")),
        ]
    };
    table.with_rows(rows.iter().map(row))
}

fn remedies(skew: &Skew) -> Table {
    let table = Table::new([
        Column::text("", "change"),
        Column::number("", "cv"),
        Column::number("", "by chance"),
        Column::number("", "p"),
        Column::text("", "even"),
        Column::number("", "keys that move"),
    ]);
    let row = |one: &Remedy| {
        [
            one.what.clone(),
            format!("{:.4}", one.cv),
            format!("{:.4}", one.noise_cv),
            units::chance(one.p_value),
            if one.even { "yes" } else { "no" }.into(),
            units::percent(one.moved_share),
        ]
        .map(Cell::text)
        .into()
    };
    table.with_rows(skew.remedies.iter().take(REMEDIES).map(row))
}
