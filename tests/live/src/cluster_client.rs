//! A client of Redis Cluster over plain connections, with the decisions of `hashroute`.
//!
//! Made to be copied. Requests are sent in rounds, those for one server in one pipeline. The
//! replies decide which requests are answered and which are sent again, and where. Requests of a
//! batch have no order; batches have.

use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::{Duration, Instant};

use hashroute::redis::{Address, Call, Next, Outcome, Reply, SlotMap, SlotRule, Stop, Table};
use redis::{Cmd, Connection, ConnectionLike, Value};

use crate::tally::Fallible;

const TIMEOUT: Duration = Duration::from_secs(10);

/// A command, its keys, and whether it may be sent again after an unknown result.
#[derive(Debug)]
pub(crate) struct Request {
    command: Cmd,
    keys: Vec<Vec<u8>>,
    repeatable: bool,
}

impl Request {
    pub(crate) fn get(key: &[u8]) -> Self {
        Self {
            command: redis::cmd("GET").arg(key).take(),
            keys: vec![key.into()],
            repeatable: true,
        }
    }

    pub(crate) fn get_many(keys: &[&[u8]]) -> Self {
        Self {
            command: redis::cmd("MGET").arg(keys).take(),
            keys: keys.iter().map(|key| key.to_vec()).collect(),
            repeatable: true,
        }
    }

    /// Writing a value twice is harmless, so this may be repeated; an `INCR` may not.
    pub(crate) fn set(key: &[u8], value: &[u8]) -> Self {
        Self {
            command: redis::cmd("SET").arg(key).arg(value).take(),
            ..Self::get(key)
        }
    }
}

/// The result of sending a request.
enum Sent {
    Reply(Value),
    Refused,
    Lost,
}

/// The map of slots, a connection to each server, and counts of events.
pub(crate) struct ClusterClient {
    pub(crate) map: SlotMap,
    connections: BTreeMap<Address, Connection>,
    /// The shortest time between two refills of the map.
    pause: Duration,
    refilled: Option<Instant>,
    /// The number of errors by code, and of other events.
    pub(crate) met: BTreeMap<String, u64>,
}

impl ClusterClient {
    /// Makes a client that knows some servers and learns the others from them.
    pub(crate) fn new(seeds: impl IntoIterator<Item = Address>) -> Fallible<Self> {
        Ok(Self {
            map: SlotMap::new(SlotRule::REDIS, seeds)?,
            connections: BTreeMap::new(),
            pause: Duration::from_millis(100),
            refilled: None,
            met: BTreeMap::new(),
        })
    }

    /// Sets the time between refills; fewer refills cause more redirections.
    pub(crate) fn with_pause(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    pub(crate) fn count(&self, what: &str) -> u64 {
        self.met.get(what).copied().unwrap_or(0)
    }

    fn meet(&mut self, what: &str) {
        *self.met.entry(what.into()).or_default() += 1;
    }

    /// Sends requests until each has an answer, which may be an error, or is given up.
    pub(crate) fn run(&mut self, requests: &[Request]) -> Vec<Result<Value, Stop>> {
        let mut answers: Vec<_> = requests.iter().map(|_| Err(Stop::CrossSlot)).collect();
        self.refill_if_due();
        let starts = requests.iter().map(|request| {
            let call = self.map.start(&request.keys).ok()?;
            Some(if request.repeatable {
                call.repeatable()
            } else {
                call
            })
        });
        let mut calls: Vec<(usize, Call)> = starts
            .enumerate()
            .filter_map(|(index, call)| Some((index, call?)))
            .collect();
        while !calls.is_empty() {
            let (left, wait) = self.round(requests, calls, &mut answers);
            sleep(Duration::from_millis(wait));
            self.refill_if_due();
            calls = left;
        }
        answers
    }

    /// Sends each call once and returns those to send again, with the time to wait before.
    fn round(
        &mut self,
        requests: &[Request],
        calls: Vec<(usize, Call)>,
        answers: &mut [Result<Value, Stop>],
    ) -> (Vec<(usize, Call)>, u64) {
        let mut servers: BTreeMap<Address, Vec<(usize, Call)>> = BTreeMap::new();
        for (index, call) in calls {
            let group = servers.entry(call.to().clone()).or_default();
            group.push((index, call));
        }
        let (mut left, mut longest) = (Vec::new(), 0);
        for (server, group) in servers {
            let sent = self.exchange(&server, requests, &group);
            for ((index, mut call), sent) in group.into_iter().zip(sent) {
                match self.after(&mut call, &sent) {
                    Next::Done => {
                        if let Sent::Reply(value) = sent {
                            answers[index] = Ok(value);
                        }
                    }
                    Next::GiveUp(stop) => answers[index] = Err(stop),
                    Next::Send { wait } => {
                        longest = longest.max(wait);
                        left.push((index, call));
                    }
                    next => panic!("{next:?}"),
                }
            }
        }
        (left, longest)
    }

    /// Asks the map what to do next.
    fn after(&mut self, call: &mut Call, sent: &Sent) -> Next {
        match sent {
            Sent::Refused => {
                self.meet("refused");
                self.map.after(call, Outcome::Refused)
            }
            Sent::Lost => {
                self.meet("lost");
                self.map.after(call, Outcome::Lost)
            }
            Sent::Reply(value) => match error_text(value) {
                None => self.map.after(call, Outcome::Answer),
                Some(text) => {
                    self.meet(text.split(' ').next().unwrap_or_default());
                    self.map.after(call, Outcome::Error(&text))
                }
            },
        }
    }

    /// Sends one pipeline to one server.
    fn exchange(
        &mut self,
        server: &Address,
        requests: &[Request],
        group: &[(usize, Call)],
    ) -> Vec<Sent> {
        let Ok(connection) = connect(&mut self.connections, server) else {
            return group.iter().map(|_| Sent::Refused).collect();
        };
        let (mut bytes, mut replies) = (Vec::new(), Vec::new());
        for (index, call) in group {
            if call.is_asking() {
                bytes.extend(redis::cmd("ASKING").get_packed_command());
            }
            replies.push(usize::from(call.is_asking()));
            bytes.extend(requests[*index].command.get_packed_command());
        }
        let count = group.len() + replies.iter().sum::<usize>();
        let Ok(values) = connection.req_packed_commands(&bytes, 0, count) else {
            self.connections.remove(server);
            return group.iter().map(|_| Sent::Lost).collect();
        };
        let mut values = values.into_iter();
        // The reply to ASKING is ignored.
        let sent = replies.into_iter().map(|skipped| values.nth(skipped));
        sent.map(|value| value.map_or(Sent::Lost, Sent::Reply))
            .collect()
    }

    fn refill_if_due(&mut self) {
        let is_early = self.refilled.is_some_and(|at| at.elapsed() < self.pause);
        if !self.map.is_stale() || is_early {
            return;
        }
        self.refilled = Some(Instant::now());
        // The first server that answers; where its table is old, redirections correct it.
        for server in self.map.nodes().to_vec() {
            match self.ask_table(&server) {
                Ok(table) if self.map.refill(&table).is_ok() => return self.meet("refills"),
                _ => drop(self.connections.remove(&server)),
            }
        }
    }

    fn ask_table(&mut self, server: &Address) -> Fallible<Table> {
        let connection = connect(&mut self.connections, server)?;
        let slots = redis::cmd("CLUSTER").arg("SLOTS").query(connection)?;
        let table = Table::from_slots(&reply(slots), SlotRule::REDIS, Some(server))?;
        if table.nodes().is_empty() {
            return Err("a server that has not met the cluster".into());
        }
        Ok(table)
    }
}

fn connect<'c>(
    connections: &'c mut BTreeMap<Address, Connection>,
    server: &Address,
) -> Fallible<&'c mut Connection> {
    if !connections.contains_key(server) {
        connections.insert(server.clone(), open(server)?);
    }
    Ok(connections.get_mut(server).ok_or("no connection")?)
}

/// Opens a plain connection to a server.
pub(crate) fn open(server: &Address) -> Fallible<Connection> {
    let client = redis::Client::open(format!("redis://{server}/"))?;
    let connection = client.get_connection_with_timeout(TIMEOUT)?;
    connection.set_read_timeout(Some(TIMEOUT))?;
    Ok(connection)
}

/// Returns an error as the server sent it.
pub(crate) fn error_text(value: &Value) -> Option<String> {
    match value {
        Value::ServerError(error) => {
            let details = error.details().unwrap_or_default();
            Some(format!("{} {details}", error.code()).trim_end().to_owned())
        }
        _ => None,
    }
}

/// Turns a reply into an outcome of the library.
pub(crate) fn reply(value: Value) -> Reply {
    match value {
        Value::Int(number) => number.into(),
        Value::BulkString(bytes) => Reply::Bytes(bytes.into()),
        Value::SimpleString(text) => text.as_str().into(),
        Value::Array(values) => Reply::Array(values.into_iter().map(reply).collect()),
        Value::Map(pairs) => {
            let pairs = pairs.into_iter();
            Reply::Map(
                pairs
                    .map(|(name, value)| (reply(name), reply(value)))
                    .collect(),
            )
        }
        _ => Reply::Null,
    }
}
