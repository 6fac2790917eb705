//! The stages of a key's way, and the finding on each.

use core::fmt;

use serde::{Deserialize, Serialize};

/// A stage of a key's way to its node.
///
/// ```
/// assert_eq!(hashroute_harness::skew::KeyStage::Tag.to_string(), "tag");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum KeyStage {
    /// The keys as they come: whether few of them carry much.
    Keys,
    /// The hashed part of a key: whether hash tags leave few distinct parts.
    Tag,
    /// The hash function: whether its values repeat, step or bunch.
    Hash,
    /// The strategy: whether its shares follow the weights.
    Routing,
    /// The nodes: whether a node is hot because of its weight.
    Nodes,
}

impl fmt::Display for KeyStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Keys => "keys",
            Self::Tag => "tag",
            Self::Hash => "hash",
            Self::Routing => "routing",
            Self::Nodes => "nodes",
        })
    }
}

/// The judgement on a stage.
///
/// ```
/// use hashroute_harness::skew::Status;
/// assert_eq!(serde_json::to_string(&Status::AtFault)?, "\"at_fault\"");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Status {
    /// Nothing is wrong.
    Ok,
    /// It has a weakness that does no harm to these keys on these nodes.
    Weak,
    /// It causes at least half of the unevenness, or the largest part of it.
    AtFault,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ok => "ok",
            Self::Weak => "weak",
            Self::AtFault => "at fault",
        })
    }
}

/// The finding on a stage, tested apart from the others.
///
/// ```
/// use hashroute_harness::{Keys, skew::{Diagnosis, KeyStage, Status}};
/// use hashroute::registry::{Params, Setup};
/// use hashroute::{Node, strategy};
///
/// let nodes = [Node::new("a"), Node::new("b"), Node::new("c").with_weight(20)];
/// let setup = Setup::new(strategy::find("rendezvous")?, nodes, Params::default());
/// let skew = Diagnosis::new(&setup).analyse(&Keys::template("user:{i}", 0..10_000)?)?;
/// let at_fault = skew.stages.iter().filter(|finding| finding.status == Status::AtFault);
/// assert!(at_fault.map(|finding| finding.stage).eq([KeyStage::Nodes]));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Finding {
    /// The stage.
    pub stage: KeyStage,
    /// The judgement.
    pub status: Status,
    /// The coefficient of variation that it adds to chance.
    pub cv: f64,
    /// The probability that chance alone gives as much; `None` if chance plays no part.
    pub p_value: Option<f64>,
    /// What was found, for people.
    pub text: String,
}
