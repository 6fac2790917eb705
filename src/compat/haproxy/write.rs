//! Writes a `backend` section of HAProxy.

use alloc::format;
use alloc::string::String;
use core::fmt::Write as _;

use super::{AVALANCHE, BALANCE_FACTOR, FUNCTION, HASH_KEY, METHOD};
use crate::Error;
use crate::compat::parts::writing::{plain, values};
use crate::registry::Setup;

pub(super) fn write(setup: &Setup, pool: &str) -> Result<String, Error> {
    let values = values(setup)?;
    let avalanche = match &*values[AVALANCHE.name] {
        "on" => " avalanche",
        _ => "",
    };
    let mut text = format!(
        "# The key is what `balance hash` names: replace `path` by your own expression.\nbackend {}\n    mode http\n    balance hash path\n    hash-type {} {}{avalanche}\n",
        plain("pool", pool)?,
        values[METHOD.name],
        values[FUNCTION.name],
    );
    if values[BALANCE_FACTOR.name] != "0" {
        let _ = writeln!(
            text,
            "    hash-balance-factor {}",
            values[BALANCE_FACTOR.name]
        );
    }
    for (number, server) in (1..).zip(setup.servers()) {
        let address = plain("name", server.name())?;
        let _ = write!(
            text,
            "    server s{number} {address} weight {}",
            server.weight()
        );
        if let Some(id) = server.own_label() {
            let _ = write!(text, " id {}", plain("label", id)?);
        }
        if values[HASH_KEY.name] != HASH_KEY.default {
            let _ = write!(text, " hash-key {}", values[HASH_KEY.name]);
        }
        text += if server.is_down() {
            " disabled\n"
        } else {
            "\n"
        };
    }
    Ok(text)
}
