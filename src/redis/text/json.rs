//! Replies as `redis-cli --json` prints them.

use alloc::string::String;
use alloc::vec::Vec;

use super::reply::MAX_DEPTH;
use super::{Reply, check_size, wrong};
use crate::Error;

impl Reply {
    /// Reads the output of `redis-cli --json`: objects become maps, `true` and `false` words.
    /// Linear in the text.
    ///
    /// # Errors
    ///
    /// [`Error::Config`] with the line; [`Error::Capacity`] beyond 64 MiB.
    ///
    /// ```
    /// use hashroute::redis::Reply;
    ///
    /// let reply = Reply::from_json(r#"[{"slots":[0,"\u0041"]}]"#)?;
    /// assert!(matches!(reply, Reply::Array(shards) if shards.len() == 1));
    /// assert!(Reply::from_json("[1").is_err());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn from_json(text: &str) -> Result<Self, Error> {
        read(text).map(|(reply, _)| reply)
    }
}

/// Reads a reply, and the lines where the elements of its outermost list begin.
pub(super) fn read(text: &str) -> Result<(Reply, Vec<usize>), Error> {
    check_size(text)?;
    let mut reader = Reader {
        text,
        at: 0,
        starts: Vec::new(),
    };
    let value = reader.value(0)?;
    reader.skip();
    if reader.at < text.len() {
        return Err(reader.wrong("the end of the JSON value"));
    }
    let mut lines = Vec::with_capacity(reader.starts.len());
    let (mut line, mut last) = (1, 0);
    for start in reader.starts {
        let between = text.as_bytes().get(last..start).unwrap_or_default();
        line += between.split(|byte| *byte == b'\n').count() - 1;
        last = start;
        lines.push(line);
    }
    Ok((value, lines))
}

struct Reader<'t> {
    text: &'t str,
    /// The index of the next byte.
    at: usize,
    /// The indexes of the elements of the outermost list.
    starts: Vec<usize>,
}

impl Reader<'_> {
    fn wrong(&self, expected: &str) -> Error {
        let before = self.text.as_bytes().get(..self.at).unwrap_or_default();
        let line = before.split(|byte| *byte == b'\n').count();
        wrong(line, alloc::format!("JSON: expected {expected}"))
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    /// Skips spaces, then takes this byte if it comes.
    fn take(&mut self, byte: u8) -> bool {
        self.skip();
        let comes = self.peek() == Some(byte);
        self.at += usize::from(comes);
        comes
    }

    fn value(&mut self, depth: usize) -> Result<Reply, Error> {
        if depth > MAX_DEPTH {
            return Err(self.wrong("at most 32 nested lists"));
        }
        self.skip();
        if depth == 1 {
            self.starts.push(self.at);
        }
        match self.peek() {
            Some(b'[') => self.array(depth),
            Some(b'{') => self.map(depth),
            Some(b'"') => Ok(self.string()?.as_str().into()),
            _ => self.word(),
        }
    }

    fn array(&mut self, depth: usize) -> Result<Reply, Error> {
        self.at += 1;
        let mut items = Vec::new();
        if self.take(b']') {
            return Ok(Reply::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.take(b']') {
                return Ok(Reply::Array(items));
            }
            if !self.take(b',') {
                return Err(self.wrong("a comma or the end of the list"));
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Reply, Error> {
        self.at += 1;
        let mut pairs = Vec::new();
        if self.take(b'}') {
            return Ok(Reply::Map(pairs));
        }
        loop {
            self.skip();
            let key = self.string()?;
            if !self.take(b':') {
                return Err(self.wrong("a colon after a name"));
            }
            pairs.push((key.as_str().into(), self.value(depth + 1)?));
            if self.take(b'}') {
                return Ok(Reply::Map(pairs));
            }
            if !self.take(b',') {
                return Err(self.wrong("a comma or the end of the object"));
            }
        }
    }

    fn word(&mut self) -> Result<Reply, Error> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c)));
        let word = &rest[..end.unwrap_or(rest.len())];
        let value = match word {
            "null" => Reply::Null,
            "true" | "false" => word.into(),
            number => {
                let number = number.parse::<i64>().ok();
                Reply::Integer(
                    number.ok_or_else(|| self.wrong("a value: the text may be cut off"))?,
                )
            }
        };
        self.at += word.len();
        Ok(value)
    }

    fn string(&mut self) -> Result<String, Error> {
        if self.peek() != Some(b'"') {
            return Err(self.wrong("a text in double quotes"));
        }
        self.at += 1;
        let mut text = String::new();
        loop {
            let rest = self.text.get(self.at..).unwrap_or_default();
            let next = rest.find(['"', '\\']);
            let next = next.ok_or_else(|| self.wrong("the end of a text in double quotes"))?;
            text.push_str(&rest[..next]);
            self.at += next + 1;
            if rest.as_bytes()[next] == b'"' {
                return Ok(text);
            }
            let escaped = self.escape();
            text.push(escaped.ok_or_else(|| self.wrong("an escape of JSON after \\"))?);
        }
    }

    /// Reads what follows a backslash.
    fn escape(&mut self) -> Option<char> {
        let kind = self.peek()?;
        self.at += 1;
        Some(match kind {
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'"' | b'\\' | b'/' => kind.into(),
            b'u' => {
                let first = self.code()?;
                // A pair of surrogates is one character.
                if (0xd800..0xdc00).contains(&first) {
                    self.at += usize::from(self.text.get(self.at..)?.starts_with("\\u")) * 2;
                    let second = self.code()?.checked_sub(0xdc00)?;
                    return char::from_u32(0x10000 + ((first - 0xd800) << 10) + second);
                }
                char::from_u32(first)?
            }
            _ => return None,
        })
    }

    fn code(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        self.at += 4;
        u32::from_str_radix(digits, 16).ok()
    }
}
