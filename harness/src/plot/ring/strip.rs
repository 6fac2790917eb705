//! The shares of the nodes, the largest first, below a circle with too many points for arcs.

use super::stage::Stage;
use crate::plot::canvas::{Anchor, Canvas};
use crate::plot::text;

pub(super) const HEIGHT: f64 = 210.0;
const BARS: f64 = 120.0;

/// A node with weight, and its share of the circle relative to that of its weight.
#[derive(Debug)]
struct Bar {
    member: usize,
    share: f64,
    load: f64,
}

/// Draws a bar for each node of the present circle. O(nodes log nodes).
pub(super) fn draw(canvas: &mut Canvas, stage: &Stage, (left, top): (f64, f64), width: f64) {
    let bars = bars(stage);
    let most = bars.iter().map(|bar| bar.load).fold(1.2, f64::max);
    let (first, bottom) = (top + 44.0, top + 44.0 + BARS);
    let after = if stage.after.is_some() {
        " after the change"
    } else {
        ""
    };
    let head = format!("Circle of each node over its fair share{after}, the largest first");
    canvas.text((left, top + 16.0), "hr-bold", Anchor::Start, &head);
    let y = |load: f64| bottom - BARS * (load / most).clamp(0.0, 1.0);
    let x = left + 30.0;
    let step = (width - 30.0) / bars.len().max(1) as f64;
    let marks = text::steps(most).collect::<Vec<_>>();
    let skip = marks.len().div_ceil(6).max(1);
    for mark in marks.into_iter().step_by(skip) {
        canvas.line("hr-thin hr-dash", (x, y(mark)), (left + width, y(mark)));
        let tick = (x - 6.0, y(mark) + 4.0);
        canvas.text(tick, "hr-small hr-soft", Anchor::End, &text::short(mark));
    }
    for (rank, bar) in bars.iter().enumerate() {
        let member = &stage.cast.members[bar.member];
        let about = format!(
            "{}: {} of the circle, weight {}; {:.3} times its fair share",
            text::whole(&member.name),
            text::percent(bar.share),
            member.weight(),
            bar.load,
        );
        let class = if member.changes() {
            "hr-alarm"
        } else {
            "hr-heat"
        };
        let at = (x + step * rank as f64, y(bar.load));
        canvas.titled(&about, |canvas| {
            // The space above the bar also shows the title under the pointer.
            canvas.rectangle("hr-none", (at.0, first), (step, BARS));
            canvas.rectangle(class, at, ((step * 0.85).min(40.0), bottom - at.1));
        });
    }
    canvas.line("hr-line", (x, y(1.0)), (left + width, y(1.0)));
    if let [first, .., last] = bars.as_slice() {
        let [first, last] =
            [first, last].map(|bar| format!("{} ({:.2})", stage.name(bar.member), bar.load));
        canvas.text((x, bottom + 20.0), "", Anchor::Start, &first);
        canvas.text((left + width, bottom + 20.0), "", Anchor::End, &last);
    }
}

fn bars(stage: &Stage) -> Vec<Bar> {
    let shares = stage.now().shares(stage.cast.members.len());
    let side = usize::from(stage.after.is_some());
    let weight = |member: usize| f64::from(stage.cast.members[member].weights[side].unwrap_or(0));
    let total: f64 = (0..shares.len()).map(weight).sum();
    let members = (0..shares.len()).filter(|&member| weight(member) > 0.0);
    let bar = |member: usize| Bar {
        member,
        share: shares[member],
        load: shares[member] * total / weight(member),
    };
    let mut bars: Vec<_> = members.map(bar).collect();
    bars.sort_by(|a, b| b.load.total_cmp(&a.load));
    bars
}
