//! Reads the files of Traffic Server that list parents: `parent.config` and `strategies.yaml`.
//!
//! Source: Traffic Server 9.2, `ParentSelection.cc`, `NextHopSelectionStrategy.cc` and
//! `NextHopConsistentHash.cc`; compared with a running copy. Lines and strategies that do not use
//! `consistent_hash` are left out.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::Error;
use crate::Server;
use crate::compat::config::{expected, wrong};
use crate::registry::{Config, Scheme};

mod parents;
mod strategies;
#[cfg(test)]
mod tests;

pub(super) fn read(dialect: &'static Scheme, text: &str) -> Result<Vec<Config>, Error> {
    let mut lines = text.lines().map(str::trim_start);
    let is_yaml = |line: &str| {
        let names = ["strategies:", "hosts:", "groups:"];
        names.iter().any(|name| line.starts_with(name))
    };
    if lines.any(is_yaml) {
        strategies::read(dialect, text)
    } else {
        parents::read(dialect, text)
    }
}

/// A parent of a ring.
#[derive(Debug)]
struct Parent {
    line: usize,
    /// The host and the port.
    address: String,
    /// The text that is hashed instead of the host.
    hash_string: Option<String>,
    weight: Weight,
}

/// A weight with decimals.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Weight {
    /// The digits without the point.
    digits: String,
    /// The number of digits after the point.
    decimals: usize,
}

impl Weight {
    fn one() -> Self {
        Self {
            digits: "1".into(),
            decimals: 0,
        }
    }

    /// Reads a number such as `0.25`.
    fn parse(line: usize, text: &str) -> Result<Self, Error> {
        let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
        let rest = rest.trim_end_matches('0');
        let digits = [whole, rest].concat();
        let is_number = !text.trim_matches('.').is_empty();
        if !is_number || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(expected(line, "weight", text, "a number such as 0.25"));
        }
        Ok(Self {
            digits,
            decimals: rest.len(),
        })
    }

    /// Returns the weight as a whole number, with this number of decimals.
    fn scaled(&self, line: usize, decimals: usize) -> Result<u32, Error> {
        let zeros = "0".repeat(decimals - self.decimals);
        let text = [&*self.digits, &zeros].concat();
        text.parse().map_err(|_| {
            let known = "at most 4294967295 with the decimals of all weights of the ring";
            expected(line, "weight", &text, known)
        })
    }
}

/// Turns parents into servers, and returns the weight that counts as 1.0.
fn servers(parents: &[Parent]) -> Result<(Vec<Server>, u32), Error> {
    let most = parents.iter().map(|parent| parent.weight.decimals).max();
    let decimals = most.unwrap_or(0);
    let scale = u32::try_from(decimals).ok();
    let scale = scale.and_then(|decimals| 10_u32.checked_pow(decimals));
    let Some(scale) = scale else {
        let longest = parents
            .iter()
            .max_by_key(|parent| parent.weight.decimals)
            .map_or(1, |parent| parent.line);
        return Err(wrong(longest, "a weight has at most 9 decimals here"));
    };
    let mut addresses = BTreeMap::<_, usize>::new();
    for parent in parents {
        *addresses.entry(&*parent.address).or_default() += 1;
    }
    let mut names = BTreeMap::new();
    let server = |parent: &Parent| {
        let several = addresses.get(&*parent.address) != Some(&1);
        let name = match &parent.hash_string {
            Some(text) if several => text,
            _ => &parent.address,
        };
        if let Some(first) = names.insert(name.clone(), parent.line) {
            let known = format!("a parent that is not in the list yet: line {first} has it");
            return Err(expected(parent.line, "parent", name, &known));
        }
        let weight = parent.weight.scaled(parent.line, decimals)?;
        let server = Server::new(&**name).with_weight(weight);
        Ok(match &parent.hash_string {
            Some(text) => server.with_label(&**text),
            None => server,
        })
    };
    let servers: Vec<_> = parents.iter().map(server).collect::<Result<_, _>>()?;
    Ok((servers, scale))
}

/// Returns a port, refusing what Traffic Server does not accept.
fn port(line: usize, text: &str) -> Result<String, Error> {
    match text.parse::<u16>() {
        Ok(port) if port > 0 => Ok(port.to_string()),
        _ => Err(expected(line, "port", text, "from 1 to 65535")),
    }
}
