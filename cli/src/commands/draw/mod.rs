//! `draw`: pictures of what the other commands print.

mod args;
mod counts;
mod out;

use hashroute_harness::plot::{self, RingScene};
use hashroute_harness::{self, Assignment, Measure, balance};

pub(super) use self::args::DrawArgs;
use self::args::{BalanceCommand, DrawCommand, RemapCommand, RingCommand, SlotsCommand};
use crate::app::keys::Source;
use crate::app::strategy::Choice;
use crate::app::{moves, slot_table};
use crate::failure::Failure;
use crate::progress::Progress;

pub(crate) fn run(args: &DrawArgs) -> Result<(), Failure> {
    match &args.command {
        DrawCommand::Ring(args) => ring(args),
        DrawCommand::Balance(args) => bars(args),
        DrawCommand::Remap(args) => matrix(args),
        DrawCommand::Slots(args) => slots(args),
        DrawCommand::NodeCounts(args) => counts::run(args),
    }
}

fn ring(args: &RingCommand) -> Result<(), Failure> {
    out::check(&args.picture)?;
    let (choice, nodes) = Choice::read(&args.strategy, &args.nodes)?;
    let changes = choice.resolve(&args.changes.0);
    crate::app::changes::check(&nodes, &changes)?;
    let router = choice.build(&nodes)?;
    let progress = Progress::start(args.picture.quiet, "reading keys");
    let keys = Source::of(&args.keys)?.read()?;
    progress.message("placing keys");
    let before = Assignment::of(&*router, &keys);
    let moved = if changes.is_empty() {
        None // nothing to show
    } else {
        let router = choice.after(&nodes, &changes)?;
        let after = Assignment::of(&*router, &keys);
        Some((router, hashroute_harness::remap(&before, &after, &keys)))
    };
    let named = args.key.iter().map(|key| key.as_encoded_bytes());
    let shown: Vec<_> = match args.key.len() {
        0 => keys.iter().take(usize::from(args.shown)).collect(),
        _ => named.collect(),
    };
    let balance = balance(&choice.name(), &*router, &keys, &before);
    let mut scene = RingScene::new(&*router, &balance).with_keys(&shown);
    if let Some((after, remap)) = &moved {
        scene = scene.with_changed(&**after, remap);
    }
    let picture = plot::ring(&scene);
    drop(progress);
    let picture = picture.map_err(|error| choice.refusal(error))?;
    out::write(&picture, &args.picture)
}

fn bars(args: &BalanceCommand) -> Result<(), Failure> {
    out::check(&args.picture)?;
    let (choice, nodes) = Choice::read(&args.strategy, &args.nodes)?;
    let router = choice.build(&nodes)?;
    let progress = Progress::start(args.picture.quiet, "reading keys");
    let keys = Source::of(&args.keys)?.read()?;
    progress.message("placing keys");
    let assignment = Assignment::of(&*router, &keys);
    let balance = balance(&choice.name(), &*router, &keys, &assignment);
    drop(progress);
    let measure = Measure::from(args.by);
    let picture = plot::bars(&balance, measure).map_err(|_| {
        Failure::Input(format!(
            "--by {measure}: unknown for these keys: expected --csv with that column"
        ))
    })?;
    out::write(&picture, &args.picture)
}

fn matrix(args: &RemapCommand) -> Result<(), Failure> {
    out::check(&args.picture)?;
    let moves = moves::measure(&args.moves, args.picture.quiet)?;
    out::write(&plot::matrix(&moves.remap), &args.picture)
}

fn slots(args: &SlotsCommand) -> Result<(), Failure> {
    out::check(&args.picture)?;
    let table = slot_table::read(&args.table.file)?;
    out::write(&plot::slots(&table), &args.picture)
}
