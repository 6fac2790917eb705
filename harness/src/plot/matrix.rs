//! The keys that move between nodes.

use core::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::canvas::{Anchor, Canvas};
use super::picture::Picture;
use super::text;
use crate::Remap;

/// The most rows and columns. The rest share one more.
const MOST: usize = 60;

/// Draws the keys that move: a row for each node that gives keys, a column for each node that takes
/// them, the darker the more keys. At most sixty of each: the nodes that the change concerns, and
/// those with the largest flows. The others share a row and a column, which do not count for the
/// shades. O(flows log flows).
///
/// ```
/// use hashroute_harness::{Keys, Assignment, remap};
/// use hashroute::{Change, Node, Ring, Router};
/// use hashroute_harness::plot;
///
/// let keys = Keys::template("user:{i}", 0..10_000)?;
/// let mut ring = Ring::new(["a", "b", "c"].map(Node::new))?;
/// let before = Assignment::of(&ring, &keys);
/// let still = remap(&before, &before, &keys);
/// assert_eq!(plot::matrix(&still).title(), "No key moves");
/// ring.apply(&Change::Add(Node::new("d")))?;
/// let picture = plot::matrix(&remap(&before, &Assignment::of(&ring, &keys), &keys));
/// assert!(picture.title().ends_with("of the keys move (ideal: 25.00%)"));
/// # Ok::<(), hashroute::Error>(())
/// ```
pub fn matrix(remap: &Remap) -> Picture {
    let grid = Grid::new(remap);
    let [rows, columns] = [grid.from.len(), grid.to.len()].map(|count| count.max(1) as f64);
    let size = (
        (640.0 / columns).clamp(11.0, 90.0),
        (640.0 / rows).clamp(13.0, 28.0),
    );
    let (left, top) = (200.0, 100.0 + grid.head(size.0));
    let (right, bottom) = (left + size.0 * columns, top + size.1 * rows);
    let width = (right + 130.0).max(900.0);
    let height = if grid.from.is_empty() {
        110.0
    } else {
        bottom + 46.0
    };
    let mut canvas = Canvas::new(width, height, &title(remap), &lines(remap));
    if !grid.from.is_empty() {
        grid.draw(&mut canvas, (left, top), size);
        let corner = (left - 10.0, top - 8.0);
        canvas.text(corner, "hr-soft hr-small", Anchor::End, "from ↓  to →");
    }
    canvas.finish()
}

/// The keys by row and column.
#[derive(Debug)]
struct Grid<'a> {
    from: Vec<Line<'a>>,
    to: Vec<Line<'a>>,
    /// The row and the column of all others, if there are any.
    others: [Option<usize>; 2],
    cells: BTreeMap<(usize, usize), u64>,
}

#[derive(Clone, Debug)]
struct Line<'a> {
    name: &'a str,
    keys: u64,
}

impl<'a> Grid<'a> {
    fn new(remap: &'a Remap) -> Self {
        let name = |name: &'a Option<String>| name.as_deref().unwrap_or(NOBODY);
        let flows = || remap.flows.iter();
        let own: BTreeSet<_> = remap.changed.iter().map(String::as_str).collect();
        let rows = axis(flows().map(|flow| (name(&flow.from), flow.keys)), &own);
        let columns = axis(flows().map(|flow| (name(&flow.to), flow.keys)), &own);
        let mut cells = BTreeMap::new();
        for flow in flows() {
            let index = (
                rows.indexes[name(&flow.from)],
                columns.indexes[name(&flow.to)],
            );
            *cells.entry(index).or_insert(0) += flow.keys;
        }
        Self {
            from: rows.lines,
            to: columns.lines,
            others: [rows.others, columns.others],
            cells,
        }
    }

    /// Returns whether a cell stands for many nodes.
    fn is_many(&self, (row, column): (usize, usize)) -> bool {
        self.others[0] == Some(row) || self.others[1] == Some(column)
    }

    fn draw(&self, canvas: &mut Canvas, (left, top): (f64, f64), (width, height): (f64, f64)) {
        let single = self
            .cells
            .iter()
            .filter(|(index, _)| !self.is_many(**index));
        let most = single.map(|(_, keys)| *keys).max().unwrap_or(1) as f64;
        let x = |column: usize| left + width * column as f64;
        let y = |row: usize| top + height * row as f64;
        let whole = (
            width * self.to.len() as f64,
            height * self.from.len() as f64,
        );
        canvas.rectangle("hr-void", (left, top), whole);
        for (&(row, column), &keys) in &self.cells {
            let at = (x(column) + 0.5, y(row) + 0.5);
            let (heat, cell) = (keys as f64 / most, (width - 1.0, height - 1.0));
            let many = self.is_many((row, column));
            if many {
                canvas.rectangle("hr-band", at, cell);
            } else {
                // The smallest flow must still be visible.
                canvas.heat(0.12 + 0.88 * heat, at, cell);
            }
            let text = text::count(keys);
            if text::width(&text) * 11.0 < width - 4.0 {
                let class = if heat > 0.75 && !many {
                    "hr-small hr-on"
                } else {
                    "hr-small"
                };
                let at = (x(column) + width / 2.0, y(row) + height / 2.0 + 4.0);
                canvas.text(at, class, Anchor::Middle, &text);
            }
        }
        let end = left + width * self.to.len() as f64 + 10.0;
        for (row, line) in self.from.iter().enumerate() {
            let y = y(row) + height / 2.0 + 4.5;
            canvas.name((left - 10.0, y), Anchor::End, 175.0, line.name);
            canvas.text((end, y), "hr-small", Anchor::Start, &text::count(line.keys));
        }
        for (column, line) in self.to.iter().enumerate() {
            let name = text::name(line.name, HEAD);
            if self.climbs(width) {
                canvas.climbing((x(column) + width / 2.0 + 2.0, top - 8.0), &name);
            } else {
                let at = (x(column) + width / 2.0, top - 8.0);
                canvas.text(at, "hr-small", Anchor::Middle, &name);
            }
        }
        self.totals(canvas, left, top + height * self.from.len() as f64, width);
    }

    /// Returns whether the names of columns are too wide to be horizontal.
    fn climbs(&self, width: f64) -> bool {
        self.widest() > width - 4.0
    }

    fn widest(&self) -> f64 {
        let names = self.to.iter().map(|line| text::name(line.name, HEAD));
        names
            .map(|name| text::width(&name) * 11.0)
            .fold(0.0, f64::max)
    }

    /// Returns the height of the names of columns.
    fn head(&self, width: f64) -> f64 {
        if self.climbs(width) {
            self.widest() * 0.82 + 8.0 // the sine of 55 degrees
        } else {
            12.0
        }
    }

    /// Draws the sum below each column, if they fit.
    fn totals(&self, canvas: &mut Canvas, left: f64, bottom: f64, width: f64) {
        let texts: Vec<_> = self.to.iter().map(|line| text::count(line.keys)).collect();
        if texts
            .iter()
            .any(|text| text::width(text) * 11.0 > width - 2.0)
        {
            return;
        }
        for (column, text) in texts.iter().enumerate() {
            let at = (left + width * (column as f64 + 0.5), bottom + 18.0);
            canvas.text(at, "hr-small", Anchor::Middle, text);
        }
    }
}

/// The width for the name of a column, in units of its size.
const HEAD: f64 = 9.0;
const NOBODY: &str = "(nobody)";
const OTHERS: &str = "(all others)";

/// The rows or columns, and for every name its index among them.
#[derive(Debug)]
struct Axis<'a> {
    lines: Vec<Line<'a>>,
    /// The last one, if it stands for all nodes without one of their own.
    others: Option<usize>,
    indexes: BTreeMap<&'a str, usize>,
}

/// Chooses the nodes of `own` and then the largest, in order of name.
fn axis<'a>(flows: impl Iterator<Item = (&'a str, u64)>, own: &BTreeSet<&str>) -> Axis<'a> {
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, keys) in flows {
        *sums.entry(name).or_insert(0) += keys;
    }
    let mut lines: Vec<_> = sums
        .iter()
        .map(|(name, keys)| Line { name, keys: *keys })
        .collect();
    // The sort is stable, so equal sums stay in order of name.
    lines.sort_by_key(|line| (!own.contains(line.name), Reverse(line.keys)));
    let rest = lines.split_off(lines.len().min(MOST));
    lines.sort_by_key(|line| line.name);
    let listed = lines.iter().enumerate();
    let mut indexes: BTreeMap<_, _> = listed.map(|(index, line)| (line.name, index)).collect();
    indexes.extend(rest.iter().map(|line| (line.name, lines.len())));
    let others = (!rest.is_empty()).then_some(lines.len());
    lines.extend(others.map(|_| Line {
        name: OTHERS,
        keys: rest.iter().map(|line| line.keys).sum(),
    }));
    Axis {
        lines,
        others,
        indexes,
    }
}

fn title(remap: &Remap) -> String {
    let [moved, ideal] = [remap.moved_share, remap.ideal_share].map(text::percent);
    if remap.moved == 0 {
        return "No key moves".into();
    }
    format!("{moved} of the keys move (ideal: {ideal})")
}

fn lines(remap: &Remap) -> Vec<String> {
    let [all, moved, excess] = [remap.keys, remap.moved, remap.excess].map(text::count);
    let omitted = match remap.flows_omitted {
        0 => String::new(),
        flows => format!(" {} smaller flows are not drawn.", text::count(flows)),
    };
    Vec::from([format!(
        "{moved} of {all} keys; {excess} are excess moves, between nodes that the change does not concern. Totals at the right and below.{omitted}"
    )])
}
