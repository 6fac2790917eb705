//! Lists of nodes on the command line.

use std::collections::BTreeSet;
use std::io::{self, Write};

use hashroute::Server;

use crate::args::{Entry, is_file, meant_otherwise, parse_nodes, whole};
use crate::failure::Failure;

pub(super) const EACH_NAMED: &str = "expected a name for each node";

/// Reads the nodes of a list, with the labels that it gives. Errors name `option`.
pub(crate) fn from_list(list: &str, option: &str) -> Result<Vec<Server>, Failure> {
    if list.is_empty() {
        return Err(Failure::Input(format!(
            "{option} '': no nodes: expected names, such as a,b=2,c"
        )));
    }
    if let Some(file) = is_file(list) {
        let name = list.split(',').next().unwrap_or(list);
        return Err(Failure::Input(format!(
            "{option} {list}: {file}: expected {option}-file {name}, or {name}=1 for a node of this name"
        )));
    }
    if let Some(wrong) = meant_otherwise(list) {
        return Err(Failure::Input(format!("{option}: {wrong}")));
    }
    let entries = parse_nodes(list).map_err(|reason| {
        let reason = match option.strip_prefix("--to-") {
            Some(_) => reason.replace("--count", "--to-count"),
            None => reason,
        };
        let reason = if reason.starts_with("entry ") {
            format!("{option}, {reason}")
        } else {
            format!("{option}, entry 1: {reason}")
        };
        Failure::Input(reason).with_hint(in_whole_numbers(list))
    })?;
    let servers: Vec<_> = entries.into_iter().map(server).collect();
    distinct(&servers).map_err(|reason| Failure::Input(format!("{option}: {reason}")))?;
    tell_numbers(list, &servers, option);
    Ok(servers)
}

/// Notes names that are numbers: they may be meant as weights or as a number of nodes.
fn tell_numbers(list: &str, servers: &[Server], option: &str) {
    let is_number = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    if !list.contains('=') && servers.iter().all(|server| is_number(server.name())) {
        // Standard error may be closed; there is no other place for the message.
        let _ = writeln!(
            io::stderr(),
            "note: {option} {list}: numbers, taken as names; weights stand after '=', such as a=3,b=4"
        );
    }
}

pub(super) fn server(entry: Entry) -> Server {
    let server = Server::from(entry.node);
    match entry.label {
        Some(label) => server.with_label(label),
        None => server,
    }
}

/// Writes a list with fractional weights in whole numbers of the same ratios.
fn in_whole_numbers(list: &str) -> Option<String> {
    let entry = |text| {
        let text = str::trim(text);
        text.rsplit_once('=').unwrap_or((text, "1"))
    };
    let (names, weights): (Vec<_>, Vec<_>) = list.split(',').map(entry).unzip();
    let is_fraction = weights.iter().any(|weight| weight.contains('.'));
    let whole = whole(&weights).filter(|_| is_fraction)?;
    let entries = names.iter().zip(whole);
    let entries: Vec<_> = entries
        .map(|(name, weight)| format!("{name}={weight}"))
        .collect();
    Some(format!(
        "the same ratios in whole numbers: {}",
        entries.join(",")
    ))
}

/// Refuses a list with a name twice, or without a name.
pub(super) fn distinct(nodes: &[Server]) -> Result<(), String> {
    let mut names = BTreeSet::new();
    for (index, node) in nodes.iter().enumerate() {
        if node.name().is_empty() {
            return Err(format!("node {} has no name: {EACH_NAMED}", index + 1));
        }
        if !names.insert(node.name()) {
            return Err(format!(
                "node \"{}\" is already there: expected a different name for each node",
                node.name()
            ));
        }
    }
    Ok(())
}
