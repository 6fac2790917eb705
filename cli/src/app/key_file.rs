//! A file of keys that an option names, or standard input.

use std::collections::BTreeSet;
use std::fs;
use std::io::BufRead;
use std::path::Path;

use hashroute::compat;
use hashroute_harness::{DumpFormat, FileKind, InputError};

use crate::failure::Failure;
use crate::output::note;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

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
            (_, Binary(_)) => false,
            (Format::Lines, _) => raw,
            (_, Utf16) => false,
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

    /// Drops a byte order mark, and looks for what the kind of the file does not say: plain keys
    /// that are a configuration, or that may be CSV.
    pub(super) fn check_start(&self, input: &mut dyn BufRead) -> Result<(), Failure> {
        let start = input.fill_buf();
        let start = start.map_err(|error| self.wrong(&error.into()))?;
        let mark = start.starts_with(BYTE_ORDER_MARK);
        if self.format == Format::Lines {
            self.refuse_configuration(start)?;
            let path = self.path.display();
            if FileKind::resembles_csv(start) {
                note(&format!(
                    "{}: looks like CSV, and each line is taken as a key: --csv {path} --key-column NAME reads a column",
                    self.title()
                ));
            }
        }
        if mark {
            input.consume(BYTE_ORDER_MARK.len());
            // The other formats have a header or quotes, so the mark is no part of a key there.
            if !matches!(self.format, Format::Csv | Format::Json) {
                note(&format!(
                    "{}: starts with a byte order mark, which is dropped{}",
                    self.title(),
                    if self.format == Format::Lines {
                        " (--raw keeps it)"
                    } else {
                        ""
                    }
                ));
            }
        }
        Ok(())
    }

    fn refuse_configuration(&self, start: &[u8]) -> Result<(), Failure> {
        let text = String::from_utf8_lossy(start);
        let Some(dialect) = compat::recognize(&text).map(|dialect| dialect.name) else {
            return Ok(());
        };
        let path = self.path.display();
        let title = self.title();
        let wrong = format!("{title}: a configuration of {dialect}: expected one key per line");
        Err(Failure::Input(wrong).with_hint(Some(format!(
            "--dialect {dialect} --config {path} reads it; --keys {path} --raw takes every line as a key"
        ))))
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
