//! The strategy or dialect that the options choose, with its parameters and its key hash.

use std::collections::BTreeMap;
use std::path::Path;

use hashroute::hash::Secret;
use hashroute::registry::{Agree, KeySource, Params, Scheme, Setup};
use hashroute::{
    Change, Error, HashFunction, HashTag, KeyHasher, Node, NodeList, Router, RouterExt, Server,
    Spec, Spread, compat, strategy,
};
use hashroute_harness::text::printable;

use super::{config, files, nearest, nodes};
use crate::args::{ChangeArgs, NodeArgs, StrategyArgs, TuningArgs};
use crate::failure::{Asked, Failure};
use crate::synonyms::{self, Kind};
use crate::units;

/// The option that sets parameters.
const SET: &str = "--set";

/// A strategy or dialect with its parameters, and with its nodes if a configuration or a spec lists
/// them.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) scheme: &'static Scheme,
    params: Params,
    own: Option<Box<Spec>>,
    /// The labels of nodes that a change adds, by name.
    labels: BTreeMap<String, String>,
    /// The option that sets parameters, for errors about them.
    set_by: &'static str,
    /// What the system hashes of a request, if a configuration says so.
    key_source: Option<KeySource>,
}

impl Choice {
    /// Reads the choice and the nodes from the options.
    pub(crate) fn read(
        args: &StrategyArgs,
        nodes: &NodeArgs,
    ) -> Result<(Self, Vec<Node>), Failure> {
        if let Some(path) = &args.spec {
            return Ok(Self::of_spec(files::read_spec(path, "--spec")?));
        }
        let choice = Self::of(args)?;
        if let (false, Some(path)) = (choice.scheme.is_dialect(), &nodes.config) {
            return Err(config::without_dialect(path));
        }
        let (true, Some(path)) = (choice.scheme.is_dialect(), &nodes.config) else {
            return choice.with_servers(nodes::servers(nodes)?);
        };
        if !args.tuning.set.is_empty() {
            return Err(Failure::input(
                "--set: the configuration has all parameters: expected --config or --set, not both",
            ));
        }
        let pool = nodes.pool.as_deref();
        Self::of_config(choice.scheme, path, pool, config::Options::FROM)
    }

    /// Reads the choice and the servers of a dialect from a configuration.
    pub(crate) fn of_config(
        dialect: &'static Scheme,
        path: &Path,
        pool: Option<&str>,
        options: config::Options<'_>,
    ) -> Result<(Self, Vec<Node>), Failure> {
        let config = config::read(dialect, path, pool, options)?;
        let refused = |error| Self::new(dialect, Params::default()).refusal(error);
        let spec = Spec::of_setup(config.setup()?).map_err(refused)?;
        let (choice, nodes) = Self::of_spec(spec.0);
        let key_source = config.key_source().cloned();
        Ok((
            Self {
                key_source,
                ..choice
            },
            nodes,
        ))
    }

    /// Returns what the system hashes of a request, if a configuration says so.
    pub(crate) fn key_source(&self) -> Option<&KeySource> {
        self.key_source.as_ref()
    }

    /// Says which key to give, if a configuration says what is hashed.
    pub(crate) fn key_note(&self) -> Option<String> {
        let source = self.key_source()?;
        let (text, key) = (printable(&source.text), printable(&source.key));
        let system = self.scheme.name;
        Some(format!("{system} hashes {text}: the key here is {key}"))
    }

    /// Takes these servers. If some have labels, they become its own, as those of a configuration.
    pub(crate) fn with_servers(self, servers: Vec<Server>) -> Result<(Self, Vec<Node>), Failure> {
        let Some(labelled) = servers.iter().find(|server| server.own_label().is_some()) else {
            return Ok((self, servers.iter().map(Server::to_node).collect()));
        };
        self.refuse_labels(labelled.name())?;
        let setup = Setup::new(self.scheme, servers, self.params.clone());
        let spec = Spec::of_setup(setup).map_err(|error| self.refusal(error))?;
        Ok(Self::of_spec(spec.0))
    }

    fn refuse_labels(&self, name: &str) -> Result<(), Failure> {
        if self.scheme.is_dialect() {
            return Ok(());
        }
        Err(Failure::Input(format!(
            "{name}: a label: {} hashes names, only a dialect has labels",
            self.scheme.title()
        )))
    }

    /// Takes the labels of nodes that these changes add.
    pub(crate) fn with_labels(self, changes: &ChangeArgs) -> Result<Self, Failure> {
        if let Some(name) = changes.1.keys().next() {
            self.refuse_labels(name)?;
        }
        Ok(Self {
            labels: changes.1.clone(),
            ..self
        })
    }

    /// Returns the choice that a spec states, and its nodes.
    pub(crate) fn of_spec(spec: Spec) -> (Self, Vec<Node>) {
        let nodes = spec.nodes();
        let choice = Self {
            scheme: spec.scheme(),
            params: spec.params(),
            own: Some(Box::new(spec)),
            labels: BTreeMap::new(),
            set_by: SET,
            key_source: None,
        };
        (choice, nodes)
    }

    /// Reads the choice alone: the nodes come from elsewhere, and `--config` is ignored.
    pub(crate) fn of(args: &StrategyArgs) -> Result<Self, Failure> {
        let scheme = match &args.tuning.dialect {
            None => strategy::find(&args.strategy)?,
            Some(name) => compat::find(name)?,
        };
        let mut choices = choose(&[scheme], &args.tuning)?;
        choices
            .pop()
            .ok_or_else(|| Failure::input("--strategy: no strategy"))
    }

    /// Creates a choice without nodes of its own.
    pub(crate) fn new(scheme: &'static Scheme, params: Params) -> Self {
        Self {
            scheme,
            params,
            own: None,
            labels: BTreeMap::new(),
            set_by: SET,
            key_source: None,
        }
    }

    /// Sets the option that errors about parameters name.
    pub(crate) fn set_by(self, option: &'static str) -> Self {
        Self {
            set_by: option,
            ..self
        }
    }

    /// Returns the name, with `dialect:` if a strategy has the same name.
    pub(crate) fn name(&self) -> String {
        hashroute::scheme_name(self.scheme)
    }

    /// Returns the parameters and the key hash.
    pub(crate) fn params(&self) -> &Params {
        &self.params
    }

    /// Returns everything that decides routes, with its own nodes or, if it has none, with `nodes`.
    pub(crate) fn setup(&self, nodes: &[Node]) -> Setup {
        match &self.own {
            Some(spec) => spec.setup().clone(),
            None => Setup::new(self.scheme, nodes.iter().cloned(), self.params.clone()),
        }
    }

    /// Builds the router.
    pub(crate) fn build(&self, nodes: &[Node]) -> Result<Box<dyn Router>, Failure> {
        self.setup(nodes)
            .build()
            .map_err(|error| self.refusal(error))
    }

    /// Builds the router and applies the changes.
    pub(crate) fn after(
        &self,
        nodes: &[Node],
        changes: &[Change],
    ) -> Result<Box<dyn Router>, Failure> {
        let refused = |error| self.refusal(error);
        if !self.labels.is_empty() {
            return self.labelled(self.setup(nodes), changes);
        }
        let mut router = self.setup(nodes).build().map_err(refused)?;
        for change in changes {
            router.apply(change).map_err(refused)?;
        }
        Ok(router)
    }

    /// Builds the router after the changes, with the labels of the nodes that they add.
    fn labelled(&self, mut setup: Setup, changes: &[Change]) -> Result<Box<dyn Router>, Failure> {
        let refused = |error| self.refusal(error);
        for change in changes {
            setup.apply(change).map_err(refused)?;
        }
        self.relabelled(&setup).build().map_err(refused)
    }

    /// Gives the nodes of a spec the labels that the changes give them.
    pub(crate) fn label_spec(&self, spec: Spec) -> Result<Spec, Failure> {
        if self.labels.is_empty() {
            return Ok(spec);
        }
        let labelled = Spec::of_setup(self.relabelled(spec.setup()));
        let labelled = labelled.and_then(|(labelled, _)| labelled.with_epoch(spec.epoch()));
        labelled.map_err(|error| self.refusal(error))
    }

    fn relabelled(&self, setup: &Setup) -> Setup {
        let label = |server: &Server| match self.labels.get(server.name()) {
            Some(label) => server.clone().with_label(label.as_str()),
            None => server.clone(),
        };
        let servers: Vec<_> = setup.servers().iter().map(label).collect();
        Setup::new(setup.scheme(), servers, setup.params().clone())
    }

    /// Returns the choice without its own nodes. `None` if more than the list of nodes decides
    /// routes: a table, a history, or what a configuration says about its servers.
    pub(crate) fn for_any_nodes(&self) -> Option<Self> {
        let decides = matches!(self.scheme.agree(), Agree::Table | Agree::History)
            || (self.has_nodes() && self.scheme.is_dialect());
        (!decides).then(|| Self::new(self.scheme, self.params.clone()))
    }

    /// Returns the choice for nodes that a list states: without a table or a history, unless a spec
    /// or a configuration states one.
    pub(crate) fn for_listed_nodes(&self) -> Option<Self> {
        let fresh = || Self::new(self.scheme, self.params.clone());
        let fresh = (!self.has_nodes()).then(fresh);
        fresh.or_else(|| self.for_any_nodes())
    }

    /// Replaces the parameters and the hash, and keeps what is known about its nodes.
    pub(crate) fn with_params(&self, params: Params) -> Result<Self, Failure> {
        let own = match &self.own {
            Some(spec) if self.for_any_nodes().is_none() => {
                let spec = spec.with_params(&params);
                Some(Box::new(spec.map_err(|error| self.refusal(error))?))
            }
            _ => None,
        };
        Ok(Self {
            scheme: self.scheme,
            params,
            own,
            labels: self.labels.clone(),
            set_by: self.set_by,
            key_source: self.key_source.clone(),
        })
    }

    /// Returns whether it has nodes of its own.
    pub(crate) fn has_nodes(&self) -> bool {
        self.own.is_some()
    }

    /// Returns it as a spec, with its own nodes or, if it has none, with `nodes`.
    pub(crate) fn spec(&self, nodes: &[Node]) -> Result<Spec, Failure> {
        if let Some(spec) = &self.own {
            return Ok((**spec).clone());
        }
        let spec = Spec::new(self.scheme, nodes.iter().cloned(), &self.params);
        spec.map_err(|error| self.refusal(error))
    }

    /// Makes a failure that names the option that caused the error, or else the strategy.
    pub(crate) fn refusal(&self, error: Error) -> Failure {
        let asked = Asked::Set {
            option: self.set_by,
            title: self.scheme.title(),
        };
        asked.refused(error)
    }

    /// Returns the label that the configuration gives a server, if it differs from the name.
    pub(crate) fn label(&self, name: &str) -> Option<&str> {
        let mut servers = self.servers().iter();
        let server = servers.find(|server| server.name() == name);
        let added = || self.labels.get(name).map(String::as_str);
        let label = server.map_or_else(added, Server::own_label);
        label.filter(|label| *label != name)
    }

    fn servers(&self) -> &[Server] {
        self.own.as_ref().map_or(&[], |spec| spec.servers())
    }

    /// Returns the labels that differ from the names, by name.
    pub(crate) fn labels(&self) -> BTreeMap<String, String> {
        let own = self.servers().iter().filter_map(|server| {
            let label = server.own_label()?;
            Some((server.name().to_owned(), label.to_owned()))
        });
        let all = self.labels.clone().into_iter().chain(own);
        all.filter(|(name, label)| name != label).collect()
    }

    /// Returns the changes that the options ask for, among these nodes: lists of names are split,
    /// and labels are replaced by names. Notes nodes that get no label where others have one.
    pub(crate) fn resolve(
        &self,
        nodes: &[Node],
        changes: &ChangeArgs,
    ) -> Result<Vec<Change>, Failure> {
        let split = super::changes::split(nodes, &changes.0)?;
        let example = self.servers().iter().find_map(Server::own_label);
        if let Some(example) = example.filter(|_| self.scheme.is_dialect()) {
            for change in &split {
                match change {
                    Change::Add(node) if !changes.1.contains_key(node.name()) => eprintln!(
                        "note: --add {name}: no label: it is hashed as {name}, where others have labels such as {example}; expected --add ADDRESS={weight},label=NAME",
                        name = printable(node.name()),
                        weight = node.weight(),
                        example = printable(example),
                    ),
                    _ => {}
                }
            }
        }
        Ok(self.by_name(&split))
    }

    /// Replaces labels of servers in the changes by their names.
    fn by_name(&self, changes: &[Change]) -> Vec<Change> {
        let added = |name: &str| {
            let mut changes = changes.iter();
            changes.any(|change| matches!(change, Change::Add(node) if node.name() == name))
        };
        let named = |label: &str| {
            if added(label) || self.servers().iter().any(|server| server.name() == label) {
                return None;
            }
            let mut servers = self.servers().iter();
            let mut fitting = servers
                .by_ref()
                .filter(|one| one.own_label() == Some(label));
            let server = fitting.next()?;
            fitting.next().is_none().then(|| server.name().to_owned())
        };
        let resolved = |change: &Change| match change {
            Change::Remove(name) => named(name).map(Change::remove),
            Change::Reweight(name, weight) => {
                named(name).map(|name| Change::reweight(name, *weight))
            }
            _ => None,
        };
        let all = changes.iter();
        all.map(|change| resolved(change).unwrap_or_else(|| change.clone()))
            .collect()
    }

    /// Says how many keys have no node, and why.
    pub(crate) fn unplaced(&self, keys: u64, weight: bool) -> String {
        unplaced(self.scheme.is_dialect(), keys, weight)
    }
}

/// Says how many keys have no node, and why.
pub(crate) fn unplaced(is_dialect: bool, keys: u64, weight: bool) -> String {
    let why = match is_dialect {
        _ if !weight => "no node has weight",
        false => "no node has room",
        true => {
            "the system does not route them by their bytes, or routes them to a node that is down"
        }
    };
    format!("{} without a node: {why}.", units::counted(keys, "key"))
}

/// Returns the replicas of a key. The list is empty if the key has no owner, even if the router,
/// being full, still has an order of preference.
pub(crate) fn replicas(router: &dyn Router, key: &[u8], n: u32, spread: Spread) -> NodeList {
    match router.owner(key) {
        Some(_) => router.replicas(key, n as usize, spread),
        None => NodeList::new(),
    }
}

/// Returns a choice for each strategy, with the parameters that it knows. Each parameter must be
/// known to at least one of them.
pub(crate) fn choose(
    schemes: &[&'static Scheme],
    args: &TuningArgs,
) -> Result<Vec<Choice>, Failure> {
    let settings = settings(schemes, SET, &args.set)?;
    let base = hasher(args)?.map_or_else(Params::default, |hasher| {
        Params::default().with_hasher(hasher)
    });
    let choice = |scheme: &&'static Scheme| {
        let known = settings
            .iter()
            .filter_map(|(name, value)| Some((param(scheme, name)?, *value)));
        let params = known.fold(base.clone(), |params, (name, value)| {
            params.with(name, value)
        });
        Choice::new(scheme, params)
    };
    Ok(schemes.iter().map(choice).collect())
}

/// Parses `KEY=VALUE` parameters of `option`. Each must be known to one of the strategies; names
/// are as the first of them has them.
pub(crate) fn settings<'a>(
    schemes: &[&Scheme],
    option: &str,
    set: &'a [String],
) -> Result<Vec<(&'static str, &'a str)>, Failure> {
    let setting = |text: &'a String| {
        let wrong = |reason: String| Failure::Input(format!("{option} {text}: {reason}"));
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| wrong("no '=': expected KEY=VALUE, such as points=160".into()))?;
        if let Some(name) = schemes.iter().find_map(|scheme| param(scheme, name)) {
            return Ok((name, value));
        }
        let meant = synonyms::meanings(Kind::Parameter, name)
            .find_map(|meant| schemes.iter().find_map(|scheme| param(scheme, meant)));
        let meant = meant.map(|meant| format!("did you mean {option} {meant}={value}?"));
        let hint = meant.or_else(|| {
            let params = schemes.iter().flat_map(|scheme| scheme.params);
            nearest::hint(name, params.map(|param| param.name))
        });
        let wrong = wrong(format!("unknown parameter \"{name}\": {}", known(schemes)));
        Err(wrong.with_hint(hint))
    };
    set.iter().map(setting).collect()
}

/// Returns the parameter of this name; `-` and `_`, and cases, are alike.
fn param(scheme: &Scheme, name: &str) -> Option<&'static str> {
    let names = || scheme.params.iter().map(|param| param.name);
    let alike = || {
        let typed = synonyms::plain(name);
        names().find(|name| synonyms::plain(name) == typed)
    };
    names().find(|known| *known == name).or_else(alike)
}

/// Lists the known parameters: "expected points (ring); load, cap, points (bounded)".
fn known(schemes: &[&Scheme]) -> String {
    let with_params = schemes.iter().filter(|scheme| !scheme.params.is_empty());
    let list = |scheme: &&Scheme| {
        let names: Vec<_> = scheme.params.iter().map(|param| param.name).collect();
        format!("{} ({})", names.join(", "), scheme.name)
    };
    let lists: Vec<_> = with_params.map(list).collect();
    match (lists.as_slice(), schemes) {
        ([], [scheme]) => format!("{} takes none", scheme.name),
        ([], _) => "these strategies take none".into(),
        _ => format!("expected {}", lists.join("; ")),
    }
}

/// Reads the key hash, if any option sets it.
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
        hasher = hasher
            .with_seed(seed("--hash-seed", text)?)
            .map_err(|error| Asked::Named.refused(error))?;
    }
    if let Some(text) = hash_key {
        let key = key_bytes("--hash-key", text)?;
        hasher = hasher.with_key(key).map_err(|_| {
            let seed = match function.secret() {
                Secret::Seed32 | Secret::Seed64 => "--hash-seed, or ",
                _ => "",
            };
            let name = function.name();
            Failure::Input(format!(
                "--hash-key: {name} takes no key: use {seed}--hash sip13"
            ))
        })?;
    }
    if let Some(text) = hash_tag {
        hasher = hasher.with_tag(
            text.parse::<HashTag>()
                .map_err(|error| Asked::Named.refused(error))?,
        );
    }
    Ok(Some(hasher))
}

/// Parses a seed. Errors name `option`.
pub(crate) fn seed(option: &str, text: &str) -> Result<u64, Failure> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| {
        Failure::Input(format!(
            "{option} {text}: expected a whole number from 0 to 2^64 - 1, decimal or 0x..."
        ))
    })
}

/// Parses a secret key. The message does not show the text: it may be almost the right key, and
/// many people read logs.
pub(crate) fn key_bytes(option: &str, text: &str) -> Result<[u8; 16], Failure> {
    let is_hex = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = if is_hex {
        u128::from_str_radix(text, 16).ok()
    } else {
        None
    };
    number.map(u128::to_be_bytes).ok_or_else(|| {
        let count = text.chars().count();
        let wrong = text.chars().position(|c| !c.is_ascii_hexdigit());
        let found = match wrong.filter(|_| count == 32) {
            Some(at) => format!("character {} that is no such digit", at + 1),
            None => format!("{count} characters"),
        };
        Failure::Input(format!(
            "{option}: expected 32 hexadecimal digits (16 bytes), found {found}"
        ))
    })
}
