//! One server: its table, and whether it runs.

use std::borrow::ToOwned;
use std::string::String;

use hashroute::Error;
use hashroute::redis::{Claim, CoverageRule, Flags, Health, Heard, Role, Table};

/// A server with its own table.
#[derive(Clone, Debug)]
pub(super) struct Server {
    id: String,
    /// The table that this server believes.
    view: Table,
    pub(super) up: bool,
    /// Whether this server believes that a node failed.
    sees_failed: bool,
}

impl Server {
    /// Builds a server that knows `table`, in which it is the node `id`.
    pub(super) fn new(table: &Table, id: &str) -> Result<Self, Error> {
        let mut server = Self {
            id: id.to_owned(),
            view: table.clone(),
            up: true,
            sees_failed: false,
        };
        if let Some(node) = table.node(id).cloned() {
            let flags = Flags::default().with_myself(true);
            server.view.replace(node.with_flags(flags))?;
        }
        Ok(server)
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn view(&self) -> &Table {
        &self.view
    }

    /// Returns the table, to change epochs, marks and owners. Use [`flag`](Self::flag) to change
    /// flags, since it also updates `sees_failed`.
    pub(super) fn view_mut(&mut self) -> &mut Table {
        &mut self.view
    }

    /// Returns whether the server runs and is a primary in its own table.
    pub(super) fn is_primary(&self) -> bool {
        let node = self.view.node(&self.id);
        self.up && node.is_some_and(|node| node.role() == Role::Primary)
    }

    /// Returns the primary that the server copies, by its own table.
    pub(super) fn primary(&self) -> Option<&str> {
        self.view.node(&self.id)?.primary()
    }

    /// Returns whether the server owns a slot in its own table.
    pub(super) fn owns(&self, slot: u32) -> bool {
        let owner = self.view.owner(slot);
        owner.is_some_and(|owner| owner.id() == self.id)
    }

    pub(super) fn claim(&self) -> Result<Claim, Error> {
        self.view.claim_of(&self.id)
    }

    pub(super) fn hear(&mut self, claim: &Claim) -> Result<Heard, Error> {
        self.view.hear(claim)
    }

    /// Records that a node failed, or that it works.
    pub(super) fn flag(&mut self, id: &str, failed: bool) -> Result<(), Error> {
        if let Some(node) = self.view.node(id).cloned() {
            let flags = node.flags().with_failed(failed);
            self.view.replace(node.with_flags(flags))?;
        }
        let mut nodes = self.view.nodes().iter();
        self.sees_failed = nodes.any(|node| node.flags().failed);
        Ok(())
    }

    /// Returns whether the cluster is up, as this server sees it.
    pub(super) fn health(&self) -> Health {
        // Every slot always has an owner, so only a failed node can bring the cluster down.
        // A look at every slot for every command would take most of the time of a run.
        if self.sees_failed {
            self.view.health(CoverageRule::default())
        } else {
            Health::Ok
        }
    }
}
