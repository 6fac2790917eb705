//! The canvas of all pictures: one size of text, one set of colours.

use core::f64::consts::TAU;
use core::fmt::Write;

use svg::Document;
use svg::node::element::{Circle, Description, Group, Line, Path, Rectangle, Style, Text, Title};
use svg::node::{Text as Words, Value};

use super::picture::Picture;
use super::text;

/// The number of colours. Further nodes share the grey of "others".
pub(super) const COLOURS: usize = 11;

/// The style of text and marks, and the colours of nodes. The first seven are those of Okabe and
/// Ito; the others differ from them and from each other by at least as much as orange from yellow,
/// for any kind of colour vision. In dark mode, paper and ink swap colours.
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
.hr-void{fill:#888;fill-opacity:.12}\
.hr-others{fill:#d0d0d0;stroke:#fff;stroke-width:.8}\
.hr-line{fill:none;stroke:#222;stroke-width:1.2}\
.hr-thin{fill:none;stroke:#888;stroke-width:.8}\
.hr-dash{stroke-dasharray:3 2}\
.hr-band{fill:#888;fill-opacity:.25}\
.hr-heat{fill:#0072b2}\
.hr-alarm{fill:#d55e00}\
.hr-0{fill:#0072b2}.hr-1{fill:#e69f00}.hr-2{fill:#009e73}.hr-3{fill:#cc79a7}\
.hr-4{fill:#56b4e9}.hr-5{fill:#d55e00}.hr-6{fill:#f0e442}.hr-7{fill:#900}\
.hr-8{fill:#50d}.hr-9{fill:#355}.hr-10{fill:#bd9}\
@media (prefers-color-scheme:dark){\
.hr-paper{fill:#16181d}.hr-t,.hr-ink{fill:#e6e6e6}.hr-soft{fill:#aaa}\
.hr-line{stroke:#e6e6e6}.hr-others{fill:#5a5e66;stroke:#16181d}.hr-on{fill:#16181d}.hr-heat{fill:#56b4e9}}\
@media print{.hr-paper{fill:#fff}.hr-t,.hr-ink{fill:#222}.hr-soft{fill:#666}\
.hr-line{stroke:#222}.hr-others{fill:#d0d0d0;stroke:#fff}.hr-on{fill:#fff}.hr-heat{fill:#0072b2}}";

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
    /// The mark with a title that is being drawn.
    group: Option<Group>,
    title: String,
    width: f64,
    top: f64,
}

impl Canvas {
    /// Starts a picture with a title and, below it, lines that say what it shows. Long ones are
    /// broken.
    pub(super) fn new(width: f64, title: &str, lines: &[String]) -> Self {
        let width = width.ceil();
        let paper = Rectangle::new()
            .set("class", "hr-paper")
            .set("width", "100%")
            .set("height", "100%");
        let document = Document::new()
            .set("role", "img")
            .add(Title::new(title))
            .add(Description::new().add(Words::new(lines.join(" "))))
            .add(Style::new(STYLE))
            .add(paper);
        let mut canvas = Self {
            document,
            group: None,
            title: title.to_string(),
            width,
            top: 8.0,
        };
        // Bold letters are wider than others.
        for line in text::wrapped(title, (width - 40.0) / 20.0 / 1.12) {
            canvas.top += 26.0;
            canvas.text((20.0, canvas.top), "hr-big", Anchor::Start, &line);
        }
        canvas.top += 4.0;
        for line in lines {
            for line in text::wrapped(line, (width - 40.0) / 13.0) {
                canvas.top += 18.0;
                canvas.text((20.0, canvas.top), "hr-soft", Anchor::Start, &line);
            }
        }
        canvas
    }

    /// Returns the lower end of the last line below the title.
    pub(super) fn top(&self) -> f64 {
        self.top
    }

    pub(super) fn finish(self, height: f64) -> Picture {
        let (width, height) = (self.width, height.ceil());
        let document = self.document.set("viewBox", (0, 0, width, height));
        let document = document.set("width", width).set("height", height);
        Picture {
            title: self.title,
            svg: format!("{document}\n"),
        }
    }

    /// Draws a mark with a title, which browsers show under the pointer.
    pub(super) fn titled(&mut self, title: &str, draw: impl FnOnce(&mut Self)) {
        let outer = self.group.replace(Group::new().add(Title::new(title)));
        draw(self);
        if let Some(group) = core::mem::replace(&mut self.group, outer) {
            self.add(group);
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

    /// Draws a shape in a colour of nodes, from 0 on.
    pub(super) fn fill(&mut self, colour: usize, path: &Pen) {
        self.path(&class(colour), path);
    }

    /// Draws the square that stands for a colour in a list, before this text.
    pub(super) fn swatch(&mut self, colour: usize, (x, y): (f64, f64)) {
        self.rectangle(&class(colour), (x, y - 11.0), (13.0, 13.0));
    }

    fn add(&mut self, node: impl Into<Box<dyn svg::node::Node>>) {
        match &mut self.group {
            Some(group) => svg::node::Node::append(group, node),
            None => svg::node::Node::append(&mut self.document, node),
        }
    }
}

/// Returns the class of a colour of nodes.
pub(super) fn class(colour: usize) -> String {
    if colour < COLOURS {
        format!("hr-{colour}")
    } else {
        "hr-others".into()
    }
}

/// Returns the colour of each node: the first in this order have one of their own.
pub(super) fn colours(nodes: usize, first: &[usize]) -> Vec<usize> {
    let mut colours = vec![COLOURS; nodes];
    if nodes <= COLOURS {
        return (0..nodes).collect();
    }
    let mut chosen = first[..first.len().min(COLOURS)].to_vec();
    chosen.sort_unstable(); // so that colours follow the order of the list
    for (colour, node) in chosen.into_iter().enumerate() {
        colours[node] = colour;
    }
    colours
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

    /// Adds a curve that leaves the last point towards `bend` and ends at `to`.
    pub(super) fn curve(&mut self, bend: (f64, f64), to: (f64, f64)) -> &mut Self {
        let [a, b, x, y] = [bend.0, bend.1, to.0, to.1].map(shown);
        let _ = write!(self.0, "Q{a} {b} {x} {y}");
        self
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Linear RGB as seen with normal vision, and without red or green cones: Machado, Oliveira and
    /// Fernandes (2009).
    const VISIONS: [[[f64; 3]; 3]; 3] = [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [
            [0.152_286, 1.052_583, -0.204_868],
            [0.114_503, 0.786_281, 0.099_216],
            [-0.003_882, -0.048_116, 1.051_998],
        ],
        [
            [0.367_322, 0.860_646, -0.227_968],
            [0.280_085, 0.672_501, 0.047_413],
            [-0.011_820, 0.042_940, 0.968_881],
        ],
    ];

    /// Returns the colour of a class in the style, from 0 to 1.
    fn rgb(class: &str) -> [f64; 3] {
        let rule = STYLE.split(&format!(".{class}{{fill:#")).nth(1);
        let digits = rule.map_or("", |rest| &rest[..rest.find(['}', ';']).unwrap_or(0)]);
        let wide = digits.len() / 3;
        let part = |at: usize| {
            let part = digits[at * wide..(at + 1) * wide].repeat(3 - wide);
            f64::from(u8::from_str_radix(&part, 16).unwrap_or(0)) / 255.0
        };
        [0, 1, 2].map(part)
    }

    /// Returns the colour in CIELAB, in which distances are those that people see.
    #[expect(clippy::disallowed_methods, reason = "a colour decides no route")]
    fn lab(rgb: [f64; 3], vision: &[[f64; 3]; 3]) -> [f64; 3] {
        let linear = rgb.map(|part| ((part + 0.055) / 1.055).powf(2.4));
        let seen = vision.map(|row| {
            let sum: f64 = row
                .iter()
                .zip(linear)
                .map(|(weight, part)| weight * part)
                .sum();
            sum.clamp(0.0, 1.0)
        });
        let of = |weights: [f64; 3]| -> f64 {
            let sum: f64 = weights
                .iter()
                .zip(seen)
                .map(|(weight, part)| weight * part)
                .sum();
            sum.cbrt()
        };
        let x = of([0.4339, 0.3762, 0.1899]);
        let y = of([0.2126, 0.7152, 0.0722]);
        let z = of([0.0177, 0.1095, 0.8730]);
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    /// The closest pair of Okabe and Ito, orange and yellow, is 17 apart.
    #[test]
    fn any_two_colours_can_be_told_apart_with_any_colour_vision() {
        let classes = (0..=COLOURS).map(class);
        let colours: Vec<_> = classes.map(|class| (rgb(&class), class)).collect();
        for vision in &VISIONS {
            for (at, (one, first)) in colours.iter().enumerate() {
                for (other, second) in &colours[..at] {
                    let [a, b] = [one, other].map(|colour| lab(*colour, vision));
                    let squares = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b));
                    let apart = squares.sum::<f64>().sqrt();
                    assert!(apart > 15.0, "{first} and {second}: {apart}");
                }
            }
        }
    }

    #[test]
    fn the_first_nodes_have_colours_of_their_own_and_the_others_are_grey() {
        let first: Vec<usize> = (0..30).rev().collect();
        let all = colours(30, &first);
        let mut own: Vec<_> = all.iter().filter(|colour| **colour < COLOURS).collect();
        own.dedup();
        assert_eq!(own.len(), COLOURS);
        assert_eq!((all[18], all[19], all[29]), (COLOURS, 0, COLOURS - 1));
        assert_eq!(colours(3, &[2, 1, 0]), [0, 1, 2]);
    }
}
