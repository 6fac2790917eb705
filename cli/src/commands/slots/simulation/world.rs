//! The servers, and the truth that they are held against.

use std::collections::{BTreeMap, BTreeSet};

use hashroute::redis::{
    Address, ClusterNode, Command, CoverageRule, Decision, Health, Request, Role, SlotRule, Table,
};

use super::laws::Laws;
use crate::failure::Failure;
use crate::key_text;

/// Each server has a whole table of its own.
const MOST_SERVERS: usize = 1000;
/// Keys of a slot on the move that are looked at after each command.
const PROBES: usize = 4;

pub(super) struct Server {
    id: String,
    pub(super) view: Table,
    /// Values by slot and number of the key.
    store: BTreeMap<(u32, u32), u64>,
}

pub(super) struct World {
    pub(super) rule: SlotRule,
    pub(super) servers: Vec<Server>,
    by_address: BTreeMap<Address, usize>,
    keys: Vec<Box<[u8]>>,
    count: u32,
    /// Their slots.
    slots: Vec<u32>,
    /// Keys by slot.
    pub(super) by_slot: Vec<Vec<u32>>,
    /// What was written last, by key.
    truth: Vec<Option<u64>>,
    /// How many servers have it, by key.
    copies: Vec<u32>,
    next_value: u64,
    /// Who is probed next.
    other: usize,
    /// Commands of the resharding so far.
    pub(super) now: u64,
    pub(super) laws: Laws,
}

impl World {
    /// Nine of ten keys are there; commands write the rest.
    pub(super) fn new(table: &Table, keys: u32) -> Result<Self, Failure> {
        let table = placed(table)?;
        let nodes = table.nodes().iter();
        let primaries = nodes.filter(|node| node.role() == Role::Primary);
        let servers = primaries.map(|node| Server {
            id: node.id().to_owned(),
            view: table.clone(),
            store: BTreeMap::new(),
        });
        let servers: Vec<_> = servers.take(MOST_SERVERS + 1).collect();
        if servers.len() > MOST_SERVERS {
            return Err(Failure::Input(format!(
                "more than {MOST_SERVERS} primaries: a simulation takes no more"
            )));
        }
        let by_address = (0..)
            .zip(&servers)
            .map(|(index, server)| (address(&server.id), index));
        let names: Vec<Box<[u8]>> = (0..keys)
            .map(|key| name(key, keys).into_bytes().into())
            .collect();
        let mut world = Self {
            slots: names.iter().map(|key| table.rule().slot(key)).collect(),
            rule: table.rule().clone(),
            by_address: by_address.collect(),
            servers,
            keys: names,
            count: keys,
            by_slot: vec![Vec::new(); table.rule().slots() as usize],
            truth: vec![None; keys as usize],
            copies: vec![0; keys as usize],
            next_value: 0,
            other: 0,
            now: 0,
            laws: Laws::new(),
        };
        world.fill(&table);
        Ok(world)
    }

    fn fill(&mut self, table: &Table) {
        for key in 0..self.count {
            let slot = self.slot(key);
            self.by_slot[slot as usize].push(key);
            let owner = table
                .owner(slot)
                .and_then(|owner| self.server(&address(owner.id())));
            if let (Some(owner), true) = (owner, key % 10 != 9) {
                self.write(owner, key, true);
            }
        }
    }

    pub(super) fn keys(&self) -> u32 {
        self.count
    }

    pub(super) fn key(&self, key: u32) -> &[u8] {
        &self.keys[key as usize]
    }

    pub(super) fn slot(&self, key: u32) -> u32 {
        self.slots[key as usize]
    }

    /// The key under the same tag, if it has one.
    pub(super) fn partner(&self, key: u32) -> Option<u32> {
        let first = first_tagged(self.keys());
        let partner = (key.checked_sub(first)? ^ 1) + first;
        (partner < self.keys()).then_some(partner)
    }

    pub(super) fn server(&self, address: &Address) -> Option<usize> {
        self.by_address.get(address).copied()
    }

    pub(super) fn addresses(&self) -> impl Iterator<Item = Address> + '_ {
        self.by_address.keys().cloned()
    }

    pub(super) fn index_of(&self, id: &str) -> Result<usize, Failure> {
        let index = self.server(&address(id));
        index.ok_or_else(|| Failure::Input(format!("{id} is no primary of the table")))
    }

    /// What a server answers to a command with these keys.
    pub(super) fn decide(
        &self,
        server: usize,
        command: Command,
        keys: &[u32],
        asking: bool,
    ) -> Result<Decision<'_>, Failure> {
        let server = &self.servers[server];
        let bytes: Vec<_> = keys.iter().map(|key| self.key(*key)).collect();
        let request = Request::new(command, &bytes).asking(asking);
        let holds = |wanted: &[u8]| {
            let index = bytes.iter().position(|key| *key == wanted);
            index.is_some_and(|index| {
                server
                    .store
                    .contains_key(&(self.slot(keys[index]), keys[index]))
            })
        };
        // All slots have owners that work, all the time.
        let decided = server.view.decide(
            &server.id,
            &request,
            Health::Ok,
            CoverageRule::default(),
            holds,
        );
        Ok(decided?)
    }

    pub(super) fn read(&mut self, server: usize, key: u32) {
        let slot = self.slot(key);
        let found = self.servers[server].store.get(&(slot, key)).copied();
        let (truth, shown) = (
            self.truth[key as usize],
            key_text::shown(&self.keys[key as usize]),
        );
        self.laws.last_write.check(found == truth, || {
            let id = &self.servers[server].id;
            format!(
                "{shown} is {} at {id} but was written as {}",
                value(found),
                value(truth)
            )
        });
    }

    /// A new value, or none.
    pub(super) fn write(&mut self, server: usize, key: u32, some: bool) {
        let slot = self.slot(key);
        if some {
            self.next_value += 1;
            self.put(server, slot, key, self.next_value);
        } else if self.servers[server].store.remove(&(slot, key)).is_some() {
            self.copies[key as usize] -= 1;
        }
        self.truth[key as usize] = some.then_some(self.next_value);
    }

    fn put(&mut self, server: usize, slot: u32, key: u32, value: u64) {
        if self.servers[server]
            .store
            .insert((slot, key), value)
            .is_none()
        {
            self.copies[key as usize] += 1;
        }
        let copies = self.copies[key as usize];
        let shown = || {
            format!(
                "{} is on {copies} servers",
                key_text::shown(&self.keys[key as usize])
            )
        };
        self.laws.one_copy.check(copies == 1, shown);
    }

    /// Up to `most` keys of a slot go from one server to another; whether any were left to go.
    pub(super) fn migrate(&mut self, slot: u32, from: usize, to: usize, most: u32) -> u64 {
        let held = self.servers[from].store.range((slot, 0)..=(slot, u32::MAX));
        let batch: Vec<_> = held
            .take(most as usize)
            .map(|(entry, value)| (entry.1, *value))
            .collect();
        for (key, value) in &batch {
            self.servers[from].store.remove(&(slot, *key));
            self.copies[*key as usize] -= 1;
            self.put(to, slot, *key, *value);
        }
        batch.len() as u64
    }

    /// What a server does with the keys of a slot that is another's now.
    pub(super) fn forget(&mut self, slot: u32, server: usize) {
        let held = self.servers[server]
            .store
            .range((slot, 0)..=(slot, u32::MAX));
        let left: Vec<_> = held.map(|(entry, _)| *entry).collect();
        for entry in left {
            self.servers[server].store.remove(&entry);
            self.copies[entry.1 as usize] -= 1;
        }
    }

    /// Whoever is asked first: a write ends at one server, always the same.
    pub(super) fn probe(&mut self, moving: Option<(u32, &str, &str)>) -> Result<(), Failure> {
        let Some((slot, from, to)) = moving else {
            return Ok(());
        };
        // The others own nothing of it and have no marks; one of them in turn is enough.
        self.other = (self.other + 1) % self.servers.len();
        let asked = [self.index_of(from)?, self.index_of(to)?, self.other];
        for at in 0..self.by_slot[slot as usize].len().min(PROBES) {
            let key = self.by_slot[slot as usize][at];
            let mut takers = BTreeSet::new();
            for server in asked {
                takers.extend(self.taker(server, key)?);
            }
            let shown = key_text::shown(&self.keys[key as usize]);
            let ids: Vec<_> = takers
                .iter()
                .map(|taker| self.servers[*taker].id.as_str())
                .collect();
            let told = format!("{shown} in slot {slot} would be written at {}", told(&ids));
            self.laws.one_server.check(takers.len() == 1, || told);
        }
        Ok(())
    }

    /// Where a write that is sent to this server ends, unless it knows another owner.
    fn taker(&self, server: usize, key: u32) -> Result<Option<usize>, Failure> {
        Ok(match self.decide(server, Command::Write, &[key], false)? {
            Decision::Serve => Some(server),
            Decision::Ask { to, .. } => {
                let to = self.index_of(to.id())?;
                let asked = self.decide(to, Command::Write, &[key], true)?;
                (asked == Decision::Serve).then_some(to)
            }
            _ => None,
        })
    }

    /// The end: all keys where they should be, all servers of one mind.
    pub(super) fn judge(&mut self, expected: &Table) {
        for key in 0..self.keys() {
            let slot = self.slot(key);
            let owner = expected
                .owner(slot)
                .and_then(|owner| self.server(&address(owner.id())));
            let found =
                owner.and_then(|owner| self.servers[owner].store.get(&(slot, key)).copied());
            let truth = self.truth[key as usize];
            let copies = u32::from(truth.is_some());
            let holds = found == truth && self.copies[key as usize] == copies;
            let shown = || {
                let shown = key_text::shown(&self.keys[key as usize]);
                format!(
                    "{shown} is {} with its owner but was written as {}",
                    value(found),
                    value(truth)
                )
            };
            self.laws.all_there.check(holds, shown);
        }
        for server in &self.servers {
            let wrong = (0..self.rule.slots()).find(|slot| {
                server.view.owner(*slot).map(ClusterNode::id)
                    != expected.owner(*slot).map(ClusterNode::id)
            });
            let marks = server.view.marks().count();
            self.laws
                .agreed
                .check(wrong.is_none() && marks == 0, || match wrong {
                    None => format!("{} has {marks} marks left", server.id),
                    Some(slot) => format!(
                        "{} believes that slot {slot} is {}'s",
                        server.id,
                        server.view.owner(slot).map_or("nobody", ClusterNode::id)
                    ),
                });
        }
    }
}

impl Server {
    pub(super) fn id(&self) -> &str {
        &self.id
    }
}

/// The same table with addresses made of ids: whatever servers announce, these are distinct.
fn placed(table: &Table) -> Result<Table, Failure> {
    let mut placed = table.clone();
    for node in table.nodes() {
        placed.replace(node.clone().with_address(address(node.id())))?;
    }
    Ok(placed)
}

pub(super) fn address(id: &str) -> Address {
    Address::new(id, 1)
}

/// Half of the keys have no tag.
const fn first_tagged(keys: u32) -> u32 {
    keys / 4 * 2
}

/// Keys in pairs under a tag come last.
fn name(key: u32, keys: u32) -> String {
    match key.checked_sub(first_tagged(keys)) {
        None => format!("user:{key}"),
        Some(tagged) if tagged % 2 == 0 => format!("{{cart:{}}}:items", tagged / 2),
        Some(tagged) => format!("{{cart:{}}}:total", tagged / 2),
    }
}

fn value(value: Option<u64>) -> String {
    value.map_or_else(|| "missing".into(), |value| format!("value {value}"))
}

fn told(ids: &[&str]) -> String {
    if ids.is_empty() {
        "no server".into()
    } else {
        ids.join(" and ")
    }
}
