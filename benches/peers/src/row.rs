//! A result, as a row of the table and of the JSON.

use serde::Serialize;

use crate::measure::Pair;

#[derive(Serialize)]
pub(crate) struct Row {
    pub(crate) algorithm: &'static str,
    pub(crate) n: usize,
    pub(crate) metric: &'static str,
    pub(crate) unit: Unit,
    pub(crate) ours: f64,
    pub(crate) peer_name: &'static str,
    /// `None` where the peer cannot do it; the note says why.
    pub(crate) peer: Option<f64>,
    /// Ours to the peer's: below 1 is better.
    pub(crate) ratio: Option<f64>,
    /// The most that the ratio, or ours, should be.
    pub(crate) goal: Option<f64>,
    pub(crate) goal_of: Option<GoalOf>,
    pub(crate) met: Option<bool>,
    pub(crate) note: Option<&'static str>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum Unit {
    #[serde(rename = "ns/key")]
    NanosecondsAKey,
    #[serde(rename = "ns")]
    Nanoseconds,
    #[serde(rename = "B")]
    Bytes,
    #[serde(rename = "B/point")]
    BytesAPoint,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum GoalOf {
    Ratio,
    Ours,
}

impl Row {
    /// The unit follows from the metric; see [`unit`](Self::unit) for another.
    pub(crate) fn new(
        algorithm: &'static str,
        n: usize,
        metric: &'static str,
        peer_name: &'static str,
        pair: Pair,
    ) -> Self {
        Self {
            peer: Some(pair.peer),
            ratio: Some(pair.ours / pair.peer),
            ..Self::alone(algorithm, n, metric, peer_name, pair.ours)
        }
    }

    /// Where the peer has nothing to show.
    pub(crate) fn alone(
        algorithm: &'static str,
        n: usize,
        metric: &'static str,
        peer_name: &'static str,
        ours: f64,
    ) -> Self {
        let unit = match metric {
            "build" | "add" | "remove" | "grow" => Unit::Nanoseconds,
            "heap" | "peak" => Unit::Bytes,
            _ => Unit::NanosecondsAKey,
        };
        Self {
            algorithm,
            n,
            metric,
            unit,
            ours,
            peer_name,
            peer: None,
            ratio: None,
            goal: None,
            goal_of: None,
            met: None,
            note: None,
        }
    }

    pub(crate) fn unit(self, unit: Unit) -> Self {
        Self { unit, ..self }
    }

    pub(crate) fn note(self, note: &'static str) -> Self {
        Self {
            note: Some(note),
            ..self
        }
    }

    /// The ratio should be at most the goal that is listed for this size, if one is.
    pub(crate) fn goals(self, goals: &[(usize, f64)]) -> Self {
        let goal = goals.iter().find(|(n, _)| *n == self.n);
        match goal {
            Some(&(_, goal)) => self.goal(goal),
            None => self,
        }
    }

    /// The ratio should be at most this.
    pub(crate) fn goal(self, goal: f64) -> Self {
        let ratio = self.ratio;
        self.judge(GoalOf::Ratio, goal, ratio)
    }

    /// Ours should be at most this, whatever the peer's is.
    pub(crate) fn own_goal(self, goal: f64) -> Self {
        let ours = self.ours;
        self.judge(GoalOf::Ours, goal, Some(ours))
    }

    fn judge(self, of: GoalOf, goal: f64, value: Option<f64>) -> Self {
        Self {
            goal: Some(goal),
            goal_of: Some(of),
            met: value.map(|value| value <= goal),
            ..self
        }
    }
}
