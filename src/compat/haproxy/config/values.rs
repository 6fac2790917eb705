//! Words of a line, the values of `hash-type`, and addresses.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::begins;
use super::known::VALUES;
use crate::Error;
use crate::compat::config::{expected, wrong};
use crate::compat::haproxy::{AVALANCHE, FUNCTION, HashType, METHOD, ServerHash};

/// Returns the name of an option such as `set-proxy-v2-tlv-fmt(0x20)`.
pub(super) fn name(word: &str) -> &str {
    word.split('(').next().unwrap_or_default()
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

/// The words of a line.
pub(super) struct Words {
    pub(super) words: Vec<String>,
    /// The variables of the environment among them: the index of the word, and the name.
    variables: Vec<(usize, String)>,
}

impl Words {
    /// Refuses a variable where its value may decide routes: in the name of a section and in the
    /// directives that are read here, except for the value of an option that changes nothing.
    pub(super) fn check(&self, at: usize) -> Result<(), Error> {
        const READ: [&str; 7] = [
            "balance",
            "default-server",
            "hash-balance-factor",
            "hash-type",
            "mode",
            "server",
            "server-template",
        ];
        let word = |index: usize| self.words.get(index).map_or("", String::as_str);
        let first = word(0);
        let of_server = ["default-server", "server"].contains(&first);
        let matters = |index: usize| {
            index == 0
                || begins(first)
                || (READ.contains(&first)
                    && !(of_server && index > 1 && VALUES.contains(&name(word(index - 1)))))
        };
        match self.variables.iter().find(|(index, _)| matters(*index)) {
            None => Ok(()),
            Some((_, name)) => Err(variable(at, name)),
        }
    }
}

/// Builds the error for a variable of the environment, which the file does not hold.
pub(super) fn variable(at: usize, name: &str) -> Error {
    wrong(
        at,
        format!("${{{name}}}: a variable of the environment: expected its value in its place"),
    )
}

/// Splits a line into words, without quotes, backslashes and the comment. Variables stay as they are;
/// HAProxy replaces them only in double quotes.
pub(super) fn words(line: &str, at: usize) -> Result<Words, Error> {
    let (mut words, mut word, mut quote) = (vec![], None::<String>, None);
    let mut variables = vec![];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None | Some('"'), '\\') => {
                let next = letters.next().unwrap_or('\\');
                word.get_or_insert_default().push(next);
            }
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, '#') => break,
            (None, ' ' | '\t' | '\r') => words.extend(word.take()),
            _ => {
                if (quote, letter) == (Some('"'), '$') {
                    variables.push((words.len(), variable_name(letters.as_str())));
                }
                word.get_or_insert_default().push(letter);
            }
        }
    }
    if quote.is_some() {
        return Err(wrong(at, "a quote that is not closed"));
    }
    words.extend(word);
    Ok(Words { words, variables })
}

/// Returns the name of the variable after a dollar sign: `NAME`, `{NAME}` or `{NAME-default}`.
pub(super) fn variable_name(rest: &str) -> String {
    let rest = rest.strip_prefix('{').unwrap_or(rest);
    let is_name = |letter: &char| letter.is_ascii_alphanumeric() || *letter == '_';
    rest.chars().take_while(is_name).collect()
}

/// Refuses a port that HAProxy refuses, and a variable in an address, where HAProxy replaces it also
/// without quotes. A port may be missing, 0, or an offset to the port of the client.
pub(super) fn check_address(line: usize, text: &str) -> Result<(), Error> {
    if let Some((_, rest)) = text.split_once('$') {
        return Err(variable(line, &variable_name(rest)));
    }
    if is_socket(text) {
        return Ok(());
    }
    let host_end = text.rfind(']').unwrap_or(0);
    let port = text[host_end..]
        .rsplit_once(':')
        .map_or("", |(_, port)| port);
    let digits = port.strip_prefix(['+', '-']).unwrap_or(port);
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_number && (digits.is_empty() || digits.parse::<u16>().is_ok()) {
        return Ok(());
    }
    let known = "a port up to 65535";
    Err(expected(line, "port of server", text, known))
}

/// Returns whether an address is no IP address and no name of a host.
pub(super) fn is_socket(address: &str) -> bool {
    let forms = [
        "/",
        "unix@",
        "abns@",
        "abnsz@",
        "sockpair@",
        "fd@",
        "rev@",
        "rhttp@",
    ];
    forms.iter().any(|form| address.starts_with(form))
}
