//! The owners of the slots of a Redis Cluster.

use core::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::canvas::{Anchor, Canvas, Pen, class, colours};
use super::names::Names;
use super::picture::Picture;
use super::text;
use hashroute::redis::{ClusterNode, SlotRange, Table};

/// The number of slots in a row.
const ROW: u32 = 128;
const CELL: f64 = 4.5;
/// The most owners that are listed.
const LISTED: usize = 40;
/// The most runs of slots that are drawn one by one, each with a title. More are drawn by owner.
const RUNS: usize = 600;
/// The most moves that are listed.
const MOVES: usize = 6;
/// The number of slots up to which a run needs a circle to be visible.
const SMALL: u32 = 16;

/// Draws all slots in rows of 128, in the colours of their owners, with the number of the owner in
/// every run that has space for it, and lists what each owns. Beyond eleven owners, those with the
/// fewest slots are grey. Slots that a node reports as MIGRATING or IMPORTING are
/// marked, with the nodes that hand them over. O(slots).
///
/// ```
/// use hashroute::redis::{ClusterNode, SlotRule, Table};
///
/// let mut table = Table::with_nodes(SlotRule::REDIS, ["a", "b"].map(ClusterNode::new).into_iter().collect::<Result<Vec<_>, _>>()?)?;
/// table.assign(0..=9999, "a")?;
/// table.assign(10_000..=16_383, "b")?;
/// let picture = hashroute_harness::plot::slots(&table);
/// assert_eq!(picture.title(), "Slots: 2 primaries own all 16,384");
/// # Ok::<(), hashroute::Error>(())
/// ```
pub fn slots(table: &Table) -> Picture {
    let (owners, moves) = (Owners::of(table), Moves::of(table));
    let rows = table.rule().slots().div_ceil(ROW);
    let mut lines = Vec::from([format!(
        "Rows of {ROW} slots, slot 0 at the top left. Numbers are those of the list."
    )]);
    if !moves.slots.is_empty() {
        lines.push(
            "Marked, and circled where few: on the move, which a node calls MIGRATING or IMPORTING."
                .into(),
        );
    }
    lines.extend(owners.names.caption());
    let left = 76.0;
    let x = left + CELL * f64::from(ROW) + 36.0;
    let list = owners.width();
    let mut canvas = Canvas::new(x + list + 20.0, &title(table, &owners, &moves), &lines);
    let top = canvas.top() + 24.0;
    for row in (0..rows).step_by(16) {
        let y = top + CELL * f64::from(row);
        canvas.text(
            (left - 8.0, y + 4.0),
            "hr-small hr-soft",
            Anchor::End,
            &text::count(u64::from(row * ROW)),
        );
        canvas.line("hr-thin", (left - 6.0, y), (left, y));
    }
    grid(&mut canvas, table, &owners, (left, top));
    moves.mark(&mut canvas, (left, top));
    let y = owners.list(&mut canvas, table, (x, top + 12.0));
    let y = moves.list(&mut canvas, &owners, (x, y));
    canvas.finish((top + CELL * f64::from(rows)).max(y) + 30.0)
}

/// The owners in order of their first slot, each with its slots and its colour.
struct Owners<'t> {
    list: Vec<(&'t ClusterNode, u32)>,
    colours: Vec<usize>,
    /// The names of all nodes, also of those without slots.
    names: Names,
    labels: BTreeMap<&'t str, String>,
    /// Whether the list also has moves, which need space for two names.
    moving: bool,
}

impl<'t> Owners<'t> {
    fn of(table: &'t Table) -> Self {
        let owners = owners(table);
        let mut most: Vec<usize> = (0..owners.len()).collect();
        most.sort_by_key(|&index| Reverse(owners[index].1));
        let marks = table.marks().flat_map(|(_, node, mark)| {
            let (from, to) = mark.ends(node);
            [from, to]
        });
        let ids = owners.iter().map(|(owner, _)| owner.id()).chain(marks);
        let label_of = |id: &str| table.node(id).map_or_else(|| id.to_string(), label);
        let labels: BTreeMap<_, _> = ids.map(|id| (id, label_of(id))).collect();
        Self {
            colours: colours(owners.len(), &most),
            names: Names::new(labels.values().map(String::as_str), 18.0),
            labels,
            list: owners,
            moving: table.marks().next().is_some(),
        }
    }

    /// Returns the full name of a node, by its id.
    fn label<'a>(&'a self, id: &'a str) -> &'a str {
        self.labels.get(id).map_or(id, String::as_str)
    }

    /// Returns the short name of a node, by its id.
    fn name<'a>(&'a self, id: &'a str) -> &'a str {
        self.names.of(self.label(id))
    }

    /// Returns the width of the list.
    fn width(&self) -> f64 {
        let name = self.names.widest();
        let moves = if self.moving {
            2.0 * name * 11.0 + 90.0
        } else {
            0.0
        };
        (46.0 + name * 13.0 + 140.0).max(moves).max(335.0)
    }

    /// Returns the lower end of the list.
    fn list(&self, canvas: &mut Canvas, table: &Table, (x, mut y): (f64, f64)) -> f64 {
        let all = f64::from(table.rule().slots());
        let (slots, share) = (x + self.width() - 65.0, x + self.width());
        for (head, at) in [("slots", slots), ("share", share)] {
            canvas.text((at, y), "hr-bold", Anchor::End, head);
        }
        canvas.text((x, y), "hr-bold", Anchor::Start, "primary");
        let line = |canvas: &mut Canvas, y: f64, name: &str, count: u32| {
            canvas.text((x + 46.0, y), "", Anchor::Start, name);
            let slots_owned = text::count(u64::from(count));
            canvas.text((slots, y), "", Anchor::End, &slots_owned);
            let part = text::percent(f64::from(count) / all);
            canvas.text((share, y), "", Anchor::End, &part);
        };
        for (index, (owner, count)) in self.list.iter().take(LISTED).enumerate() {
            y += 20.0;
            canvas.titled(&self.about(index, all), |canvas| {
                canvas.swatch(self.colours[index], (x, y));
                let number = format!("{}", index + 1);
                canvas.text((x + 38.0, y), "hr-small", Anchor::End, &number);
                line(canvas, y, self.name(owner.id()), *count);
            });
        }
        let rest = self.list.get(LISTED..).unwrap_or_default();
        if !rest.is_empty() {
            y += 20.0;
            let count = rest.iter().map(|(_, count)| count).sum();
            line(canvas, y, &format!("{} more", rest.len()), count);
        }
        let owned: u32 = self.list.iter().map(|(_, count)| count).sum();
        if f64::from(owned) < all {
            y += 20.0;
            canvas.rectangle("hr-void", (x, y - 11.0), (13.0, 13.0));
            line(canvas, y, "nobody", table.rule().slots() - owned);
        }
        y
    }

    /// Writes all about an owner.
    fn about(&self, index: usize, all: f64) -> String {
        let (owner, count) = self.list[index];
        let share = text::percent(f64::from(count) / all);
        let slots = text::counted(count.into(), "slot");
        format!("{}: {slots} ({share})", text::whole(self.label(owner.id())))
    }
}

/// The slots that some node reports as moving.
struct Moves<'t> {
    slots: Vec<SlotRange>,
    /// The moves from owner to owner, the most slots first.
    flows: Vec<(usize, (&'t str, &'t str))>,
}

impl<'t> Moves<'t> {
    fn of(table: &'t Table) -> Self {
        let mut flows: BTreeMap<_, BTreeSet<u32>> = BTreeMap::new();
        for (slot, node, mark) in table.marks() {
            flows.entry(mark.ends(node)).or_default().insert(slot);
        }
        let counted = flows.into_iter().map(|(ends, slots)| (slots.len(), ends));
        let mut flows: Vec<_> = counted.collect();
        flows.sort_by_key(|(count, _)| Reverse(*count));
        Self {
            slots: table.open_slots(),
            flows,
        }
    }

    fn mark(&self, canvas: &mut Canvas, at: (f64, f64)) {
        let mut pen = Pen::default();
        for slots in &self.slots {
            let (first, last) = (*slots.start(), *slots.end());
            run(&mut pen, (first, last), at);
            if last - first < SMALL && first / ROW == last / ROW {
                let column = f64::from(first % ROW + last % ROW + 1) / 2.0;
                let row = f64::from(first / ROW) + 0.5;
                let centre = (at.0 + CELL * column, at.1 + CELL * row);
                let radius = CELL * f64::from(last - first + 1) / 2.0 + 5.0;
                canvas.circle("hr-line", centre, radius);
            }
        }
        canvas.path("hr-ink", &pen);
    }

    /// Returns the lower end of the list.
    fn list(&self, canvas: &mut Canvas, owners: &Owners, (x, mut y): (f64, f64)) -> f64 {
        if self.flows.is_empty() {
            return y;
        }
        y += 34.0;
        canvas.rectangle("hr-ink", (x, y - 11.0), (13.0, 13.0));
        canvas.text((x + 20.0, y), "hr-bold", Anchor::Start, "on the move");
        for (count, (from, to)) in self.flows.iter().take(MOVES) {
            y += 20.0;
            let slots = *count as u64;
            let [from_whole, to_whole] = [*from, *to].map(|id| text::whole(owners.label(id)));
            let about = format!(
                "{from_whole} → {to_whole}: {}",
                text::counted(slots, "slot")
            );
            canvas.titled(&about, |canvas| {
                let ends = [*from, *to].map(|id| owners.name(id));
                canvas.text((x, y), "hr-small", Anchor::Start, &ends.join(" → "));
                canvas.text(
                    (x + owners.width(), y),
                    "",
                    Anchor::End,
                    &text::count(slots),
                );
            });
        }
        let rest = self.flows.len().saturating_sub(MOVES);
        if rest > 0 {
            y += 20.0;
            let more = format!("and {} more", text::counted(rest as u64, "pair"));
            canvas.text((x, y), "hr-small", Anchor::Start, &more);
        }
        y
    }
}

/// Returns the owners in order of their first slot, with their number of slots.
fn owners(table: &Table) -> Vec<(&ClusterNode, u32)> {
    let mut indexes = BTreeMap::new();
    let mut owners: Vec<(&ClusterNode, u32)> = Vec::new();
    for (range, owner) in table.runs() {
        let Some(owner) = owner else { continue };
        let index = *indexes.entry(owner.id()).or_insert(owners.len());
        if index == owners.len() {
            owners.push((owner, 0));
        }
        owners[index].1 += range.end() - range.start() + 1;
    }
    owners
}

fn title(table: &Table, owners: &Owners, moves: &Moves) -> String {
    let owners = &owners.list;
    let moving = moves
        .slots
        .iter()
        .map(|range| range.end() - range.start() + 1);
    let moving = match moving.sum::<u32>() {
        0 => String::new(),
        1 => "; 1 slot is on the move".into(),
        many => format!("; {} slots are on the move", text::count(many.into())),
    };
    let all = table.rule().slots();
    let owned: u32 = owners.iter().map(|(_, count)| count).sum();
    let whole = text::count(u64::from(all));
    match owners.len() {
        0 => format!("Slots: nobody owns any of {whole}{moving}"),
        count => {
            let own = if count == 1 {
                "primary owns"
            } else {
                "primaries own"
            };
            let how = if owned == all {
                format!("all {whole}")
            } else {
                format!("{} of {whole}", text::count(u64::from(owned)))
            };
            format!("Slots: {} {own} {how}{moving}", text::count(count as u64))
        }
    }
}

/// Draws the runs of slots, each with a title; of very many runs, a path for each owner.
fn grid(canvas: &mut Canvas, table: &Table, owners: &Owners, at: (f64, f64)) {
    let listed = owners.list.iter().enumerate();
    let indexes: BTreeMap<_, _> = listed
        .map(|(index, (owner, _))| (owner.id(), index))
        .collect();
    let index_of = |owner: Option<&ClusterNode>| indexes.get(owner?.id()).copied();
    let all = f64::from(table.rule().slots());
    let about = |index: Option<usize>| match index {
        Some(index) => owners.about(index, all),
        None => "nobody".into(),
    };
    let draw = |canvas: &mut Canvas, index: Option<usize>, about: &str, pen: &Pen| {
        let class = index.map_or("hr-void".into(), |index| class(owners.colours[index]));
        canvas.titled(about, |canvas| canvas.path(&class, pen));
    };
    if table.runs().count() <= RUNS {
        for (range, owner) in table.runs() {
            let (index, mut pen) = (index_of(owner), Pen::default());
            run(&mut pen, (*range.start(), *range.end()), at);
            let about = format!("slots {}-{}: {}", range.start(), range.end(), about(index));
            draw(canvas, index, &about, &pen);
        }
    } else {
        let mut pens: BTreeMap<_, Pen> = BTreeMap::new();
        for (range, owner) in table.runs() {
            let pen = pens.entry(index_of(owner)).or_default();
            run(pen, (*range.start(), *range.end()), at);
        }
        for (index, pen) in &pens {
            draw(canvas, *index, &about(*index), pen);
        }
    }
    for (range, owner) in table.runs() {
        let length = range.end() - range.start() + 1;
        if let Some(index) = index_of(owner).filter(|index| *index < LISTED) {
            number(canvas, index, range.start() + length / 2, length, at);
        }
    }
}

/// Adds a run as rectangles: its first row, the whole rows, its last row.
fn run(pen: &mut Pen, (first, last): (u32, u32), at: (f64, f64)) {
    let mut start = first;
    while start <= last {
        let whole = (last + 1 - start) / ROW;
        let (end, rows) = if start % ROW == 0 && whole > 0 {
            (start + whole * ROW - 1, whole)
        } else {
            (last.min(start / ROW * ROW + ROW - 1), 1)
        };
        let corner = (
            at.0 + CELL * f64::from(start % ROW),
            at.1 + CELL * f64::from(start / ROW),
        );
        let width = f64::from((end - start + 1) / rows);
        pen.rectangle(corner, (CELL * width, CELL * f64::from(rows)));
        start = end + 1;
    }
}

/// Draws the number of an owner in a run, if that has space for it.
fn number(canvas: &mut Canvas, index: usize, middle: u32, length: u32, at: (f64, f64)) {
    if length < 4 * ROW {
        return;
    }
    let at = (
        at.0 + CELL * f64::from(ROW) / 2.0,
        at.1 + CELL * f64::from(middle / ROW) + CELL / 2.0,
    );
    let number = format!("{}", index + 1);
    let width = 9.0 * number.len() as f64 + 8.0;
    canvas.rectangle("hr-paper", (at.0 - width / 2.0, at.1 - 8.0), (width, 16.0));
    canvas.text((at.0, at.1 + 4.5), "hr-bold", Anchor::Middle, &number);
}

/// Returns the address, or the id if there is none.
fn label(node: &ClusterNode) -> String {
    if node.address().is_known() {
        node.address().to_string()
    } else {
        node.id().to_string()
    }
}
