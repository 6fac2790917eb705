//! Signs of life on a terminal, for work that lasts.

use core::fmt::Write;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::io::Read;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::units;

/// How long work goes on before anything shows.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often a spinner turns.
const TURN: Duration = Duration::from_millis(100);

/// How much there is to read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Size {
    Bytes(u64),
    Keys(u64),
    Unknown,
}

/// What is shown until it is dropped: on standard error, when that is
/// a terminal, the work goes on for over a second and nobody wants quiet.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    /// Keys read so far.
    keys: Arc<AtomicU64>,
    /// What the bar counts.
    size: Size,
    /// Dropped to say that the work is done.
    working: Option<Sender<()>>,
    waiter: Option<JoinHandle<()>>,
}

impl Progress {
    /// A spinner that turns by itself.
    pub(crate) fn start(quiet: bool, what: &'static str) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden())
            .with_style(ProgressStyle::default_spinner())
            .with_message(what);
        Self::patient(bar, quiet, true)
    }

    /// A bar, or a spinner where nobody knows how much there is, with the rate at which keys are
    /// read and the time left.
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
            // What draws has nobody to tell.
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

    /// An input that moves the bar, if that counts bytes.
    pub(crate) fn wrap(&self, input: Box<dyn Read>) -> Box<dyn Read> {
        match self.size {
            Size::Bytes(_) => Box::new(self.bar.wrap_read(input)),
            Size::Keys(_) | Size::Unknown => input,
        }
    }

    /// So many more keys are read.
    pub(crate) fn add_keys(&self, keys: u64) {
        self.keys.fetch_add(keys, Ordering::Relaxed);
        if matches!(self.size, Size::Keys(_)) {
            self.bar.inc(keys);
        }
    }

    /// How many keys are read.
    pub(crate) fn keys(&self) -> u64 {
        self.keys.load(Ordering::Relaxed)
    }

    /// A bar of `all` steps. It moves with the steps alone, since what runs between them is timed.
    pub(crate) fn steps(quiet: bool, all: usize) -> Self {
        let bar = ProgressBar::with_draw_target(Some(all as u64), ProgressDrawTarget::hidden());
        // The template is a constant; were it wrong, the plain style would do.
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
                // It draws nothing on what is no terminal.
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

    /// What comes now.
    pub(crate) fn message(&self, what: &'static str) {
        self.bar.set_message(what);
    }

    /// This many steps are done, and what comes now.
    pub(crate) fn step(&self, done: usize, next: String) {
        self.bar.set_message(next);
        self.bar.set_position(done as u64);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.working.take());
        if let Some(waiter) = self.waiter.take() {
            // It cannot panic; if it did, there would be nothing to clean up.
            let _ = waiter.join();
        }
        self.bar.finish_and_clear();
    }
}
