//! Pieces of lines.

/// A line without a carriage return at its end.
pub(super) fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The start of a line, to show what is wrong with it.
pub(super) fn shown(line: &[u8]) -> String {
    const MOST: usize = 60;
    let start = line[..line.len().min(MOST)].escape_ascii().to_string();
    if line.len() > MOST {
        format!("{start}...")
    } else {
        start
    }
}

/// A whole number in decimal digits alone.
pub(super) fn digits(text: &[u8]) -> Option<u64> {
    let plain = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    core::str::from_utf8(text)
        .ok()
        .filter(|_| plain)?
        .parse()
        .ok()
}

/// A text split before and after the first occurrence of another.
pub(super) fn split<'t>(text: &'t [u8], at: &str) -> Option<(&'t [u8], &'t [u8])> {
    let start = memchr::memmem::find(text, at.as_bytes())?;
    Some((&text[..start], &text[start + at.len()..]))
}
