//! Counts depend on the compiler, so the binary knows by which it was made, and with which flags.

use std::process::Command;
use std::{env, io};

fn main() -> io::Result<()> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("--version").output()?.stdout;
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let compiler = format!("{} {flags}", String::from_utf8_lossy(&version).trim());
    let compiler = compiler.trim_end().replace('\x1f', " ");
    println!("cargo::rustc-env=COMPILER={compiler}");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RUSTC");
    println!("cargo::rerun-if-env-changed=CARGO_ENCODED_RUSTFLAGS");
    Ok(())
}
