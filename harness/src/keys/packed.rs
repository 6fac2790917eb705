//! Input that gzip or zstd packed, unpacked while it is read.

use std::io::{self, BufRead, BufReader, Read};

use super::kind::FileKind;

/// The bytes of a buffer. The kind of a file is told by its first buffer.
const BUFFER: usize = 1 << 16;

/// Returns the input, unpacked if it starts as gzip or zstd does, and the kind that its content
/// has, if that is no plain list of keys. The first buffer of the input has the lines that the kind
/// was told by.
///
/// Unpacking takes memory for one window: 32 KiB for gzip, at most 100 MB for zstd. Several packed
/// parts one after the other are read as one.
///
/// # Errors
/// Errors of the input; a format that this build cannot unpack. Damaged data is an error of a later
/// read.
///
/// ```
/// use hashroute_harness::{FileKind, unpack};
/// use std::io::Read;
///
/// let (mut input, kind) = unpack(&b"key,size\na,10\n"[..])?;
/// let mut text = String::new();
/// input.read_to_string(&mut text)?;
/// assert_eq!((text.as_str(), kind), ("key,size\na,10\n", Some(FileKind::Csv)));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn unpack<'a>(input: impl Read + 'a) -> io::Result<(Box<dyn BufRead + 'a>, Option<FileKind>)> {
    let mut input = BufReader::with_capacity(BUFFER, input);
    let kind = FileKind::of(input.fill_buf()?);
    let unpacked: Box<dyn Read + 'a> = match kind {
        Some(FileKind::Gzip) => gzip(input)?,
        Some(FileKind::Zstd) => zstd(input)?,
        _ => return Ok((Box::new(input), kind)),
    };
    let mut input = BufReader::with_capacity(BUFFER, unpacked);
    let kind = FileKind::of(input.fill_buf()?);
    Ok((Box::new(input), kind))
}

#[cfg(feature = "gzip")]
#[expect(clippy::unnecessary_wraps, reason = "fails in a build without gzip")]
fn gzip<'a>(input: impl BufRead + 'a) -> io::Result<Box<dyn Read + 'a>> {
    let input = flate2::bufread::MultiGzDecoder::new(input);
    Ok(Box::new(Named {
        input,
        name: "gzip",
    }))
}

#[cfg(not(feature = "gzip"))]
fn gzip<'a>(_: impl BufRead + 'a) -> io::Result<Box<dyn Read + 'a>> {
    Err(without("gzip"))
}

#[cfg(feature = "zstd")]
#[expect(clippy::unnecessary_wraps, reason = "fails in a build without zstd")]
fn zstd<'a>(input: impl BufRead + 'a) -> io::Result<Box<dyn Read + 'a>> {
    let input = frames::Frames::new(input);
    Ok(Box::new(Named {
        input,
        name: "zstd",
    }))
}

#[cfg(not(feature = "zstd"))]
fn zstd<'a>(_: impl BufRead + 'a) -> io::Result<Box<dyn Read + 'a>> {
    Err(without("zstd"))
}

#[cfg(not(all(feature = "gzip", feature = "zstd")))]
fn without(name: &str) -> io::Error {
    io::Error::other(format!(
        "packed by {name}: expected plain text, or a build with the feature {name}"
    ))
}

/// Names the format in errors: those of the unpackers speak of headers and streams.
#[cfg(any(feature = "gzip", feature = "zstd"))]
struct Named<R> {
    input: R,
    name: &'static str,
}

#[cfg(any(feature = "gzip", feature = "zstd"))]
impl<R: Read> Read for Named<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let name = self.name;
        self.input.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => error,
            io::ErrorKind::UnexpectedEof => {
                io::Error::other(format!("packed by {name}, and cut off: it ends too early"))
            }
            _ => io::Error::other(format!("packed by {name}, and damaged: {error}")),
        })
    }
}

#[cfg(feature = "zstd")]
mod frames {
    //! The frames of zstd one after the other, as `pzstd` and `cat` write them.

    use std::io::{self, BufRead, Read};

    use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
    use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

    /// Reads all frames as one. Frames that hold no data are skipped.
    pub(super) struct Frames<R> {
        input: R,
        decoder: FrameDecoder,
        /// Whether a frame has begun and not ended.
        open: bool,
    }

    impl<R: BufRead> Frames<R> {
        pub(super) fn new(input: R) -> Self {
            Self {
                input,
                decoder: FrameDecoder::new(),
                open: false,
            }
        }

        /// Opens the next frame, or skips it if it holds no data.
        fn open(&mut self) -> io::Result<()> {
            match self.decoder.init(&mut self.input) {
                Ok(()) => self.open = true,
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let mut data = (&mut self.input).take(length.into());
                    io::copy(&mut data, &mut io::sink())?;
                }
                Err(error) => return Err(io::Error::other(error)),
            }
            Ok(())
        }

        /// Ends the frame. A wrong checksum is an error: the decoder itself ignores it.
        fn close(&mut self) -> io::Result<()> {
            self.open = false;
            let [stored, found] = [
                self.decoder.get_checksum_from_data(),
                self.decoder.get_calculated_checksum(),
            ];
            if stored.is_some() && stored != found {
                return Err(io::Error::other("its checksum is another one"));
            }
            Ok(())
        }

        fn decode(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            while self.decoder.can_collect() < buffer.len() && !self.decoder.is_finished() {
                let missing = buffer.len() - self.decoder.can_collect();
                let more = BlockDecodingStrategy::UptoBytes(missing);
                let decoded = self.decoder.decode_blocks(&mut self.input, more);
                decoded.map_err(io::Error::other)?;
            }
            self.decoder.read(buffer)
        }
    }

    impl<R: BufRead> Read for Frames<R> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if buffer.is_empty() {
                return Ok(0);
            }
            loop {
                if self.open {
                    match self.decode(buffer)? {
                        0 => self.close()?,
                        count => return Ok(count),
                    }
                } else if self.input.fill_buf()?.is_empty() {
                    return Ok(0);
                } else {
                    self.open()?;
                }
            }
        }
    }
}
