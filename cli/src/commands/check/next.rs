//! What to run next after a check that failed, and the node that it is about.

use hashroute::{Change, Node};
use hashroute_harness::{Balance, Measure, NodeBalance, Remap};

use super::args::CheckArgs;
use crate::app::changes::between;
use crate::app::shell::Shell;

/// Returns the amount of a measure that a node holds.
pub(super) fn load(node: &NodeBalance, measure: Measure) -> u64 {
    match measure {
        Measure::Bytes => node.bytes.unwrap_or(0),
        Measure::Requests => node.requests.unwrap_or(0),
        _ => node.keys,
    }
}

/// Returns the node that a figure is about: an empty one, the fullest, or the farthest from its
/// fair share.
pub(super) fn node(balance: &Balance, measure: Measure, figure: &str) -> Option<String> {
    let total: u64 = balance.nodes.iter().map(|node| load(node, measure)).sum();
    let of_fair =
        |node: &NodeBalance| load(node, measure) as f64 / (total.max(1) as f64 * node.fair_share);
    let far = |node: &NodeBalance| match figure {
        "max_over_mean" => of_fair(node),
        "empty" => -of_fair(node),
        _ if figure.starts_with("top_") => load(node, measure) as f64,
        _ => (of_fair(node) - 1.0).abs(),
    };
    let weighted = balance.nodes.iter().filter(|node| node.weight > 0);
    // Of equals, the first.
    let most = weighted.reduce(|most, node| if far(node) > far(most) { node } else { most })?;
    let is_meant = figure != "empty" || load(most, measure) == 0;
    is_meant.then(|| most.name.clone())
}

/// Returns the node that most of the moved keys go to.
pub(super) fn receiver(remap: &Remap) -> Option<String> {
    let most = remap.flows.iter().max_by_key(|flow| flow.keys)?;
    most.to.clone()
}

/// Returns the command that explains a figure of the balance.
pub(super) fn explain(args: &CheckArgs, nodes: usize) -> String {
    let shell = Shell::new("skew");
    let shell = match args.node_counts {
        Some(_) => shell.with("--count", Some(nodes)),
        None => shell.nodes(&args.nodes),
    };
    with_setup(shell, args).to_string()
}

/// Returns the command that shows which keys moved, if only the nodes changed.
pub(super) fn moved(args: &CheckArgs, before: &[Node], now: &[Node]) -> Option<String> {
    let changes = between(before, now);
    if changes.is_empty() {
        return None;
    }
    let shell = changes.iter().fold(
        with_nodes(Shell::new("remap"), before)?,
        |shell, change: &Change| shell.change(change),
    );
    Some(with_setup(shell, args).to_string())
}

/// Adds a list of nodes as options; `None` if a name has a comma.
fn with_nodes(shell: Shell, nodes: &[Node]) -> Option<Shell> {
    let plain = |(index, node): (usize, &Node)| {
        node.weight() == 1 && node.name() == format!("node-{index}")
    };
    if nodes.iter().enumerate().all(plain) {
        return Some(shell.with("--count", Some(nodes.len())));
    }
    if nodes.iter().any(|node| node.name().contains(',')) {
        return None;
    }
    let named: Vec<_> = nodes
        .iter()
        .map(|node| match (node.name(), node.weight()) {
            (name, 1) if !name.contains('=') => name.to_owned(),
            (name, weight) => format!("{name}={weight}"),
        })
        .collect();
    Some(shell.with("--nodes", Some(named.join(","))))
}

/// Adds the options for the strategy and the keys.
fn with_setup(shell: Shell, args: &CheckArgs) -> Shell {
    let strategy = &args.strategy;
    let named = strategy.spec.is_none() && strategy.tuning.dialect.is_none();
    let name = Some(&strategy.strategy).filter(|_| named);
    shell
        .with_file("--spec", strategy.spec.as_deref())
        .with("--strategy", name)
        .tuning(&strategy.tuning, &|_| true)
        .keys(&args.keys)
}
