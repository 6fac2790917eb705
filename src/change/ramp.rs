//! Ramps: the weight of a cold node rises step by step, that of a draining one falls.
//!
//! | [`at`](Ramp::at), [`next`](Ramp::next) | [`due`](Ramp::due), [`is_over`](Ramp::is_over) | memory |
//! |---|---|---|
//! | O(log steps) | O(log steps + log nodes) | 16 B a step |
//!
//! A ramp is data: the times and the weights. It has no clock, since the caller says what time it
//! is, and no state, since the weight that a node has now tells how far it is. So it may be asked
//! at any time, any number of times, by a process that was restarted: what is due is one change to
//! the weight of that time, however many steps were missed, and nothing when the node has it. A
//! clock that goes back changes nothing, and no step passes the last weight.
//!
//! Without state it cannot know that it has done its work: **drop a ramp that
//! [is over](Ramp::is_over)**, or it brings the node back to its last weight whenever somebody else
//! changes that later.
//!
//! Each step is a [`Change::Reweight`], so it moves what a reweight moves in that strategy: on
//! ring, rendezvous and shortlist only keys that go to the rising node or leave the falling one;
//! slots and Maglev state how much beside. Jump has no weights and refuses every step.
//!
//! # The unit of weight
//!
//! Weights are whole numbers, so a node of weight 1 knows only all or nothing. A ramp of ten equal
//! steps needs a weight of 10, one that starts slowly needs 100, and all nodes must be weighed in
//! the same unit. On a ring, points go by unit of weight: what had 160 points and weight 1 should
//! have `Ring::with_points(nodes, 16)` and weight 10, or lookups read ten times the memory. Choose
//! the unit when the cluster is set up; on a ring, to change it is to move keys.

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use core::ops::Range;
use core::time::Duration;

use crate::{Change, Error, Nodes};

/// The times at which the weight of one node changes, and what to; times are counted from
/// whatever start all who share the ramp agree on, in whole milliseconds.
///
/// Several nodes have a ramp each, which do not meet. One node has one at a time: drop it once it
/// [is over](Self::is_over), or to end it early, before you ask the next.
///
/// With the feature `serde` it reads and writes as `{"node": "d", "steps": [[0, 0], [60000, 10]]}`,
/// milliseconds and weights.
///
/// ```
/// use core::time::Duration;
/// use hashroute::{Change, Node, Ramp, Rendezvous, Router};
///
/// let warm = ["a", "b", "c"].map(|name| Node::new(name).with_weight(10));
/// let mut router = Rendezvous::new(warm)?;
/// router.apply(&Change::Add(Node::new("d").with_weight(0)))?; // known, owns nothing
///
/// let minutes = |n: u64| Duration::from_secs(60 * n);
/// let ramp = Ramp::linear("d", 0, 10, minutes(0)..minutes(10), 10)?;
/// for now in [0, 1, 1, 2, 7, 60].map(minutes) {
///     if let Some(change) = ramp.due(now, router.nodes())? {
///         router.apply(&change)?; // weights 1, 2, 7 and 10
///     }
///     if ramp.is_over(now, router.nodes()) {
///         break; // after 60 minutes
///     }
/// }
/// assert_eq!(router.nodes().total_weight(), 40);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "Text", into = "Text"))]
pub struct Ramp {
    node: Box<str>,
    /// Milliseconds and weights: both in order, two at least, the first where it starts from.
    steps: Vec<(u64, u32)>,
}

impl Ramp {
    /// The most steps there may be.
    ///
    /// ```
    /// assert_eq!(hashroute::Ramp::MAX_STEPS, 1000);
    /// ```
    pub const MAX_STEPS: usize = 1000;

    /// A ramp of any shape: times and the weights from then on. The first weight is the one that
    /// the node has before, at the time before which nothing is due.
    ///
    /// # Errors
    /// [`Error::EmptyName`]; [`Error::Parameter`] for fewer than two weights or more than
    /// [`MAX_STEPS`](Self::MAX_STEPS) after the first, times that do not rise, and weights that do
    /// not all rise or all fall.
    ///
    /// ```
    /// use core::time::Duration;
    /// use hashroute::Ramp;
    ///
    /// let second = Duration::from_secs(1);
    /// let ramp = Ramp::new("d", [(0 * second, 0), (5 * second, 1), (60 * second, 10)])?;
    /// assert_eq!(ramp.at(30 * second), 1);
    /// assert!(Ramp::new("d", [(0 * second, 0), (5 * second, 4), (60 * second, 2)]).is_err());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn new(
        node: impl Into<Box<str>>,
        steps: impl IntoIterator<Item = (Duration, u32)>,
    ) -> Result<Self, Error> {
        let steps = steps.into_iter().take(Self::MAX_STEPS + 2);
        Self::checked(
            node.into(),
            steps.map(|(at, to)| (millis(at), to)).collect(),
        )
    }

    fn checked(node: Box<str>, steps: Vec<(u64, u32)>) -> Result<Self, Error> {
        if node.is_empty() {
            return Err(Error::EmptyName);
        }
        if !(2..=Self::MAX_STEPS + 1).contains(&steps.len()) {
            let expected = format!("the weight before and 1 to {} after", Self::MAX_STEPS);
            return Err(Error::parameter("steps", steps.len(), expected));
        }
        let rises = steps[1].1 > steps[0].1;
        for pair in steps.windows(2) {
            let [(before, from), (at, to)] = [pair[0], pair[1]];
            let given = || format!("weight {from} at {before} ms, {to} at {at} ms");
            if at <= before {
                return Err(Error::parameter("steps", given(), "times that rise"));
            }
            if from == to || (to > from) != rises {
                let expected = "weights that all rise or all fall";
                return Err(Error::parameter("steps", given(), expected));
            }
        }
        Ok(Self { node, steps })
    }

    /// From one weight to another in equal steps: the i-th of n comes when i/n of the time is
    /// over, and the last at its end. Fractions of a weight are left for the next step.
    ///
    /// # Errors
    /// [`Error::Parameter`] for more steps than there are weights between the two or than
    /// [`MAX_STEPS`](Self::MAX_STEPS), and for a time of less than a millisecond a step.
    ///
    /// ```
    /// use core::time::Duration;
    /// use hashroute::Ramp;
    ///
    /// let hour = Duration::ZERO..Duration::from_secs(3600);
    /// let drain = Ramp::linear("a", 10, 0, hour.clone(), 4)?;
    /// assert!(drain.steps().map(|(_, weight)| weight).eq([10, 8, 5, 3, 0]));
    /// let error = Ramp::linear("a", 0, 1, hour, 10).unwrap_err().to_string();
    /// assert!(error.contains("expected 1, since"), "{error}");
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn linear(
        node: impl Into<Box<str>>,
        from: u32,
        to: u32,
        time: Range<Duration>,
        steps: u32,
    ) -> Result<Self, Error> {
        Self::curve(node.into(), [from, to], &time, steps, 1)
    }

    /// As [`linear`](Self::linear), but gentle at first, for a node whose first requests are its
    /// slowest: the i-th of n steps has gone i²/n² of the way. That is Envoy's slow start with an
    /// aggression of 1/2, in steps.
    ///
    /// # Errors
    /// As [`linear`](Self::linear); n steps need a difference of n² between the weights.
    ///
    /// ```
    /// use core::time::Duration;
    /// use hashroute::Ramp;
    ///
    /// let ramp = Ramp::slow_start("d", 0, 100, Duration::ZERO..Duration::from_secs(50), 5)?;
    /// assert!(ramp.steps().map(|(_, weight)| weight).eq([0, 4, 16, 36, 64, 100]));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn slow_start(
        node: impl Into<Box<str>>,
        from: u32,
        to: u32,
        time: Range<Duration>,
        steps: u32,
    ) -> Result<Self, Error> {
        Self::curve(node.into(), [from, to], &time, steps, 2)
    }

    /// After i of n steps, (i/n)^power of the way.
    fn curve(
        node: Box<str>,
        [from, to]: [u32; 2],
        time: &Range<Duration>,
        steps: u32,
        power: u32,
    ) -> Result<Self, Error> {
        let way = from.abs_diff(to);
        check_steps(
            steps,
            [from, to],
            if power == 1 { way } else { way.isqrt() },
        )?;
        let (start, count) = (millis(time.start), u64::from(steps));
        let length = millis(time.end).saturating_sub(start);
        if length < count {
            let expected = format!("at least {steps} ms, one a step");
            return Err(Error::parameter("time", format!("{time:?}"), expected));
        }
        let step = |i: u64| {
            let at = start + length / count * i + length % count * i / count;
            let gone = u64::from(way) * i.pow(power) / count.pow(power);
            let gone = u32::try_from(gone).unwrap_or(way);
            (at, if to > from { from + gone } else { from - gone })
        };
        Self::checked(node, (0..=count).map(step).collect())
    }

    /// The node's name.
    ///
    /// ```
    /// # use core::time::Duration;
    /// # use hashroute::Ramp;
    /// let ramp = Ramp::linear("d", 0, 4, Duration::ZERO..Duration::from_secs(60), 4)?;
    /// assert_eq!(ramp.node(), "d");
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn node(&self) -> &str {
        &self.node
    }

    /// All times and the weights from then on, the start first.
    ///
    /// ```
    /// # use core::time::Duration;
    /// # use hashroute::Ramp;
    /// let ramp = Ramp::linear("d", 0, 4, Duration::ZERO..Duration::from_secs(60), 2)?;
    /// assert!(ramp.steps().eq([(0, 0), (30, 2), (60, 4)].map(|(s, w)| (Duration::from_secs(s), w))));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn steps(&self) -> impl ExactSizeIterator<Item = (Duration, u32)> {
        self.steps
            .iter()
            .map(|&(at, to)| (Duration::from_millis(at), to))
    }

    /// The weight that the ramp has for a time; before its start, the one it starts from.
    ///
    /// ```
    /// # use core::time::Duration;
    /// # use hashroute::Ramp;
    /// let ramp = Ramp::linear("d", 0, 4, Duration::ZERO..Duration::from_secs(60), 4)?;
    /// assert_eq!([14, 15, 3600].map(|second| ramp.at(Duration::from_secs(second))), [0, 1, 4]);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn at(&self, now: Duration) -> u32 {
        self.steps[self.begun(now).saturating_sub(1)].1
    }

    /// When the next step comes, to sleep until then; `None` once the last has come.
    ///
    /// ```
    /// # use core::time::Duration;
    /// # use hashroute::Ramp;
    /// let ramp = Ramp::linear("d", 0, 4, Duration::ZERO..Duration::from_secs(60), 4)?;
    /// assert_eq!(ramp.next(Duration::from_secs(20)), Some(Duration::from_secs(30)));
    /// assert_eq!(ramp.next(Duration::from_secs(60)), None);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn next(&self, now: Duration) -> Option<Duration> {
        let (at, _) = self.steps.get(self.begun(now))?;
        Some(Duration::from_millis(*at))
    }

    /// The change that brings the node to the weight of this time: `None` before the start, and
    /// when the node is there already, or further.
    ///
    /// # Errors
    /// [`Error::UnknownNode`] when there is no such node: add it with weight 0 first.
    ///
    /// ```
    /// use core::time::Duration;
    /// use hashroute::{Change, Node, Nodes, Ramp};
    ///
    /// let mut nodes = Nodes::new([Node::new("d").with_weight(0)])?;
    /// let ramp = Ramp::linear("d", 0, 4, Duration::ZERO..Duration::from_secs(60), 4)?;
    /// let late = Duration::from_secs(50);
    /// let change = ramp.due(late, &nodes)?.expect("three steps at once");
    /// assert_eq!(change, Change::reweight("d", 3));
    /// nodes.apply(&change)?;
    /// assert_eq!(ramp.due(late, &nodes)?, None);
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn due(&self, now: Duration, nodes: &Nodes) -> Result<Option<Change>, Error> {
        let unknown = || Error::UnknownNode {
            name: self.node.clone(),
        };
        let id = nodes.id(&self.node).ok_or_else(unknown)?;
        let has = nodes.weight(id).ok_or_else(unknown)?;
        let to = self.at(now);
        let rises = self.steps[1].1 > self.steps[0].1;
        let ahead = if rises { to > has } else { to < has };
        let due = ahead && self.begun(now) > 0;
        Ok(due.then(|| Change::reweight(self.node.clone(), to)))
    }

    /// Whether its work is done: the last step has come, and the node has its weight, is further,
    /// or has left. Ask after what was due is made, and drop the ramp then. A node that leaves
    /// earlier ends its ramp as well; one that comes back cold needs a new one.
    ///
    /// ```
    /// use core::time::Duration;
    /// use hashroute::{Change, Node, Nodes, Ramp};
    ///
    /// let second = Duration::from_secs(1);
    /// let mut nodes = Nodes::new([Node::new("d").with_weight(0)])?;
    /// let mut ramps = vec![Ramp::linear("d", 0, 4, Duration::ZERO..60 * second, 4)?];
    /// for now in [0, 20, 65].map(|n| n * second) {
    ///     for ramp in &ramps {
    ///         if let Some(change) = ramp.due(now, &nodes)? {
    ///             nodes.apply(&change)?;
    ///         }
    ///     }
    ///     ramps.retain(|ramp| !ramp.is_over(now, &nodes));
    /// }
    /// assert!(ramps.is_empty());
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn is_over(&self, now: Duration, nodes: &Nodes) -> bool {
        let is_due = matches!(self.due(now, nodes), Ok(Some(_)));
        self.next(now).is_none() && !is_due
    }

    /// How many steps have come, the start among them.
    fn begun(&self, now: Duration) -> usize {
        let now = millis(now);
        self.steps.partition_point(|&(at, _)| at <= now)
    }
}

/// `most` is how many steps the weights allow.
fn check_steps(steps: u32, [from, to]: [u32; 2], most: u32) -> Result<(), Error> {
    if from == to {
        let expected = format!("another weight than {from}, where it starts");
        return Err(Error::parameter("to", to, expected));
    }
    let most = most.min(u32::try_from(Ramp::MAX_STEPS).unwrap_or(u32::MAX));
    if (1..=most).contains(&steps) {
        return Ok(());
    }
    let range = if most == 1 {
        "1".into()
    } else {
        format!("1 to {most}")
    };
    let expected = format!(
        "{range}, since weights are whole and go from {from} to {to}: for more, weigh all nodes in a smaller unit"
    );
    Err(Error::parameter("steps", steps, expected))
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// As files and messages have it.
#[cfg(feature = "serde")]
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    node: Box<str>,
    steps: Vec<(u64, u32)>,
}

#[cfg(feature = "serde")]
impl TryFrom<Text> for Ramp {
    type Error = Error;

    fn try_from(text: Text) -> Result<Self, Error> {
        Self::checked(text.node, text.steps)
    }
}

#[cfg(feature = "serde")]
impl From<Ramp> for Text {
    fn from(ramp: Ramp) -> Self {
        Self {
            node: ramp.node,
            steps: ramp.steps,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Node;
    use alloc::string::ToString;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn curves_start_and_end_where_they_should_and_every_step_is_one() -> Result<(), Error> {
        for (from, to) in [(0, 100), (100, 0), (7, 4_000_000_000), (u32::MAX, 1)] {
            for steps in [1, 2, 3, 7, 10] {
                for ramp in [
                    Ramp::linear("a", from, to, SECOND..61 * SECOND, steps)?,
                    Ramp::slow_start("a", from, to, SECOND..61 * SECOND, steps)?,
                ] {
                    let all: Vec<_> = ramp.steps().collect();
                    assert_eq!(all.len(), steps as usize + 1);
                    assert_eq!(all.first(), Some(&(SECOND, from)));
                    assert_eq!(all.last(), Some(&(61 * SECOND, to)));
                }
            }
        }
        let longest = Ramp::linear("a", 0, 1000, Duration::ZERO..Duration::MAX, 1000)?;
        assert_eq!(longest.at(Duration::MAX), 1000);
        Ok(())
    }

    #[test]
    fn as_many_steps_as_the_weights_allow_and_no_more() {
        let time = || Duration::ZERO..SECOND;
        for way in 1..300 {
            let most = (1..=way).filter(|&steps| Ramp::linear("a", 0, way, time(), steps).is_ok());
            assert_eq!(most.max(), Some(way));
            let gentle =
                (1..=way).filter(|&steps| Ramp::slow_start("a", way, 0, time(), steps).is_ok());
            assert_eq!(gentle.max(), Some(way.isqrt()));
        }
    }

    #[test]
    fn what_cannot_be_a_ramp_is_refused_in_words() {
        let time = Duration::ZERO..SECOND;
        let refused = |ramp: Result<Ramp, Error>, part: &str| {
            let error = ramp.map_or_else(|error| error.to_string(), |ramp| format!("{ramp:?}"));
            assert!(error.contains(part), "{error}");
        };
        refused(Ramp::linear("", 0, 4, time.clone(), 4), "no name");
        refused(
            Ramp::linear("a", 4, 4, time.clone(), 4),
            "another weight than 4",
        );
        refused(Ramp::linear("a", 0, 4, time.clone(), 0), "1 to 4");
        refused(Ramp::slow_start("a", 0, 99, time, 10), "1 to 9, since");
        refused(
            Ramp::linear("a", 0, u32::MAX, SECOND..SECOND, 1),
            "at least 1 ms",
        );
        refused(
            Ramp::linear("a", 0, u32::MAX, SECOND..SECOND * 9, 1001),
            "1 to 1000",
        );
        refused(Ramp::new("a", [(SECOND, 1)]), "the weight before");
        refused(
            Ramp::new("a", (0..).map(|i| (i * SECOND, i))),
            "1 to 1000 after",
        );
        refused(
            Ramp::new("a", [(SECOND, 1), (SECOND, 2)]),
            "times that rise",
        );
        let wavers = [(1, 1), (2, 2), (3, 2)].map(|(at, to)| (at * SECOND, to));
        refused(Ramp::new("a", wavers), "all rise or all fall");
    }

    #[test]
    fn what_is_due_never_goes_back_nor_beyond() -> Result<(), Error> {
        for (from, to) in [(0, 50), (50, 0)] {
            let ramp = Ramp::linear("a", from, to, 10 * SECOND..20 * SECOND, 10)?;
            let nodes = |weight| Nodes::new([Node::new("a").with_weight(weight)]);
            for now in 0..30 {
                for has in 0..60 {
                    let due = ramp.due(now * SECOND, &nodes(has)?)?;
                    let gone = now.clamp(10, 20) - 10;
                    let target = if to > from { 5 * gone } else { 50 - 5 * gone };
                    let behind = if to > from {
                        has < target
                    } else {
                        has > target
                    };
                    let expected = (now >= 10 && behind).then(|| Change::reweight("a", target));
                    assert_eq!(due, expected, "{now} {has}");
                    let over = now >= 20 && !behind;
                    assert_eq!(ramp.is_over(now * SECOND, &nodes(has)?), over);
                }
            }
            let missing = ramp.due(SECOND, &Nodes::default());
            assert_eq!(missing, Err(Error::UnknownNode { name: "a".into() }));
            let left = [19, 20].map(|now| ramp.is_over(now * SECOND, &Nodes::default()));
            assert_eq!(left, [false, true]);
        }
        Ok(())
    }

    #[cfg(feature = "serde")]
    #[test]
    fn a_ramp_is_data() -> Result<(), alloc::boxed::Box<dyn core::error::Error>> {
        let ramp = Ramp::linear("d", 0, 4, SECOND..3 * SECOND, 2)?;
        let text = serde_json::to_string(&ramp)?;
        assert_eq!(text, r#"{"node":"d","steps":[[1000,0],[2000,2],[3000,4]]}"#);
        assert_eq!(serde_json::from_str::<Ramp>(&text)?, ramp);
        for wrong in [
            r#"{"node":"d","steps":[]}"#,
            r#"{"node":"d","steps":[[2,0],[1,1]]}"#,
            r#"{"node":"d","steps":[[1,0],[2,1]],"step":3}"#,
        ] {
            assert!(serde_json::from_str::<Ramp>(wrong).is_err(), "{wrong}");
        }
        Ok(())
    }
}
