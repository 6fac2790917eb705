//! `hash_policy` of routes: what Envoy hashes of the requests to a cluster.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Field, fields, text_of};
use crate::compat::parts::yaml::{Value, Yaml};
use crate::registry::KeySource;

/// Returns what is hashed, by the name of the cluster. Routes that differ are joined with "or".
pub(super) fn sources(document: &Yaml) -> BTreeMap<String, KeySource> {
    let mut routes = Vec::new();
    collect(document, &mut routes);
    let mut sources: BTreeMap<String, KeySource> = BTreeMap::new();
    for (cluster, source) in routes {
        match sources.get_mut(&*cluster) {
            None => {
                sources.insert(cluster, source);
            }
            Some(first) if first.text.split(" or ").any(|text| *text == *source.text) => {}
            Some(first) => {
                first.text = format!("{} or {}", first.text, source.text).into();
                first.key = format!("{}, or {}", first.key, source.key).into();
            }
        }
    }
    sources
}

/// Finds the routes at any depth: maps with a cluster and a `hash_policy`. The parser of YAML bounds
/// the depth.
fn collect(yaml: &Yaml, routes: &mut Vec<(String, KeySource)>) {
    match &yaml.value {
        Value::Text(_) => {}
        Value::List(list) => list.iter().for_each(|one| collect(one, routes)),
        Value::Map(entries) => {
            if let Some(source) = source(yaml) {
                for cluster in clusters(yaml) {
                    routes.push((cluster, source.clone()));
                }
            }
            for entry in entries {
                collect(&entry.value, routes);
            }
        }
    }
}

/// Returns the clusters of a route.
fn clusters(route: &Yaml) -> Vec<String> {
    let one = text_of(route, &["cluster"]).map(String::from);
    let fields = fields(route, "").unwrap_or_default();
    let weighted = fields
        .iter()
        .find(|field| field.name == "weighted_clusters");
    let weighted = weighted.and_then(|field| inner(field.value, "clusters"));
    let weighted = weighted.and_then(|clusters| clusters.list("").ok());
    let names = weighted.unwrap_or_default().iter();
    let names = names.filter_map(|cluster| text_of(cluster, &["name"]).map(String::from));
    one.into_iter().chain(names).collect()
}

/// Returns the value of a field of a map.
fn inner<'y>(map: &'y Yaml, name: &str) -> Option<&'y Yaml> {
    let fields = fields(map, "").ok()?;
    let field = fields.into_iter().find(|field| field.name == name)?;
    Some(field.value)
}

/// Returns what the policies of a route hash. Envoy combines the hashes of several.
fn source(route: &Yaml) -> Option<KeySource> {
    let fields = fields(route, "").ok()?;
    let policies = fields.iter().find(|field| field.name == "hash_policy")?;
    let policies_of = policies.value.list("").ok()?.iter();
    let parts: Vec<_> = policies_of.filter_map(policy).collect();
    let (texts, keys): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
    let key = match keys.as_slice() {
        [] => return None,
        [key] => key.clone(),
        keys => format!(
            "a combination of {}, which cannot be given here",
            keys.join(" and ")
        ),
    };
    Some(KeySource::new(policies.line, texts.join(", "), key))
}

/// Describes a policy: in the words of Envoy, and the key to give.
fn policy(policy: &Yaml) -> Option<(String, String)> {
    let fields = fields(policy, "").ok()?;
    let unknown = |field: &Field<'_>| {
        let key = format!("what {} gives, which is unknown here", field.name);
        (String::from(&*field.name), key)
    };
    let kinds = || fields.iter().filter(|field| field.name != "terminal");
    // Left out, an unknown kind would make a combination look like the rest of it.
    let known = kinds()
        .find_map(of_kind)
        .or_else(|| kinds().next().map(unknown))?;
    let is_terminal =
        |field: &Field<'_>| field.name == "terminal" && field.value.text("") == Ok("true");
    let (mut text, key) = known;
    if fields.iter().any(is_terminal) {
        text += " (terminal)";
    }
    Some((text, key))
}

fn of_kind(field: &Field<'_>) -> Option<(String, String)> {
    let name = |names: &[&str]| text_of(field.value, names);
    Some(match &*field.name {
        "header" => {
            let name = name(&["header_name", "headerName"])?.to_ascii_lowercase();
            let rewrites = inner(field.value, "regex_rewrite").is_some();
            let rewritten = if rewrites { ", rewritten" } else { "" };
            let key = match &*name {
                ":path" => format!("the path with the query, as sent{rewritten}"),
                _ => format!("the value of the header {name}{rewritten}"),
            };
            (format!("header {name}{rewritten}"), key)
        }
        "cookie" => {
            let name = name(&["name"])?;
            (
                format!("cookie {name}"),
                format!("the value of the cookie {name}"),
            )
        }
        "query_parameter" => {
            let name = name(&["name"])?;
            let key = format!("the value of the parameter {name} of the query, as sent");
            (format!("query_parameter {name}"), key)
        }
        "filter_state" => {
            let key = name(&["key"])?;
            (
                format!("filter_state {key}"),
                format!("the value of the filter state {key}"),
            )
        }
        // The hash of an address is one of its text without the port.
        "connection_properties" | "source_ip" => (
            "source_ip".into(),
            "the address of the client, without the port".into(),
        ),
        _ => return None,
    })
}
