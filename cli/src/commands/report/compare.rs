//! The page of a comparison.

use hashroute::Change;
use hashroute_harness::plot::{self, BarScene, RemapScene, RingScene};
use hashroute_harness::{Balance, Comparison, Figures, Measure, NodeBalance, Remap, Row};
use maud::{Markup, html};
use serde_json::Value;

use super::args::ReportArgs;
use super::page::{self, Page, Section, command, figure};
use super::table::{lines, table};
use super::verdict::verdict;
use crate::app::contest::{Setting, scenario};
use crate::app::figures::{
    cv, excess_share, ideal_share, max_over_mean, moved, moved_share, noise_cv,
    noise_max_over_mean, p_value,
};
use crate::app::shell::Shell;
use crate::app::strategy::Choice;
use crate::failure::Failure;
use crate::output::{Cell, Field, Fields};
use crate::units;

/// The most nodes listed per strategy; the JSON has all.
const LISTED: usize = 100;
/// The number of keys drawn on a ring.
const SHOWN: usize = 6;

/// Measures the comparison and writes its page.
pub(super) fn page(args: &ReportArgs) -> Result<String, Failure> {
    let setting = Setting::read(&args.contest, args.page.quiet)?;
    let comparison = setting.compare(args.costs, args.page.quiet);
    let json = Value::from_iter([("comparison", serde_json::to_value(&comparison)?)]);
    let view = View {
        args,
        setting: &setting,
        comparison: &comparison,
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
        lead: lead(&setting, &comparison),
        sections: view.sections(),
        json: &json,
        shell: view.whole("report").flag("--costs", args.costs),
    };
    page.html()
}

/// Describes what is compared, and says first what nobody gave.
fn lead(setting: &Setting, comparison: &Comparison) -> Vec<String> {
    let made_up = page::made_up(&setting.made_up);
    made_up.chain(scenario(comparison)).collect()
}

struct View<'a> {
    args: &'a ReportArgs,
    setting: &'a Setting,
    comparison: &'a Comparison,
}

impl View<'_> {
    fn sections(&self) -> Vec<Section> {
        let section = |id, title, body| Section { id, title, body };
        let mut sections = vec![
            section("verdict", "Verdict", verdict(self.comparison)),
            section("balance", "How even the nodes are", self.balance()),
            section("moves", "What moves", self.moves()),
        ];
        if self.args.costs {
            sections.push(section("costs", "What it costs", self.costs()));
        }
        sections.push(section("each", "Each strategy", self.each()));
        sections
    }

    fn table(&self, caption: &str, fields: &[Field<'_, Row>]) -> Markup {
        let rows = lines("/comparison/rows", &self.comparison.rows);
        table(caption, &rows, fields)
    }

    /// Shows the command that prints these tables.
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
            p { "cv is the coefficient of variation of the loads of the nodes, relative to their weights. By chance: what an ideal router would give on these keys." }
            (self.table("Keys on the nodes", &balance_fields(Measure::Keys)))
            @if known(|balance| balance.bytes.is_some()) { (self.table("Bytes on the nodes", &balance_fields(Measure::Bytes))) }
            @if known(|balance| balance.requests.is_some()) { (self.table("Requests on the nodes", &balance_fields(Measure::Requests))) }
            (self.printed())
        }
    }

    fn moves(&self) -> Markup {
        let scenario = &self.comparison.scenario;
        html! {
            p { "In vain: keys that moved between nodes that the change does not concern." }
            div.pair {
            (self.table(&format!("Keys that move: {}", scenario.add.join(", ")), &move_fields("add", |row| row.add.as_ref())))
            (self.table(&format!("Keys that move: {}", scenario.remove.join(", ")), &move_fields("remove", |row| row.remove.as_ref())))
            }
            (self.printed())
        }
    }

    fn costs(&self) -> Markup {
        html! {
            p { "Times depend on this machine and this run. Batch: 1024 keys at a time." }
            (self.table("Nanoseconds, and memory", &cost_fields()))
            (self.printed())
        }
    }

    fn each(&self) -> Markup {
        let strategies = self.setting.choices.iter().zip(&self.comparison.rows);
        html! {
            @for (at, (choice, row)) in strategies.enumerate() {
                h3 { (row.strategy) }
                @if let Some(balance) = &row.balance {
                    @for line in balance.verdict.text.lines() { p { (line) } }
                    (self.bars(choice, balance))
                    (Self::nodes(at, row, balance))
                }
                (self.flows(choice, row))
                (self.ring(choice, row))
            }
        }
    }

    fn bars(&self, choice: &Choice, balance: &Balance) -> Markup {
        let measures = [Measure::Keys, Measure::Bytes, Measure::Requests];
        html! {
            @for measure in measures { @if let Ok(picture) = plot::bars(&BarScene::new(balance, measure)) {
                (figure(&picture, &self.one("draw balance", choice).with("--by", Some(measure))))
            } }
        }
    }

    fn nodes(at: usize, row: &Row, balance: &Balance) -> Markup {
        let mut nodes = lines(
            &format!("/comparison/rows/{at}/balance/nodes"),
            &balance.nodes,
        );
        let more = nodes.len().saturating_sub(LISTED);
        nodes.truncate(LISTED);
        html! {
            details {
                summary { "Nodes of " (row.strategy) " as a table" }
                (table(&format!("What each node of {} holds", row.strategy), &nodes, &node_fields()))
                @if more > 0 { p { "And " (units::count(more as u64)) " more nodes, which are in the JSON." } }
            }
        }
    }

    fn flows(&self, choice: &Choice, row: &Row) -> Markup {
        let Setting { add, remove, .. } = self.setting;
        let hash = row
            .balance
            .as_ref()
            .map_or("", |balance| balance.hash.as_str());
        html! {
            @for (remap, change) in [(&row.add, add), (&row.remove, remove)] { @if let Some(remap) = remap {
                @let scene = RemapScene::new(remap).with_strategy(&row.strategy).with_changes(core::slice::from_ref(change));
                @let scene = scene.with_hash(hash);
                (figure(&plot::matrix(&scene), &self.one("draw remap", choice).change(change)))
            } }
        }
    }

    /// Draws the ring, if the strategy is one.
    fn ring(&self, choice: &Choice, row: &Row) -> Markup {
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
            figure(&picture, &self.one("draw ring", choice).change(add))
        })
    }

    /// Returns a command about all strategies and both changes.
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

    /// Returns a command about one strategy.
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

fn strategy() -> Field<'static, Row> {
    Field::text("strategy", "strategy", |row: &Row| {
        Cell::text(row.strategy.as_str())
    })
}

/// Reads a figure of one measure from a row.
fn evenness(measure: Measure, figure: Field<'static, Figures>) -> Field<'static, Row> {
    let key = match measure {
        Measure::Keys => format!("balance/{}", figure.key()),
        _ => format!("balance/{measure}/{}", figure.key()),
    };
    figure.within(key, move |row: &Row| {
        let balance = row.balance.as_ref()?;
        match measure {
            Measure::Bytes => balance.bytes.as_ref(),
            Measure::Requests => balance.requests.as_ref(),
            _ => Some(&balance.figures),
        }
    })
}

fn balance_fields(measure: Measure) -> Vec<Field<'static, Row>> {
    let figures = [cv(), noise_cv(), max_over_mean(), noise_max_over_mean()];
    let figures = figures.map(|figure| evenness(measure, figure));
    let mut fields = vec![strategy()];
    if measure != Measure::Keys {
        fields.extend(figures);
        return fields;
    }
    fields.push(Field::text("state", "peers share", |row: &Row| {
        Cell::text(row.state.as_str())
    }));
    fields.extend(figures);
    fields.push(evenness(measure, p_value()));
    fields
}

fn move_fields(which: &str, part: fn(&Row) -> Option<&Remap>) -> Vec<Field<'static, Row>> {
    let figures = [moved(), moved_share(), ideal_share(), excess_share()];
    let figures = figures.map(|figure| {
        let key = format!("{which}/{}", figure.key());
        figure.within(key, part)
    });
    [strategy()].into_iter().chain(figures).collect()
}

fn cost_fields() -> Fields<'static, Row> {
    Fields::<Row>::new()
        .with([strategy()])
        .number("route_ns", "route", |row| {
            Cell::number(row.route_ns, units::significant)
        })
        .number("batch_ns", "in a batch", |row| {
            Cell::number(row.batch_ns, units::significant)
        })
        .number("build_ns", "build", |row| {
            Cell::number(row.build_ns, units::rounded)
        })
        .number("change_ns", "change", |row| {
            Cell::number(row.change_ns, units::rounded)
        })
        .number("heap_bytes", "memory", |row| {
            row.heap_bytes.map_or_else(Cell::missing, |bytes| {
                Cell::new(bytes, units::size(bytes as f64))
            })
        })
        .number("allocations_per_lookup", "allocations", |row| {
            Cell::number(row.allocations_per_lookup, units::significant)
        })
}

fn node_fields() -> Fields<'static, NodeBalance> {
    Fields::<NodeBalance>::new()
        .text("name", "node", |node| Cell::text(node.name.as_str()))
        .number("weight", "weight", |node| {
            Cell::new(node.weight, units::rounded(node.weight.into()))
        })
        .number("keys", "keys", |node| {
            Cell::new(node.keys, units::rounded(node.keys as f64))
        })
        .number("share", "share", |node| Cell::share(node.share))
        .number("fair_share", "fair", |node| Cell::share(node.fair_share))
}
