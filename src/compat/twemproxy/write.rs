//! Writes twemproxy's YAML.

use alloc::format;
use alloc::string::String;
use core::fmt::Write as _;

use super::{DISTRIBUTION, HASH, HASH_TAG};
use crate::Error;
use crate::compat::parts::hashkit::CHAR;
use crate::compat::parts::writing::{host_and_port, plain, quoted, up, values};
use crate::registry::Setup;

pub(super) fn write(setup: &Setup, pool: &str) -> Result<String, Error> {
    let values = values(setup)?;
    if values[CHAR.name] != CHAR.default {
        let expected = "the default: twemproxy's build decides it, not its configuration";
        return Err(Error::parameter(CHAR.name, &values[CHAR.name], expected));
    }
    let mut text = format!(
        "{}:\n  listen: 127.0.0.1:22121\n  hash: {}\n  distribution: {}\n",
        plain("pool", pool)?,
        values[HASH.name],
        values[DISTRIBUTION.name],
    );
    if !values[HASH_TAG.name].is_empty() {
        let _ = writeln!(text, "  hash_tag: {}", quoted(&values[HASH_TAG.name]));
    }
    text += "  servers:\n";
    for server in setup.servers() {
        up(server)?;
        if !server.name().starts_with('/') {
            host_and_port(server.name())?;
        }
        let _ = write!(
            text,
            "   - {}:{}",
            plain("name", server.name())?,
            server.weight()
        );
        if let Some(label) = server.own_label() {
            let _ = write!(text, " {}", plain("label", label)?);
        }
        text.push('\n');
    }
    Ok(text)
}
