//! How even each number of nodes is.

use std::collections::BTreeSet;

use super::canvas::{Anchor, Canvas, Pen};
use super::picture::Picture;
use super::text;
use crate::diagnose::CountRow;

/// The coefficient of variation for a number of nodes, with that of chance alone.
///
/// ```
/// use hashroute_harness::plot::{CountPoint, counts};
/// let point = CountPoint::new(60, 1.66).with_noise_cv(0.24).with_noise_cv_p99(0.30).with_dangerous(true);
/// assert!(point.cv > point.noise_cv_p99);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CountPoint {
    /// The number of nodes.
    pub nodes: u64,
    /// The coefficient of variation of their loads.
    pub cv: f64,
    /// What chance alone gives.
    pub noise_cv: f64,
    /// What chance alone exceeds one time in a hundred.
    pub noise_cv_p99: f64,
    /// Whether it is far beyond chance, as in [`CountRow`](crate::skew::CountRow).
    pub dangerous: bool,
    /// The divisors at which hashes bunch and that divide the number of nodes.
    pub because: Vec<u64>,
}

impl CountPoint {
    /// Builds a point without noise that is not dangerous.
    ///
    /// ```
    /// assert!(!hashroute_harness::plot::CountPoint::new(61, 0.2).dangerous);
    /// ```
    pub const fn new(nodes: u64, cv: f64) -> Self {
        Self {
            nodes,
            cv,
            noise_cv: 0.0,
            noise_cv_p99: 0.0,
            dangerous: false,
            because: Vec::new(),
        }
    }
}

builder! { CountPoint:
    with_noise_cv(noise_cv: f64),
    with_noise_cv_p99(noise_cv_p99: f64),
    with_dangerous(dangerous: bool),
    with_because(because: impl Into<Vec<u64>>),
}

impl From<&CountRow> for CountPoint {
    fn from(row: &CountRow) -> Self {
        Self {
            nodes: row.nodes,
            cv: row.cv,
            noise_cv: row.noise_cv,
            noise_cv_p99: row.noise_cv_p99,
            dangerous: row.dangerous,
            because: row.because.clone(),
        }
    }
}

const LEFT: f64 = 64.0;
const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 360.0;
/// The most points that are considered for a label.
const LABELS: usize = 500;
/// The most divisors with a colour of their own.
const DIVISORS: usize = 6;

/// Draws the coefficient of variation against the number of nodes, the noise band, and the
/// dangerous numbers: by name as far as there is space, in the colour of the largest divisor that
/// causes the danger. `what` names the keys and the strategy. O(points log points).
///
/// ```
/// use hashroute_harness::plot::{CountPoint, counts};
/// let [even, uneven] = [(61, 0.2), (60, 1.7)]
///     .map(|(nodes, cv)| CountPoint::new(nodes, cv).with_noise_cv(0.24).with_noise_cv_p99(0.3));
/// let uneven = uneven.with_dangerous(true).with_because([3, 5]);
/// let picture = counts("metric:demo:{i} by twemproxy", &[uneven, even]);
/// assert_eq!(picture.title(), "1 of 2 node counts is less even than chance explains");
/// ```
pub fn counts(what: &str, points: &[CountPoint]) -> Picture {
    let mut points: Vec<_> = points
        .iter()
        .filter(|point| point.cv.is_finite())
        .cloned()
        .collect();
    points.sort_by_key(|point| point.nodes);
    let mut chart = Chart::new(&points);
    let mut lines = Vec::from([
        text::name(what, 150.0),
        String::from(
            "Dots: cv of what the nodes hold. Line and grey: what chance alone gives, and exceeds 1 time in 100.",
        ),
    ]);
    lines.push(chart.legend().into());
    let mut canvas = Canvas::new(1000.0, &title(&points), &lines);
    chart.top = canvas.top() + 28.0;
    chart.divisors(&mut canvas);
    chart.axes(&mut canvas);
    chart.noise(&mut canvas);
    chart.dots(&mut canvas);
    chart.labels(&mut canvas);
    canvas.finish(chart.top + HEIGHT + 60.0)
}

#[derive(Debug)]
struct Chart<'a> {
    points: &'a [CountPoint],
    nodes: (f64, f64),
    most: f64,
    /// The upper end of the chart, below the text.
    top: f64,
    /// The divisors with a colour, ascending. They start at the second colour: the first is that of
    /// the dots.
    divisors: Vec<u64>,
}

impl<'a> Chart<'a> {
    fn new(points: &'a [CountPoint]) -> Self {
        let ends = (points.first(), points.last());
        let nodes = |point: Option<&CountPoint>| point.map_or(0.0, |point| point.nodes as f64);
        let first = nodes(ends.0);
        let bad = points.iter().filter(|point| point.dangerous);
        let divisors: BTreeSet<_> = bad.filter_map(largest).collect();
        let cvs = points.iter().map(|point| point.cv.max(point.noise_cv_p99));
        Self {
            points,
            nodes: (first, nodes(ends.1).max(first + 1.0)),
            most: cvs.fold(0.01, f64::max) * 1.12,
            top: 0.0,
            divisors: divisors.into_iter().take(DIVISORS).collect(),
        }
    }

    fn at(&self, nodes: u64, cv: f64) -> (f64, f64) {
        let (first, last) = self.nodes;
        let x = (nodes as f64 - first) / (last - first);
        (
            LEFT + WIDTH * x,
            self.top + HEIGHT * (1.0 - (cv / self.most).min(1.0)),
        )
    }

    fn axes(&self, canvas: &mut Canvas) {
        let bottom = self.top + HEIGHT;
        canvas.line("hr-line", (LEFT, bottom), (LEFT + WIDTH, bottom));
        for cv in text::steps(self.most) {
            let y = self.at(0, cv).1;
            canvas.line("hr-thin hr-dash", (LEFT, y), (LEFT + WIDTH, y));
            let at = (LEFT - 8.0, y + 4.0);
            canvas.text(at, "hr-small hr-soft", Anchor::End, &text::short(cv));
        }
        let mut free = f64::NEG_INFINITY;
        for point in self.points {
            let x = self.at(point.nodes, 0.0).0;
            let round = self.points.len() <= 20
                || point.nodes % 8 == 0
                || point.nodes == self.points[0].nodes;
            if round && x > free {
                canvas.text(
                    (x, bottom + 18.0),
                    "hr-small hr-soft",
                    Anchor::Middle,
                    &text::count(point.nodes),
                );
                free = x + 34.0;
            }
        }
        canvas.text(
            (LEFT + WIDTH / 2.0, bottom + 42.0),
            "hr-soft",
            Anchor::Middle,
            "nodes",
        );
        canvas.text(
            (LEFT - 44.0, self.top - 6.0),
            "hr-soft",
            Anchor::Start,
            "cv",
        );
    }

    fn noise(&self, canvas: &mut Canvas) {
        let (mut band, mut line) = (Pen::default(), Pen::default());
        band.start((LEFT, self.top + HEIGHT));
        for (rank, point) in self.points.iter().enumerate() {
            band.to(self.at(point.nodes, point.noise_cv_p99));
            let at = self.at(point.nodes, point.noise_cv);
            if rank == 0 {
                line.start(at)
            } else {
                line.to(at)
            };
        }
        let last = self.points.last().map_or(0, |point| point.nodes);
        band.to(self.at(last, 0.0)).close();
        canvas.path("hr-band", &band);
        canvas.path("hr-thin", &line);
    }

    fn legend(&self) -> &'static str {
        if self.divisors.is_empty() {
            "Diamonds: far beyond it."
        } else {
            "Diamonds: far beyond it, by the largest divisor at which the hashes bunch:"
        }
    }

    /// Draws each divisor with its colour, after the legend.
    fn divisors(&self, canvas: &mut Canvas) {
        let (mut x, y) = (
            20.0 + 13.0 * text::width(self.legend()) * 0.94,
            canvas.top(),
        );
        for (index, divisor) in self.divisors.iter().enumerate() {
            let (mut pen, text) = (Pen::default(), text::count(*divisor));
            diamond(&mut pen, (x, y - 4.5));
            canvas.fill(index + 1, &pen);
            canvas.text((x + 9.0, y), "", Anchor::Start, &text);
            x += 30.0 + 13.0 * text::width(&text);
        }
    }

    /// Draws the points, the dangerous ones last, so that nothing covers them.
    fn dots(&self, canvas: &mut Canvas) {
        let (bad, fine): (Vec<_>, Vec<_>) = self.points.iter().partition(|point| point.dangerous);
        for point in fine.into_iter().chain(bad) {
            let at = self.at(point.nodes, point.cv);
            canvas.titled(&about(point), |canvas| {
                if !point.dangerous {
                    return canvas.circle("hr-heat", at, 2.5);
                }
                let mut pen = Pen::default();
                diamond(&mut pen, at);
                let colour = |divisor| self.divisors.binary_search(&divisor).ok();
                match largest(point).and_then(colour) {
                    Some(index) => canvas.fill(index + 1, &pen),
                    None => canvas.path("hr-alarm", &pen),
                }
            });
        }
    }

    /// Draws labels, the worst first, each only if it covers neither another label nor a diamond.
    fn labels(&self, canvas: &mut Canvas) {
        let dangerous = || self.points.iter().filter(|point| point.dangerous);
        let at = |point: &CountPoint| self.at(point.nodes, point.cv);
        let mut covered: Vec<(f64, f64)> = dangerous().map(at).collect();
        let mut worst: Vec<_> = dangerous().collect();
        worst.sort_by(|a, b| b.cv.total_cmp(&a.cv));
        for point in worst.into_iter().take(LABELS) {
            let (x, y) = at(point);
            let at = (x, y - 13.0);
            let near =
                |other: &(f64, f64)| (other.0 - at.0).abs() < 20.0 && (other.1 - at.1).abs() < 11.0;
            if covered.iter().any(near) {
                continue;
            }
            covered.push(at);
            let text = text::count(point.nodes);
            canvas.text((x, y - 9.0), "hr-small hr-bold", Anchor::Middle, &text);
        }
    }
}

/// Writes all about a number of nodes.
fn about(point: &CountPoint) -> String {
    let because: Vec<_> = point.because.iter().map(u64::to_string).collect();
    let because = match because.as_slice() {
        [] => String::new(),
        some => format!("; the hashes bunch at its divisors {}", some.join(", ")),
    };
    format!(
        "{}: cv {:.4}; chance alone gives {:.4}, and exceeds {:.4} 1 time in 100{because}",
        text::counted(point.nodes, "node"),
        point.cv,
        point.noise_cv,
        point.noise_cv_p99,
    )
}

fn largest(point: &CountPoint) -> Option<u64> {
    point.because.iter().copied().max()
}

fn diamond(pen: &mut Pen, (x, y): (f64, f64)) {
    pen.start((x, y - 5.0));
    for corner in [(x + 5.0, y), (x, y + 5.0), (x - 5.0, y)] {
        pen.to(corner);
    }
    pen.close();
}

fn title(points: &[CountPoint]) -> String {
    let bad = points.iter().filter(|point| point.dangerous).count() as u64;
    let are = if bad == 1 { "is" } else { "are" };
    let all = text::counted(points.len() as u64, "node count");
    match bad {
        0 => format!("{all}: none is less even than chance explains"),
        _ => format!(
            "{} of {all} {are} less even than chance explains",
            text::count(bad)
        ),
    }
}
