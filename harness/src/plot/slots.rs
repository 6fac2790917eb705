//! The owners of the slots of a Redis Cluster.

use core::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::canvas::{Anchor, Canvas, Pen};
use super::picture::Picture;
use super::text;
use hashroute::redis::{ClusterNode, SlotRange, Table};

/// The number of slots in a row.
const ROW: u32 = 128;
const CELL: f64 = 4.5;
/// The most owners that are listed.
const LISTED: usize = 28;
/// The most moves that are listed.
const MOVES: usize = 6;
/// The number of slots up to which a run needs a circle to be visible.
const SMALL: u32 = 16;

/// Draws all slots in rows of 128, in the colours of their owners, each with its number in its
/// longest run, and lists what each owns. Slots that a node reports as MIGRATING or IMPORTING are
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
    let (owners, moves) = (owners(table), Moves::of(table));
    let rows = table.rule().slots().div_ceil(ROW);
    let top = 110.0;
    let listed = owners.len().min(LISTED) + usize::from(owners.len() > LISTED) + 2 + moves.lines();
    let height = (top + CELL * f64::from(rows)).max(top + 20.0 * listed as f64) + 30.0;
    let mut lines = Vec::from([format!(
        "Rows of {ROW} slots, slot 0 at the top left. A number stands in the longest run of each owner."
    )]);
    if !moves.slots.is_empty() {
        lines.push(
            "Marked, and circled where few: on the move, which a node calls MIGRATING or IMPORTING."
                .into(),
        );
    }
    let mut canvas = Canvas::new(1040.0, height, &title(table, &owners, &moves), &lines);
    let left = 76.0;
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
    let x = left + CELL * f64::from(ROW) + 36.0;
    let y = list(&mut canvas, table, &owners, (x, top + 12.0));
    moves.list(&mut canvas, table, (x, y));
    canvas.finish()
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

    /// Returns the number of lines of the list.
    fn lines(&self) -> usize {
        match self.flows.len() {
            0 => 0,
            many => 2 + many.min(MOVES) + usize::from(many > MOVES),
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

    fn list(&self, canvas: &mut Canvas, table: &Table, (x, mut y): (f64, f64)) {
        if self.flows.is_empty() {
            return;
        }
        y += 34.0;
        canvas.rectangle("hr-ink", (x, y - 11.0), (13.0, 13.0));
        canvas.text((x + 20.0, y), "hr-bold", Anchor::Start, "on the move");
        let title = |id: &str| table.node(id).map_or_else(|| id.to_string(), label);
        for (count, (from, to)) in self.flows.iter().take(MOVES) {
            y += 20.0;
            let ends = [title(from), title(to)].map(|name| text::name(&name, 12.0));
            canvas.text((x, y), "hr-small", Anchor::Start, &ends.join(" → "));
            canvas.text((x + 335.0, y), "", Anchor::End, &text::count(*count as u64));
        }
        let rest = self.flows.len().saturating_sub(MOVES);
        if rest > 0 {
            let more = format!("and {} more", text::counted(rest as u64, "pair"));
            canvas.text((x, y + 20.0), "hr-small", Anchor::Start, &more);
        }
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

fn title(table: &Table, owners: &[(&ClusterNode, u32)], moves: &Moves) -> String {
    let moving = moves
        .slots
        .iter()
        .map(|range| range.end() - range.start() + 1);
    let moving = match moving.sum::<u32>() {
        0 => String::new(),
        1 => ", 1 is on the move".into(),
        many => format!(", {} are on the move", text::count(many.into())),
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

/// Draws a path for each owner: the rows of its runs.
fn grid(canvas: &mut Canvas, table: &Table, owners: &[(&ClusterNode, u32)], at: (f64, f64)) {
    let indexes: BTreeMap<_, _> = owners
        .iter()
        .enumerate()
        .map(|(index, (owner, _))| (owner.id(), index))
        .collect();
    let mut pens = vec![Pen::default(); owners.len()];
    let mut nobody = Pen::default();
    let mut longest = vec![(0, 0); owners.len()];
    for (range, owner) in table.runs() {
        let index = owner.and_then(|owner| indexes.get(owner.id()).copied());
        let pen = index.map_or(&mut nobody, |index| &mut pens[index]);
        run(pen, (*range.start(), *range.end()), at);
        let length = range.end() - range.start() + 1;
        if let Some(longest) = index.map(|index| &mut longest[index]) {
            *longest = (*longest).max((length, u32::MAX - range.start()));
        }
    }
    canvas.path("hr-void", &nobody);
    for (index, pen) in pens.iter().enumerate() {
        canvas.fill(index, pen);
    }
    for (index, (length, start)) in longest.into_iter().enumerate() {
        let middle = u32::MAX - start + length / 2;
        number(canvas, index, middle, length, at);
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

/// Draws the number of an owner in its longest run, if that has space for it.
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

/// Returns the height of the list.
fn list(
    canvas: &mut Canvas,
    table: &Table,
    owners: &[(&ClusterNode, u32)],
    (x, mut y): (f64, f64),
) -> f64 {
    let all = f64::from(table.rule().slots());
    for (head, at) in [("slots", x + 270.0), ("share", x + 335.0)] {
        canvas.text((at, y), "hr-bold", Anchor::End, head);
    }
    canvas.text((x, y), "hr-bold", Anchor::Start, "primary");
    let line = |canvas: &mut Canvas, y: f64, name: &str, count: u32| {
        canvas.name((x + 46.0, y), Anchor::Start, 165.0, name);
        canvas.text(
            (x + 270.0, y),
            "",
            Anchor::End,
            &text::count(u64::from(count)),
        );
        let share = text::percent(f64::from(count) / all);
        canvas.text((x + 335.0, y), "", Anchor::End, &share);
    };
    for (index, (owner, count)) in owners.iter().take(LISTED).enumerate() {
        y += 20.0;
        let mut swatch = Pen::default();
        swatch.rectangle((x, y - 11.0), (13.0, 13.0));
        canvas.fill(index, &swatch);
        canvas.text(
            (x + 20.0, y),
            "hr-small",
            Anchor::Start,
            &format!("{}", index + 1),
        );
        line(canvas, y, &label(owner), *count);
    }
    let rest = owners.get(LISTED..).unwrap_or_default();
    if !rest.is_empty() {
        y += 20.0;
        line(
            canvas,
            y,
            &format!("{} more", rest.len()),
            rest.iter().map(|(_, count)| count).sum(),
        );
    }
    let owned: u32 = owners.iter().map(|(_, count)| count).sum();
    if f64::from(owned) < all {
        y += 20.0;
        canvas.rectangle("hr-void", (x, y - 11.0), (13.0, 13.0));
        line(canvas, y, "nobody", table.rule().slots() - owned);
    }
    y
}

/// Returns the address, or the id if there is none.
fn label(node: &ClusterNode) -> String {
    if node.address().is_known() {
        node.address().to_string()
    } else {
        node.id().to_string()
    }
}
