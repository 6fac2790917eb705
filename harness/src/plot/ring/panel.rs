//! The list beside the circle: the nodes, the figures and the keys.

use super::scene::RingScene;
use super::stage::Stage;
use crate::plot::canvas::{Anchor, Canvas};
use crate::plot::text;

/// The most nodes that are listed.
const LISTED: usize = 48;
/// The number of nodes that are listed of more.
const EXTREMES: usize = 24;
/// The number of listed nodes from which on figures and keys stand below the circle.
const LONG: usize = 16;
const ROW: f64 = 19.0;
/// The width of a column of shares.
const SHARE: f64 = 62.0;

#[derive(Debug)]
pub(super) struct Panel {
    nodes: Vec<Row>,
    unlisted: usize,
    /// The number of listed nodes after those that are not listed.
    least: usize,
    figures: Vec<(&'static str, String)>,
    /// The titles of the columns of shares, and where all columns end.
    heads: Vec<&'static str>,
    ends: Ends,
}

/// Where the columns of the list end, from its left.
#[derive(Clone, Copy, Debug)]
struct Ends {
    number: f64,
    weight: f64,
    whole: f64,
    /// Whether nodes differ in weight, so that there is a column of weights.
    weighted: bool,
}

#[derive(Debug)]
struct Row {
    member: usize,
    /// The shares of the circle before and after, and of the keys before.
    shares: Vec<Option<f64>>,
}

impl Panel {
    pub(super) fn new(stage: &Stage, scene: &RingScene) -> Self {
        let mut nodes = rows(stage, scene);
        let (all, mut least) = (nodes.len(), 0);
        if all > LISTED {
            (nodes, least) = extremes(stage, nodes);
        } else if !stage.distinct() {
            nodes.sort_by(|a, b| share(b).total_cmp(&share(a)));
        }
        let heads = match stage.after {
            Some(_) => Vec::from(["circle", "after", "keys"]),
            None => Vec::from(["circle", "keys"]),
        };
        Self {
            unlisted: all - nodes.len(),
            least,
            figures: figures(stage, scene),
            ends: ends(stage, &nodes, heads.len()),
            heads,
            nodes,
        }
    }

    pub(super) fn width(&self) -> f64 {
        self.ends.whole
    }

    /// Returns whether a node is in the list, by the index of its member.
    pub(super) fn lists(&self, member: usize) -> bool {
        self.nodes.iter().any(|row| row.member == member)
    }

    /// Returns whether figures and keys stand below the circle.
    pub(super) fn is_long(&self) -> bool {
        self.nodes.len() > LONG
    }

    /// Draws the nodes. Returns the lower end.
    pub(super) fn nodes(&self, canvas: &mut Canvas, stage: &Stage, (x, y): (f64, f64)) -> f64 {
        let mut y = y + ROW;
        canvas.text((x, y), "hr-bold", Anchor::Start, "node");
        if self.ends.weighted {
            canvas.text((x + self.ends.weight, y), "hr-bold", Anchor::End, "weight");
        }
        for (column, head) in self.heads.iter().enumerate() {
            let end = x + self.ends.weight + SHARE * (column + 1) as f64;
            canvas.text((end, y), "hr-bold", Anchor::End, head);
        }
        for (index, row) in self.nodes.iter().enumerate() {
            if self.unlisted > 0 && index == self.nodes.len() - self.least {
                y += ROW;
                let more = text::counted(self.unlisted as u64, "node");
                let more = format!("{more} between these");
                canvas.text((x + self.ends.number, y), "hr-soft", Anchor::Start, &more);
            }
            y += ROW;
            let about = self.about(stage, row);
            canvas.titled(&about, |canvas| self.node(canvas, stage, row, (x, y)));
        }
        y + 0.5 * ROW
    }

    fn node(&self, canvas: &mut Canvas, stage: &Stage, row: &Row, (x, y): (f64, f64)) {
        if stage.distinct() {
            canvas.swatch(stage.colours[row.member], (x, y));
            let number = format!("{}", row.member + 1);
            let at = (x + self.ends.number - 7.0, y);
            canvas.text(at, "hr-small", Anchor::End, &number);
        }
        let at = (x + self.ends.number, y);
        canvas.text(at, "", Anchor::Start, stage.name(row.member));
        if self.ends.weighted {
            let weight = stage.cast.members[row.member].weight();
            canvas.text((x + self.ends.weight, y), "hr-soft", Anchor::End, &weight);
        }
        for (column, share) in row.shares.iter().enumerate() {
            let share = share.map_or_else(String::new, text::percent);
            let end = x + self.ends.weight + SHARE * (column + 1) as f64;
            canvas.text((end, y), "", Anchor::End, &share);
        }
    }

    /// Writes all about a node.
    fn about(&self, stage: &Stage, row: &Row) -> String {
        let member = &stage.cast.members[row.member];
        let shares = self.heads.iter().zip(&row.shares);
        let shares = shares.filter_map(|(head, share)| {
            let share = text::percent((*share)?);
            Some(match *head {
                "circle" => format!("{share} of the circle"),
                "after" => format!("{share} after the change"),
                _ => format!("{share} of the keys"),
            })
        });
        let shares = shares.collect::<Vec<_>>().join(", ");
        format!(
            "{}: weight {}; {shares}",
            text::whole(&member.name),
            member.weight()
        )
    }

    /// Draws the figures and the keys: below each other, or side by side where the width allows.
    /// Returns the lower end.
    pub(super) fn rest(
        &self,
        canvas: &mut Canvas,
        stage: &Stage,
        (x, top): (f64, f64),
        width: f64,
    ) -> f64 {
        let beside = self.is_long();
        let part = if beside { width / 2.0 - 20.0 } else { width };
        let mut y = top + ROW;
        for (name, value) in &self.figures {
            canvas.text((x, y), "", Anchor::Start, name);
            canvas.text((x + part, y), "", Anchor::End, value);
            y += ROW;
        }
        let (x, mut below) = if beside {
            (x + part + 40.0, top + ROW)
        } else {
            (x, y + 0.5 * ROW)
        };
        for key in &stage.keys {
            let owner = way(stage, key.owners);
            let [old, new] = key.owners.map(|owner| whole(stage, owner));
            let full = if old == new {
                old
            } else {
                format!("{old} → {new}")
            };
            let about = format!("{}: {} on {full}", key.letter, text::whole(&key.text));
            let room = part / 13.0 - text::width(&owner) - 2.5;
            canvas.titled(&about, |canvas| {
                let letter = key.letter.to_string();
                canvas.text((x, below), "hr-bold", Anchor::Start, &letter);
                let name = text::name(&key.text, room.max(3.0));
                canvas.text((x + 20.0, below), "", Anchor::Start, &name);
                canvas.text((x + part, below), "", Anchor::End, &owner);
            });
            below += ROW;
        }
        y.max(below)
    }
}

/// Returns the full name of an owner.
pub(super) fn whole(stage: &Stage, owner: Option<usize>) -> String {
    let member = owner.and_then(|owner| stage.cast.members.get(owner));
    member.map_or_else(|| "nobody".into(), |member| text::whole(&member.name))
}

/// Writes "a", or "a → d" for a key that moves.
fn way(stage: &Stage, owners: [Option<usize>; 2]) -> String {
    let [old, new] = owners.map(|owner| owner.map_or("nobody", |owner| stage.name(owner)));
    if owners[0] == owners[1] {
        new.into()
    } else {
        format!("{old} → {new}")
    }
}

/// Returns where the columns end: names take the space that they need.
fn ends(stage: &Stage, nodes: &[Row], shares: usize) -> Ends {
    let widest = |text: &dyn Fn(&Row) -> String| {
        let widths = nodes.iter().map(|row| text::width(&text(row)));
        widths.fold(0.0, f64::max) * 13.0
    };
    let number = if stage.distinct() {
        let digits = widest(&|row| (row.member + 1).to_string());
        27.0 + digits * 11.0 / 13.0
    } else {
        0.0
    };
    let name = number + widest(&|row| stage.name(row.member).into()).max(120.0);
    let members = &stage.cast.members;
    let first = members.first().and_then(|member| member.weights[0]);
    let alike = |weight: &Option<u32>| weight.is_none() || *weight == first;
    let weighted = !members.iter().flat_map(|member| &member.weights).all(alike);
    let weights = if weighted {
        10.0 + widest(&|row| members[row.member].weight()).max(58.0)
    } else {
        0.0
    };
    let shares = SHARE * shares as f64;
    let whole = (name + weights + shares).max(375.0);
    Ends {
        number,
        weight: whole - shares,
        whole,
        weighted,
    }
}

/// Returns the share of the circle by which nodes are ranked.
fn share(row: &Row) -> f64 {
    row.shares.iter().flatten().next().copied().unwrap_or(0.0)
}

fn rows(stage: &Stage, scene: &RingScene) -> Vec<Row> {
    let members = stage.cast.members.len();
    let before = stage.before.shares(members);
    let after = stage.after.as_ref().map(|after| after.shares(members));
    let row = |member: usize| {
        let is = &stage.cast.members[member];
        let keys = scene.balance.nodes.iter().find(|node| node.name == is.name);
        let old = is.weights[0].map(|_| before[member]);
        let new = is.weights[1].and_then(|_| Some(after.as_ref()?[member]));
        let keys = keys.map(|node| node.share);
        Row {
            member,
            shares: if after.is_some() {
                Vec::from([old, new, keys])
            } else {
                Vec::from([old, keys])
            },
        }
    };
    (0..members).map(row).collect()
}

/// Chooses the nodes that the change concerns, then those with most and with least of the circle.
/// Returns them with the number of those with least.
fn extremes(stage: &Stage, rows: Vec<Row>) -> (Vec<Row>, usize) {
    let changes = |row: &Row| stage.cast.members[row.member].changes();
    let (mut listed, mut rest): (Vec<_>, Vec<_>) = rows.into_iter().partition(changes);
    listed.truncate(EXTREMES / 2);
    rest.sort_by(|a, b| share(b).total_cmp(&share(a)));
    let room = EXTREMES - listed.len();
    let least = rest.split_off(rest.len().saturating_sub(room / 2));
    let count = least.len();
    rest.truncate(room - count);
    listed.extend(rest);
    listed.extend(least);
    (listed, count)
}

fn figures(stage: &Stage, scene: &RingScene) -> Vec<(&'static str, String)> {
    let balance = scene.balance;
    let mut figures = Vec::from([
        ("points", text::count(stage.before.points.len() as u64)),
        ("keys counted", text::count(balance.keys)),
        ("cv of the keys", format!("{:.4}", balance.figures.cv)),
        (
            "by chance alone",
            format!("{:.4}", balance.figures.noise.cv),
        ),
        (
            "fullest node, over the mean",
            format!("{:.3}", balance.figures.max_over_mean),
        ),
    ]);
    if let Some(exact) = &balance.exact {
        figures.push(("cv of the circle", format!("{:.4}", exact.cv)));
    }
    if let Some((_, remap)) = scene.changed {
        let circle: f64 = stage.taken.iter().map(|taken| taken.to - taken.from).sum();
        let moved = format!(
            "{} ({})",
            text::count(remap.moved),
            text::percent(remap.moved_share)
        );
        figures.push(("keys that move", moved));
        figures.push(("between even nodes", text::percent(remap.ideal_share)));
        figures.push(("excess moves", text::count(remap.excess)));
        figures.push(("circle that changes hands", text::percent(circle)));
    }
    figures
}
