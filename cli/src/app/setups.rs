//! Two routers: the one there is, and the one that is to be.

use hashroute::hash::Secret;
use hashroute::strategy::Params;
use hashroute::{Error, HashFunction, KeyHasher, Router, compat, strategy};

use super::changes;
use super::nodes;
use super::strategy::{Choice, key_bytes, settings};
use crate::args::{NodeArgs, StrategyArgs, TargetArgs};
use crate::failure::Failure;

/// Before and after, and in words what changes.
#[derive(Debug)]
pub(crate) struct Setups {
    pub(crate) old: Box<dyn Router>,
    pub(crate) new: Box<dyn Router>,
    pub(crate) words: String,
}

impl Setups {
    pub(crate) fn read(
        strategy: &StrategyArgs,
        nodes: &NodeArgs,
        target: &TargetArgs,
    ) -> Result<Self, Failure> {
        let (choice, nodes) = Choice::read(strategy, nodes)?;
        let list = target.to_nodes_file.as_ref();
        let list = list.map(|path| nodes::from_file(path, "--to-nodes-file"));
        let list = list.transpose()?;
        let changes = match &list {
            Some(list) => changes::between(&nodes, list),
            None => choice.resolve(&target.changes.0),
        };
        if changes.is_empty() && target.to_nodes_file.is_none() && !target.is_other_setup() {
            return Err(Failure::input(
                "nothing changes: expected --add, --remove, --reweight, --to-nodes-file, --to-strategy, --to-dialect, --to-set or --to-hash",
            ));
        }
        changes::check(&nodes, &changes)?;
        let old = choice.build(&nodes)?;
        let mut told: Vec<_> = changes.iter().map(ToString::to_string).collect();
        let other = second(&choice, old.hash_id().hasher(), target)?;
        if let Some(other) = other.as_ref().filter(|_| target.is_other_setup()) {
            told.insert(
                0,
                format!("{} to {}", choice.scheme.title(), what(other, target)),
            );
        }
        let beside = list.as_ref().map_or_else(Vec::new, |list| {
            let order = other.as_ref().unwrap_or(&choice).scheme.minds_order();
            changes::beside(&nodes, &changes, list, order)
        });
        let new = if let Some(anew) = other.as_ref().filter(|other| !other.has_nodes()) {
            told.extend(beside);
            anew.build(&list.unwrap_or_else(|| changes::after(nodes, &changes)))
        } else {
            changes::note_unseen(&beside);
            other.as_ref().unwrap_or(&choice).after(&nodes, &changes)
        };
        let new = new.map_err(|failure| of_second(failure, target))?;
        let words = if told.is_empty() {
            "no change".into()
        } else {
            told.join(", ")
        };
        Ok(Self { old, new, words })
    }
}

/// `Some` if the target is a new router; `None` if the old one is changed in place. The new router
/// is built over the new nodes, or takes the changes too where it has nodes of its own.
fn second(
    choice: &Choice,
    hasher: Option<&KeyHasher>,
    target: &TargetArgs,
) -> Result<Option<Choice>, Failure> {
    if target.is_other_setup() {
        return other(choice, hasher, target).map(Some);
    }
    let list = target.to_nodes_file.as_ref();
    Ok(list.and_then(|_| choice.for_any_nodes()))
}

/// Another strategy, dialect, parameters or hash; what is not said of it stays as it is, whether
/// options, a spec or a configuration say that.
fn other(
    choice: &Choice,
    hasher: Option<&KeyHasher>,
    target: &TargetArgs,
) -> Result<Choice, Failure> {
    let scheme = match (&target.to_strategy, &target.to_dialect) {
        (Some(name), _) => strategy::find(name)?,
        (_, Some(name)) => compat::find(name)?,
        _ => choice.scheme,
    };
    if let (true, Some(name)) = (scheme.is_dialect(), &target.to_hash) {
        return Err(Failure::Input(format!(
            "--to-hash {name}: a dialect hashes as its system does; expected --to-strategy with it"
        )));
    }
    let same = scheme.title() == choice.scheme.title();
    let mut params = if same {
        choice.params().clone()
    } else {
        Params::default()
    };
    let settings = settings(&[scheme], &target.to_set);
    for (name, value) in settings.map_err(|failure| of_target(&failure))? {
        params = params.with(name, value);
    }
    let hasher = match &target.to_hash {
        Some(name) => Some(hasher_after(hasher, name, target.to_hash_key.as_deref())?),
        None => hasher.filter(|_| !scheme.is_dialect()).cloned(),
    };
    if let Some(hasher) = hasher {
        params = params.with_hasher(hasher);
    }
    if same {
        let chosen = choice.with_params(params);
        return chosen.map_err(|failure| of_target(&failure));
    }
    Ok(Choice::new(scheme, params))
}

/// The hash of this name with the key that is given; else what of seed, key and tag it takes stays.
fn hasher_after(
    before: Option<&KeyHasher>,
    name: &str,
    key: Option<&str>,
) -> Result<KeyHasher, Failure> {
    let before = before.cloned().unwrap_or_default();
    let function: HashFunction = name.parse()?;
    let refused = |error: Error| match error {
        Error::Parameter {
            name: option,
            value,
            expected,
        } => Failure::Input(format!(
            "--to-hash {name}: {option} {value:?} cannot stay: expected {expected}"
        )),
        other => other.into(),
    };
    let Some(key) = key else {
        let needs_key = function.secret() == Secret::Key128;
        if needs_key && before.function().secret() != Secret::Key128 {
            return Err(Failure::Input(format!(
                "--to-hash {name}: it takes a secret key, and the hash before has none; expected --to-hash-key with it"
            )));
        }
        let after = before.clone().with_function(function).map_err(refused)?;
        let back = after.clone().with_function(before.function());
        if back.ok() != Some(before) {
            eprintln!(
                "note: --to-hash {name}: it takes {}, and what the hash before had is left out",
                function.secret()
            );
        }
        return Ok(after);
    };
    let key = key_bytes("--to-hash-key", key)?;
    let hasher = KeyHasher::new(function).with_key(key).map_err(|_| {
        Failure::Input(format!("--to-hash-key: {name} takes {}", function.secret()))
    })?;
    Ok(match before.tag() {
        Some(tag) => hasher.with_tag(tag),
        None => hasher,
    })
}

/// The second set-up in words.
fn what(other: &Choice, target: &TargetArgs) -> String {
    let mut words = vec![other.scheme.title()];
    words.extend(target.to_set.iter().cloned());
    words.extend(target.to_hash.iter().map(|name| format!("hash {name}")));
    words.join(" ")
}

fn of_second(failure: Failure, target: &TargetArgs) -> Failure {
    if target.is_other_setup() {
        of_target(&failure)
    } else {
        failure
    }
}

/// The failure with the options of the second set-up.
fn of_target(failure: &Failure) -> Failure {
    let message = failure.to_string();
    Failure::Input(match message.strip_prefix("--set ") {
        Some(rest) => format!("--to-set {rest}"),
        None => message,
    })
}
