//! The hash functions of twemproxy and libmemcached, column by column.

use hashroute::compat::hashkit::{Char, Function};
use serde_json::Value;

use crate::{Fallible, bytes, groups, some};

/// Compares rows of a key and one value for each column; `function` computes the value.
pub(crate) fn columns(
    group: &Value,
    columns: &[Value],
    function: impl Fn(&str, &[u8]) -> Fallible<u32>,
) -> Fallible<usize> {
    let rows = some(group, "vectors")?;
    for row in rows {
        let key = bytes(&row[0])?;
        let cells = row[1].as_array().ok_or("no values")?;
        if cells.len() != columns.len() {
            return Err(format!("{} values in {row}", cells.len()).into());
        }
        for (column, cell) in columns.iter().zip(cells) {
            let column = column.as_str().ok_or("no name of a column")?;
            let expected = u32::from_str_radix(cell.as_str().ok_or("no value")?, 16)?;
            let ours = function(column, &key)?;
            if ours != expected {
                return Err(format!("{column} of {}: {ours:08x}, not {cell}", row[0]).into());
            }
        }
    }
    Ok(rows.len())
}

pub(crate) fn twemproxy(file: &Value) -> Fallible<usize> {
    let names = some(file, "result_columns")?;
    groups(file, &["variant"])?
        .iter()
        .try_fold(0, |sum, group| {
            let char: Char = match group["variant"].as_str() {
                Some("signed_char") => Char::Signed,
                Some("unsigned_char") => Char::Unsigned,
                other => return Err(format!("an unknown variant: {other:?}").into()),
            };
            let function =
                |name: &str, key: &[u8]| Ok(Function::of_twemproxy(name)?.value(key, char));
            Ok(sum + columns(group, names, function)?)
        })
}
