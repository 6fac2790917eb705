//! The settings of another system that keep most keys on their node.

use std::collections::BTreeMap;

use hashroute::registry::{Params, Scheme, Setup};
use hashroute::{RouterExt, Server, Spec};
use hashroute_harness::Keys;

use super::setup::SetUp;
use super::strategy::Choice;
use crate::failure::Failure;
use crate::units;

/// The most settings that people see.
pub(crate) const SHOWN: usize = 5;

/// The most combinations of settings that are tried.
const MOST: usize = 1 << 12;

/// The number of keys that rank all combinations. The best of them are counted with all keys.
const FEW: usize = 1 << 11;

/// The number of combinations that are counted with all keys.
const FINAL: usize = 16;

/// The number of sample keys, if there are no others.
const SAMPLE: u64 = 1 << 16;

/// A combination of settings.
pub(crate) struct Tried {
    /// The settings in words.
    pub(crate) settings: String,
    /// The share of keys that stay on their node.
    pub(crate) kept: f64,
    /// The share that would stay if the two hashes had nothing in common, given the keys that each
    /// node has on both sides.
    pub(crate) luck: f64,
    /// The keys of the busiest node after the change, relative to its fair share.
    pub(crate) busiest: f64,
    /// The number of keys that this was counted with.
    pub(crate) keys: u64,
    setup: Setup,
}

/// The combinations that were tried, the best first.
pub(crate) struct Best {
    pub(crate) tried: Vec<Tried>,
    /// The number of combinations that the system takes.
    pub(crate) count: usize,
    /// The share of keys that stay by luck, whatever the hash is.
    pub(crate) chance: f64,
    given: bool,
    winner: SetUp,
}

impl Best {
    /// Returns the set-up that keeps most keys.
    pub(crate) fn first(&self) -> &SetUp {
        &self.winner
    }

    /// Says how good the best settings are.
    pub(crate) fn sentences(&self, [before, after]: [&SetUp; 2]) -> Vec<String> {
        let [from, to] = [before, after].map(|side| side.choice.scheme.name);
        let Some(first) = self.tried.first() else {
            return Vec::new();
        };
        let keys = if self.given {
            "these keys"
        } else {
            "the keys of a sample"
        };
        let answer = if first.kept >= 1.0 {
            format!("With these settings {to} keeps all of {keys} on their node.")
        } else {
            let share = units::percent(first.kept);
            format!(
                "The best setting of {to} that was tried keeps {share} of {keys} on their node."
            )
        };
        let luck = units::percent(first.luck);
        let verdict = if first.kept >= 1.0 {
            format!("{from} can be replaced by {to} without moving one of them.")
        } else if first.gain() > 0.0 {
            format!("By luck {luck} would stay: it shares a part of the way with {from}.")
        } else {
            format!(
                "That is no more than luck gives ({luck}, give or take chance): plan to move the keys, or to fill a new cache."
            )
        };
        let tried = units::counted(self.count as u64, "combination");
        vec![
            answer,
            verdict,
            format!(
                "The best of {tried}; busiest: the keys of the busiest node, relative to its fair share."
            ),
        ]
    }
}

/// Tries all settings of the system of `after` with the servers of `before`, and the parameters of
/// `after` that have no list of values.
pub(crate) fn search(before: &SetUp, after: &SetUp, keys: Option<Keys>) -> Result<Best, Failure> {
    let given = keys.is_some();
    let keys = match keys {
        Some(keys) => keys,
        None => Keys::template("key:{i}", 0..SAMPLE)?,
    };
    let servers = before.setup().map_or_else(
        || before.nodes.iter().cloned().map(Server::from).collect(),
        |setup| setup.servers().to_vec(),
    );
    let scheme = after.choice.scheme;
    let mut few = Keys::default();
    keys.iter().take(FEW).for_each(|key| few.push(key));
    let params = combinations(scheme, after.choice.params());
    let forms = forms(&servers);
    let all = forms.iter().flat_map(|(name, servers)| {
        params.iter().map(move |(words, params)| {
            let setup = Setup::new(scheme, servers.iter().cloned(), params.clone());
            let words = match (*name, words.as_str()) {
                ("", "") => "its defaults".to_owned(),
                ("", words) => words.to_owned(),
                (name, "") => name.to_owned(),
                (name, words) => format!("{words}, {name}"),
            };
            (words, setup)
        })
    });
    let mut tried: Vec<_> = all
        .filter(|(_, setup)| !scheme.writes_config() || scheme.write(setup, "pool").is_ok())
        .filter_map(|(settings, setup)| judged(before, settings, setup, &few))
        .collect();
    // Where no combination can be written, those that can be built are better than none.
    if tried.is_empty() {
        let all = forms.iter().flat_map(|(_, servers)| {
            params.iter().map(move |(words, params)| {
                let servers = servers.iter().cloned();
                (words.clone(), Setup::new(scheme, servers, params.clone()))
            })
        });
        let all = all.filter_map(|(settings, setup)| judged(before, settings, setup, &few));
        tried = all.collect();
    }
    let count = tried.len();
    rank(&mut tried);
    // The setting that keeps most keys stays, even if it is no good: the answer names its share.
    let most = (0..tried.len()).max_by(|a, b| tried[*a].kept.total_cmp(&tried[*b].kept));
    if let Some(most) = most.filter(|most| *most >= FINAL) {
        tried.swap(FINAL - 1, most);
    }
    tried.truncate(FINAL);
    let counted = tried.into_iter();
    let counted = counted.filter_map(|one| judged(before, one.settings, one.setup, &keys));
    let mut tried: Vec<_> = counted.collect();
    rank(&mut tried);
    let Some(best) = tried.first() else {
        return Err(Failure::Input(format!(
            "--best: {} takes none of these nodes: expected names and weights that it can have",
            scheme.title()
        )));
    };
    let (spec, _) = Spec::of_setup(best.setup.clone())?;
    Ok(Best {
        chance: chance(&servers),
        given,
        winner: SetUp::build(Choice::of_spec(spec))?,
        tried,
        count,
    })
}

/// How much fuller than with the most even setting the busiest node may be.
const UNEVEN: f64 = 1.5;

impl Tried {
    /// Returns the share that stays beyond luck; 0 if chance alone may give it.
    fn gain(&self) -> f64 {
        // Four standard errors: of all the settings, the best one has had most luck.
        let count = self.keys.max(1) as f64;
        let noise = 4.0 * (self.luck * (1.0 - self.luck) / count).sqrt();
        let gain = self.kept - self.luck;
        if gain > noise { gain } else { 0.0 }
    }
}

/// Puts first what keeps most keys, beyond luck if any setting does. A setting that sends far more
/// keys to one node than another setting keeps those of that node, and is no good: it comes last.
fn rank(tried: &mut [Tried]) {
    let least = tried
        .iter()
        .map(|one| one.busiest)
        .fold(f64::INFINITY, f64::min);
    let is_uneven = |one: &Tried| one.busiest > UNEVEN * least;
    tried.sort_by(|a, b| {
        let even = is_uneven(a).cmp(&is_uneven(b));
        even.then_with(|| b.gain().total_cmp(&a.gain()))
            .then_with(|| b.kept.total_cmp(&a.kept))
            .then_with(|| a.settings.len().cmp(&b.settings.len()))
    });
}

/// Counts the keys that stay; `None` for a set-up that the system refuses.
fn judged(before: &SetUp, settings: String, setup: Setup, keys: &Keys) -> Option<Tried> {
    let router = setup.build().ok()?;
    let [old, new] = [&*before.router, &*router];
    // The old node and the new node with the same name have one count of keys for each side.
    let mut counts: BTreeMap<&str, [u64; 2]> = BTreeMap::new();
    let mut kept = 0;
    for key in keys {
        let owners = [(old, 0), (new, 1)].map(|(router, side)| {
            let name = router.nodes().name(router.owner(key)?)?;
            counts.entry(name).or_default()[side] += 1;
            Some(name)
        });
        kept += u64::from(owners[0].is_some() && owners[0] == owners[1]);
    }
    let total = keys.len().max(1) as f64;
    let both = counts
        .values()
        .map(|[a, b]| *a as f64 / total * (*b as f64 / total));
    let weight: f64 = new
        .nodes()
        .iter()
        .map(|(_, node)| f64::from(node.weight()))
        .sum();
    let load = |name: &str, node: f64| {
        let held = counts.get(name).map_or(0, |count| count[1]);
        held as f64 / total / (node / weight)
    };
    let nodes = new.nodes().iter().filter(|(_, node)| node.weight() > 0);
    let loads = nodes.map(|(_, node)| load(node.name(), node.weight().into()));
    Some(Tried {
        kept: kept as f64 / total,
        luck: both.sum(),
        busiest: loads.fold(0.0, f64::max),
        keys: keys.len() as u64,
        settings,
        setup,
    })
}

/// Returns all combinations of the parameters that take one of a few words, with their words.
fn combinations(scheme: &'static Scheme, base: &Params) -> Vec<(String, Params)> {
    let mut all = vec![(Vec::new(), base.clone())];
    for param in scheme
        .params
        .iter()
        .filter(|param| !param.values.is_empty())
    {
        if all.len() * param.values.len() > MOST {
            break;
        }
        let with = |(words, params): &(Vec<String>, Params)| {
            let values = param.values.iter().map(|value| {
                let mut words: Vec<String> = words.clone();
                if value.is_empty() {
                    return (words, params.clone());
                }
                words.push(format!("{}={value}", param.name));
                (words, params.clone().with(param.name, *value))
            });
            values.collect::<Vec<_>>()
        };
        all = all.iter().flat_map(with).collect();
    }
    let joined = all.into_iter();
    joined
        .map(|(words, params)| (words.join(" "), params))
        .collect()
}

/// Returns the servers with each form of label that the new system may hash.
fn forms(servers: &[Server]) -> Vec<(&'static str, Vec<Server>)> {
    let relabelled = |label: &dyn Fn(usize, &Server) -> Option<String>| -> Vec<Server> {
        let servers = servers.iter().enumerate().map(|(at, server)| {
            let plain = plain(server);
            match label(at, server) {
                Some(label) => plain.with_label(label),
                None => plain,
            }
        });
        servers.collect()
    };
    let mut forms = vec![("", relabelled(&|_, _| None))];
    if servers.iter().any(|server| server.own_label().is_some()) {
        let labels = relabelled(&|_, server| server.own_label().map(str::to_owned));
        forms.push(("labels as before", labels));
    }
    let host = |server: &Server| {
        let (host, _) = server.name().rsplit_once(':')?;
        Some(host.to_owned())
    };
    if servers.iter().all(|server| host(server).is_some()) {
        forms.push((
            "labels without the port",
            relabelled(&|_, server| host(server)),
        ));
    }
    // A system that takes the servers by order of name, and one that takes them as listed.
    let digits = servers.len().saturating_sub(1).to_string().len();
    let number = |at: usize, _: &Server| Some(format!("{at:0digits$}"));
    forms.push(("labels 0, 1, 2, ... as listed, padded", relabelled(&number)));
    let mut sorted = servers.to_vec();
    sorted.sort_by_key(|server| (server.label().len(), server.label().to_owned()));
    let sorted: Vec<_> = sorted.iter().map(plain).collect();
    if sorted != forms[0].1 {
        forms.push(("sorted by label, shorter first", sorted));
    }
    forms
}

/// Returns the server without its label.
fn plain(server: &Server) -> Server {
    let node = server.to_node();
    let plain = Server::from(node.with_weight(server.weight()));
    if server.is_down() {
        plain.down()
    } else {
        plain
    }
}

/// Returns the share of keys that stay if both systems spread keys by weight, independently.
fn chance(servers: &[Server]) -> f64 {
    let weights = servers
        .iter()
        .map(|server| f64::from(server.to_node().weight()));
    let weights: Vec<f64> = weights.collect();
    let total: f64 = weights.iter().sum();
    let squares = weights
        .iter()
        .map(|weight| weight / total.max(1.0))
        .map(|share| share * share);
    squares.sum()
}
