//! A baseline: the figures of an earlier run, and the set-up that gave them.

use std::path::{Path, PathBuf};

use hashroute::Node;
use hashroute_harness::stream::Consumer;
use hashroute_harness::{Balance, Keys};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::args::CheckArgs;
use crate::app::keys::Source;
use crate::app::strategy::Choice;
use crate::app::{files, outputs};
use crate::args::{StrategyArgs, TuningArgs};
use crate::failure::Failure;

/// The version of the file format.
const VERSION: u32 = 1;
/// The most bytes of a file; 4,096 numbers of nodes take far fewer.
const MOST: usize = 1 << 27;

/// The content of a baseline file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Baseline {
    /// The version. Its name in the file also identifies the file as a baseline.
    #[serde(rename = "hashroute_baseline")]
    version: u32,
    pub(super) set_up: SetUp,
    pub(super) results: Vec<Measured>,
}

/// The figures of one set of nodes.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Measured {
    /// The nodes in order: some strategies number them.
    pub(super) nodes: Vec<Node>,
    pub(super) balance: Balance,
}

/// The options that decide routes, as they were typed, without a secret hash key.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SetUp {
    strategy: String,
    dialect: Option<String>,
    config: Option<PathBuf>,
    spec: Option<PathBuf>,
    pool: Option<String>,
    set: Vec<String>,
    hash: Option<String>,
    hash_seed: Option<String>,
    hash_tag: Option<String>,
    has_hash_key: bool,
    pub(super) keys: KeySource,
}

/// The source of the keys.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeySource {
    from: String,
    template: Option<String>,
    range: Option<(u64, u64)>,
    count: u64,
    /// A hash of all keys, independent of their order, in hexadecimal.
    fingerprint: String,
}

/// Describes the set-up of this run.
pub(super) fn set_up(args: &CheckArgs, source: &Source, read: &Fingerprint) -> SetUp {
    let tuning = &args.strategy.tuning;
    let (template, range) = source.template().unzip();
    SetUp {
        strategy: args.strategy.strategy.clone(),
        dialect: tuning.dialect.clone(),
        config: args.nodes.config.clone(),
        spec: args.strategy.spec.clone(),
        pool: args.nodes.pool.clone(),
        set: tuning.set.clone(),
        hash: tuning.hash.clone(),
        hash_seed: tuning.hash_seed.clone(),
        hash_tag: tuning.hash_tag.clone(),
        has_hash_key: tuning.hash_key.is_some(),
        keys: KeySource {
            from: source.named(),
            template: template.map(str::to_owned),
            range: range.map(|range| (range.start, range.end)),
            count: read.keys,
            fingerprint: format!("{:016x}", read.sum),
        },
    }
}

/// Identifies a set of keys with their sizes and requests: the number of keys, and the sum of the
/// hashes of each key and of what it carries.
#[derive(Clone, Debug, Default)]
pub(super) struct Fingerprint {
    keys: u64,
    sum: u64,
}

impl Consumer for Fingerprint {
    fn add(&mut self, keys: &Keys) {
        self.keys += keys.len() as u64;
        for (index, key) in keys.iter().enumerate() {
            let hash = xxh3_64(key);
            self.sum = self.sum.wrapping_add(hash);
            for (kind, amounts) in [(b's', keys.sizes()), (b'r', keys.requests())] {
                if let Some(amount) = amounts.and_then(|amounts| amounts.get(index)) {
                    let carried = [&[kind][..], &amount.to_le_bytes()].concat();
                    self.sum = self.sum.wrapping_add(xxh3_64_with_seed(&carried, hash));
                }
            }
        }
    }

    fn merge(&mut self, other: Self) {
        self.keys += other.keys;
        self.sum = self.sum.wrapping_add(other.sum);
    }
}

/// Reads a baseline.
pub(super) fn read(path: &Path) -> Result<Baseline, Failure> {
    let wrong = |reason: String| Failure::file("--baseline", path, reason);
    let bytes = files::read_bytes(path, MOST).map_err(|error| wrong(error.to_string()))?;
    if let Some(kind) = files::not_text(&bytes) {
        let told = wrong(format!(
            "{kind}: expected a file that --save-baseline wrote"
        ));
        return Err(told.with_hint(files::as_text(kind, path)));
    }
    parse(&bytes).map_err(wrong)
}

#[derive(Deserialize)]
struct Version {
    #[serde(rename = "hashroute_baseline")]
    version: u32,
}

fn parse(bytes: &[u8]) -> Result<Baseline, String> {
    let wrong = |error: serde_json::Error| {
        // A wrong field helps; words about commas and braces do not.
        let told = error.is_data().then(|| error.to_string());
        let field = told
            .as_deref()
            .and_then(|told| told.split([',', ':']).next())
            .and_then(|told| told.split(" at line ").next())
            .filter(|told| told.contains(" field `"))
            .map_or_else(String::new, |told| format!(", {told}"));
        format!("not a baseline{field}: expected a file that --save-baseline wrote")
    };
    let Version { version } = serde_json::from_slice(bytes).map_err(wrong)?;
    if version != VERSION {
        return Err(format!(
            "format {version}: expected {VERSION}, the format of this version of hashroute"
        ));
    }
    serde_json::from_slice(bytes).map_err(wrong)
}

impl Baseline {
    /// Creates a baseline from the results of this run.
    pub(super) fn new(set_up: SetUp, sets: Vec<Vec<Node>>, balances: &[Balance]) -> Self {
        let results = sets.into_iter().zip(balances.iter().cloned());
        Self {
            version: VERSION,
            set_up,
            results: results
                .map(|(nodes, balance)| Measured { nodes, balance })
                .collect(),
        }
    }

    /// Writes the baseline.
    pub(super) fn write(&self, path: &Path) -> Result<(), Failure> {
        let json = serde_json::to_vec(self)?;
        if json.len() > MOST {
            let wrong = format!(
                "{} bytes are too long for a baseline: expected at most {MOST}",
                json.len()
            );
            return Err(Failure::file("--save-baseline", path, wrong));
        }
        outputs::write("--save-baseline", path, &json)
    }

    /// Returns the result to compare with: the one for as many nodes, or if both sides have only
    /// one result, that one.
    pub(super) fn beside(&self, nodes: usize, only: bool) -> Option<&Measured> {
        match self.results.as_slice() {
            [result] if only => Some(result),
            results => results.iter().find(|result| result.nodes.len() == nodes),
        }
    }
}

impl SetUp {
    /// Returns the choice of the baseline, or why it cannot be built. A secret hash key comes from
    /// the options of this run.
    pub(super) fn choice(&self, hash_key: Option<&String>) -> Result<Choice, String> {
        for (file, option) in [(&self.config, "--config"), (&self.spec, "--spec")] {
            if file.is_some() {
                return Err(format!(
                    "its nodes come from {option}, and a baseline does not hold them"
                ));
            }
        }
        if self.has_hash_key && hash_key.is_none() {
            return Err(
                "it has a secret hash key, and a baseline does not hold it: expected --hash-key"
                    .into(),
            );
        }
        let tuning = TuningArgs {
            set: self.set.clone(),
            hash: self.hash.clone(),
            hash_seed: self.hash_seed.clone(),
            hash_key: hash_key.filter(|_| self.has_hash_key).cloned(),
            hash_tag: self.hash_tag.clone(),
            dialect: self.dialect.clone(),
        };
        let strategy = self.strategy.clone();
        let args = StrategyArgs {
            strategy,
            tuning,
            spec: None,
        };
        Choice::of(&args).map_err(|error| error.to_string())
    }

    /// Returns the keys of the baseline, in the order of the keys of this run; `None` if they are
    /// the same.
    pub(super) fn keys_before(&self, now: &Self, keys: &Keys) -> Result<Option<Keys>, String> {
        let (before, now) = (&self.keys, &now.keys);
        let (Some(template), Some((start, end))) = (&before.template, before.range) else {
            return Ok(None);
        };
        if now.template.is_none() || now.template.as_ref() == Some(template) {
            return Ok(None);
        }
        if end.checked_sub(start) != Some(keys.len() as u64) {
            return Err(format!(
                "its template made {} keys, but this run has {}",
                before.count,
                keys.len()
            ));
        }
        let keys = Keys::template(template, start..end);
        keys.map(Some).map_err(|error| error.to_string())
    }

    /// Describes the options that differ.
    pub(super) fn changes(&self, now: &Self) -> Vec<String> {
        let option = |text: &Option<String>| text.clone().unwrap_or_else(|| "default".into());
        let file = |path: &Option<PathBuf>| option(&path.as_ref().map(|p| p.display().to_string()));
        let routes = |one: &Self| one.dialect.clone().unwrap_or_else(|| one.strategy.clone());
        let set = |one: &Self| option(&Some(one.set.join(" ")).filter(|set| !set.is_empty()));
        let given = |known: bool| if known { "given" } else { "none" }.to_owned();
        let pairs = [
            ("strategy", routes(self), routes(now)),
            ("config", file(&self.config), file(&now.config)),
            ("pool", option(&self.pool), option(&now.pool)),
            ("spec", file(&self.spec), file(&now.spec)),
            ("parameters", set(self), set(now)),
            ("hash", option(&self.hash), option(&now.hash)),
            ("hash seed", option(&self.hash_seed), option(&now.hash_seed)),
            ("hash tag", option(&self.hash_tag), option(&now.hash_tag)),
            (
                "hash key",
                given(self.has_hash_key),
                given(now.has_hash_key),
            ),
        ];
        let differ = pairs.into_iter().filter(|(_, before, now)| before != now);
        let mut changes: Vec<_> = differ
            .map(|(name, before, now)| format!("{name}: {before} -> {now}"))
            .collect();
        changes.extend(self.keys.change(&now.keys));
        changes
    }
}

impl KeySource {
    fn change(&self, now: &Self) -> Option<String> {
        let told = |one: &Self| match one.range {
            Some((start, end)) => format!("{} {start}..{end}", one.from),
            None => format!("{} ({} keys)", one.from, one.count),
        };
        let (before, after) = (told(self), told(now));
        match self.fingerprint == now.fingerprint {
            true => None,
            false if before == after => Some(format!(
                "keys: {before} has other keys, sizes or requests than then"
            )),
            false => Some(format!("keys: {before} -> {after}")),
        }
    }
}
