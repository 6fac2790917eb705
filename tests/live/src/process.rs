//! Servers that a check starts, stopped when it ends.

use std::env;
use std::ffi::OsStr;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::tally::Fallible;

const PATIENCE: Duration = Duration::from_secs(20);

/// Returns whether a program or a library with this name is installed.
pub(crate) fn exists(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let others = [
        "/usr/sbin",
        "/sbin",
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
    ];
    let known = env::split_paths(&path).chain(others.map(Into::into));
    known
        .map(|folder| folder.join(program))
        .any(|file| file.is_file())
}

/// Returns a loopback port that was free a moment ago.
pub(crate) fn free_port() -> Fallible<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Returns the folders of programs, with those of servers.
pub(crate) fn path() -> String {
    let path = env::var("PATH").unwrap_or_default();
    format!("{path}:/usr/sbin:/sbin")
}

/// A running server.
#[derive(Debug)]
pub(crate) struct Running(Child);

impl Running {
    /// Starts a program with its output in `log` and waits until it listens on `port`.
    pub(crate) fn start<A: AsRef<OsStr>>(
        program: &str,
        args: impl IntoIterator<Item = A>,
        log: &Path,
        port: u16,
    ) -> Fallible<Self> {
        let (out, err) = (
            std::fs::File::create(log)?,
            std::fs::File::options().append(true).open(log)?,
        );
        let child = Command::new(program)
            .args(args)
            .env("PATH", path())
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err)
            .spawn()
            .map_err(|error| format!("{program}: {error}"))?;
        let mut running = Self(child);
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Ok(running);
            }
            if let Some(status) = running.0.try_wait()? {
                break_off(program, &format!("ended with {status}"), log)?;
            }
            sleep(Duration::from_millis(20));
        }
        break_off(program, "does not listen", log)?;
        Ok(running)
    }

    /// Kills the server at once.
    pub(crate) fn kill(mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn break_off(program: &str, what: &str, log: &Path) -> Fallible<()> {
    let log = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<_> = log.lines().collect();
    let last = &lines[lines.len().saturating_sub(20)..];
    Err(format!("{program} {what}; the end of its log:\n{}", last.join("\n")).into())
}

impl Drop for Running {
    fn drop(&mut self) {
        // Its process id may belong to another process by now.
        if !matches!(self.0.try_wait(), Ok(None)) {
            return;
        }
        // Asked to stop first, since a killed server leaves its workers behind.
        let pid = self.0.id().to_string();
        drop(Command::new("kill").arg(&pid).status());
        let start = Instant::now();
        while start.elapsed() < PATIENCE / 4 {
            if !matches!(self.0.try_wait(), Ok(None)) {
                return;
            }
            sleep(Duration::from_millis(20));
        }
        // It may have ended already.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}
