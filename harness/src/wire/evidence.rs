//! Evidence of skew in partial files: many processes gather it, one judges.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};

use super::line::Kind;
use super::records::{CensusRecord, check_nodes};
use crate::diagnose::{Evidence, Load};
use crate::keys::{DumpSource, InputError};
use crate::measure::{CountSetup, check_columns};
use crate::summary::Amounts;
use hashroute::{Error, Router};

/// The evidence of a part of all keys, and the lists that these keys came from.
///
/// Parts [merge](Self::merge) into the evidence of one pass, bit for bit. A judgement takes keys in
/// the order of the sample, which is independent of the order in which they came.
///
/// ```
/// use hashroute_harness::skew::{Evidence, Part};
/// use hashroute_harness::{Keys, stream};
/// use hashroute::{Node, Rendezvous};
///
/// let router = Rendezvous::new(["a", "b"].map(Node::new))?;
/// let setup = stream::CountSetup::new("rendezvous", &router)?;
/// let mut files = Vec::new();
/// for range in [0..100, 50..150] {
///     let part = Part::from(Evidence::of(&router, &Keys::template("user:{i}", range)?));
///     part.write(&setup, &mut files)?;
/// }
/// let mut all = Part::from(Evidence::new(&router));
/// for part in Part::read_all(&router, &setup, &files[..]) {
///     all.merge(part?)?;
/// }
/// assert_eq!(all.evidence.distinct_keys(), 150.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Part {
    /// The evidence.
    pub evidence: Evidence,
    /// What the lists say about themselves.
    pub sources: Vec<DumpSource>,
}

impl From<Evidence> for Part {
    fn from(evidence: Evidence) -> Self {
        Self {
            evidence,
            sources: Vec::new(),
        }
    }
}

builder! { Part: with_sources(sources: impl Into<Vec<DumpSource>>) }

/// The kind of line that holds evidence.
const KIND: Kind = Kind {
    format: "hashroute evidence",
    version: 3,
    command: "skew",
    expected: "what `hashroute skew --partial` wrote (counts of `balance` are for `hashroute merge`)",
};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PartRecord {
    setup: CountSetup,
    sources: Vec<DumpSource>,
    /// Whether sizes and requests are known.
    known: [bool; 2],
    /// The load of each node, in order of name.
    loads: Vec<Amounts>,
    unplaced: Amounts,
    unreadable: u64,
    census: CensusRecord,
}

impl Part {
    /// Adds another part.
    ///
    /// # Errors
    /// [`Error::Parameter`] if the nodes differ, or if only one of the two knows sizes or requests.
    /// This part is unchanged then.
    pub fn merge(&mut self, other: Self) -> Result<(), Error> {
        let [mine, others] = [&self.evidence, &other.evidence];
        if mine.total().keys > 0 && others.total().keys > 0 {
            check_columns(mine.known(), others.known())?;
        }
        self.evidence.merge(other.evidence)?;
        self.sources.extend(other.sources);
        self.sources.sort_unstable();
        Ok(())
    }

    /// Writes the part as one line of JSON: its kind, its version, the setup and the evidence.
    /// About ten bytes and the key for each sampled key, and 1 to 2 MB for each measure beyond the
    /// sample.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write(&self, setup: &CountSetup, out: impl Write) -> io::Result<()> {
        KIND.write(out, &self.record(setup))
    }

    /// Reads all parts that were written one after the other, for this router and setup.
    ///
    /// An item is an error if a part cannot be read, was written by another version or with another
    /// setup, or contradicts itself. The iterator ends there.
    pub fn read_all(
        router: &dyn Router,
        setup: &CountSetup,
        input: impl Read,
    ) -> impl Iterator<Item = Result<Self, InputError>> {
        KIND.read_all(input, |record: PartRecord| record.read(router, setup))
    }

    fn record(&self, setup: &CountSetup) -> PartRecord {
        let evidence = self.evidence.settled();
        let loads = evidence.nodes.iter().map(|(_, load)| load.amounts());
        PartRecord {
            setup: setup.clone(),
            sources: self.sources.clone(),
            known: evidence.known(),
            loads: loads.collect(),
            unplaced: evidence.unplaced.amounts(),
            unreadable: evidence.unreadable,
            census: CensusRecord::of(&evidence.census),
        }
    }
}

impl PartRecord {
    fn read(self, router: &dyn Router, setup: &CountSetup) -> Result<Part, String> {
        setup
            .check(&self.setup)
            .map_err(|error| error.to_string())?;
        let mut evidence = Evidence::new(router);
        check_nodes(
            &self.setup.nodes,
            [self.loads.len(), evidence.nodes.len()].into_iter(),
        )?;
        for ((_, load), amounts) in evidence.nodes.iter_mut().zip(self.loads) {
            *load = Load::from(amounts);
        }
        evidence.unplaced = Load::from(self.unplaced);
        evidence.unreadable = self.unreadable;
        [evidence.sizes, evidence.requests] = self.known;
        let held = evidence.placed().amounts().map(u128::from);
        evidence.census = self.census.read(Evidence::MOST, &held)?;
        Ok(Part {
            evidence,
            sources: self.sources,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::Gatherer;
    use crate::keys::{Consumer, Keys};
    use hashroute::{Node, Ring};

    #[test]
    fn evidence_beyond_the_sample_adds_up_and_survives_a_file() {
        let ring = Ring::new(["a", "b", "c"].map(Node::new)).expect("a ring");
        let most = Evidence::MOST as u64;
        let keys = |range| Keys::template("k{i}", range).expect("keys");
        let mut parts = [0..most / 2, most / 3..most + 9000].map(|range| {
            let mut part = Gatherer::new(&ring);
            part.add(&keys(range));
            part
        });
        let mut whole = Evidence::of(&ring, &keys(0..most + 9000));
        whole.add_all(&ring, &keys(most / 3..most / 2));
        let setup = CountSetup::new("ring", &ring).expect("a setup");
        let [first, second] = &mut parts;
        second.merge(first.clone());
        whole.settle();
        assert!(!whole.is_whole());
        assert!(second.clone().into_evidence() == whole);
        let mut file = Vec::new();
        let written = Part::from(whole.clone()).write(&setup, &mut file);
        let read = Part::read_all(&ring, &setup, &file[..]).next();
        let (Ok(()), Some(Ok(part))) = (written, read) else {
            panic!("evidence cannot be written and read");
        };
        assert!(part.evidence == whole);
    }
}
