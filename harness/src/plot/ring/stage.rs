//! The circles before and after a change, and their differences.

use super::circle::{Cast, Circle, Member, Taken};
use super::keys;
use super::scene::RingScene;
use crate::plot::canvas;
use crate::plot::names::Names;
use crate::plot::text;
use hashroute::Error;

/// The most points that are drawn one by one. More are counted by sectors.
const DISTINCT: usize = 400;
/// The widest name in the list, in units of its size.
const NAME: f64 = 20.0;

/// Everything that the parts of the picture need.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) strategy: String,
    pub(super) cast: Cast,
    /// The short names of the members.
    pub(super) names: Names,
    /// The colour of each member.
    pub(super) colours: Vec<usize>,
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
        let names = Names::new(cast.members.iter().map(|member| member.name.as_str()), NAME);
        let shares = before.shares(cast.members.len());
        let mut first = cast.who(|_| true);
        // The sort is stable, so equal shares stay in order of name.
        first.sort_by(|&a, &b| {
            let stays = [a, b].map(|member| !cast.members[member].changes());
            stays[0]
                .cmp(&stays[1])
                .then(shares[b].total_cmp(&shares[a]))
        });
        let mut stage = Self {
            strategy: text::name(&scene.balance.strategy, 30.0),
            names,
            colours: canvas::colours(cast.members.len(), &first),
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
        self.before.points.len().max(self.now().points.len()) <= DISTINCT
    }

    /// Returns the short name of a member.
    pub(super) fn name(&self, member: usize) -> &str {
        self.names.of(&self.cast.members[member].name)
    }

    /// Writes "ring of 4 nodes, add d: 24.10% of the keys move", or how many points there are.
    pub(super) fn title(&self) -> String {
        let nodes = self.cast.who(|member| !member.joins()).len() as u64;
        let ring = format!("{} of {}", self.strategy, text::counted(nodes, "node"));
        let points = text::counted(self.before.points.len() as u64, "point");
        match self.moved {
            None => format!("{ring}: {points} on the circle"),
            Some(moved) => {
                let moved = text::percent(moved);
                format!("{ring}, {}: {moved} of the keys move", self.change())
            }
        }
    }

    /// Writes the change, such as "add d" or "remove 2 nodes".
    fn change(&self) -> String {
        let names = |is: fn(&Member) -> bool| {
            let who = self.cast.who(is).into_iter();
            let names = who.map(|member| self.name(member));
            names.collect::<Vec<_>>()
        };
        let stays = |member: &Member| member.changes() && !member.joins() && !member.leaves();
        let change = text::change(&names(Member::joins), &names(Member::leaves), &names(stays));
        if change.is_empty() {
            "no node changes".into()
        } else {
            change
        }
    }
}
