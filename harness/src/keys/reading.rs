//! Reads a source on one thread and counts its keys on every thread.

use core::num::NonZero;
use core::sync::atomic::{AtomicBool, Ordering};
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::error::InputError;
use super::list::Keys;
use super::source::{BadLines, Chunk, KeySource};

/// Something that counts keys in batches, and can be merged with another of its kind.
///
/// A pair of consumers is a consumer, so that several can look at the same keys.
///
/// ```
/// use hashroute_harness::{Keys, stream::{Consumer, KeySource, Reading, read}};
///
/// #[derive(Clone)]
/// struct Longest(usize);
/// impl Consumer for Longest {
///     fn add(&mut self, keys: &Keys) {
///         self.0 = keys.iter().map(<[u8]>::len).fold(self.0, usize::max);
///     }
///     fn merge(&mut self, other: Self) {
///         self.0 = self.0.max(other.0);
///     }
/// }
/// let source = KeySource::lines(&b"a\nabc\nab\n"[..]);
/// let ((one, other), _) = read(source, &(Longest(0), Longest(7)), &Reading::default())?;
/// assert_eq!((one.0, other.0), (3, 7));
/// # Ok::<(), hashroute_harness::InputError>(())
/// ```
pub trait Consumer: Clone + Send + Sync {
    /// Counts these keys.
    fn add(&mut self, keys: &Keys);

    /// Adds what another consumer has counted: the result is that of one consumer for the keys of
    /// both.
    fn merge(&mut self, other: Self);
}

impl<A: Consumer, B: Consumer> Consumer for (A, B) {
    fn add(&mut self, keys: &Keys) {
        self.0.add(keys);
        self.1.add(keys);
    }

    fn merge(&mut self, other: Self) {
        self.0.merge(other.0);
        self.1.merge(other.1);
    }
}

/// Options of [`read()`].
///
/// ```
/// use hashroute_harness::stream::Reading;
/// let in_order = Reading::default().with_threads(Some(std::num::NonZero::<usize>::MIN));
/// assert!(!in_order.strict);
/// ```
#[derive(Clone, Copy, Default)]
#[non_exhaustive]
pub struct Reading<'a> {
    /// The number of threads that count. Default: the number of cores, up to 16. With one thread,
    /// keys come in their order.
    pub threads: Option<NonZero<usize>>,
    /// Whether a bad line is an error.
    pub strict: bool,
    /// Called after every batch, on any thread, with the number of its keys.
    pub progress: Option<&'a (dyn Fn(u64) + Sync)>,
}

builder! { Reading<'a>:
    with_threads(threads: impl Into<Option<NonZero<usize>>>),
    with_strict(strict: bool),
    with_progress(progress: &'a (dyn Fn(u64) + Sync)),
}

impl core::fmt::Debug for Reading<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Reading")
            .field("threads", &self.threads)
            .field("strict", &self.strict)
            .finish_non_exhaustive()
    }
}

/// The most threads by default. More would wait for the thread that reads, and each takes memory.
const MOST_THREADS: NonZero<usize> = NonZero::new(16).unwrap();

/// The batches that may wait for each thread: enough to keep it busy, and few in memory.
const WAITING: usize = 2;

/// Counts all keys of a source with copies of `consumer` on several threads, and merges the copies.
/// Bad lines are skipped and returned; if `how` is strict, the first of them is an error.
///
/// Memory: one consumer for each thread, and a few batches of about 256 KiB.
///
/// # Errors
/// [`InputError`].
///
/// ```
/// use hashroute_harness::stream::{Counter, KeySource, Reading, read};
/// use hashroute::{Node, Ring};
///
/// let ring = Ring::new(["a", "b"].map(Node::new))?;
/// let source = KeySource::jsonl(&b"\"a\"\nb\n"[..]);
/// let strict = Reading::default().with_strict(true);
/// let error = read(source, &Counter::new("ring", &ring)?, &strict).unwrap_err();
/// assert!(error.to_string().starts_with("line 2: not JSON"));
/// # Ok::<(), hashroute::Error>(())
/// ```
pub fn read<C: Consumer>(
    mut source: KeySource,
    consumer: &C,
    how: &Reading,
) -> Result<(C, BadLines), InputError> {
    let cores = || thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
    let threads = how
        .threads
        .unwrap_or_else(|| cores().min(MOST_THREADS))
        .get();
    let stop = &AtomicBool::new(false);
    let (sender, receiver) = sync_channel(threads * WAITING);
    // Only the workers own the receiver, so `send` fails once no worker is left.
    let receiver = Arc::new(Mutex::new(receiver));
    let done = thread::scope(|scope| {
        let worker = || {
            let (worker, chunks) = (Worker::new(how, stop), receiver.clone());
            scope.spawn(move || worker.run(consumer.clone(), &chunks))
        };
        let workers: Vec<_> = (0..threads).map(|_| worker()).collect();
        drop(receiver);
        let mut first = Worker::new(how, stop);
        let fed = first.feed(&mut source, &sender);
        drop(sender);
        let mut done = vec![(None, first.bad, fed)];
        for worker in workers {
            let (consumer, bad, outcome) =
                worker.join().unwrap_or_else(|panic| resume_unwind(panic));
            done.push((Some(consumer), bad, outcome));
        }
        done
    });
    let (mut all, mut bad, mut result): (Option<C>, _, _) = (None, BadLines::default(), Ok(()));
    for (consumer, worse, outcome) in done {
        bad.merge(worse);
        result = result.and(outcome);
        match (&mut all, consumer) {
            (Some(all), Some(consumer)) => all.merge(consumer),
            (None, consumer) => all = consumer,
            _ => {}
        }
    }
    result?;
    bad.refuse(how.strict)?;
    Ok((all.unwrap_or_else(|| consumer.clone()), bad))
}

/// One thread that reads or counts.
struct Worker<'a> {
    how: &'a Reading<'a>,
    /// Whether some thread has met an error that ends the reading.
    stop: &'a AtomicBool,
    bad: BadLines,
}

impl<'a> Worker<'a> {
    fn new(how: &'a Reading, stop: &'a AtomicBool) -> Self {
        Self {
            how,
            stop,
            bad: BadLines::default(),
        }
    }

    fn is_over(&self) -> bool {
        self.how.strict && self.bad.count > 0
    }

    /// Sends all chunks of a source to the workers.
    fn feed(
        &mut self,
        source: &mut KeySource,
        chunks: &SyncSender<Chunk>,
    ) -> Result<(), InputError> {
        while !self.stop.load(Ordering::Relaxed) && !self.is_over() {
            let chunk = source.next_chunk(&mut self.bad)?;
            if chunk.is_none_or(|chunk| chunks.send(chunk).is_err()) {
                break;
            }
        }
        Ok(())
    }

    fn run<C: Consumer>(
        mut self,
        mut consumer: C,
        chunks: &Mutex<Receiver<Chunk>>,
    ) -> (C, BadLines, Result<(), InputError>) {
        let next = || chunks.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let mut outcome = Ok(());
        // After an error the queue is still drained: of all bad lines the first in the file is
        // reported, and another worker may hold an earlier one.
        while let Ok(chunk) = next() {
            match self.count(chunk, &mut consumer) {
                Ok(()) if !self.is_over() => {}
                result => {
                    self.stop.store(true, Ordering::Relaxed);
                    outcome = outcome.and(result);
                }
            }
        }
        (consumer, self.bad, outcome)
    }

    fn count<C: Consumer>(&mut self, chunk: Chunk, consumer: &mut C) -> Result<(), InputError> {
        let keys = chunk.keys(&mut self.bad)?;
        consumer.add(&keys);
        if let Some(progress) = self.how.progress {
            progress(keys.len() as u64);
        }
        Ok(())
    }
}
