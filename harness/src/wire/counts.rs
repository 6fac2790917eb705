//! Tallies in partial files.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};

use super::line::Kind;
use super::records::{CensusRecord, check_nodes};
use crate::keys::{DumpSource, InputError};
use crate::measure::{CountSetup, KEYS, TEMPLATES, Tally};
use crate::summary::MEASURES;

/// The kind of line that holds a tally.
const KIND: Kind = Kind {
    format: "hashroute counts",
    version: 2,
    command: "balance",
    expected: "counts that `hashroute balance --partial` wrote (those of `skew` are for `hashroute skew --parts`)",
};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TallyRecord {
    setup: CountSetup,
    keys: u64,
    unreadable: u64,
    sources: Vec<DumpSource>,
    /// Whether sizes and requests are known.
    known: [bool; 2],
    loads: [Vec<u64>; MEASURES],
    totals: [u128; MEASURES],
    census: CensusRecord,
    templates: CensusRecord,
}

impl Tally {
    /// Writes the tally as one line of JSON: its kind, its version, the setup and all counts. About
    /// 3 MB for 65,536 keys or more, and 1 to 2 MB more for each measure beyond.
    ///
    /// # Errors
    /// Errors of `out`, and sums of 2^64 or more, which no file holds. Nothing is written then.
    ///
    /// ```
    /// use hashroute_harness::{Keys, stream::{Consumer, Counter, Tally}};
    /// use hashroute::{Node, Ring};
    ///
    /// let ring = Ring::new([Node::new("a")])?;
    /// let mut counter = Counter::new("ring", &ring)?;
    /// counter.add(&Keys::template("user:{i}", 0..1000)?);
    /// let (tally, mut file) = (counter.into_tally(), Vec::new());
    /// tally.write(&mut file)?;
    /// let read = Tally::read_all(&file[..]).next().expect("one")?;
    /// assert_eq!(read.balance()?, tally.balance()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write(&self, out: impl Write) -> io::Result<()> {
        self.check_sums().map_err(io::Error::other)?;
        let record = TallyRecord {
            setup: self.setup.clone(),
            keys: self.keys,
            unreadable: self.unreadable,
            sources: self.sources.clone(),
            known: self.known,
            loads: self.loads.clone(),
            totals: self.totals,
            census: CensusRecord::of(&self.census),
            templates: CensusRecord::of(&self.templates),
        };
        KIND.write(out, &record)
    }

    /// Reads all tallies that were written one after the other.
    ///
    /// An item is an error if a tally cannot be read, was written by another version, or
    /// contradicts itself. The iterator ends there.
    pub fn read_all(input: impl Read) -> impl Iterator<Item = Result<Self, InputError>> {
        KIND.read_all(input, TallyRecord::read)
    }
}

impl TallyRecord {
    fn read(self) -> Result<Tally, String> {
        let shares = self.setup.shares.iter();
        let lists = shares.map(Vec::len).chain(self.loads.iter().map(Vec::len));
        check_nodes(&self.setup.nodes, lists)?;
        let mut held = [0; MEASURES];
        for (sum, loads) in held.iter_mut().zip(&self.loads) {
            *sum = loads.iter().copied().map(u128::from).sum();
        }
        let beyond = held
            .iter()
            .zip(&self.totals)
            .any(|(held, total)| held > total);
        if beyond || self.totals[0] != u128::from(self.keys) {
            return Err("the nodes hold more than there are keys, bytes or requests".into());
        }
        Ok(Tally {
            census: self.census.read(KEYS, &held)?,
            templates: self.templates.read(TEMPLATES, &held)?,
            setup: self.setup,
            keys: self.keys,
            unreadable: self.unreadable,
            sources: self.sources,
            known: self.known,
            loads: self.loads,
            totals: self.totals,
        })
    }
}
