//! memcached's `lru_crawler metadump all`: one item a line, URL-encoded keys, `END` at the end.

use super::format::{DumpRow, Parsed, Whole};
use super::text::{digits, shown, trimmed};
use hashroute::redis::hex;

#[derive(Debug, Default)]
pub(super) struct Metadump {
    ended: bool,
}

impl Metadump {
    pub(super) fn line(&mut self, line: &[u8]) -> Parsed {
        let line = trimmed(line);
        let mut fields = line.split(|byte| *byte == b' ');
        let Some(key) = fields.next().and_then(|field| field.strip_prefix(b"key=")) else {
            return self.other(line);
        };
        let key = url_decoded(key).ok_or_else(|| {
            format!(
                "the key \"{}\" is not URL-encoded: expected two hexadecimal digits after each %",
                shown(key)
            )
        })?;
        let size = fields.find_map(|field| field.strip_prefix(b"size="));
        let size = size
            .and_then(digits)
            .ok_or("no size=NUMBER: expected it at the end of the line")?;
        Ok(Some(DumpRow {
            key,
            size: Some(size),
            requests: None,
        }))
    }

    fn other(&mut self, line: &[u8]) -> Parsed {
        match line {
            b"END" => self.ended = true,
            b"" => {}
            _ => {
                let said = shown(line);
                return Err(format!("memcached says {said}: expected key=... size=..."));
            }
        }
        Ok(None)
    }

    pub(super) fn finish(self) -> Whole {
        let mut whole = Whole::default();
        if !self.ended {
            whole.partial = true;
            let limit = "there is no END: the dump was cut off";
            whole.limits.push(limit.into());
        }
        whole
    }
}

fn url_decoded(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.iter().copied();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => hex(rest.next()?)? << 4 | hex(rest.next()?)?,
            byte => byte,
        });
    }
    Some(bytes)
}
