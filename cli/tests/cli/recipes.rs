//! The recipes of the page on continuous integration run as they stand.

use std::fs;
use std::process::{Command, Output, Stdio};

use crate::{directory, file};

/// Returns the page about continuous integration.
fn page() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../harness/docs/ci.md");
    fs::read_to_string(path).expect("the page")
}

/// Runs a line of a shell in the directory of this test, with the program on its path.
fn shell(line: &str) -> Option<Output> {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_hashroute"));
    let folder = program.parent()?.display().to_string();
    let path = std::env::var("PATH").ok()?;
    Command::new("bash")
        .args(["--norc", "-e", "-o", "pipefail", "-c", line])
        .current_dir(directory())
        .env("PATH", format!("{folder}:{path}"))
        .env("GITHUB_STEP_SUMMARY", "summary.md")
        .stdin(Stdio::null())
        .output()
        .ok()
}

/// Writes the files that the page speaks of.
fn files_of_the_page() {
    let page = page();
    let (_, settings) = page.split_once("```toml\n").expect("settings");
    let (settings, _) = settings.split_once("```").expect("their end");
    file("hashroute.toml", settings);
    let nodes = ["a", "b", "c"].map(|name| format!("[[node]]\nname = \"{name}\"\n"));
    file("nodes.toml", nodes.concat());
    let keys = (0..2000)
        .map(|i| format!("user:{i},{}\n", i % 7))
        .collect::<Vec<_>>()
        .concat();
    file("keys.csv", format!("key,size\n{keys}"));
    let keys = (0..20)
        .map(|i| format!("user:{i}\n"))
        .collect::<Vec<_>>()
        .concat();
    file("keys.txt", keys);
}

/// The commands are those of the YAML; the summary is written whether or not all checks hold.
#[test]
fn the_recipes_for_ci_run_as_they_stand() {
    files_of_the_page();
    let page = page();
    let lines: Vec<_> = page.lines().map(str::trim).collect();
    let begin = lines
        .iter()
        .position(|line| *line == "code=0")
        .expect("a script");
    let end = lines
        .iter()
        .position(|line| *line == "exit \"$code\"")
        .expect("its end");
    let github = lines[begin..=end].join("\n");
    let gitlab = lines
        .iter()
        .find_map(|line| line.strip_prefix("- hashroute check"));
    let gitlab = format!("hashroute check{}", gitlab.expect("a line of GitLab"));
    let settings = "export HASHROUTE_OPTIONS=hashroute.toml";
    let save = format!("{settings}; hashroute check --save-baseline baseline.json");
    let Some(saved) = shell(&save) else {
        return; // no bash here
    };
    assert_eq!(saved.status.code(), Some(0), "{saved:?}");
    for script in [&github, &gitlab] {
        let output = shell(&format!("{settings}\n{script}")).expect("bash");
        assert_eq!(output.status.code(), Some(0), "{script}: {output:?}");
        let junit = fs::read_to_string(directory().join("hashroute.xml")).expect("a report");
        assert!(junit.contains("failures=\"0\""), "{junit}");
    }
    let summary = directory().join("summary.md");
    let text = fs::read_to_string(&summary).expect("a summary");
    assert!(text.contains("| --- |") || text.contains("|---"), "{text}");
    let failing = format!("export HASHROUTE_MAX_CV=0 {settings}\n{github}").replace(
        "export HASHROUTE_MAX_CV=0 export",
        "export HASHROUTE_MAX_CV=0",
    );
    let output = shell(&failing).expect("bash");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(fs::read_to_string(&summary).expect("a summary").len() > text.len());
}

#[test]
fn the_recipes_for_jq_run_as_they_stand() {
    files_of_the_page();
    let page = page();
    let recipes: Vec<_> = page
        .lines()
        .filter_map(|line| line.split_once("| `hashroute ")?.1.strip_suffix("` |"))
        .map(|rest| format!("hashroute {}", rest.replace("\\|", "|")))
        .filter(|line| line.contains("| jq"))
        .collect();
    assert!(recipes.len() >= 5, "{recipes:?}");
    if shell("jq --version").is_none_or(|output| !output.status.success()) {
        return; // no jq here
    }
    for recipe in recipes {
        // Few keys do for this.
        let fewer = recipe
            .replace("--format", "--keys keys.txt --format")
            .replace("--keys keys.txt --keys keys.txt", "--keys keys.txt");
        let fewer = if recipe.contains("strategies") {
            recipe.clone()
        } else {
            fewer
        };
        let output = shell(&fewer).expect("bash");
        assert!(output.status.success(), "{fewer}: {output:?}");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(!text.contains("null"), "{fewer}: {text}");
    }
}
