//! Set-ups before and after a change, for `diff`, `remap`, `plan` and `draw remap`.

use std::path::{Path, PathBuf};

use hashroute::hash::Secret;
use hashroute::registry::{Agree, Setup};
use hashroute::strategy::Params;
use hashroute::{
    Change, Error, HashFunction, HashTag, KeyHasher, Node, Router, Server, compat, strategy,
};

use super::config::Options;
use super::strategy::{Choice, key_bytes, seed, settings};
use super::{changes, files, nodes};
use crate::args::{NodeArgs, StrategyArgs, TargetArgs};
use crate::failure::Failure;

/// A strategy or dialect with its nodes, and its router.
#[derive(Debug)]
pub(crate) struct SetUp {
    pub(crate) choice: Choice,
    pub(crate) nodes: Vec<Node>,
    pub(crate) router: Box<dyn Router>,
    /// The configuration that it comes from.
    config: Option<PathBuf>,
    /// The pool of the configuration, if an option names it.
    pool: Option<String>,
    /// The changes that its router has taken since it was built.
    changes: Vec<Change>,
}

impl SetUp {
    /// Reads the set-up that the options describe.
    pub(crate) fn read(strategy: &StrategyArgs, nodes: &NodeArgs) -> Result<Self, Failure> {
        let setup = Self::build(Choice::read(strategy, nodes)?)?;
        Ok(Self {
            config: nodes.config.clone(),
            pool: nodes.pool.clone(),
            ..setup
        })
    }

    /// Builds the router of a choice with these nodes.
    pub(crate) fn build((choice, nodes): (Choice, Vec<Node>)) -> Result<Self, Failure> {
        let router = choice.build(&nodes)?;
        Ok(Self {
            choice,
            nodes,
            router,
            config: None,
            pool: None,
            changes: Vec::new(),
        })
    }

    /// Builds the set-up after the change, and describes the difference in words. What `target`
    /// does not mention stays as it is, unless a configuration or a spec states all.
    pub(crate) fn with(&self, target: &TargetArgs) -> Result<(Self, String), Failure> {
        if let Some((after, words)) = self.whole(target)? {
            return Ok((after, words));
        }
        let members = Members::read(self, target)?;
        let other = self.other(target)?;
        let is_other = other.is_some();
        let mut words: Vec<_> = members.changes.iter().map(ToString::to_string).collect();
        if let Some(other) = other.as_ref().filter(|_| target.is_other_setup()) {
            let before = self.choice.scheme.title();
            words.insert(0, format!("{before} to {}", in_words(other, target)));
        }
        let choice = other.unwrap_or_else(|| self.choice.clone());
        let choice = &choice.with_labels(&target.changes)?;
        let beside = members.beside(self, choice);
        if let Some(servers) = members.stated(choice) {
            // As a configuration, the list states all servers: their labels and order count.
            words.extend(beside);
            let bare = Choice::new(choice.scheme, choice.params().clone());
            let after = Self::build(bare.with_servers(servers)?)?;
            if words.is_empty() {
                words.push("no change of members".into());
            }
            let words = words.join(", ");
            return Ok((after, words));
        }
        let table = members.about_table(self, target, &beside);
        let nodes = members.nodes(self);
        let (router, changes) = if is_other && !choice.has_nodes() {
            words.extend(beside);
            (choice.build(&nodes)?, Vec::new())
        } else {
            // A choice with nodes of its own takes the changes, and ignores what else a list says.
            changes::note_unseen(members.option, &beside);
            let router = choice.after(&self.nodes, &members.changes)?;
            (router, members.changes)
        };
        words.extend(table);
        if words.is_empty() {
            words.push("no change".into());
        }
        let after = Self {
            choice: choice.clone(),
            nodes,
            router,
            config: None,
            pool: None,
            changes,
        };
        Ok((after, words.join(", ")))
    }

    /// Reads the set-up that a configuration or a spec states as a whole, and its name in words.
    fn whole(&self, target: &TargetArgs) -> Result<Option<(Self, String)>, Failure> {
        if let Some(path) = &target.to_spec {
            let after = Self::build(Choice::of_spec(files::read_spec(path, "--to-spec")?))?;
            return Ok(Some((after, format!("to {}", path.display()))));
        }
        let pool = target.to_pool.as_deref();
        let path = match (&target.to_config, pool) {
            (None, None) => return Ok(None),
            (Some(path), _) => path,
            (None, Some(_)) => self.config.as_ref().ok_or_else(|| {
                Failure::input("--to-pool: no configuration: expected --to-config, or --config")
            })?,
        };
        let dialect = match &target.to_dialect {
            Some(name) => compat::find(name)?,
            None if self.choice.scheme.is_dialect() => self.choice.scheme,
            None => {
                return Err(Failure::input(
                    "--to-config: no dialect: expected --to-dialect, which names the system",
                ));
            }
        };
        let options = Options::TO.like(self.pool.as_deref());
        let read = Choice::of_config(dialect, path, pool, options)?;
        let pool = pool.map_or_else(String::new, |pool| format!(", pool {pool}"));
        let words = format!("to {} of {}{pool}", dialect.title(), shown(path));
        Ok(Some((Self::build(read)?, words)))
    }

    /// Returns the changes that its router has taken since it was built.
    pub(crate) fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Returns everything that decides routes now; `None` if the strategy depends on the history of
    /// changes.
    pub(crate) fn setup(&self) -> Option<Setup> {
        let setup = self.choice.setup(&self.nodes);
        if !self.choice.scheme.is_dialect() {
            let params = setup.params().clone();
            return Setup::of_router(self.choice.scheme, &*self.router, params).ok();
        }
        if !self.choice.has_nodes() {
            return Some(setup);
        }
        let mut servers = setup.servers().to_vec();
        for change in &self.changes {
            Server::change(&mut servers, change);
        }
        Some(setup.with_members(servers))
    }

    /// Returns the choice for a router that is built anew; `None` if the old router takes the
    /// changes. A list states the nodes after the change as `route` would take them.
    fn other(&self, target: &TargetArgs) -> Result<Option<Choice>, Failure> {
        if target.is_other_setup() {
            return self.retuned(target).map(Some);
        }
        let list = Members::option(target);
        Ok(list.and_then(|_| self.choice.for_listed_nodes()))
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
        if let (true, Some((option, value))) = (scheme.is_dialect(), target.hash_option()) {
            return Err(Failure::Input(format!(
                "{option} {value}: a dialect hashes as its system does: expected --to-strategy, too"
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
        let hasher = match self.router.hash_id().hasher() {
            hasher if target.is_other_hash() => Some(hasher_after(hasher, target)?),
            hasher => hasher.filter(|_| !scheme.is_dialect()).cloned(),
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
    /// The nodes after the change, if an option lists them.
    list: Option<Vec<Server>>,
    /// The option that lists them.
    option: &'static str,
}

impl Members {
    /// Returns the option that lists the nodes after the change.
    fn option(target: &TargetArgs) -> Option<&'static str> {
        match target {
            TargetArgs {
                to_nodes: Some(_), ..
            } => Some("--to-nodes"),
            TargetArgs {
                to_count: Some(_), ..
            } => Some("--to-count"),
            TargetArgs {
                to_nodes_file: Some(_),
                ..
            } => Some("--to-nodes-file"),
            _ => None,
        }
    }

    fn list(target: &TargetArgs) -> Result<Option<Vec<Server>>, Failure> {
        Ok(Some(if let Some(list) = &target.to_nodes {
            nodes::from_list(list, "--to-nodes")?
        } else if let Some(count) = target.to_count {
            let nodes = nodes::counted(count as usize).into_iter();
            nodes.map(Server::from).collect()
        } else if let Some(path) = &target.to_nodes_file {
            nodes::servers_of(path, "--to-nodes-file")?
        } else {
            return Ok(None);
        }))
    }

    /// Reads the changes of the nodes. A target that changes nothing is an error.
    fn read(before: &SetUp, target: &TargetArgs) -> Result<Self, Failure> {
        let list = Self::list(target)?;
        let changes = match &list {
            Some(list) => changes::between(&before.nodes, &plain(list)),
            None => before.choice.resolve(&before.nodes, &target.changes)?,
        };
        if changes.is_empty() && list.is_none() && !target.is_other_setup() {
            return Err(Failure::input(
                "nothing changes: expected --add, --remove, --reweight, --to-nodes, --to-count, --to-nodes-file, --to-config, --to-pool, --to-spec, --to-strategy, --to-dialect, --to-set or --to-hash",
            ));
        }
        changes::check(&before.nodes, &changes)?;
        Ok(Self {
            changes,
            list,
            option: Self::option(target).unwrap_or_default(),
        })
    }

    /// Says in words which table a strategy with one has after a list of nodes.
    fn about_table(
        &self,
        before: &SetUp,
        target: &TargetArgs,
        beside: &[String],
    ) -> Option<String> {
        let scheme = before.choice.scheme;
        let keeps = matches!(scheme.agree(), Agree::Table | Agree::History);
        let changes = !self.changes.is_empty() || !beside.is_empty();
        if !keeps || !changes || self.list.is_none() || target.is_other_setup() {
            return None;
        }
        Some(if before.choice.has_nodes() {
            "in the table from before, not in a new one as route builds it".into()
        } else {
            "in a new table, as route builds it (--add and --remove keep the old table)".into()
        })
    }

    /// Says in words what the list changes besides members and weights.
    fn beside(&self, before: &SetUp, after: &Choice) -> Vec<String> {
        let order = after.scheme.minds_order();
        let beside = |list: Vec<Node>| changes::beside(&before.nodes, &self.changes, &list, order);
        self.list
            .as_deref()
            .map(plain)
            .map_or_else(Vec::new, beside)
    }

    /// Returns the servers of a list if labels count on either side.
    fn stated(&self, choice: &Choice) -> Option<Vec<Server>> {
        let list = self.list.as_ref().filter(|_| choice.scheme.is_dialect())?;
        let counts = choice.has_nodes() || list.iter().any(|server| server.own_label().is_some());
        counts.then(|| list.clone())
    }

    fn nodes(self: &Members, before: &SetUp) -> Vec<Node> {
        let changed = || changes::after(before.nodes.clone(), &self.changes);
        self.list.as_deref().map_or_else(changed, plain)
    }
}

fn plain(servers: &[Server]) -> Vec<Node> {
    servers.iter().map(Server::to_node).collect()
}

/// Returns the hash after the change. The seed, key and tag from before stay, as far as the new
/// hash takes them and no option replaces them.
fn hasher_after(before: Option<&KeyHasher>, target: &TargetArgs) -> Result<KeyHasher, Failure> {
    let before = before.cloned().unwrap_or_default();
    let mut hasher = function_after(&before, target)?;
    if let Some(text) = &target.to_hash_seed {
        let function = hasher.function();
        let seeded = hasher.with_seed(seed("--to-hash-seed", text)?);
        hasher = seeded.map_err(|_| {
            let takes = function.secret();
            let name = function.name();
            Failure::Input(format!(
                "--to-hash-seed {text}: {name} takes {takes}: expected another --to-hash, or such a seed"
            ))
        })?;
    }
    match target.to_hash_tag.as_deref() {
        None => Ok(hasher),
        Some("none") => Ok(hasher.without_tag()),
        Some(text) => match text.parse::<HashTag>() {
            Ok(tag) => Ok(hasher.with_tag(tag)),
            Err(Error::Parameter { expected, .. }) => Err(Failure::Input(format!(
                "--to-hash-tag {text}: expected {expected}, or none"
            ))),
            Err(error) => Err(error.into()),
        },
    }
}

/// Returns the function after the change with its secret and the tag from before.
fn function_after(before: &KeyHasher, target: &TargetArgs) -> Result<KeyHasher, Failure> {
    let Some(name) = &target.to_hash else {
        return Ok(before.clone());
    };
    let function: HashFunction = name.parse()?;
    let Some(key) = target.to_hash_key.as_deref() else {
        return kept(before, function, target.to_hash_seed.is_some());
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
/// With `seeded`, an option gives another seed.
fn kept(before: &KeyHasher, function: HashFunction, seeded: bool) -> Result<KeyHasher, Failure> {
    let name = function.name();
    let needs_key = function.secret() == Secret::Key128;
    if needs_key && before.function().secret() != Secret::Key128 {
        return Err(Failure::Input(format!(
            "--to-hash {name}: no secret key to keep: expected --to-hash-key, too"
        )));
    }
    if seeded {
        let hasher = KeyHasher::new(function);
        return Ok(before
            .tag()
            .map_or(hasher.clone(), |tag| hasher.with_tag(tag)));
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
    words.extend(
        target
            .to_hash_seed
            .iter()
            .map(|seed| format!("hash seed {seed}")),
    );
    words.extend(
        target
            .to_hash_tag
            .iter()
            .map(|tag| format!("hash tag {tag}")),
    );
    words.join(" ")
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
