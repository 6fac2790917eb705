//! Pictures as PNG, with the letters of a built-in font.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use super::picture::Picture;
use hashroute::{Error, Refusal};

/// The longest side of a PNG, in pixels. Drawing one takes 256 MB.
const MOST: f32 = 8192.0;

impl Picture {
    /// Returns the picture as PNG, on white, with this many pixels for each of the SVG's: 2 is
    /// sharp on most screens. Letters are those of the built-in `DejaVu Sans`: Latin, Greek,
    /// Cyrillic, Arabic and others, but no ideographs. O(pixels).
    ///
    /// # Errors
    /// [`Error::Parameter`] for a scale that is not above 0, or gives more than 8,192 pixels on a
    /// side.
    ///
    /// ```
    /// # use hashroute::redis::{SlotRule, Table};
    /// # use hashroute_harness::plot;
    /// let png = plot::slots(&Table::new(SlotRule::REDIS)).png(1.0)?;
    /// assert!(png.starts_with(b"\x89PNG"));
    /// # Ok::<(), hashroute::Error>(())
    /// ```
    pub fn png(&self, scale: f32) -> Result<Vec<u8>, Error> {
        let tree = Tree::from_str(&self.svg, &options()).map_err(|_| UNREADABLE)?;
        let side = |length: f32| (length * scale).ceil();
        let [width, height] = [tree.size().width(), tree.size().height()].map(side);
        let fits = |side: f32| (1.0..=MOST).contains(&side);
        if !fits(width) || !fits(height) {
            let expected = format!("1 to {MOST} pixels a side");
            return Err(Error::parameter("scale", format!("{scale}"), expected));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 1 and MOST"
        )]
        let mut pixels = Pixmap::new(width as u32, height as u32).ok_or(UNREADABLE)?;
        let scaled = Transform::from_scale(scale, scale);
        resvg::render(&tree, scaled, &mut pixels.as_mut());
        pixels.encode_png().map_err(|_| UNREADABLE)
    }
}

const UNREADABLE: Error = Error::Unsupported {
    what: Refusal::NoPixels,
    advice: "take the SVG, which a browser shows",
};

/// Loads no installed font, so that a picture is the same on every machine.
fn options() -> Options<'static> {
    let mut fonts = fontdb::Database::new();
    for font in [dejavu::sans::regular(), dejavu::sans::bold()] {
        fonts.load_font_source(fontdb::Source::Binary(Arc::new(font)));
    }
    fonts.set_sans_serif_family("DejaVu Sans");
    Options {
        font_family: "DejaVu Sans".into(),
        fontdb: Arc::new(fonts),
        ..Options::default()
    }
}
