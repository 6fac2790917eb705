//! `draw`: pictures of what the other commands print.

mod args;
mod counts;
mod out;

use clap::{Args as _, Command};
use hashroute_harness::plot::{self, BarScene, RemapScene, RingScene};
use hashroute_harness::{self, Assignment, Measure, balance};

pub(super) use self::args::DrawArgs;
use self::args::{BalanceCommand, DrawCommand, RemapCommand, RingCommand, SlotsCommand};
use crate::app::keys::{self, Source};
use crate::app::nearest;
use crate::app::nodes;
use crate::app::strategy::Choice;
use crate::app::{moves, slot_table, typed};
use crate::args::typed_keys;
use crate::failure::Failure;
use crate::progress::Progress;

pub(crate) fn run(args: &DrawArgs) -> Result<(), Failure> {
    match &args.command {
        Some(DrawCommand::Ring(args)) => ring(args),
        Some(DrawCommand::Balance(args)) => bars(args),
        Some(DrawCommand::Remap(args)) => matrix(args),
        Some(DrawCommand::Slots(args)) => slots(args),
        Some(DrawCommand::NodeCounts(args)) => counts::run(args),
        None => Err(which(args)),
    }
}

/// Says which pictures there are.
fn which(args: &DrawArgs) -> Failure {
    let command = DrawArgs::augment_args(Command::new("draw"));
    let pictures: Vec<_> = command.get_subcommands().map(Command::get_name).collect();
    let list = pictures.join(", ");
    let words: Vec<_> = args
        .rest
        .iter()
        .map(|word| word.to_string_lossy())
        .collect();
    match words.as_slice() {
        [first, ..] if !first.starts_with('-') => {
            let near = nearest::name(first, pictures);
            let hint = near.map(|name| format!("did you mean hashroute draw {name}?"));
            let wrong = format!("draw {first}: unknown picture: expected one of {list}");
            Failure::Input(wrong).with_hint(hint)
        }
        _ => {
            let line = words
                .iter()
                .fold(String::new(), |line, word| line + " " + word);
            let hint = format!("for example: hashroute draw balance{line}");
            Failure::Input(format!("draw: no picture named: expected one of {list}"))
                .with_hint(Some(hint))
        }
    }
}

fn ring(args: &RingCommand) -> Result<(), Failure> {
    out::check(&args.picture)?;
    typed::refuse_files(&args.key, "--keys")?;
    let (choice, nodes) = Choice::read(&args.strategy, &args.nodes)?;
    let choice = choice.with_labels(&args.changes)?;
    let changes = choice.resolve(&nodes, &args.changes)?;
    crate::app::changes::check(&nodes, &changes)?;
    let router = choice.build(&nodes)?;
    let progress = Progress::start(args.picture.quiet, "reading keys");
    let source = Source::of(&args.keys)?;
    source.tell_made_up();
    nodes::tell_made_up(&args.nodes, args.strategy.spec.as_deref());
    let keys = source.read()?;
    progress.message("placing keys");
    let before = Assignment::of(&*router, &keys);
    let moved = if changes.is_empty() {
        None // nothing to show
    } else {
        let router = choice.after(&nodes, &changes)?;
        let after = Assignment::of(&*router, &keys);
        Some((router, hashroute_harness::remap(&before, &after, &keys)))
    };
    let named = typed_keys(&args.key, &args.hex);
    let shown: Vec<_> = match args.key.len() + args.hex.len() {
        0 => keys.iter().take(usize::from(args.shown)).collect(),
        _ => named.collect(),
    };
    let balance = balance(&choice.name(), &*router, &keys, &before);
    let source = source.named();
    let mut scene = RingScene::new(&*router, &balance)
        .with_keys(&shown)
        .with_source(&source);
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
    let source = Source::of(&args.keys)?;
    source.tell_made_up();
    nodes::tell_made_up(&args.nodes, args.strategy.spec.as_deref());
    let keys = source.read()?;
    progress.message("placing keys");
    let assignment = Assignment::of(&*router, &keys);
    let balance = balance(&choice.name(), &*router, &keys, &assignment);
    drop(progress);
    let measure = Measure::from(args.by);
    let source = source.named();
    let scene = BarScene::new(&balance, measure).with_order(args.sort.into());
    let picture = plot::bars(&scene.with_source(&source)).map_err(|_| {
        Failure::Input(format!(
            "--by {measure}: unknown for these keys: expected --csv with that column"
        ))
    })?;
    out::write(&picture, &args.picture)
}

fn matrix(args: &RemapCommand) -> Result<(), Failure> {
    out::check(&args.picture)?;
    let moves = moves::measure(&args.moves, args.picture.quiet)?;
    keys::tell_made_up(moves.made_up.keys.as_deref());
    nodes::tell_made_up(&args.moves.nodes, args.moves.strategy.spec.as_deref());
    let [before, after] = [&moves.before, &moves.after].map(|side| side.choice.name());
    // Another set-up has no name of its own: the words tell what it is, changes included.
    let (strategy, changes) = match moves.after.changes() {
        [] => (moves.words.as_str(), &[][..]),
        _ if before != after => (moves.words.as_str(), &[][..]),
        changes => (after.as_str(), changes),
    };
    let source = Source::of(&args.moves.keys)?.named();
    let scene = RemapScene::new(&moves.remap)
        .with_strategy(strategy)
        .with_changes(changes);
    let scene = scene.with_hash(moves.hash).with_source(&source);
    out::write(&plot::matrix(&scene), &args.picture)
}

fn slots(args: &SlotsCommand) -> Result<(), Failure> {
    out::check(&args.picture)?;
    let table = slot_table::read(&args.table.file)?;
    out::write(&plot::slots(&table), &args.picture)
}
