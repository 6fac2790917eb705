//! The clusters and the lists of endpoints in a document, in any of the forms that Envoy and its tools
//! write.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::{Field, fields, name, text_of};
use crate::Error;
use crate::compat::parts::yaml::{Value, Yaml};

/// The field of a list of endpoints that names its cluster.
pub(super) const CLUSTER_NAME: &[&str] = &["cluster_name", "clusterName"];

/// What a document contains.
#[derive(Debug, Default)]
pub(super) struct Found<'y> {
    pub(super) clusters: Vec<&'y Yaml>,
    /// Those of a bootstrap inside a dump, which may come again in another part of it.
    bootstrap: Vec<&'y Yaml>,
    /// Lists of endpoints, with the names of their clusters.
    pub(super) assignments: Vec<&'y Yaml>,
}

impl<'y> Found<'y> {
    /// Collects from a bootstrap, a list, a dump, or one cluster.
    pub(super) fn in_document(document: &'y Yaml) -> Result<Self, Error> {
        let mut found = Self::default();
        found.collect(document)?;
        let names: BTreeSet<_> = found.clusters.iter().copied().map(name).collect();
        let bootstrap = core::mem::take(&mut found.bootstrap).into_iter();
        let mut clusters: Vec<_> = bootstrap
            .filter(|cluster| !names.contains(name(cluster)))
            .collect();
        clusters.append(&mut found.clusters);
        found.clusters = clusters;
        Ok(found)
    }

    fn collect(&mut self, yaml: &'y Yaml) -> Result<(), Error> {
        if let Value::List(list) = &yaml.value {
            return list.iter().try_for_each(|one| self.collect(one));
        }
        let fields = fields(yaml, "the document")?;
        if text_of(yaml, CLUSTER_NAME).is_some() {
            self.assignments.push(yaml);
            return Ok(());
        }
        if fields.iter().any(is_of_cluster) {
            self.clusters.push(yaml);
            return Ok(());
        }
        fields.iter().try_for_each(|field| self.part(field))
    }

    fn part(&mut self, field: &Field<'y>) -> Result<(), Error> {
        match &*field.name {
            "static_resources"
            | "cluster"
            | "endpoint_config"
            | "resource"
            | "configs"
            | "resources"
            | "clusters"
            | "static_clusters"
            | "dynamic_active_clusters"
            | "static_endpoint_configs"
            | "dynamic_endpoint_configs" => match &field.value.value {
                Value::Text(_) => Ok(()),
                Value::List(_) | Value::Map(_) => self.collect(field.value),
            },
            "bootstrap" => {
                let mut inner = Self::default();
                inner.collect(field.value)?;
                self.bootstrap.append(&mut inner.clusters);
                self.assignments.append(&mut inner.assignments);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Says why no cluster can be used.
    pub(super) fn reason(&self) -> &'static str {
        match (self.clusters.is_empty(), self.assignments.is_empty()) {
            (true, true) => {
                "no cluster of Envoy in it: expected a bootstrap, clusters, or a /config_dump"
            }
            (true, false) => {
                "endpoints without a cluster: expected a /config_dump?include_eds with both"
            }
            (false, _) => {
                "no cluster has an lb_policy or load_balancing_policy of RING_HASH or MAGLEV"
            }
        }
    }
}

/// Returns whether only a cluster has such a field.
fn is_of_cluster(field: &Field<'_>) -> bool {
    [
        "lb_policy",
        "load_balancing_policy",
        "load_assignment",
        "eds_cluster_config",
        "lb_type",
        "connect_timeout",
        "connect_timeout_ms",
        "hosts",
    ]
    .contains(&&*field.name)
}
