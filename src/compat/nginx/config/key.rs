//! The text after `hash`: what nginx hashes of a request.

use alloc::format;
use alloc::string::String;

use crate::registry::KeySource;

/// Returns what an expression takes of a request.
pub(super) fn source(line: usize, expression: &str) -> KeySource {
    let text = normal(expression);
    let single = text.strip_prefix('$').filter(|name| is_name(name));
    let key = single.and_then(variable);
    let key = key.unwrap_or_else(|| {
        if text.contains('$') {
            format!("the value of {text}")
        } else {
            format!("the text {text}, for every request")
        }
    });
    KeySource::new(line, text, key)
}

fn is_name(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Writes `${uri}` as `$uri` where both mean the same.
fn normal(expression: &str) -> String {
    let mut normal = String::new();
    let mut rest = expression;
    while let Some((before, after)) = rest.split_once("${") {
        normal += before;
        rest = after;
        match after.split_once('}') {
            Some((name, next)) if is_name(name) => {
                let follows = next.bytes().next();
                let joins =
                    follows.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
                let (open, close) = if joins { ("${", "}") } else { ("$", "") };
                normal.extend([open, name, close]);
                rest = next;
            }
            _ => normal += "${",
        }
    }
    normal + rest
}

/// Says what a variable holds, for those that people hash.
fn variable(name: &str) -> Option<String> {
    let known = match name {
        "uri" | "document_uri" => "the path without the query, decoded and normalized",
        "request_uri" => "the path with the query, as sent",
        "args" | "query_string" => "the query without the ?, as sent",
        "host" => "the host of the request, in lower case, without the port",
        "remote_addr" => "the address of the client",
        "binary_remote_addr" => "the address of the client, as 4 or 16 bytes",
        _ => {
            let prefixes = [
                ("arg_", "the parameter", " of the query, as sent"),
                ("cookie_", "the cookie", ""),
                ("http_", "the header", ""),
            ];
            return prefixes.iter().find_map(|(prefix, what, rest)| {
                let name = name.strip_prefix(prefix)?;
                let name = match *prefix {
                    "http_" => name.replace('_', "-"),
                    _ => name.into(),
                };
                Some(format!("the value of {what} {name}{rest}"))
            });
        }
    };
    Some(known.into())
}
