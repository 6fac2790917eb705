//! hashroute beside the crates that do the same, in one process: key to node, hash included.
//!
//! Where a peer gives back a node (a reference, an address), ours is [`Router::route`], which
//! does too; where it gives a number, ours is `route_hash(hash_key(key))`, which gives a
//! [`NodeId`]. A batch gives ids, whatever the peer gives. Every peer is used as its own
//! documentation says, with the hash that it takes by itself.
//!
//! Both sides get the same keys and the same nodes, and are compiled for the same plain target.
//! Slow peers get fewer keys; so does ours then.
//!
//! A `limit` row has the hash that ours has and one read of a table as large as ours.
//!
//! [`Router::route`]: hashroute::Router::route
//! [`NodeId`]: hashroute::NodeId

mod bounded;
mod jump;
mod limit;
mod maglev;
mod measure;
mod memory;
mod rendezvous;
mod ring;
mod row;
mod setup;
mod slots;
mod table;
mod weighted;

use std::io::{self, Write};

use clap::{Parser, ValueEnum};

use crate::measure::Bench;
use crate::row::Row;

/// Time hashroute beside the crates that do the same.
#[derive(Parser)]
#[command(about)]
struct Args {
    /// Print an array of rows in place of a table.
    #[arg(long)]
    json: bool,
    /// Shorter passes, and no sizes above 10,000: under a minute.
    #[arg(long)]
    quick: bool,
    /// Measure this algorithm only.
    #[arg(long, value_name = "ALGORITHM")]
    only: Option<Algorithm>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Algorithm {
    Ring,
    Rendezvous,
    WeightedRendezvous,
    Jump,
    Maglev,
    Slots,
    Bounded,
}

impl Algorithm {
    fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().into())
    }

    fn rows(self, bench: &Bench) -> Vec<Row> {
        match self {
            Self::Ring => ring::rows(bench),
            Self::Rendezvous => rendezvous::rows(bench),
            Self::WeightedRendezvous => weighted::rows(bench),
            Self::Jump => jump::rows(bench),
            Self::Maglev => maglev::rows(bench),
            Self::Slots => slots::rows(bench),
            Self::Bounded => bounded::rows(bench),
        }
    }
}

fn main() -> io::Result<()> {
    let args = Args::parse();
    let bench = Bench::new(setup::keys(), args.quick);
    let mut rows = Vec::new();
    for algorithm in Algorithm::value_variants() {
        if args.only.is_none_or(|only| only == *algorithm) {
            eprintln!("measuring {}", algorithm.name());
            rows.extend(algorithm.rows(&bench));
        }
    }
    let mut out = io::stdout().lock();
    if args.json {
        serde_json::to_writer_pretty(&mut out, &rows)?;
        writeln!(out)
    } else {
        writeln!(out, "{}\n{}", table::table(&rows), table::summary(&rows))
    }
}
