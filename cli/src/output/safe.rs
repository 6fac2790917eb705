//! Text that comes from outside, made safe for what shows it: a terminal, a spreadsheet, a renderer of
//! Markdown.

use core::sync::atomic::{AtomicBool, Ordering};
use std::borrow::Cow;
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};
use std::sync::LazyLock;

use hashroute_harness::text::{is_unsafe, json_escaped, printable};
use serde::Serialize;

use crate::failure::Failure;
use crate::key_text;

/// Standard output, buffered.
pub(crate) type Stdout = BufWriter<Shown>;

/// Returns standard output, locked and buffered. A terminal gets no control character but line
/// feeds and tabs; files and pipes get the bytes as they are. The caller must flush it: dropping it
/// hides errors.
pub(crate) fn stdout() -> Stdout {
    open(false)
}

/// Returns standard output as [`stdout`] does, for text with colours.
pub(super) fn colored() -> Stdout {
    open(true)
}

fn open(colors: bool) -> Stdout {
    let shown = Shown {
        out: io::stdout().lock(),
        is_terminal: is_terminal(),
        colors,
        rest: Vec::new(),
    };
    BufWriter::with_capacity(1 << 16, shown)
}

/// Returns whether people see what is written to standard output.
fn is_terminal() -> bool {
    static IS: LazyLock<bool> = LazyLock::new(|| io::stdout().is_terminal());
    *IS
}

/// Returns a key as a field between tabs: its bytes, or on a terminal its text on one line.
pub(crate) fn key_field(key: &[u8]) -> Cow<'_, [u8]> {
    if is_terminal() {
        key_text::shown(key).into_bytes().into()
    } else {
        key.into()
    }
}

/// Returns a name as a field between tabs, with control characters escaped: a name must not end the
/// field or the line.
pub(crate) fn name_field(name: &str) -> Cow<'_, str> {
    if name.contains(char::is_control) {
        printable(name).into()
    } else {
        name.into()
    }
}

/// Standard output that shows bytes on a terminal instead of sending them to it.
#[derive(Debug)]
pub(crate) struct Shown {
    out: StdoutLock<'static>,
    is_terminal: bool,
    /// Whether the program itself writes colours.
    colors: bool,
    /// The first bytes of a character that is not complete.
    rest: Vec<u8>,
}

impl Write for Shown {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_terminal {
            return self.out.write(bytes);
        }
        self.rest.extend_from_slice(bytes);
        let (text, used) = visible(&self.rest, self.colors);
        self.rest.drain(..used);
        self.out.write_all(text.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let rest = core::mem::take(&mut self.rest);
        self.out
            .write_all(rest.escape_ascii().to_string().as_bytes())?;
        self.out.flush()
    }
}

/// Returns bytes as a terminal may get them, and the number of bytes without those of a character
/// that is cut off at the end.
fn visible(bytes: &[u8], colors: bool) -> (String, usize) {
    let (mut text, mut used) = (String::with_capacity(bytes.len()), 0);
    for chunk in bytes.utf8_chunks() {
        let mut rest = chunk.valid();
        while let Some(c) = rest.chars().next() {
            let color = color(rest).filter(|_| colors);
            let (shown, next) = rest.split_at(color.unwrap_or(c.len_utf8()));
            if color.is_none() && is_unsafe(c) && !matches!(c, '\n' | '\t') {
                text.extend(c.escape_default());
            } else {
                text.push_str(shown);
            }
            rest = next;
        }
        used += chunk.valid().len();
        let bad = chunk.invalid();
        let is_cut = used + bad.len() == bytes.len()
            && core::str::from_utf8(bad).is_err_and(|error| error.error_len().is_none());
        if !is_cut {
            text.push_str(&bad.escape_ascii().to_string());
            used += bad.len();
        }
    }
    (text, used)
}

/// Returns the length of the change of colour that a text starts with.
fn color(text: &str) -> Option<usize> {
    let body = text.strip_prefix("\u{1b}[")?;
    let end = body.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    body[end..].starts_with('m').then_some(end + 3)
}

/// Writes a value as JSON without a character that a terminal would act on.
pub(crate) fn write_json(out: &mut dyn Write, value: &impl Serialize) -> Result<(), Failure> {
    let json = serde_json::to_string(value)?;
    Ok(out.write_all(json_escaped(&json).as_bytes())?)
}

/// Writes JSON that a serializer passes on piece by piece, with the same escapes.
pub(crate) struct JsonWriter<W>(pub(crate) W);

impl<W: Write> Write for JsonWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A serializer writes whole characters.
        match core::str::from_utf8(bytes) {
            Ok(text) => self.0.write_all(json_escaped(text).as_bytes())?,
            Err(_) => self.0.write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Whether CSV and Markdown have names and keys as they are.
static VERBATIM: AtomicBool = AtomicBool::new(false);

/// Sets whether CSV and Markdown have names and keys as they are.
pub(crate) fn set_verbatim(is: bool) {
    VERBATIM.store(is, Ordering::Relaxed);
}

fn is_verbatim() -> bool {
    VERBATIM.load(Ordering::Relaxed)
}

/// Returns a field of CSV that no spreadsheet runs as a formula: an apostrophe stands before one
/// that would. Numbers stay numbers.
pub(crate) fn csv_field(field: &[u8]) -> Cow<'_, [u8]> {
    if is_verbatim() || !is_formula(field) {
        return field.into();
    }
    [b"'", field].concat().into()
}

/// Returns whether a spreadsheet may take a field for a formula.
fn is_formula(field: &[u8]) -> bool {
    // The last four are the wide forms of the first, which some versions take, too.
    const STARTS: [&str; 11] = ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"];
    let text = field.trim_ascii_start();
    let starts = |text: &[u8]| {
        STARTS
            .iter()
            .any(|start| text.starts_with(start.as_bytes()))
    };
    (starts(field) || starts(text)) && !is_number(text)
}

fn is_number(text: &[u8]) -> bool {
    let digits = |&byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
    let number = core::str::from_utf8(text).ok();
    text.iter().all(digits) && number.is_some_and(|text| text.parse::<f64>().is_ok())
}

/// Returns text that Markdown shows as it is: without HTML, links, code or emphasis. Only
/// characters that would act are escaped.
pub(crate) fn markdown(text: &str) -> Cow<'_, str> {
    if is_verbatim() || !text.contains(['\\', '`', '<', '&', ']', '*', '_', '~']) {
        return text.into();
    }
    let mut safe = String::with_capacity(text.len() + 8);
    let mut before = None;
    for (at, c) in text.char_indices() {
        let next = text[at + c.len_utf8()..].chars().next();
        let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        match c {
            '<' if next.is_some_and(|c| c.is_ascii_alphabetic() || "/!?".contains(c)) => {
                safe.push_str("&lt;");
            }
            '&' if next.is_some_and(|c| c.is_ascii_alphabetic() || c == '#') => {
                safe.push_str("&amp;");
            }
            '`' | '*' | '~' => safe.extend(['\\', c]),
            '_' if !is_word(before) || !is_word(next) => safe.extend(['\\', c]),
            '\\' if next.is_some_and(|c| c.is_ascii_punctuation()) => safe.push_str("\\\\"),
            ']' if next.is_some_and(|c| "([:".contains(c)) => safe.push_str("\\]"),
            _ => safe.push(c),
        }
        before = Some(c);
    }
    safe.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_no_control_character_however_it_is_cut() {
        let text = "a\u{1b}[31mb\u{9b}2J\u{202e}日\u{7f}\r\n\tc\u{3164}".as_bytes();
        let bytes = [text, b"\xff\xe6\x97", b"x\xf0\x9f"].concat();
        let whole = visible(&bytes, false).0;
        assert_eq!(
            whole,
            "a\\u{1b}[31mb\\u{9b}2J\\u{202e}日\\u{7f}\\r\n\tc\\u{3164}\\xff\\xe6\\x97x"
        );
        for cut in 0..bytes.len() {
            let (first, used) = visible(&bytes[..cut], false);
            let (second, _) = visible(&bytes[used..], false);
            assert_eq!(first + &second, whole, "{cut}");
        }
        let colors = visible(b"\x1b[1;32mgood\x1b[0m \x1b[2J\x1b]0;x\x07", true).0;
        assert_eq!(
            colors,
            "\u{1b}[1;32mgood\u{1b}[0m \\u{1b}[2J\\u{1b}]0;x\\u{7}"
        );
    }

    #[test]
    fn formulas_are_defused_and_numbers_stay() {
        for field in [
            "=cmd|'/c calc'!A1",
            "+a",
            "-a",
            "@SUM(1)",
            "\tx",
            "\rx",
            " =1",
            "-1-1",
            "-inf",
            "＝1",
            "-",
        ] {
            let safe = csv_field(field.as_bytes());
            assert_eq!(&*safe, format!("'{field}").as_bytes(), "{field}");
        }
        for field in [
            "", "a=b", "user:1", "-0.5", "+3", "-1e-7", "12", "a-b", "a@b",
        ] {
            assert_eq!(&*csv_field(field.as_bytes()), field.as_bytes(), "{field}");
        }
    }

    #[test]
    fn markdown_shows_what_would_act() {
        for (text, safe) in [
            (
                "<script>alert(1)</script>",
                "&lt;script>alert(1)&lt;/script>",
            ),
            ("[x](https://example.com)", "[x\\](https://example.com)"),
            ("![x][y]", "![x\\][y]"),
            ("`code`", "\\`code\\`"),
            ("*a* _b_ ~~c~~", "\\*a\\* \\_b\\_ \\~\\~c\\~\\~"),
            ("a\\`b", "a\\\\\\`b"),
            ("&lt;b&#62;", "&amp;lt;b&amp;#62;"),
            ("node_1 p < 0.001 & [1, 2]", "node_1 p < 0.001 & [1, 2]"),
            ("\\u{202e}a\\n", "\\u{202e}a\\n"),
        ] {
            assert_eq!(markdown(text), safe);
        }
    }
}
