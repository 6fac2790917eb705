//! Writes an `upstream` block of nginx.

use alloc::format;
use alloc::string::String;
use core::fmt::Write as _;

use super::METHOD;
use crate::Error;
use crate::compat::parts::writing::{no_label, plain, values};
use crate::registry::Setup;

pub(super) fn write(setup: &Setup, pool: &str) -> Result<String, Error> {
    let method = match &*values(setup)?[METHOD.name] {
        "consistent" => " consistent",
        _ => "",
    };
    let mut text = format!(
        "# The key is what `hash` names: replace $request_uri by your own.\nupstream {} {{\n    hash $request_uri{method};\n",
        plain("pool", pool)?,
    );
    for server in setup.servers() {
        no_label(server)?;
        let _ = write!(text, "    server {}", plain("name", server.name())?);
        if server.weight() != 1 {
            let _ = write!(text, " weight={}", server.weight());
        }
        text += if server.is_down() { " down;\n" } else { ";\n" };
    }
    text += "}\n";
    Ok(text)
}
