//! Configurations of real systems, known by sight, for messages about files that are none.

/// The words that a configuration of each dialect has, each at the start of some line.
const SIGHTS: [(&str, &[&str]); 8] = [
    ("twemproxy", &["listen:", "servers:"]),
    ("envoy", &["static_resources:"]),
    ("envoy", &["clusters:", "lb_policy:"]),
    ("nginx", &["upstream ", "server "]),
    ("haproxy", &["backend ", "server "]),
    ("haproxy", &["listen ", "balance "]),
    ("trafficserver", &["dest_domain=", "parent="]),
    ("varnish", &["vcl "]),
];

/// Returns the dialect whose configuration a text seems to be.
pub(super) fn dialect(text: &str) -> Option<&'static str> {
    let lines = || text.lines().map(str::trim_start);
    let has = |word: &&str| match word.strip_suffix('=') {
        // Fields of one line.
        Some(_) => lines().any(|line| line.contains(*word)),
        None => lines().any(|line| line.trim_start_matches("- ").starts_with(*word)),
    };
    let mut sights = SIGHTS.iter();
    let (dialect, _) = sights.find(|(_, words)| words.iter().all(has))?;
    Some(dialect)
}
