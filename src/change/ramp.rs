//! Ramps: the weight of a cold node rises step by step (slow start), and the weight of a node that
//! is to leave falls (draining).
//!
//! | [`at`](Ramp::at), [`next`](Ramp::next) | [`due`](Ramp::due), [`is_over`](Ramp::is_over) | memory |
//! |---|---|---|
//! | O(log steps) | O(log steps + log nodes) | 16 B a step |
//!
//! A ramp is data: times and weights. It has no clock, because the caller passes the time. It has
//! no state, because the present weight of the node shows its progress. So [`due`](Ramp::due) may
//! be called at any time and any number of times, also after a restart. It returns one change to
//! the weight of that time, for any number of missed steps, and nothing if the node has that
//! weight. A clock that goes backwards changes nothing, and no step goes beyond the last weight.
//!
//! Without state a ramp cannot know that its work is done. **Drop a ramp that
//! [is over](Ramp::is_over)**; otherwise it resets the node to its last weight after every later
//! change.
//!
//! Each step is a [`Change::Reweight`] and moves the keys that a reweight moves in the strategy. On
//! ring, rendezvous and shortlist these are only keys that go to the rising node or leave the
//! falling node. Slots and Maglev state their excess. Jump has no weights and refuses every step.
//!
//! # The unit of weight
//!
//! Weights are whole numbers, so a node of weight 1 has no value between all and nothing. A ramp of
//! ten equal steps needs a weight of 10, and one with a slow start needs 100. All nodes need
//! weights in the same unit. On a ring, the number of points grows with the weight: instead of 160
//! points and weight 1, use `Ring::with_points(nodes, 16)` and weight 10; otherwise lookups read
//! ten times the memory. Choose the unit when the cluster is set up, because on a ring a change of
//! it moves keys.

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use core::ops::Range;
use core::time::Duration;

use crate::{Change, Error, Nodes};

/// The times at which the weight of one node changes, and its new weights. Times are in whole
/// milliseconds since a start that all users of the ramp agree on.
///
/// Ramps of different nodes are independent. A node has one ramp at a time: drop it when it
/// [is over](Self::is_over), or to end it early, before you use the next one.
///
/// With the feature `serde` its form is `{"node": "d", "steps": [[0, 0], [60000, 10]]}`, in
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
    /// Milliseconds and weights, both in order. At least two; the first is the start.
    steps: Vec<(u64, u32)>,
}

impl Ramp {
    /// The largest number of steps.
    pub const MAX_STEPS: usize = 1000;

    /// Builds a ramp of any shape from times and the weights from then on. The first pair is the
    /// start: its weight is the weight before the ramp, and nothing is due before its time.
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

    /// Builds a ramp of equal steps from one weight to another. Step i of n comes after i/n of the
    /// time, and the last step at its end. A fraction of a weight is left for the next step.
    ///
    /// # Errors
    /// [`Error::Parameter`] for more steps than the difference of the weights or than
    /// [`MAX_STEPS`](Self::MAX_STEPS), and for less than a millisecond for each step.
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

    /// Builds a ramp that starts slowly, for a node with cold caches: after step i of n the weight
    /// has changed by i²/n² of the difference. This is Envoy's slow start with an aggression of
    /// 1/2, in steps.
    ///
    /// # Errors
    /// The errors of [`linear`](Self::linear); n steps need a difference of n² between the weights.
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

    /// Builds a ramp that has changed by (i/n)^power of the difference after step i of n.
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
            let expected = format!("at least {steps} ms, one for each step");
            return Err(Error::parameter("time", format!("{time:?}"), expected));
        }
        let step = |i: u64| {
            // length * i / count, without an overflow of the product: quotient and remainder apart.
            let at = start + length / count * i + length % count * i / count;
            let gone = u64::from(way) * i.pow(power) / count.pow(power);
            let gone = u32::try_from(gone).unwrap_or(way);
            (at, if to > from { from + gone } else { from - gone })
        };
        Self::checked(node, (0..=count).map(step).collect())
    }

    /// Returns the name of the node.
    pub fn node(&self) -> &str {
        &self.node
    }

    /// Returns all times and the weights from then on, the start first.
    pub fn steps(&self) -> impl ExactSizeIterator<Item = (Duration, u32)> {
        self.steps
            .iter()
            .map(|&(at, to)| (Duration::from_millis(at), to))
    }

    /// Returns the weight at a time; before the start, the first weight.
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

    /// Returns the time of the next step, to sleep until then; `None` after the last step.
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

    /// Returns the change that gives the node the weight of this time. `None` before the start, and
    /// if the node has this weight already or is ahead of it.
    ///
    /// # Errors
    /// [`Error::UnknownNode`] if there is no such node: add it with weight 0 first.
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

    /// Returns whether the work of the ramp is done: the time of the last step has come, and the
    /// node has the last weight, is ahead of it, or has left. Call it after the due change was
    /// applied, and drop the ramp then. Drop it too if the node leaves earlier; a node that comes
    /// back cold needs a new ramp.
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

    /// Returns the number of steps that are due by now, including the start.
    fn begun(&self, now: Duration) -> usize {
        let now = millis(now);
        self.steps.partition_point(|&(at, _)| at <= now)
    }
}

/// Checks the number of steps; `most` is the number that the weights allow.
fn check_steps(steps: u32, [from, to]: [u32; 2], most: u32) -> Result<(), Error> {
    if from == to {
        let expected = format!("a weight other than {from}, the first weight");
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
        "{range}, since weights are whole numbers and go from {from} to {to}: for more steps, multiply all weights"
    );
    Err(Error::parameter("steps", steps, expected))
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The form of a ramp in files and messages.
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
    fn a_ramp_starts_and_ends_at_its_weights_and_has_all_its_steps() -> Result<(), Error> {
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
    fn a_ramp_has_at_most_as_many_steps_as_its_weights_allow() {
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
    fn an_impossible_ramp_is_refused_with_a_message() {
        let time = Duration::ZERO..SECOND;
        let refused = |ramp: Result<Ramp, Error>, part: &str| {
            let error = ramp.map_or_else(|error| error.to_string(), |ramp| format!("{ramp:?}"));
            assert!(error.contains(part), "{error}");
        };
        refused(Ramp::linear("", 0, 4, time.clone(), 4), "no name");
        refused(
            Ramp::linear("a", 4, 4, time.clone(), 4),
            "a weight other than 4",
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
    fn a_due_change_never_goes_backwards_nor_beyond_the_last_weight() -> Result<(), Error> {
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
    fn a_ramp_reads_and_writes_as_json() -> Result<(), alloc::boxed::Box<dyn core::error::Error>> {
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
