//! The processes of `examples/etcd`: clients that follow, and writers.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use crate::tally::Fallible;

pub(super) const PROGRAM: &str = "hashroute-etcd";
pub(super) const KEY: &str = "/routing/cache";

/// The limit for any answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// A process that answers lines with lines.
#[derive(Debug)]
pub(super) struct Peer {
    name: String,
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    log: PathBuf,
}

/// The state that a client reports.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Report {
    pub(super) epoch: u64,
    /// The fingerprint, and a digest of 10,000 routes.
    pub(super) state: String,
    pub(super) age: f64,
}

impl Peer {
    pub(super) fn start(name: &str, mode: &str, port: u16, folder: &Path) -> Fallible<Self> {
        let log = folder.join(name);
        let mut child = Command::new(PROGRAM)
            .args([&format!("http://127.0.0.1:{port}"), KEY, mode])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(&log)?)
            .spawn()?;
        let input = child.stdin.take().ok_or("no input")?;
        let output = BufReader::new(child.stdout.take().ok_or("no output")?);
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            // Ends with the process, or when the receiver is gone.
            let _ = output
                .split(b'\n')
                .map_while(Result::ok)
                .try_for_each(|line| sender.send(String::from_utf8_lossy(&line).into_owned()));
        });
        Ok(Self {
            name: name.to_owned(),
            child,
            input,
            lines,
            log,
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn send(&mut self, line: impl AsRef<[u8]>) -> Fallible<()> {
        Ok(self.input.write_all(&[line.as_ref(), b"\n"].concat())?)
    }

    pub(super) fn line(&self) -> Fallible<String> {
        self.lines
            .recv_timeout(PATIENCE)
            .map_err(|error| self.failure(&error.to_string()))
    }

    /// Sends a signal: `STOP` or `CONT`.
    pub(super) fn signal(&self, signal: &str) -> Fallible<()> {
        let status = Command::new("kill")
            .args(["-s", signal, &self.child.id().to_string()])
            .status()?;
        if !status.success() {
            return Err(self.failure(signal));
        }
        Ok(())
    }

    /// Returns the state of the client once it has reached an epoch.
    pub(super) fn at(&self, epoch: u64) -> Fallible<Report> {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            let report = self.report()?;
            if report.epoch >= epoch {
                return Ok(report);
            }
        }
        Err(self.failure(&format!("has not come to epoch {epoch}")))
    }

    /// Asks until the answer is the wanted one.
    pub(super) fn until(&mut self, wanted: impl Fn(&Report) -> bool) -> Fallible<Report> {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            self.send("")?;
            let report = self.report()?;
            if wanted(&report) {
                return Ok(report);
            }
            thread::sleep(Duration::from_millis(100));
        }
        Err(self.failure("does not say what is wanted"))
    }

    /// Waits until the log contains these words.
    pub(super) fn complains(&self, words: &str) -> Fallible<()> {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if fs::read_to_string(&self.log)?.contains(words) {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(50));
        }
        Err(self.failure(&format!("does not complain of {words:?}")))
    }

    fn report(&self) -> Fallible<Report> {
        let line = self.line()?;
        let words: Vec<_> = line.split(' ').collect();
        let [
            _,
            epoch,
            "fingerprint",
            fingerprint,
            "routes",
            routes,
            "age",
            age,
            "s",
        ] = words[..]
        else {
            return Err(self.failure(&format!("{line:?} is no report")));
        };
        Ok(Report {
            epoch: epoch.parse()?,
            state: format!("fingerprint {fingerprint} routes {routes}"),
            age: age.parse()?,
        })
    }

    fn failure(&self, what: &str) -> Box<dyn std::error::Error> {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        format!("{}: {what}; its log:\n{log}", self.name).into()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // A process that has ended needs no signal.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
