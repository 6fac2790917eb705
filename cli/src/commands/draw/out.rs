//! The output of pictures.

use core::fmt::Display;
use std::io::Write;

use hashroute_harness::plot::Picture;

use super::args::PictureArgs;
use crate::app::outputs;
use crate::failure::Failure;
use crate::output::stdout;

/// The default number of PNG pixels per SVG pixel.
const SCALE: f32 = 2.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Stdout,
    Svg,
    Png,
}

/// Refuses a name that says no format, before the work is done.
pub(super) fn check(args: &PictureArgs) -> Result<(), Failure> {
    let kind = kind(args)?;
    match args.scale {
        Some(scale) if kind != Kind::Png => Err(Failure::Input(format!(
            "--scale {scale}: an SVG has no pixels: expected --out with a name that ends in .png"
        ))),
        _ => Ok(()),
    }
}

/// Writes the picture to the file or to standard output.
pub(super) fn write(picture: &Picture, args: &PictureArgs) -> Result<(), Failure> {
    let bytes = match kind(args)? {
        Kind::Stdout => {
            let mut out = stdout();
            out.write_all(picture.svg().as_bytes())?;
            return Ok(out.flush()?);
        }
        Kind::Svg => picture.svg().as_bytes().to_vec(),
        Kind::Png => png(picture, args.scale.unwrap_or(SCALE))?,
    };
    outputs::write("--out", &args.out, &bytes)
}

fn refused(args: &PictureArgs, why: &dyn Display) -> Failure {
    Failure::file("--out", &args.out, why)
}

fn kind(args: &PictureArgs) -> Result<Kind, Failure> {
    if args.out.as_os_str() == "-" {
        return Ok(Kind::Stdout);
    }
    let extension = args
        .out
        .extension()
        .and_then(|extension| extension.to_str());
    match extension.map(str::to_ascii_lowercase).as_deref() {
        Some("svg") => Ok(Kind::Svg),
        Some("png") if cfg!(feature = "png") => Ok(Kind::Png),
        Some("png") => Err(refused(
            args,
            &"built without PNG: expected .svg, or a program installed by cargo install hashroute-cli --features png",
        )),
        _ => Err(refused(
            args,
            &"expected a name that ends in .svg or .png, or -",
        )),
    }
}

#[cfg(feature = "png")]
fn png(picture: &Picture, scale: f32) -> Result<Vec<u8>, Failure> {
    use crate::failure::Asked;

    let asked = Asked::Option(format!("--scale {scale}"));
    picture.png(scale).map_err(|error| asked.refused(error))
}

#[cfg(not(feature = "png"))]
fn png(_: &Picture, _: f32) -> Result<Vec<u8>, Failure> {
    Err(Failure::input("--out: built without PNG: expected .svg"))
}
