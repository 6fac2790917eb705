//! The servers of a cluster, each with a plain connection.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use hashroute::redis::{Address, ClusterNode, SlotRule, Table};
use redis::{Cmd, Connection, ConnectionLike, FromRedisValue, Value};
use tempfile::TempDir;

use crate::cluster_client::{error_text, open};
use crate::process::{Running, free_port};
use crate::tally::Fallible;

/// The node timeout in milliseconds, long enough for a busy machine.
const NODE_TIMEOUT: &str = "4000";
const PATIENCE: Duration = Duration::from_secs(30);

const OPTIONS: &[&str] = &[
    "--bind",
    "127.0.0.1",
    "--save",
    "",
    "--loglevel",
    "warning",
    "--cluster-enabled",
    "yes",
    "--cluster-node-timeout",
    NODE_TIMEOUT,
    // A replica may be elected however far behind it is, and stays with its primary.
    "--cluster-replica-validity-factor",
    "0",
    "--cluster-allow-replica-migration",
    "no",
    "--repl-diskless-sync-delay",
    "0",
    // Otherwise a stopping server waits for its replicas.
    "--shutdown-timeout",
    "0",
];

pub(super) struct Server {
    pub(super) id: String,
    pub(super) address: Address,
    bus: u16,
    data: PathBuf,
    /// `None` once the server was killed.
    running: Option<Running>,
    link: Connection,
}

pub(super) struct Servers {
    all: Vec<Server>,
    folder: TempDir,
}

impl Servers {
    pub(super) fn start(count: usize) -> Fallible<Self> {
        let mut servers = Self {
            all: Vec::new(),
            folder: tempfile::tempdir()?,
        };
        for _ in 0..count {
            servers.add()?;
        }
        Ok(servers)
    }

    /// Starts one more server and returns its index.
    pub(super) fn add(&mut self) -> Fallible<usize> {
        let place = self.all.len();
        let data = self.folder.path().join(place.to_string());
        std::fs::create_dir(&data)?;
        // Another program may take a free port before the server does.
        let tries = (0..3).map(|_| start(free_port()?, free_port()?, data.clone()));
        let server = tries.reduce(Result::or).ok_or("no server")??;
        self.all.push(server);
        let epoch = self.all.len();
        self.send(place, &format!("CLUSTER SET-CONFIG-EPOCH {epoch}"))?;
        Ok(place)
    }

    /// Kills a server as a loss of power would.
    pub(super) fn kill(&mut self, place: usize) {
        if let Some(running) = self.all[place].running.take() {
            running.kill();
        }
    }

    /// Restarts a killed server with its files.
    pub(super) fn restart(&mut self, place: usize) -> Fallible<()> {
        let old = &self.all[place];
        self.all[place] = start(old.address.port(), old.bus, old.data.clone())?;
        Ok(())
    }

    pub(super) fn version(&mut self) -> Fallible<String> {
        let info: String = self.ask(0, "INFO server")?;
        let version = info
            .lines()
            .find_map(|line| line.strip_prefix("redis_version:"));
        Ok(version.unwrap_or("?").into())
    }

    /// Returns the indexes of the running servers.
    pub(super) fn up(&self) -> Vec<usize> {
        let places = 0..self.all.len();
        places
            .filter(|place| self.all[*place].running.is_some())
            .collect()
    }

    pub(super) fn get(&self, place: usize) -> &Server {
        &self.all[place]
    }

    pub(super) fn place(&self, id: &str) -> Fallible<usize> {
        let place = self.all.iter().position(|server| server.id == id);
        Ok(place.ok_or_else(|| format!("no server has the id {id}"))?)
    }

    pub(super) fn addresses(&self) -> Vec<Address> {
        let servers = self.up().into_iter();
        servers
            .map(|place| self.all[place].address.clone())
            .collect()
    }

    /// Sends a command, written in one line, and returns the answer.
    pub(super) fn ask<T: FromRedisValue>(&mut self, place: usize, line: &str) -> Fallible<T> {
        let server = &mut self.all[place];
        let answer = command(line).query(&mut server.link);
        answer.map_err(|error| format!("{}> {line}: {error}", server.address).into())
    }

    pub(super) fn send(&mut self, place: usize, line: &str) -> Fallible<()> {
        self.ask(place, line)
    }

    /// Sends commands in one pipeline to a server and returns each answer, also errors.
    pub(super) fn pipeline(&mut self, place: usize, commands: &[Cmd]) -> Fallible<Vec<Value>> {
        if commands.is_empty() {
            return Ok(Vec::new());
        }
        let bytes: Vec<u8> = commands.iter().flat_map(Cmd::get_packed_command).collect();
        let link = &mut self.all[place].link;
        Ok(link.req_packed_commands(&bytes, 0, commands.len())?)
    }

    /// Sends commands in one pipeline to each server, in order, up to the first error.
    pub(super) fn pipelines(&mut self, commands: Vec<(Address, Cmd)>) -> Fallible<Vec<Value>> {
        let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (index, (at, _)) in commands.iter().enumerate() {
            let place = self.all.iter().position(|server| server.address == *at);
            let place = place.ok_or_else(|| format!("no server has the address {at}"))?;
            groups.entry(place).or_default().push(index);
        }
        let (addresses, commands): (Vec<_>, Vec<_>) = commands.into_iter().unzip();
        let mut answers = vec![Value::Nil; commands.len()];
        for (place, indices) in groups {
            let group: Vec<Cmd> = indices.iter().map(|i| commands[*i].clone()).collect();
            for (index, answer) in indices.into_iter().zip(self.pipeline(place, &group)?) {
                if let Some(error) = error_text(&answer) {
                    let line = commands[index].get_packed_command();
                    let line = line.escape_ascii();
                    return Err(format!("{}> {line}: {error}", addresses[index]).into());
                }
                answers[index] = answer;
            }
        }
        Ok(answers)
    }

    /// Returns the table that a server prints.
    pub(super) fn view(&mut self, place: usize) -> Fallible<Table> {
        let text: String = self.ask(place, "CLUSTER NODES")?;
        Ok(Table::from_nodes_text(&text, SlotRule::REDIS)?)
    }

    pub(super) fn views(&mut self) -> Fallible<Vec<Table>> {
        let places = self.up().into_iter();
        places.map(|place| self.view(place)).collect()
    }

    pub(super) fn is_ok(&mut self, place: usize) -> Fallible<bool> {
        let info: String = self.ask(place, "CLUSTER INFO")?;
        Ok(info.contains("cluster_state:ok"))
    }

    /// Waits until every running server answers and all agree on owners and members.
    pub(super) fn agree(&mut self, what: &str) -> Fallible<Table> {
        let mut agreed = None;
        self.wait(what, |servers| {
            let views = servers.views()?;
            let same = views.iter().all(|view| owners(view) == owners(&views[0]));
            let mut oks = servers.up().into_iter().map(|place| servers.is_ok(place));
            let oks = oks.try_fold(true, |all, ok| ok.map(|ok| all && ok))?;
            if same && oks {
                agreed = Some(Table::from_views(&views)?);
            }
            Ok(same && oks)
        })?;
        Ok(agreed.ok_or("no views")?)
    }

    pub(super) fn wait(
        &mut self,
        what: &str,
        mut done: impl FnMut(&mut Self) -> Fallible<bool>,
    ) -> Fallible<()> {
        let start = Instant::now();
        while !done(self)? {
            if start.elapsed() > PATIENCE {
                return Err(format!("waited {} s for {what}", PATIENCE.as_secs()).into());
            }
            sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Introduces these servers to each other.
    pub(super) fn meet(&mut self) -> Fallible<()> {
        for place in self.up() {
            for other in self.up().into_iter().filter(|other| *other != place) {
                let (address, bus) = (&self.all[other].address, self.all[other].bus);
                let (host, port) = (address.host(), address.port());
                self.send(place, &format!("CLUSTER MEET {host} {port} {bus}"))?;
            }
        }
        let count = self.up().len();
        self.wait("the servers to meet", |servers| {
            let views = servers.views()?;
            let knows =
                |view: &Table| view.nodes().len() == count && !view.nodes().iter().any(is_new);
            Ok(views.iter().all(knows))
        })
    }
}

fn is_new(node: &ClusterNode) -> bool {
    node.flags().handshake || !node.address().is_known()
}

/// Returns ranges of slots with their owners.
pub(super) fn owners(view: &Table) -> Vec<(hashroute::redis::SlotRange, Option<&str>)> {
    let runs = view.runs();
    runs.map(|(range, owner)| (range, owner.map(ClusterNode::id)))
        .collect()
}

fn start(port: u16, bus: u16, data: PathBuf) -> Fallible<Server> {
    let (port_text, bus_text) = (port.to_string(), bus.to_string());
    let ports = ["--port", &port_text, "--cluster-port", &bus_text, "--dir"];
    let args = OPTIONS.iter().chain(&ports).map(OsStr::new);
    let args = args.chain([data.as_os_str()]);
    let running = Running::start("redis-server", args, &data.join("log"), port)?;
    let address = Address::new("127.0.0.1", port);
    let mut link = open(&address)?;
    Ok(Server {
        id: redis::cmd("CLUSTER").arg("MYID").query(&mut link)?,
        address,
        bus,
        data,
        running: Some(running),
        link,
    })
}

/// Splits a command into words; `""` is an empty word.
pub(super) fn command(line: &str) -> Cmd {
    let mut command = Cmd::new();
    for word in line.split(' ') {
        command.arg(if word == "\"\"" { "" } else { word });
    }
    command
}
