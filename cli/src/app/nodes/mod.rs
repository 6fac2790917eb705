//! The nodes, read from a list, a count or a file.

use std::io::{self, Write};
use std::path::Path;

use hashroute::{Node, Server};
use hashroute_harness::text::printable;

mod file;
mod list;

pub(crate) use self::file::servers_of;
pub(crate) use self::list::from_list;
use crate::args::{NodeArgs, StrategyArgs};
use crate::failure::Failure;
use crate::output::MadeUp;

const DEFAULT_COUNT: u32 = 10;

/// Returns the nodes that the options ask for, in order; ten nodes by default.
pub(crate) fn read(args: &NodeArgs) -> Result<Vec<Node>, Failure> {
    Ok(unlabelled(&servers(args)?, "--nodes"))
}

/// Returns the first and the last node, if nobody gave nodes and they are made up.
pub(crate) fn made_up(args: &NodeArgs, spec: Option<&Path>) -> Option<String> {
    let files = [&args.nodes_file, &args.config];
    let is_given = args.nodes.is_some() || args.count.is_some() || spec.is_some();
    if is_given || files.into_iter().any(Option::is_some) {
        return None;
    }
    Some(format!("node-0 to node-{}", DEFAULT_COUNT - 1))
}

/// Notes on standard error nodes that nobody gave, where standard output holds a picture or lines.
pub(crate) fn tell_made_up(args: &NodeArgs, spec: Option<&Path>) {
    let nodes = made_up(args, spec);
    let made_up = MadeUp { keys: None, nodes };
    for line in made_up.lines() {
        // Standard error may be closed; there is no other place for the message.
        let _ = writeln!(io::stderr(), "note: {line}");
    }
}

/// Refuses nodes that nobody gave, for answers that somebody acts on.
pub(crate) fn given(args: &NodeArgs, strategy: &StrategyArgs) -> Result<(), Failure> {
    if made_up(args, strategy.spec.as_deref()).is_none() {
        return Ok(());
    }
    Err(Failure::input(
        "no nodes: expected --nodes a,b=2,c, --nodes-file FILE, --count N (node-0 to node-(N-1)), --config FILE or --spec FILE",
    ))
}

/// Drops the labels, and notes them: here they do not count.
fn unlabelled(servers: &[Server], option: &str) -> Vec<Node> {
    if let Some(label) = servers.iter().find_map(Server::own_label) {
        let label = printable(label);
        eprintln!("note: {option}: labels such as {label} are ignored here: names are hashed");
    }
    servers.iter().map(Server::to_node).collect()
}

/// Returns the nodes that the options ask for, with the labels that they give.
pub(crate) fn servers(args: &NodeArgs) -> Result<Vec<Server>, Failure> {
    if let Some(list) = &args.nodes {
        from_list(list, "--nodes")
    } else if let Some(path) = &args.nodes_file {
        servers_of(path, "--nodes-file")
    } else {
        let nodes = counted(args.count.unwrap_or(DEFAULT_COUNT) as usize);
        Ok(nodes.into_iter().map(Server::from).collect())
    }
}

/// Returns `count` nodes named `node-0`, `node-1` and so on.
pub(crate) fn counted(count: usize) -> Vec<Node> {
    (0..count).map(|i| Node::new(format!("node-{i}"))).collect()
}
