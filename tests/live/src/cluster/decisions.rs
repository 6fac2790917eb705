//! Compares the answers of servers with the decisions of `Table::decide`.

use std::collections::{BTreeMap, BTreeSet};

use hashroute::redis::{ClusterNode, Command, CoverageRule, Mark, Request, Role, Table};
use redis::Cmd;

use super::data::Data;
use super::servers::{Servers, owners};
use crate::cluster_client::error_text;
use crate::random::Random;
use crate::tally::{Fallible, Tally};

/// The number of tries while the view of a server changes.
const TRIES: usize = 25;

/// A request that changes nothing.
pub(super) struct Probe {
    name: &'static str,
    command: Command,
    keys: Vec<Vec<u8>>,
    asking: bool,
    readonly: bool,
}

impl Probe {
    /// Makes a random request for existing keys, or for those of `focus` if it names any.
    pub(super) fn any(data: &Data, random: &mut Random, focus: &[usize]) -> Self {
        let key = |random: &mut Random| match focus {
            [] => data.any(random),
            _ => *random.pick(focus),
        };
        let first = key(random);
        // The neighbour usually has the same tag; the other key has any.
        let near = (first ^ 1).min(data.keys.len() - 1);
        let far = key(random);
        let (name, command, places) = match random.below(8) {
            0 => ("PERSIST", Command::Write, vec![first]),
            1 => ("SPUBLISH", Command::Channel, vec![first]),
            2 => ("EXISTS", Command::Read, vec![first, near]),
            3 => ("MGET", Command::Read, vec![first, near, first]),
            4 => ("MSETNX", Command::Write, vec![first, near]),
            5 => ("MGET", Command::Read, vec![first, far]),
            _ => ("GET", Command::Read, vec![first]),
        };
        Self {
            name,
            command,
            keys: places.iter().map(|key| data.keys[*key].clone()).collect(),
            asking: random.below(3) == 0,
            readonly: random.below(3) == 0,
        }
    }

    fn describe(&self, role: Role) -> String {
        let asking = if self.asking { " behind ASKING" } else { "" };
        let readonly = if self.readonly {
            " behind READONLY"
        } else {
            ""
        };
        format!("{}{asking}{readonly} to a {role:?}", self.name)
    }

    fn commands(&self) -> Vec<Cmd> {
        let mut command = redis::cmd(self.name);
        for key in &self.keys {
            command.arg(key);
            if ["MSETNX", "SPUBLISH"].contains(&self.name) {
                command.arg("x");
            }
        }
        let mode = if self.readonly {
            "READONLY"
        } else {
            "READWRITE"
        };
        let mut commands = vec![redis::cmd(mode)];
        // ASKING applies to the next command only.
        commands.extend(self.asking.then(|| redis::cmd("ASKING")));
        commands.push(command);
        commands
    }
}

/// The number of compared answers, by their first word.
pub(super) type Kinds = BTreeMap<String, usize>;

/// Sends all probes to all running servers; each decides by its own view.
pub(super) fn compare(
    servers: &mut Servers,
    probes: &[Probe],
    policy: CoverageRule,
    (tally, kinds): (&mut Tally, &mut Kinds),
) -> Fallible<()> {
    for place in servers.up() {
        let (view, held, theirs) = ask(servers, place, probes, policy)?;
        let health = view.health(policy);
        let id = servers.get(place).id.clone();
        for (probe, theirs) in probes.iter().zip(theirs) {
            let keys: Vec<_> = probe.keys.iter().map(Vec::as_slice).collect();
            let request = Request::new(probe.command, &keys)
                .asking(probe.asking)
                .readonly(probe.readonly);
            let holds = |key: &[u8]| held.contains(key);
            let ours = view.decide(&id, &request, health, policy, holds)?;
            let role = view.myself().map_or(Role::Unknown, ClusterNode::role);
            let what = probe.describe(role);
            tally.compare(&what, &keys.join(&b' '), &theirs, &ours.to_string());
            let kind = match theirs.split(' ').next() {
                Some("CLUSTERDOWN") | None => &theirs,
                Some(word) => word,
            };
            *kinds.entry(kind.into()).or_default() += 1;
        }
    }
    Ok(())
}

/// The view of a server, its keys in open slots, and its answers, all at one moment.
fn ask(
    servers: &mut Servers,
    place: usize,
    probes: &[Probe],
    policy: CoverageRule,
) -> Fallible<(Table, BTreeSet<Vec<u8>>, Vec<String>)> {
    let commands: Vec<Vec<Cmd>> = probes.iter().map(Probe::commands).collect();
    let flat: Vec<Cmd> = commands.iter().flatten().cloned().collect();
    for _ in 0..TRIES {
        let (before, ok) = (servers.view(place)?, servers.is_ok(place)?);
        let held = held(servers, place, &before)?;
        let answers = servers.pipeline(place, &flat)?;
        let after = servers.view(place)?;
        let is_same = facts(&before) == facts(&after) && ok == servers.is_ok(place)?;
        if !is_same || ok != before.health(policy).is_ok() {
            std::thread::sleep(std::time::Duration::from_millis(200));
            continue;
        }
        let mut answers = answers.into_iter();
        let last = commands.iter().map(|group| answers.nth(group.len() - 1));
        let text = last.map(|answer| answer.as_ref().and_then(error_text));
        let text = text.map(|text| text.unwrap_or_else(|| "OK".into()));
        return Ok((after, held, text.collect()));
    }
    Err("a server's view does not come to rest, or its state is not the one that we see".into())
}

/// Returns the parts of a view that decide, without times and links.
fn facts(view: &Table) -> impl PartialEq + '_ {
    let marks: Vec<(u32, &str, &Mark)> = view.marks().collect();
    let nodes = view.nodes().iter();
    let nodes = nodes.map(|node| (node.id(), node.role(), node.primary(), node.flags()));
    (owners(view), marks, nodes.collect::<Vec<_>>())
}

fn held(servers: &mut Servers, place: usize, view: &Table) -> Fallible<BTreeSet<Vec<u8>>> {
    let list = |slot| super::servers::command(&format!("CLUSTER GETKEYSINSLOT {slot} 1000"));
    let slots = view.open_slots().into_iter().flatten();
    let lists: Vec<Cmd> = slots.map(list).collect();
    let answers = servers.pipeline(place, &lists)?.into_iter();
    let keys: Result<Vec<Vec<Vec<u8>>>, _> = answers.map(redis::from_redis_value).collect();
    Ok(keys?.into_iter().flatten().collect())
}
