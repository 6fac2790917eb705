//! Everything that determines routes: a row, its members and its parameters.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use super::{Agree, Params, Scheme};
use crate::{Change, Error, Node, NodeId, Refusal, Router, Server};

/// A row with its members, its parameters and, if it has one, its table. This is everything that is
/// needed to build a router, and everything that peers must share.
///
/// ```
/// use hashroute::registry::{Params, Setup};
/// use hashroute::{Change, Router, strategy};
///
/// let mut setup = Setup::new(strategy::find("ring")?, ["a", "b"], Params::default());
/// setup.apply(&Change::add("c"))?;
/// assert_eq!(setup.build()?.nodes().len(), 3);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Setup {
    scheme: &'static Scheme,
    servers: Vec<Server>,
    params: Params,
    /// The cells of each member, in the order of `servers`, if the state is a table.
    table: Option<Vec<Vec<RangeInclusive<u32>>>>,
}

impl Setup {
    /// Makes a setup from its parts. If routes depend on the order of the members, it is that of
    /// the system's configuration. Nothing is built or checked yet.
    pub fn new(
        scheme: &'static Scheme,
        members: impl IntoIterator<Item = impl Into<Server>>,
        params: Params,
    ) -> Self {
        Self {
            scheme,
            servers: members.into_iter().map(Into::into).collect(),
            params,
            table: None,
        }
    }

    /// Reads the present state of a router that this row built with these parameters: the members
    /// in their canonical order (by name, or by number if routes depend on the numbers), and the
    /// table if the state is a table.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a dialect, because a router does not contain everything about its
    /// servers; and for a strategy that depends on the history of changes.
    pub fn of_router(
        scheme: &'static Scheme,
        router: &dyn Router,
        params: Params,
    ) -> Result<Self, Error> {
        let mut members: Vec<(NodeId, &Node)> = router.nodes().iter().collect();
        match scheme.agree() {
            Agree::Set | Agree::Load | Agree::Table => {}
            Agree::Count => members.sort_by_key(|(id, _)| *id),
            Agree::History => return Err(NO_HISTORY),
            Agree::List => return Err(NOT_OF_A_ROUTER),
        }
        let table = match scheme.table {
            None => None,
            Some(form) => {
                let ids: Vec<_> = members.iter().map(|(id, _)| *id).collect();
                Some(by_member(&ids, &(form.save)(router, &params)?))
            }
        };
        let nodes = members.into_iter().map(|(_, node)| node.clone());
        Ok(Self {
            table,
            ..Self::new(scheme, nodes, params)
        })
    }

    /// Sets the cells of each member, in the order of the members.
    #[must_use]
    pub fn with_table(self, cells: Vec<Vec<RangeInclusive<u32>>>) -> Self {
        Self {
            table: Some(cells),
            ..self
        }
    }

    /// Replaces the parameters and the key hasher. The table stays, so the number of its cells must
    /// not change.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a parameter that the row does not take, and for a number of cells
    /// that differs from the table.
    pub fn with_params(self, params: Params) -> Result<Self, Error> {
        self.scheme.check(&params)?;
        if let (Some(form), Some(_)) = (self.scheme.table, &self.table) {
            let cells = |params: &Params| {
                let value = self.scheme.values(params)?.remove(form.cells);
                Ok::<_, Error>(value.unwrap_or_default())
            };
            let given = cells(&params)?;
            if given != cells(&self.params)? {
                let expected = "as many as before, since the table has an owner for each of them";
                return Err(Error::parameter(form.cells, given, expected));
            }
        }
        Ok(Self { params, ..self })
    }

    /// Replaces the members and drops the table, which the row then builds anew.
    #[must_use]
    pub fn with_members(&self, members: impl IntoIterator<Item = impl Into<Server>>) -> Self {
        Self::new(self.scheme, members, self.params.clone())
    }

    /// Returns the row.
    pub fn scheme(&self) -> &'static Scheme {
        self.scheme
    }

    /// Returns the members as servers, in their order.
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// Returns the members as nodes, in their order. Servers that are down have weight 0.
    pub fn nodes(&self) -> Vec<Node> {
        self.servers.iter().map(Server::to_node).collect()
    }

    /// Returns the parameters and the key hasher.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Returns the cells of each member, if the state is a table.
    pub fn table(&self) -> Option<&[Vec<RangeInclusive<u32>>]> {
        self.table.as_deref()
    }

    /// Returns whether routes depend only on the members: there is no table and no history.
    pub fn is_free(&self) -> bool {
        self.table.is_none() && !matches!(self.scheme.agree(), Agree::History)
    }

    /// Returns whether both hash keys alike and have the same table, so that they send every key to
    /// the same node. `false` proves nothing.
    pub(super) fn is_alike(&self, other: &Self) -> Result<bool, Error> {
        let (ours, theirs) = (self.build()?, other.build()?);
        let names = |router: &dyn Router| -> Option<Vec<_>> {
            let ranges = router.ranges()?;
            let name = |id: NodeId| router.nodes().name(id).map(alloc::string::String::from);
            let all = ranges.iter();
            Some(
                all.map(|range| (range.first, range.owner.and_then(name)))
                    .collect(),
            )
        };
        let table = names(&*ours);
        Ok(ours.hash_id() == theirs.hash_id() && table.is_some() && table == names(&*theirs))
    }

    /// Builds the router.
    ///
    /// # Errors
    /// The errors of [`Scheme::build`].
    pub fn build(&self) -> Result<Box<dyn Router>, Error> {
        let (Some(form), Some(table)) = (self.scheme.table, &self.table) else {
            return self
                .scheme
                .build(self.servers.iter().cloned(), &self.params);
        };
        self.scheme.check(&self.params)?;
        let owned = self.servers.iter().zip(table);
        let cells = owned.flat_map(|(server, cells)| {
            let cells = cells.iter().cloned();
            cells.map(|cells| (cells, server.name()))
        });
        let cells: Vec<_> = cells.collect();
        (form.restore)(self.scheme.nodes(&self.servers)?, &self.params, &cells)
    }

    /// Applies one change, completely or not at all, and returns the router after it. Costs a build
    /// and a change.
    ///
    /// # Errors
    /// The errors of [`Router::apply`]. Nothing changes then.
    pub fn apply(&mut self, change: &Change) -> Result<Box<dyn Router>, Error> {
        let mut router = self.build()?;
        router.apply(change)?;
        if self.scheme.is_dialect() {
            Server::change(&mut self.servers, change);
        } else {
            *self = Self::of_router(self.scheme, &*router, self.params.clone())?;
        }
        Ok(router)
    }
}

/// Returns the cells of each member as ranges.
fn by_member(ids: &[NodeId], owners: &[Option<NodeId>]) -> Vec<Vec<RangeInclusive<u32>>> {
    let bound = ids.iter().map(|id| id.index() + 1).max().unwrap_or(0);
    let mut ranks = alloc::vec![None; bound];
    for (rank, id) in ids.iter().enumerate() {
        ranks[id.index()] = Some(rank);
    }
    let mut owned: Vec<Vec<RangeInclusive<u32>>> = alloc::vec![Vec::new(); ids.len()];
    for (cell, owner) in (0..).zip(owners) {
        let Some(rank) = owner.and_then(|id| *ranks.get(id.index())?) else {
            continue;
        };
        let ranges: &mut Vec<RangeInclusive<u32>> = &mut owned[rank];
        match ranges.last_mut() {
            Some(range) if range.end().checked_add(1) == Some(cell) => {
                *range = *range.start()..=cell;
            }
            _ => ranges.push(cell..=cell),
        }
    }
    owned
}

const NO_HISTORY: Error = Error::Unsupported {
    what: Refusal::History,
    advice: "use a strategy with peers that share a set, a count or a table",
};

const NOT_OF_A_ROUTER: Error = Error::Unsupported {
    what: Refusal::ServersOfRouter,
    advice: "keep the servers that it was built from",
};
