//! Drains a primary again and again, by the commands of a plan and by the script of the command
//! line.
//!
//! A primary that gives its last slot becomes a replica by itself (`cluster-allow-replica-migration
//! yes`, the default of Redis 7). Every command must be answered without an error, in order.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use hashroute::redis::{Goal, Role, SlotPlan, SlotRule, Table};

use super::expect;
use super::mover::perform;
use super::servers::Servers;
use crate::random::Random;
use crate::report::hashroute;
use crate::tally::{Fallible, Outcome, Tally};

/// The server that is drained, and its slots.
const DRAINED: usize = 2;
const SLOTS: RangeInclusive<u32> = 16_376..=16_383;
const KEYS: usize = 400;
const ROUNDS: usize = 6;
const USER: &str = "mover";
/// Characters that a shell and `redis-cli` must not take for their own.
const PASSWORD: &str = "pass\"w $or\\d'";

struct Check {
    servers: Servers,
    tally: Tally,
    keys: Vec<Vec<u8>>,
}

pub(crate) fn check(random: &mut Random) -> Outcome {
    let mut servers = Servers::start(DRAINED + 1)?;
    let version = servers.version()?;
    servers.meet()?;
    let ranges = ["0 8187", "8188 16375", "16376 16383"];
    for (place, slots) in ranges.iter().enumerate() {
        servers.send(place, "CONFIG SET cluster-allow-replica-migration yes")?;
        servers.send(place, &format!("CLUSTER ADDSLOTSRANGE {slots}"))?;
    }
    servers.agree("the cluster to form")?;
    let mut check = Check {
        servers,
        tally: Tally::new(format!("redis-server {version}, commands of drains")),
        keys: keys(random),
    };
    check.load()?;
    for _ in 0..ROUNDS {
        check.drain()?;
        check.is_replica()?;
        check.is_done()?;
        check.give_back()?;
    }
    check.without_migration()?;
    check.by_script()?;
    check.every_key()?;
    Ok(check.tally)
}

/// Returns random keys of the slots, with bytes that a shell could take for its own.
fn keys(random: &mut Random) -> Vec<Vec<u8>> {
    let mut keys = BTreeSet::new();
    let tags = (0..).map(|i| format!("{{{i}}}"));
    let mut tags = tags.filter(|tag| SLOTS.contains(&SlotRule::REDIS.slot(tag.as_bytes())));
    while keys.len() < KEYS {
        let tag = tags.next().unwrap_or_default();
        for _ in 0..20 {
            keys.insert([tag.as_bytes(), &random.bytes(0..30)].concat());
        }
    }
    keys.into_iter().collect()
}

impl Check {
    fn load(&mut self) -> Fallible<()> {
        let sets = self.keys.iter().map(|key| {
            let mut set = redis::cmd("SET");
            set.arg(key).arg(key);
            set
        });
        let sets: Vec<_> = sets.collect();
        self.servers.pipeline(DRAINED, &sets).map(drop)
    }

    fn id(&self, place: usize) -> String {
        self.servers.get(place).id.clone()
    }

    /// Sends all commands of a plan, in order, each after the answer to the one before.
    fn carry_out(&mut self, goal: &Goal, table: &mut Table) -> Fallible<()> {
        let plan = SlotPlan::new(table, goal)?;
        expect(plan.len() == SLOTS.count(), "the plan is not for the slots")?;
        for at in 0..plan.len() {
            for action in plan.classic(table, at..at + 1, 10, 5000)? {
                let said = action.to_string();
                let sent = perform(&mut self.servers, &[vec![action]], &mut |_| Ok(()));
                let sent = sent.map_or_else(|error| error.to_string(), |()| "OK".into());
                self.tally.compare("drain", said.as_bytes(), &sent, "OK");
            }
            plan.apply(table, at..at + 1)?;
        }
        Ok(())
    }

    fn drain(&mut self) -> Fallible<()> {
        let mut table = self.servers.agree("all to know the owners")?;
        let goal = Goal::even(&table).with_weight(self.id(DRAINED), 0);
        self.carry_out(&goal, &mut table)
    }

    fn is_replica(&mut self) -> Fallible<()> {
        let id = self.id(DRAINED);
        self.servers
            .wait("the drained primary to become a replica", |servers| {
                let views = servers.views()?;
                let follows = |view: &Table| {
                    view.node(&id)
                        .is_some_and(|node| node.role() == Role::Replica)
                };
                Ok(views.iter().all(follows))
            })
    }

    /// The same goal, asked for again, needs no move.
    fn is_done(&mut self) -> Fallible<()> {
        let table = self.servers.agree("all to know the owners")?;
        let goal = Goal::even(&table).with_weight(self.id(DRAINED), 0);
        let left = SlotPlan::new(&table, &goal)?.len();
        self.tally.compare("left", b"moves", &left.to_string(), "0");
        Ok(())
    }

    /// Makes the replica a primary again, and gives it its slots.
    fn give_back(&mut self) -> Fallible<()> {
        self.servers.send(DRAINED, "CLUSTER RESET SOFT")?;
        self.servers.meet()?;
        let mut table = self.servers.agree("the primary to come back")?;
        let goal = [8188, 8188, 8].into_iter().enumerate();
        let goal = goal.fold(Goal::new(), |goal, (place, weight)| {
            goal.with_weight(self.id(place), weight)
        });
        self.carry_out(&goal, &mut table)?;
        self.servers.agree("all to know the owners").map(drop)
    }

    /// Where a drained primary stays a primary, it may keep a mark, which `finish` removes.
    fn without_migration(&mut self) -> Fallible<()> {
        for place in self.servers.up() {
            self.servers
                .send(place, "CONFIG SET cluster-allow-replica-migration no")?;
        }
        self.drain()?;
        self.servers.agree("all to know the owners")?;
        let view = self.servers.view(DRAINED)?;
        let plan = SlotPlan::finish(&view)?;
        expect(plan.is_empty(), "a slot is still on the move")?;
        let rows = plan.stable(&view, 10, 5000)?.into_iter();
        let rows: Vec<_> = rows.map(|action| vec![action]).collect();
        perform(&mut self.servers, &rows, &mut |_| Ok(()))?;
        let marks = self.servers.view(DRAINED)?.marks().count();
        self.tally
            .compare("marks", b"left", &marks.to_string(), "0");
        for place in self.servers.up() {
            self.servers
                .send(place, "CONFIG SET cluster-allow-replica-migration yes")?;
        }
        self.give_back()
    }

    /// Runs the script of the command line, with a user and a password, and stops it halfway once.
    fn by_script(&mut self) -> Fallible<()> {
        for place in self.servers.up() {
            for words in [
                ["ACL", "SETUSER", USER, "on", "~*", "+@all", "resetpass"].as_slice(),
                &["CONFIG", "SET", "requirepass", "another"],
                &["CONFIG", "SET", "masterauth", "another"],
            ] {
                let mut command = redis::cmd(words[0]);
                command.arg(&words[1..]);
                if words[0] == "ACL" {
                    command.arg(format!(">{PASSWORD}"));
                }
                self.servers.pipeline(place, &[command])?;
            }
        }
        let folder = tempfile::tempdir()?;
        let (table, script) = (
            folder.path().join("nodes.txt"),
            folder.path().join("drain.sh"),
        );
        std::fs::write(&table, self.servers.agree("the table")?.nodes_text())?;
        let (table, id) = (table.display().to_string(), self.id(DRAINED));
        let words = [
            "slots",
            "plan",
            &table,
            "--remove",
            &id,
            "--commands",
            "sh",
            "--batch",
            "7",
        ];
        std::fs::write(&script, hashroute(words.into_iter())?)?;
        let mut first = shell(&script)
            .stderr(Stdio::null())
            .stdout(Stdio::null())
            .spawn()?;
        sleep(Duration::from_millis(300));
        drop(first.kill());
        first.wait()?;
        for _ in 0..2 {
            let output = shell(&script).output()?;
            let said = if output.status.success() {
                "OK".into()
            } else {
                text(&output)
            };
            self.tally.compare("script", b"exit code", &said, "OK");
        }
        self.is_replica()?;
        let port = self.servers.get(0).address.port();
        let place = format!("127.0.0.1:{port}");
        let output = Command::new("redis-cli")
            .args([
                "--cluster",
                "check",
                &place,
                "--user",
                USER,
                "-a",
                PASSWORD,
                "--no-auth-warning",
            ])
            .output()?;
        let checked = text(&output);
        expect(
            output.status.success() && !checked.contains("[WARNING]"),
            &checked,
        )
    }

    fn every_key(&mut self) -> Fallible<()> {
        let mut found = Vec::new();
        for place in [0, 1] {
            let keys: Vec<Vec<u8>> = self.servers.ask(place, "KEYS *")?;
            found.extend(keys);
        }
        found.sort_unstable();
        expect(found == self.keys, "keys were lost")
    }
}

fn shell(script: &Path) -> Command {
    let mut command = Command::new("sh");
    command.arg(script);
    command
        .env("REDISCLI_AUTH", PASSWORD)
        .env("HASHROUTE_REDIS_USER", USER);
    command
}

fn text(output: &Output) -> String {
    [&output.stdout, &output.stderr]
        .map(|bytes| String::from_utf8_lossy(bytes))
        .concat()
}
