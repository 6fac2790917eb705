//! The canvas of all pictures: one size of text, one set of colours.

use core::f64::consts::TAU;
use core::fmt::Write;

use svg::Document;
use svg::node::element::{
    Circle, Definitions, Description, Line, Path, Pattern, Rectangle, Style, Text, Title,
};
use svg::node::{Text as Words, Value};

use super::picture::Picture;
use super::text;

/// The number of colours.
const COLOURS: usize = 8;

/// The style of text and marks, and the colours of nodes: blue, orange, green, purple, sky,
/// vermilion, yellow, grey. In dark mode, paper and ink swap colours.
const STYLE: &str = "\
.hr-paper{fill:#fff}\
.hr-t{font-family:'DejaVu Sans',Verdana,sans-serif;font-size:13px;fill:#222}\
.hr-big{font-size:20px;font-weight:bold}\
.hr-bold{font-weight:bold}\
.hr-small{font-size:11px}\
.hr-soft{fill:#666}\
.hr-on{fill:#fff}\
.hr-end{text-anchor:end}\
.hr-mid{text-anchor:middle}\
.hr-ink{fill:#222}\
.hr-mark{fill:#888}\
.hr-none{fill:none}\
.hr-void{fill:#888;fill-opacity:.18}\
.hr-line{fill:none;stroke:#222;stroke-width:1.2}\
.hr-thin{fill:none;stroke:#888;stroke-width:.8}\
.hr-edge{fill:none;stroke:#fff;stroke-width:.8}\
.hr-dash{stroke-dasharray:3 2}\
.hr-band{fill:#888;fill-opacity:.25}\
.hr-heat{fill:#0072b2}\
.hr-alarm{fill:#d55e00}\
.hr-0{fill:#0072b2}.hr-1{fill:#e69f00}.hr-2{fill:#009e73}.hr-3{fill:#cc79a7}\
.hr-4{fill:#56b4e9}.hr-5{fill:#d55e00}.hr-6{fill:#f0e442}.hr-7{fill:#999}\
@media (prefers-color-scheme:dark){\
.hr-paper{fill:#16181d}.hr-t,.hr-ink{fill:#e6e6e6}.hr-soft{fill:#aaa}\
.hr-line{stroke:#e6e6e6}.hr-edge{stroke:#16181d}.hr-on{fill:#16181d}.hr-heat{fill:#56b4e9}}\
@media print{.hr-paper{fill:#fff}.hr-t,.hr-ink{fill:#222}.hr-soft{fill:#666}\
.hr-line{stroke:#222}.hr-edge{stroke:#fff}.hr-on{fill:#fff}.hr-heat{fill:#0072b2}}";

/// The part of a text that stands at its point.
#[derive(Clone, Copy, Debug)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

#[derive(Debug)]
pub(super) struct Canvas {
    document: Document,
    title: String,
}

impl Canvas {
    /// Starts a picture with a title and, below it, lines that say what it shows.
    pub(super) fn new(width: f64, height: f64, title: &str, lines: &[String]) -> Self {
        let (width, height) = (width.ceil(), height.ceil());
        let paper = Rectangle::new()
            .set("class", "hr-paper")
            .set("width", width)
            .set("height", height);
        let document = Document::new()
            .set("role", "img")
            .set("viewBox", (0, 0, width, height))
            .set("width", width)
            .set("height", height)
            .add(Title::new(title))
            .add(Description::new().add(Words::new(lines.join(" "))))
            .add(Style::new(STYLE))
            .add(hatches())
            .add(paper);
        let mut canvas = Self {
            document,
            title: title.to_string(),
        };
        canvas.text((20.0, 34.0), "hr-big", Anchor::Start, title);
        for (row, line) in lines.iter().enumerate() {
            let y = 56.0 + 18.0 * row as f64;
            canvas.text((20.0, y), "hr-soft", Anchor::Start, line);
        }
        canvas
    }

    pub(super) fn finish(self) -> Picture {
        Picture {
            title: self.title,
            svg: format!("{}\n", self.document),
        }
    }

    /// Draws a text. It is escaped here and nowhere else.
    pub(super) fn text(&mut self, at: (f64, f64), class: &str, anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => "hr-mid",
            Anchor::End => "hr-end",
        };
        let class = format!("hr-t {class} {anchor}");
        let text = Text::new(text)
            .set("class", class.trim_end().replace("  ", " "))
            .set("x", number(at.0))
            .set("y", number(at.1));
        self.add(text);
    }

    /// Draws a name within this width, in pixels.
    pub(super) fn name(&mut self, at: (f64, f64), anchor: Anchor, room: f64, name: &str) {
        self.text(at, "", anchor, &text::name(name, room / 13.0));
    }

    pub(super) fn rectangle(&mut self, class: &str, at: (f64, f64), size: (f64, f64)) {
        let rectangle = Rectangle::new()
            .set("class", class)
            .set("x", number(at.0))
            .set("y", number(at.1))
            .set("width", number(size.0.max(0.0)))
            .set("height", number(size.1.max(0.0)));
        self.add(rectangle);
    }

    /// Draws a text that runs from its point to the upper right.
    pub(super) fn climbing(&mut self, at: (f64, f64), text: &str) {
        let (x, y) = (shown(at.0), shown(at.1));
        let text = Text::new(text)
            .set("class", "hr-t hr-small")
            .set("transform", format!("translate({x} {y}) rotate(-55)"));
        self.add(text);
    }

    /// Draws a rectangle in the colour of heat, from 0 to 1.
    pub(super) fn heat(&mut self, heat: f64, at: (f64, f64), size: (f64, f64)) {
        let rectangle = Rectangle::new()
            .set("class", "hr-heat")
            .set("fill-opacity", number(heat))
            .set("x", number(at.0))
            .set("y", number(at.1))
            .set("width", number(size.0))
            .set("height", number(size.1));
        self.add(rectangle);
    }

    pub(super) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let line = Line::new()
            .set("class", class)
            .set("x1", number(from.0))
            .set("y1", number(from.1))
            .set("x2", number(to.0))
            .set("y2", number(to.1));
        self.add(line);
    }

    pub(super) fn circle(&mut self, class: &str, at: (f64, f64), radius: f64) {
        let circle = Circle::new()
            .set("class", class)
            .set("cx", number(at.0))
            .set("cy", number(at.1))
            .set("r", number(radius));
        self.add(circle);
    }

    /// Draws a path; nothing if it is empty.
    pub(super) fn path(&mut self, class: &str, path: &Pen) {
        if !path.0.is_empty() {
            self.add(Path::new().set("class", class).set("d", path.0.as_str()));
        }
    }

    /// Draws a shape in the colour of a node, with its stripes or dots.
    pub(super) fn fill(&mut self, node: usize, path: &Pen) {
        self.path(&colour(node), path);
        if let (Some(hatch), false) = (hatch(node), path.0.is_empty()) {
            let over = Path::new().set("fill", hatch).set("d", path.0.as_str());
            self.add(over);
        }
    }

    fn add(&mut self, node: impl Into<Box<dyn svg::node::Node>>) {
        svg::node::Node::append(&mut self.document, node);
    }
}

/// Returns the class of a node's colour.
pub(super) fn colour(node: usize) -> String {
    format!("hr-{}", node % COLOURS)
}

/// Returns the pattern that distinguishes nodes of the same colour.
fn hatch(node: usize) -> Option<&'static str> {
    [None, Some("url(#hr-stripes)"), Some("url(#hr-dots)")]
        .get(node / COLOURS)
        .copied()
        .unwrap_or(Some("url(#hr-bars)"))
}

fn hatches() -> Definitions {
    let pattern = |id: &str, size: f64| {
        Pattern::new()
            .set("id", id)
            .set("patternUnits", "userSpaceOnUse")
            .set("width", size)
            .set("height", size)
    };
    let edge = |d: &str| Path::new().set("class", "hr-edge").set("d", d);
    let dot = Circle::new().set("cx", 2).set("cy", 2).set("r", 0.9);
    Definitions::new()
        .add(pattern("hr-stripes", 4.0).add(edge("M-1 3L3 -1M0 4L4 0M1 5L5 1")))
        .add(pattern("hr-dots", 4.0).add(dot.set("class", "hr-paper")))
        .add(pattern("hr-bars", 3.0).add(edge("M0 1.5H3")))
}

/// Rounds to two decimals, since hundredths of a pixel are enough, and drops trailing zeros.
pub(super) fn number(value: f64) -> Value {
    Value::from(shown(value))
}

fn shown(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0" } else { text }.to_string()
}

/// The attribute `d` of a path.
#[derive(Clone, Debug, Default)]
pub(super) struct Pen(String);

impl Pen {
    pub(super) fn start(&mut self, at: (f64, f64)) -> &mut Self {
        self.step('M', at)
    }

    pub(super) fn to(&mut self, at: (f64, f64)) -> &mut Self {
        self.step('L', at)
    }

    pub(super) fn close(&mut self) {
        self.0.push('Z');
    }

    pub(super) fn rectangle(&mut self, at: (f64, f64), size: (f64, f64)) {
        let (x, y, width, height) = (shown(at.0), shown(at.1), shown(size.0), shown(size.1));
        let _ = write!(self.0, "M{x} {y}h{width}v{height}h-{width}Z");
    }

    /// Adds a sector of a ring around `centre`, between two radii and two turns. Turn 0 is at the
    /// top, 1 is once around.
    pub(super) fn band(&mut self, centre: (f64, f64), radii: (f64, f64), from: f64, to: f64) {
        // SVG cannot draw an arc of a whole turn, so longer sectors are drawn in three parts.
        let pieces: u32 = if to - from > 0.34 { 3 } else { 1 };
        let turn = |piece: u32| from + (to - from) * f64::from(piece) / f64::from(pieces);
        self.start(around(centre, radii.1, from));
        for piece in 1..=pieces {
            self.arc(radii.1, true, around(centre, radii.1, turn(piece)));
        }
        self.to(around(centre, radii.0, to));
        for piece in (0..pieces).rev() {
            self.arc(radii.0, false, around(centre, radii.0, turn(piece)));
        }
        self.close();
    }

    /// Adds an arc of at most half a circle.
    pub(super) fn arc(&mut self, radius: f64, clockwise: bool, to: (f64, f64)) -> &mut Self {
        let (radius, x, y) = (shown(radius), shown(to.0), shown(to.1));
        let sweep = u8::from(clockwise);
        let _ = write!(self.0, "A{radius} {radius} 0 0 {sweep} {x} {y}");
        self
    }

    fn step(&mut self, command: char, at: (f64, f64)) -> &mut Self {
        let _ = write!(self.0, "{command}{} {}", shown(at.0), shown(at.1));
        self
    }
}

/// Returns the point at a turn of a circle: 0 at the top, clockwise.
#[expect(
    clippy::disallowed_methods,
    reason = "a point on paper, rounded to hundredths, decides no route"
)]
pub(super) fn around(centre: (f64, f64), radius: f64, turn: f64) -> (f64, f64) {
    let (sin, cos) = ((turn * TAU).sin(), (turn * TAU).cos());
    (centre.0 + radius * sin, centre.1 - radius * cos)
}
