//! Redis Cluster: a third server takes its share of the slots while a client with an old map goes
//! on reading.
//!
//! The example reads the text of `CLUSTER NODES`, makes a plan, runs its commands and follows
//! redirections. Everything happens in memory. Over a network the texts and decisions are the same.
//!
//! `cargo run --example slot_migration`

use std::collections::BTreeMap;

use hashroute::Error;
use hashroute::redis::{
    Action, Address, ClusterNode, Command, CoverageRule, Decision, Goal, Health, Mark, Next,
    Outcome, Request, SlotMap, SlotPlan, SlotRule, Table,
};

/// The output of `CLUSTER NODES` at one of the servers.
const PRINTED: &str = "\
07c37df1 10.0.0.1:6379@16379 myself,master - 0 0 1 connected 0-8191
67ed2db8 10.0.0.2:6379@16379 master - 0 0 2 connected 8192-16383
e7d1eecc 10.0.0.3:6379@16379 master - 0 0 3 connected";

fn main() -> Result<(), Error> {
    let table = Table::from_text(PRINTED, SlotRule::REDIS)?;
    let mut servers = Servers::new(table.clone());
    for user in 0..3000 {
        servers.put(format!("{{user{user}}}.cart"));
    }

    // The slots that move, and the commands that move them. An operator can also type them.
    let plan = SlotPlan::new(&table, &Goal::even(&table))?;
    println!("{} slots move; the first by these commands:", plan.len());
    for action in plan.classic(&table, 0..1, 100, 5000)? {
        println!("  {}", action.to_string().replace('\n', "\n  "));
    }

    // A client that reads the table before the first move, and never again.
    let mut client = Client {
        map: SlotMap::new(SlotRule::REDIS, [Address::new("10.0.0.1", 6379)])?,
        met: BTreeMap::new(),
    };
    client.map.refill(&table)?;
    for (at, step) in plan.moves().enumerate() {
        for action in plan.classic(&servers.table.clone(), at..at + 1, 100, 5000)? {
            servers.perform(&action)?;
            for key in servers.keys(step.slot) {
                client.get(&key, &servers)?;
            }
        }
    }
    println!("\nThe client could read every key at any time. It got these answers:");
    for (answer, count) in &client.met {
        println!("  {count:>5}  {answer}");
    }

    assert!(plan.progress(&servers.table)?.is_done());
    println!("\nThe table at the end:\n{}", servers.table.nodes_text());
    Ok(())
}

struct Client {
    map: SlotMap,
    /// The number of answers of each kind.
    met: BTreeMap<String, u32>,
}

impl Client {
    /// Reads a key. Copy this function, and use a connection in place of `servers.answer`.
    fn get(&mut self, key: &str, servers: &Servers) -> Result<(), Error> {
        let mut call = self.map.start([key])?.repeatable();
        loop {
            let answer = servers.answer(call.to(), key, call.is_asking())?;
            let kind = answer.split(' ').next().unwrap_or_default();
            *self.met.entry(kind.into()).or_default() += 1;
            let outcome = match kind {
                "OK" => Outcome::Answer,
                _ => Outcome::Error(&answer),
            };
            match self.map.after(&mut call, outcome) {
                Next::Done => return Ok(()),
                // A real client sleeps for `wait` milliseconds here.
                Next::Send { wait: _ } => {}
                Next::GiveUp(stop) => panic!("{key}: {stop}"),
                next => panic!("{key}: {next:?}"),
            }
        }
    }
}

/// All servers. They agree on the table.
struct Servers {
    table: Table,
    /// The keys of each server, by its id and their slot.
    held: BTreeMap<(String, u32), Vec<String>>,
}

impl Servers {
    fn new(table: Table) -> Self {
        let held = BTreeMap::new();
        Self { table, held }
    }

    fn put(&mut self, key: String) {
        let slot = self.table.rule().slot(key.as_bytes());
        let owner = self.table.owner(slot).map_or("", ClusterNode::id);
        let keys = self.held.entry((owner.into(), slot)).or_default();
        keys.push(key);
    }

    /// Returns the keys in a slot, on all servers.
    fn keys(&self, slot: u32) -> Vec<String> {
        let ids = self.table.nodes().iter().map(|node| node.id().to_owned());
        let held = ids.filter_map(|id| self.held.get(&(id, slot)));
        held.flatten().cloned().collect()
    }

    fn id(&self, at: &Address) -> String {
        let node = self.table.nodes().iter().find(|node| node.address() == at);
        node.map_or("", ClusterNode::id).into()
    }

    /// Returns the answer of a server to a `GET`: `OK`, or the text of the error.
    fn answer(&self, at: &Address, key: &str, asking: bool) -> Result<String, Error> {
        let id = self.id(at);
        let slot = self.table.rule().slot(key.as_bytes());
        let held = self.held.get(&(id.clone(), slot));
        let has = held.is_some_and(|keys| keys.iter().any(|held| held == key));
        let keys = [key.as_bytes()];
        let request = Request::new(Command::Read, &keys).asking(asking);
        let policy = CoverageRule::default();
        let decision = self
            .table
            .decide(&id, &request, Health::Ok, policy, |_| has)?;
        assert!(decision != Decision::Serve || has, "{key} is not at {at}");
        Ok(decision.to_string())
    }

    /// Executes a command of a plan at its server.
    fn perform(&mut self, action: &Action) -> Result<(), Error> {
        match action {
            Action::Send { at, command } => self.set_slot(at, command),
            Action::Empty {
                at, list, migrate, ..
            } => {
                let slot = number(list.split(' ').nth(2));
                let mut words = migrate.split(' ').skip(1);
                let host = words.next().unwrap_or_default();
                let port = u16::try_from(number(words.next())).unwrap_or(0);
                let to = self.id(&Address::new(host, port));
                let keys = self.held.remove(&(self.id(at), slot));
                self.held
                    .entry((to, slot))
                    .or_default()
                    .extend(keys.unwrap_or_default());
                Ok(())
            }
            _ => unreachable!("a classic plan has no other actions"),
        }
    }

    fn set_slot(&mut self, at: &Address, command: &str) -> Result<(), Error> {
        let words: Vec<&str> = command.split(' ').collect();
        let (id, slot) = (self.id(at), number(words.get(2).copied()));
        match words[3..] {
            ["IMPORTING", from] => self.table.mark(slot, &id, Mark::Importing(from.into()))?,
            ["MIGRATING", to] => self.table.mark(slot, &id, Mark::Migrating(to.into()))?,
            ["NODE", owner] => {
                self.table.assign(slot..=slot, owner)?;
                self.table.unmark(slot, &id)
            }
            _ => None,
        };
        Ok(())
    }
}

fn number(word: Option<&str>) -> u32 {
    word.and_then(|word| word.parse().ok()).unwrap_or(0)
}
