//! Preference lists that are long, or that have to look far for another zone or rack.
//!
//! A walk selects the next nodes in order, by one pass over all nodes for each stride, so a walk
//! over all n nodes takes n / stride passes. That is fastest if the list is complete within a few
//! strides, as nearly all lists are. If it is not, because one zone of two is a single light node,
//! or because the list is to hold most nodes, the list is built here: up to `FEW` nodes by one pass
//! for each kind of group, which keeps the best node of each group; longer lists by sorting all
//! nodes. Both find what the walk finds.

use core::cmp::Ordering;

use smallvec::SmallVec;

use super::Rendezvous;
use super::scores::{Candidate, FAR_STRIDE, halves};
use crate::replicas;
use crate::{KeyHash, NodeId, NodeList, Router, Spread};

/// The longest list that a pass keeps on the stack; longer ones sort all nodes in the caller's list.
const FEW: usize = 32;

/// The longest list of any nodes that is taken from a walk, in a few passes.
const WALKED: usize = 4 * FAR_STRIDE;

/// The number of nodes of a walk after which another zone or rack is far.
const NEAR: usize = FAR_STRIDE;

impl Rendezvous {
    /// Builds a preference list. O(n log n).
    pub(super) fn list(&self, key: KeyHash, n: usize, spread: Spread, out: &mut NodeList) {
        let wanted = n.min(self.members.len());
        let near = if spread == Spread::Nodes {
            WALKED
        } else {
            NEAR
        };
        if wanted <= near && replicas::fill_near(self, key, wanted, spread, near, out) {
            return;
        }
        let list = Far {
            router: self,
            key: halves(key.get()),
        };
        if wanted <= FEW {
            list.of_few(wanted, spread, out);
        } else {
            list.of_many(wanted, spread, out);
        }
    }
}

/// A list that a short walk does not complete.
struct Far<'a> {
    router: &'a Rendezvous,
    key: (u32, u32),
}

impl Far<'_> {
    fn zone(&self, id: NodeId) -> usize {
        self.router.nodes().zone_number(id)
    }

    fn rack(&self, id: NodeId) -> usize {
        self.router.nodes().rack_number(id)
    }

    /// Takes the best nodes of new zones, then of new racks, then any, with one pass for each.
    fn of_few(&self, wanted: usize, spread: Spread, out: &mut NodeList) {
        let list = out.space(wanted);
        let mut len = 0;
        if spread == Spread::Zones {
            len = self.add_best(list, len, |id| self.zone(id));
        }
        if spread != Spread::Nodes {
            len = self.add_best(list, len, |id| self.rack(id));
        }
        len = self.add_best(list, len, NodeId::index);
        out.truncate(len);
    }

    /// Adds the best node of each group that the first `len` nodes do not have, the best first, and
    /// returns the new length.
    fn add_best(&self, list: &mut [NodeId], len: usize, group: impl Fn(NodeId) -> usize) -> usize {
        let (held, space) = list.split_at_mut(len);
        if space.is_empty() {
            return len;
        }
        let held: SmallVec<[usize; FEW]> = held.iter().map(|id| group(*id)).collect();
        let mut best: SmallVec<[(usize, Candidate); FEW]> = SmallVec::new();
        let mut bound = f32::INFINITY;
        self.router.draws.scan(self.key, None, &mut |candidate| {
            let own = group(self.router.members[candidate.at]);
            if held.contains(&own) {
                return bound;
            }
            // A group that has fallen out of the list comes back only with a better node than all
            // of its nodes before, so it may be forgotten.
            let same = best.iter().position(|(group, _)| *group == own);
            let is_full = best.len() == space.len();
            match same.or_else(|| is_full.then(|| worst(&best)).flatten()) {
                Some(at) if candidate < best[at].1 => best[at] = (own, candidate),
                Some(_) => return bound,
                None => best.push((own, candidate)),
            }
            if best.len() == space.len() {
                bound = worst(&best).map_or(bound, |at| best[at].1.bound());
            }
            bound
        });
        best.sort_unstable_by_key(|(_, candidate)| *candidate);
        for (space, (_, candidate)) in space.iter_mut().zip(&best) {
            *space = self.router.members[candidate.at];
        }
        len + best.len()
    }

    /// Sorts all nodes in the caller's list, which grows to hold them.
    fn of_many(&self, wanted: usize, spread: Spread, out: &mut NodeList) {
        let all = out.space(self.router.members.len());
        for (at, slot) in all.iter_mut().enumerate() {
            // Indexes of members for now, since they tell the score.
            *slot = NodeId::from_index(at).unwrap_or(*slot);
        }
        let mut len = 0;
        if spread == Spread::Zones {
            len = self.sort_best(all, len, wanted, &|at| self.zone(self.member(at)));
        }
        if spread != Spread::Nodes {
            len = self.sort_best(all, len, wanted, &|at| self.rack(self.member(at)));
        }
        let (rest, missing) = (&mut all[len..], wanted - len);
        if missing > 0 {
            rest.select_nth_unstable_by(missing - 1, |a, b| self.order(*a, *b));
            rest[..missing].sort_unstable_by(|a, b| self.order(*a, *b));
        }
        for slot in all.iter_mut().take(wanted) {
            *slot = self.member(*slot);
        }
        out.truncate(wanted);
    }

    /// Moves the best node of each group that the first `len` nodes do not have behind these, the
    /// best first, up to `wanted`. Returns the new length.
    fn sort_best(
        &self,
        all: &mut [NodeId],
        len: usize,
        wanted: usize,
        group: &impl Fn(NodeId) -> usize,
    ) -> usize {
        let (held, rest) = all.split_at_mut(len);
        // In order of their groups, to be searched; their own order is restored below.
        held.sort_unstable_by_key(|at| group(*at));
        rest.sort_unstable_by(|a, b| {
            let by_group = group(*a).cmp(&group(*b));
            by_group.then_with(|| self.order(*a, *b))
        });
        let (mut last, mut found) = (None, 0);
        for at in 0..rest.len() {
            let own = group(rest[at]);
            if last.replace(own) != Some(own)
                && held.binary_search_by_key(&own, |at| group(*at)).is_err()
            {
                rest.swap(at, found);
                found += 1;
            }
        }
        held.sort_unstable_by(|a, b| self.order(*a, *b));
        rest[..found].sort_unstable_by(|a, b| self.order(*a, *b));
        (len + found).min(wanted)
    }

    fn member(&self, at: NodeId) -> NodeId {
        self.router.members[at.index()]
    }

    /// Compares two members, given by their indexes, by preference.
    fn order(&self, a: NodeId, b: NodeId) -> Ordering {
        let [a, b] = [a, b].map(|at| self.router.draws.candidate(at.index(), self.key));
        a.cmp(&b)
    }
}

/// Returns the index of the worst candidate.
fn worst(best: &[(usize, Candidate)]) -> Option<usize> {
    let all = best.iter().enumerate();
    all.max_by_key(|(_, (_, candidate))| *candidate)
        .map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::super::scores::evaluations;
    use super::*;
    use crate::hash::mix64;
    use crate::{Error, Node, RouterExt};

    const SPREADS: [Spread; 3] = [Spread::Nodes, Spread::Racks, Spread::Zones];

    /// Zones and racks of these sizes, and weights.
    fn router(
        count: u64,
        zones: u64,
        racks: u64,
        weight: fn(u64) -> u32,
    ) -> Result<Rendezvous, Error> {
        Rendezvous::new((0..count).map(|i| {
            // Few nodes in the last zones, so that these are far.
            let zone = (mix64(i) % zones).min(mix64(i + 7) % zones);
            Node::new(alloc::format!("n{i}"))
                .with_weight(weight(i))
                .with_zone(alloc::format!("z{zone}"))
                .with_rack(alloc::format!("r{}", mix64(i) % racks))
        }))
    }

    /// Two zones, the second a single node of weight 1 beside 1,000.
    fn lopsided(count: u32) -> Result<Rendezvous, Error> {
        Rendezvous::new((0..count).map(|i| {
            let (zone, weight) = if i == 0 { ("b", 1) } else { ("a", 1000) };
            Node::new(alloc::format!("n{i}"))
                .with_weight(weight)
                .with_zone(zone)
        }))
    }

    #[test]
    fn far_lists_are_those_of_the_walk() -> Result<(), Error> {
        let weights: [fn(u64) -> u32; 3] = [|_| 1, |i| 1 + (i % 3) as u32, |i| 1 << (i % 20)];
        for (case, weight) in weights.into_iter().enumerate() {
            for (count, zones, racks) in [(1, 1, 1), (40, 3, 5), (90, 30, 2), (300, 7, 40)] {
                let router = router(count, zones, racks, weight)?;
                let key = KeyHash::from_raw(mix64(count + case as u64));
                for spread in SPREADS {
                    let mut all = NodeList::new();
                    replicas::fill(&router, key, 1000, spread, &mut all);
                    for wanted in [1, 2, 3, 31, 32, 33, 60, 1000] {
                        let wanted = wanted.min(router.members.len());
                        let far = Far {
                            router: &router,
                            key: halves(key.get()),
                        };
                        let mut list = NodeList::new();
                        if wanted <= FEW {
                            far.of_few(wanted, spread, &mut list);
                            assert_eq!(list[..], all[..wanted], "few: {count} {spread} {wanted}");
                        }
                        far.of_many(wanted, spread, &mut list);
                        assert_eq!(list[..], all[..wanted], "many: {count} {spread} {wanted}");
                        router.replicas_into(key, wanted, spread, &mut list);
                        assert_eq!(list[..], all[..wanted], "{count} {spread} {wanted}");
                    }
                }
            }
        }
        Ok(())
    }

    /// Counts scores, so no clock is needed: a list takes at most a few times n log n of them.
    #[test]
    fn a_list_takes_at_most_n_log_n_scores() -> Result<(), Error> {
        for count in [1000, 4000, 16_000] {
            let router = lopsided(count)?;
            let key = KeyHash::from_raw(5);
            for (wanted, spread) in [
                (2, Spread::Zones),
                (3, Spread::Zones),
                (32, Spread::Racks),
                (100, Spread::Zones),
                (count as usize / 2, Spread::Nodes),
                (count as usize, Spread::Nodes),
                (count as usize, Spread::Zones),
            ] {
                let before = evaluations();
                let list = router.replicas_hash(key, wanted, spread);
                let scores = evaluations() - before;
                assert_eq!(list.len(), wanted);
                let limit = 16 * u64::from(count) * u64::from(count.ilog2());
                assert!(scores < limit, "{count} {wanted} {spread}: {scores} scores");
                // Short lists take a fixed number of passes.
                let passes = scores / u64::from(count);
                assert!(
                    wanted > FEW || passes <= 20,
                    "{count} {wanted} {spread}: {passes}"
                );
            }
        }
        Ok(())
    }

    #[test]
    fn a_full_walk_takes_a_pass_for_each_far_stride() -> Result<(), Error> {
        for count in [4000, 16_000] {
            let router = lopsided(count)?;
            let before = evaluations();
            let mut walked = Vec::new();
            router.walk(KeyHash::from_raw(5), &mut |id| {
                walked.push(id);
                core::ops::ControlFlow::Continue(())
            });
            let passes = (evaluations() - before) / u64::from(count);
            let strides = u64::from(count) / FAR_STRIDE as u64;
            assert!(passes <= 2 * strides + 20, "{count}: {passes} passes");
            walked.sort_unstable();
            walked.dedup();
            assert_eq!(walked.len(), count as usize);
        }
        Ok(())
    }
}
