//! A file of keys that an option names, or standard input.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use hashroute_harness::{DumpFormat, FileKind, InputError};

use crate::failure::Failure;

/// A file of keys, or standard input.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyFile<'a> {
    pub(super) format: Format,
    pub(super) path: &'a Path,
    /// Whether an option names it; otherwise it is standard input.
    pub(super) named: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Lines,
    Csv,
    Json,
    Dump(DumpFormat),
}

impl KeyFile<'_> {
    /// Returns the option and its value as they are typed, for messages.
    pub(super) fn title(&self) -> String {
        if self.named {
            format!("{} {}", self.option(), self.path.display())
        } else {
            "standard input".into()
        }
    }

    fn option(&self) -> String {
        match self.format {
            Format::Lines => "--keys".into(),
            Format::Csv => "--csv".into(),
            Format::Json => "--jsonl".into(),
            Format::Dump(format) => format!("--{format}"),
        }
    }

    pub(super) fn wrong(&self, error: &InputError) -> Failure {
        Failure::Input(format!("{}: {error}", self.title()))
    }

    /// Refuses a file that its first lines show to be of another kind.
    pub(super) fn check(&self, kind: FileKind, raw: bool) -> Result<(), Failure> {
        use FileKind::{Binary, Csv, Dump, Json, JsonLines, Utf16};
        let fits = match (self.format, kind) {
            (_, Binary(_) | Utf16) => false,
            (Format::Lines, _) => raw,
            (Format::Csv | Format::Json, Csv | Json | JsonLines)
            | (Format::Dump(DumpFormat::Metadump), _)
            // In quotes, as on a terminal.
            | (Format::Dump(DumpFormat::Scan), Dump(DumpFormat::Scan) | Json | JsonLines) => true,
            (Format::Dump(DumpFormat::Scan) | Format::Csv | Format::Json, _) => false,
            (Format::Dump(format), Dump(other)) => (format == DumpFormat::HotKeys) == (other == DumpFormat::HotKeys),
            (Format::Dump(_), _) => true,
        };
        if fits {
            return Ok(());
        }
        let expected = match self.format {
            Format::Lines => "one key per line".into(),
            Format::Csv => "CSV with a header".into(),
            Format::Json => "one JSON value per line".into(),
            Format::Dump(format) => format!("what --{format} reads"),
        };
        let wrong = format!("{}: {kind}: expected {expected}", self.title());
        Err(Failure::Input(wrong).with_hint(self.remedy(kind)))
    }

    /// Says what to write for a file of another kind.
    fn remedy(&self, kind: FileKind) -> Option<String> {
        let path = self.path.display();
        Some(match kind {
            _ if kind.option().is_some() => {
                let option = kind.option().unwrap_or_default();
                let raw = if self.format == Format::Lines {
                    format!("; --keys {path} --raw takes every line as a key")
                } else {
                    String::new()
                };
                format!("{option} {path}{raw}")
            }
            FileKind::Biggest => format!("--bigkeys {path} or --memkeys {path}"),
            FileKind::ClusterNodes => format!("--dialect redis-cluster --config {path}"),
            FileKind::Counts => format!("hashroute merge {path}"),
            FileKind::Evidence => format!("hashroute skew --parts {path}"),
            FileKind::Json => "--jsonl reads a string or {\"hex\":\"...\"} per line, such as jq -c '.[].key' prints".into(),
            FileKind::Utf16 => format!("iconv -f UTF-16 -t UTF-8 {path} | hashroute ... {} -", self.option()),
            _ => return None,
        })
    }
}

/// Refuses a file that is named twice: its keys would count twice.
pub(super) fn refuse_twice(files: &[KeyFile]) -> Result<(), Failure> {
    let mut seen = BTreeSet::new();
    for file in files {
        let path = fs::canonicalize(file.path).unwrap_or_else(|_| file.path.to_owned());
        // A pipe may be read again: each time it has other keys.
        let again =
            fs::metadata(&path).is_ok_and(|data| data.is_file()) || file.path == Path::new("-");
        if !seen.insert(path) && again {
            let title = file.title();
            return Err(Failure::Input(format!(
                "{title}: this file is named twice: expected each file once"
            )));
        }
    }
    Ok(())
}
