//! Do processes that follow one Spec through a real etcd agree after each change?
//!
//! Three clients and a writer, the program of `examples/etcd`. One client is stopped for a while,
//! one is cut off from etcd, etcd is killed and comes back, with its data and without, somebody puts
//! what is no Spec, and two writers race. What every client says is compared with a Spec that we
//! change alongside.

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
    /// For clients, and for members: of one there are none.
    ports: [u16; 2],
    /// The last client goes through it.
    proxy: Proxy,
    clients: Vec<Peer>,
    writer: Peer,
    /// What etcd must have, and since when.
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

    /// Change by change; these clients must follow each.
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

    /// A change that can be made, and the line that asks for it.
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

    /// Each of these has come to this epoch, and is what we are.
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

    /// These answer, and still with `state`.
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

    /// Nothing comes through, and nobody says so: the client finds out, and tells its age. The
    /// history that it missed is gone when it comes back.
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

    /// etcd comes back without data, and counts its revisions anew, of another Spec. What has the
    /// revision that the clients have is not what they have, so none calls itself fresh; what has
    /// a higher one is followed.
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

    /// A key is bytes, and need not be text.
    fn any_bytes(&mut self) -> Fallible<()> {
        let client = &mut self.clients[0];
        client.send(b"\xff\xfe")?;
        let answer = client.line()?;
        let router = self.model.build()?;
        // As a peer reads it.
        let ours = format!("\u{fffd}\u{fffd} {}", owner(&*router, b"\xff\xfe"));
        self.tally
            .compare(client.name(), b"\xff\xfe", &answer, &ours);
        Ok(())
    }

    /// What cannot be understood is refused by clients and writers, in words; the last good one
    /// keeps routing.
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

    /// Two writers at once, each with changes of its own and with some that only one can make;
    /// gives how many races were lost.
    fn races(&mut self) -> Fallible<u64> {
        let mut writers = Vec::new();
        for name in ["left", "right"] {
            let mut writer = Peer::start(name, "write", self.ports[0], self.folder.path())?;
            // Both are there before they race.
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
        // Each change is a revision, and there is no other.
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

/// How it went for the writers.
#[derive(Debug, Default)]
struct Raced {
    epochs: Vec<u64>,
    lost: u64,
    /// Changes that the other had made.
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
    // It listens before it has a leader.
    let start = Instant::now();
    while let Err(error) = run(etcdctl(clients).args(["get", KEY])) {
        if start.elapsed() > PATIENCE {
            return Err(error);
        }
    }
    Ok(etcd)
}

/// Put the first Spec, and give its epoch.
fn init(port: u16, spec: &Spec, file: &Path) -> Fallible<u64> {
    std::fs::write(file, spec.to_toml())?;
    let endpoint = format!("http://127.0.0.1:{port}");
    let args = [&endpoint, KEY, "init"].map(OsStr::new);
    let answer = run(Command::new(PROGRAM).args(args).arg(file))?;
    Ok(answer.trim_start_matches("epoch ").trim_end().parse()?)
}

/// What it printed.
fn run(command: &mut Command) -> Fallible<String> {
    let output = command.output()?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?}: {error}").into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// The epoch of a change that was made, and how often it was tried.
fn made(answer: &str) -> Fallible<(u64, u64)> {
    let words: Vec<_> = answer.split(' ').collect();
    let ["epoch", epoch, "tries", tries] = words[..] else {
        return Err(format!("the writer says {answer:?}").into());
    };
    Ok((epoch.parse()?, tries.parse()?))
}

/// What a client must say that has this Spec.
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
