//! Splits an nginx configuration into statements.
//!
//! Source: <https://nginx.org/en/docs/beginners_guide.html#conf_structure>, and nginx 1.22.1,
//! `ngx_conf_file.c`, for quotes and escapes.

use alloc::string::String;
use alloc::vec::Vec;
use core::iter::Peekable;
use core::str::Chars;

use crate::Error;
use crate::compat::config::wrong;

/// The words of a statement and its end.
pub(super) struct Statement {
    /// The line where it ends.
    pub(super) line: usize,
    pub(super) words: Vec<String>,
    pub(super) end: End,
}

/// The end of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// A semicolon.
    Directive,
    /// A brace that opens a block.
    Open,
    /// A brace that closes a block; there are no words.
    Close,
    /// The end of the file; there are no words.
    File,
}

impl Statement {
    /// Returns the first word, or an empty text without words.
    pub(super) fn name(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }
}

pub(super) struct Statements<'a> {
    chars: Peekable<Chars<'a>>,
    line: usize,
}

impl<'a> Statements<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            chars: text.chars().peekable(),
            line: 1,
        }
    }

    pub(super) fn next(&mut self) -> Result<Statement, Error> {
        let mut words = Vec::new();
        let end = loop {
            self.skip_space();
            match self.chars.peek().copied() {
                None => break End::File,
                Some(';') => break End::Directive,
                Some('{') => break End::Open,
                Some('}') => break End::Close,
                Some(quote @ ('"' | '\'')) => words.push(self.quoted(quote)?),
                Some(_) => words.push(self.word()),
            }
        };
        let wanted = matches!(end, End::Directive | End::Open);
        if wanted == words.is_empty() {
            let end = self.chars.next().map_or("end of the file", name);
            let instead = if wanted { "a directive" } else { "; or {" };
            return Err(self.wrong(&["unexpected ", end, ": expected ", instead].concat()));
        }
        self.chars.next();
        Ok(Statement {
            line: self.line,
            words,
            end,
        })
    }

    fn wrong(&self, reason: &str) -> Error {
        wrong(self.line, reason)
    }

    fn take(&mut self) -> Option<char> {
        let next = self.chars.next();
        self.line += usize::from(next == Some('\n'));
        next
    }

    fn skip_space(&mut self) {
        while let Some(next) = self.chars.peek().copied() {
            match next {
                '#' => while self.chars.next_if(|next| *next != '\n').is_some() {},
                _ if is_space(next) => {
                    self.take();
                }
                _ => break,
            }
        }
    }

    /// Reads a word without a quote at its start. Inside it, quotes, closing braces, and an opening
    /// brace after a dollar sign are ordinary characters.
    fn word(&mut self) -> String {
        let (mut word, mut variable) = (String::new(), false);
        while let Some(next) = self.chars.peek().copied() {
            if is_space(next) || next == ';' || (next == '{' && !variable) {
                break;
            }
            // As in nginx, all opening braces right after a dollar sign are ordinary characters.
            variable = matches!(next, '$' | '{');
            self.take();
            self.push(&mut word, next);
        }
        word
    }

    fn quoted(&mut self, quote: char) -> Result<String, Error> {
        let (mut word, start) = (String::new(), self.line);
        self.take();
        loop {
            match self.take() {
                None => return Err(wrong(start, "a quote that is not closed")),
                Some(next) if next == quote => break,
                Some(next) => self.push(&mut word, next),
            }
        }
        match self.chars.peek().copied() {
            None | Some(';' | '{' | ')') => Ok(word),
            Some(next) if is_space(next) => Ok(word),
            Some(_) => Err(self.wrong("expected a space, ; or { after the closing quotes")),
        }
    }

    /// Adds a character to a word, or the meaning of a backslash and the next character.
    fn push(&mut self, word: &mut String, next: char) {
        if next != '\\' {
            word.push(next);
            return;
        }
        match self.take() {
            Some('t') => word.push('\t'),
            Some('r') => word.push('\r'),
            Some('n') => word.push('\n'),
            Some(escaped @ ('"' | '\'' | '\\')) => word.push(escaped),
            Some(other) => word.extend(['\\', other]),
            None => word.push('\\'),
        }
    }
}

fn is_space(next: char) -> bool {
    matches!(next, ' ' | '\t' | '\r' | '\n')
}

fn name(end: char) -> &'static str {
    match end {
        ';' => ";",
        '{' => "{",
        _ => "}",
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::ToString;

    use super::*;

    /// Writes each statement as its line, words and end.
    fn all(text: &str) -> Result<Vec<String>, Error> {
        let mut statements = Statements::new(text);
        let mut lines = Vec::new();
        loop {
            let Statement { line, words, end } = statements.next()?;
            if end == End::File {
                return Ok(lines);
            }
            lines.push(format!("{line} {} {end:?}", words.join("|")));
        }
    }

    #[test]
    fn words_are_split_as_in_nginx() -> Result<(), Error> {
        let text = concat!(
            "a b\n c;# d ; {\n",
            r#"e "f ; {g" 'h "i"' j"k}#l;"#,
            "\n",
            r#"m{n ${o}p $q{r} "s\"\t\d" t\;u "";"#,
            "\n}",
        );
        assert_eq!(
            all(text)?,
            [
                "2 a|b|c Directive",
                r#"3 e|f ; {g|h "i"|j"k}#l Directive"#,
                "4 m Open",
                "4 n|${o}p|$q Open",
                "4 r}|s\"\t\\d|t\\;u| Directive",
                "5  Close",
            ]
        );
        Ok(())
    }

    #[test]
    fn an_unfinished_statement_names_its_line() {
        for (text, line) in [
            ("a\nb", "line 2"),
            ("a;\n;", "line 2"),
            ("\n{", "line 2"),
            ("a\n\n}", "line 3"),
            ("\n\"a\nb", "line 2"),
            ("\"a\"b;", "line 1"),
        ] {
            let error = all(text).unwrap_err().to_string();
            assert!(error.starts_with(line), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_backslash_at_the_end_of_a_word_is_kept() {
        assert!(all("a\\").is_err());
        assert_eq!(all("a\\ ;"), Ok([String::from("1 a\\  Directive")].into()));
    }

    #[test]
    fn all_braces_right_after_a_dollar_sign_belong_to_the_word() {
        let words = all("a ${{b c;");
        assert_eq!(words, Ok([String::from("1 a|${{b|c Directive")].into()));
    }
}
