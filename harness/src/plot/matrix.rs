//! The keys that move between nodes.

use core::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::canvas::{Anchor, Canvas};
use super::names::Names;
use super::picture::Picture;
use super::text;
use crate::Remap;
use crate::text::natural;
use hashroute::Change;

/// The most rows and columns. The rest share one more.
const MOST: usize = 60;
/// The widest name of a row and of a column, in units of their sizes.
const ROW_NAME: f64 = 22.0;
const COLUMN_NAME: f64 = 16.0;

/// What a matrix of moved keys shows.
///
/// ```
/// use hashroute_harness::{Keys, Assignment, remap};
/// use hashroute::{Change, Node, Ring, Router};
/// use hashroute_harness::plot::{RemapScene, matrix};
///
/// let keys = Keys::template("user:{i}", 0..10_000)?;
/// let mut ring = Ring::new(["a", "b", "c"].map(Node::new))?;
/// let before = Assignment::of(&ring, &keys);
/// let changes = [Change::Add(Node::new("d"))];
/// ring.apply(&changes[0])?;
/// let remap = remap(&before, &Assignment::of(&ring, &keys), &keys);
/// let scene = RemapScene::new(&remap).with_strategy("ring").with_changes(&changes);
/// assert!(matrix(&scene).title().starts_with("ring, add d: "));
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RemapScene<'a> {
    /// What moves.
    pub remap: &'a Remap,
    /// The name of the strategy, for the title.
    pub strategy: &'a str,
    /// The changes that move the keys, for the title.
    pub changes: &'a [Change],
    /// The name of the hash function of keys, for the text below the title.
    pub hash: &'a str,
    /// Where the keys come from, for the same text.
    pub source: &'a str,
}

impl<'a> RemapScene<'a> {
    /// Shows what moves, without a word on why.
    pub const fn new(remap: &'a Remap) -> Self {
        Self {
            remap,
            strategy: "",
            changes: &[],
            hash: "",
            source: "",
        }
    }
}

builder! { RemapScene<'a>:
    with_strategy(strategy: &'a str),
    with_changes(changes: &'a [Change]),
    with_hash(hash: &'a str),
    with_source(source: &'a str),
}

/// Draws the keys that move: a row for each node that gives keys, a column for each node that takes
/// them, the darker the more keys. At most sixty of each: the nodes that the change concerns, and
/// those with the largest flows. The others share a row and a column, which do not count for the
/// shades. Nodes stand in order of name; if there is but one row or one column, the largest flow
/// comes first. O(flows log flows).
///
/// ```
/// use hashroute_harness::{Keys, Assignment, remap};
/// use hashroute::{Change, Node, Ring, Router};
/// use hashroute_harness::plot::{RemapScene, matrix};
///
/// let keys = Keys::template("user:{i}", 0..10_000)?;
/// let mut ring = Ring::new(["a", "b", "c"].map(Node::new))?;
/// let before = Assignment::of(&ring, &keys);
/// let still = remap(&before, &before, &keys);
/// assert_eq!(matrix(&RemapScene::new(&still)).title(), "No key moves");
/// ring.apply(&Change::Add(Node::new("d")))?;
/// let moved = remap(&before, &Assignment::of(&ring, &keys), &keys);
/// assert!(matrix(&RemapScene::new(&moved)).title().ends_with("of the keys move (between even nodes: 25.00%)"));
/// # Ok::<(), hashroute::Error>(())
/// ```
pub fn matrix(scene: &RemapScene) -> Picture {
    let grid = Grid::new(scene.remap);
    let [rows, columns] = [grid.from.len(), grid.to.len()].map(|count| count.max(1) as f64);
    let size = (
        (640.0 / columns).clamp(11.0, 90.0),
        (640.0 / rows).clamp(13.0, 28.0),
    );
    let left = 30.0 + (grid.names[0].widest() * 13.0).max(80.0);
    let right = left + size.0 * columns;
    let mut lines = lines(scene);
    lines.extend(grid.names[1].caption().or_else(|| grid.names[0].caption()));
    // Names of columns climb to the right, beyond their columns.
    let climb = if grid.climbs(size.0) {
        grid.climb(0.57)
    } else {
        0.0
    }; // the cosine of 55 degrees
    let width = (right + 130.0_f64.max(climb)).max(900.0);
    let mut canvas = Canvas::new(width, &title(scene, &grid.names[0]), &lines);
    let top = canvas.top() + 22.0 + grid.head(size.0);
    let bottom = top + size.1 * rows;
    if grid.from.is_empty() {
        let height = canvas.top() + 24.0;
        return canvas.finish(height);
    }
    grid.draw(&mut canvas, scene.remap, (left, top), size);
    let corner = (left - 10.0, top - 8.0);
    canvas.text(corner, "hr-soft hr-small", Anchor::End, "from ↓  to →");
    canvas.finish(bottom + 46.0)
}

/// The keys by row and column.
#[derive(Debug)]
struct Grid<'a> {
    from: Vec<Line<'a>>,
    to: Vec<Line<'a>>,
    /// The names of rows and of columns.
    names: [Names; 2],
    /// The row and the column of all others, if there are any.
    others: [Option<usize>; 2],
    cells: BTreeMap<(usize, usize), u64>,
}

#[derive(Clone, Debug)]
struct Line<'a> {
    name: &'a str,
    keys: u64,
}

impl Line<'_> {
    /// Writes "a gives 12 keys".
    fn about(&self, verb: &str) -> String {
        format!(
            "{} {verb} {}",
            text::whole(self.name),
            text::counted(self.keys, "key")
        )
    }
}

impl<'a> Grid<'a> {
    fn new(remap: &'a Remap) -> Self {
        let name = |name: &'a Option<String>| name.as_deref().unwrap_or(NOBODY);
        let flows = || remap.flows.iter();
        let own: BTreeSet<_> = remap.changed.iter().map(String::as_str).collect();
        let mut rows = axis(flows().map(|flow| (name(&flow.from), flow.keys)), &own);
        let mut columns = axis(flows().map(|flow| (name(&flow.to), flow.keys)), &own);
        match (rows.lines.len(), columns.lines.len()) {
            (1, 1) => {}
            (1, _) => columns.rank(),
            (_, 1) => rows.rank(),
            _ => {}
        }
        // Of both, so that a node has one name in the picture where one is short enough.
        let all = || {
            rows.lines
                .iter()
                .chain(&columns.lines)
                .map(|line| line.name)
        };
        let names = [ROW_NAME, COLUMN_NAME].map(|room| Names::new(all(), room));
        let mut cells = BTreeMap::new();
        for flow in flows() {
            let index = (
                rows.indexes[name(&flow.from)],
                columns.indexes[name(&flow.to)],
            );
            *cells.entry(index).or_insert(0) += flow.keys;
        }
        Self {
            names,
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

    fn draw(
        &self,
        canvas: &mut Canvas,
        remap: &Remap,
        (left, top): (f64, f64),
        (width, height): (f64, f64),
    ) {
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
        // All figures or none: a few of them would look like the only flows.
        let widths = self
            .cells
            .values()
            .map(|keys| text::width(&text::count(*keys)));
        let figures = widths.fold(0.0, f64::max) * 11.0 < width - 4.0;
        for (&(row, column), &keys) in &self.cells {
            let at = (x(column) + 0.5, y(row) + 0.5);
            let (heat, cell) = (keys as f64 / most, (width - 1.0, height - 1.0));
            let many = self.is_many((row, column));
            let text = text::count(keys);
            let share = text::percent(keys as f64 / (remap.keys as f64).max(1.0));
            let [from, to] = [&self.from[row], &self.to[column]].map(|line| text::whole(line.name));
            let about = format!("{from} → {to}: {text} keys ({share} of all)");
            canvas.titled(&about, |canvas| {
                if many {
                    canvas.rectangle("hr-band", at, cell);
                } else {
                    // The smallest flow must still be visible.
                    canvas.heat(0.12 + 0.88 * heat, at, cell);
                }
                if figures {
                    let class = if heat > 0.75 && !many {
                        "hr-small hr-on"
                    } else {
                        "hr-small"
                    };
                    let at = (x(column) + width / 2.0, y(row) + height / 2.0 + 4.0);
                    canvas.text(at, class, Anchor::Middle, &text);
                }
            });
        }
        self.heads(canvas, (left, top), (width, height));
        self.totals(canvas, left, top + height * self.from.len() as f64, width);
    }

    /// Draws the names and sums of rows, and the names of columns.
    fn heads(&self, canvas: &mut Canvas, (left, top): (f64, f64), (width, height): (f64, f64)) {
        let end = left + width * self.to.len() as f64 + 10.0;
        for (row, line) in self.from.iter().enumerate() {
            let y = top + height * (row as f64 + 0.5) + 4.5;
            let keys = text::count(line.keys);
            canvas.titled(&line.about("gives"), |canvas| {
                canvas.text(
                    (left - 10.0, y),
                    "",
                    Anchor::End,
                    self.names[0].of(line.name),
                );
                canvas.text((end, y), "hr-small", Anchor::Start, &keys);
            });
        }
        for (column, line) in self.to.iter().enumerate() {
            let middle = left + width * (column as f64 + 0.5);
            let name = self.names[1].of(line.name);
            canvas.titled(&line.about("takes"), |canvas| {
                if self.climbs(width) {
                    canvas.climbing((middle + 2.0, top - 8.0), name);
                } else {
                    canvas.text((middle, top - 8.0), "hr-small", Anchor::Middle, name);
                }
            });
        }
    }

    /// Returns whether the names of columns are too wide to be horizontal.
    fn climbs(&self, width: f64) -> bool {
        self.climb(1.0) > width - 4.0
    }

    /// Returns a part of the width of the widest name of a column.
    fn climb(&self, part: f64) -> f64 {
        let names = self.to.iter().map(|line| self.names[1].of(line.name));
        names
            .map(|name| text::width(name) * 11.0)
            .fold(0.0, f64::max)
            * part
    }

    /// Returns the height of the names of columns.
    fn head(&self, width: f64) -> f64 {
        if self.climbs(width) {
            self.climb(0.82) + 8.0 // the sine of 55 degrees
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

impl Axis<'_> {
    /// Sorts the lines by their keys, the most first; the line of all others stays last.
    fn rank(&mut self) {
        let end = self.others.unwrap_or(self.lines.len());
        let mut order: Vec<usize> = (0..end).collect();
        order.sort_by_key(|&index| Reverse(self.lines[index].keys));
        let mut places = vec![0; end];
        for (place, &index) in order.iter().enumerate() {
            places[index] = place;
        }
        let mut lines: Vec<_> = order
            .iter()
            .map(|&index| self.lines[index].clone())
            .collect();
        lines.extend(self.lines.drain(end..));
        self.lines = lines;
        for index in self.indexes.values_mut() {
            *index = places.get(*index).copied().unwrap_or(*index);
        }
    }
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
    lines.sort_by(|a, b| natural(a.name, b.name));
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

/// Writes "ring, add d: 24.10% of the keys move (between even nodes: 25.00%)".
fn title(scene: &RemapScene, names: &Names) -> String {
    let mut added = Vec::new();
    let mut removed: Vec<&str> = Vec::new();
    let mut reweighted: Vec<&str> = Vec::new();
    for change in scene.changes {
        match change {
            Change::Add(node) => added.push(names.of(node.name())),
            Change::Remove(name) => removed.push(names.of(name)),
            Change::Reweight(name, _) => reweighted.push(names.of(name)),
            _ => {}
        }
    }
    let change = text::change(&added, &removed, &reweighted);
    let strategy = text::name(scene.strategy, 30.0);
    let about = [strategy, change]
        .into_iter()
        .filter(|part| !part.is_empty());
    let about = about.collect::<Vec<_>>().join(", ");
    let remap = scene.remap;
    let [moved, ideal] = [remap.moved_share, remap.ideal_share].map(text::percent);
    let found = format!("{moved} of the keys move (between even nodes: {ideal})");
    match (about.as_str(), remap.moved) {
        ("", 0) => "No key moves".into(),
        (about, 0) => format!("{about}: no key moves"),
        ("", _) => found,
        (about, _) => format!("{about}: {found}"),
    }
}

fn lines(scene: &RemapScene) -> Vec<String> {
    let remap = scene.remap;
    let [moved, excess] = [remap.moved, remap.excess].map(text::count);
    let omitted = match remap.flows_omitted {
        0 => String::new(),
        flows => format!(" {} smaller flows are not drawn.", text::count(flows)),
    };
    Vec::from([
        text::keys(remap.keys, scene.source, scene.hash),
        format!(
            "{moved} keys move. Between even nodes: the share that moves if every node holds its fair share before and after."
        ),
        format!(
            "{excess} are excess moves, between nodes that the change does not concern. Totals at the right and below.{omitted}"
        ),
    ])
}
