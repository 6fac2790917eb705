//! Words of a line, and the values of `balance` and `hash-type`.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::Error;
use crate::compat::config::{expected, wrong};
use crate::compat::haproxy::{AVALANCHE, FUNCTION, HashType, METHOD, ServerHash};

/// Returns the name of an option such as `set-proxy-v2-tlv-fmt(0x20)`.
pub(super) fn name(word: &str) -> &str {
    word.split('(').next().unwrap_or_default()
}

/// Returns whether a `balance` uses a hash of a key's bytes.
pub(super) fn by_hash(algorithm: &str) -> bool {
    ["uri", "url_param", "hdr", "hash", "rdp-cookie"].contains(&name(algorithm))
}

/// Returns whether a `balance` needs an HTTP request.
pub(super) fn of_http(algorithm: &str) -> bool {
    ["uri", "url_param", "hdr"].contains(&name(algorithm))
}

/// Returns the options of a method without a function: `sdbm`, with `avalanche` only for
/// `consistent`.
pub(super) fn plain(method: HashType) -> Vec<(&'static str, String)> {
    let (name, avalanche) = match method {
        HashType::Consistent => ("consistent", "on"),
        HashType::MapBased => ("map-based", "off"),
    };
    vec![
        (METHOD.name, name.into()),
        (FUNCTION.name, "sdbm".into()),
        (AVALANCHE.name, avalanche.into()),
    ]
}

pub(super) fn hash_type(line: usize, words: &[&str]) -> Result<Vec<(&'static str, String)>, Error> {
    let about = "METHOD [FUNCTION [avalanche]]";
    let (method, function, avalanche) = match words {
        [method] => (method, None, false),
        [method, function] => (method, Some(function), false),
        [method, function, "avalanche"] => (method, Some(function), true),
        _ => return Err(expected(line, "hash-type", &words.join(" "), about)),
    };
    let parsed = method
        .parse()
        .map_err(|_| expected(line, "hash-type", method, "consistent or map-based"))?;
    let Some(function) = function else {
        return Ok(plain(parsed));
    };
    if function.parse::<ServerHash>().is_err() {
        let known = "sdbm, djb2, wt6 or crc32";
        return Err(expected(line, "hash-type function", function, known));
    }
    let avalanche = if avalanche { "on" } else { "off" };
    Ok(vec![
        (METHOD.name, (*method).into()),
        (FUNCTION.name, (*function).into()),
        (AVALANCHE.name, avalanche.into()),
    ])
}

/// Splits a line into words, without quotes, backslashes and the comment.
pub(super) fn words(line: &str, at: usize) -> Result<Vec<String>, Error> {
    let (mut words, mut word, mut quote) = (vec![], None::<String>, None);
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None | Some('"'), '\\') => {
                let next = letters.next().unwrap_or('\\');
                word.get_or_insert_default().push(next);
            }
            (Some('"'), '$') => return Err(wrong(at, "variables are not supported")),
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, '#') => break,
            (None, ' ' | '\t' | '\r') => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    if quote.is_some() {
        return Err(wrong(at, "a quote that is not closed"));
    }
    words.extend(word);
    Ok(words)
}
