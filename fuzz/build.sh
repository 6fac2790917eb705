#!/bin/bash -eu
# Builds every target for OSS-Fuzz: the programs and the zip file of each corpus go to $OUT. Needs
# nightly Rust and cargo-fuzz, which the base image of OSS-Fuzz for Rust has.
cd "$(dirname "$0")"
cargo fuzz build --release --debug-assertions --features libfuzzer
for file in fuzz_targets/*.rs; do
    name=$(basename "$file" .rs)
    cp "target/x86_64-unknown-linux-gnu/release/$name" "$OUT/"
    zip -jqr "$OUT/${name}_seed_corpus.zip" "corpus/$name"
done
