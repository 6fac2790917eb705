//! Measures strategies: how even they are, what a change moves, and what they cost.
//!
//! [`Keys`] come from a file, a template or a distribution. An [`Assignment`] places them with a
//! router. Then [`balance()`] returns the figures with the noise that chance alone gives,
//! [`remap()`] the keys that moved with the share that had to move, and [`cost()`] nanoseconds and
//! bytes. [`compare()`] does all of this for many strategies on the same scenario. [`skew`]
//! explains why a load is uneven, `plot` draws all of it, and [`sim`] runs a Redis Cluster in
//! memory.
//!
//! [`laws`] checks whether a row of the registry, of `hashroute` or of any other crate, keeps the
//! laws that every row promises.
//!
//! Everything but the timings is deterministic: the same input gives the same numbers.
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
pub mod sim;
mod summary;
pub mod text;
mod wire;

pub use keys::{
    BadLine, Dump, DumpFormat, DumpReader, DumpRow, DumpSource, FileKind, InputError, Keys,
    KeysIter, Rows, unpack,
};
pub use measure::{
    Activity, AllocationCounter, Assignment, Balance, Cause, Comparison, Contest, Cost, Estimated,
    Evenness, ExactFigures, Figures, KeyFlow, MovedBytes, NodeBalance, Noise, Remap, Row, Scenario,
    ScenarioSummary, TopShare, Undo, Verdict, assign, assign_all, assign_hash, balance, compare,
    cost, remap, round_trip,
};
pub use summary::{KeyShare, Measure};

pub mod stream {
    //! Counts keys beyond memory: in batches, on every core, and over processes.
    //!
    //! A [`KeySource`] returns batches of [`Keys`](crate::Keys). [`read()`] passes them to a
    //! [`Consumer`] on every thread and merges the consumers. A [`Counter`] is a consumer that
    //! routes the keys and counts them in a [`Tally`]. A tally can be written to a file, and merged
    //! with others, before it is judged.
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
    //! Explains skew: whether it is real, in which measure, which stage of a key's way causes it,
    //! which numbers of nodes are dangerous, and what helps.
    //!
    //! Gathering and judging are separate. [`Evidence`] takes one pass over the keys in bounded
    //! memory and merges with the evidence of other passes. [`Diagnosis::judge`] does the rest. A
    //! [`Gatherer`] gathers the evidence of keys beyond memory.
    //!
    //! Many tests run at once, so an alarm needs a p-value below [`Skew::threshold`]: the
    //! family-wise significance divided by the number of tests (Bonferroni). Even data then raises
    //! any alarm with a probability below [`SIGNIFICANCE`]. The hash and the strategy are tested on
    //! distinct hashes, each counted once, so hot keys, large keys and tags are never blamed on
    //! them.
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
