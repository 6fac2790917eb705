//! Outputs of `redis-cli` and memcached, known by their first lines.

use super::format::DumpFormat;

/// The number of lines that are looked at.
const LINES: usize = 24;

impl DumpFormat {
    /// Returns the format of an output by its first lines; `None` if these may as well be keys. The
    /// outputs of `--bigkeys` and `--memkeys` begin alike; the answer is then
    /// [`BigKeys`](Self::BigKeys).
    ///
    /// ```
    /// use hashroute_harness::DumpFormat;
    ///
    /// let start = b"# Scanning the entire keyspace to find hot keys as well as\n";
    /// assert_eq!(DumpFormat::of_start(start), Some(DumpFormat::HotKeys));
    /// assert_eq!(DumpFormat::of_start(b"user:1\nuser:2\n"), None);
    /// ```
    pub fn of_start(start: &[u8]) -> Option<Self> {
        let lines = start.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        let lines = lines.filter(|line| !line.is_empty()).take(LINES);
        lines.map(of_line).find(Option::is_some).flatten()
    }
}

fn of_line(line: &[u8]) -> Option<DumpFormat> {
    let has = |text: &str| memchr::memmem::find(line, text.as_bytes()).is_some();
    let starts = |text: &str| line.starts_with(text.as_bytes());
    if has(" to find hot keys") || starts("hot key found with counter: ") || has("] Hot key ") {
        Some(DumpFormat::HotKeys)
    } else if has(" to find biggest keys") || has("] Biggest ") || is_biggest(line) {
        Some(DumpFormat::BigKeys)
    } else if starts("--- Top ") && line.ends_with(b" key sizes ---") {
        Some(DumpFormat::KeyStats)
    } else if starts("key=") && has(" exp=") && has(" size=") {
        Some(DumpFormat::Metadump)
    } else if starts("1) \"") {
        Some(DumpFormat::Scan)
    } else {
        None
    }
}

fn is_biggest(line: &[u8]) -> bool {
    line.starts_with(b"Biggest ") && memchr::memmem::find(line, b" found ").is_some()
}
