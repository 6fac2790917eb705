//! The measurement of keys that move when the nodes change, for `remap` and `draw remap`.

use std::path::Path;

use hashroute::{Change, Node, Nodes};
use hashroute_harness::text::hash_name;
use hashroute_harness::{Assignment, Remap};

use super::strategy::Choice;
use super::{changes, keys, nodes};
use crate::args::{ChangeArgs, MoveArgs};
use crate::failure::Failure;
use crate::progress::Progress;

/// The keys that move, with the set-up and the changes that move them.
pub(crate) struct Moves {
    pub(crate) choice: Choice,
    nodes: Vec<Node>,
    pub(crate) changes: Vec<Change>,
    pub(crate) remap: Remap,
    /// The name of the hash function of keys.
    pub(crate) hash: &'static str,
}

/// Reads the options and measures which keys move.
pub(crate) fn measure(args: &MoveArgs, quiet: bool) -> Result<Moves, Failure> {
    let (choice, nodes) = Choice::read(&args.strategy, &args.nodes)?;
    let changes = changes(
        &choice,
        &nodes,
        &args.changes,
        args.to_nodes_file.as_deref(),
    )?;
    let before = choice.build(&nodes)?;
    let hash = hash_name(&*before);
    let progress = Progress::start(quiet, "reading keys");
    let keys = keys::Source::of(&args.keys)?.read()?;
    progress.message("placing keys");
    let before = Assignment::of(&*before, &keys);
    let after = Assignment::of(&*choice.after(&nodes, &changes)?, &keys);
    let remap = hashroute_harness::remap(&before, &after, &keys);
    Ok(Moves {
        choice,
        nodes,
        changes,
        remap,
        hash,
    })
}

impl Moves {
    /// Returns whether any node has weight after the changes.
    pub(crate) fn any_weight(&self) -> bool {
        let nodes = Nodes::new(self.nodes.iter().cloned()).and_then(|mut nodes| {
            let mut changes = self.changes.iter();
            changes.try_for_each(|change| nodes.apply(change).map(drop))?;
            Ok(nodes)
        });
        nodes.is_ok_and(|nodes| nodes.weighted() > 0)
    }
}

/// Reads the changes of the nodes, and checks them.
fn changes(
    choice: &Choice,
    nodes: &[Node],
    changes: &ChangeArgs,
    to: Option<&Path>,
) -> Result<Vec<Change>, Failure> {
    let changes = match to {
        Some(path) => {
            let list = nodes::from_file(path, "--to-nodes-file")?;
            let changes = changes::between(nodes, &list);
            let beside = changes::beside(nodes, &changes, &list, choice.scheme.minds_order());
            changes::note_unseen(&beside);
            changes
        }
        None if changes.0.is_empty() => {
            return Err(Failure::input(
                "nothing changes: expected --add, --remove, --reweight or --to-nodes-file",
            ));
        }
        None => choice.resolve(&changes.0),
    };
    changes::check(nodes, &changes)?;
    Ok(changes)
}
