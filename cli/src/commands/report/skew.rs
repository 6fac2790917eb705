//! The page of the reasons for an uneven balance.

use hashroute::Router;
use hashroute_harness::plot::{self, BarScene, CountPoint, RingScene};
use hashroute_harness::skew::Diagnosis;
use hashroute_harness::skew::{CountRow, Finding, MeasureSkew, Remedy, Skew};
use hashroute_harness::{Assignment, Balance, Figures, Keys, Measure, balance, text::printable};
use maud::{Markup, html};
use serde_json::Value;

use super::args::ReportArgs;
use super::page::{self, Page, Section, command, figure};
use super::table::{Line, lines, table};
use crate::app::figures::{cv, max_over_mean};
use crate::app::keys::Source;
use crate::app::nodes;
use crate::app::shell::Shell;
use crate::app::skew::{notes, refuse_none};
use crate::app::strategy::Choice;
use crate::args::StrategyArgs;
use crate::failure::Failure;
use crate::output::{Cell, Field, Fields, MadeUp};
use crate::progress::Progress;
use crate::units;

/// The number of keys drawn on a ring.
const SHOWN: usize = 6;
/// The most dangerous numbers of nodes that have a row.
const WORST: usize = 20;

/// Diagnoses the balance and writes its page.
pub(super) fn page(args: &ReportArgs) -> Result<String, Failure> {
    let strategy = args.strategy()?;
    let (choice, nodes) = Choice::read(&strategy, &args.contest.nodes)?;
    let source = Source::of(&args.contest.keys)?;
    let router = choice.build(&nodes)?;
    let progress = Progress::start(args.page.quiet, "reading keys");
    let keys = source.read()?;
    progress.message("looking for what is uneven");
    let setup = choice.setup(&nodes);
    let counts = args.node_counts.as_ref();
    let diagnosis =
        Diagnosis::new(&setup).with_node_counts(counts.map_or(&[], |counts| &counts.numbers));
    let skew = diagnosis.analyse(&keys);
    let skew = skew.map_err(|error| choice.refusal(error))?;
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
    };
    // The sentence about the keys says by itself that they were made up.
    let made_up = MadeUp {
        keys: None,
        nodes: nodes::made_up(&args.contest.nodes, strategy.spec.as_deref()),
    };
    let measured = format!(
        "{} from {}, hashed by {}.",
        units::counted(skew.keys, "key"),
        source.named(),
        skew.hash
    );
    let page = Page {
        title: format!(
            "Where keys go with {} on {}",
            skew.strategy,
            units::counted(skew.nodes, "node")
        ),
        lead: page::made_up(&made_up).chain([measured]).collect(),
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
}

impl View<'_> {
    fn sections(&self, choice: &Choice, router: &dyn Router, keys: &Keys) -> Vec<Section> {
        let section = |id, title, body| Section { id, title, body };
        let mut sections = vec![
            section("verdict", "Verdict", self.verdict(choice)),
            section("stages", "Which stage", self.stages()),
            section("nodes", "What the nodes hold", self.nodes(router, keys)),
        ];
        if !self.skew.node_counts.rows.is_empty() {
            sections.push(section("counts", "Other numbers of nodes", self.counts()));
        }
        if !self.skew.remedies.is_empty() {
            sections.push(section("remedies", "What would help", self.remedies()));
        }
        sections
    }

    /// Shows the command that prints these tables.
    fn printed(&self) -> Markup {
        command(&self.shell("skew", true).with("--format", Some("json")))
    }

    fn verdict(&self, choice: &Choice) -> Markup {
        let skew = self.skew;
        let [few, others] = self.measures();
        html! {
            div.verdict {
                p { (printable(&skew.verdict)) }
                p { (printable(&skew.advice)) }
                @if skew.unplaced > 0 { p { (choice.unplaced(skew.unplaced, skew.nodes > 0)) } }
            }
            @if !others.is_empty() { (table("Which measures are uneven beyond chance", &others, &measure_fields(false))) }
            @if !few.is_empty() {
                (table("Measures of which few keys carry much, compared with as many equal keys", &few, &measure_fields(true)))
            }
            p { (notes(skew)) }
            (self.printed())
        }
    }

    /// Returns the measures in which few keys carry most of the amount, then the other measures.
    fn measures(&self) -> [Vec<Line<'_, MeasureSkew>>; 2] {
        let all = lines("/skew/measures", &self.skew.measures).into_iter();
        let (few, others) = all.partition(|line| line.row.few_keys);
        [few, others]
    }

    fn stages(&self) -> Markup {
        html! {
            p { "The stages from a key to its node, each tested separately." }
            (table("Stages", &lines("/skew/stages", &self.skew.stages), &stage_fields()))
            (self.printed())
        }
    }

    fn nodes(&self, router: &dyn Router, keys: &Keys) -> Markup {
        let shown: Vec<_> = keys.iter().take(SHOWN).collect();
        let ring = plot::ring(&RingScene::new(router, self.balance).with_keys(&shown));
        let bars = |measure| {
            Some((
                measure,
                plot::bars(&BarScene::new(self.balance, measure)).ok()?,
            ))
        };
        let bars = [Measure::Keys, Measure::Bytes, Measure::Requests]
            .into_iter()
            .filter_map(bars);
        html! {
            @for (measure, picture) in bars {
                (figure(&picture, &self.shell("draw balance", false).with("--by", Some(measure))))
            }
            @if let Ok(ring) = ring { (figure(&ring, &self.shell("draw ring", false))) }
            (table("How even the keys are", &[Line { at: "/balance".into(), row: self.balance }], &balance_fields()))
            (command(&self.shell("balance", false).with("--format", Some("json"))))
        }
    }

    fn counts(&self) -> Markup {
        let counts = &self.skew.node_counts;
        let points: Vec<_> = counts.rows.iter().map(CountPoint::from).collect();
        let what = format!(
            "{}, {}",
            self.skew.strategy,
            units::counted(counts.keys, "key")
        );
        let mut worst = lines("/skew/node_counts/rows", &counts.rows);
        worst.retain(|line| line.row.dangerous);
        let numbers: Vec<_> = worst
            .iter()
            .map(|line| line.row.nodes.to_string())
            .collect();
        worst.sort_by(|a, b| b.row.cv.total_cmp(&a.row.cv));
        worst.truncate(WORST);
        html! {
            p {
                "Dangerous for these keys, which means far beyond chance over all tests together: "
                (units::count(numbers.len() as u64)) " of " (units::counted(counts.rows.len() as u64, "number"))
                " of nodes. Chance alone puts 1 number in 100 above the band of the picture."
            }
            @if !numbers.is_empty() { p { "Dangerous numbers: " (numbers.join(" ")) "." } }
            (figure(&plot::counts(&what, &points), &self.shell("skew", true).with("--format", Some("json"))))
            @if !worst.is_empty() {
                (table("Dangerous numbers of nodes, the worst first", &worst, &count_fields()))
                (self.printed())
            }
        }
    }

    fn remedies(&self) -> Markup {
        html! {
            p { "Each change was tried on these keys. The best comes first." }
            (table("Changes", &lines("/skew/remedies", &self.skew.remedies), &remedy_fields()))
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

/// Returns the columns of measures. With `few`, chance is that of as many equal keys.
fn measure_fields(few: bool) -> [Field<'static, MeasureSkew>; 8] {
    let noise: [Field<'_, MeasureSkew>; 2] = if few {
        [
            Field::number("equal_noise_cv", "by chance", |of: &MeasureSkew| {
                Cell::four(of.equal_noise_cv)
            }),
            Field::number("equal_noise_cv_p99", "99% below", |of: &MeasureSkew| {
                Cell::four(of.equal_noise_cv_p99)
            }),
        ]
    } else {
        [
            Field::number("noise_cv", "by chance", |of: &MeasureSkew| {
                Cell::four(of.noise_cv)
            }),
            Field::number("noise_cv_p99", "99% below", |of: &MeasureSkew| {
                Cell::four(of.noise_cv_p99)
            }),
        ]
    };
    let [by_chance, below] = noise;
    [
        Field::text("measure", "of", |of: &MeasureSkew| {
            Cell::text(of.measure.to_string())
        }),
        Field::number("cv", "cv", |of: &MeasureSkew| Cell::four(of.cv)),
        by_chance,
        below,
        Field::number("max_over_mean", "fullest / mean", |of: &MeasureSkew| {
            Cell::ratio(of.max_over_mean)
        }),
        Field::text("fullest", "fullest", |of: &MeasureSkew| {
            Cell::text(of.fullest.as_str())
        }),
        Field::number("p_value", "p", |of: &MeasureSkew| Cell::chance(of.p_value)),
        Field::text("uneven", "uneven", |of: &MeasureSkew| yes_or_no(of.uneven)),
    ]
}

fn yes_or_no(yes: bool) -> Cell {
    Cell::new(yes, if yes { "yes" } else { "no" })
}

fn stage_fields() -> Fields<'static, Finding> {
    Fields::<Finding>::new()
        .text("stage", "stage", |of| Cell::text(of.stage.to_string()))
        .text("status", "verdict", |of| Cell::text(of.status.to_string()))
        .number("cv", "adds cv", |of| Cell::four(of.cv))
        .number("p_value", "p", |of| Cell::number(of.p_value, units::chance))
        .text("text", "what was found", |of| Cell::text(of.text.as_str()))
}

fn balance_fields() -> Vec<Field<'static, Balance>> {
    let count = |count: u64| Cell::new(count, units::rounded(count as f64));
    let figures = [
        Field::number("used", "nodes in use", move |of: &Figures| count(of.used)),
        Field::number("empty", "empty", move |of: &Figures| count(of.empty)),
        Field::number("max", "most keys", |of: &Figures| whole(of.max)),
        Field::number("min", "fewest", |of: &Figures| whole(of.min)),
        cv(),
        max_over_mean(),
    ];
    let figures = figures.map(|figure| {
        let key = figure.key().to_owned();
        figure.within(key, |of: &Balance| Some(&of.figures))
    });
    let strategy = Field::text("strategy", "strategy", |of: &Balance| {
        Cell::text(of.strategy.as_str())
    });
    [strategy].into_iter().chain(figures).collect()
}

/// Shows the load of a node; its value is a whole number where the JSON has one.
fn whole(load: f64) -> Cell {
    let value = serde_json::from_str(&load.to_string());
    Cell::new(
        value.unwrap_or_else(|_| Value::from(load)),
        units::rounded(load),
    )
}

fn count_fields() -> Fields<'static, CountRow> {
    let count = |count: u64| Cell::new(count, units::rounded(count as f64));
    Fields::<CountRow>::new()
        .number("nodes", "nodes", move |of| count(of.nodes))
        .number("used", "used", move |of| count(of.used))
        .number("max", "most keys", move |of| count(of.max))
        .number("cv", "cv", |of| Cell::four(of.cv))
        .number("noise_cv", "by chance", |of| Cell::four(of.noise_cv))
        .number("noise_cv_p99", "99% below", |of| {
            Cell::four(of.noise_cv_p99)
        })
        .number("p_value", "p", |of| Cell::chance(of.p_value))
        .text("because", "divisors", |of| {
            let because: Vec<_> = of.because.iter().map(u64::to_string).collect();
            Cell::text(because.join(" "))
        })
}

fn remedy_fields() -> Fields<'static, Remedy> {
    Fields::<Remedy>::new()
        .text("what", "change", |of| Cell::text(of.what.as_str()))
        .number("cv", "cv", |of| Cell::four(of.cv))
        .number("noise_cv", "by chance", |of| Cell::four(of.noise_cv))
        .number("p_value", "p", |of| Cell::chance(of.p_value))
        .text("even", "even", |of| yes_or_no(of.even))
        .number("moved_share", "keys that move", |of| {
            Cell::share(of.moved_share)
        })
}
