//! Helpers for lines.

/// Removes a carriage return at the end of a line.
pub(super) fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Returns the start of a line, for messages.
pub(super) fn shown(line: &[u8]) -> String {
    const MOST: usize = 60;
    let start = line[..line.len().min(MOST)].escape_ascii().to_string();
    if line.len() > MOST {
        format!("{start}...")
    } else {
        start
    }
}

/// Reads a whole number made of decimal digits only.
pub(super) fn digits(text: &[u8]) -> Option<u64> {
    let plain = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    core::str::from_utf8(text)
        .ok()
        .filter(|_| plain)?
        .parse()
        .ok()
}

/// Splits a text around the first occurrence of another.
pub(super) fn split<'t>(text: &'t [u8], at: &str) -> Option<(&'t [u8], &'t [u8])> {
    let start = memchr::memmem::find(text, at.as_bytes())?;
    Some((&text[..start], &text[start + at.len()..]))
}
