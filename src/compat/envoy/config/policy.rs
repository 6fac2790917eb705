//! `load_balancing_policy`: the newer form of `lb_policy`, with the settings of the policy in it.

use alloc::format;
use alloc::string::String;

use super::{
    Cluster, Field, HASH_FUNCTION, LbPolicy, MAX_RING_SIZE, MIN_RING_SIZE, POLICY, TABLE_SIZE,
    choice, fields, number,
};
use crate::Error;
use crate::compat::config::{expected, wrong};
use crate::compat::parts::yaml::Yaml;

/// Policies of Envoy that do not route by the hash of a key.
const OTHERS: &[&str] = &[
    "client_side_weighted_round_robin",
    "cluster_provided",
    "least_request",
    "random",
    "round_robin",
];

/// Policies of Envoy that contain another policy.
const AROUND: &[&str] = &["override_host", "subset", "wrr_locality"];

/// Reads the first policy that Envoy supports. A policy that Envoy does not know is skipped, as there.
pub(super) fn read(cluster: &mut Cluster, config: &Field<'_>) -> Result<(), Error> {
    (cluster.has_new, cluster.policy) = (true, None);
    let mut skipped = None;
    for field in fields(config.value, &config.name)? {
        if field.name != "policies" {
            cluster.report(&field);
            continue;
        }
        for policy in field.value.list("policies")? {
            let typed = Typed::read(policy)?;
            match &*typed.name {
                "ring_hash" | "maglev" => {
                    if let Some((line, name)) = &skipped {
                        let text = format!("policy {name}: taken for one that Envoy does not have");
                        cluster.tell(*line, &text);
                    }
                    return typed.apply(cluster);
                }
                name if OTHERS.contains(&name) => return Ok(()),
                name if AROUND.contains(&name) => {
                    return Err(wrong(typed.line, format!("policy {name} is not supported")));
                }
                _ => {
                    skipped.get_or_insert((typed.line, typed.name));
                }
            }
        }
    }
    match skipped {
        Some((line, name)) => Err(expected(line, "policy", &name, "ring_hash or maglev")),
        None => Err(wrong(config.line, "load_balancing_policy without a policy")),
    }
}

/// A policy with its settings.
struct Typed<'y> {
    /// The name, such as `ring_hash`.
    name: String,
    line: usize,
    settings: Option<&'y Yaml>,
}

impl<'y> Typed<'y> {
    fn read(policy: &'y Yaml) -> Result<Self, Error> {
        let (mut name, mut line, mut settings) = (String::new(), policy.line, None);
        for field in fields(policy, "policies")? {
            if field.name != "typed_extension_config" {
                continue;
            }
            for field in fields(field.value, "typed_extension_config")? {
                match &*field.name {
                    // The type counts more than the name.
                    "name" if settings.is_none() => {
                        name = last(field.value.text("name")?, 0).into();
                        line = field.line;
                    }
                    "typed_config" => {
                        settings = Some(field.value);
                        if let Some(of) = type_of(field.value)? {
                            (name, line) = (of, field.line);
                        }
                    }
                    _ => {}
                }
            }
        }
        if name.is_empty() {
            return Err(wrong(line, "a policy without a typed_extension_config"));
        }
        Ok(Self {
            name,
            line,
            settings,
        })
    }

    fn apply(&self, cluster: &mut Cluster) -> Result<(), Error> {
        let (policy, text) = if self.name == "maglev" {
            (LbPolicy::Maglev, "MAGLEV")
        } else {
            (LbPolicy::RingHash, "RING_HASH")
        };
        cluster.policy = Some(policy);
        cluster.set(POLICY.name, text);
        let Some(settings) = self.settings else {
            return Ok(());
        };
        for field in fields(settings, "typed_config")? {
            match (&*field.name, policy) {
                ("@type", _) => {}
                ("minimum_ring_size", LbPolicy::RingHash) => {
                    cluster.size(MIN_RING_SIZE.name, &field)?;
                }
                ("maximum_ring_size", LbPolicy::RingHash) => {
                    cluster.size(MAX_RING_SIZE.name, &field)?;
                }
                ("table_size", LbPolicy::Maglev) => cluster.size(TABLE_SIZE.name, &field)?,
                ("hash_function", LbPolicy::RingHash) => {
                    let function =
                        match &*choice(&field, &["DEFAULT_HASH", "XX_HASH", "MURMUR_HASH_2"])? {
                            "DEFAULT_HASH" | "XX_HASH" => "XX_HASH",
                            "MURMUR_HASH_2" => "MURMUR_HASH_2",
                            other => {
                                let known = "DEFAULT_HASH, XX_HASH or MURMUR_HASH_2";
                                return Err(expected(field.line, "hash_function", other, known));
                            }
                        };
                    cluster.set(HASH_FUNCTION.name, function);
                }
                ("consistent_hashing_lb_config", _) => cluster.hashing(&field)?,
                // Older names of fields of `consistent_hashing_lb_config`.
                ("use_hostname_for_hashing" | "hash_balance_factor", LbPolicy::RingHash) => {
                    cluster.hashing_field(&field)?;
                }
                ("locality_weighted_lb_config", _) => cluster.by_locality = Some(field.line),
                _ => cluster.report(&field),
            }
        }
        Ok(())
    }
}

impl Cluster {
    fn size(&mut self, param: &str, field: &Field<'_>) -> Result<(), Error> {
        let size: u64 = number(field)?;
        self.set(param, format!("{size}"));
        Ok(())
    }
}

/// Returns the name of a policy from the type of its settings, such as
/// `type.googleapis.com/envoy.extensions.load_balancing_policies.ring_hash.v3.RingHash`.
fn type_of(settings: &Yaml) -> Result<Option<String>, Error> {
    for field in fields(settings, "typed_config")? {
        if field.name == "@type" {
            return Ok(Some(last(field.value.text("@type")?, 2).into()));
        }
    }
    Ok(None)
}

/// Returns the part of a dotted name that is `skip` parts before its end.
fn last(name: &str, skip: usize) -> &str {
    name.rsplit('.').nth(skip).unwrap_or(name)
}
