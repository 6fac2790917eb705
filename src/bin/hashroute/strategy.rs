//! The strategy with its parameters and its key hash.

use hashroute::strategy::{self, Params, Strategy};
use hashroute::{Error, HashFunction, HashTag, KeyHash, KeyHasher, Node, NodeId, Router, Spread};

use crate::args::{StrategyArgs, TuningArgs};
use crate::failure::Failure;

/// A strategy and all that it is built with.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) strategy: &'static Strategy,
    pub(crate) params: Params,
}

impl Choice {
    pub(crate) fn new(args: &StrategyArgs) -> Result<Self, Failure> {
        let choices = choose(&[strategy::find(&args.strategy)?], &args.tuning)?;
        choices
            .into_iter()
            .next()
            .ok_or_else(|| Failure::input("--strategy: no strategy"))
    }

    pub(crate) fn build(&self, nodes: Vec<Node>) -> Result<Box<dyn Router>, Failure> {
        self.strategy
            .build(nodes, &self.params)
            .map_err(|error| self.refusal(&error))
    }

    /// The error with the option that caused it.
    pub(crate) fn refusal(&self, error: &Error) -> Failure {
        Failure::Input(match error {
            Error::Parameter {
                name,
                value,
                expected,
            } => format!("--set {name}={value}: expected {expected}"),
            Error::TableSize { size, .. } => format!("--set table-size={size}: {error}"),
            other => format!("strategy {}: {other}", self.strategy.name),
        })
    }
}

/// The preference list of a key; empty when the key has no place, though a router that is full
/// still has an order of preference.
pub(crate) fn replicas(router: &dyn Router, key: KeyHash, n: u32, spread: Spread) -> Vec<NodeId> {
    match router.route_hash(key) {
        Some(_) => router
            .replicas(key, n as usize, spread)
            .into_iter()
            .collect(),
        None => Vec::new(),
    }
}

/// Each of the strategies with those parameters that it knows; each parameter must be known to
/// one of them.
pub(crate) fn choose(
    strategies: &[&'static Strategy],
    args: &TuningArgs,
) -> Result<Vec<Choice>, Failure> {
    if let Some(name) = &args.dialect {
        return Err(Failure::Input(format!(
            "--dialect {name}: there are no dialects yet; expected --strategy and --hash in its place"
        )));
    }
    let settings = settings(strategies, &args.set)?;
    let base = hasher(args)?.map_or_else(Params::default, |hasher| {
        Params::default().with_hasher(hasher)
    });
    let choice = |&strategy: &&'static Strategy| {
        let known = settings.iter().filter(|(name, _)| knows(strategy, name));
        let params = known.fold(base.clone(), |params, (name, value)| {
            params.with(*name, *value)
        });
        Choice { strategy, params }
    };
    Ok(strategies.iter().map(choice).collect())
}

fn settings<'a>(
    strategies: &[&Strategy],
    set: &'a [String],
) -> Result<Vec<(&'a str, &'a str)>, Failure> {
    let setting = |text: &'a String| {
        let wrong = |reason: String| Failure::Input(format!("--set {text}: {reason}"));
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| wrong("no '=': expected KEY=VALUE, such as points=160".into()))?;
        if strategies.iter().any(|strategy| knows(strategy, name)) {
            return Ok((name, value));
        }
        Err(wrong(format!(
            "unknown parameter \"{name}\": {}",
            known(strategies)
        )))
    };
    set.iter().map(setting).collect()
}

fn knows(strategy: &Strategy, name: &str) -> bool {
    strategy.params.iter().any(|param| param.name == name)
}

/// "expected points (ring); load, cap, points (bounded)".
fn known(strategies: &[&Strategy]) -> String {
    let with_params = strategies
        .iter()
        .filter(|strategy| !strategy.params.is_empty());
    let list = |strategy: &&Strategy| {
        let names: Vec<_> = strategy.params.iter().map(|param| param.name).collect();
        format!("{} ({})", names.join(", "), strategy.name)
    };
    let lists: Vec<_> = with_params.map(list).collect();
    match (lists.as_slice(), strategies) {
        ([], [strategy]) => format!("{} takes none", strategy.name),
        ([], _) => "these strategies take none".into(),
        _ => format!("expected {}", lists.join("; ")),
    }
}

/// The key hash, when an option says anything about it.
fn hasher(args: &TuningArgs) -> Result<Option<KeyHasher>, Failure> {
    let TuningArgs {
        hash,
        hash_seed,
        hash_key,
        hash_tag,
        ..
    } = args;
    if [hash, hash_seed, hash_key, hash_tag]
        .into_iter()
        .all(Option::is_none)
    {
        return Ok(None);
    }
    let function = hash.as_deref().map_or(Ok(HashFunction::Xxh3), str::parse)?;
    let mut hasher = KeyHasher::new(function);
    if let Some(text) = hash_seed {
        hasher = hasher.with_seed(seed(text)?).map_err(about_hash)?;
    }
    if let Some(text) = hash_key {
        hasher = hasher.with_key(key(text)?).map_err(about_hash)?;
    }
    if let Some(text) = hash_tag {
        hasher = hasher.with_tag(text.parse::<HashTag>().map_err(about_hash)?);
    }
    Ok(Some(hasher))
}

/// The error with the option that caused it, which bears the name of the parameter.
fn about_hash(error: Error) -> Failure {
    match error {
        Error::Parameter {
            name,
            value,
            expected,
        } => Failure::Input(format!("--{name} {value}: expected {expected}")),
        other => other.into(),
    }
}

fn seed(text: &str) -> Result<u64, Failure> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| {
        Failure::Input(format!(
            "--hash-seed {text}: expected a whole number from 0 to 2^64 - 1, decimal or 0x..."
        ))
    })
}

/// The message does not show the key: it may be nearly right, and logs are read by many.
fn key(text: &str) -> Result<[u8; 16], Failure> {
    let is_hex = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = if is_hex {
        u128::from_str_radix(text, 16).ok()
    } else {
        None
    };
    number.map(u128::to_be_bytes).ok_or_else(|| {
        let count = text.chars().count();
        Failure::Input(format!(
            "--hash-key: expected 32 hexadecimal digits, which are 16 bytes; got {count} characters"
        ))
    })
}
