//! Lists of nodes that were most likely meant as something else than names with commas.

use core::ops::Range;

use serde_json::Value;

/// The most names that a message writes out.
const SHOWN: usize = 8;

/// Says what to write for a list that is none; `None` if it may be a list of names.
pub(crate) fn meant_otherwise(text: &str) -> Option<String> {
    let text = text.trim();
    json(text)
        .or_else(|| enclosed(text))
        .or_else(|| range(text))
        .or_else(|| separated(text))
}

/// Refuses JSON, which a file of nodes may hold.
fn json(text: &str) -> Option<String> {
    let start: String = text.split_whitespace().collect();
    if !["[\"", "[{", "{\"", "[]", "{}"]
        .iter()
        .any(|json| start.starts_with(json))
    {
        return None;
    }
    let names = match serde_json::from_str(text) {
        Ok(Value::Array(list)) => list
            .iter()
            .map(|one| one.as_str().map(str::to_owned))
            .collect(),
        _ => None,
    };
    let names: Vec<_> = names.unwrap_or_else(|| vec!["a".to_owned(), "b=2".to_owned()]);
    Some(format!(
        "JSON: expected names separated by commas, such as {} (a file of nodes may be JSON)",
        shown(&names)
    ))
}

/// Refuses a list in brackets, as other languages write it.
fn enclosed(text: &str) -> Option<String> {
    let inner = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .or_else(|| text.strip_prefix('(')?.strip_suffix(')'))?;
    let is_list = inner.contains(',') && !inner.contains([']', ')']);
    is_list.then(|| format!("a list in brackets: expected the names alone, such as {inner}"))
}

/// Refuses `node-{0..2}`, which a shell expands outside quotes only, and `node-[0-2]`.
fn range(text: &str) -> Option<String> {
    let (group, members) = group(text)?;
    let start = text[..group.start].rfind(',').map_or(0, |at| at + 1);
    let end = text[group.end..]
        .find(',')
        .map_or(text.len(), |at| group.end + at);
    let [before, after] = [&text[start..group.start], &text[group.end..end]];
    let names: Vec<_> = members
        .iter()
        .map(|member| format!("{before}{member}{after}"))
        .collect();
    let others = [&text[..start], &text[end..]];
    Some(format!(
        "\"{before}{}{after}\" is not expanded here: expected each name, such as {}{}{}",
        &text[group],
        others[0],
        shown(&names),
        others[1],
    ))
}

/// Finds the first group in braces or brackets that stands for several texts.
fn group(text: &str) -> Option<(Range<usize>, Vec<String>)> {
    for (start, open) in text.char_indices().filter(|(_, c)| matches!(c, '{' | '[')) {
        let close = if open == '{' { '}' } else { ']' };
        let Some(length) = text[start..].find(close) else {
            continue;
        };
        let inner = &text[start + 1..start + length];
        let range = start..start + length + 1;
        let members = match open {
            '{' if inner.contains(',') => {
                Some(inner.split(',').map(|one| one.trim().to_owned()).collect())
            }
            '{' => numbers(inner, &[".."]),
            // An address of IPv6 starts its entry.
            _ if start == 0 || text[..start].ends_with(',') => None,
            _ => numbers(inner, &["-", ":", ".."]),
        };
        if let Some(members) = members {
            return Some((range, members));
        }
    }
    None
}

/// Returns the numbers of `0..2`, with the zeros of the first: at most one more than messages show.
fn numbers(text: &str, between: &[&str]) -> Option<Vec<String>> {
    let (first, last) = between
        .iter()
        .find_map(|between| text.split_once(between))?;
    let width = first.len();
    let [first, last]: [u64; 2] = [first.parse().ok()?, last.parse().ok()?];
    let numbers = first..=last;
    let padded = |number: u64| {
        if text.starts_with('0') {
            format!("{number:0width$}")
        } else {
            number.to_string()
        }
    };
    let some: Vec<_> = numbers.take(SHOWN + 1).map(padded).collect();
    (!some.is_empty()).then_some(some)
}

/// Refuses names between `;` or `|`.
fn separated(text: &str) -> Option<String> {
    let separator = text.chars().find(|c| matches!(c, ';' | '|'))?;
    let names = text.split([';', '|', ',']).map(str::trim);
    let names: Vec<_> = names
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect();
    Some(format!(
        "'{separator}' between names: expected commas, such as {} (a name with '{separator}' needs a file of nodes in CSV or JSON)",
        shown(&names)
    ))
}

fn shown(names: &[String]) -> String {
    match names.get(..SHOWN) {
        Some(some) if names.len() > SHOWN => format!("{},...", some.join(",")),
        _ => names.join(","),
    }
}

/// The signs that other notations put before a weight.
const BEFORE_WEIGHT: [char; 3] = ['*', '/', '@'];

/// Says what to write for an entry that stands for something else than its name: quotes, a weight
/// after `*`, `/` or `@`, a range of names, standard input, a variable or a number with a sign.
pub(super) fn entry(text: &str) -> Option<String> {
    if text == "-" {
        return Some("-: expected --nodes-file - for a list on standard input, or -=1 for a node of this name".into());
    }
    let one = |what: &str, write: &str| {
        Some(format!(
            "\"{text}\" {what}: expected {write}, or {text}=1 for a node of this name"
        ))
    };
    if text.starts_with('$') {
        return one("is a variable that was not replaced", "its value");
    }
    if let Some(number) = text.strip_prefix('+') {
        if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) {
            return one("is a number", "a name");
        }
    }
    if let Some((start, end)) = text.split_once("..") {
        let digits = start.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        if let Some(names) = numbers(&format!("{}-{end}", &start[digits..]), &["-"]) {
            let prefix = &start[..digits];
            let names: Vec<_> = names.iter().map(|name| format!("{prefix}{name}")).collect();
            return one(
                "is not expanded here",
                &format!("each name, such as {}", shown(&names)),
            );
        }
    }
    let quotes = ['"', '\'', '`'];
    let inner = text.trim_matches(quotes);
    if text.starts_with(quotes) || text.ends_with(quotes) {
        return Some(format!(
            "{text} has quotes: expected the name alone, such as {} (a name with quotes needs a file of nodes in CSV or JSON)",
            if inner.is_empty() { "a" } else { inner }
        ));
    }
    let (name, weight) = text.rsplit_once(BEFORE_WEIGHT)?;
    let is_number = !weight.is_empty() && weight.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && !name.is_empty()).then(|| {
        format!(
            "\"{text}\" seems to end in a weight: expected {name}={weight}, or {text}=1 for a node of this name"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_list_says_what_to_write() {
        for (text, write) in [
            ("a;b", "such as a,b "),
            ("a=2|b", "such as a=2,b "),
            ("node-{0..2}", "such as node-0,node-1,node-2"),
            (
                "x,node-{08..10}.eu,y",
                "such as x,node-08.eu,node-09.eu,node-10.eu,y",
            ),
            ("node-{a,b}", "such as node-a,node-b"),
            ("node-[0-2]", "such as node-0,node-1,node-2"),
            ("node-[1:2]", "such as node-1,node-2"),
            ("node-{0..4000000000}", "node-7,..."),
            ("[\"a\", \"b\"]", "such as a,b "),
            ("[{\"name\":\"a\"}]", "such as a,b=2 "),
            ("{\"nodes\":", "JSON"),
            ("[a,b]", "such as a,b"),
            ("(a, b=2)", "such as a, b=2"),
        ] {
            let wrong = meant_otherwise(text).expect(text);
            assert!(wrong.contains(write), "{text}: {wrong}");
        }
    }

    #[test]
    fn names_stay_names() {
        for text in [
            "a,b=2,c",
            "[::1]:6379,[fe80::1]:6379",
            "[0:1]",
            "{tag}",
            "node-{i}",
            "a-b,c.d,e_f",
            "10.0.0.1:6379=2,label=cache-1",
        ] {
            assert_eq!(meant_otherwise(text), None, "{text}");
            assert!(text.split(',').all(|one| entry(one).is_none()), "{text}");
        }
        for (text, write) in [
            ("-", "--nodes-file -"),
            ("a/2", "a=2"),
            ("a@2", "a=2"),
            ("a*2", "a=2"),
            ("$NODES", "its value"),
            ("+1", "a name"),
            ("node-1..3", "node-1,node-2,node-3"),
        ] {
            let wrong = entry(text).expect(text);
            assert!(wrong.contains(write) && wrong.contains("=1"), "{wrong}");
        }
        for text in ["a..b", "user@host", "a/b", "a-", "+a", "eu-1..x"] {
            assert_eq!(entry(text), None, "{text}");
        }
        assert_eq!(entry("*"), None);
        assert_eq!(entry("a*b"), None);
    }
}
