//! The form of a node in files and messages: flat, without default values.

use alloc::boxed::Box;

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Node {
    name: Box<str>,
    #[serde(default = "one")]
    weight: u32,
    #[serde(default)]
    zone: Option<Box<str>>,
    #[serde(default)]
    rack: Option<Box<str>>,
}

fn one() -> u32 {
    1
}

impl From<Node> for super::Node {
    fn from(node: Node) -> Self {
        Self::new(node.name)
            .with_weight(node.weight)
            .located(node.zone, node.rack)
    }
}

impl From<super::Node> for Node {
    fn from(node: super::Node) -> Self {
        let (zone, rack) = node.location.map_or((None, None), |location| *location);
        Self {
            name: node.name,
            weight: node.weight,
            zone,
            rack,
        }
    }
}
