//! Processes that follow one spec through a real etcd agree after each change.
//!
//! Three clients and a writer run the program of `examples/etcd`. One client is stopped for a while
//! and one is cut off from etcd. etcd is killed and restarted with its data and without, a damaged
//! spec is written, and two writers race. Every answer of a client is compared with a spec that
//! this check changes alongside.

mod peer;
mod proxy;

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use hashroute::strategy::{self, Params};
use hashroute::{Change, KeyHash, Node, Spec};
use tempfile::TempDir;

use self::peer::{KEY, PATIENCE, PROGRAM, Peer};
use self::proxy::Proxy;
use crate::process::{Running, free_port};
use crate::random::Random;
use crate::tally::{Fallible, Outcome, Tally, owner};

const ALL: &[usize] = &[0, 1, 2];
const RACES: usize = 30;

pub(crate) fn check(random: &mut Random) -> Outcome {
    let mut check = Check::start(random)?;
    check.any_bytes()?;
    check.steps(10, ALL)?;
    check.emptied()?;
    check.steps(50, ALL)?;
    check.stopped()?;
    check.cut_off()?;
    check.etcd_away()?;
    check.refused()?;
    let lost = check.races()?;
    let Check {
        mut tally, changes, ..
    } = check;
    tally.what = format!("{changes} changes, 3 clients; {lost} races of 2 writers");
    Ok(tally)
}

struct Check<'r> {
    random: &'r mut Random,
    tally: Tally,
    etcd: Option<Running>,
    /// The ports for clients and for members; a single server has no members.
    ports: [u16; 2],
    /// The relay between the last client and etcd.
    proxy: Proxy,
    clients: Vec<Peer>,
    writer: Peer,
    /// The spec that etcd must have, with its epoch.
    model: Spec,
    epoch: u64,
    changes: usize,
    folder: TempDir,
}

impl<'r> Check<'r> {
    fn start(random: &'r mut Random) -> Fallible<Self> {
        let (folder, ports) = (tempfile::tempdir()?, [free_port()?, free_port()?]);
        let etcd = start_etcd(ports, folder.path())?;
        let nodes = (0..12).map(|i| Node::new(format!("first-{i}")));
        let model = Spec::new(strategy::find("ring")?, nodes, &Params::default())?;
        let epoch = init(ports[0], &model, &folder.path().join("spec.toml"))?;
        let proxy = Proxy::start(ports[0])?;
        let peer = |name, mode, port| Peer::start(name, mode, port, folder.path());
        let mut check = Self {
            random,
            tally: Tally::default(),
            etcd: Some(etcd),
            clients: vec![
                peer("client-0", "follow", ports[0])?,
                peer("client-1", "follow", ports[0])?,
                peer("client-2", "follow", proxy.port)?,
            ],
            writer: peer("writer", "write", ports[0])?,
            ports,
            proxy,
            model,
            epoch,
            changes: 0,
            folder,
        };
        check.agree(ALL)?;
        Ok(check)
    }

    /// Makes change by change; these clients must follow each.
    fn steps(&mut self, count: usize, clients: &[usize]) -> Fallible<()> {
        for _ in 0..count {
            self.step()?;
            self.agree(clients)?;
        }
        Ok(())
    }

    fn step(&mut self) -> Fallible<()> {
        let (line, change) = self.draw();
        self.writer.send(&line)?;
        self.epoch = made(&self.writer.line()?)?.0;
        self.model.apply(&change)?;
        self.changes += 1;
        Ok(())
    }

    /// Returns a possible change and the line that requests it.
    fn draw(&mut self) -> (String, Change) {
        let nodes = self.model.nodes();
        let name = self.random.pick(&nodes).name().to_owned();
        let weight = u32::try_from(self.random.below(4)).unwrap_or(1);
        match self.random.below(3) {
            0 if nodes.len() > 6 => (format!("remove {name}"), Change::remove(name)),
            1 => {
                let line = format!("reweight {name} {weight}");
                (line, Change::reweight(name, weight))
            }
            _ => {
                let node = Node::new(format!("later-{}", self.changes)).with_weight(weight);
                (format!("add {} {weight}", node.name()), Change::Add(node))
            }
        }
    }

    /// Checks that each client has reached this epoch and the same routes.
    fn agree(&mut self, clients: &[usize]) -> Fallible<()> {
        let ours = state(&self.model)?;
        for client in clients.iter().map(|&at| &self.clients[at]) {
            let report = client.at(self.epoch)?;
            let label = format!("epoch {}", self.epoch);
            self.tally
                .compare(client.name(), label.as_bytes(), &report.state, &ours);
            if report.epoch != self.epoch {
                return Err(format!("{label}: {} says {}", client.name(), report.epoch).into());
            }
        }
        Ok(())
    }

    /// Checks that these clients answer, still with `state`.
    fn keep(&mut self, clients: &[usize], state: &str, least_age: f64) -> Fallible<()> {
        for &at in clients {
            let client = &mut self.clients[at];
            let report = client.until(|report| report.age >= least_age)?;
            self.tally
                .compare(client.name(), b"kept", &report.state, state);
        }
        Ok(())
    }

    fn stopped(&mut self) -> Fallible<()> {
        self.clients[1].signal("STOP")?;
        self.steps(50, &[0, 2])?;
        self.clients[1].signal("CONT")?;
        self.agree(&[1])
    }

    /// Cuts a client off without closing its connection. It must notice and report the age of its
    /// spec. When it returns, etcd no longer has the history that it missed.
    fn cut_off(&mut self) -> Fallible<()> {
        let before = state(&self.model)?;
        self.proxy.cut();
        self.steps(50, &[0, 1])?;
        self.clients[2].complains("lost etcd: no answer; routing with epoch")?;
        self.keep(&[2], &before, 2.0)?;
        self.etcdctl(&["compact", &self.epoch.to_string()])?;
        self.proxy.mend();
        self.agree(&[2])?;
        self.clients[2].until(|report| report.age < 2.0).map(drop)
    }

    fn etcd_away(&mut self) -> Fallible<()> {
        if let Some(etcd) = self.etcd.take() {
            etcd.kill();
        }
        self.keep(ALL, &state(&self.model)?, 1.0)?;
        self.etcd = Some(start_etcd(self.ports, self.folder.path())?);
        self.steps(40, ALL)
    }

    /// Restarts etcd without data, so its revisions start again, with another spec. An equal
    /// revision is not the spec that the clients have, so none may call itself fresh. They follow a
    /// higher one.
    fn emptied(&mut self) -> Fallible<()> {
        let (before, known) = (state(&self.model)?, self.epoch);
        if let Some(etcd) = self.etcd.take() {
            etcd.kill();
        }
        std::fs::remove_dir_all(self.folder.path().join("data"))?;
        self.etcd = Some(start_etcd(self.ports, self.folder.path())?);
        let nodes = (0..6).map(|i| Node::new(format!("anew-{i}")));
        self.model = Spec::new(strategy::find("ring")?, nodes, &Params::default())?;
        self.epoch = init(
            self.ports[0],
            &self.model,
            &self.folder.path().join("spec.toml"),
        )?;
        while self.epoch < known {
            self.step()?;
        }
        for client in &self.clients {
            client.complains("another text has the revision that we have")?;
        }
        self.keep(ALL, &before, 2.0)?;
        self.steps(1, ALL)
    }

    /// A key is bytes and may be no text.
    fn any_bytes(&mut self) -> Fallible<()> {
        let client = &mut self.clients[0];
        client.send(b"\xff\xfe")?;
        let answer = client.line()?;
        let router = self.model.build()?;
        // A peer reads it like this.
        let ours = format!("\u{fffd}\u{fffd} {}", owner(&*router, b"\xff\xfe"));
        self.tally
            .compare(client.name(), b"\xff\xfe", &answer, &ours);
        Ok(())
    }

    /// Clients and writers refuse a damaged spec with a message, and route by the last good one.
    fn refused(&mut self) -> Fallible<()> {
        let good = self.model.to_toml();
        let unknown = good.replace("format = 1", "format = 2");
        for (bad, words) in [("nonsense", "is refused: "), (&unknown, "format = \"2\"")] {
            self.etcdctl(&["put", KEY, bad])?;
            for client in &self.clients {
                client.complains(words)?;
            }
            self.keep(ALL, &state(&self.model)?, 1.0)?;
            self.writer.send("add nobody")?;
            let answer = self.writer.line()?;
            if !answer.starts_with("failed: ") {
                return Err(
                    format!("the writer made a change to what is no Spec: {answer}").into(),
                );
            }
        }
        self.etcdctl(&["put", KEY, &good])?;
        self.epoch += 3;
        self.agree(ALL)
    }

    /// Runs two writers at once, with changes of their own and changes that only one can make, and
    /// returns the number of lost races.
    fn races(&mut self) -> Fallible<u64> {
        let mut writers = Vec::new();
        for name in ["left", "right"] {
            let mut writer = Peer::start(name, "write", self.ports[0], self.folder.path())?;
            // Both writers are up before they race.
            writer.send("start")?;
            writer.line()?;
            writers.push(writer);
        }
        for i in 0..RACES {
            for writer in &mut writers {
                writer.send(format!("add {}-{i}", writer.name()))?;
                writer.send(format!("add both-{i}"))?;
            }
        }
        let raced = Raced::read(&writers)?;
        // Each change is one revision, and no other revision exists.
        let wanted: Vec<_> = (self.epoch + 1..).take(3 * RACES).collect();
        if raced.epochs != wanted || raced.refused != RACES || raced.lost == 0 {
            return Err(format!("{raced:?}").into());
        }
        for name in ["left", "right", "both"] {
            for i in 0..RACES {
                let node = Node::new(format!("{name}-{i}"));
                self.model.apply(&Change::Add(node))?;
            }
        }
        self.epoch += 3 * RACES as u64;
        self.changes += 3 * RACES;
        self.agree(ALL)?;
        Ok(raced.lost)
    }

    fn etcdctl(&self, args: &[&str]) -> Fallible<()> {
        run(etcdctl(self.ports[0]).args(args)).map(drop)
    }
}

/// The results of the writers.
#[derive(Debug, Default)]
struct Raced {
    epochs: Vec<u64>,
    lost: u64,
    /// Changes that the other writer had made first.
    refused: usize,
}

impl Raced {
    fn read(writers: &[Peer]) -> Fallible<Self> {
        let mut raced = Self::default();
        for writer in writers {
            for _ in 0..2 * RACES {
                let answer = writer.line()?;
                if answer.starts_with("failed: node \"both-") {
                    raced.refused += 1;
                    continue;
                }
                let (epoch, tries) = made(&answer)?;
                raced.epochs.push(epoch);
                raced.lost += tries - 1;
            }
        }
        raced.epochs.sort_unstable();
        Ok(raced)
    }
}

fn etcdctl(port: u16) -> Command {
    let mut command = Command::new("etcdctl");
    let endpoint = format!("--endpoints=127.0.0.1:{port}");
    command.env("ETCDCTL_API", "3").arg(endpoint);
    command
}

fn start_etcd([clients, members]: [u16; 2], folder: &Path) -> Fallible<Running> {
    let [clients_url, members_url] =
        [clients, members].map(|port| format!("http://127.0.0.1:{port}"));
    let mut args = vec!["--name=one".to_owned()];
    args.push(format!("--initial-cluster=one={members_url}"));
    for option in ["listen-client-urls", "advertise-client-urls"] {
        args.push(format!("--{option}={clients_url}"));
    }
    for option in ["listen-peer-urls", "initial-advertise-peer-urls"] {
        args.push(format!("--{option}={members_url}"));
    }
    args.push(format!("--data-dir={}", folder.join("data").display()));
    let etcd = Running::start("etcd", args, &folder.join("etcd.log"), clients)?;
    // etcd listens before it has a leader.
    let start = Instant::now();
    while let Err(error) = run(etcdctl(clients).args(["get", KEY])) {
        if start.elapsed() > PATIENCE {
            return Err(error);
        }
    }
    Ok(etcd)
}

/// Writes the first spec and returns its epoch.
fn init(port: u16, spec: &Spec, file: &Path) -> Fallible<u64> {
    std::fs::write(file, spec.to_toml())?;
    let endpoint = format!("http://127.0.0.1:{port}");
    let args = [&endpoint, KEY, "init"].map(OsStr::new);
    let answer = run(Command::new(PROGRAM).args(args).arg(file))?;
    Ok(answer.trim_start_matches("epoch ").trim_end().parse()?)
}

/// Returns what the process printed.
fn run(command: &mut Command) -> Fallible<String> {
    let output = command.output()?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?}: {error}").into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Returns the epoch of a change and the number of tries.
fn made(answer: &str) -> Fallible<(u64, u64)> {
    let words: Vec<_> = answer.split(' ').collect();
    let ["epoch", epoch, "tries", tries] = words[..] else {
        return Err(format!("the writer says {answer:?}").into());
    };
    Ok((epoch.parse()?, tries.parse()?))
}

/// Returns what a client with this spec must answer.
fn state(spec: &Spec) -> Fallible<String> {
    let router = spec.build()?;
    let owners: String = (0..10_000)
        .map(|i| format!("{}\n", owner(&*router, format!("user:{i}").as_bytes())))
        .collect();
    let routes = KeyHash::from_bytes(owners.as_bytes()).get();
    let fingerprint = spec.fingerprint();
    Ok(format!(
        "fingerprint {fingerprint:016x} routes {routes:016x}"
    ))
}
