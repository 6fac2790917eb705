//! Does a real redis-server put the same keys into the same slots?
//!
//! Starts `redis-server` in cluster mode on a free loopback port and asks it with
//! `CLUSTER KEYSLOT`. Exits with 1 when a slot differs, and with 3 when there is no server.

use std::error::Error;
use std::net::TcpListener;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::Duration;

use hashroute::{HashSlots, KeyHash, KeyHasher};

const KEYS: u64 = 50_000;
const BATCH: u64 = 1_000;

fn main() -> ExitCode {
    match run() {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(error) => {
            eprintln!("NOT RUN: the check against a real redis-server: {error}");
            eprintln!("install it with: apt-get install redis-server");
            ExitCode::from(3)
        }
    }
}

fn run() -> Result<u64, Box<dyn Error>> {
    let server = Server::start()?;
    let mut connection = server.connect()?;
    let info: String = redis::cmd("INFO").arg("server").query(&mut connection)?;
    let version = info
        .lines()
        .find_map(|line| line.strip_prefix("redis_version:"))
        .unwrap_or("?");
    let table = HashSlots::new([])?.with_hasher(KeyHasher::REDIS);
    let mut failed = 0;
    for batch in 0..KEYS / BATCH {
        let keys: Vec<_> = (batch * BATCH..(batch + 1) * BATCH).map(key).collect();
        let mut pipe = redis::pipe();
        for key in &keys {
            pipe.cmd("CLUSTER").arg("KEYSLOT").arg(key);
        }
        let slots: Vec<u32> = pipe.query(&mut connection)?;
        for (key, slot) in keys.iter().zip(slots) {
            if table.slot(key) != slot {
                eprintln!(
                    "{:?}: redis says {slot}, we say {}",
                    key.escape_ascii().to_string(),
                    table.slot(key)
                );
                failed += 1;
            }
        }
    }
    println!("redis-server {version}: CLUSTER KEYSLOT of random bytes with braces among them");
    println!("{} passed, {failed} failed", KEYS - failed);
    Ok(failed)
}

/// Random bytes of length 0 to 40; half the keys are drawn from an alphabet full of braces.
fn key(index: u64) -> Vec<u8> {
    let length = KeyHash::from_integer(index).get() % 41;
    let byte = |at: u64| {
        KeyHash::from_integer(index * 64 + at + (1 << 40))
            .get()
            .to_be_bytes()[0]
    };
    let braces = |byte: u8| b"{}{}ab\xc8\0"[usize::from(byte % 8)];
    (0..length)
        .map(byte)
        .map(|byte| {
            if index.is_multiple_of(2) {
                byte
            } else {
                braces(byte)
            }
        })
        .collect()
}

/// A server of our own, stopped when the check ends.
struct Server {
    process: Child,
    port: u16,
    _data: tempfile::TempDir,
}

impl Server {
    fn start() -> Result<Self, Box<dyn Error>> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let data = tempfile::tempdir()?;
        // The cluster bus listens 10,000 ports above, which a high port has no room for.
        let bus = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let process = Command::new("redis-server")
            .args([
                "--bind",
                "127.0.0.1",
                "--port",
                &port.to_string(),
                "--save",
                "",
            ])
            .args([
                "--cluster-enabled",
                "yes",
                "--cluster-port",
                &bus.to_string(),
            ])
            .arg("--dir")
            .arg(data.path())
            .stdout(Stdio::null())
            .spawn()?;
        Ok(Self {
            process,
            port,
            _data: data,
        })
    }

    fn connect(&self) -> Result<redis::Connection, Box<dyn Error>> {
        let client = redis::Client::open(format!("redis://127.0.0.1:{}/", self.port))?;
        for _ in 0..100 {
            if let Ok(connection) = client.get_connection() {
                return Ok(connection);
            }
            sleep(Duration::from_millis(50));
        }
        Err("the server did not answer within 5 seconds".into())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have gone already; there is nothing else to do then.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}
