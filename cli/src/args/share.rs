//! Shares, as options take them.

/// Parses a share as a fraction or in percent: `0.05` or `5%`.
///
/// A percentage is read as its decimal, so that `22.7%` is exactly `0.227`: divided by 100, it
/// would be slightly less, and a figure that equals its limit would exceed it.
pub(crate) fn share(text: &str) -> Option<f64> {
    let Some(percent) = text.strip_suffix('%') else {
        return text.parse().ok();
    };
    let is_plain = percent.bytes().all(|c| c.is_ascii_digit() || c == b'.');
    if is_plain {
        format!("{percent}e-2").parse().ok()
    } else {
        percent.parse().ok().map(|percent: f64| percent / 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn a_percentage_is_its_decimal() {
        for tenths in 0..=1000_u32 {
            let percent = format!("{}.{}%", tenths / 10, tenths % 10);
            let decimal = format!("{}.{:03}", tenths / 1000, tenths % 1000);
            assert_eq!(share(&percent), share(&decimal), "{percent}");
        }
        assert_eq!(share("-5%"), Some(-0.05));
        assert_eq!([share("%"), share("a"), share("5%%")], [None; 3]);
    }
}
