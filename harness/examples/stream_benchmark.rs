//! Measures how fast `hashroute balance --keys FILE` or `hashroute skew --keys FILE` reads, routes and
//! judges keys, and its memory.
//!
//! ```text
//! cargo run --release -p hashroute-harness --example stream_benchmark [KEYS] [THREADS] [balance|skew]
//! ```
//!
//! Writes KEYS lines (default: a million) below `target/` once. Then it does what the command does
//! (default: `balance`): a ring of 100 nodes with 160 points each, keys hashed by xxh3, counted by
//! THREADS threads (default, or 0: the number of cores). Wall time grows with other work on the machine, so processor
//! time is shown as well. Processor time and the peak of memory come from Linux's `/proc`; on other
//! systems they are missing.

use core::error::Error;
use core::num::NonZero;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use hashroute::registry::{Params, Setup};
use hashroute::{Node, Ring, strategy};
use hashroute_harness::skew::{Diagnosis, Gatherer};
use hashroute_harness::stream::{Counter, KeySource, Reading, read};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let keys = args.next().map_or(Ok(1_000_000), |text| text.parse())?;
    let threads = args.next().map_or(Ok(0), |text| text.parse::<usize>())?;
    let command = args.next().unwrap_or_else(|| "balance".into());
    let path = input(keys)?;
    let source = KeySource::lines(File::open(path)?);
    let how = Reading::default().with_threads(NonZero::new(threads));
    let (start, before) = (Instant::now(), processor_seconds());
    let found = match command.as_str() {
        "balance" => balance(source, &how)?,
        "skew" => skew(source, &how)?,
        other => return Err(format!("{other}: expected balance or skew").into()),
    };
    let (wall, after) = (start.elapsed().as_secs_f64(), processor_seconds());

    let rate = |seconds: f64| keys as f64 / seconds / 1e6;
    println!("{keys} keys: {found}");
    println!(
        "read and judged in {wall:.2} s: {:.1} million keys a second",
        rate(wall)
    );
    if let Some(cpu) = after.zip(before).map(|(after, before)| after - before) {
        let each = cpu * 1e9 / keys as f64;
        println!(
            "processor time {cpu:.2} s: {each:.0} ns a key, {:.1} million keys a second on two free cores",
            rate(cpu / 2.0)
        );
    }
    if let Some(peak) = field("/proc/self/status", "VmHWM:") {
        println!("peak memory {} MiB", peak / 1024);
    }
    Ok(())
}

fn nodes() -> impl Iterator<Item = Node> {
    (0..100).map(|i| Node::new(format!("node-{i}")))
}

fn balance(source: KeySource, how: &Reading) -> Result<String, Box<dyn Error>> {
    let ring = Ring::new(nodes())?;
    let (counter, _) = read(source, &Counter::new("ring", &ring)?, how)?;
    let balance = counter.into_tally().balance()?;
    let (distinct, cv) = (balance.distinct_keys, balance.figures.cv);
    Ok(format!("{distinct} distinct, cv {cv:.4}"))
}

fn skew(source: KeySource, how: &Reading) -> Result<String, Box<dyn Error>> {
    let setup = Setup::new(strategy::find("ring")?, nodes(), Params::default());
    let router = setup.build()?;
    let (gatherer, _) = read(source, &Gatherer::new(&*router), how)?;
    let skew = Diagnosis::new(&setup).judge(&gatherer.into_evidence())?;
    Ok(format!("{} distinct. {}", skew.distinct_keys, skew.verdict))
}

/// Returns a file with one key a line. Writes it if it does not exist.
fn input(keys: u64) -> Result<PathBuf, Box<dyn Error>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target");
    let path = directory.join(format!("stream-{keys}.txt"));
    if !path.exists() {
        fs::create_dir_all(&directory)?;
        let mut out = BufWriter::with_capacity(1 << 20, File::create(&path)?);
        for i in 0..keys {
            writeln!(out, "user:{i}")?;
        }
        out.flush()?;
    }
    Ok(path)
}

/// Returns the user and system time of this process: fields 14 and 15, in hundredths of a second.
fn processor_seconds() -> Option<f64> {
    let text = fs::read_to_string("/proc/self/stat").ok()?;
    let (_, rest) = text.rsplit_once(") ")?;
    let ticks = rest.split(' ').skip(11).take(2);
    ticks
        .map(|ticks| ticks.parse::<f64>().ok())
        .sum::<Option<f64>>()
        .map(|ticks| ticks / 100.0)
}

fn field(path: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}
