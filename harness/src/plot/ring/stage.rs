//! The circles before and after a change, and their differences.

use super::circle::{Cast, Circle, Member, Taken};
use super::keys;
use super::scene::RingScene;
use crate::plot::text;
use hashroute::Error;

/// The most tokens that are drawn one by one. More are counted by sectors.
const DISTINCT: usize = 400;

/// Everything that the parts of the picture need.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) cast: Cast,
    pub(super) before: Circle,
    pub(super) after: Option<Circle>,
    pub(super) taken: Vec<Taken>,
    pub(super) keys: Vec<keys::Shown>,
    pub(super) moved: Option<f64>,
}

impl Stage {
    pub(super) fn new(scene: &RingScene) -> Result<Self, Error> {
        let changed = scene.changed.map(|(router, _)| router);
        let cast = Cast::new(scene.router, changed);
        let before = Circle::new(scene.router, 0, &cast)?;
        let after = changed
            .map(|router| Circle::new(router, 1, &cast))
            .transpose()?;
        let taken = after.as_ref().map(|after| before.taken(after));
        let mut stage = Self {
            taken: taken.unwrap_or_default(),
            moved: scene.changed.map(|(_, remap)| remap.moved_share),
            keys: Vec::new(),
            cast,
            before,
            after,
        };
        stage.keys = keys::shown(&stage.cast, stage.now(), scene);
        Ok(stage)
    }

    /// Returns the circle after the change if there is one, otherwise the circle before.
    pub(super) fn now(&self) -> &Circle {
        self.after.as_ref().unwrap_or(&self.before)
    }

    pub(super) fn distinct(&self) -> bool {
        self.before.tokens.len().max(self.now().tokens.len()) <= DISTINCT
    }

    pub(super) fn title(&self) -> String {
        let nodes = self.cast.who(|member| !member.joins()).len() as u64;
        let ring = format!("Hash ring of {}", text::counted(nodes, "node"));
        let tokens = text::counted(self.before.tokens.len() as u64, "point");
        match self.moved {
            None => format!("{ring} with {tokens}"),
            Some(moved) => {
                let moved = text::percent(moved);
                format!("{ring}: {}, {moved} of the keys move", self.change())
            }
        }
    }

    /// Writes the change, such as "d joins" or "2 nodes leave".
    fn change(&self) -> String {
        let part = |is: fn(&Member) -> bool, one: &str, more: &str| {
            let who = self.cast.who(is);
            match who.as_slice() {
                [] => None,
                [only] => {
                    let name = text::name(&self.cast.members[*only].name, 14.0);
                    Some(format!("{name} {one}"))
                }
                all => Some(format!("{} nodes {more}", all.len())),
            }
        };
        let reweighted = |member: &Member| {
            !member.joins() && !member.leaves() && member.weights[0] != member.weights[1]
        };
        let parts = [
            part(Member::joins, "joins", "join"),
            part(Member::leaves, "leaves", "leave"),
            part(reweighted, "changes weight", "change weight"),
        ];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        if parts.is_empty() {
            String::from("no node changes")
        } else {
            parts.join(", ")
        }
    }
}
