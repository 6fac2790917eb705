//! The file of counts: where they were counted, then a row for each.

use core::fmt::{self, Display};
use core::str::FromStr;

use crate::UPDATE;
use crate::verdict::{ALLOWANCE, WIDE_ALLOWANCE};

/// The `cpu` of a row in which no code chosen by the CPU ran.
pub(crate) const ANY: &str = "any";

/// All counts of a machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Counts {
    pub(crate) setting: Setting,
    pub(crate) rows: Vec<Row>,
}

/// What counts may depend on, beside the code.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Setting {
    pub(crate) compiler: String,
    pub(crate) libc: String,
    pub(crate) valgrind: String,
    /// The kind of CPU that the crate saw.
    pub(crate) cpu: String,
}

impl Setting {
    pub(crate) fn fields(&self) -> [(&'static str, &str); 4] {
        [
            ("compiler", &self.compiler),
            ("libc", &self.libc),
            ("valgrind", &self.valgrind),
            ("cpu", &self.cpu),
        ]
    }

    fn field(&mut self, name: &str) -> Option<&mut String> {
        match name {
            "compiler" => Some(&mut self.compiler),
            "libc" => Some(&mut self.libc),
            "valgrind" => Some(&mut self.valgrind),
            "cpu" => Some(&mut self.cpu),
            _ => None,
        }
    }
}

/// The instructions of one operation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) strategy: String,
    pub(crate) nodes: usize,
    pub(crate) operation: String,
    /// The kind of CPU that this count is for, or [`ANY`].
    pub(crate) cpu: String,
    pub(crate) count: f64,
}

impl Row {
    pub(crate) fn is_of(&self, other: &Self) -> bool {
        (&self.strategy, self.nodes, &self.operation)
            == (&other.strategy, other.nodes, &other.operation)
    }
}

impl Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "# Instructions an operation, counted by callgrind. Written by:"
        )?;
        writeln!(f, "#   {UPDATE}")?;
        writeln!(
            f,
            "# A count may grow by {ALLOWANCE} %, or by {WIDE_ALLOWANCE} % where one of these differs:"
        )?;
        for (name, value) in self.setting.fields() {
            writeln!(f, "#   {name}: {value}")?;
        }
        writeln!(
            f,
            "# Rows of another cpu than \"{ANY}\" are compared on such a one only."
        )?;
        writeln!(f, "strategy\tnodes\toperation\tcpu\tinstructions")?;
        for row in &self.rows {
            writeln!(
                f,
                "{}\t{}\t{}\t{}\t{:.2}",
                row.strategy, row.nodes, row.operation, row.cpu, row.count
            )?;
        }
        Ok(())
    }
}

impl FromStr for Counts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut counts = Self::default();
        let (comments, lines): (Vec<_>, Vec<_>) =
            text.lines().partition(|line| line.starts_with('#'));
        for comment in comments {
            if let Some((name, value)) = comment[1..].trim().split_once(": ") {
                if let Some(field) = counts.setting.field(name) {
                    value.clone_into(field);
                }
            }
        }
        for line in lines.into_iter().skip(1) {
            let row = row(line).ok_or_else(|| format!("counts.tsv: no row: {line:?}"))?;
            counts.rows.push(row);
        }
        Ok(counts)
    }
}

fn row(line: &str) -> Option<Row> {
    let cells: Vec<_> = line.split('\t').collect();
    let [strategy, nodes, operation, cpu, count] = cells[..] else {
        return None;
    };
    Some(Row {
        strategy: strategy.into(),
        nodes: nodes.parse().ok()?,
        operation: operation.into(),
        cpu: cpu.into(),
        count: count.parse().ok().filter(|&count| count > 0.0)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let setting = Setting {
            compiler: "rustc 1.85.0 -C opt-level=3".into(),
            libc: "glibc 2.36".into(),
            valgrind: "valgrind-3.19.0".into(),
            cpu: "avx2".into(),
        };
        let row = |operation: &str, cpu: &str, count| Row {
            strategy: "ring".into(),
            nodes: 10,
            operation: operation.into(),
            cpu: cpu.into(),
            count,
        };
        let rows = vec![row("route", ANY, 63.25), row("batch", "avx2", 7.5)];
        let counts = Counts { setting, rows };
        assert_eq!(counts.to_string().parse(), Ok(counts));
    }

    #[test]
    fn a_broken_row_is_no_row() {
        for line in [
            "ring\t10\troute\tany",
            "ring\tten\troute\tany\t1",
            "ring\t10\troute\tany\t0",
        ] {
            assert!(
                format!("head\n{line}\n").parse::<Counts>().is_err(),
                "{line}"
            );
        }
    }
}
