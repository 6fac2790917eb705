//! What people read an answer on: its width, and whether it shows colours.

use std::env;
use std::io;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use clap::ValueEnum;
use terminal_size::{Width, terminal_size_of};
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// The width of text on wide terminals, and of an answer that goes to a file or a pipe.
pub(super) const WIDTH: usize = 100;
/// The width of a terminal that does not know its own.
const UNKNOWN: usize = 80;

/// When an answer has colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    /// Also into a file or a pipe
    Always,
    /// Nowhere
    Never,
}

impl Color {
    /// Makes this the choice for all that the program prints.
    pub(crate) fn choose(self) {
        match self {
            Self::Auto => ColorChoice::Auto,
            Self::Always => ColorChoice::AlwaysAnsi,
            Self::Never => ColorChoice::Never,
        }
        .write_global();
    }
}

/// How a cell stands out, where colours are shown. The text says the same without them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tone {
    #[default]
    Plain,
    /// It holds.
    Good,
    /// It failed, or it is too much.
    Bad,
    /// It is less than others have.
    Low,
}

impl Tone {
    fn style(self) -> Style {
        let color = |color: AnsiColor| Style::new().fg_color(Some(color.into()));
        match self {
            Self::Plain => Style::new(),
            Self::Good => color(AnsiColor::Green),
            Self::Bad => color(AnsiColor::Red).bold(),
            Self::Low => color(AnsiColor::Blue),
        }
    }
}

/// What an answer is written for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Screen {
    /// Columns of characters.
    pub(super) width: usize,
    colors: bool,
}

impl Screen {
    /// Looks at standard output and the environment.
    ///
    /// `COLUMNS` comes first, as POSIX says, wherever the answer goes.
    pub(super) fn of_output() -> Self {
        let out = io::stdout();
        let columns = env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
        let columns = columns.filter(|&columns| columns > 0);
        let terminal = || match terminal_size_of(&out) {
            // Some terminals have no size, or say 0: nobody can read lines of one letter.
            Some((Width(width), _)) if width > 0 => usize::from(width),
            _ if io::IsTerminal::is_terminal(&out) => UNKNOWN,
            _ => WIDTH,
        };
        Self {
            width: columns.unwrap_or_else(terminal),
            colors: AutoStream::choice(&out) != ColorChoice::Never,
        }
    }

    /// Returns the text with the colour of its tone, if colours are shown.
    pub(super) fn painted(self, text: &str, tone: Tone) -> String {
        if !self.colors || tone == Tone::Plain || text.is_empty() {
            return text.to_owned();
        }
        let style = tone.style();
        format!("{style}{text}{style:#}")
    }

    /// Breaks a line of text between words, and indents what follows.
    pub(super) fn wrapped(self, line: &str) -> Vec<String> {
        folded(line, self.width.min(WIDTH), "  ")
    }
}

/// Breaks a text between words, never inside one: a word that is longer than the width runs over.
pub(super) fn folded(text: &str, width: usize, indent: &str) -> Vec<String> {
    let options = Options::new(width)
        .subsequent_indent(indent)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    let lines = textwrap::wrap(text, options).into_iter();
    lines.map(|line| line.trim_end().to_owned()).collect()
}
