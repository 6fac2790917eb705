//! The page of a comparison.

use hashroute::Change;
use hashroute_harness::plot::{self, RingScene};
use hashroute_harness::{Balance, Comparison, Measure, Row};
use maud::{Markup, html};
use serde_json::Value;

use super::args::ReportArgs;
use super::page::{Gallery, Page, Section, command};
use super::shell::Shell;
use super::table::{Field, four, rows, size, table};
use super::verdict::verdict;
use crate::app::contest::{Setting, scenario};
use crate::app::strategy::Choice;
use crate::failure::Failure;
use crate::units;

/// How many nodes of a strategy are listed; the JSON has all.
const LISTED: usize = 100;
/// Keys of a ring that are drawn on their way.
const SHOWN: usize = 6;

pub(super) fn page(args: &ReportArgs) -> Result<String, Failure> {
    let setting = Setting::read(&args.contest, args.page.quiet)?;
    let comparison = setting.compare(args.costs, args.page.quiet);
    let json = Value::from_iter([("comparison", serde_json::to_value(&comparison)?)]);
    let view = View {
        args,
        setting: &setting,
        comparison: &comparison,
        json: &json,
    };
    let who = match comparison.rows.as_slice() {
        [only] => only.strategy.clone(),
        all => format!("{} strategies", all.len()),
    };
    let page = Page {
        title: format!(
            "{who} on {}",
            units::counted(comparison.scenario.nodes, "node")
        ),
        lead: scenario(&comparison).into(),
        sections: view.sections(),
        json: &json,
        shell: view.whole("report").flag("--costs", args.costs),
    };
    page.html()
}

struct View<'a> {
    args: &'a ReportArgs,
    setting: &'a Setting,
    comparison: &'a Comparison,
    json: &'a Value,
}

impl View<'_> {
    fn sections(&self) -> Vec<Section> {
        let section = |id, title, body| Section { id, title, body };
        let mut sections = vec![
            section("verdict", "Verdict", verdict(self.json, self.comparison)),
            section("balance", "How even the nodes are", self.balance()),
            section("moves", "What moves", self.moves()),
        ];
        if self.args.costs {
            sections.push(section("costs", "What it costs", self.costs()));
        }
        sections.push(section("each", "Each strategy", self.each()));
        sections
    }

    fn table(&self, caption: &str, fields: &[Field]) -> Markup {
        let rows = rows(self.json, "/comparison/rows");
        table(self.json, caption, &rows, fields)
    }

    /// The command that prints the tables.
    fn printed(&self) -> Markup {
        command(&self.whole("compare").with("--format", Some("json")))
    }

    fn balance(&self) -> Markup {
        let known = |of: fn(&Balance) -> bool| {
            let mut balances = self
                .comparison
                .rows
                .iter()
                .filter_map(|row| row.balance.as_ref());
            balances.any(of)
        };
        html! {
            p { "cv is the coefficient of variation of what the nodes hold for their weight; by chance: what an ideal router would show on these keys." }
            (self.table("Keys on the nodes", &KEYS))
            @if known(|balance| balance.bytes.is_some()) { (self.table("Bytes on the nodes", &BYTES)) }
            @if known(|balance| balance.requests.is_some()) { (self.table("Requests on the nodes", &REQUESTS)) }
            (self.printed())
        }
    }

    fn moves(&self) -> Markup {
        let scenario = &self.comparison.scenario;
        html! {
            p { "In vain: keys that moved between nodes that the change is not about." }
            (self.table(&format!("Keys that move: {}", scenario.add.join(", ")), &ADD))
            (self.table(&format!("Keys that move: {}", scenario.remove.join(", ")), &REMOVE))
            (self.printed())
        }
    }

    fn costs(&self) -> Markup {
        html! {
            p { "Times are of this machine and this run. Batch: 1024 keys at a time." }
            (self.table("Nanoseconds, and memory", &COSTS))
            (self.printed())
        }
    }

    fn each(&self) -> Markup {
        let mut gallery = Gallery::default();
        let strategies = self.setting.choices.iter().zip(&self.comparison.rows);
        html! {
            @for (at, (choice, row)) in strategies.enumerate() {
                h3 { (row.strategy) }
                @if let Some(balance) = &row.balance {
                    @for line in balance.verdict.text.lines() { p { (line) } }
                    (self.bars(&mut gallery, choice, balance))
                    (self.nodes(at, row))
                }
                (self.flows(&mut gallery, choice, row))
                (self.ring(&mut gallery, choice, row))
            }
        }
    }

    fn bars(&self, gallery: &mut Gallery, choice: &Choice, balance: &Balance) -> Markup {
        let measures = [Measure::Keys, Measure::Bytes, Measure::Requests];
        html! {
            @for measure in measures { @if let Ok(picture) = plot::bars(balance, measure) {
                (gallery.show(&picture, &self.one("draw balance", choice).with("--by", Some(measure))))
            } }
        }
    }

    fn nodes(&self, at: usize, row: &Row) -> Markup {
        let mut nodes = rows(self.json, &format!("/comparison/rows/{at}/balance/nodes"));
        let more = nodes.len().saturating_sub(LISTED);
        nodes.truncate(LISTED);
        html! {
            details {
                summary { "Nodes of " (row.strategy) " as a table" }
                (table(self.json, &format!("What each node of {} holds", row.strategy), &nodes, &NODES))
                @if more > 0 { p { "And " (units::count(more as u64)) " more, which the JSON has." } }
            }
        }
    }

    fn flows(&self, gallery: &mut Gallery, choice: &Choice, row: &Row) -> Markup {
        let Setting { add, remove, .. } = self.setting;
        html! {
            @for (remap, change) in [(&row.add, add), (&row.remove, remove)] { @if let Some(remap) = remap {
                (gallery.show(&plot::matrix(remap), &self.one("draw remap", choice).change(change)))
            } }
        }
    }

    /// The ring, where the strategy is one.
    fn ring(&self, gallery: &mut Gallery, choice: &Choice, row: &Row) -> Markup {
        let (Some(balance), Some(remap)) = (&row.balance, &row.add) else {
            return Markup::default();
        };
        let Setting {
            nodes, add, keys, ..
        } = self.setting;
        let after = choice.after(nodes, core::slice::from_ref(add));
        let routers = choice.build(nodes).ok().zip(after.ok());
        let shown: Vec<_> = keys.iter().take(SHOWN).collect();
        let picture = routers.and_then(|(before, after)| {
            let scene = RingScene::new(&*before, balance).with_changed(&*after, remap);
            plot::ring(&scene.with_keys(&shown)).ok()
        });
        picture.map_or_else(Markup::default, |picture| {
            gallery.show(&picture, &self.one("draw ring", choice).change(add))
        })
    }

    /// A command about all strategies and both changes.
    fn whole(&self, command: &str) -> Shell {
        let args = &self.args.contest;
        let names = (!args.strategy.is_empty()).then(|| args.strategy.join(","));
        let shell = Shell::new(command)
            .nodes(&args.nodes)
            .with("--strategy", names)
            .tuning(&args.tuning, &|_| true);
        let shell = match &args.add {
            Some(node) => shell.change(&Change::Add(node.clone())),
            None => shell,
        };
        shell
            .with("--remove", args.remove.as_ref())
            .keys(&args.keys)
    }

    /// A command about one strategy.
    fn one(&self, command: &str, choice: &Choice) -> Shell {
        let params = choice.scheme.params;
        let (strategy, dialect) = if choice.scheme.is_dialect() {
            (None, Some(choice.name()))
        } else {
            (Some(choice.name()), None)
        };
        let args = &self.args.contest;
        Shell::new(command)
            .nodes(&args.nodes)
            .with("--strategy", strategy)
            .with("--dialect", dialect)
            .tuning(&args.tuning, &|set| {
                params.iter().any(|param| param.name == set)
            })
            .keys(&args.keys)
    }
}

const STRATEGY: Field = Field::text("strategy", "/strategy");

const KEYS: [Field; 7] = [
    STRATEGY,
    Field::text("peers share", "/state"),
    Field::number("cv", "/balance/cv", four),
    Field::number("by chance", "/balance/noise_cv", four),
    Field::number("fullest / mean", "/balance/max_over_mean", units::ratio),
    Field::number("by chance", "/balance/noise_max_over_mean", units::ratio),
    Field::number("p", "/balance/p_value", units::chance),
];

const BYTES: [Field; 5] = [
    STRATEGY,
    Field::number("cv", "/balance/bytes/cv", four),
    Field::number("by chance", "/balance/bytes/noise_cv", four),
    Field::number(
        "fullest / mean",
        "/balance/bytes/max_over_mean",
        units::ratio,
    ),
    Field::number(
        "by chance",
        "/balance/bytes/noise_max_over_mean",
        units::ratio,
    ),
];

const REQUESTS: [Field; 5] = [
    STRATEGY,
    Field::number("cv", "/balance/requests/cv", four),
    Field::number("by chance", "/balance/requests/noise_cv", four),
    Field::number(
        "fullest / mean",
        "/balance/requests/max_over_mean",
        units::ratio,
    ),
    Field::number(
        "by chance",
        "/balance/requests/noise_max_over_mean",
        units::ratio,
    ),
];

const ADD: [Field; 5] = [
    STRATEGY,
    Field::number("moved", "/add/moved", units::rounded),
    Field::number("share", "/add/moved_share", units::percent),
    Field::number("had to", "/add/ideal_share", units::percent),
    Field::number("in vain", "/add/excess_share", units::percent),
];

const REMOVE: [Field; 5] = [
    STRATEGY,
    Field::number("moved", "/remove/moved", units::rounded),
    Field::number("share", "/remove/moved_share", units::percent),
    Field::number("had to", "/remove/ideal_share", units::percent),
    Field::number("in vain", "/remove/excess_share", units::percent),
];

const COSTS: [Field; 7] = [
    STRATEGY,
    Field::number("route", "/route_ns", units::significant),
    Field::number("in a batch", "/batch_ns", units::significant),
    Field::number("build", "/build_ns", units::rounded),
    Field::number("change", "/change_ns", units::rounded),
    Field::number("memory", "/heap_bytes", size),
    Field::number("allocations", "/allocations_per_lookup", units::significant),
];

const NODES: [Field; 5] = [
    Field::text("node", "/name"),
    Field::number("weight", "/weight", units::rounded),
    Field::number("keys", "/keys", units::rounded),
    Field::number("share", "/share", units::percent),
    Field::number("fair", "/fair_share", units::percent),
];
