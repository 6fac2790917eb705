//! Options for what routes: a strategy or a dialect, its parameters, its key hash.

use std::path::PathBuf;

use clap::Args;

use super::names::Named;

#[derive(Debug, Args)]
#[command(next_help_heading = "Strategy")]
pub(crate) struct StrategyArgs {
    /// The strategy that routes; see `hashroute strategies`
    #[arg(short = 's', long, value_name = "NAME", default_value = "ring")]
    #[arg(value_parser = Named::Strategy, hide_possible_values = true)]
    pub(crate) strategy: String,
    #[command(flatten)]
    pub(crate) tuning: TuningArgs,
    /// A file of `hashroute spec write`, instead of nodes and strategy
    #[arg(long, value_name = "FILE", conflicts_with_all = SPECIFIED)]
    pub(crate) spec: Option<PathBuf>,
}

/// The options that a spec replaces.
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
    /// The function that hashes keys [default: xxh3]; see `hashroute hashes`
    #[arg(long, value_name = "NAME")]
    #[arg(value_parser = Named::Hash, hide_possible_values = true)]
    pub(crate) hash: Option<String>,
    /// The seed of the hash, for xxh and murmur: decimal, or hexadecimal as 0x...
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) hash_seed: Option<String>,
    /// The secret key of the hash, for sip: 32 hexadecimal digits
    #[arg(long, value_name = "HEX32")]
    pub(crate) hash_key: Option<String>,
    /// Two bytes, such as {}: hash only what is inside the first pair that is not empty
    #[arg(long, value_name = "PAIR")]
    pub(crate) hash_tag: Option<String>,
    /// Route exactly as a real system does; see `hashroute dialects`
    #[arg(short = 'd', long, value_name = "NAME", conflicts_with_all = ["strategy", "hash", "hash_seed", "hash_key", "hash_tag"])]
    #[arg(value_parser = Named::Dialect, hide_possible_values = true)]
    pub(crate) dialect: Option<String>,
}

impl TuningArgs {
    /// Returns the first option given that sets the key hash.
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
