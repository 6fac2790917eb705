//! Texts in configurations that are written.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;

use crate::Error;
use crate::compat::Server;
use crate::registry::Setup;

/// Returns all parameters of a setup with their values, given or default.
pub(in crate::compat) fn values(setup: &Setup) -> Result<BTreeMap<&'static str, String>, Error> {
    setup.scheme().values(setup.params())
}

/// Refuses a text that the configuration would read as something else: one with blanks, quotes or
/// characters that have a meaning.
pub(in crate::compat) fn plain<'t>(what: &str, text: &'t str) -> Result<&'t str, Error> {
    let is_plain = |c: char| c.is_alphanumeric() || "._-:/[]@+".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return Ok(text);
    }
    let expected = "letters, digits and ._-:/[]@+, to be written into a configuration";
    Err(Error::parameter(what, text, expected))
}

/// Splits an address into host and port.
pub(in crate::compat) fn host_and_port(name: &str) -> Result<(&str, u16), Error> {
    let split = plain("name", name)?.rsplit_once(':');
    let split = split.and_then(|(host, port)| Some((host, port.parse().ok()?)));
    let whole = split.filter(|(host, port)| !host.is_empty() && *port > 0);
    whole.ok_or_else(|| {
        Error::parameter(
            "name",
            name,
            "HOST:PORT, to be written into a configuration",
        )
    })
}

/// Refuses labels, in a system that hashes what the configuration has as the address.
pub(in crate::compat) fn no_label(server: &Server) -> Result<(), Error> {
    match server.own_label() {
        None => Ok(()),
        Some(label) => {
            let expected = "no label: this configuration hashes the address";
            Err(Error::parameter("label", label, expected))
        }
    }
}

/// Refuses servers that are down, in a configuration that cannot mark them.
pub(in crate::compat) fn up(server: &Server) -> Result<(), Error> {
    if server.is_down() {
        let expected = "a server that is up: this configuration cannot mark it as down";
        return Err(Error::parameter("server", server.name(), expected));
    }
    Ok(())
}

/// Writes a text in double quotes.
pub(in crate::compat) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
