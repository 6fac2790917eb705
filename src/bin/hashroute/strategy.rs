//! The strategy or dialect with its parameters and its key hash.

use hashroute::compat::{self, Config, Dialect, Server};
use hashroute::harness::{Recipe, skew};
use hashroute::strategy::{self, Agree, Param, Params, Strategy};
use hashroute::{
    Change, Error, HashFunction, HashTag, KeyHasher, Node, NodeId, Router, Spec, Spread,
};

use crate::args::{NodeArgs, StrategyArgs, TuningArgs};
use crate::failure::Failure;
use crate::{config, nodes, text, units};

/// What routes: a strategy, a dialect, a pool of a real configuration, or what a spec says.
#[derive(Clone, Debug)]
pub(crate) enum Way {
    Strategy(&'static Strategy),
    Dialect(&'static Dialect),
    Config(Box<Config>),
    Spec(Box<Spec>),
}

impl Way {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Strategy(strategy) => strategy.name,
            Self::Dialect(dialect) => dialect.name,
            Self::Config(config) => config.dialect().name,
            Self::Spec(spec) => spec.name(),
        }
    }

    pub(crate) fn is_dialect(&self) -> bool {
        match self {
            Self::Strategy(_) => false,
            Self::Dialect(_) | Self::Config(_) => true,
            Self::Spec(spec) => spec.strategy().is_none(),
        }
    }

    fn params(&self) -> &'static [Param] {
        match self {
            Self::Strategy(strategy) => strategy.params,
            Self::Dialect(dialect) => dialect.params,
            Self::Config(_) | Self::Spec(_) => &[],
        }
    }
}

/// What routes, and all that it is built with.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) way: Way,
    pub(crate) params: Params,
}

impl Recipe for Choice {
    fn make(&self, nodes: Vec<Node>, params: &Params) -> Result<Box<dyn Router>, Error> {
        match &self.way {
            Way::Strategy(strategy) => strategy.make(nodes, params),
            Way::Dialect(dialect) => dialect.make(nodes, params),
            // It brings its own nodes, with what the system says of them beside.
            Way::Config(config) => Ok(Box::new(config.build()?)),
            Way::Spec(spec) => spec.build(),
        }
    }
}

impl Choice {
    /// What routes, and the nodes.
    pub(crate) fn read(
        args: &StrategyArgs,
        nodes: &NodeArgs,
    ) -> Result<(Self, Vec<Node>), Failure> {
        if let Some(path) = &args.spec {
            let spec = Box::new(text::read_spec(path, "--spec")?);
            let (params, nodes) = (spec.params(), spec.nodes());
            let way = Way::Spec(spec);
            return Ok((Self { way, params }, nodes));
        }
        let choice = Self::of(args)?;
        let (Way::Dialect(dialect), Some(path)) = (&choice.way, &nodes.config) else {
            return Ok((choice, nodes::read(nodes)?));
        };
        if !args.tuning.set.is_empty() {
            return Err(Failure::input(
                "--set: the configuration says all; expected --config or --set, not both",
            ));
        }
        let config = config::read(dialect, path, nodes.pool.as_deref())?;
        let nodes = config.servers().iter().map(Server::to_node).collect();
        let way = Way::Config(Box::new(config));
        Ok((Self { way, ..choice }, nodes))
    }

    /// What routes, for nodes that come another way than from its configuration.
    pub(crate) fn of(args: &StrategyArgs) -> Result<Self, Failure> {
        let way = match &args.tuning.dialect {
            None => Way::Strategy(strategy::find(&args.strategy)?),
            Some(name) => Way::Dialect(compat::find(name)?),
        };
        let mut choices = choose(&[way], &args.tuning)?;
        choices
            .pop()
            .ok_or_else(|| Failure::input("--strategy: no strategy"))
    }

    pub(crate) fn build(&self, nodes: Vec<Node>) -> Result<Box<dyn Router>, Failure> {
        self.make(nodes, &self.params)
            .map_err(|error| self.refusal(&error))
    }

    /// What is to be explained: these nodes, and these other numbers of nodes where any are named.
    pub(crate) fn skew<'a>(
        &'a self,
        nodes: &'a [Node],
        counts: Option<&'a nodes::Counts>,
    ) -> skew::Diagnosis<'a> {
        skew::Diagnosis {
            name: self.way.name(),
            recipe: self,
            params: &self.params,
            nodes,
            node_counts: counts.map_or(&[], |counts| &counts.numbers),
        }
    }

    /// The same over any list of nodes; `None` where something beside the list decides: a table,
    /// a history, or what a configuration says of its servers.
    pub(crate) fn for_any_nodes(&self) -> Option<Self> {
        let strategy = match &self.way {
            Way::Strategy(strategy) => strategy,
            Way::Spec(spec) => spec.strategy()?,
            Way::Dialect(_) => return Some(self.clone()),
            Way::Config(_) => return None,
        };
        let decides = matches!(strategy.caps.agree, Agree::Table | Agree::History);
        (!decides).then(|| Self {
            way: Way::Strategy(strategy),
            params: self.params.clone(),
        })
    }

    /// The strategy or dialect alone with all its parameters, whoever says them.
    pub(crate) fn base(&self) -> Result<Self, Failure> {
        let (way, params) = match &self.way {
            Way::Strategy(_) | Way::Dialect(_) => return Ok(self.clone()),
            Way::Config(config) => (Way::Dialect(config.dialect()), config.params().clone()),
            Way::Spec(spec) => {
                let way = match spec.strategy() {
                    Some(strategy) => Way::Strategy(strategy),
                    None => Way::Dialect(compat::find(spec.name())?),
                };
                (way, spec.params())
            }
        };
        Ok(Self { way, params })
    }

    /// The same with these parameters and this hash, and with all that is said of its nodes.
    pub(crate) fn with_params(&self, params: Params) -> Result<Self, Failure> {
        let way = if self.has_nodes() && self.for_any_nodes().is_none() {
            let spec = self.spec(Vec::new())?.with_params(&params);
            Way::Spec(Box::new(spec.map_err(|error| self.refusal(&error))?))
        } else {
            self.base()?.way
        };
        Ok(Self { way, params })
    }

    /// Whether it brings its own nodes.
    pub(crate) fn has_nodes(&self) -> bool {
        matches!(self.way, Way::Config(_) | Way::Spec(_))
    }

    /// Whether the order of the nodes decides routes.
    pub(crate) fn minds_order(&self) -> bool {
        let strategy = strategy::find(self.way.name());
        strategy.is_ok_and(|one| !matches!(one.caps.agree, Agree::Set | Agree::Load))
            || self.way.is_dialect()
    }

    /// All of it, with these nodes.
    pub(crate) fn spec(&self, nodes: Vec<Node>) -> Result<Spec, Failure> {
        let spec = match &self.way {
            Way::Strategy(strategy) => Spec::new(strategy, nodes, &self.params),
            Way::Dialect(dialect) => Spec::of_dialect(dialect, nodes, &self.params),
            Way::Config(config) => {
                let servers = config.servers().iter().cloned();
                Spec::of_dialect(config.dialect(), servers, config.params())
            }
            Way::Spec(spec) => Ok((**spec).clone()),
        };
        spec.map_err(|error| self.refusal(&error))
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
            other => format!("{}: {other}", self.what()),
        })
    }

    /// The label of a server of the configuration, where it is not its name.
    pub(crate) fn label(&self, name: &str) -> Option<&str> {
        let mut servers = self.servers().iter();
        let server = servers.find(|server| server.name() == name)?;
        server.own_label().filter(|label| *label != name)
    }

    fn servers(&self) -> &[Server] {
        match &self.way {
            Way::Config(config) => config.servers(),
            Way::Spec(spec) => spec.servers(),
            Way::Strategy(_) | Way::Dialect(_) => &[],
        }
    }

    /// The changes with the names of servers that they call by their labels.
    pub(crate) fn resolve(&self, changes: &[Change]) -> Vec<Change> {
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

    /// How many keys have no node, and why.
    pub(crate) fn unplaced(&self, keys: u64, weight: bool) -> String {
        unplaced(self.way.name(), keys, weight)
    }

    pub(crate) fn what(&self) -> String {
        let kind = if self.way.is_dialect() {
            "dialect"
        } else {
            "strategy"
        };
        format!("{kind} {}", self.way.name())
    }
}

/// How many keys the strategy or dialect of this name gave no node, and why.
pub(crate) fn unplaced(name: &str, keys: u64, weight: bool) -> String {
    let why = match strategy::find(name) {
        _ if !weight => "no node has weight",
        Ok(_) => "no node has room",
        Err(_) => "the system does not route them by their bytes, or to a node that is down",
    };
    format!("{} went nowhere: {why}.", units::counted(keys, "key"))
}

/// The preference list of a key; empty when the key has no place, though a router that is full
/// still has an order of preference.
pub(crate) fn replicas(router: &dyn Router, key: &[u8], n: u32, spread: Spread) -> Vec<NodeId> {
    if router.hasher().is_none() && router.route(key).is_none() {
        return Vec::new();
    }
    let hash = router.hash_key(key);
    match router.route_hash(hash) {
        Some(_) => router
            .replicas(hash, n as usize, spread)
            .into_iter()
            .collect(),
        None => Vec::new(),
    }
}

/// Each of the ways with those parameters that it knows; each parameter must be known to one of
/// them.
pub(crate) fn choose(ways: &[Way], args: &TuningArgs) -> Result<Vec<Choice>, Failure> {
    let settings = settings(ways, &args.set)?;
    let base = hasher(args)?.map_or_else(Params::default, |hasher| {
        Params::default().with_hasher(hasher)
    });
    let choice = |way: &Way| {
        let known = settings.iter().filter(|(name, _)| knows(way, name));
        let params = known.fold(base.clone(), |params, (name, value)| {
            params.with(*name, *value)
        });
        Choice {
            way: way.clone(),
            params,
        }
    };
    Ok(ways.iter().map(choice).collect())
}

pub(crate) fn settings<'a>(
    ways: &[Way],
    set: &'a [String],
) -> Result<Vec<(&'a str, &'a str)>, Failure> {
    let setting = |text: &'a String| {
        let wrong = |reason: String| Failure::Input(format!("--set {text}: {reason}"));
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| wrong("no '=': expected KEY=VALUE, such as points=160".into()))?;
        if ways.iter().any(|way| knows(way, name)) {
            return Ok((name, value));
        }
        Err(wrong(format!(
            "unknown parameter \"{name}\": {}",
            known(ways)
        )))
    };
    set.iter().map(setting).collect()
}

fn knows(way: &Way, name: &str) -> bool {
    way.params().iter().any(|param| param.name == name)
}

/// "expected points (ring); load, cap, points (bounded)".
fn known(ways: &[Way]) -> String {
    let with_params = ways.iter().filter(|way| !way.params().is_empty());
    let list = |way: &Way| {
        let names: Vec<_> = way.params().iter().map(|param| param.name).collect();
        format!("{} ({})", names.join(", "), way.name())
    };
    let lists: Vec<_> = with_params.map(list).collect();
    match (lists.as_slice(), ways) {
        ([], [way]) => format!("{} takes none", way.name()),
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
        hasher = hasher
            .with_key(key_bytes("--hash-key", text)?)
            .map_err(about_hash)?;
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
pub(crate) fn key_bytes(option: &str, text: &str) -> Result<[u8; 16], Failure> {
    let is_hex = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = if is_hex {
        u128::from_str_radix(text, 16).ok()
    } else {
        None
    };
    number.map(u128::to_be_bytes).ok_or_else(|| {
        let count = text.chars().count();
        Failure::Input(format!(
            "{option}: expected 32 hexadecimal digits, which are 16 bytes; got {count} characters"
        ))
    })
}
