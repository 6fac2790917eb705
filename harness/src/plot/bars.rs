//! How full each node is, with the range that chance alone gives.

use std::collections::BTreeMap;

use statrs::distribution::{Binomial, DiscreteCDF};

use super::canvas::{Anchor, Canvas, Pen};
use super::picture::Picture;
use super::text;
use crate::{Balance, Figures, Measure, NodeBalance};
use hashroute::{Error, Refusal};

/// The most nodes with a bar and a name each. More are drawn in order of fullness.
const NAMED: usize = 40;
/// The probability that an ideal router has a node outside the noise band.
const SIGNIFICANCE: f64 = 0.01;
/// The relative difference below which two figures are equal.
const ROUNDING: f64 = 1e-9;

/// Draws what each node holds relative to its fair share, with the band in which all nodes of an
/// ideal router lie 99 times in 100. If all keys carry the same, the band is binomial for each node
/// (Bonferroni over the nodes). If they do not, or if amounts are estimates, it reaches from 0 to
/// the fullest node of an ideal router
/// ([`Noise::max_over_mean_p99`](crate::Noise::max_over_mean_p99)), and does not judge nodes that
/// hold little. Up to 40 nodes have a bar and a name each; more are drawn in order of fullness.
/// O(nodes log nodes).
///
/// # Errors
/// [`Error::Unsupported`] if the measure is not known for these keys.
///
/// ```
/// use hashroute_harness::{Keys, Measure, Assignment, balance};
/// use hashroute::{Node, Ring};
/// use hashroute_harness::plot;
///
/// let keys = Keys::template("user:{i}", 0..100_000)?;
/// let ring = Ring::with_points(["a", "b", "c"].map(Node::new), 8)?;
/// let balance = balance("ring", &ring, &keys, &Assignment::of(&ring, &keys));
/// let picture = plot::bars(&balance, Measure::Keys)?;
/// assert_eq!(picture.title(), "ring: 3 of 3 nodes hold more or fewer keys than chance explains");
/// assert!(plot::bars(&balance, Measure::Bytes).is_err());
/// # Ok::<(), hashroute::Error>(())
/// ```
pub fn bars(balance: &Balance, measure: Measure) -> Result<Picture, Error> {
    let figures = match measure {
        Measure::Keys => Some(&balance.figures),
        Measure::Bytes => balance.bytes.as_ref(),
        Measure::Requests => balance.requests.as_ref(),
    };
    let figures = figures.ok_or(Error::Unsupported {
        what: Refusal::UnknownMeasure,
        advice: "give the keys with their sizes or requests, or draw the keys themselves",
    })?;
    let chart = Chart::new(balance, figures, measure);
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
}

#[derive(Debug)]
struct Chart<'a> {
    bars: Vec<Bar<'a>>,
    title: String,
    lines: Vec<String>,
    /// Returns the largest figure that is drawn.
    most: f64,
}

impl<'a> Chart<'a> {
    fn new(balance: &'a Balance, figures: &Figures, measure: Measure) -> Self {
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
                amount,
                share,
                load: share / node.fair_share,
                band: band(node),
            }
        };
        let bars: Vec<_> = weighted.map(bar).collect();
        let most = bars.iter().map(|bar| bar.load.max(bar.band.1));
        Self {
            title: title(balance, &bars, measure, is_equal),
            lines: lines(balance, figures, measure, is_equal),
            // The band of a single node is narrow, and an infinite figure has no bar.
            most: most.filter(|most| most.is_finite()).fold(1.2, f64::max),
            bars,
        }
    }

    fn draw_named(&self) -> Picture {
        const ROW: f64 = 22.0;
        let (left, width, top) = (190.0, 560.0, 130.0);
        let bottom = top + ROW * self.bars.len() as f64;
        let mut canvas = Canvas::new(1000.0, bottom + 34.0, &self.title, &self.lines);
        let x = |load: f64| left + width * (load / self.most).clamp(0.0, 1.0);
        for step in text::steps(self.most) {
            canvas.line("hr-thin hr-dash", (x(step), top - 6.0), (x(step), bottom));
            let tick = (x(step), top - 12.0);
            canvas.text(tick, "hr-small hr-soft", Anchor::Middle, &text::short(step));
        }
        for (row, bar) in self.bars.iter().enumerate() {
            let y = top + ROW * row as f64;
            canvas.name((left - 10.0, y + 15.0), Anchor::End, 168.0, bar.name);
            let (low, high) = (x(bar.band.0), x(bar.band.1));
            canvas.rectangle("hr-band", (low, y + 1.0), (high - low, ROW - 2.0));
            let class = if bar.is_out() { "hr-alarm" } else { "hr-heat" };
            canvas.rectangle(class, (left, y + 5.0), (x(bar.load) - left, ROW - 10.0));
            let mark = match bar {
                bar if bar.is_full() => " ▲",
                bar if bar.is_empty() => " ▼",
                _ => "",
            };
            let amount = text::count(bar.amount);
            let text = format!("{amount} ({}){mark}", text::percent(bar.share));
            canvas.text((left + width + 14.0, y + 15.0), "", Anchor::Start, &text);
        }
        canvas.line("hr-line", (x(1.0), top - 6.0), (x(1.0), bottom));
        canvas.finish()
    }

    fn draw_ranked(&self) -> Picture {
        let (left, width, top, height) = (60.0, 910.0, 120.0, 320.0);
        let bottom = top + height;
        let mut ranked: Vec<_> = self.bars.iter().collect();
        ranked.sort_by(|a, b| b.load.total_cmp(&a.load));
        let mut canvas = Canvas::new(1000.0, bottom + 86.0, &self.title, &self.lines);
        let y = |load: f64| bottom - height * (load / self.most).clamp(0.0, 1.0);
        for step in text::steps(self.most) {
            canvas.line("hr-thin hr-dash", (left, y(step)), (left + width, y(step)));
            let tick = (left - 8.0, y(step) + 4.0);
            canvas.text(tick, "hr-small hr-soft", Anchor::End, &text::short(step));
        }
        let [mut band, mut inside, mut outside] = [Pen::default(), Pen::default(), Pen::default()];
        let step = width / ranked.len() as f64;
        for (rank, bar) in ranked.iter().enumerate() {
            let x = left + step * rank as f64;
            let pen = if bar.is_out() {
                &mut outside
            } else {
                &mut inside
            };
            pen.rectangle((x, y(bar.load)), (step * 0.9, bottom - y(bar.load)));
            band.rectangle((x, y(bar.band.1)), (step, y(bar.band.0) - y(bar.band.1)));
        }
        canvas.path("hr-heat", &inside);
        canvas.path("hr-alarm", &outside);
        canvas.path("hr-band", &band);
        canvas.line("hr-line", (left, y(1.0)), (left + width, y(1.0)));
        let named = |bars: &[&Bar]| {
            let names = bars.iter().map(|bar| {
                let name = text::name(bar.name, 14.0);
                format!("{name} ({:.2})", bar.load)
            });
            names.collect::<Vec<_>>().join(", ")
        };
        let most = format!("Fullest: {}", named(&ranked[..ranked.len().min(4)]));
        let least = format!(
            "Emptiest: {}",
            named(&ranked[ranked.len().saturating_sub(4)..])
        );
        canvas.text(
            (left, bottom + 26.0),
            "hr-soft",
            Anchor::Start,
            "Each bar is a node, the fullest first.",
        );
        canvas.text((left, bottom + 46.0), "", Anchor::Start, &most);
        canvas.text((left, bottom + 66.0), "", Anchor::Start, &least);
        canvas.finish()
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

fn lines(balance: &Balance, figures: &Figures, measure: Measure, is_equal: bool) -> Vec<String> {
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
    let [cv, noise, most] = [figures.cv, figures.noise.cv, figures.max_over_mean];
    Vec::from([
        format!(
            "{} {measure}: cv {cv:.4}, where chance alone gives {noise:.4}{these}; the fullest node has {most:.3} times its fair share.",
            text::count(figures.total)
        ),
        format!(
            "Length: a node's {measure} over its fair share. Grey: {grey}, 99 times in 100.{drained}"
        ),
    ])
}
