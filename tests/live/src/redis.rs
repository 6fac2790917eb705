//! A real redis-server puts the same keys into the same slots.
//!
//! Starts `redis-server` in cluster mode on a free loopback port and asks it with
//! `CLUSTER KEYSLOT`.

use std::ffi::OsStr;
use std::path::Path;

use hashroute::{HashSlots, KeyHash, KeyHasher, Node};

use crate::process::{Running, free_port};
use crate::random::Random;
use crate::tally::{Fallible, Outcome, Tally};

const KEYS: u64 = 50_000;
const BATCH: u64 = 1_000;

pub(crate) fn check(_: &mut Random) -> Outcome {
    let (data, port) = (tempfile::tempdir()?, free_port()?);
    let _server = start(port, data.path())?;
    let client = redis::Client::open(format!("redis://127.0.0.1:{port}/"))?;
    let mut connection = client.get_connection()?;
    let info: String = redis::cmd("INFO").arg("server").query(&mut connection)?;
    let version = info
        .lines()
        .find_map(|line| line.strip_prefix("redis_version:"))
        .unwrap_or("?");
    let table = HashSlots::new([] as [Node; 0])?.with_hasher(KeyHasher::REDIS);
    let mut tally = Tally::new(format!("redis-server {version}, CLUSTER KEYSLOT"));
    for batch in 0..KEYS / BATCH {
        let keys: Vec<_> = (batch * BATCH..(batch + 1) * BATCH).map(key).collect();
        let mut pipe = redis::pipe();
        for key in &keys {
            pipe.cmd("CLUSTER").arg("KEYSLOT").arg(key);
        }
        let slots: Vec<u32> = pipe.query(&mut connection)?;
        for (key, slot) in keys.iter().zip(slots) {
            let ours = table.slot(key).to_string();
            tally.compare("slots", key, &slot.to_string(), &ours);
        }
    }
    Ok(tally)
}

/// Returns 0 to 40 random bytes; half of the keys consist mostly of braces.
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

fn start(port: u16, data: &Path) -> Fallible<Running> {
    // The cluster bus listens 10,000 ports above, so the port must be low.
    let (port_text, bus) = (port.to_string(), free_port()?.to_string());
    let mut args = vec!["--bind", "127.0.0.1", "--port", &port_text, "--save", ""];
    args.extend(["--cluster-enabled", "yes", "--cluster-port", &bus, "--dir"]);
    let args = args.into_iter().map(OsStr::new).chain([data.as_os_str()]);
    Running::start("redis-server", args, &data.join("log"), port)
}
