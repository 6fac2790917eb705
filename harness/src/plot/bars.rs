//! How full each node is, with the range that chance alone gives.

use core::cmp::Ordering;
use std::collections::BTreeMap;

use statrs::distribution::{Binomial, DiscreteCDF};

use super::canvas::{Anchor, Canvas};
use super::names::Names;
use super::picture::Picture;
use super::text;
use crate::text::natural;
use crate::{Balance, Figures, Measure, NodeBalance};
use hashroute::{Error, Refusal};

/// The most nodes with a bar and a name each. More are drawn in order of fullness.
const NAMED: usize = 40;
/// The number of fullest and of emptiest nodes that are listed below the bars of many.
const LISTED: usize = 10;
/// The widest name, in pixels and in units of its size.
const NAME: f64 = 290.0;
const UNITS: f64 = NAME / 13.0;
/// The probability that an ideal router has a node outside the noise band.
const SIGNIFICANCE: f64 = 0.01;
/// The relative difference below which two figures are equal.
const ROUNDING: f64 = 1e-9;

/// The order of the bars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum BarOrder {
    /// The fullest node first, relative to its fair share.
    #[default]
    Load,
    /// In order of name, numbers as people count.
    Name,
}

/// What bars show.
///
/// ```
/// use hashroute_harness::{Keys, Measure, Assignment, balance};
/// use hashroute_harness::plot::{BarOrder, BarScene, bars};
/// use hashroute::{Node, Ring};
///
/// let keys = Keys::template("user:{i}", 0..1000)?;
/// let ring = Ring::new(["node-10", "node-9"].map(Node::new))?;
/// let balance = balance("ring", &ring, &keys, &Assignment::of(&ring, &keys));
/// let scene = BarScene::new(&balance, Measure::Keys).with_order(BarOrder::Name);
/// let svg = bars(&scene.with_source("user:{i}"))?.svg().to_owned();
/// assert!(svg.find("node-9") < svg.find("node-10"));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct BarScene<'a> {
    /// How keys lie on the nodes.
    pub balance: &'a Balance,
    /// What is counted.
    pub measure: Measure,
    /// The order of up to 40 bars.
    pub order: BarOrder,
    /// Where the keys come from, for the text below the title.
    pub source: &'a str,
}

impl<'a> BarScene<'a> {
    /// Shows this measure of a balance, the fullest node first.
    pub const fn new(balance: &'a Balance, measure: Measure) -> Self {
        Self {
            balance,
            measure,
            order: BarOrder::Load,
            source: "",
        }
    }
}

builder! { BarScene<'a>: with_order(order: BarOrder), with_source(source: &'a str) }

/// Draws what each node holds relative to its fair share, with the band in which all nodes of an
/// ideal router lie 99 times in 100. If all keys carry the same, the band is binomial for each node
/// (Bonferroni over the nodes). If they do not, or if amounts are estimates, it reaches from 0 to
/// the fullest node of an ideal router
/// ([`Noise::max_over_mean_p99`](crate::Noise::max_over_mean_p99)), and does not judge nodes that
/// hold little. Up to 40 nodes have a bar and a name each; more are drawn in order of fullness, with
/// the names of the ten at each end. O(nodes log nodes).
///
/// # Errors
/// [`Error::Unsupported`] if the measure is not known for these keys.
///
/// ```
/// use hashroute_harness::{Keys, Measure, Assignment, balance};
/// use hashroute::{Node, Ring};
/// use hashroute_harness::plot::{BarScene, bars};
///
/// let keys = Keys::template("user:{i}", 0..100_000)?;
/// let ring = Ring::with_points(["a", "b", "c"].map(Node::new), 8)?;
/// let balance = balance("ring", &ring, &keys, &Assignment::of(&ring, &keys));
/// let picture = bars(&BarScene::new(&balance, Measure::Keys))?;
/// assert_eq!(picture.title(), "ring: 3 of 3 nodes hold more or fewer keys than chance explains");
/// assert!(bars(&BarScene::new(&balance, Measure::Bytes)).is_err());
/// # Ok::<(), hashroute::Error>(())
/// ```
pub fn bars(scene: &BarScene) -> Result<Picture, Error> {
    let BarScene { balance, .. } = scene;
    let figures = match scene.measure {
        Measure::Keys => Some(&balance.figures),
        Measure::Bytes => balance.bytes.as_ref(),
        Measure::Requests => balance.requests.as_ref(),
    };
    let figures = figures.ok_or(Error::Unsupported {
        what: Refusal::UnknownMeasure,
        advice: "give the keys with their sizes or requests, or draw the keys themselves",
    })?;
    let chart = Chart::new(scene, figures);
    Ok(if chart.bars.len() <= NAMED {
        chart.draw_named()
    } else {
        chart.draw_ranked()
    })
}

/// A node with weight. All figures but the amount are relative to its fair share.
#[derive(Debug)]
struct Bar<'a> {
    name: &'a str,
    weight: u32,
    amount: u64,
    share: f64,
    load: f64,
    /// The noise band.
    band: (f64, f64),
}

impl Bar<'_> {
    fn is_out(&self) -> bool {
        self.is_empty() || self.is_full()
    }

    fn is_full(&self) -> bool {
        self.load > self.band.1 * (1.0 + ROUNDING)
    }

    fn is_empty(&self) -> bool {
        self.load < self.band.0 * (1.0 - ROUNDING)
    }

    fn class(&self) -> &'static str {
        if self.is_out() { "hr-alarm" } else { "hr-heat" }
    }

    /// Writes what the node holds.
    fn holds(&self) -> String {
        let mark = match self {
            bar if bar.is_full() => " ▲",
            bar if bar.is_empty() => " ▼",
            _ => "",
        };
        let (amount, share) = (text::count(self.amount), text::percent(self.share));
        format!("{amount} ({share}){mark}")
    }

    fn fullest_first(&self, other: &Self) -> Ordering {
        let load = other.load.total_cmp(&self.load);
        load.then_with(|| natural(self.name, other.name))
    }
}

#[derive(Debug)]
struct Chart<'a> {
    /// The bars in the order of the picture.
    bars: Vec<Bar<'a>>,
    /// Whether the nodes differ in weight.
    weighted: bool,
    measure: Measure,
    names: Names,
    title: String,
    lines: Vec<String>,
    /// Returns the largest figure that is drawn.
    most: f64,
}

impl<'a> Chart<'a> {
    fn new(scene: &BarScene<'a>, figures: &Figures) -> Self {
        let BarScene {
            balance, measure, ..
        } = *scene;
        let weighted = balance.nodes.iter().filter(|node| node.weight > 0);
        let tail = SIGNIFICANCE / 2.0 / weighted.clone().count().max(1) as f64;
        let is_equal = figures.largest.is_empty() && balance.estimated.is_none();
        let mut bands = BTreeMap::new();
        let mut band = |node: &NodeBalance| {
            if !is_equal {
                return (0.0, figures.noise.max_over_mean_p99);
            }
            let band = || binomial(figures.effective_keys.round(), node.fair_share, tail);
            *bands.entry(node.weight).or_insert_with(band)
        };
        let bar = |node: &'a NodeBalance| {
            let amount = match measure {
                Measure::Keys => node.keys,
                Measure::Bytes => node.bytes.unwrap_or(0),
                Measure::Requests => node.requests.unwrap_or(0),
            };
            let share = amount as f64 / (figures.total as f64).max(1.0);
            Bar {
                name: &node.name,
                weight: node.weight,
                amount,
                share,
                load: share / node.fair_share,
                band: band(node),
            }
        };
        let mut bars: Vec<_> = weighted.map(bar).collect();
        let by_load = scene.order == BarOrder::Load || bars.len() > NAMED;
        if by_load {
            bars.sort_by(Bar::fullest_first);
        } else {
            bars.sort_by(|a, b| natural(a.name, b.name));
        }
        let names = Names::new(bars.iter().map(|bar| bar.name), UNITS);
        let most = bars.iter().map(|bar| bar.load.max(bar.band.1));
        let mut lines = lines(scene, figures, is_equal);
        lines.extend(names.caption());
        Self {
            title: title(balance, &bars, measure, is_equal),
            lines,
            names,
            // The band of a single node is narrow, and an infinite figure has no bar.
            most: most.filter(|most| most.is_finite()).fold(1.2, f64::max),
            weighted: bars.iter().any(|bar| bar.weight != bars[0].weight),
            measure,
            bars,
        }
    }

    /// Writes all about a bar, with the full name.
    fn about(&self, bar: &Bar) -> String {
        let (low, high) = bar.band;
        let judged = match bar {
            bar if bar.is_full() => "more than chance explains",
            bar if bar.is_empty() => "less than chance explains",
            _ => "within chance",
        };
        format!(
            "{}: {} {} ({}), weight {}; {:.3} times its fair share; {judged} ({low:.3} to {high:.3})",
            text::whole(bar.name),
            text::count(bar.amount),
            self.measure,
            text::percent(bar.share),
            bar.weight,
            bar.load,
        )
    }

    fn draw_named(&self) -> Picture {
        const ROW: f64 = 22.0;
        const WIDTH: f64 = 560.0;
        const WEIGHT: f64 = 62.0;
        let weight = if self.weighted { WEIGHT } else { 0.0 };
        let name = (20.0 + self.names.widest() * 13.0).max(80.0);
        let left = name + weight + 10.0;
        let mut canvas = Canvas::new(left + WIDTH + 194.0, &self.title, &self.lines);
        let top = canvas.top() + 56.0;
        let bottom = top + ROW * self.bars.len() as f64;
        let x = |load: f64| left + WIDTH * (load / self.most).clamp(0.0, 1.0);
        if self.weighted {
            let at = (left - 10.0, top - 12.0);
            canvas.text(at, "hr-small hr-soft", Anchor::End, "weight");
        }
        for step in text::steps(self.most) {
            canvas.line("hr-thin hr-dash", (x(step), top - 6.0), (x(step), bottom));
            let tick = (x(step), top - 12.0);
            canvas.text(tick, "hr-small hr-soft", Anchor::Middle, &text::short(step));
        }
        for (row, bar) in self.bars.iter().enumerate() {
            let y = top + ROW * row as f64;
            canvas.titled(&self.about(bar), |canvas| {
                canvas.text((name, y + 15.0), "", Anchor::End, self.names.of(bar.name));
                if self.weighted {
                    let weight = text::count(bar.weight.into());
                    canvas.text((left - 10.0, y + 15.0), "hr-soft", Anchor::End, &weight);
                }
                let (low, high) = (x(bar.band.0), x(bar.band.1));
                canvas.rectangle("hr-band", (low, y + 1.0), (high - low, ROW - 2.0));
                canvas.rectangle(
                    bar.class(),
                    (left, y + 5.0),
                    (x(bar.load) - left, ROW - 10.0),
                );
                canvas.text(
                    (left + WIDTH + 14.0, y + 15.0),
                    "",
                    Anchor::Start,
                    &bar.holds(),
                );
            });
        }
        canvas.line("hr-line", (x(1.0), top - 6.0), (x(1.0), bottom));
        canvas.finish(bottom + 24.0)
    }

    fn draw_ranked(&self) -> Picture {
        let (left, width, height) = (60.0, 910.0, 320.0);
        let mut canvas = Canvas::new(1000.0, &self.title, &self.lines);
        let top = canvas.top() + 34.0;
        let bottom = top + height;
        let y = |load: f64| bottom - height * (load / self.most).clamp(0.0, 1.0);
        for step in text::steps(self.most) {
            canvas.line("hr-thin hr-dash", (left, y(step)), (left + width, y(step)));
            let tick = (left - 8.0, y(step) + 4.0);
            canvas.text(tick, "hr-small hr-soft", Anchor::End, &text::short(step));
        }
        let step = width / self.bars.len() as f64;
        for (rank, bar) in self.bars.iter().enumerate() {
            let x = left + step * rank as f64;
            let band = (y(bar.band.1), y(bar.band.0) - y(bar.band.1));
            canvas.titled(&self.about(bar), |canvas| {
                canvas.rectangle("hr-band", (x, band.0), (step, band.1));
                let size = (step * 0.9, bottom - y(bar.load));
                canvas.rectangle(bar.class(), (x, y(bar.load)), size);
            });
        }
        canvas.line("hr-line", (left, y(1.0)), (left + width, y(1.0)));
        let (full, empty) = (&self.bars[..LISTED], &self.bars[self.bars.len() - LISTED..]);
        let below = bottom + 30.0;
        self.list(&mut canvas, "fullest", full.iter(), (left, below));
        self.list(
            &mut canvas,
            "emptiest",
            empty.iter().rev(),
            (left + 475.0, below),
        );
        canvas.finish(below + 20.0 * LISTED as f64 + 24.0)
    }

    /// Lists bars with their figures.
    fn list<'b>(
        &self,
        canvas: &mut Canvas,
        head: &str,
        bars: impl Iterator<Item = &'b Bar<'a>>,
        (x, mut y): (f64, f64),
    ) where
        'a: 'b,
    {
        const RIGHT: f64 = 435.0;
        canvas.text((x, y), "hr-bold", Anchor::Start, head);
        canvas.text((x + RIGHT, y), "hr-bold", Anchor::End, "of its fair share");
        for bar in bars {
            y += 20.0;
            canvas.titled(&self.about(bar), |canvas| {
                canvas.text((x, y), "", Anchor::Start, self.names.of(bar.name));
                let weight = if self.weighted {
                    format!("weight {}, ", text::count(bar.weight.into()))
                } else {
                    String::new()
                };
                let figures = format!("{weight}{:.2}", bar.load);
                canvas.text((x + RIGHT, y), "", Anchor::End, &figures);
            });
        }
    }
}

/// Returns the noise band of a node, relative to its fair share: with this many equal keys, each
/// end is passed with a probability of at most `tail`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers of keys, rounded to whole ones"
)]
fn binomial(keys: f64, share: f64, tail: f64) -> (f64, f64) {
    let count = keys as u64;
    let Some(chance) = Binomial::new(share, count).ok().filter(|_| count > 0) else {
        return (0.0, 2.0);
    };
    let load = |held: u64| held as f64 / keys / share;
    // Search outwards from the mean: if keys are many, statrs is exact only in the tails.
    let mean = (keys * share) as u64;
    let low = first(0, mean, |held| chance.cdf(held) > tail);
    let high = first(mean, count, |held| chance.sf(held) <= tail);
    (load(low), load(high))
}

/// Returns the first number from `low` on that satisfies a monotone predicate, or `high`.
fn first(mut low: u64, mut high: u64, is_so: impl Fn(u64) -> bool) -> u64 {
    while low < high {
        let middle = low.midpoint(high);
        if is_so(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

fn title(balance: &Balance, bars: &[Bar], measure: Measure, is_equal: bool) -> String {
    let out = bars.iter().filter(|bar| bar.is_out()).count() as u64;
    let (strategy, nodes) = (&balance.strategy, text::counted(bars.len() as u64, "node"));
    let less = match measure {
        _ if !is_equal => "",
        Measure::Bytes => " or less",
        _ => " or fewer",
    };
    let why = if is_equal {
        "chance explains"
    } else {
        "unequal keys explain"
    };
    match out {
        _ if bars.is_empty() => format!("{strategy}: no node has weight"),
        0 => format!("{strategy}: none of {nodes} holds more{less} {measure} than {why}"),
        _ => format!(
            "{strategy}: {} of {nodes} hold more{less} {measure} than {why}",
            text::count(out)
        ),
    }
}

fn lines(scene: &BarScene, figures: &Figures, is_equal: bool) -> Vec<String> {
    let BarScene {
        balance, measure, ..
    } = scene;
    let drained = balance.nodes.iter().filter(|node| node.weight == 0).count() as u64;
    let drained = match drained {
        0 => String::new(),
        _ => format!(
            " Not drawn: {} of weight 0.",
            text::counted(drained, "node")
        ),
    };
    let (these, grey) = if is_equal {
        ("", "where all nodes of an ideal router are")
    } else {
        (
            " with what these keys carry",
            "up to where an ideal router fills nodes with these keys",
        )
    };
    let total = match measure {
        Measure::Keys => String::new(),
        _ => format!("{} {measure}: ", text::count(figures.total)),
    };
    let order = match scene.order {
        BarOrder::Name if balance.nodes.len() <= NAMED => "",
        _ => " The fullest node comes first.",
    };
    let [cv, noise, most] = [figures.cv, figures.noise.cv, figures.max_over_mean];
    Vec::from([
        text::keys(balance.keys, scene.source, &balance.hash) + order,
        format!(
            "{total}cv {cv:.4}, where chance alone gives {noise:.4}{these}; the fullest node has {most:.3} times its fair share."
        ),
        format!(
            "Length: a node's {measure} over its fair share. Grey: {grey}, 99 times in 100.{drained}"
        ),
    ])
}
