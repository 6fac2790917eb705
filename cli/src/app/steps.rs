//! Keys by the step of a plan that moves them.

use std::sync::Arc;

use hashroute::plan::{Plan, Transition};
use hashroute::{NodeId, Router};

use super::keys::Source;
use super::lister::{Lister, Moved};
use super::setup::SetUp;
use crate::failure::Failure;
use crate::units;

/// What one step moves.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moves {
    /// The keys that get a node.
    pub(crate) keys: u64,
    /// Their bytes, once for each copy.
    pub(crate) bytes: u64,
}

/// What each step moves of the keys given.
#[derive(Debug)]
pub(crate) struct Tally {
    steps: Vec<Moves>,
    keys: u64,
    sizes: bool,
}

impl Tally {
    /// Returns what a step, counted from 1, moves.
    pub(crate) fn step(&self, number: usize) -> Moves {
        let at = number.checked_sub(1);
        at.and_then(|at| self.steps.get(at))
            .copied()
            .unwrap_or_default()
    }

    /// Returns whether the keys have sizes.
    pub(crate) fn has_sizes(&self) -> bool {
        self.sizes
    }

    /// Says how many keys move in one step, or in all.
    pub(crate) fn sentence(&self, step: Option<usize>) -> String {
        let moves = match step {
            Some(number) => self.step(number),
            None => self.steps.iter().fold(Moves::default(), |sum, step| Moves {
                keys: sum.keys + step.keys,
                bytes: sum.bytes.saturating_add(step.bytes),
            }),
        };
        let bytes = if self.sizes {
            format!(", {} to copy", units::size(moves.bytes as f64))
        } else {
            String::new()
        };
        let of = units::counted(self.keys, "key");
        let when = step.map_or_else(|| "in all steps".into(), |step| format!("in step {step}"));
        format!("{} of {of} move {when}{bytes}", units::count(moves.keys))
    }
}

/// Reads the keys in batches and counts those that each step moves. Writes the copies of each, of
/// all steps or of `only` one, to `list`.
pub(crate) fn count(
    source: &Source,
    plan: &Plan,
    [before, after]: [SetUp; 2],
    only: Option<usize>,
    mut list: Option<&mut Lister>,
) -> Result<Tally, Failure> {
    let routers: [Arc<dyn Router>; 2] = [before.router.into(), after.router.into()];
    let [old, new] = routers;
    let transition = Transition::new(old, new, plan)?;
    let mut tally = Tally {
        steps: vec![Moves::default(); plan.steps().len()],
        keys: 0,
        sizes: false,
    };
    let name = |id: NodeId| transition.nodes().name(id);
    source.stream(&mut |keys| {
        if let Some(list) = &mut list {
            list.begin(keys)?;
        }
        tally.sizes |= keys.sizes().is_some();
        for (at, key) in keys.iter().enumerate() {
            tally.keys += 1;
            let Some(step) = transition.step_of(key) else {
                continue;
            };
            let copies = transition.copies(key);
            let [size, requests] = [keys.sizes(), keys.requests()].map(|all| Some(*all?.get(at)?));
            if let (Some(moves), false) = (tally.steps.get_mut(step as usize), copies.is_empty()) {
                moves.keys += 1;
                let bytes = size.unwrap_or(0).saturating_mul(copies.len() as u64);
                moves.bytes = moves.bytes.saturating_add(bytes);
            }
            let number = u64::from(step) + 1;
            if only.is_some_and(|only| only as u64 != number) {
                continue;
            }
            for [from, to] in copies.iter().copied() {
                if let Some(list) = &mut list {
                    list.write(&Moved {
                        step: Some(number),
                        key,
                        from: name(from),
                        to: name(to),
                        size,
                        requests,
                    })?;
                }
            }
        }
        list.as_mut().map_or(Ok(()), |list| list.flush())
    })?;
    Ok(tally)
}
