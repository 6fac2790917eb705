//! Servers: members as a system's configuration has them.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::{Change, Node};

/// A server as a system's configuration has it.
///
/// ```
/// use hashroute::Server;
/// let server = Server::new("10.0.0.1:6379").with_weight(2).with_label("cache-a");
/// assert_eq!((server.name(), server.label(), server.weight()), ("10.0.0.1:6379", "cache-a", 2));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    node: Node,
    label: Option<Box<str>>,
    down: bool,
}

impl Server {
    /// A server of weight 1 that is up and whose name is its label.
    pub fn new(name: impl Into<Box<str>>) -> Self {
        Node::new(name).into()
    }

    /// The same server with this weight; 0 is down.
    #[must_use]
    pub fn with_weight(self, weight: u32) -> Self {
        Self {
            down: self.down || weight == 0,
            node: self.node.with_weight(weight),
            ..self
        }
    }

    /// The same server with what the system hashes in place of its name.
    #[must_use]
    pub fn with_label(self, label: impl Into<Box<str>>) -> Self {
        Self {
            label: Some(label.into()),
            ..self
        }
    }

    /// The same server, down: known to the system with its weight, and passed over.
    #[must_use]
    pub fn down(self) -> Self {
        Self { down: true, ..self }
    }

    /// The name: by default the address, as the system's configuration has it.
    pub fn name(&self) -> &str {
        self.node.name()
    }

    /// What the system hashes for it: its label, or its name.
    pub fn label(&self) -> &str {
        self.own_label().unwrap_or(self.name())
    }

    /// The label, if it has one.
    pub fn own_label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    /// The weight in the configuration, which a server that is down keeps.
    pub fn weight(&self) -> u32 {
        self.node.weight()
    }

    /// Whether it is down.
    pub fn is_down(&self) -> bool {
        self.down
    }

    /// Makes one change in a list of servers, which a router has taken already. One that is down keeps
    /// its weight in the configuration.
    pub(crate) fn change(servers: &mut Vec<Self>, change: &Change) {
        match change {
            Change::Add(node) => servers.push(Self::from(node.clone())),
            Change::Remove(name) => servers.retain(|server| server.name() != &**name),
            Change::Reweight(name, weight) => {
                for server in servers.iter_mut().filter(|server| server.name() == &**name) {
                    server.reweight(*weight);
                }
            }
        }
    }

    /// Gives it this weight; 0 takes it down and keeps the weight of the configuration.
    pub(crate) fn reweight(&mut self, weight: u32) {
        self.down = weight == 0;
        if weight > 0 {
            self.node = self.node.clone().with_weight(weight);
        }
    }

    /// As a member of a router: one that is down weighs nothing.
    pub fn to_node(&self) -> Node {
        let weight = if self.down { 0 } else { self.weight() };
        self.node.clone().with_weight(weight)
    }
}

/// Its name is what the system's configuration calls the server; weight 0 is down.
///
/// ```
/// use hashroute::{Node, compat::Server};
/// assert!(Server::from(Node::new("a").with_weight(0)).is_down());
/// ```
impl From<Node> for Server {
    fn from(node: Node) -> Self {
        Self {
            down: node.weight() == 0,
            node,
            label: None,
        }
    }
}

impl From<&str> for Server {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl From<alloc::string::String> for Server {
    fn from(name: alloc::string::String) -> Self {
        Self::new(name)
    }
}
