//! What routes: a strategy or a dialect, its parameters, its key hash.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use hashroute::{HashFunction, compat, scheme_name, schemes, strategy};

#[derive(Debug, Args)]
#[command(next_help_heading = "Strategy")]
pub(crate) struct StrategyArgs {
    /// How keys find nodes; `hashroute strategies` tells them apart
    #[arg(long, value_name = "NAME", default_value = "ring")]
    #[arg(value_parser = PossibleValuesParser::new(strategy_names()), hide_possible_values = true)]
    pub(crate) strategy: String,
    #[command(flatten)]
    pub(crate) tuning: TuningArgs,
    /// All that peers share, in place of nodes and strategy: a file of `hashroute spec write`
    #[arg(long, value_name = "FILE", conflicts_with_all = SPECIFIED)]
    pub(crate) spec: Option<PathBuf>,
}

/// What a spec says.
pub(crate) const SPECIFIED: [&str; 8] = [
    "members",
    "strategy",
    "set",
    "hash",
    "hash_seed",
    "hash_key",
    "hash_tag",
    "dialect",
];

#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Strategy")]
pub(crate) struct TuningArgs {
    /// A parameter of the strategy, such as points=160 (repeatable)
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// The function that hashes keys [default: xxh3]; `hashroute hashes` tells them apart
    #[arg(long, value_name = "NAME")]
    #[arg(value_parser = PossibleValuesParser::new(hash_names()), hide_possible_values = true)]
    pub(crate) hash: Option<String>,
    /// Its seed, for xxh and murmur: a number, decimal or 0x...
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) hash_seed: Option<String>,
    /// Its secret key, for sip: 32 hexadecimal digits
    #[arg(long, value_name = "HEX32")]
    pub(crate) hash_key: Option<String>,
    /// Two characters: hash only what stands between the first such pair that is not empty
    #[arg(long, value_name = "PAIR")]
    pub(crate) hash_tag: Option<String>,
    /// Route exactly as a real system does; `hashroute dialects` tells them apart
    #[arg(long, value_name = "NAME", conflicts_with_all = ["strategy", "hash", "hash_seed", "hash_key", "hash_tag"])]
    #[arg(value_parser = PossibleValuesParser::new(dialect_names()), hide_possible_values = true)]
    pub(crate) dialect: Option<String>,
}

impl TuningArgs {
    /// The first option that says how keys are hashed.
    pub(crate) fn hash_option(&self) -> Option<&'static str> {
        let given = [
            (&self.hash, "--hash"),
            (&self.hash_seed, "--hash-seed"),
            (&self.hash_key, "--hash-key"),
            (&self.hash_tag, "--hash-tag"),
        ];
        let mut given = given.into_iter();
        given.find_map(|(value, option)| value.as_ref().map(|_| option))
    }
}

/// The names of all rows; `jump` is the strategy, `dialect:jump` the dialect.
/// Each is also known by its kind and name.
pub(super) fn scheme_names() -> impl Iterator<Item = PossibleValue> {
    schemes().map(|row| {
        let kind = if row.is_dialect() {
            "dialect"
        } else {
            "strategy"
        };
        // Made once, and needed until the program ends.
        let name: &'static str = scheme_name(row).leak();
        let full: &'static str = format!("{kind}:{}", row.name).leak();
        PossibleValue::new(name).alias(full)
    })
}

pub(super) fn strategy_names() -> impl Iterator<Item = &'static str> {
    strategy::ALL.iter().map(|strategy| strategy.name)
}

pub(super) fn dialect_names() -> impl Iterator<Item = &'static str> {
    compat::ALL.iter().map(|dialect| dialect.name)
}

pub(super) fn hash_names() -> impl Iterator<Item = &'static str> {
    HashFunction::ALL.iter().map(|function| function.name())
}
