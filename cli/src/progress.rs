//! Progress on a terminal, for work that takes more than a second.

use core::fmt::Write;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::io::Read;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::units;

/// The time before anything is shown.
const PATIENCE: Duration = Duration::from_secs(1);
/// The time between two turns of a spinner.
const TURN: Duration = Duration::from_millis(100);

/// The amount of input.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Size {
    Bytes(u64),
    Keys(u64),
    Unknown,
}

/// A progress bar or spinner, shown until it is dropped. It appears on standard error if that is a
/// terminal, the work takes more than a second, and `--quiet` is not given.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    /// The number of keys read so far.
    keys: Arc<AtomicU64>,
    /// What the bar counts.
    size: Size,
    /// Dropping it tells the waiting thread that the work is done.
    working: Option<Sender<()>>,
    waiter: Option<JoinHandle<()>>,
}

impl Progress {
    /// Starts a spinner that turns by itself.
    pub(crate) fn start(quiet: bool, what: &'static str) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden())
            .with_style(ProgressStyle::default_spinner())
            .with_message(what);
        Self::patient(bar, quiet, true)
    }

    /// Starts a bar with the rate of reading and the time left; a spinner if the amount of input is
    /// unknown.
    pub(crate) fn reading(quiet: bool, size: Size) -> Self {
        let (all, template) = match size {
            Size::Bytes(all) | Size::Keys(all) => (
                Some(all),
                "{bar:30} {percent}% reading keys: {keys}, {eta} left",
            ),
            Size::Unknown => (None, "{spinner} reading keys: {keys}"),
        };
        let bar = ProgressBar::with_draw_target(all, ProgressDrawTarget::hidden());
        let keys = Arc::new(AtomicU64::new(0));
        let counter = keys.clone();
        let rate = move |state: &ProgressState, out: &mut dyn Write| {
            let keys = counter.load(Ordering::Relaxed);
            let rate = keys as f64 / state.elapsed().as_secs_f64().max(0.001);
            // A failed write has no one to report to.
            let _ = write!(
                out,
                "{}, {} a second",
                units::count(keys),
                units::rounded(rate)
            );
        };
        let bar = match ProgressStyle::with_template(template) {
            Ok(style) => bar.with_style(style.with_key("keys", rate)),
            Err(_) => bar,
        };
        let mut progress = Self::patient(bar, quiet, true);
        (progress.keys, progress.size) = (keys, size);
        progress
    }

    /// Wraps an input so that reading moves a bar that counts bytes.
    pub(crate) fn wrap(&self, input: Box<dyn Read>) -> Box<dyn Read> {
        match self.size {
            Size::Bytes(_) => Box::new(self.bar.wrap_read(input)),
            Size::Keys(_) | Size::Unknown => input,
        }
    }

    /// Adds keys that were read.
    pub(crate) fn add_keys(&self, keys: u64) {
        self.keys.fetch_add(keys, Ordering::Relaxed);
        if matches!(self.size, Size::Keys(_)) {
            self.bar.inc(keys);
        }
    }

    /// Returns the number of keys read so far.
    pub(crate) fn keys(&self) -> u64 {
        self.keys.load(Ordering::Relaxed)
    }

    /// Starts a bar of `all` steps. It is drawn only at steps, because redrawing would disturb the
    /// times that are measured between them.
    pub(crate) fn steps(quiet: bool, all: usize) -> Self {
        let bar = ProgressBar::with_draw_target(Some(all as u64), ProgressDrawTarget::hidden());
        // The template is a constant; if it were wrong, the default style would do.
        let bar = match ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} ({elapsed})") {
            Ok(style) => bar.with_style(style),
            Err(_) => bar,
        };
        Self::patient(bar, quiet, false)
    }

    fn patient(bar: ProgressBar, quiet: bool, turning: bool) -> Self {
        if quiet {
            return Self::of(bar);
        }
        let (working, done) = mpsc::channel::<()>();
        let shown = bar.clone();
        let waiter = thread::spawn(move || {
            if done.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                // The target draws nothing if standard error is not a terminal.
                shown.set_draw_target(ProgressDrawTarget::stderr());
                if turning {
                    shown.enable_steady_tick(TURN);
                }
            }
        });
        let mut progress = Self::of(bar);
        (progress.working, progress.waiter) = (Some(working), Some(waiter));
        progress
    }

    fn of(bar: ProgressBar) -> Self {
        Self {
            bar,
            keys: Arc::default(),
            size: Size::Unknown,
            working: None,
            waiter: None,
        }
    }

    /// Sets the text of a spinner.
    pub(crate) fn message(&self, what: &'static str) {
        self.bar.set_message(what);
    }

    /// Sets the number of steps done, and the name of the next one.
    pub(crate) fn step(&self, done: usize, next: String) {
        self.bar.set_message(next);
        self.bar.set_position(done as u64);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.working.take());
        if let Some(waiter) = self.waiter.take() {
            // The thread cannot panic; if it did, there would be nothing to clean up.
            let _ = waiter.join();
        }
        self.bar.finish_and_clear();
    }
}
