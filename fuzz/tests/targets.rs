//! Every target has its file for libFuzzer, its place in the manifest and its corpus.

use std::fs;
use std::path::Path;

use hashroute_fuzz::{ALL, Outcome, find};

#[test]
fn every_target_has_a_file_and_a_place_in_the_manifest() {
    let manifest = fs::read_to_string("Cargo.toml").expect("the manifest");
    for target in ALL {
        let file = format!("fuzz_targets/{}.rs", target.name);
        let text = fs::read_to_string(&file).expect("a file for each target");
        assert!(text.contains(&format!("\"{}\"", target.name)), "{file}");
        assert!(
            manifest.contains(&format!("path = \"{file}\"")),
            "{file} in Cargo.toml"
        );
    }
    let files = fs::read_dir("fuzz_targets").expect("a folder");
    assert_eq!(files.count(), ALL.len());
}

#[test]
fn most_inputs_of_every_corpus_are_accepted() {
    let mut bytes = 0;
    for target in ALL {
        let folder = Path::new("corpus").join(target.name);
        let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
        let (mut accepted, mut all) = (0, 0);
        for file in files {
            let input = fs::read(file.expect("a file").path()).expect("bytes");
            bytes += input.len();
            accepted += usize::from(target.run(&input) == Outcome::Accepted);
            all += 1;
        }
        assert!(
            2 * accepted >= all && all > 3,
            "{}: {accepted} of {all}",
            target.name
        );
    }
    assert!(bytes < 300_000, "{bytes}");
}

#[test]
fn an_empty_input_ends() {
    for target in ALL {
        target.run(&[]);
    }
    assert!(find("no such target").is_none());
}
