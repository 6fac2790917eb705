//! Signs of life on a terminal, for work that lasts.

use core::time::Duration;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How long work goes on before anything shows.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often a spinner turns.
const TURN: Duration = Duration::from_millis(100);

/// What is shown until it is dropped: on standard error, when that is
/// a terminal, the work goes on for over a second and nobody wants quiet.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
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
            return Self {
                bar,
                working: None,
                waiter: None,
            };
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
        Self {
            bar,
            working: Some(working),
            waiter: Some(waiter),
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
