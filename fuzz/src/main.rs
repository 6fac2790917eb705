//! Runs the fuzz targets on stable Rust, with random inputs from a fixed seed.

use std::cell::RefCell;
use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hashroute_fuzz::{ALL, Outcome, Target, find};
use xxhash_rust::xxh3::xxh3_64;

const USAGE: &str = "\
Usage: run [OPTIONS] [TARGET]...

Runs each target (all by default) with random inputs, and stops at the first failure: it writes
the input, minimised, to artifacts/TARGET, and ends with 1.

  --count N      executions of each target [default: 100000, without --seconds]
  --seconds S    seconds for each target; with --count, whichever ends first
  --accepted N   ends a target after N accepted executions
  --seed N       seed of the inputs [default: 1]
  --threads N    threads, each with its own part of the inputs [default: 1]
  --least P      percent of executions that must be accepted [default: 50]
  --log DIR      appends the figures of each target to DIR/TARGET.log, every minute and at the end
  --corpus DIR   runs the files of DIR/TARGET first, if there are any [default: corpus]
  --write N      writes N inputs that are accepted, and two that are not, to the corpus, and ends
  --input FILE   runs this input alone; needs one target
  --list         lists the targets
";

/// The options of the command line.
struct Options {
    count: Option<u64>,
    time: Option<Duration>,
    accepted: Option<u64>,
    seed: u64,
    threads: u64,
    least: u64,
    log: Option<PathBuf>,
    corpus: PathBuf,
    write: Option<usize>,
    input: Option<PathBuf>,
    targets: Vec<&'static Target>,
}

impl Options {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            count: None,
            time: None,
            accepted: None,
            seed: 1,
            threads: 1,
            least: 50,
            log: None,
            corpus: "corpus".into(),
            write: None,
            input: None,
            targets: Vec::new(),
        };
        while let Some(word) = words.next() {
            let mut text = || {
                words
                    .next()
                    .ok_or_else(|| format!("{word}: expected a value"))
            };
            let number = |text: String| {
                let whole = text.replace('_', "").parse::<u64>();
                whole.map_err(|_| format!("{word}: expected a whole number, found {text:?}"))
            };
            match word.as_str() {
                "--count" => options.count = Some(number(text()?)?),
                "--seconds" => options.time = Some(Duration::from_secs(number(text()?)?)),
                "--accepted" => options.accepted = Some(number(text()?)?),
                "--seed" => options.seed = number(text()?)?,
                "--threads" => options.threads = number(text()?)?.max(1),
                "--least" => options.least = number(text()?)?,
                "--log" => options.log = Some(text()?.into()),
                "--corpus" => options.corpus = text()?.into(),
                "--write" => options.write = usize::try_from(number(text()?)?).ok(),
                "--input" => options.input = Some(text()?.into()),
                "--list" => {
                    for target in ALL {
                        println!("{:22} {}", target.name, target.about);
                    }
                    std::process::exit(0);
                }
                "--help" | "-h" => {
                    print!("{USAGE}");
                    std::process::exit(0);
                }
                name => {
                    let unknown = || format!("{name}: no such target or option; --list has all");
                    options.targets.push(find(name).ok_or_else(unknown)?);
                }
            }
        }
        if options.targets.is_empty() {
            options.targets = ALL.iter().collect();
        }
        if options.count.is_none() && options.time.is_none() && options.accepted.is_none() {
            options.count = Some(100_000);
        }
        Ok(options)
    }
}

/// The figures of a run.
#[derive(Clone, Copy, Default)]
struct Figures {
    runs: u64,
    accepted: u64,
    slowest: Duration,
}

impl Figures {
    fn add(&mut self, other: Self) {
        self.runs += other.runs;
        self.accepted += other.accepted;
        self.slowest = self.slowest.max(other.slowest);
    }

    fn percent(&self) -> f64 {
        100.0 * self.accepted as f64 / self.runs.max(1) as f64
    }

    fn line(&self, name: &str, time: Duration) -> String {
        let rate = self.runs as f64 / time.as_secs_f64().max(1e-9);
        format!(
            "{name:22} {:>12} executions {:>12} accepted {:>5.1} % {:>9.0} a second, slowest {:.1} ms",
            self.runs,
            self.accepted,
            self.percent(),
            rate,
            self.slowest.as_secs_f64() * 1e3
        )
    }
}

/// `SplitMix64`: a stream of numbers for each seed.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// Fills the buffer with an input: a few hundred bytes, sometimes a few thousand.
    fn fill(&mut self, input: &mut Vec<u8>) {
        let draw = self.next();
        let len = match draw % 64 {
            0..=3 => draw >> 32 & 63,
            4..=60 => 64 + (draw >> 32) % 448,
            _ => 512 + (draw >> 32) % 3584,
        };
        input.clear();
        for _ in 0..len.div_ceil(8) {
            input.extend_from_slice(&self.next().to_le_bytes());
        }
    }
}

thread_local! {
    /// The message of the last panic of this thread, with its place.
    static LAST: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps the messages of panics, which are not printed: thousands come while an input is minimised.
fn keep_messages() {
    panic::set_hook(Box::new(|info| {
        LAST.with(|last| *last.borrow_mut() = info.to_string());
    }));
}

/// Runs an input, and returns the message of a failure.
fn attempt(target: &Target, input: &[u8]) -> Result<Outcome, String> {
    panic::catch_unwind(AssertUnwindSafe(|| target.run(input)))
        .map_err(|_| LAST.with(|last| last.borrow().clone()))
}

/// Removes and zeroes what the failure does not need.
fn minimise(target: &Target, mut input: Vec<u8>) -> Vec<u8> {
    let fails = |input: &[u8]| attempt(target, input).is_err();
    let mut size = input.len().next_power_of_two();
    let (mut tries, end) = (0, Instant::now() + Duration::from_secs(20));
    while size > 0 && tries < 20_000 && Instant::now() < end {
        let mut at = 0;
        while at < input.len() && Instant::now() < end {
            let stop = (at + size).min(input.len());
            let mut less = input.clone();
            less.drain(at..stop);
            let mut zeroed = input.clone();
            zeroed[at..stop].fill(0);
            tries += 2;
            if fails(&less) {
                input = less;
            } else {
                if zeroed != input && fails(&zeroed) {
                    input = zeroed;
                }
                at = stop;
            }
        }
        size /= 2;
    }
    input
}

fn save(folder: &Path, input: &[u8]) -> std::io::Result<PathBuf> {
    let path = folder.join(format!("{:016x}", xxh3_64(input)));
    fs::create_dir_all(folder)?;
    fs::write(&path, input)?;
    Ok(path)
}

/// Tells of a failure and writes its input.
fn report(target: &Target, input: Vec<u8>, message: &str) {
    eprintln!("{}: {message}", target.name);
    let small = minimise(target, input);
    match save(&Path::new("artifacts").join(target.name), &small) {
        Ok(path) => eprintln!(
            "{}: {} bytes in {}; run --input {} {}",
            target.name,
            small.len(),
            path.display(),
            path.display(),
            target.name
        ),
        Err(error) => eprintln!("the input cannot be written: {error}: {small:?}"),
    }
}

/// The part of a thread in a run.
struct Part<'a> {
    options: &'a Options,
    target: &'a Target,
    thread: u64,
    end: Option<Instant>,
    stop: &'a AtomicBool,
    /// The figures of all threads.
    sum: &'a Mutex<Figures>,
    failure: &'a Mutex<Option<(Vec<u8>, String)>>,
}

impl Part<'_> {
    fn run(&self) {
        let threads = self.options.threads;
        let share = |all: u64| all / threads + u64::from(self.thread < all % threads);
        let count = self.options.count.map_or(u64::MAX, share);
        let accepted = self.options.accepted.map_or(u64::MAX, share);
        let name = self.target.name.bytes();
        let name = name.fold(0, |sum: u64, byte| sum.wrapping_mul(31) ^ u64::from(byte));
        let mut numbers = Numbers(self.options.seed);
        let seed = numbers.next() ^ Numbers(name).next() ^ Numbers(self.thread).next();
        let (mut numbers, mut input) = (Numbers(seed), Vec::new());
        let (mut all, mut figures) = (Figures::default(), Figures::default());
        while all.runs + figures.runs < count && all.accepted + figures.accepted < accepted {
            numbers.fill(&mut input);
            let start = Instant::now();
            let outcome = attempt(self.target, &input);
            let now = Instant::now();
            figures.runs += 1;
            figures.slowest = figures.slowest.max(now - start);
            match outcome {
                Ok(outcome) => figures.accepted += u64::from(outcome == Outcome::Accepted),
                Err(message) => {
                    let failure = (core::mem::take(&mut input), message);
                    self.failure
                        .lock()
                        .expect("no panic")
                        .get_or_insert(failure);
                    self.stop.store(true, Ordering::Relaxed);
                    break;
                }
            }
            if figures.runs == 256 {
                self.sum.lock().expect("no panic").add(figures);
                all.add(core::mem::take(&mut figures));
                if self.stop.load(Ordering::Relaxed) || self.end.is_some_and(|end| now >= end) {
                    break;
                }
            }
        }
        self.sum.lock().expect("no panic").add(figures);
    }
}

/// Runs the files of the corpus; returns the first that fails.
fn run_corpus(options: &Options, target: &Target) -> Result<u64, (Vec<u8>, String)> {
    let Ok(files) = fs::read_dir(options.corpus.join(target.name)) else {
        return Ok(0);
    };
    let mut files: Vec<_> = files.filter_map(|file| Some(file.ok()?.path())).collect();
    files.sort();
    let mut runs = 0;
    for file in files {
        let input = fs::read(&file).unwrap_or_default();
        attempt(target, &input)
            .map_err(|message| (input, format!("{}: {message}", file.display())))?;
        runs += 1;
    }
    Ok(runs)
}

/// Runs a target; returns whether all is well.
fn run(options: &Options, target: &'static Target) -> bool {
    if let Err((input, message)) = run_corpus(options, target) {
        report(target, input, &message);
        return false;
    }
    let (start, stop) = (Instant::now(), AtomicBool::new(false));
    let (sum, failure) = (Mutex::default(), Mutex::default());
    let part = |thread| Part {
        options,
        target,
        thread,
        end: options.time.map(|time| start + time),
        stop: &stop,
        sum: &sum,
        failure: &failure,
    };
    let log = |kind: &str| {
        let figures: Figures = *sum.lock().expect("no panic");
        let line = figures.line(target.name, start.elapsed());
        append(
            options,
            target,
            &format!("{kind} seed {} {line}\n", options.seed),
        );
        (figures, line)
    };
    thread::scope(|scope| {
        let parts: Vec<_> = (0..options.threads)
            .map(|thread| {
                let part = part(thread);
                scope.spawn(move || part.run())
            })
            .collect();
        let mut logged = Instant::now();
        while parts.iter().any(|part| !part.is_finished()) {
            thread::sleep(Duration::from_millis(20));
            if logged.elapsed() > Duration::from_secs(60) {
                log("so far");
                logged = Instant::now();
            }
        }
    });
    let (figures, line) = log("done");
    println!("{line}");
    if let Some((input, message)) = failure.into_inner().expect("no panic") {
        append(
            options,
            target,
            &format!("FAILED seed {} {message}\n", options.seed),
        );
        report(target, input, &message);
        return false;
    }
    if figures.percent() < options.least as f64 {
        eprintln!(
            "{}: {:.1} % accepted: expected at least {} %",
            target.name,
            figures.percent(),
            options.least
        );
        return false;
    }
    true
}

/// Appends a line to the log of a target, if there is one.
fn append(options: &Options, target: &Target, line: &str) {
    let Some(folder) = &options.log else {
        return;
    };
    let path = folder.join(format!("{}.log", target.name));
    let file = fs::OpenOptions::new().create(true).append(true).open(path);
    let written = file.and_then(|mut file| std::io::Write::write_all(&mut file, line.as_bytes()));
    if let Err(error) = written {
        eprintln!("{}: {error}", folder.display());
    }
}

/// Writes a small corpus of short inputs. Most of them are accepted.
fn write_corpus(options: &Options, target: &Target, count: usize) -> std::io::Result<()> {
    let folder = options.corpus.join(target.name);
    let (mut numbers, mut input) = (Numbers(options.seed), Vec::new());
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..10_000 {
        numbers.fill(&mut input);
        input.truncate(384);
        match attempt(target, &input) {
            Ok(Outcome::Accepted) if accepted < count => accepted += 1,
            Ok(Outcome::Refused) if refused < 2 => refused += 1,
            _ => continue,
        }
        save(&folder, &input)?;
        if accepted == count && refused == 2 {
            break;
        }
    }
    Ok(())
}

/// Runs one input, with the message of a failure as the standard library prints it.
fn run_input(options: &Options, path: &Path) -> Result<(), String> {
    let [target] = options.targets.as_slice() else {
        return Err("--input needs one target".into());
    };
    let input = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    println!("{:?}", target.run(&input));
    Ok(())
}

fn main() -> ExitCode {
    let options = match Options::read(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("error: {message}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    if let Some(path) = &options.input {
        return match run_input(&options, path) {
            Ok(()) => ExitCode::SUCCESS,
            Err(message) => {
                eprintln!("error: {message}");
                ExitCode::from(2)
            }
        };
    }
    keep_messages();
    for target in &options.targets {
        if let Some(count) = options.write {
            if let Err(error) = write_corpus(&options, target, count) {
                eprintln!("error: {}: {error}", options.corpus.display());
                return ExitCode::from(2);
            }
        } else if !run(&options, target) {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
