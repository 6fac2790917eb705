#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| hashroute_fuzz::fuzz("node_files", input));
