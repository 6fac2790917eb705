//! The lines that Apache Kvrocks takes in `CLUSTERX SETNODES`: its servers tell each other nothing, so
//! the operator writes the table.

use alloc::string::String;
use alloc::string::ToString;
use alloc::vec::Vec;

use super::nodes::read_flags;
use super::wrong;
use crate::Error;
use crate::redis::node::number;
use crate::redis::{Address, ClusterNode, Role, Table};

impl Table {
    /// Writes the lines of `CLUSTERX SETNODES`, with nodes sorted by id. They have no epochs and no
    /// marks. O(slots + n log n).
    ///
    /// Source: Apache Kvrocks documentation, "Cluster".
    ///
    /// ```
    /// use hashroute::redis::{SlotRule, Table};
    ///
    /// let lines = "a 10.0.0.1 6666 master - 0-99\nb 10.0.0.2 6666 slave a\n";
    /// let table = Table::from_nodes_text(lines, SlotRule::REDIS)?;
    /// assert_eq!(table.setnodes_text(), lines);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn setnodes_text(&self) -> String {
        let lines = self
            .nodes()
            .iter()
            .zip(self.range_texts())
            .map(|(node, ranges)| {
                let (host, port) = (node.address().host(), node.address().port());
                let role = if node.role() == Role::Replica {
                    "slave"
                } else {
                    "master"
                };
                let primary = node.primary().unwrap_or("-");
                alloc::format!("{} {host} {port} {role} {primary}{ranges}\n", node.id())
            });
        lines.collect()
    }
}

/// Returns the number of words before the slots of a line.
pub(super) fn words_before_slots(line: &str) -> usize {
    if is_setnodes(line) { 5 } else { 8 }
}

/// Returns whether a line has the form of `CLUSTERX SETNODES` of Apache Kvrocks: `id ip port role
/// primary slot..`.
pub(super) fn is_setnodes(line: &str) -> bool {
    let mut words = line.split_whitespace().skip(2);
    let port = words.next().and_then(number::<u16>);
    port.is_some() && matches!(words.next(), Some("master" | "slave"))
}

/// Reads a line of `CLUSTERX SETNODES`.
pub(super) fn setnodes(line: &str, at: usize) -> Result<ClusterNode, Error> {
    let words: Vec<&str> = line.split_whitespace().take(5).collect();
    let [id, host, port, role, primary] = words[..] else {
        return Err(wrong(at, "expected id ip port role primary slots"));
    };
    let node = ClusterNode::new(id).map_err(|error| wrong(at, error.to_string()))?;
    let port = number(port).unwrap_or_default();
    read_flags(
        node.with_address(Address::new(host, port)),
        role,
        primary,
        at,
    )
}
