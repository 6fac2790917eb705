//! Clusters of Envoy in YAML and JSON.

use arbitrary::Unstructured;

use super::check;
use crate::Outcome;
use crate::draw::{Draw, put};

pub(crate) fn envoy(u: &mut Unstructured<'_>) -> Outcome {
    let json = u.chance(80);
    let mut text = String::new();
    let clusters = u.range(1, 2);
    if json {
        text.push_str(u.pick(&[
            "[",
            "{\"clusters\": [",
            "{\"static_resources\": {\"clusters\": [",
        ]));
    } else {
        text.push_str(u.pick(&["clusters:\n", "admin: {}\nclusters:\n"]));
    }
    let ends = text.matches('{').count();
    for cluster in 0..clusters {
        if json {
            put!(
                text,
                "{}{{\"name\": \"c{cluster}\", ",
                if cluster > 0 { ",\n" } else { "" }
            );
        } else {
            put!(text, "- name: c{cluster}\n");
        }
        let ring = u.chance(128);
        let line = |text: &mut String, key: &str, value: &str| {
            if json {
                // A flow map of YAML without quotes is no JSON.
                let value = quoted(value);
                put!(text, "{}: {value}, ", quoted(key));
            } else {
                put!(text, "  {key}: {value}\n");
            }
        };
        if u.chance(128) {
            line(
                &mut text,
                "type",
                u.pick(&["STATIC", "STRICT_DNS", "static"]),
            );
        }
        line(
            &mut text,
            "lb_policy",
            if ring {
                u.pick(&["RING_HASH", "ring_hash", "2"])
            } else {
                "MAGLEV"
            },
        );
        if ring {
            let hash = u.pick(&["XX_HASH", "MURMUR_HASH_2"]);
            let (least, most) = (u.range(1, 64), u.range(64, 256));
            line(
                &mut text,
                "ring_hash_lb_config",
                &format!(
                    "{{minimum_ring_size: {least}, maximum_ring_size: {most}, hash_function: {hash}}}"
                ),
            );
        } else {
            let size = u.pick(&["11", "13", "251", "509"]);
            line(
                &mut text,
                "maglev_lb_config",
                &format!("{{table_size: {size}}}"),
            );
        }
        match u.below(6) {
            0 => line(
                &mut text,
                "common_lb_config",
                "{consistent_hashing_lb_config: {hash_balance_factor: 150}}",
            ),
            1 => line(
                &mut text,
                "common_lb_config",
                "{consistent_hashing_lb_config: {use_hostname_for_hashing: true}}",
            ),
            2 => line(&mut text, "frobnicate", "true"),
            _ => {}
        }
        let endpoints = envoy_endpoints(u);
        if json {
            put!(text, "\"load_assignment\": {}}}", quoted(&endpoints));
        } else {
            put!(text, "  load_assignment: {endpoints}\n");
        }
    }
    if json {
        text.push(']');
        text.push_str(&"}".repeat(ends));
    }
    check(u, "envoy", text)
}

fn envoy_endpoints(u: &mut Unstructured<'_>) -> String {
    let mut endpoints = String::from("{cluster_name: c, endpoints: [{lb_endpoints: [");
    for endpoint in 0..u.range(1, 5) {
        let comma = if endpoint > 0 { ", " } else { "" };
        put!(
            endpoints,
            "{comma}{{endpoint: {{address: {{socket_address: {{address: 10.0.{}.{}, port_value: {}}}}}}}",
            u.below(2),
            u.below(200),
            80 + endpoint
        );
        if u.chance(80) {
            put!(endpoints, ", load_balancing_weight: {}", u.range(1, 3));
        }
        if u.chance(60) {
            put!(
                endpoints,
                ", health_status: {}",
                u.pick(&["HEALTHY", "UNHEALTHY", "DEGRADED", "DRAINING"])
            );
        }
        if u.chance(60) {
            put!(
                endpoints,
                ", metadata: {{filter_metadata: {{envoy.lb: {{hash_key: k{}}}}}}}",
                u.below(20)
            );
        }
        endpoints.push('}');
    }
    endpoints.push_str("]}]}");
    endpoints
}

/// Puts every word of a flow map of YAML in quotes, and leaves its numbers.
fn quoted(flow: &str) -> String {
    let (mut text, mut word) = (String::new(), String::new());
    let end = |text: &mut String, word: &mut String| {
        if word.is_empty() || word.bytes().all(|byte| byte.is_ascii_digit()) || word == "true" {
            text.push_str(word);
        } else {
            put!(text, "\"{word}\"");
        }
        word.clear();
    };
    let mut letters = flow.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            ':' if letters.peek() != Some(&' ') => word.push(letter),
            '{' | '}' | '[' | ']' | ',' | ':' | ' ' => {
                end(&mut text, &mut word);
                text.push(letter);
            }
            _ => word.push(letter),
        }
    }
    end(&mut text, &mut word);
    text
}
