//! `parent.config`: a rule on each line.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Parent, Weight, port, servers};
use crate::Error;
use crate::compat::config::{expected, wrong};
use crate::compat::trafficserver::{QUERY, WEIGHT_SCALE};
use crate::registry::{Config, Params, Scheme, Unknown};

/// What a rule applies to. The first of them names the pool.
const DESTINATIONS: &[&str] = &[
    "dest_domain",
    "dest_host",
    "dest_ip",
    "url_regex",
    "host_regex",
];

/// Labels that do not change the parent of a request that the rule applies to.
const HARMLESS: &[&str] = &[
    "go_direct",
    "ignore_self_detect",
    "internal",
    "max_simple_retries",
    "max_unavailable_server_retries",
    "method",
    "parent_is_proxy",
    "parent_retry",
    "port",
    "prefix",
    "scheme",
    "secondary_mode",
    "simple_server_retry_responses",
    "src_ip",
    "suffix",
    "tag",
    "time",
    "unavailable_server_retry_responses",
];

pub(super) fn read(dialect: &'static Scheme, text: &str) -> Result<Vec<Config>, Error> {
    let mut rules = Vec::new();
    for (line, full) in (1..).zip(text.lines()) {
        let content = full.trim();
        if !content.is_empty() && !content.starts_with('#') {
            rules.push(Rule::read(line, content)?);
        }
    }
    rules.retain(|rule| rule.by_hash);
    if rules.is_empty() {
        let reason = "no rule has round_robin=consistent_hash: expected parent.config or \
                      strategies.yaml of Traffic Server";
        return Err(wrong(1, reason));
    }
    let mut names = BTreeMap::<String, usize>::new();
    for rule in &rules {
        *names.entry(rule.name.clone()).or_default() += 1;
    }
    let config = |rule: Rule| {
        let name = match names.get(&rule.name) {
            Some(1) => rule.name.clone(),
            _ => format!("{} (line {})", rule.name, rule.line),
        };
        let failed = |error| Config::failed(dialect, &name, error);
        rule.config(dialect, &name).unwrap_or_else(failed)
    };
    Ok(rules.into_iter().map(config).collect())
}

/// A line of the file.
#[derive(Debug, Default)]
struct Rule {
    line: usize,
    name: String,
    by_hash: bool,
    query: Option<&'static str>,
    parents: Vec<Parent>,
    unknown: Vec<Unknown>,
    /// The first error that leaves other lines readable.
    error: Option<Error>,
}

impl Rule {
    fn read(line: usize, content: &str) -> Result<Self, Error> {
        let mut rule = Self {
            line,
            ..Self::default()
        };
        for (label, value) in pairs(line, content)? {
            if let Err(error) = rule.take(&label.to_ascii_lowercase(), &value) {
                rule.error.get_or_insert(error);
            }
        }
        Ok(rule)
    }

    fn take(&mut self, label: &str, value: &str) -> Result<(), Error> {
        match label {
            "round_robin" => self.by_hash = value.eq_ignore_ascii_case("consistent_hash"),
            "parent" | "primary_parent" => {
                if !self.parents.is_empty() {
                    return Err(wrong(self.line, "parents are given twice"));
                }
                let parents = value.split([';', ',', ' ', '\t']);
                let parents = parents.filter(|part| !part.is_empty());
                let parents = parents.map(|part| parent(self.line, part));
                self.parents = parents.collect::<Result<_, _>>()?;
            }
            "qstring" => {
                let ignore = value.eq_ignore_ascii_case("ignore");
                self.query = Some(if ignore { "ignore" } else { "consider" });
            }
            "secondary_parent" => {
                let text = "secondary_parent: takes keys of parents that are down; left out here";
                self.unknown.push(Unknown::sentence(self.line, text));
            }
            _ if DESTINATIONS.contains(&label) => {
                if self.name.is_empty() {
                    self.name = value.into();
                }
            }
            _ if HARMLESS.contains(&label) => {}
            _ => self.unknown.push(Unknown::directive(self.line, label)),
        }
        Ok(())
    }

    fn config(self, dialect: &'static Scheme, name: &str) -> Result<Config, Error> {
        if let Some(error) = self.error {
            return Err(error);
        }
        if self.parents.is_empty() {
            return Err(wrong(self.line, "a rule without parents"));
        }
        let (servers, scale) = servers(&self.parents)?;
        let mut params = Params::default();
        if let Some(query) = self.query {
            params = params.with(QUERY.name, query);
        }
        if scale > 1 {
            params = params.with(WEIGHT_SCALE.name, format!("{scale}"));
        }
        Ok(Config::new(dialect, name, servers, params).with_unknown(self.unknown))
    }
}

/// Splits a line into labels and values, which may be in quotes.
fn pairs(line: usize, content: &str) -> Result<Vec<(String, String)>, Error> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for letter in content.chars() {
        match letter {
            '"' => quoted = !quoted,
            ' ' | '\t' if !quoted => words.push(core::mem::take(&mut word)),
            _ => word.push(letter),
        }
    }
    if quoted {
        return Err(wrong(line, "a quote that is not closed"));
    }
    words.push(word);
    let words = words.into_iter().filter(|word| !word.is_empty());
    let pair = |word: String| match word.split_once('=') {
        Some((label, value)) => Ok((String::from(label), String::from(value))),
        None => Err(expected(
            line,
            "rule",
            &word,
            "a label and a value, as in label=value",
        )),
    };
    words.map(pair).collect()
}

/// Reads `host:port`, `host:port|weight`, both also with `&hash_string`, as Traffic Server looks for the
/// marks: each from the left.
fn parent(line: usize, text: &str) -> Result<Parent, Error> {
    let malformed = || {
        expected(
            line,
            "parent",
            text,
            "host:port, host:port|weight or ...&hash_string",
        )
    };
    let (bare, hash_string) = match text.split_once('&') {
        Some((bare, hash_string)) => (bare, Some(hash_string)),
        None => (text, None),
    };
    let (host, rest) = bare.split_once(':').ok_or_else(malformed)?;
    let (digits, weight) = match rest.split_once('|') {
        Some((digits, weight)) => (digits, Weight::parse(line, weight)?),
        None => (rest, Weight::one()),
    };
    if host.is_empty() || hash_string == Some("") {
        return Err(malformed());
    }
    let port = port(line, digits)?;
    Ok(Parent {
        line,
        address: format!("{host}:{port}"),
        hash_string: hash_string.map(String::from),
        weight,
    })
}
