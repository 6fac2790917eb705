//! The list beside the circle: the nodes, the figures and the keys.

use super::density;
use super::scene::RingScene;
use super::stage::Stage;
use crate::plot::canvas::{Anchor, Canvas, Pen};
use crate::plot::text;

/// The most nodes that are listed.
const LISTED: usize = 16;
const ROW: f64 = 19.0;
const WIDTH: f64 = 375.0;

#[derive(Debug)]
pub(super) struct Panel {
    nodes: Vec<Row>,
    unlisted: usize,
    figures: Vec<(&'static str, String)>,
    keys: usize,
}

#[derive(Debug)]
struct Row {
    member: usize,
    /// The shares of the circle before and after, and of the keys before.
    shares: [Option<f64>; 3],
}

impl Panel {
    pub(super) fn new(stage: &Stage, scene: &RingScene) -> Self {
        let mut nodes = rows(stage, scene);
        let all = nodes.len();
        if all > LISTED {
            nodes = extremes(stage, nodes);
        }
        Self {
            unlisted: all - nodes.len(),
            nodes,
            figures: figures(stage, scene),
            keys: stage.keys.len(),
        }
    }

    pub(super) fn height(&self) -> f64 {
        let rows = self.nodes.len() + self.figures.len() + self.keys;
        let between = 2 + usize::from(self.unlisted > 0) + 2 * usize::from(self.keys > 0) + 2;
        ROW * (rows + between) as f64 + 20.0
    }

    pub(super) fn draw(&self, canvas: &mut Canvas, stage: &Stage, at: (f64, f64)) {
        let (x, mut y) = (at.0, at.1 + ROW);
        heads(canvas, stage, (x, y));
        for row in &self.nodes {
            y += ROW;
            node(canvas, stage, row, (x, y));
        }
        if self.unlisted > 0 {
            y += ROW;
            let more = format!(
                "and {} between these",
                text::counted(self.unlisted as u64, "node")
            );
            canvas.text((x + 20.0, y), "hr-soft", Anchor::Start, &more);
        }
        y += 1.5 * ROW;
        for (name, value) in &self.figures {
            canvas.text((x, y), "", Anchor::Start, name);
            canvas.text((x + WIDTH, y), "", Anchor::End, value);
            y += ROW;
        }
        y += 0.5 * ROW;
        for key in &stage.keys {
            let mut letter = [0; 4];
            canvas.text(
                (x, y),
                "hr-bold",
                Anchor::Start,
                key.letter.encode_utf8(&mut letter),
            );
            canvas.name((x + 20.0, y), Anchor::Start, 165.0, &key.text);
            canvas.name((x + WIDTH, y), Anchor::End, 180.0, &way(stage, key.owners));
            y += ROW;
        }
    }
}

/// Writes "a", or "a → d" for a key that moves.
fn way(stage: &Stage, owners: [Option<usize>; 2]) -> String {
    let name = |owner: Option<usize>| {
        let member = owner.and_then(|owner| stage.cast.members.get(owner));
        member.map_or_else(|| "nobody".into(), |member| text::name(&member.name, 13.0))
    };
    match owners {
        [old, new] if old == new => name(new),
        [old, new] => format!(
            "{} → {}",
            text::name(&name(old), 6.0),
            text::name(&name(new), 6.0)
        ),
    }
}

fn heads(canvas: &mut Canvas, stage: &Stage, (x, y): (f64, f64)) {
    canvas.text((x, y), "hr-bold", Anchor::Start, "node");
    let heads = match stage.after {
        Some(_) => ["circle", "after", "keys"],
        None => ["", "circle", "keys"],
    };
    for (head, column) in heads.iter().zip(COLUMNS) {
        canvas.text((x + column, y), "hr-bold", Anchor::End, head);
    }
}

/// The right ends of the columns of figures.
const COLUMNS: [f64; 3] = [253.0, 314.0, WIDTH];

fn node(canvas: &mut Canvas, stage: &Stage, row: &Row, (x, y): (f64, f64)) {
    if stage.distinct() || density::shows_owners(stage) {
        let mut swatch = Pen::default();
        swatch.rectangle((x, y - 11.0), (13.0, 13.0));
        canvas.fill(row.member, &swatch);
    }
    let member = &stage.cast.members[row.member];
    let number = format!("{}", row.member + 1);
    canvas.text((x + 20.0, y), "hr-small", Anchor::Start, &number);
    let start = 28.0 + 7.0 * number.len() as f64;
    let end = COLUMNS[usize::from(stage.after.is_none())] - 58.0;
    canvas.name((x + start, y), Anchor::Start, end - start, &member.name);
    for (share, column) in row.shares.iter().zip(COLUMNS) {
        let share = share.map_or_else(String::new, text::percent);
        canvas.text((x + column, y), "", Anchor::End, &share);
    }
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
                [old, new, keys]
            } else {
                [None, old, keys]
            },
        }
    };
    (0..members).map(row).collect()
}

/// Chooses the nodes that the change concerns, then those with most and with least of the circle.
fn extremes(stage: &Stage, rows: Vec<Row>) -> Vec<Row> {
    let changes = |row: &Row| {
        let [old, new] = stage.cast.members[row.member].weights;
        old != new
    };
    let share = |row: &Row| row.shares[0].or(row.shares[1]).unwrap_or(0.0);
    let (mut listed, mut rest): (Vec<_>, Vec<_>) = rows.into_iter().partition(changes);
    listed.truncate(LISTED / 2);
    rest.sort_by(|a, b| share(b).total_cmp(&share(a)));
    let room = LISTED - listed.len();
    let least = rest.split_off(rest.len().saturating_sub(room / 2));
    rest.truncate(room - least.len());
    listed.extend(rest);
    listed.extend(least);
    listed
}

fn figures(stage: &Stage, scene: &RingScene) -> Vec<(&'static str, String)> {
    let balance = scene.balance;
    let mut figures = Vec::from([
        ("points", text::count(stage.before.tokens.len() as u64)),
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
        figures.push(("had to move", text::percent(remap.ideal_share)));
        figures.push(("excess moves", text::count(remap.excess)));
        figures.push(("circle that changes hands", text::percent(circle)));
    }
    figures
}
