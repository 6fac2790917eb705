//! The text of `CLUSTER NODES` and `nodes.conf`: one line for each node.
//!
//! ```text
//! id host:port@bus[,hostname[,name=value..]] flags primary ping-sent pong-received epoch link slot..
//! vars currentEpoch n lastVoteEpoch n
//! ```
//!
//! Slots are `n` or `n-m`. The line of the reporting node also has `[n->-id]` for a slot that it
//! migrates and `[n-<-id]` for one that it imports. Only files have the line `vars`.
//!
//! Lines of the form `id host port role primary slot..` are read, too. Apache Kvrocks takes them in
//! `CLUSTERX SETNODES`.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;

use super::faults::Faults;
use super::setnodes::{is_setnodes, setnodes, words_before_slots};
use super::{check_size, wrong};
use crate::Error;
use crate::redis::node::number;
use crate::redis::{Address, ClusterNode, Flags, Link, Mark, Role, SlotRange, SlotRule, Table};

type Field = fn(&mut Flags) -> &mut bool;

/// The names of the flags, in the order in which servers write them. The role comes after `myself`.
const FLAGS: [(&str, Field); 6] = [
    ("myself", |flags| &mut flags.myself),
    ("fail?", |flags| &mut flags.suspected),
    ("fail", |flags| &mut flags.failed),
    ("handshake", |flags| &mut flags.handshake),
    ("noaddr", |flags| &mut flags.no_address),
    ("nofailover", |flags| &mut flags.no_failover),
];

impl Table {
    /// Reads the output of `CLUSTER NODES` or a file `nodes.conf`. O(text + slots).
    ///
    /// If two lines claim a slot, the node with the higher epoch gets it; at a tie the node with the
    /// smaller id, which is the one that would raise its epoch.
    ///
    /// # Errors
    ///
    /// [`Error::Config`] with the number of the wrong line; [`Error::DuplicateNode`];
    /// [`Error::Capacity`] beyond [`MAX_TEXT`](Self::MAX_TEXT) or
    /// [`MAX_NODES`](Self::MAX_NODES).
    ///
    /// ```
    /// use hashroute::redis::{SlotRule, Table};
    ///
    /// let text = "07c3 10.0.0.1:6379@16379 myself,master - 0 0 2 connected 0-99 [7->-e7d1]\n\
    ///             e7d1 10.0.0.2:6379@16379 master - 0 0 1 connected 100-16383\n";
    /// let table = Table::from_nodes_text(text, SlotRule::REDIS)?;
    /// assert_eq!(table.mark_of(7, "07c3").map(|mark| mark.peer()), Some("e7d1"));
    /// assert_eq!(table.nodes_text(), text);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn from_nodes_text(text: &str, rule: SlotRule) -> Result<Self, Error> {
        check_size(text)?;
        let lines = text.lines().map(str::trim).zip(1..);
        let lines = lines.filter(|(line, _)| !line.is_empty());
        let (vars, lines): (Vec<_>, Vec<_>) = lines.partition(|(line, _)| is_vars(line));
        let mut faults = Faults::default();
        let nodes = lines.iter().map(|(line, at)| node(line, *at));
        let mut nodes: Vec<_> = nodes.map(|node| faults.sift(node)).collect();
        for (node, (_, at)) in nodes.iter().zip(&lines) {
            faults.sift(
                node.as_ref()
                    .map_or(Ok(()), |node| check_primary(node, *at)),
            );
        }
        let repeated = faults.sift(rename(&mut nodes, &lines));
        faults.stop()?;
        let nodes: Vec<_> = nodes.into_iter().flatten().collect();
        let ids: Vec<Box<str>> = nodes.iter().map(|node| node.id().into()).collect();
        let mut table = Self::with_nodes(rule, nodes)?;
        table.repeated = repeated.unwrap_or_default();
        let mut faults = Faults::default();
        for (id, (line, at)) in ids.iter().zip(lines) {
            let mut owned = Vec::new();
            for word in line.split_whitespace().skip(words_before_slots(line)) {
                owned.extend(faults.sift(slots(&mut table, id, word, at)).flatten());
            }
            for range in merged(owned) {
                let claimed = table.claim(id, range);
                faults.sift(claimed.map_err(|error| wrong(at, error.to_string())));
            }
        }
        faults.stop()?;
        vars.iter()
            .try_for_each(|(line, at)| read_vars(&mut table, line, *at))?;
        Ok(table)
    }

    /// Writes the text of `CLUSTER NODES`, with nodes sorted by id. It has the marks of
    /// [`myself`](Self::myself) only, or of all nodes if there is no such node. Characters that
    /// would split a line, such as a space in a host name, become `_`. O(slots + n log n).
    ///
    /// ```
    /// use hashroute::redis::{ClusterNode, SlotRule, Table};
    ///
    /// let table = Table::with_nodes(SlotRule::REDIS, [ClusterNode::new("07c3")?])?;
    /// assert_eq!(table.nodes_text(), "07c3 :0@0 master - 0 0 0 connected\n");
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn nodes_text(&self) -> String {
        let mut ranges = self.range_texts();
        for (slot, id, mark) in self.marks() {
            if let Some(text) = self.shown(id).and_then(|at| ranges.get_mut(at)) {
                let arrow = if matches!(mark, Mark::Migrating(_)) {
                    '>'
                } else {
                    '<'
                };
                let _ = write!(text, " [{slot}-{arrow}-{}]", mark.peer());
            }
        }
        let lines = self.nodes().iter().zip(ranges);
        lines
            .map(|(node, ranges)| line(node) + &ranges + "\n")
            .collect()
    }

    /// Returns the slots of each node as a line has them, each range after a blank.
    pub(super) fn range_texts(&self) -> Vec<String> {
        let mut ranges = Vec::new();
        ranges.resize_with(self.nodes().len(), String::new);
        for (range, owner) in self.runs() {
            if let Some(text) = owner.and_then(|owner| ranges.get_mut(self.index_of(owner.id())?)) {
                text.push(' ');
                push_range(text, &range);
            }
        }
        ranges
    }

    /// Writes the text of a `nodes.conf`: [`nodes_text`](Self::nodes_text) and the epochs.
    ///
    /// ```
    /// use hashroute::redis::{SlotRule, Table};
    ///
    /// let text = Table::new(SlotRule::REDIS).conf_text();
    /// assert_eq!(text, "vars currentEpoch 0 lastVoteEpoch 0\n");
    /// ```
    pub fn conf_text(&self) -> String {
        let (current, vote) = self.epochs();
        self.nodes_text() + &alloc::format!("vars currentEpoch {current} lastVoteEpoch {vote}\n")
    }

    /// Returns the index of a node if its marks are written.
    fn shown(&self, id: &str) -> Option<usize> {
        let written = self.myself().is_none_or(|myself| myself.id() == id);
        self.index_of(id).filter(|_| written)
    }
}

/// The characters of an id that a server makes.
const ID: usize = 40;

/// Refuses a primary that lacks characters, if the id of the node lacks none.
fn check_primary(node: &ClusterNode, at: usize) -> Result<(), Error> {
    let primary = node.primary().filter(|id| id.len() != ID);
    match primary.filter(|_| node.id().split('@').next().map(str::len) == Some(ID)) {
        None => Ok(()),
        Some(id) => Err(wrong(
            at,
            alloc::format!(
                "the primary {id:?} has {} characters: expected {ID}, as an id has",
                id.chars().count()
            ),
        )),
    }
}

/// Gives replicas that share an id ids of their own, and returns the shared ids. A primary of the
/// same id, or the same replica twice, is a fault: two outputs were joined.
fn rename(
    nodes: &mut [Option<ClusterNode>],
    lines: &[(&str, usize)],
) -> Result<Vec<Box<str>>, Error> {
    let mut first: BTreeMap<Box<str>, (usize, Role)> = BTreeMap::new();
    let mut repeated: Vec<Box<str>> = Vec::new();
    for (node, (_, at)) in nodes.iter_mut().zip(lines) {
        let Some(found) = node.as_ref() else { continue };
        let id: Box<str> = found.id().into();
        let Some((line, role)) = first.get(&id).copied() else {
            first.insert(id, (*at, found.role()));
            continue;
        };
        let twice = || {
            let reason =
                "the node {id} was in line {line} already: expected the output of one server";
            let reason = reason.replace("{id}", &id);
            wrong(*at, reason.replace("{line}", &line.to_string()))
        };
        let own = alloc::format!("{id}@{}", found.address());
        let is_replica = found.role() == Role::Replica && role == Role::Replica;
        if !is_replica || first.contains_key(own.as_str()) {
            return Err(twice());
        }
        let own: Box<str> = own.into();
        let renamed = found.clone().renamed(own.clone()).map_err(|_| twice())?;
        first.insert(own, (*at, role));
        *node = Some(renamed);
        if !repeated.contains(&id) {
            repeated.push(id);
        }
    }
    Ok(repeated)
}

fn is_vars(line: &str) -> bool {
    line.split_whitespace().next() == Some("vars")
}

fn read_vars(table: &mut Table, line: &str, at: usize) -> Result<(), Error> {
    let mut words = line.split_whitespace().skip(1);
    while let Some(name) = words.next() {
        let value = words.next().and_then(number);
        let value = value.ok_or_else(|| wrong(at, "expected a number after each name"))?;
        match name {
            // A server that starts raises it to the highest epoch of its nodes as well.
            "currentEpoch" => table.current_epoch = table.current_epoch.max(value),
            "lastVoteEpoch" => table.last_vote_epoch = value,
            _ => {} // a later version may write more
        }
    }
    Ok(())
}

fn node(line: &str, at: usize) -> Result<ClusterNode, Error> {
    if is_setnodes(line) {
        return setnodes(line, at);
    }
    let words: Vec<&str> = line.split_whitespace().take(8).collect();
    let [id, address, flags, primary, sent, received, epoch, state] = words[..] else {
        return Err(wrong(
            at,
            alloc::format!(
                "expected id address flags primary ping pong epoch link slots, found {:?}",
                start(line)
            ),
        ));
    };
    let count = |text: &str, name: &str| {
        number::<u64>(text).ok_or_else(|| {
            wrong(
                at,
                alloc::format!("expected a number as {name}, found {text:?}"),
            )
        })
    };
    let node = ClusterNode::new(id).map_err(|error| wrong(at, error.to_string()))?;
    let node = read_flags(read_address(node, address, at)?, flags, primary, at)?
        .with_pings(count(sent, "ping")?, count(received, "pong")?)
        .with_epoch(count(epoch, "epoch")?);
    match state {
        "connected" => Ok(node),
        "disconnected" => Ok(node.with_link(Link::Disconnected)),
        _ => Err(wrong(
            at,
            alloc::format!("expected connected or disconnected after the epoch, found {state:?}"),
        )),
    }
}

/// Returns the start of a line, for messages.
fn start(line: &str) -> String {
    const MOST: usize = 40;
    match line.char_indices().nth(MOST) {
        Some((end, _)) => line[..end].to_owned() + "...",
        None => line.to_owned(),
    }
}

/// Reads `host:port@bus,hostname,name=value`. The first versions wrote `host:port` only.
fn read_address(node: ClusterNode, text: &str, at: usize) -> Result<ClusterNode, Error> {
    let wrong = || {
        wrong(
            at,
            alloc::format!("expected host:port@busport, found {text:?}"),
        )
    };
    let mut parts = text.split(',');
    let address = parts.next().unwrap_or_default();
    let (address, bus) = match address.rsplit_once('@') {
        Some((address, bus)) => (address, Some(number(bus).ok_or_else(wrong)?)),
        None => (address, None),
    };
    let node = node.with_address(address.parse::<Address>().map_err(|_| wrong())?);
    let node = match bus {
        Some(bus) => node.with_bus_port(bus),
        None => node,
    };
    let node = node.with_hostname(parts.next().unwrap_or_default());
    parts.try_fold(node, |node, part| {
        let (name, value) = part.split_once('=').ok_or_else(wrong)?;
        Ok(node.with_extra(name, value))
    })
}

pub(super) fn read_flags(
    node: ClusterNode,
    text: &str,
    primary: &str,
    at: usize,
) -> Result<ClusterNode, Error> {
    let (mut flags, mut role) = (Flags::default(), Role::Unknown);
    for word in text.split(',') {
        match word {
            "master" | "primary" => role = Role::Primary,
            "slave" | "replica" => role = Role::Replica,
            "noflags" => {}
            _ => {
                let known = FLAGS.iter().find(|(name, _)| *name == word);
                let reason = || wrong(at, alloc::format!("unknown flag {word:?}"));
                *known.ok_or_else(reason)?.1(&mut flags) = true;
            }
        }
    }
    let node = node.with_role(role).with_flags(flags);
    Ok(match (role, primary) {
        (_, "-") => node,
        (Role::Replica, id) => node.with_primary(id),
        _ => return Err(wrong(at, "only a slave has a primary: expected -")),
    })
}

/// Reads one word after the link state. Returns a range of slots; sets a mark in the table.
fn slots(table: &mut Table, id: &str, word: &str, at: usize) -> Result<Option<SlotRange>, Error> {
    let reason = || {
        wrong(
            at,
            alloc::format!(
                "expected a slot, first-last, [slot->-id] or [slot-<-id], found {word:?}"
            ),
        )
    };
    let told = |error: Error| wrong(at, error.to_string());
    if let Some(inside) = word
        .strip_prefix('[')
        .and_then(|word| word.strip_suffix(']'))
    {
        let (slot, mark) = read_mark(inside).ok_or_else(reason)?;
        return table.mark(slot, id, mark).map(|_| None).map_err(told);
    }
    let range = read_range(word).ok_or_else(reason)?;
    table.check_slots(&range).map_err(told)?;
    Ok(Some(range))
}

/// Merges the ranges of a line, so that a slot that it names many times costs no more than once.
fn merged(mut ranges: Vec<SlotRange>) -> Vec<SlotRange> {
    ranges.sort_unstable_by_key(|range| *range.start());
    ranges.dedup_by(|next, last| {
        let joins = *next.start() <= last.end().saturating_add(1);
        if joins {
            *last = *last.start()..=*last.end().max(next.end());
        }
        joins
    });
    ranges
}

fn read_mark(text: &str) -> Option<(u32, Mark)> {
    let peer = |id: &str| (!id.is_empty()).then(|| Box::from(id));
    if let Some((slot, id)) = text.split_once("->-") {
        return Some((number(slot)?, Mark::Migrating(peer(id)?)));
    }
    let (slot, id) = text.split_once("-<-")?;
    Some((number(slot)?, Mark::Importing(peer(id)?)))
}

fn read_range(word: &str) -> Option<SlotRange> {
    let (first, last) = word.split_once('-').unwrap_or((word, word));
    Some(number(first)?..=number(last)?)
}

fn push_range(text: &mut String, range: &SlotRange) {
    // Writing to a string cannot fail.
    let _ = match (range.start(), range.end()) {
        (first, last) if first == last => write!(text, "{first}"),
        (first, last) => write!(text, "{first}-{last}"),
    };
}

/// Writes the line of a node without its slots.
fn line(node: &ClusterNode) -> String {
    let mut address = alloc::format!(
        "{}:{}@{}",
        word(node.address().host()),
        node.address().port(),
        node.bus_port()
    );
    let mut extras = node.extras().peekable();
    if node.hostname().is_some() || extras.peek().is_some() {
        address = address + "," + &word(node.hostname().unwrap_or_default());
    }
    for (name, value) in extras {
        address = address + "," + &word(name).replace('=', "_") + "=" + &word(value);
    }
    let (sent, received) = node.pings();
    alloc::format!(
        "{} {address} {} {} {sent} {received} {} {}",
        node.id(),
        flag_words(node),
        word(node.primary().unwrap_or("-")),
        node.epoch(),
        node.link(),
    )
}

/// Replaces all characters that would split a word by `_`.
fn word(text: &str) -> String {
    text.replace(
        |c: char| c.is_whitespace() || c.is_control() || c == ',',
        "_",
    )
}

fn flag_words(node: &ClusterNode) -> String {
    let mut flags = node.flags();
    let mut words: Vec<&str> = Vec::new();
    for (name, flag) in FLAGS {
        if *flag(&mut flags) {
            words.push(name);
        }
    }
    let role = match node.role() {
        Role::Primary => "master",
        Role::Replica => "slave",
        Role::Unknown if words.is_empty() => return "noflags".to_owned(),
        Role::Unknown => return words.join(","),
    };
    words.insert(usize::from(node.flags().myself), role);
    words.join(",")
}
