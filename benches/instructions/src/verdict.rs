//! Counts beside those kept: the table, and what is wrong with it.

use core::fmt::{self, Display};

use crate::UPDATE;
use crate::counts::{ANY, Counts, Row};

/// By how many percent a count may grow. Counts of one machine are equal to the last digit;
/// this is for code that the compiler lays out anew around a change elsewhere.
pub(crate) const ALLOWANCE: f64 = 5.0;
/// The same where the compiler, the C library or valgrind is another.
pub(crate) const WIDE_ALLOWANCE: f64 = 15.0;

/// What is to be said of a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Within,
    Slower,
    Faster,
    NotKept,
    NotRun,
}

impl Verdict {
    pub(crate) fn fails(self) -> bool {
        matches!(self, Self::Slower | Self::NotKept)
    }

    fn word(self) -> &'static str {
        match self {
            Self::Within => "",
            Self::Slower => "SLOWER",
            Self::Faster => "faster",
            Self::NotKept => "NO COUNT IS KEPT",
            Self::NotRun => "NOT RUN",
        }
    }
}

const ADVICE: [(Verdict, &str); 4] = [
    (
        Verdict::NotRun,
        "kept for another CPU, so nothing is known about them here",
    ),
    (
        Verdict::Faster,
        "keep the new counts, so that they stay low",
    ),
    (
        Verdict::Slower,
        "callgrind_annotate shows where, given a profile of release/callgrind in the target \
         directory; if it must be so, say why in the commit that keeps the new counts",
    ),
    (Verdict::NotKept, "a new strategy; add its counts"),
];

/// Counts beside those kept.
pub(crate) struct Comparison<'a> {
    kept: &'a Counts,
    now: &'a Counts,
    allowance: f64,
    lines: Vec<Line<'a>>,
}

struct Line<'a> {
    now: &'a Row,
    kept: Option<&'a Row>,
    verdict: Verdict,
}

impl<'a> Comparison<'a> {
    pub(crate) fn new(kept: &'a Counts, now: &'a Counts) -> Self {
        let allowance = if kept.rows.is_empty() || kept.setting == now.setting {
            ALLOWANCE
        } else {
            WIDE_ALLOWANCE
        };
        let line = |now_row: &'a Row| {
            let kept = kept.rows.iter().find(|row| row.is_of(now_row));
            let verdict = match kept {
                None => Verdict::NotKept,
                Some(kept) if kept.cpu != ANY && kept.cpu != now.setting.cpu => Verdict::NotRun,
                Some(kept) => judge(growth(kept, now_row), allowance),
            };
            Line {
                now: now_row,
                kept,
                verdict,
            }
        };
        Self {
            kept,
            now,
            allowance,
            lines: now.rows.iter().map(line).collect(),
        }
    }

    pub(crate) fn any(&self, is: impl Fn(Verdict) -> bool) -> bool {
        self.lines.iter().any(|line| is(line.verdict))
    }

    pub(crate) fn all(&self, verdict: Verdict) -> bool {
        !self.any(|other| other != verdict)
    }

    /// How many counts are well, and what to do about those that are not.
    pub(crate) fn summary(&self) -> String {
        let mut lines = vec![format!(
            "{} of {} counts are within {} % of those kept",
            self.number_of(Verdict::Within),
            self.lines.len(),
            self.allowance
        )];
        for (verdict, what) in ADVICE {
            match self.number_of(verdict) {
                0 => {}
                number => lines.push(format!("{number} {}: {what}", verdict.word())),
            }
        }
        if self.any(|verdict| verdict.fails() || verdict == Verdict::Faster) {
            lines.push(format!("to keep the new counts: {UPDATE}"));
        }
        lines.join("\n")
    }

    fn number_of(&self, verdict: Verdict) -> usize {
        let lines = self.lines.iter();
        lines.filter(|line| line.verdict == verdict).count()
    }

    /// What differs between this machine and that of the counts.
    fn differences(&self) -> impl Iterator<Item = String> {
        let fields = self.kept.setting.fields().into_iter();
        fields
            .zip(self.now.setting.fields())
            .filter(|(kept, now)| kept != now)
            .map(|((name, kept), (_, now))| format!("{name} is {now}, counts are of {kept}"))
    }

    /// Rows that nothing is counted for any more.
    fn left_over(&self) -> impl Iterator<Item = &Row> {
        let is_counted = |kept: &Row| self.now.rows.iter().any(|row| row.is_of(kept));
        self.kept.rows.iter().filter(move |row| !is_counted(row))
    }
}

/// In percent.
fn growth(kept: &Row, now: &Row) -> f64 {
    (now.count - kept.count) * 100.0 / kept.count
}

fn change(kept: &Row, now: &Row) -> String {
    match growth(kept, now) {
        0.0 => "=".into(),
        growth => format!("{growth:+.1} %"),
    }
}

fn judge(growth: f64, allowance: f64) -> Verdict {
    if growth > allowance {
        Verdict::Slower
    } else if growth < -allowance {
        Verdict::Faster
    } else {
        Verdict::Within
    }
}

impl Display for Comparison<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "Instructions an operation; all nodes weigh 1, default parameters\n"
        )?;
        writeln!(
            f,
            "{:<12} {:>5}  {:<9} {:>12} {:>12} {:>9}",
            "strategy", "nodes", "operation", "kept", "now", "change"
        )?;
        self.lines.iter().try_for_each(|line| write!(f, "{line}"))?;
        writeln!(f)?;
        for row in self.left_over() {
            let Row {
                strategy,
                nodes,
                operation,
                ..
            } = row;
            writeln!(
                f,
                "kept, but no longer counted: {strategy} {nodes} {operation}"
            )?;
        }
        if self.allowance > ALLOWANCE {
            writeln!(f, "NOTE: this is not the machine of the counts:")?;
            self.differences()
                .try_for_each(|difference| writeln!(f, "NOTE:   {difference}"))?;
            writeln!(
                f,
                "NOTE: so {WIDE_ALLOWANCE} % are allowed in place of {ALLOWANCE} %"
            )?;
        }
        Ok(())
    }
}

impl Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kept, change) = match self.kept {
            None => ("-".into(), String::new()),
            Some(kept) => (format!("{:.2}", kept.count), change(kept, self.now)),
        };
        let Row {
            strategy,
            nodes,
            operation,
            count,
            ..
        } = self.now;
        let line = format!(
            "{strategy:<12} {nodes:>5}  {operation:<9} {kept:>12} {count:>12.2} {change:>9}  {}",
            self.verdict.word()
        );
        writeln!(f, "{}", line.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::Setting;

    fn counts(compiler: &str, cpu: &str, count: f64) -> Counts {
        let row = |operation: &str, cpu: &str| Row {
            strategy: "ring".into(),
            nodes: 10,
            operation: operation.into(),
            cpu: cpu.into(),
            count,
        };
        Counts {
            setting: Setting {
                compiler: compiler.into(),
                cpu: cpu.into(),
                ..Setting::default()
            },
            rows: vec![row("route", ANY), row("batch", cpu)],
        }
    }

    fn verdicts(kept: &Counts, now: &Counts) -> Vec<Verdict> {
        let comparison = Comparison::new(kept, now);
        comparison.lines.iter().map(|line| line.verdict).collect()
    }

    #[test]
    fn more_than_the_allowance_is_slower_and_fails() {
        let kept = counts("rustc 1", "avx2", 100.0);
        for (count, verdict, fails) in [
            (105.0, Verdict::Within, false),
            (105.1, Verdict::Slower, true),
            (94.9, Verdict::Faster, false),
        ] {
            let now = counts("rustc 1", "avx2", count);
            assert_eq!(verdicts(&kept, &now), [verdict; 2]);
            assert_eq!(Comparison::new(&kept, &now).any(Verdict::fails), fails);
        }
    }

    #[test]
    fn another_compiler_is_allowed_more_and_named() {
        let kept = counts("rustc 1", "avx2", 100.0);
        let now = counts("rustc 2", "avx2", 114.0);
        assert_eq!(verdicts(&kept, &now), [Verdict::Within; 2]);
        let text = Comparison::new(&kept, &now).to_string();
        assert!(
            text.contains("compiler is rustc 2, counts are of rustc 1"),
            "{text}"
        );
        let now = counts("rustc 2", "avx2", 116.0);
        assert_eq!(verdicts(&kept, &now), [Verdict::Slower; 2]);
    }

    #[test]
    fn counts_of_another_cpu_are_not_compared() {
        let kept = counts("rustc 1", "avx2", 100.0);
        let now = counts("rustc 1", "plain", 200.0);
        assert_eq!(verdicts(&kept, &now), [Verdict::Slower, Verdict::NotRun]);
    }

    #[test]
    fn a_new_strategy_fails_with_the_words_how_to_add_it() {
        let now = counts("rustc 1", "avx2", 100.0);
        let kept = Counts::default();
        let comparison = Comparison::new(&kept, &now);
        assert!(comparison.any(Verdict::fails));
        assert!(comparison.summary().contains("-- --update"));
    }
}
