//! Quoted strings, as `redis-cli` writes them.

use alloc::vec::Vec;

/// Returns the bytes of a string in double quotes, with the escapes that `redis-cli` writes; `None`
/// for a malformed one.
pub fn unquote(text: &[u8]) -> Option<Vec<u8>> {
    let inside = text.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    let mut bytes = Vec::with_capacity(inside.len());
    let mut rest = inside.iter().copied();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'"' => return None,
            b'\\' => match rest.next()? {
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'a' => 7,
                b'b' => 8,
                b'x' => hex(rest.next()?)? << 4 | hex(rest.next()?)?,
                other => other,
            },
            _ => byte,
        });
    }
    Some(bytes)
}

/// Returns the value of a hexadecimal digit.
pub fn hex(digit: u8) -> Option<u8> {
    let value = char::from(digit).to_digit(16)?;
    u8::try_from(value).ok()
}
