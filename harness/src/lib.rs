//! Measure strategies: how even they are, what a change moves, what they cost.
//!
//! Keys come first ([`Keys`]: from a file, a template, a distribution), a router places them
//! ([`Assignment`]), and the figures follow: [`balance()`] with the noise that chance alone gives
//! beside each figure, [`remap()`] with the share that had to move, [`cost()`] in nanoseconds and
//! bytes, and [`compare()`], which does all of it for many strategies on the same scenario.
//!
//! Whether a row of the registry, of this crate or of another, keeps the laws that all promise is
//! what [`laws`] checks.
//!
//! All but the timings is deterministic: the same input gives the same numbers.
//!
//! ```
//! use hashroute_harness::{Keys, Assignment, balance};
//! use hashroute::{Node, Rendezvous};
//!
//! let keys = Keys::template("user:{i}", 0..10_000)?;
//! let router = Rendezvous::new(["a", "b", "c"].map(Node::new))?;
//! let assignment = Assignment::of(&router, &keys);
//! let balance = balance("rendezvous", &router, &keys, &assignment);
//! assert!(balance.figures.cv <= balance.figures.noise.cv_p99);
//! # Ok::<(), hashroute::Error>(())
//! ```

#[macro_use]
mod builder;
mod diagnose;
#[cfg(doc)]
pub mod guide;
mod keys;
pub mod laws;
mod measure;
#[cfg(feature = "plot")]
pub mod plot;
mod summary;
pub mod text;
mod wire;

pub use keys::{
    BadLine, Dump, DumpFormat, DumpReader, DumpRow, DumpSource, InputError, Keys, KeysIter, Rows,
};
pub use measure::{
    Activity, Assignment, Balance, Cause, Comparison, Contest, Cost, Estimated, Evenness,
    ExactFigures, Figures, KeyFlow, MovedBytes, NodeBalance, Noise, Remap, Row, Scenario,
    ScenarioSummary, TopShare, Undo, Verdict, assign, assign_all, assign_hash, balance, compare,
    cost, remap, round_trip,
};
pub use summary::{KeyShare, Measure};

pub mod stream {
    //! Keys beyond memory: read in batches, counted on every core, and added up over processes.
    //!
    //! A [`KeySource`] gives batches of [`Keys`](crate::Keys), [`read()`] hands them to a
    //! [`Consumer`] on every thread and merges what these have found. A [`Counter`] is one: it routes
    //! the keys and counts them in a [`Tally`], which can be written to a file and merged with others
    //! before it is judged.
    //!
    //! ```
    //! use hashroute_harness::stream::{Counter, KeySource, Reading, read};
    //! use hashroute::{Node, Ring};
    //!
    //! let ring = Ring::new(["a", "b", "c"].map(Node::new))?;
    //! let source = KeySource::lines(&b"user:1\nuser:2\nuser:1\n"[..]);
    //! let (counter, bad) = read(source, &Counter::new("ring", &ring)?, &Reading::default())?;
    //! let balance = counter.into_tally().balance()?;
    //! assert_eq!((balance.keys, balance.distinct_keys, bad.count), (3, 2, 0));
    //! # Ok::<(), Box<dyn std::error::Error>>(())
    //! ```

    pub use crate::keys::{BadLines, Consumer, KeySource, Reading, read};
    pub use crate::measure::{CountSetup, Counter, Tally};
}

pub mod skew {
    //! Skew explained: is it real, of what, by whose fault, on which numbers of nodes, and what helps.
    //!
    //! Gathering and judging are apart: [`Evidence`] takes one pass over the keys in bounded memory
    //! and merges with that of other passes; [`Diagnosis::judge`] does the rest. A [`Gatherer`] takes it of
    //! keys beyond memory.
    //!
    //! Many things are tested at once. Each p-value stands as it is; an alarm needs one below
    //! [`Skew::threshold`], the family-wise significance over the number of tests (Bonferroni), so
    //! that even data gives any alarm at all less often than [`SIGNIFICANCE`]. What the hash and the
    //! strategy do is tested on hashes each counted once, so that hot keys, large keys and tags are
    //! never blamed on them.
    //!
    //! ```
    //! use hashroute_harness::{Keys, skew::{Diagnosis, KeyStage, Status}};
    //! use hashroute::registry::{Params, Setup};
    //! use hashroute::{HashFunction, KeyHasher, strategy};
    //!
    //! let params = Params::default().with_hasher(KeyHasher::new(HashFunction::TwemproxyFnv1a64));
    //! let nodes = (0..87).map(|i| format!("node-{i}"));
    //! let setup = Setup::new(strategy::find("modulo")?, nodes, params);
    //! let diagnosis = Diagnosis::new(&setup).with_node_counts(&[61, 64]);
    //! let skew = diagnosis.analyse(&Keys::template("metric:demo:{i}", 0..1000)?)?;
    //! let at_fault = skew.stages.iter().filter(|finding| finding.status == Status::AtFault);
    //! assert!(at_fault.map(|finding| finding.stage).eq([KeyStage::Hash]));
    //! assert_eq!(skew.bunched, [3, 5, 29]);
    //! assert!(skew.node_counts.rows.iter().all(|row| !row.dangerous));
    //! # Ok::<(), hashroute::Error>(())
    //! ```

    pub use crate::diagnose::{
        CountRow, Diagnosis, Evidence, Finding, Gatherer, HashStep, KeyStage, Load, MeasureSkew,
        NodeCounts, Remedy, Residue, SIGNIFICANCE, Skew, Status, TemplateShare,
    };
    pub use crate::wire::Part;
}
