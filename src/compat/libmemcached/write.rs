//! Writes libmemcached's configuration string.

use alloc::format;
use alloc::string::String;
use core::fmt::Write as _;

use super::{CHAR, DISTRIBUTION, HASH, NAMESPACE, POINT_HASH, SORT_HOSTS, WEIGHTED};
use crate::Error;
use crate::compat::parts::writing::{no_label, plain, quoted, up, values};
use crate::registry::Setup;

/// The order of the statements counts: the ring is built with the hash that is set before the
/// servers, and a distribution makes later weights count.
pub(super) fn write(setup: &Setup, _pool: &str) -> Result<String, Error> {
    let values = values(setup)?;
    let refused = |name: &str, expected: &str| Err(Error::parameter(name, &values[name], expected));
    if values[CHAR.name] != CHAR.default {
        return refused(CHAR.name, "the default: the build decides it");
    }
    if !values[POINT_HASH.name].is_empty() && values[POINT_HASH.name] != values[HASH.name] {
        return refused(
            POINT_HASH.name,
            "none: the points have the hash of the keys",
        );
    }
    let servers = setup.servers();
    let weighted = servers.iter().any(|server| server.weight() > 1);
    let hash = match &*values[HASH.name] {
        "" if values[WEIGHTED.name] == "always" => "MD5",
        "DEFAULT" => "",
        hash => hash,
    };
    let mut text = String::new();
    if !hash.is_empty() {
        let _ = writeln!(text, "--HASH={hash}");
    }
    match &*values[DISTRIBUTION.name] {
        "MODULA" => {}
        "CONSISTENT" => {
            // A ring is weighted as soon as it gets a weight above 1.
            let always = values[WEIGHTED.name] != "never";
            if weighted != always && (weighted || values[WEIGHTED.name] == "always") {
                return refused(
                    WEIGHTED.name,
                    "if-any: a weight above 1 makes the ring weighted",
                );
            }
            text += "--DISTRIBUTION=consistent\n";
        }
        _ => return refused(DISTRIBUTION.name, "MODULA or CONSISTENT"),
    }
    if !values[NAMESPACE.name].is_empty() {
        let namespace = quoted(plain("namespace", &values[NAMESPACE.name])?);
        let _ = writeln!(text, "--NAMESPACE={namespace}\n--HASH-WITH-NAMESPACE");
    }
    for server in servers {
        no_label(server)?;
        up(server)?;
        let name = plain("name", server.name())?;
        let option = if name.starts_with('/') {
            format!("--SOCKET={}", quoted(name))
        } else {
            format!("--SERVER={name}")
        };
        text += &option;
        if server.weight() != 1 {
            let _ = write!(text, "/?{}", server.weight());
        }
        text.push('\n');
    }
    if values[SORT_HOSTS.name] == "true" {
        text += "--SORT-HOSTS\n";
    }
    Ok(text)
}
