//! A cluster in memory: servers with views of their own, keys, moves, failovers, and clients whose
//! maps are as stale as chance has it.
//!
//! Held at all times: no two servers serve a write of the same key, wherever a client starts it
//! ends at the same server, within the bound and with the value that was written last.
//!
//! The model replicates at once (Redis may lose what a replica has not got yet), tells primaries
//! at once of a slot that was taken over and of an election (Redis sends it to all), lets a replica
//! hear all that was sent to it before its primary's epoch rises and before it stands for election
//! (a move takes longer than a message, and an election the node timeout), and opens moves again
//! that a failover interrupted (an operator must). All else comes late, or out of turn. Without the
//! third, a replica may take back a slot that had left its primary: voters compare epochs, and the
//! primary's may have risen since.

mod failures;

use core::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use hashroute::redis::{
    Address, Claim, ClusterNode, Command, CoverageRule, Decision, Endpoint, Flags, Mark, Next,
    Outcome, Protocol, Redirect, Request, Role, SlotMap, SlotRule, Table,
};
use hashroute::{Error, KeyHasher};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

const SLOTS: u32 = 12;
const PRIMARIES: usize = 4;
const CLIENTS: usize = 3;

struct Server {
    id: String,
    view: Table,
    store: BTreeMap<String, u64>,
    up: bool,
}

#[derive(Clone, Debug)]
struct Moving {
    slot: u32,
    from: String,
    to: String,
    /// The target owns it already.
    owned: bool,
}

struct World {
    servers: Vec<Server>,
    truth: BTreeMap<String, u64>,
    inbox: Vec<(usize, Claim)>,
    moving: Option<Moving>,
    clients: Vec<SlotMap>,
    seen: BTreeSet<&'static str>,
}

#[derive(Clone, Debug)]
enum Event {
    Write(usize, usize),
    Read(usize, usize),
    ReadTwo(usize, usize, usize),
    Begin(u32, usize),
    MoveKeys,
    Finish,
    Deliver(usize),
    Refresh(usize, usize),
    Crash(usize),
    Notice,
    Elect,
    Return,
}

type Fallible<T> = Result<T, Error>;

fn key(number: usize) -> String {
    // Pairs share a tag, so that requests of two keys are possible.
    format!("{{{}}}:{}", number / 3, number % 3)
}

impl World {
    fn new() -> Fallible<Self> {
        let rule = SlotRule::new(KeyHasher::REDIS, SLOTS)?;
        let id = |i: usize| {
            if i < PRIMARIES {
                format!("p{i}")
            } else {
                format!("r{}", i - PRIMARIES)
            }
        };
        let mut nodes = Vec::new();
        for i in 0..2 * PRIMARIES {
            let node = ClusterNode::new(id(i))?
                .with_address(Address::new(id(i), 1))
                .with_epoch((i % PRIMARIES) as u64);
            nodes.push(if i < PRIMARIES {
                node
            } else {
                node.with_primary(id(i - PRIMARIES))
            });
        }
        let mut table = Table::with_nodes(rule.clone(), nodes)?;
        for slot in 0..SLOTS {
            table.assign(slot..=slot, &id(slot as usize % PRIMARIES))?;
        }
        let mut servers = Vec::new();
        for i in 0..2 * PRIMARIES {
            let mut view = table.clone();
            let node = view.node(&id(i)).cloned().ok_or(Error::EmptyName)?;
            view.replace(node.with_flags(Flags::default().with_myself(true)))?;
            servers.push(Server {
                id: id(i),
                view,
                store: BTreeMap::new(),
                up: true,
            });
        }
        let seeds = || (0..PRIMARIES).map(|i| Address::new(id(i), 1));
        let clients: Fallible<_> = (0..CLIENTS)
            .map(|_| SlotMap::new(rule.clone(), seeds()))
            .collect();
        Ok(Self {
            servers,
            truth: BTreeMap::new(),
            inbox: Vec::new(),
            moving: None,
            clients: clients?,
            seen: BTreeSet::new(),
        })
    }

    fn at(&self, id: &str) -> usize {
        self.servers
            .iter()
            .position(|server| server.id == id)
            .unwrap_or(0)
    }

    fn is_primary(&self, i: usize) -> bool {
        let server = &self.servers[i];
        server.up
            && server
                .view
                .node(&server.id)
                .is_some_and(|node| node.role() == Role::Primary)
    }

    fn decide(&self, i: usize, request: &Request<'_>) -> Fallible<(String, bool)> {
        let server = &self.servers[i];
        let health = server.view.health(CoverageRule::default());
        let holds = |key: &[u8]| server.store.contains_key(&*String::from_utf8_lossy(key));
        let decision =
            server
                .view
                .decide(&server.id, request, health, CoverageRule::default(), holds)?;
        let text = decision.wire(Endpoint::Ip).unwrap_or_default();
        Ok((text, decision == Decision::Serve))
    }

    /// A claim to everybody: at once to some, later to others.
    fn tell(&mut self, claim: &Claim, at_once: impl Fn(&Self, usize) -> bool) -> Fallible<()> {
        for i in 0..self.servers.len() {
            if at_once(self, i) {
                if !self.is_primary(i) {
                    self.deliver_to(i)?;
                }
                self.hear(i, claim)?;
            } else {
                self.inbox.push((i, claim.clone()));
            }
        }
        Ok(())
    }

    fn hear(&mut self, i: usize, claim: &Claim) -> Fallible<()> {
        let server = &mut self.servers[i];
        if !server.up || server.id == *claim.id {
            return Ok(());
        }
        let heard = server.view.hear(claim)?;
        let rule = server.view.rule().clone();
        let lost = |key: &String| {
            heard
                .lost
                .iter()
                .any(|range| range.contains(&rule.slot(key.as_bytes())))
        };
        server.store.retain(|key, _| !lost(key));
        if heard.follows {
            server.store.clear();
            self.seen.insert("followed");
        }
        Ok(())
    }

    fn deliver(&mut self, count: usize) -> Fallible<()> {
        for _ in 0..count.min(self.inbox.len()) {
            let at = (count % 7 + self.inbox.len() * 3 / 2) % self.inbox.len();
            let (to, claim) = self.inbox.swap_remove(at);
            self.hear(to, &claim)?;
        }
        Ok(())
    }

    fn deliver_to(&mut self, i: usize) -> Fallible<()> {
        let (mine, others) = core::mem::take(&mut self.inbox)
            .into_iter()
            .partition::<Vec<_>, _>(|(to, _)| *to == i);
        self.inbox = others;
        mine.iter().try_for_each(|(_, claim)| self.hear(i, claim))
    }

    /// What time does when a client waits.
    fn tick(&mut self) -> Fallible<()> {
        self.notice()?;
        self.elect()?;
        self.deliver(usize::MAX)?;
        self.move_keys();
        self.finish()
    }

    // --- Moves ---

    fn begin(&mut self, slot: u32, target: usize) -> Fallible<()> {
        let target = target % self.servers.len();
        let owner = (0..self.servers.len()).find(|i| {
            let server = &self.servers[*i];
            server.up
                && server
                    .view
                    .owner(slot)
                    .is_some_and(|owner| owner.id() == server.id)
        });
        let Some(from) = owner
            .filter(|from| *from != target && self.moving.is_none() && self.is_primary(target))
        else {
            return Ok(());
        };
        let (from, to) = (
            self.servers[from].id.clone(),
            self.servers[target].id.clone(),
        );
        // The target must know who has it, as SETSLOT checks.
        let claim = self.servers[self.at(&from)].view.claim_of(&from)?;
        self.hear(target, &claim)?;
        if self.servers[target].view.owner(slot).map(ClusterNode::id) != Some(&from) {
            return Ok(());
        }
        self.open(slot, &from, &to)?;
        self.moving = Some(Moving {
            slot,
            from,
            to,
            owned: false,
        });
        Ok(())
    }

    fn open(&mut self, slot: u32, from: &str, to: &str) -> Fallible<()> {
        let (source, target) = (self.at(from), self.at(to));
        self.servers[target]
            .view
            .mark(slot, to, Mark::Importing(from.into()))?;
        self.servers[source]
            .view
            .mark(slot, from, Mark::Migrating(to.into()))?;
        Ok(())
    }

    fn move_keys(&mut self) {
        let Some(moving) = self.moving.clone() else {
            return;
        };
        let (from, to) = (self.at(&moving.from), self.at(&moving.to));
        if !self.servers[from].up || !self.servers[to].up {
            return;
        }
        let rule = self.servers[from].view.rule().clone();
        let next = self.servers[from]
            .store
            .keys()
            .find(|key| rule.slot(key.as_bytes()) == moving.slot)
            .cloned();
        if let Some((key, value)) = next.and_then(|key| self.servers[from].store.remove_entry(&key))
        {
            assert!(!self.servers[to].store.contains_key(&key), "BUSYKEY {key}");
            self.servers[to].store.insert(key, value);
            self.seen.insert("migrated");
        }
    }

    /// The target first, then, at another time, the source.
    fn finish(&mut self) -> Fallible<()> {
        let Some(mut moving) = self.moving.take() else {
            return Ok(());
        };
        let (from, to) = (self.at(&moving.from), self.at(&moving.to));
        let rule = self.servers[from].view.rule().clone();
        let is_left = self.servers[from]
            .store
            .keys()
            .any(|key| rule.slot(key.as_bytes()) == moving.slot);
        if is_left || !self.servers[from].up || !self.servers[to].up {
            self.moving = Some(moving);
            return Ok(());
        }
        let (slot, id) = (moving.slot, moving.to.clone());
        if moving.owned {
            let view = &mut self.servers[from].view;
            view.unmark(slot, &moving.from);
            view.assign(slot..=slot, &id)?;
            self.seen.insert("finished");
            return Ok(());
        }
        moving.owned = true;
        let view = &mut self.servers[to].view;
        view.unmark(slot, &id);
        view.assign(slot..=slot, &id)?;
        view.bump(&id)?;
        let claim = view.claim_of(&id)?;
        let source = from;
        let copies = |world: &Self, i: usize| {
            let server = &world.servers[i];
            server.view.node(&server.id).and_then(ClusterNode::primary) == Some(&*id)
        };
        self.tell(&claim, |world, i| {
            i != source && (world.is_primary(i) || copies(world, i))
        })?;
        self.moving = Some(moving);
        Ok(())
    }

    // --- Clients ---

    fn request(&mut self, client: usize, keys: &[String], write: Option<u64>) -> Fallible<()> {
        let mut map = self.clients[client].clone();
        let mut call = map.start(keys)?.repeatable();
        let bytes: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
        let command = if write.is_some() {
            Command::Write
        } else {
            Command::Read
        };
        loop {
            let i = self.at(call.to().host());
            let request = Request::new(command, &bytes).asking(call.is_asking());
            let next = if self.servers[i].up {
                match self.decide(i, &request)? {
                    (_, true) => break self.serve(i, keys, write),
                    (text, false) => {
                        self.note(&text);
                        map.after(&mut call, Outcome::Error(&text))
                    }
                }
            } else {
                map.after(&mut call, Outcome::Refused)
            };
            match next {
                Next::Send { wait } => {
                    if wait > 0 {
                        self.tick()?;
                    }
                }
                next => panic!("{keys:?}: {next:?} after {call:?}"),
            }
        }
        assert_eq!(map.after(&mut call, Outcome::Answer), Next::Done);
        self.clients[client] = map;
        Ok(())
    }

    fn note(&mut self, text: &str) {
        for word in ["MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN"] {
            if text.starts_with(word) {
                self.seen.insert(word);
            }
        }
    }

    fn serve(&mut self, i: usize, keys: &[String], write: Option<u64>) {
        for key in keys {
            assert_eq!(
                self.servers[i].store.get(key),
                self.truth.get(key),
                "{key} at {}",
                self.servers[i].id
            );
            if let Some(value) = write {
                self.servers[i].store.insert(key.clone(), value);
                self.truth.insert(key.clone(), value);
            }
        }
    }

    fn refresh(&mut self, client: usize, i: usize) -> Fallible<()> {
        let i = i % self.servers.len();
        if self.servers[i].up {
            let reply = self.servers[i].view.to_slots(Endpoint::Ip, Protocol::Resp2);
            let rule = self.servers[i].view.rule().clone();
            self.clients[client].refill(&Table::from_slots(&reply, rule, None)?)?;
        }
        Ok(())
    }

    // --- What must hold ---

    fn check(&self) -> Fallible<()> {
        for number in 0..18 {
            let key = key(number);
            let keys = [key.as_bytes()];
            let request = Request::new(Command::Write, &keys);
            let mut writers = Vec::new();
            let mut ends = BTreeSet::new();
            for i in 0..self.servers.len() {
                if self.servers[i].up && self.decide(i, &request)?.1 {
                    writers.push(&self.servers[i].id);
                }
                ends.extend(self.end(i, &request)?);
            }
            assert!(writers.len() <= 1, "{key} may be written at {writers:?}");
            assert!(ends.len() <= 1, "{key} ends at {ends:?}");
            let copies: Vec<_> = self
                .servers
                .iter()
                .enumerate()
                .filter(|(i, server)| self.is_primary(*i) && server.store.contains_key(&key))
                .map(|(_, server)| &server.id)
                .collect();
            assert!(copies.len() <= 1, "{key} is at {copies:?}");
        }
        Ok(())
    }

    /// Where redirections lead without any time passing, if anywhere.
    fn end(&self, start: usize, request: &Request<'_>) -> Fallible<Option<usize>> {
        let (mut i, mut request) = (start, *request);
        for _ in 0..8 {
            if !self.servers[i].up {
                return Ok(None);
            }
            let (text, serves) = self.decide(i, &request)?;
            if serves {
                return Ok(Some(i));
            }
            let asked = Address::new(&*self.servers[i].id, 1);
            let (to, asking) = match Redirect::parse(&text, &asked) {
                Some(Redirect::Moved { to, .. }) => (to, false),
                Some(Redirect::Ask { to, .. }) => (to, true),
                _ => return Ok(None),
            };
            request = request.asking(asking);
            i = self.at(to.host());
        }
        Ok(None)
    }

    fn happen(&mut self, event: &Event, turn: u64) -> Fallible<()> {
        match *event {
            Event::Write(client, number) => self.request(client, &[key(number)], Some(turn))?,
            Event::Read(client, number) => self.request(client, &[key(number)], None)?,
            Event::ReadTwo(client, tag, number) => {
                let keys = [key(3 * tag + number), key(3 * tag + (number + 1) % 3)];
                self.request(client, &keys, None)?;
            }
            Event::Begin(slot, to) => self.begin(slot, to)?,
            Event::MoveKeys => self.move_keys(),
            Event::Finish => self.finish()?,
            Event::Deliver(count) => self.deliver(count)?,
            Event::Refresh(client, from) => self.refresh(client, from)?,
            Event::Crash(i) => self.crash(i),
            Event::Notice => self.notice()?,
            Event::Elect => {
                self.notice()?;
                self.elect()?;
            }
            Event::Return => self.come_back()?,
        }
        self.check()
    }
}

fn event() -> impl Strategy<Value = Event> {
    let client = || 0..CLIENTS;
    prop_oneof![
        8 => (client(), 0..18_usize).prop_map(|(c, k)| Event::Write(c, k)),
        4 => (client(), 0..18_usize).prop_map(|(c, k)| Event::Read(c, k)),
        4 => (client(), 0..6_usize, 0..3_usize).prop_map(|(c, t, k)| Event::ReadTwo(c, t, k)),
        6 => (0..SLOTS, 0..2 * PRIMARIES).prop_map(|(s, to)| Event::Begin(s, to)),
        4 => Just(Event::MoveKeys),
        4 => Just(Event::Finish),
        4 => (0..6_usize).prop_map(Event::Deliver),
        1 => (client(), 0..2 * PRIMARIES).prop_map(|(c, s)| Event::Refresh(c, s)),
        1 => (0..2 * PRIMARIES).prop_map(Event::Crash),
        1 => Just(Event::Notice),
        1 => Just(Event::Elect),
        2 => Just(Event::Return),
    ]
}

fn run(events: &[Event]) -> Fallible<BTreeSet<&'static str>> {
    let mut world = World::new()?;
    for (event, turn) in events.iter().zip(1..) {
        world.happen(event, turn)?;
    }
    for _ in 0..40 {
        world.tick()?;
        world.come_back()?;
        world.check()?;
    }
    // All is quiet: every key is found by everybody.
    for client in 0..CLIENTS {
        for number in 0..18 {
            world.request(client, &[key(number)], None)?;
        }
    }
    Ok(world.seen)
}

/// The claim that tells a replica of a slot that left its primary is older than the primary's next.
#[test]
fn a_replica_hears_of_a_move_before_its_primary_takes_another_slot()
-> hashroute_test_support::Outcome {
    use Event::{Begin, Crash, Finish, Write};
    let moves = [
        Begin(9, 2),
        Write(0, 6),
        Finish,
        Finish,
        Begin(2, 1),
        Finish,
    ];
    let seen = run(&[&moves[..], &[Crash(1)]].concat())?;
    assert!(seen.contains("elected"));
    Ok(())
}

#[test]
fn one_writer_no_lost_key_and_every_client_arrives() -> hashroute_test_support::Outcome {
    let seen = RefCell::new(BTreeSet::new());
    let config = Config {
        // A case is a hundred events, each checked for all keys at all servers.
        cases: Config::default().cases / 4,
        failure_persistence: None,
        ..Config::default()
    };
    let is_enough = config.cases >= 64;
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    runner.run(&prop::collection::vec(event(), 1..150), |events| {
        seen.borrow_mut().extend(run(&events)?);
        Ok(())
    })?;
    // The model went where it should go.
    let all = "MOVED ASK TRYAGAIN CLUSTERDOWN migrated finished elected reopened followed returned";
    for event in all.split(' ') {
        assert!(
            !is_enough || seen.borrow().contains(event),
            "never {event}: {seen:?}"
        );
    }
    Ok(())
}
