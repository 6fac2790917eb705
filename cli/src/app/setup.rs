//! Set-ups before and after a change, for `diff` and `plan`.

use hashroute::hash::Secret;
use hashroute::strategy::Params;
use hashroute::{Change, Error, HashFunction, KeyHasher, Node, Router, compat, strategy};

use super::changes;
use super::nodes;
use super::strategy::{Choice, key_bytes, settings};
use crate::args::{NodeArgs, StrategyArgs, TargetArgs};
use crate::failure::Failure;

/// A strategy or dialect with its nodes, and its router.
#[derive(Debug)]
pub(crate) struct SetUp {
    choice: Choice,
    nodes: Vec<Node>,
    pub(crate) router: Box<dyn Router>,
}

impl SetUp {
    /// Reads the set-up that the options describe.
    pub(crate) fn read(strategy: &StrategyArgs, nodes: &NodeArgs) -> Result<Self, Failure> {
        let (choice, nodes) = Choice::read(strategy, nodes)?;
        let router = choice.build(&nodes)?;
        Ok(Self {
            choice,
            nodes,
            router,
        })
    }

    /// Builds the set-up after the change, and describes the difference in words. What `target`
    /// does not mention stays as it is.
    pub(crate) fn with(&self, target: &TargetArgs) -> Result<(Self, String), Failure> {
        let members = Members::read(self, target)?;
        let other = self.other(target)?;
        let mut words: Vec<_> = members.changes.iter().map(ToString::to_string).collect();
        if let Some(other) = other.as_ref().filter(|_| target.is_other_setup()) {
            let before = self.choice.scheme.title();
            words.insert(0, format!("{before} to {}", in_words(other, target)));
        }
        let choice = other.as_ref().unwrap_or(&self.choice);
        let beside = members.beside(self, choice);
        let nodes = members.nodes(self);
        let router = if other.as_ref().is_some_and(|other| !other.has_nodes()) {
            words.extend(beside);
            choice.build(&nodes)?
        } else {
            // A choice with nodes of its own takes the changes, and ignores what else a list says.
            changes::note_unseen(&beside);
            choice.after(&self.nodes, &members.changes)?
        };
        if words.is_empty() {
            words.push("no change".into());
        }
        let after = Self {
            choice: choice.clone(),
            nodes,
            router,
        };
        Ok((after, words.join(", ")))
    }

    /// Returns the choice for a router that is built anew; `None` if the old router takes the
    /// changes.
    fn other(&self, target: &TargetArgs) -> Result<Option<Choice>, Failure> {
        if target.is_other_setup() {
            return self.retuned(target).map(Some);
        }
        let list = target.to_nodes_file.as_ref();
        Ok(list.and_then(|_| self.choice.for_any_nodes()))
    }

    /// Applies the strategy, dialect, parameters and hash of `target`. Everything else stays,
    /// whether it came from options, a spec or a configuration.
    fn retuned(&self, target: &TargetArgs) -> Result<Choice, Failure> {
        let before = &self.choice;
        let scheme = match (&target.to_strategy, &target.to_dialect) {
            (Some(name), _) => strategy::find(name)?,
            (_, Some(name)) => compat::find(name)?,
            _ => before.scheme,
        };
        if let (true, Some(name)) = (scheme.is_dialect(), &target.to_hash) {
            return Err(Failure::Input(format!(
                "--to-hash {name}: a dialect hashes as its system does: expected --to-strategy, too"
            )));
        }
        let same = scheme.title() == before.scheme.title();
        let mut params = if same {
            before.params().clone()
        } else {
            Params::default()
        };
        for (name, value) in settings(&[scheme], "--to-set", &target.to_set)? {
            params = params.with(name, value);
        }
        let hasher = match (self.router.hash_id().hasher(), &target.to_hash) {
            (hasher, Some(name)) => {
                Some(hasher_after(hasher, name, target.to_hash_key.as_deref())?)
            }
            (hasher, None) => hasher.filter(|_| !scheme.is_dialect()).cloned(),
        };
        if let Some(hasher) = hasher {
            params = params.with_hasher(hasher);
        }
        if same {
            return before.clone().set_by("--to-set").with_params(params);
        }
        Ok(Choice::new(scheme, params).set_by("--to-set"))
    }
}

/// The change of the nodes.
#[derive(Debug)]
struct Members {
    changes: Vec<Change>,
    /// The nodes after the change, if a file lists them.
    list: Option<Vec<Node>>,
}

impl Members {
    /// Reads the changes of the nodes. A target that changes nothing is an error.
    fn read(before: &SetUp, target: &TargetArgs) -> Result<Self, Failure> {
        let list = target.to_nodes_file.as_ref();
        let list = list.map(|path| nodes::from_file(path, "--to-nodes-file"));
        let list = list.transpose()?;
        let changes = match &list {
            Some(list) => changes::between(&before.nodes, list),
            None => before.choice.resolve(&target.changes.0),
        };
        if changes.is_empty() && list.is_none() && !target.is_other_setup() {
            return Err(Failure::input(
                "nothing changes: expected --add, --remove, --reweight, --to-nodes-file, --to-strategy, --to-dialect, --to-set or --to-hash",
            ));
        }
        changes::check(&before.nodes, &changes)?;
        Ok(Self { changes, list })
    }

    /// Says in words what the list changes besides members and weights.
    fn beside(&self, before: &SetUp, after: &Choice) -> Vec<String> {
        let order = after.scheme.minds_order();
        let beside = |list| changes::beside(&before.nodes, &self.changes, list, order);
        self.list.as_deref().map_or_else(Vec::new, beside)
    }

    fn nodes(self: &Members, before: &SetUp) -> Vec<Node> {
        let changed = || changes::after(before.nodes.clone(), &self.changes);
        self.list.clone().unwrap_or_else(changed)
    }
}

/// Returns the hash of this name, with `key` if it is given. Otherwise the seed, key and tag from
/// before stay, as far as the new hash takes them.
fn hasher_after(
    before: Option<&KeyHasher>,
    name: &str,
    key: Option<&str>,
) -> Result<KeyHasher, Failure> {
    let before = before.cloned().unwrap_or_default();
    let function: HashFunction = name.parse()?;
    let Some(key) = key else {
        return kept(&before, function);
    };
    let key = key_bytes("--to-hash-key", key)?;
    let hasher = KeyHasher::new(function).with_key(key).map_err(|_| {
        let takes = function.secret();
        Failure::Input(format!(
            "--to-hash-key: expected no key, {name} takes {takes}"
        ))
    })?;
    Ok(match before.tag() {
        Some(tag) => hasher.with_tag(tag),
        None => hasher,
    })
}

/// Returns the hash with the seed, key and tag that it can keep, and notes what it cannot keep.
fn kept(before: &KeyHasher, function: HashFunction) -> Result<KeyHasher, Failure> {
    let name = function.name();
    let needs_key = function.secret() == Secret::Key128;
    if needs_key && before.function().secret() != Secret::Key128 {
        return Err(Failure::Input(format!(
            "--to-hash {name}: no secret key to keep: expected --to-hash-key, too"
        )));
    }
    let after = before.clone().with_function(function);
    let after = after.map_err(|error| match error {
        Error::Parameter {
            name: option,
            value,
            expected,
        } => Failure::Input(format!(
            "--to-hash {name}: the {option} {value:?} cannot stay: expected {expected}"
        )),
        other => other.into(),
    })?;
    let back = after.clone().with_function(before.function());
    if back.ok().as_ref() != Some(before) {
        eprintln!(
            "note: --to-hash {name}: takes {}; the rest of the hash before is dropped",
            function.secret()
        );
    }
    Ok(after)
}

/// Describes the strategy, parameters and hash after the change.
fn in_words(other: &Choice, target: &TargetArgs) -> String {
    let mut words = vec![other.scheme.title()];
    words.extend(target.to_set.iter().cloned());
    words.extend(target.to_hash.iter().map(|name| format!("hash {name}")));
    words.join(" ")
}
