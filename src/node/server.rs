//! Servers: members in the form of a system's configuration.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::{Change, Node};

/// A member of a dialect, in the form of the system's configuration: a name, a weight, an optional
/// label, and whether it is down.
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
    /// Makes a server of weight 1 that is up and has its name as its label.
    pub fn new(name: impl Into<Box<str>>) -> Self {
        Node::new(name).into()
    }

    /// Sets the weight; 0 means down.
    #[must_use]
    pub fn with_weight(self, weight: u32) -> Self {
        Self {
            down: self.down || weight == 0,
            node: self.node.with_weight(weight),
            ..self
        }
    }

    /// Sets the label: the text that the system hashes in place of the name.
    #[must_use]
    pub fn with_label(self, label: impl Into<Box<str>>) -> Self {
        Self {
            label: Some(label.into()),
            ..self
        }
    }

    /// Marks the server as down: the system knows it with its weight, but skips it.
    #[must_use]
    pub fn down(self) -> Self {
        Self { down: true, ..self }
    }

    /// Returns the name: by default the address in the system's configuration.
    pub fn name(&self) -> &str {
        self.node.name()
    }

    /// Returns the text that the system hashes for the server: its label, or its name.
    pub fn label(&self) -> &str {
        self.own_label().unwrap_or(self.name())
    }

    /// Returns the label, if the server has one.
    pub fn own_label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    /// Returns the weight in the configuration. A server that is down keeps it.
    pub fn weight(&self) -> u32 {
        self.node.weight()
    }

    /// Returns whether the server is down.
    pub fn is_down(&self) -> bool {
        self.down
    }

    /// Applies a change to a list of servers, after a router has accepted it. A server that goes
    /// down keeps its weight in the configuration.
    ///
    /// ```
    /// use hashroute::{Change, Server};
    /// let mut servers = vec![Server::new("a").with_weight(3)];
    /// Server::change(&mut servers, &Change::reweight("a", 0));
    /// assert!(servers[0].is_down() && servers[0].weight() == 3);
    /// ```
    pub fn change(servers: &mut Vec<Self>, change: &Change) {
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

    /// Sets the weight of a server; 0 marks it as down and keeps the weight of the configuration.
    pub(crate) fn reweight(&mut self, weight: u32) {
        self.down = weight == 0;
        if weight > 0 {
            self.node = self.node.clone().with_weight(weight);
        }
    }

    /// Returns the server as a member of a router. A server that is down has weight 0.
    pub fn to_node(&self) -> Node {
        let weight = if self.down { 0 } else { self.weight() };
        self.node.clone().with_weight(weight)
    }
}

/// Makes a server from a node. The name of the node is the name in the system's configuration;
/// weight 0 means down.
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
