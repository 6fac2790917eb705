#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| hashroute_fuzz::fuzz("config_haproxy", input));
