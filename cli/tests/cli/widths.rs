//! Tables at every width: no number and no name is broken, and a column that is left out is named.

use std::collections::BTreeSet;
use std::process::Stdio;

use crate::slots::{DATA, STABLE};
use crate::{command, file, words};

const WIDTHS: [usize; 6] = [20, 40, 60, 80, 100, 200];

/// Commands whose answers are tables, each with the exit code. Their figures are the same in each run.
fn lines() -> Vec<(String, i32)> {
    let row = |i: u32| format!("key-{i},{},{}\n", i % 97 * 1000, 1 + i % 7 * i);
    let rows: String = (0..2000).map(row).collect();
    let csv = file("wide.csv", format!("key,size,requests\n{rows}"));
    let csv = csv.display();
    let nodes = file(
        "wide-nodes.csv",
        "name,weight,zone,rack\n\
         cache-blue-01.eu-west-1.example.com:6379,2,eu-west-1a,rack-0017\n\
         cache-blue-02.eu-west-1.example.com:6379,1,eu-west-1b,rack-0018\n\
         10.0.0.3:6379,1,eu-west-1b,rack-0019\n",
    );
    let nodes = format!("--nodes-file {}", nodes.display());
    let table = format!("{DATA}/{STABLE}");
    let sample = "--range 0..3000";
    let done = [
        format!("balance {nodes} --csv {csv}"),
        format!("balance --count 60 {sample}"),
        format!("skew {nodes} --csv {csv} --node-counts 2..=9"),
        format!("skew --dialect twemproxy {nodes} {sample}"),
        format!("remap {nodes} --add cache-green-01.eu-west-1.example.com:6379=3 --csv {csv}"),
        format!("diff {nodes} --remove 10.0.0.3:6379"),
        format!("diff {nodes} --remove 10.0.0.3:6379 --ranges"),
        format!("diff {nodes} --to-strategy rendezvous"),
        format!("plan {nodes} --add cache-green-01.eu-west-1.example.com:6379 --max-step 5%"),
        "plan --count 5 --add node-5 --step 1".into(),
        format!(
            "explain {nodes} user:1 '{{a}}:x' --hash sip24 --hash-key 000102030405060708090a0b0c0d0e0f"
        ),
        format!("check {nodes} --csv {csv} --max-cv 9"),
        "strategies".into(),
        "dialects".into(),
        "hashes".into(),
        format!("slots show {table}"),
        format!("slots plan {table} --even"),
        format!("slots key --table {table} user:1 '{{user:1}}.followers'"),
    ];
    let failed = [
        format!("check {nodes} --csv {csv} --max-cv 0 --max-over-mean 1 --max-top 1%@1"),
        format!("check --node-counts 2..=5 {sample} --max-over-mean 1"),
    ];
    let done = done.into_iter().map(|line| (line, 0));
    done.chain(failed.map(|line| (line, 1))).collect()
}

/// Returns what the command prints at a width, which no terminal gives it.
fn printed(line: &str, code: i32, columns: usize) -> String {
    let output = command(words(line))
        .env("COLUMNS", columns.to_string())
        .stdin(Stdio::null())
        .output()
        .expect("the binary runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{line}: {errors}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// A table of an answer in Markdown, which is never cut.
struct Whole {
    titles: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// Returns the tables of an answer in Markdown.
fn tables(markdown: &str) -> Vec<Whole> {
    let cells = |line: &str| -> Option<Vec<String>> {
        let inner = line.strip_prefix("| ")?.strip_suffix('|')?;
        let escaped = inner.replace("\\|", "\0");
        let cells = escaped
            .split('|')
            .map(|cell| cell.trim().replace('\0', "|"));
        Some(cells.collect())
    };
    let mut tables: Vec<Whole> = Vec::new();
    let mut inside = false;
    for line in markdown.lines() {
        let Some(row) = cells(line) else {
            inside = false;
            continue;
        };
        match (inside, tables.last_mut()) {
            (true, Some(table)) => table.rows.push(row),
            _ => tables.push(Whole {
                titles: row,
                rows: Vec::new(),
            }),
        }
        inside = true;
    }
    for table in &mut tables {
        table.rows.remove(0); // the line of dashes
    }
    tables
}

/// Returns the titles of the columns that an answer names as left out, and the width that it says
/// shows all of them.
fn left_out(text: &str) -> (BTreeSet<String>, usize) {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut names = BTreeSet::new();
    let mut needed = 0;
    for note in flat.split("Left out at ").skip(1) {
        let (_, note) = note.split_once(" columns: ").expect("the width");
        let (list, note) = note
            .split_once(" (COLUMNS=")
            .expect("a width that shows all");
        names.extend(list.split(", ").map(str::to_owned));
        let (width, _) = note.split_once(' ').expect("a number");
        needed = needed.max(width.parse().expect("a number"));
    }
    (names, needed)
}

/// Returns whether the text stands somewhere whole: between spaces, on one line.
fn stands(text: &str, output: &str) -> bool {
    output.lines().any(|line| {
        line.match_indices(text).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            let after = line[at + text.len()..].chars().next();
            let free = |c: Option<char>| c.is_none_or(char::is_whitespace);
            free(before) && free(after)
        })
    })
}

/// A text that is shorter than any column of sentences.
const SHORT: usize = 12;

/// Checks that each cell and each word of `markdown` stands whole in `text`, or its column is named.
fn assert_whole(line: &str, width: usize, markdown: &str, text: &str) {
    let (out, _) = left_out(text);
    let tables = tables(markdown);
    for table in &tables {
        for (index, title) in table.titles.iter().enumerate() {
            let mut cells = table.rows.iter().map(|row| row[index].as_str());
            let whole = |cell: &str| {
                let sentence = cell.chars().count() > SHORT && cell.contains(' ');
                stands(cell, text) || sentence && cell.split(' ').all(|word| stands(word, text))
            };
            let broken = cells.find(|cell| !cell.is_empty() && !whole(cell));
            assert!(
                broken.is_none() || out.contains(title),
                "{line}: at {width} columns, {title} {broken:?} is broken:\n{text}"
            );
        }
    }
    // How many checks failed stands on standard error, and in a document.
    let sentences = markdown
        .lines()
        .filter(|line| !line.starts_with('|') && !line.ends_with("checks did not hold."));
    for word in sentences.flat_map(str::split_whitespace) {
        assert!(
            stands(word, text),
            "{line}: at {width} columns, {word} is broken:\n{text}"
        );
    }
    // Only a name or a number that is longer than the screen runs over.
    let cells: BTreeSet<_> = tables
        .iter()
        .flat_map(|table| table.rows.iter().flatten().map(String::as_str))
        .collect();
    for long in text.lines().filter(|line| line.chars().count() > width) {
        let long = long.trim();
        assert!(
            cells.contains(long) || !long.contains(' ') || long.starts_with("hashroute "),
            "{line}: wider than {width} columns: {long}\n{text}"
        );
    }
}

#[test]
fn every_cell_stands_whole_at_every_width_or_its_column_is_named() {
    for (line, code) in lines() {
        let markdown = printed(&format!("{line} --format markdown --verbatim"), code, 200);
        assert!(!tables(&markdown).is_empty(), "{line}");
        for width in WIDTHS {
            let text = printed(&line, code, width);
            assert_whole(&line, width, &markdown, &text);
            // A table that was stacked at this width may leave columns out at the next.
            let (mut names, mut needed) = left_out(&text);
            while !names.is_empty() {
                let wide = printed(&line, code, needed);
                let (more, next) = left_out(&wide);
                assert!(
                    more.is_empty() || next > needed,
                    "{line}: {needed} is too narrow:\n{wide}"
                );
                (names, needed) = (more, next);
            }
        }
    }
}

/// `compare` measures times, so its cells differ from run to run: the names and the titles stand.
#[test]
fn a_comparison_has_its_names_at_every_width() {
    for width in WIDTHS {
        let text = printed("compare --range 0..500", 0, width);
        let (out, _) = left_out(&text);
        for strategy in hashroute::strategy::ALL {
            let named = stands(strategy.name, &text);
            assert!(named, "{width}: {}", strategy.name);
        }
        assert!(
            width < 80
                || text
                    .lines()
                    .all(|line| line.chars().count() <= width.max(100))
        );
        assert!(
            width != 80 || out.contains("heap") && !out.contains("cv"),
            "{out:?}"
        );
    }
}

#[test]
fn columns_that_are_no_number_are_ignored() {
    let line = "balance --count 3 --range 0..99";
    let plain = printed(line, 0, 100);
    for columns in ["0", "", "wide", "-1"] {
        let output = command(words(line)).env("COLUMNS", columns).output();
        let output = output.expect("the binary runs").stdout;
        assert_eq!(String::from_utf8_lossy(&output), plain, "{columns}");
    }
}

#[cfg(unix)]
mod on_terminals {
    use std::fs::File;
    use std::io::Read;
    use std::process::Command;

    use super::*;
    use crate::terminal::terminal_of;

    /// Returns what a command writes on a terminal of this width.
    fn shown(mut command: Command, columns: u16) -> String {
        let (mut screen, terminal) = terminal_of(columns).expect("the system has terminals");
        let mut child = command
            .stdin(Stdio::null())
            .stdout(terminal)
            .spawn()
            .expect("the program starts");
        // It holds the terminal open.
        drop(command);
        let text = read(&mut screen);
        child.wait().expect("the program ends");
        text.replace("\r\n", "\n")
    }

    /// Reads until the program has closed the terminal.
    fn read(screen: &mut File) -> String {
        let mut shown = Vec::new();
        // A closed terminal is reported as an error on some systems.
        let _ = screen.read_to_end(&mut shown);
        String::from_utf8_lossy(&shown).into_owned()
    }

    #[test]
    fn the_terminal_has_the_width_and_none_means_80() {
        let line = "balance --count 3 --range 0..99";
        let markdown = printed(&format!("{line} --format markdown --verbatim"), 0, 100);
        for (columns, width) in [(0, 80), (20, 20), (40, 40), (80, 80), (200, 200)] {
            let mut plain = command(words(line));
            plain.env("NO_COLOR", "1");
            let text = shown(plain, columns);
            assert_eq!(text, printed(line, 0, width), "{columns}");
            assert_whole(line, width, &markdown, &text);
        }
        // The variable comes first.
        let mut wide = command(words(line));
        wide.env("COLUMNS", "20").env("NO_COLOR", "1");
        let text = shown(wide, 200);
        assert_eq!(text, printed(line, 0, 20));
    }

    const FAILS: &str = "check --count 4 --range 0..99 --max-cv 0.001";

    #[test]
    fn colors_are_shown_on_terminals_unless_they_are_not_wanted() {
        let escapes = |text: &str| text.contains('\u{1b}');
        let on_terminal = |option: &str, names: &[(&str, &str)]| {
            let mut command = command(words(&format!("{FAILS} {option}")));
            command.env("TERM", "xterm").envs(names.iter().copied());
            shown(command, 80)
        };
        let colored = on_terminal("", &[]);
        assert!(
            colored.contains("\u{1b}[1m\u{1b}[31mFAILED\u{1b}[0m"),
            "{colored:?}"
        );
        assert!(escapes(&on_terminal(
            "--color always",
            &[("NO_COLOR", "1")]
        )));
        assert!(!escapes(&on_terminal("", &[("NO_COLOR", "1")])));
        assert!(!escapes(&on_terminal("", &[("TERM", "dumb")])));
        assert!(!escapes(&on_terminal("--color never", &[])));
        for format in ["json", "csv", "markdown"] {
            let text = on_terminal(&format!("--color always --format {format}"), &[]);
            assert!(!escapes(&text), "{text:?}");
        }
    }
}

#[test]
fn colors_take_no_room_and_go_into_a_pipe_only_when_asked() {
    let line = "check --count 4 --range 0..99 --max-cv 0.001";
    let plain = printed(line, 1, 80);
    assert!(!plain.contains('\u{1b}'));
    let colored = printed(&format!("{line} --color always"), 1, 80);
    assert!(colored.contains('\u{1b}'));
    let mut bare = String::new();
    let mut escape = false;
    for c in colored.chars() {
        match c {
            '\u{1b}' => escape = true,
            'm' if escape => escape = false,
            _ if escape => {}
            c => bare.push(c),
        }
    }
    assert_eq!(bare, plain);
    let forced = command(words(line)).env("CLICOLOR_FORCE", "1").output();
    assert!(forced.expect("the binary runs").stdout.contains(&0x1b));
    let unforced = command(words(line))
        .env("CLICOLOR_FORCE", "1")
        .env("NO_COLOR", "1")
        .output();
    assert!(!unforced.expect("the binary runs").stdout.contains(&0x1b));
}
