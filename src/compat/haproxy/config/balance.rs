//! `balance`: what HAProxy hashes of a request.

use alloc::format;
use alloc::string::String;
use alloc::vec;

use crate::Error;
use crate::compat::config::{expected, wrong};
use crate::registry::KeySource;

/// Algorithms that do not hash the bytes of a key.
const OTHERS: &[&str] = &[
    "first",
    "leastconn",
    "log-hash",
    "log-sticky",
    "random",
    "roundrobin",
    "source",
    "static-rr",
    "sticky",
];

/// The algorithms that hash the bytes of a key.
pub(super) const ALGORITHMS: &str =
    "uri, url_param NAME, hdr(NAME), hash EXPRESSION or rdp-cookie(NAME)";

/// A `balance` by a hash of a key.
#[derive(Clone, Debug)]
pub(super) struct Balance {
    /// The line in the file.
    pub(super) line: usize,
    /// The first word.
    pub(super) algorithm: String,
    /// Whether it needs an HTTP request.
    pub(super) of_http: bool,
    /// `None` if the line cannot be read.
    pub(super) source: Option<KeySource>,
}

impl Balance {
    /// Makes the `balance` of a line that cannot be read. Its section is refused.
    pub(super) fn unreadable(line: usize) -> Self {
        Self {
            line,
            algorithm: String::new(),
            of_http: false,
            source: None,
        }
    }

    /// Reads the words after `balance`; `None` for an algorithm that does not hash a key. HAProxy
    /// balances round robin without a word.
    pub(super) fn read(line: usize, words: &[&str]) -> Result<Option<Self>, Error> {
        let Some((&algorithm, rest)) = words.split_first() else {
            return Ok(None);
        };
        let (name, argument) = in_parentheses(line, algorithm)?;
        let (text, key) = match (name, argument) {
            ("uri", None) => uri(line, rest)?,
            ("url_param", None) => url_param(line, rest)?,
            ("hdr", _) => hdr(line, argument.unwrap_or_default(), rest)?,
            ("rdp-cookie", _) => rdp_cookie(line, argument)?,
            ("hash", None) => hash(line, rest)?,
            (name, None) if OTHERS.contains(&name) => return Ok(None),
            ("random", Some(_)) => return Ok(None),
            _ => {
                let known = format!("an algorithm of HAProxy, such as {ALGORITHMS}");
                return Err(expected(line, "balance", algorithm, &known));
            }
        };
        Ok(Some(Self {
            line,
            algorithm: algorithm.into(),
            of_http: ["uri", "url_param", "hdr"].contains(&name),
            source: Some(KeySource::new(line, text, key)),
        }))
    }
}

/// Splits `hdr(host)` into `hdr` and `host`.
fn in_parentheses(line: usize, word: &str) -> Result<(&str, Option<&str>), Error> {
    let Some((name, rest)) = word.split_once('(') else {
        return Ok((word, None));
    };
    match rest.strip_suffix(')') {
        Some(inside) => Ok((name, Some(inside))),
        None => Err(expected(line, "balance", word, "a closing parenthesis")),
    }
}

/// Reads the modifiers of `uri`. Of several of one kind, HAProxy uses the last one.
fn uri(line: usize, words: &[&str]) -> Result<(String, String), Error> {
    let (mut whole, mut path_only, mut depth, mut length) = (false, false, None, None);
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        let number = |words: &mut core::slice::Iter<'_, &str>| {
            let text = words.next().copied().unwrap_or_default();
            let number = text.parse::<u32>().ok().filter(|number| *number > 0);
            let what = format!("balance uri: {word}");
            number.ok_or_else(|| expected(line, &what, text, "a whole number from 1"))
        };
        match word {
            "whole" => whole = true,
            "path-only" => path_only = true,
            "depth" => depth = Some(number(&mut words)?),
            "len" => length = Some(number(&mut words)?),
            _ => {
                let known = "whole, path-only, depth N or len N";
                return Err(expected(line, "balance uri", word, known));
            }
        }
    }
    let mut text = vec![String::from("uri")];
    let mut key = vec![String::from("the path")];
    key.push(if whole {
        " with the query, as sent".into()
    } else {
        " without the query, as sent".into()
    });
    if whole {
        text.push("whole".into());
    }
    if path_only {
        text.push("path-only".into());
        key.push(", without scheme and host".into());
    }
    if let Some(depth) = depth {
        text.push(format!("depth {depth}"));
        let s = if depth == 1 { "" } else { "s" };
        key.push(format!(", cut after its first {depth} part{s}"));
        if depth < 5 {
            let left = &EXAMPLE[..2 * depth as usize];
            key.push(format!(" ({EXAMPLE} gives {left})"));
        }
    }
    if let Some(length) = length {
        text.push(format!("len {length}"));
        let cut = if depth.is_some() { " and" } else { ", cut" };
        key.push(format!("{cut} after {length} bytes"));
    }
    Ok((text.join(" "), key.concat()))
}

/// A path, to show what `depth` leaves of it.
const EXAMPLE: &str = "/1/2/3/4/5";

fn url_param(line: usize, words: &[&str]) -> Result<(String, String), Error> {
    let name = match words {
        [] => {
            return Err(wrong(
                line,
                "balance url_param without a name: expected url_param NAME",
            ));
        }
        [name] | [name, "check_post", ..] => name,
        [_, other, ..] => {
            return Err(expected(
                line,
                "balance url_param",
                other,
                "check_post, or nothing after the name",
            ));
        }
    };
    let (place, post) = match words.len() {
        1 => ("the query", ""),
        _ => ("the query or the body of a POST", " check_post"),
    };
    let key = format!("the value of the parameter {name} of {place}, as sent");
    Ok((format!("url_param {name}{post}"), key))
}

fn hdr(line: usize, name: &str, rest: &[&str]) -> Result<(String, String), Error> {
    if name.is_empty() {
        return Err(wrong(
            line,
            "balance hdr without a name: expected hdr(NAME), such as hdr(host)",
        ));
    }
    // Names of headers are alike in any case.
    let name = name.to_ascii_lowercase();
    match rest {
        [] => Ok((
            format!("hdr({name})"),
            format!("the value of the header {name}"),
        )),
        ["use_domain_only"] => Ok((
            format!("hdr({name}) use_domain_only"),
            format!(
                "the main part of the domain in the header {name}: www.example.com gives example"
            ),
        )),
        [other, ..] => Err(expected(
            line,
            "balance hdr",
            other,
            "use_domain_only, or nothing after the name",
        )),
    }
}

fn rdp_cookie(line: usize, name: Option<&str>) -> Result<(String, String), Error> {
    match name {
        Some("") => Err(wrong(
            line,
            "balance rdp-cookie without a name: expected rdp-cookie(NAME)",
        )),
        name => {
            let name = name.unwrap_or("mstshash");
            let key = format!("the value of the RDP cookie {name}");
            Ok((format!("rdp-cookie({name})"), key))
        }
    }
}

fn hash(line: usize, rest: &[&str]) -> Result<(String, String), Error> {
    match rest {
        [expression] => Ok((
            format!("hash {expression}"),
            format!("the value of {expression}"),
        )),
        [] => Err(wrong(
            line,
            "balance hash without an expression: expected hash EXPRESSION, such as hash path",
        )),
        [_, other, ..] => Err(expected(
            line,
            "balance hash",
            other,
            "nothing after the expression",
        )),
    }
}
