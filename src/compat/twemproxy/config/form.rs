//! Faults in the form of twemproxy's file, in the words of the file. The parser of YAML would name
//! something else.

use alloc::format;
use alloc::string::String;

use super::{OTHERS, ROUTING};
use crate::Error;
use crate::compat::config::wrong;

/// Finds a missing pool name, a missing indentation or a missing blank.
pub(super) fn check(text: &str) -> Result<(), Error> {
    // The pool that the lines belong to, and whether it has options yet.
    let mut pool: Option<(usize, &str)> = None;
    for (line, full) in (1..).zip(text.lines()) {
        let content = full.trim_start();
        if content.is_empty() || content.starts_with('#') || content.starts_with("---") {
            continue;
        }
        let indent = &full[..full.len() - content.len()];
        if indent.contains('\t') {
            return Err(wrong(line, "a tab before the text: expected blanks"));
        }
        check_blanks(line, content)?;
        if let Some(option) = option(content) {
            match pool {
                None => {
                    let reason = format!(
                        "the pool has no name: expected a line such as `alpha:` before {option}, and \
                         all lines of the pool indented"
                    );
                    return Err(wrong(line, reason));
                }
                Some((first, name)) if indent.is_empty() => {
                    let reason = format!(
                        "{option} is not indented: expected blanks before it, since it belongs to \
                         pool {name:?} of line {first}"
                    );
                    return Err(wrong(line, reason));
                }
                Some(_) => {}
            }
        } else if indent.is_empty() && content.starts_with("- ") {
            let reason = "the list of servers is not indented: expected blanks before the -";
            return Err(wrong(line, reason));
        } else if indent.is_empty() {
            let name = content.split(':').next().unwrap_or_default().trim_end();
            pool = Some((line, name));
        }
    }
    Ok(())
}

/// Finds an option without a blank after its colon, and a server without a blank after its dash.
fn check_blanks(line: usize, content: &str) -> Result<(), Error> {
    let missing = |after: String| {
        let reason = format!("a blank is missing after {after:?}");
        Err(wrong(line, reason))
    };
    if let Some((word, rest)) = content.split_once(':') {
        if is_option(word) && !rest.is_empty() && !rest.starts_with([' ', '\t']) {
            return missing(format!("{word}:"));
        }
    }
    match content.strip_prefix('-') {
        Some(rest) if rest.contains(':') && !rest.starts_with([' ', '\t', '-']) => {
            missing("-".into())
        }
        _ => Ok(()),
    }
}

/// Returns the option that a line starts with.
fn option(content: &str) -> Option<&str> {
    let (word, _) = content.split_once(':')?;
    is_option(word).then_some(word)
}

fn is_option(word: &str) -> bool {
    ROUTING.contains(&word) || OTHERS.iter().any(|(name, _)| *name == word)
}
