//! The page of why keys lie unevenly.

use hashroute::Router;
use hashroute_harness::plot::{self, CountPoint, RingScene};
use hashroute_harness::skew::Diagnosis;
use hashroute_harness::skew::Skew;
use hashroute_harness::{Assignment, Balance, Keys, Measure, balance, text::printable};
use maud::{Markup, html};
use serde_json::Value;

use super::args::ReportArgs;
use super::page::{Gallery, Page, Section, command};
use super::shell::Shell;
use super::table::{Field, four, rows, table};
use crate::app::keys;
use crate::app::skew::{notes, refuse_none};
use crate::app::strategy::Choice;
use crate::args::StrategyArgs;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::units;

/// Keys of a ring that are drawn on their way.
const SHOWN: usize = 6;
/// How many dangerous numbers of nodes have a row.
const WORST: usize = 20;

pub(super) fn page(args: &ReportArgs) -> Result<String, Failure> {
    let strategy = args.strategy()?;
    let (choice, nodes) = Choice::read(&strategy, &args.contest.nodes)?;
    let router = choice.build(&nodes)?;
    let progress = Progress::start(args.page.quiet, "reading keys");
    let keys = keys::read(&args.contest.keys)?;
    progress.message("looking for what is uneven");
    let setup = choice.setup(&nodes);
    let counts = args.node_counts.as_ref();
    let diagnosis =
        Diagnosis::new(&setup).with_node_counts(counts.map_or(&[], |counts| &counts.numbers));
    let skew = diagnosis.analyse(&keys);
    let skew = skew.map_err(|error| choice.refusal(&error))?;
    refuse_none(&skew, &choice)?;
    let assignment = Assignment::of(&*router, &keys);
    let balance = balance(&choice.name(), &*router, &keys, &assignment);
    drop(progress);
    let json = Value::from_iter([
        ("skew", serde_json::to_value(&skew)?),
        ("balance", serde_json::to_value(&balance)?),
    ]);
    let view = View {
        args,
        strategy: &strategy,
        skew: &skew,
        balance: &balance,
        json: &json,
    };
    let page = Page {
        title: format!(
            "Where keys go with {} on {}",
            skew.strategy,
            units::counted(skew.nodes, "node")
        ),
        lead: vec![format!(
            "{} from {}, hashed by {}.",
            units::counted(skew.keys, "key"),
            keys::named(&args.contest.keys)?,
            skew.hash
        )],
        sections: view.sections(&choice, &*router, &keys),
        json: &json,
        shell: view.shell("report --skew", true),
    };
    page.html()
}

struct View<'a> {
    args: &'a ReportArgs,
    strategy: &'a StrategyArgs,
    skew: &'a Skew,
    balance: &'a Balance,
    json: &'a Value,
}

impl View<'_> {
    fn sections(&self, choice: &Choice, router: &dyn Router, keys: &Keys) -> Vec<Section> {
        let mut gallery = Gallery::default();
        let section = |id, title, body| Section { id, title, body };
        let mut sections = vec![
            section("verdict", "Verdict", self.verdict(choice)),
            section("stages", "Which stage", self.stages()),
            section(
                "nodes",
                "What the nodes hold",
                self.nodes(&mut gallery, router, keys),
            ),
        ];
        if !self.skew.node_counts.rows.is_empty() {
            sections.push(section(
                "counts",
                "Other numbers of nodes",
                self.counts(&mut gallery),
            ));
        }
        if !self.skew.remedies.is_empty() {
            sections.push(section("remedies", "What would help", self.remedies()));
        }
        sections
    }

    /// The command that prints the tables.
    fn printed(&self) -> Markup {
        command(&self.shell("skew", true).with("--format", Some("json")))
    }

    fn verdict(&self, choice: &Choice) -> Markup {
        let skew = self.skew;
        let (few, others) = self.measures();
        html! {
            div.verdict {
                p { (printable(&skew.verdict)) }
                p { (printable(&skew.advice)) }
                @if skew.unplaced > 0 { p { (choice.unplaced(skew.unplaced, skew.nodes > 0)) } }
            }
            @if !others.is_empty() { (table(self.json, "More than chance, and of what", &others, &MEASURES)) }
            @if !few.is_empty() {
                (table(self.json, "Few keys carry much: held against as many equal keys", &few, &FEW))
            }
            p { (notes(skew)) }
            (self.printed())
        }
    }

    /// The rows of measures of which few keys carry much, and the others.
    fn measures(&self) -> (Vec<String>, Vec<String>) {
        let all = rows(self.json, "/skew/measures").into_iter();
        let all = all.zip(&self.skew.measures);
        let (few, others): (Vec<_>, Vec<_>) = all.partition(|(_, measure)| measure.few_keys);
        let rows = |of: Vec<(String, _)>| of.into_iter().map(|(row, _)| row).collect();
        (rows(few), rows(others))
    }

    fn stages(&self) -> Markup {
        html! {
            p { "The way of a key, each stage tested apart." }
            (table(self.json, "Stages", &rows(self.json, "/skew/stages"), &STAGES))
            (self.printed())
        }
    }

    fn nodes(&self, gallery: &mut Gallery, router: &dyn Router, keys: &Keys) -> Markup {
        let shown: Vec<_> = keys.iter().take(SHOWN).collect();
        let ring = plot::ring(&RingScene::new(router, self.balance).with_keys(&shown));
        let bars = |measure| Some((measure, plot::bars(self.balance, measure).ok()?));
        let bars = [Measure::Keys, Measure::Bytes, Measure::Requests]
            .into_iter()
            .filter_map(bars);
        html! {
            @for (measure, picture) in bars {
                (gallery.show(&picture, &self.shell("draw balance", false).with("--by", Some(measure))))
            }
            @if let Ok(ring) = ring { (gallery.show(&ring, &self.shell("draw ring", false))) }
            (table(self.json, "How even the keys are", &["/balance".into()], &BALANCE))
            (command(&self.shell("balance", false).with("--format", Some("json"))))
        }
    }

    fn counts(&self, gallery: &mut Gallery) -> Markup {
        let counts = &self.skew.node_counts;
        let points: Vec<_> = counts.rows.iter().map(CountPoint::from).collect();
        let what = format!(
            "{}, {}",
            self.skew.strategy,
            units::counted(counts.keys, "key")
        );
        let all = rows(self.json, "/skew/node_counts/rows");
        let all = all.into_iter().zip(&counts.rows);
        let bad: Vec<_> = all.filter(|(_, row)| row.dangerous).collect();
        let numbers: Vec<_> = bad.iter().map(|(_, row)| row.nodes.to_string()).collect();
        let mut worst = bad;
        worst.sort_by(|(_, a), (_, b)| b.cv.total_cmp(&a.cv));
        let worst: Vec<_> = worst.into_iter().map(|(at, _)| at).take(WORST).collect();
        html! {
            p {
                "Dangerous for these keys, which is far beyond chance with all tests taken together: "
                (units::count(numbers.len() as u64)) " of " (units::counted(counts.rows.len() as u64, "number"))
                " of nodes. Above the band in the picture, chance alone puts one in a hundred."
            }
            @if !numbers.is_empty() { p { "Dangerous numbers: " (numbers.join(" ")) "." } }
            (gallery.show(&plot::counts(&what, &points), &self.shell("skew", true).with("--format", Some("json"))))
            @if !worst.is_empty() {
                (table(self.json, "Dangerous numbers of nodes, the worst first", &worst, &COUNTS))
                (self.printed())
            }
        }
    }

    fn remedies(&self) -> Markup {
        html! {
            p { "Each was tried on these keys; the best first." }
            (table(self.json, "Changes", &rows(self.json, "/skew/remedies"), &REMEDIES))
            (self.printed())
        }
    }

    fn shell(&self, command: &str, counts: bool) -> Shell {
        let args = &self.args.contest;
        let tuning = &self.strategy.tuning;
        let strategy = args.strategy.first();
        let shell = Shell::new(command)
            .nodes(&args.nodes)
            .with("--strategy", strategy)
            .tuning(tuning, &|_| true)
            .with_file("--spec", self.strategy.spec.as_deref());
        let list = self.args.node_counts.as_ref().filter(|_| counts);
        shell
            .with("--node-counts", list.map(|list| &list.text))
            .keys(&args.keys)
    }
}

const MEASURES: [Field; 8] = [
    Field::text("of", "/measure"),
    Field::number("cv", "/cv", four),
    Field::number("by chance", "/noise_cv", four),
    Field::number("99% below", "/noise_cv_p99", four),
    Field::number("fullest / mean", "/max_over_mean", units::ratio),
    Field::text("fullest", "/fullest"),
    Field::number("p", "/p_value", units::chance),
    Field::text("uneven", "/uneven"),
];

/// The same where chance is that of equal keys.
const FEW: [Field; 8] = {
    let mut fields = MEASURES;
    fields[2] = Field::number("by chance", "/equal_noise_cv", four);
    fields[3] = Field::number("99% below", "/equal_noise_cv_p99", four);
    fields
};

const STAGES: [Field; 5] = [
    Field::text("stage", "/stage"),
    Field::word("verdict", "/status"),
    Field::number("adds cv", "/cv", four),
    Field::number("p", "/p_value", units::chance),
    Field::text("what was found", "/text"),
];

const BALANCE: [Field; 7] = [
    Field::text("strategy", "/strategy"),
    Field::number("nodes in use", "/used", units::rounded),
    Field::number("empty", "/empty", units::rounded),
    Field::number("most keys", "/max", units::rounded),
    Field::number("fewest", "/min", units::rounded),
    Field::number("cv", "/cv", four),
    Field::number("fullest / mean", "/max_over_mean", units::ratio),
];

const COUNTS: [Field; 8] = [
    Field::number("nodes", "/nodes", units::rounded),
    Field::number("used", "/used", units::rounded),
    Field::number("most keys", "/max", units::rounded),
    Field::number("cv", "/cv", four),
    Field::number("by chance", "/noise_cv", four),
    Field::number("99% below", "/noise_cv_p99", four),
    Field::number("p", "/p_value", units::chance),
    Field::text("divisors", "/because"),
];

const REMEDIES: [Field; 6] = [
    Field::text("change", "/what"),
    Field::number("cv", "/cv", four),
    Field::number("by chance", "/noise_cv", four),
    Field::number("p", "/p_value", units::chance),
    Field::text("even", "/even"),
    Field::number("keys that move", "/moved_share", units::percent),
];
