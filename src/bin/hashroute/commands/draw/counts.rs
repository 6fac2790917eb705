//! `draw node-counts`: how even each number of nodes is.

use hashroute::harness::{Placement, balance};
use hashroute::plot::{self, CountPoint};

use super::args::CountsCommand;
use super::out;
use crate::args::NodeArgs;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::strategy::Choice;
use crate::{keys, nodes, units};

/// The most numbers of nodes: each places all keys anew.
const MOST: usize = 4096;

pub(super) fn run(args: &CountsCommand) -> Result<(), Failure> {
    out::check(&args.picture)?;
    let numbers = numbers(&args.node_counts)?;
    let (choice, _) = Choice::read(&args.strategy, &NodeArgs::default())?;
    let progress = Progress::start(args.picture.quiet, "reading keys");
    let keys = keys::read(&args.keys)?;
    progress.message("placing keys");
    let point = |count: &u32| {
        let router = choice.build(nodes::counted(*count))?;
        let placement = Placement::of(&*router, &keys);
        let figures = balance(choice.way.name(), &*router, &keys, &placement).figures;
        Ok(CountPoint {
            nodes: u64::from(*count),
            cv: figures.cv,
            noise_cv: figures.noise.cv,
            noise_cv_p99: figures.noise.cv_p99,
        })
    };
    let points: Vec<_> = numbers.iter().map(point).collect::<Result<_, Failure>>()?;
    drop(progress);
    let (way, number) = (choice.way.name(), units::counted(keys.len() as u64, "key"));
    let what = format!("{way}, {number}, {}", keys::named(&args.keys)?);
    out::write(&plot::counts(&what, &points), &args.picture)
}

/// `8,16`, `2..=128`, `2..10,64`.
fn numbers(text: &str) -> Result<Vec<u32>, Failure> {
    let wrong = || {
        let most = nodes::MAX_COUNT;
        Failure::Input(format!(
            "--node-counts {text}: expected up to {MOST} numbers of nodes from 1 to {most}, such as 8,16 or 2..=128"
        ))
    };
    let number = |text: &str| {
        let number = text.parse::<u32>().ok();
        number.filter(|number| (1..=nodes::MAX_COUNT).contains(number))
    };
    let range = |entry: &str| match entry.split_once("..") {
        None => number(entry).map(|number| number..=number),
        Some((first, last)) => match last.strip_prefix('=') {
            Some(last) => Some(number(first)?..=number(last)?),
            None => Some(number(first)?..=number(last)? - 1),
        },
    };
    let mut numbers = Vec::new();
    for entry in text.split(',') {
        let range = range(entry).filter(|range| !range.is_empty());
        numbers.extend(range.ok_or_else(wrong)?.take(MOST + 1));
        if numbers.len() > MOST {
            return Err(wrong());
        }
    }
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}
