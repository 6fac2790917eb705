//! Draws from the bytes of an input: numbers, choices, words, and damage to a text.
//!
//! An input that has run out draws zeros, which choose the first and the fewest everywhere. So
//! every generator ends.

use arbitrary::Unstructured;

/// Draws from the bytes of an input.
pub(crate) trait Draw {
    /// Returns the next `N` bytes, zeros at the end.
    fn take<const N: usize>(&mut self) -> [u8; N];

    /// Returns any byte.
    fn byte(&mut self) -> u8 {
        u8::from_le_bytes(self.take())
    }

    /// Returns any number of 64 bits.
    fn number(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }

    /// Returns a number below `end`, or 0.
    fn below(&mut self, end: usize) -> usize {
        match end {
            0 | 1 => 0,
            2..=256 => usize::from(self.byte()) * end / 256,
            _ => ((u32::from_le_bytes(self.take()) as u64 * end as u64) >> 32) as usize,
        }
    }

    /// Returns a number from `from` to `to`, both included.
    fn range(&mut self, from: usize, to: usize) -> usize {
        from + self.below(to - from + 1)
    }

    /// Returns true in `of` cases of 256.
    fn chance(&mut self, of: u16) -> bool {
        u16::from(255 - self.byte()) < of
    }

    /// Returns one of these.
    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Returns a number that is mostly small, and sometimes near a limit of a type.
    fn odd_number(&mut self) -> u64 {
        const LIMITS: [u64; 16] = [
            0,
            1,
            2,
            255,
            256,
            65_535,
            65_536,
            1 << 31,
            u32::MAX as u64,
            1 << 32,
            (1 << 53) - 1,
            1 << 53,
            1 << 63,
            u64::MAX,
            99_999,
            16_384,
        ];
        match self.byte() {
            0..=199 => self.byte().into(),
            200..=239 => self.pick(&LIMITS),
            _ => self.number(),
        }
    }

    /// Adds a word of letters and digits to a text: `most` of them at most, and one at least.
    fn word(&mut self, most: usize, text: &mut String) {
        const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz012345";
        for _ in 0..self.range(1, most) {
            text.push(char::from(LETTERS[usize::from(self.byte()) % 32]));
        }
    }

    /// Returns the bytes of a key: mostly printable, sometimes any bytes, rarely long.
    fn key(&mut self) -> Vec<u8> {
        let len = match self.byte() {
            0..=9 => 0,
            10..=229 => self.range(1, 12),
            230..=250 => self.range(13, 40),
            _ => self.range(41, 300),
        };
        let mut key = Vec::with_capacity(len);
        let any = self.chance(40);
        for _ in 0..len {
            let byte = self.byte();
            key.push(if any { byte } else { b' ' + byte % 95 });
        }
        key
    }
}

impl Draw for Unstructured<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        // Only an iterator over the end can fail; the buffer is filled with zeros then.
        let _ = self.fill_buffer(&mut bytes);
        bytes
    }
}

/// What damage inserts: marks of all formats, numbers at limits, letters of several bytes.
const TOKENS: [&[u8]; 64] = [
    b"\n",
    b" ",
    b"\t",
    b"\r\n",
    b"{",
    b"}",
    b"[",
    b"]",
    b"(",
    b")",
    b"\"",
    b"'",
    b"\\",
    b"#",
    b";",
    b"=",
    b":",
    b",",
    b"-",
    b"- ",
    b"|",
    b"&",
    b"&a ",
    b"*a",
    b"<<: *a\n",
    b"@",
    b"/",
    b"?",
    b"%",
    b"$",
    b"~",
    b"0",
    b"-1",
    b"1e9",
    b"0x10",
    b"00",
    b"255",
    b"256",
    b"65535",
    b"65536",
    b"16383",
    b"16384",
    b"2147483648",
    b"4294967295",
    b"4294967296",
    b"9007199254740993",
    b"18446744073709551615",
    b"18446744073709551616",
    b"1.5",
    b"nan",
    b"null",
    b"true",
    b"\0",
    b"\x1b[1m",
    b"\xef\xbb\xbf",
    b"\xc3\xa9",
    b"\xf0\x9f\xa6\x80",
    b"\xff",
    b"\xe2\x80\xae",
    b"--",
    b"[5->-a]",
    b"{}",
    b"\"\"",
    b"vars ",
];

/// Returns whether this input is damaged: one in six.
pub(crate) fn damages(u: &mut Unstructured<'_>) -> bool {
    u.chance(42)
}

/// Damages bytes in one to three places.
pub(crate) fn damage(u: &mut Unstructured<'_>, text: &mut Vec<u8>) {
    for _ in 0..u.range(1, 3) {
        let at = u.below(text.len() + 1);
        let end = (at + u.range(1, 12)).min(text.len());
        match u.byte() % 8 {
            0 => {
                if let Some(byte) = text.get_mut(at) {
                    *byte = u.byte();
                }
            }
            1 => drop(text.drain(at..end)),
            2 => {
                let part = text[at..end].to_vec();
                let to = u.below(text.len() + 1);
                text.splice(to..to, part);
            }
            3 | 4 => {
                let token = u.pick(&TOKENS);
                text.splice(at..at, token.iter().copied());
            }
            5 => text.truncate(at),
            way => lines(u, text, way == 6),
        }
    }
}

/// Removes a line, or moves it to another place.
fn lines(u: &mut Unstructured<'_>, text: &mut Vec<u8>, keep: bool) {
    let mut lines: Vec<Vec<u8>> = text
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    let line = lines.remove(u.below(lines.len()));
    if keep {
        let to = u.below(lines.len() + 1);
        lines.insert(to, line);
    }
    *text = lines.join(&b'\n');
}

/// Damages a text, one in six, and returns whether it did. Bytes that are no UTF-8 are replaced.
pub(crate) fn damage_text(u: &mut Unstructured<'_>, text: &mut String) -> bool {
    if !damages(u) {
        return false;
    }
    let mut bytes = core::mem::take(text).into_bytes();
    damage(u, &mut bytes);
    *text = String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    true
}

/// Pushes formatted text.
macro_rules! put {
    ($text:expr, $($arg:tt)*) => {{
        use core::fmt::Write as _;
        let _ = write!($text, $($arg)*);
    }};
}
pub(crate) use put;
