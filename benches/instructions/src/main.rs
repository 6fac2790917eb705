//! Has any strategy become slower? Counts the instructions of an operation under callgrind, for
//! every strategy of the registry, and compares them with those kept in `counts.tsv`.
//!
//! Instructions, since their number is the same in every run, whatever else the machine does:
//! a few percent more is a change of the code. They are not time; `cargo bench` measures that.
//!
//! ```sh
//! cargo run --release --manifest-path benches/instructions/Cargo.toml              # compare
//! cargo run --release --manifest-path benches/instructions/Cargo.toml -- --update  # keep new counts
//! ```
//!
//! Exits with 0 when no count grew by more than the allowance, with 1 when one did or none is
//! kept for a strategy, with 2 when counting itself failed, and with 3 when nothing could be
//! compared here: NOT RUN.

mod callgrind;
mod counts;
mod verdict;
mod work;

use std::error::Error;
use std::process::{Command, ExitCode};
use std::{env, fs, io};

use hashroute::strategy;

use crate::counts::{Counts, Setting};
use crate::verdict::{Comparison, Verdict};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/counts.tsv");
const UPDATE: &str =
    "cargo run --release --manifest-path benches/instructions/Cargo.toml -- --update";

/// What a strategy is measured at: few nodes, and many.
const SIZES: [usize; 2] = [10, 1_000];

enum Outcome {
    Passed,
    Failed,
    NotRun(String),
}

fn main() -> ExitCode {
    let args: Vec<_> = env::args().skip(1).collect();
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    let outcome = match args[..] {
        [] => guard(false),
        ["--update"] => guard(true),
        [callgrind::CHILD, name, size] => under_callgrind(name, size),
        _ => Err("the only argument is --update".into()),
    };
    match outcome {
        Ok(Outcome::Passed) => ExitCode::SUCCESS,
        Ok(Outcome::Failed) => ExitCode::from(1),
        Ok(Outcome::NotRun(why)) => {
            eprintln!("\nNOT RUN: the guard by instruction counts: {why}");
            ExitCode::from(3)
        }
        Err(error) => {
            eprintln!("\nthe guard by instruction counts failed itself: {error}");
            ExitCode::from(2)
        }
    }
}

fn under_callgrind(name: &str, size: &str) -> Result<Outcome, Box<dyn Error>> {
    work::run(strategy::find(name)?, size.parse()?);
    println!("{}", work::cpu());
    Ok(Outcome::Passed)
}

fn guard(update: bool) -> Result<Outcome, Box<dyn Error>> {
    if cfg!(debug_assertions) {
        return Err("built without optimisation: add --release".into());
    }
    if env::consts::ARCH != "x86_64" {
        return Ok(Outcome::NotRun("counts are kept for x86_64 only".into()));
    }
    let Some(valgrind) = callgrind::version()? else {
        let why = "there is no valgrind; install it with: apt-get install valgrind";
        return Ok(Outcome::NotRun(why.into()));
    };
    let kept = match fs::read_to_string(FILE) {
        Ok(text) => text.parse()?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Counts::default(),
        Err(error) => return Err(error.into()),
    };
    let now = count(valgrind)?;
    let comparison = Comparison::new(&kept, &now);
    print!("{comparison}");
    if update {
        if now.setting.cpu != "avx2" {
            return Ok(Outcome::NotRun("counts are kept for AVX2 only".into()));
        }
        fs::write(FILE, now.to_string())?;
        println!("written: benches/instructions/counts.tsv");
        return Ok(Outcome::Passed);
    }
    println!("{}", comparison.summary());
    Ok(if comparison.any(Verdict::fails) {
        Outcome::Failed
    } else if comparison.all(Verdict::NotRun) {
        Outcome::NotRun("no count is kept for a CPU as this one".into())
    } else {
        Outcome::Passed
    })
}

/// Everything, on this machine.
fn count(valgrind: String) -> Result<Counts, Box<dyn Error>> {
    let mut setting = Setting {
        compiler: env!("COMPILER").into(),
        libc: libc(),
        valgrind,
        cpu: String::new(),
    };
    let mut rows = Vec::new();
    for strategy in strategy::ALL {
        for size in SIZES {
            let (cpu, counted) = callgrind::count(strategy.name, size)?;
            setting.cpu = cpu;
            rows.extend(counted);
        }
    }
    Ok(Counts { setting, rows })
}

/// The C library: a change of membership spends part of its time in its allocator.
fn libc() -> String {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    text.ok()
        .filter(|text| !text.is_empty())
        .unwrap_or_else(|| "unknown".into())
}
