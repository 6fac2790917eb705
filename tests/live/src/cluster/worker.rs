//! A client that reads and writes all the time and knows the right values.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::{JoinHandle, spawn};

use redis::Value;

use super::data::{Data, GROUP};
use crate::cluster_client::{ClusterClient, Request};
use crate::random::Random;
use crate::tally::Fallible;

const READS: usize = 48;
const GROUPS: usize = 4;
const WRITES: usize = 16;

/// The progress of the client, visible to other threads.
#[derive(Default)]
pub(super) struct Shared {
    stop: AtomicBool,
    /// The number of batches that were read and written.
    pub(super) batches: AtomicU64,
    pub(super) asks: AtomicU64,
}

pub(super) struct Worker {
    pub(super) client: ClusterClient,
    pub(super) data: Data,
    pub(super) random: Random,
    pub(super) answers: u64,
}

pub(super) struct Working {
    thread: Option<JoinHandle<Result<Worker, String>>>,
    pub(super) shared: Arc<Shared>,
}

impl Worker {
    pub(super) fn start(mut self) -> Working {
        let shared = Arc::new(Shared::default());
        let seen = Arc::clone(&shared);
        let thread = spawn(move || {
            while !seen.stop.load(Relaxed) {
                self.batch().map_err(|error| error.to_string())?;
                seen.batches.fetch_add(1, Relaxed);
                seen.asks.store(self.client.count("ASK"), Relaxed);
            }
            Ok(self)
        });
        Working {
            thread: Some(thread),
            shared,
        }
    }

    /// Writes a batch and reads it back.
    pub(super) fn batch(&mut self) -> Fallible<()> {
        let mut keys: Vec<_> = (0..WRITES)
            .map(|_| self.data.any(&mut self.random))
            .collect();
        keys.sort_unstable();
        keys.dedup();
        for key in &keys {
            self.data.versions[*key] += 1;
        }
        self.write(&keys)?;
        let mut read: Vec<_> = (0..READS)
            .map(|_| self.data.any(&mut self.random))
            .collect();
        read.extend(keys);
        self.read(&read)?;
        self.read_groups()
    }

    /// Returns what happened to the client, as text.
    pub(super) fn report(&self) -> String {
        let met = self.client.met.iter();
        let met: Vec<_> = met.map(|(what, count)| format!("{what} {count}")).collect();
        format!(
            "the client got {} answers, and met {}",
            self.answers,
            met.join(", ")
        )
    }

    pub(super) fn write(&mut self, keys: &[usize]) -> Fallible<()> {
        let data = &self.data;
        let writes = keys
            .iter()
            .map(|key| Request::set(&data.keys[*key], &data.value(*key)));
        for (key, answer) in keys
            .iter()
            .zip(self.client.run(&writes.collect::<Vec<_>>()))
        {
            if answer != Ok(Value::Okay) {
                return Err(wrong("SET", &data.keys[*key], &answer));
            }
            self.answers += 1;
        }
        Ok(())
    }

    pub(super) fn read(&mut self, keys: &[usize]) -> Fallible<()> {
        let data = &self.data;
        let reads = keys.iter().map(|key| Request::get(&data.keys[*key]));
        for (key, answer) in keys.iter().zip(self.client.run(&reads.collect::<Vec<_>>())) {
            if answer != Ok(Value::BulkString(data.value(*key))) {
                return Err(wrong("GET", &data.keys[*key], &answer));
            }
            self.answers += 1;
        }
        Ok(())
    }

    fn read_groups(&mut self) -> Fallible<()> {
        for _ in 0..GROUPS {
            let group = self.data.group(&mut self.random);
            let request = Request::get_many(&self.data.some(group.clone()));
            let values = group
                .clone()
                .map(|key| Value::BulkString(self.data.value(key)));
            let wanted = Value::Array(values.collect());
            for answer in self.client.run(&[request]) {
                if answer != Ok(wanted.clone()) {
                    return Err(wrong("MGET", &self.data.keys[group.start], &answer));
                }
                self.answers += GROUP as u64;
            }
        }
        Ok(())
    }
}

fn wrong(command: &str, key: &[u8], answer: &dyn std::fmt::Debug) -> Box<dyn std::error::Error> {
    format!("{command} \"{}\" gives {answer:?}", key.escape_ascii()).into()
}

impl Working {
    /// Stops the client after its current batch.
    pub(super) fn stop(mut self) -> Fallible<Worker> {
        self.shared.stop.store(true, Relaxed);
        let thread = self.thread.take().ok_or("no thread")?;
        let ended = thread.join().map_err(|_| "the client panicked")?;
        Ok(ended.map_err(|error| format!("the client: {error}"))?)
    }

    /// Returns whether the client still runs; it stops early only on an error.
    pub(super) fn works(&self) -> bool {
        self.thread
            .as_ref()
            .is_some_and(|thread| !thread.is_finished())
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.shared.stop.store(true, Relaxed);
    }
}
