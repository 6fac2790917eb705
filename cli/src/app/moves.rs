//! The keys that move between two set-ups: measured as a whole for `remap` and `draw remap`, or
//! counted one by one, in bounded memory, for `diff` and for lists of keys.

use core::ops::AddAssign;
use std::collections::BTreeMap;

use hashroute::change::Flows;
use hashroute::{Basis, Diff, DiffCounter, NodeId, diff};
use hashroute_harness::text::hash_name;
use hashroute_harness::{Assignment, Keys, Remap, assign};

use super::differences;
use super::keys::{self, Source};
use super::lister::{Lister, Moved};
use super::nodes;
use super::setup::SetUp;
use crate::args::{KeyArgs, MoveArgs};
use crate::failure::Failure;
use crate::output::MadeUp;
use crate::progress::Progress;
use crate::units;

/// The keys that are kept to find out which differences count.
const SAMPLE: usize = 1 << 16;

/// The keys that move, with the set-ups before and after.
pub(crate) struct Moves {
    pub(crate) before: SetUp,
    pub(crate) after: SetUp,
    /// The difference in words.
    pub(crate) words: String,
    pub(crate) remap: Remap,
    /// The name of the hash function of keys.
    pub(crate) hash: &'static str,
    /// What was made up since nobody gave it.
    pub(crate) made_up: MadeUp,
}

/// Reads the options and measures which keys move.
pub(crate) fn measure(args: &MoveArgs, quiet: bool) -> Result<Moves, Failure> {
    let before = SetUp::read(&args.strategy, &args.nodes)?;
    let (after, words) = before.with(&args.target)?;
    let hash = hash_name(&*before.router);
    let progress = Progress::start(quiet, "reading keys");
    let source = Source::of(&args.keys)?;
    let keys = source.read()?;
    progress.message("placing keys");
    let owners = [&before, &after].map(|side| Assignment::of(&*side.router, &keys));
    let remap = hashroute_harness::remap(&owners[0], &owners[1], &keys);
    drop(progress);
    Ok(Moves {
        before,
        after,
        words,
        remap,
        hash,
        made_up: MadeUp {
            keys: source.made_up(),
            nodes: nodes::made_up(&args.nodes, args.strategy.spec.as_deref()),
        },
    })
}

/// An amount that keys carry: bytes or requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Carried {
    pub(crate) total: u64,
    pub(crate) moved: u64,
    flows: Flows<u64>,
}

impl Carried {
    fn add(&mut self, owners: [Option<NodeId>; 2], amount: u64, moves: bool) {
        // `Keys` refuses lists that add up to 2^64 or more, and batches may only saturate.
        self.total = self.total.saturating_add(amount);
        if moves {
            self.moved = self.moved.saturating_add(amount);
            self.flows.add(owners, amount);
        }
    }

    /// Returns the share that moves, from 0 to 1.
    pub(crate) fn moved_share(&self) -> f64 {
        self.moved as f64 / self.total.max(1) as f64
    }
}

/// What was counted of keys that went by.
pub(crate) struct Counted {
    pub(crate) diff: Diff,
    pub(crate) bytes: Option<Carried>,
    pub(crate) requests: Option<Carried>,
    /// The first keys.
    pub(crate) sample: Keys,
}

/// Reads the keys in batches and counts those that move. Writes each of them to `list`.
pub(crate) fn count(
    source: &Source,
    [before, after]: [&SetUp; 2],
    mut list: Option<&mut Lister>,
) -> Result<Counted, Failure> {
    let [old, new] = [&*before.router, &*after.router];
    let mut counter = DiffCounter::new(old, new)?;
    let (mut bytes, mut requests) = (None, None);
    let mut sample = Keys::default();
    source.stream(&mut |keys| {
        if let Some(list) = &mut list {
            list.begin(keys)?;
        }
        for (at, key) in keys.iter().enumerate() {
            let owners = [assign(old, key), assign(new, key)];
            let moved = counter.add(owners);
            let [size, request] = [keys.sizes(), keys.requests()].map(|all| Some(*all?.get(at)?));
            for (carried, amount) in [(&mut bytes, size), (&mut requests, request)] {
                if let Some(amount) = amount {
                    let carried = carried.get_or_insert_with(Carried::default);
                    carried.add(owners, amount, moved.is_some());
                }
            }
            if sample.len() < SAMPLE {
                sample.push(key);
            }
            if let (Some(list), Some([from, to])) = (&mut list, moved) {
                list.write(&Moved {
                    step: None,
                    key,
                    from,
                    to,
                    size,
                    requests: request,
                })?;
            }
        }
        list.as_mut().map_or(Ok(()), |list| list.flush())
    })?;
    Ok(Counted {
        diff: counter.finish()?,
        bytes,
        requests,
        sample,
    })
}

/// Refuses to list keys that nobody gave.
pub(crate) fn check_keys(keys: &KeyArgs) -> Result<(), Failure> {
    if keys::is_given(keys) {
        return Ok(());
    }
    Err(Failure::input(
        "--list: no keys: expected --keys FILE, --csv FILE or another source of keys",
    ))
}

/// Says on standard error how many keys a list has, since standard output holds the list.
pub(crate) fn tell(diff: &Diff, sides: [&SetUp; 2], quiet: bool) {
    if quiet {
        return;
    }
    let [moved, total] = [diff.moved_count(), diff.total()].map(number);
    let text = Verdict::of(sides).sentence(moved, total);
    eprintln!("note: {}", text.trim_end_matches('.'));
}

/// Returns a number of keys, which always fits.
pub(crate) fn number(count: u128) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// Returns the amount of each flow by the names of its nodes.
pub(crate) fn by_name(
    carried: &Carried,
    [before, after]: [&SetUp; 2],
) -> BTreeMap<[Option<String>; 2], u64> {
    let flows = carried.flows.clone().by_name().into_iter();
    let name = |side: &SetUp, id: Option<NodeId>| {
        let name = side.router.nodes().name(id?)?;
        Some(name.to_owned())
    };
    let mut all = BTreeMap::new();
    for ([from, to], amount) in flows {
        let names = [name(before, from), name(after, to)];
        all.entry(names).or_insert(0).add_assign(amount);
    }
    all
}

/// The answer to "do both send every key to the same node?".
#[derive(Debug)]
pub(crate) struct Verdict {
    /// Proved for every key.
    same_routes: bool,
    /// What the two hash of a request, if it differs.
    other_key: Option<[String; 2]>,
    /// The share of all keys that move, if it is known exactly.
    pub(crate) of_all: Option<f64>,
}

impl Verdict {
    /// Compares the two set-ups for all keys.
    pub(crate) fn of([before, after]: [&SetUp; 2]) -> Self {
        let all = diff(&*before.router, &*after.router).ok();
        let exact = all.filter(|diff| diff.basis() == Basis::Hashes);
        Self {
            same_routes: differences::same_routes(before, after),
            other_key: differences::other_key(before, after),
            of_all: exact.map(|diff| diff.moved()),
        }
    }

    /// Returns whether both send every request to the same node, as far as is known.
    pub(crate) fn is_equal(&self) -> bool {
        self.same_routes && self.other_key.is_none()
    }

    /// Returns whether both send every key to the same node, although they may hash different keys.
    pub(crate) fn has_same_routes(&self) -> bool {
        self.same_routes
    }

    /// Says that the two hash different keys, if they do.
    pub(crate) fn warning(&self) -> Option<String> {
        let [from, to] = self.other_key.as_ref()?;
        Some(format!(
            "The two hash different keys, {from} and {to}: a request may move even where a key does not."
        ))
    }

    /// Says how many keys have another node: of `total` keys given, and of all keys.
    pub(crate) fn sentence(&self, moved: u64, total: u64) -> String {
        if let (true, Some([from, to])) = (self.same_routes, &self.other_key) {
            return format!(
                "Equal for equal keys, but the two hash different keys: {from} and {to}."
            );
        }
        let routes = self.routes(moved, total);
        match self.warning() {
            Some(warning) => format!("{routes} {warning}"),
            None => routes,
        }
    }

    fn routes(&self, moved: u64, total: u64) -> String {
        if self.same_routes {
            return "Equal for every key.".into();
        }
        let all = self.of_all.map(units::percent);
        let keys = units::counted(total, "key");
        if moved == 0 {
            return match all {
                Some(share) => {
                    format!("None of these {keys} has another node, but {share} of all keys have.")
                }
                None => format!(
                    "None of these {keys} has another node. This is no proof for other keys."
                ),
            };
        }
        let share = units::percent(moved as f64 / total.max(1) as f64);
        let of_all = all.map_or_else(String::new, |share| format!(", and {share} of all keys"));
        format!(
            "{} of these {keys} ({share}) move to another node{of_all}.",
            units::count(moved)
        )
    }
}
