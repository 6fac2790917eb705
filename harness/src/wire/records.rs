//! Summaries of keys as they stand in a partial file.

use serde::{Deserialize, Serialize};

use crate::keys::bytes_of_hex;
use crate::summary::{Amounts, Census, IdSecret, MEASURES, MOST, ROWS, Rows, Sketch, WIDTH};
use hashroute::{Node, Nodes};

/// The record of a census.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CensusRecord {
    /// The secret of the ids. Parts with different secrets cannot be merged.
    ids: String,
    /// The rows, in order of their ids.
    rows: Vec<RowRecord>,
    sketch: Option<SketchRecord>,
}

/// The record of a sketch.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SketchRecord {
    cells: [Vec<u64>; MEASURES],
    candidates: Vec<KeyRecord>,
}

/// The record of a row: a key, and its amounts without trailing zeros.
#[derive(Serialize, Deserialize)]
struct RowRecord(KeyRecord, Vec<u64>);

/// The record of a key, as in JSON lines of keys: text, or the bytes in hexadecimal if they are not
/// UTF-8.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum KeyRecord {
    Text(String),
    Bytes { hex: String },
}

impl KeyRecord {
    fn of(key: &[u8]) -> Self {
        if let Ok(text) = core::str::from_utf8(key) {
            return Self::Text(text.into());
        }
        let digit = |digit: u8| char::from_digit(digit.into(), 16).unwrap_or('0');
        let digits = key.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        Self::Bytes {
            hex: digits.map(digit).collect(),
        }
    }

    fn read(self) -> Result<Box<[u8]>, String> {
        match self {
            Self::Text(text) => Ok(text.into_bytes().into()),
            Self::Bytes { hex } => bytes_of_hex(&hex)
                .map(Into::into)
                .ok_or_else(|| format!("hex {hex:?}: expected two digits for each byte")),
        }
    }
}

impl RowRecord {
    fn of(key: &[u8], amounts: Amounts) -> Self {
        let last = amounts.iter().rposition(|&amount| amount > 0);
        let some = last.map_or(0, |last| last + 1);
        Self(KeyRecord::of(key), amounts[..some].to_vec())
    }

    fn read(self) -> Result<(Box<[u8]>, Amounts), String> {
        let Self(key, some) = self;
        let mut amounts = [0; MEASURES];
        let Some(known) = amounts.get_mut(..some.len()) else {
            return Err(format!(
                "{} amounts of a key: expected up to three, keys, bytes and requests",
                some.len()
            ));
        };
        known.copy_from_slice(&some);
        Ok((key.read()?, amounts))
    }
}

impl CensusRecord {
    pub(super) fn of(census: &Census) -> Self {
        let rows = census.in_order().into_iter();
        Self {
            ids: census.secret().to_string(),
            rows: rows
                .map(|(key, amounts)| RowRecord::of(key, amounts))
                .collect(),
            sketch: census.sketch.as_deref().map(SketchRecord::of),
        }
    }

    /// Reads a census. `held` is the sum that all keys carry together; the rows or the sketch must
    /// add up to it.
    pub(super) fn read(self, capacity: usize, held: &[u128; MEASURES]) -> Result<Census, String> {
        let count = self.rows.len();
        if count > capacity {
            return Err(format!("{count} rows of keys: expected at most {capacity}"));
        }
        let secret: IdSecret = self.ids.parse()?;
        let mut sums = [0; MEASURES];
        let mut rows = Rows::default();
        for row in self.rows {
            let (key, amounts) = row.read()?;
            add(&mut sums, amounts);
            rows.add(secret.id(&key), &key, &amounts);
        }
        let sketch = self.sketch.map(|sketch| sketch.read(secret)).transpose()?;
        let sums = sketch
            .as_ref()
            .map_or(sums, |sketch| sketch.totals.map(u128::from));
        // Sums that overflow stay at their maximum on both sides.
        let most = u128::from(u64::MAX);
        if sums.map(|sum| sum.min(most)) != held.map(|sum| sum.min(most)) {
            return Err("the sums over the keys differ from the sums over the nodes".into());
        }
        if rows.len() < count {
            return Err("a key occurs twice: expected each key once".into());
        }
        Ok(Census::from_parts(capacity, secret, rows, sketch))
    }
}

impl SketchRecord {
    fn of(sketch: &Sketch) -> Self {
        let mut candidates: Vec<_> = sketch.candidates.iter().collect();
        candidates.sort_unstable_by_key(|(id, _)| **id);
        let keys = candidates.into_iter().map(|(_, key)| KeyRecord::of(key));
        Self {
            cells: sketch.cells.clone(),
            candidates: keys.collect(),
        }
    }

    fn read(self, secret: IdSecret) -> Result<Sketch, String> {
        let mut sketch = Sketch::new();
        for (measure, cells) in self.cells.into_iter().enumerate() {
            if !cells.is_empty() && cells.len() != ROWS * WIDTH {
                return Err(format!(
                    "{} cells: expected {} or none",
                    cells.len(),
                    ROWS * WIDTH
                ));
            }
            let mut sums = cells
                .chunks(WIDTH)
                .map(|row| row.iter().copied().fold(0, u64::saturating_add));
            sketch.totals[measure] = sums.next().unwrap_or(0);
            if sums.any(|sum| sum != sketch.totals[measure]) {
                return Err("the rows of cells have different sums: expected equal ones".into());
            }
            sketch.cells[measure] = cells;
        }
        if self.candidates.len() > MOST {
            return Err(format!(
                "{} candidates: expected at most {MOST}",
                self.candidates.len()
            ));
        }
        for key in self.candidates {
            let key = key.read()?;
            sketch.keep(secret.id(&key), &key);
        }
        Ok(sketch)
    }
}

fn add(sums: &mut [u128; MEASURES], amounts: Amounts) {
    for (sum, amount) in sums.iter_mut().zip(amounts) {
        *sum += u128::from(amount);
    }
}

/// Refuses nodes that are out of order, and lists that do not have one value for each node.
pub(super) fn check_nodes(
    nodes: &[Node],
    mut lists: impl Iterator<Item = usize>,
) -> Result<(), String> {
    let sorted = nodes.windows(2).all(|pair| pair[0].name() < pair[1].name());
    if !sorted || Nodes::new(nodes.iter().cloned()).is_err() {
        return Err("the nodes are not in order: expected distinct names, sorted".into());
    }
    if lists.any(|len| len != nodes.len()) {
        let count = nodes.len();
        return Err(format!(
            "not every list has a figure for each of {count} nodes"
        ));
    }
    Ok(())
}
