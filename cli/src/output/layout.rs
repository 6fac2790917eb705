//! How a table fits a width: columns are narrowed, left out or stacked, and no number or name is
//! ever broken.

use unicode_width::UnicodeWidthStr;

use super::field::Column;
use super::screen::{Screen, Tone, folded};

/// The least width of a column of sentences that is narrowed.
const PROSE: usize = 20;

/// A cell as people see it.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    pub(super) text: String,
    pub(super) tone: Tone,
}

/// The columns that people see, with their cells.
pub(super) struct Sheet<'a> {
    pub(super) columns: Vec<&'a Column>,
    pub(super) rows: Vec<Vec<Shown>>,
    /// The spaces between two columns.
    pub(super) gap: usize,
}

impl Sheet<'_> {
    /// Returns the lines of the table at this width.
    ///
    /// Sentences are narrowed first. Then columns are left out, the least important first; the last
    /// line names them. If what must stay is still too wide, each row becomes a block of lines.
    pub(super) fn lines(&self, screen: Screen) -> Vec<String> {
        let mut kept: Vec<_> = (0..self.columns.len()).collect();
        loop {
            if let Some(widths) = self.widths(&kept, screen.width) {
                let mut lines = self.grid(&kept, &widths, screen);
                lines.extend(self.left_out(&kept, screen));
                return lines;
            }
            let minor = kept.iter().map(|&index| self.columns[index].minor);
            match minor.zip(0..).max().filter(|(rank, _)| *rank > 0) {
                Some((_, place)) => kept.remove(place),
                None => return self.blocks(screen),
            };
        }
    }

    /// Returns the widths of these columns, if they fit.
    fn widths(&self, kept: &[usize], width: usize) -> Option<Vec<usize>> {
        let natural: Vec<_> = kept.iter().map(|&index| self.natural(index)).collect();
        let floors = self.floors(kept);
        let gaps = self.gaps(kept);
        let narrowed = |limit: usize| {
            let pairs = natural.iter().zip(&floors);
            pairs.map(move |(&natural, &floor)| natural.min(limit).max(floor))
        };
        let most = natural.iter().copied().max().unwrap_or(0);
        let limit = (1..=most)
            .rev()
            .find(|&limit| narrowed(limit).sum::<usize>() + gaps <= width)?;
        Some(narrowed(limit).collect())
    }

    /// Returns the least width of each of these columns.
    fn floors(&self, kept: &[usize]) -> Vec<usize> {
        let floor = |&index: &usize| {
            let natural = self.natural(index);
            if self.columns[index].prose {
                self.longest_word(index).max(natural.min(PROSE))
            } else {
                natural
            }
        };
        kept.iter().map(floor).collect()
    }

    fn gaps(&self, kept: &[usize]) -> usize {
        let apart = kept.iter().filter(|&&index| self.columns[index].apart);
        kept.len().saturating_sub(1) * self.gap + apart.count()
    }

    fn texts(&self, index: usize) -> impl Iterator<Item = &str> {
        let cells = self.rows.iter().map(move |row| row[index].text.as_str());
        self.columns[index].title.lines().chain(cells)
    }

    fn natural(&self, index: usize) -> usize {
        self.texts(index)
            .map(UnicodeWidthStr::width)
            .max()
            .unwrap_or(0)
    }

    fn longest_word(&self, index: usize) -> usize {
        let words = self.texts(index).flat_map(|text| text.split(' '));
        words.map(UnicodeWidthStr::width).max().unwrap_or(0)
    }

    fn grid(&self, kept: &[usize], widths: &[usize], screen: Screen) -> Vec<String> {
        let titles = kept.iter().map(|&index| {
            let lines = self.columns[index].title.lines();
            (lines.map(str::to_owned).collect::<Vec<_>>(), Tone::Plain)
        });
        let mut lines = self.row(kept, widths, &titles.collect::<Vec<_>>(), screen);
        lines.push("─".repeat(widths.iter().sum::<usize>() + self.gaps(kept)));
        for row in &self.rows {
            let cells = kept.iter().zip(widths).map(|(&index, &width)| {
                let Shown { text, tone } = &row[index];
                let lines = if self.columns[index].prose {
                    folded(text, width, "")
                } else {
                    vec![text.clone()]
                };
                (lines, *tone)
            });
            lines.extend(self.row(kept, widths, &cells.collect::<Vec<_>>(), screen));
        }
        lines
    }

    /// Returns the lines of one row, whose cells have several.
    fn row(
        &self,
        kept: &[usize],
        widths: &[usize],
        cells: &[(Vec<String>, Tone)],
        screen: Screen,
    ) -> Vec<String> {
        let height = cells.iter().map(|(lines, _)| lines.len()).max();
        let line = |number: usize| {
            let mut line = String::new();
            for (place, (lines, tone)) in cells.iter().enumerate() {
                let column = self.columns[kept[place]];
                let text = lines.get(number).map_or("", String::as_str);
                let room = " ".repeat(widths[place].saturating_sub(text.width()));
                let gap = self.gap * usize::from(place > 0) + usize::from(column.apart);
                line.push_str(&" ".repeat(gap));
                let text = screen.painted(text, *tone);
                let parts = if column.right {
                    [room, text]
                } else {
                    [text, room]
                };
                line.push_str(&parts.concat());
            }
            line.trim_end().to_owned()
        };
        (0..height.unwrap_or(0)).map(line).collect()
    }

    /// Names the columns that are left out, and says how to see them.
    fn left_out(&self, kept: &[usize], screen: Screen) -> Vec<String> {
        let all: Vec<_> = (0..self.columns.len()).collect();
        let names = all.iter().filter(|index| !kept.contains(index));
        let names: Vec<_> = names
            .map(|&index| self.columns[index].on_one_line())
            .collect();
        if names.is_empty() {
            return Vec::new();
        }
        let needed = self.floors(&all).iter().sum::<usize>() + self.gaps(&all);
        let note = screen.wrapped(&format!(
            "Left out at {} columns: {} (COLUMNS={needed} shows all; --format json has the figures).",
            screen.width,
            names.join(", ")
        ));
        [vec![String::new()], note].concat()
    }

    /// Returns a block of lines for each row: its first cell, and below it the others by title.
    fn blocks(&self, screen: Screen) -> Vec<String> {
        let titles = self.columns.iter().map(|column| column.on_one_line());
        let titles: Vec<_> = titles.collect();
        let pair = titles.len() < 3;
        let label = titles.iter().skip(1).map(|title| title.width()).max();
        let label = label.unwrap_or(0);
        let all = |fits: &dyn Fn(&[Shown]) -> bool| self.rows.iter().all(|row| fits(row));
        let room = |used: usize, cell: &Shown| used + cell.text.width() <= screen.width;
        let aligned = all(&|row| row.iter().skip(1).all(|cell| room(label + 4, cell)));
        let named = !pair && all(&|row| room(titles[0].width() + 2, &row[0]));
        let mut lines = Vec::new();
        for row in &self.rows {
            let head = screen.painted(&row[0].text, row[0].tone);
            lines.push(if named {
                format!("{}: {head}", titles[0])
            } else {
                head
            });
            let cells = row.iter().enumerate().skip(1);
            for (index, cell) in cells.filter(|(_, cell)| !cell.text.is_empty()) {
                let title = &titles[index];
                let text = screen.painted(&cell.text, cell.tone);
                if pair {
                    lines.extend(self.value(index, cell, 2, screen));
                } else if aligned {
                    let gap = " ".repeat(label - title.width() + 2);
                    lines.push(format!("  {title}{gap}{text}"));
                } else if room(title.width() + 4, cell) {
                    lines.push(format!("  {title}: {text}"));
                } else {
                    lines.push(format!("  {title}:"));
                    lines.extend(self.value(index, cell, 4, screen));
                }
            }
        }
        lines
    }

    /// Returns the indented lines of a cell in a block; a name or number runs over the width.
    fn value(&self, index: usize, cell: &Shown, indent: usize, screen: Screen) -> Vec<String> {
        let lines = if self.columns[index].prose {
            folded(&cell.text, screen.width.saturating_sub(indent).max(1), "")
        } else {
            vec![cell.text.clone()]
        };
        let indented = |line: &String| {
            let text = screen.painted(line, cell.tone);
            format!("{}{text}", " ".repeat(indent))
        };
        lines.iter().map(indented).collect()
    }
}
