//! The pages of `docs` are in the documentation, and the links between them lead somewhere.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

type Outcome = Result<(), Box<dyn core::error::Error>>;

/// A guide: the address of its package's documentation and the package's folder.
const GUIDES: [(&str, &str); 2] = [
    ("docs.rs/hashroute/latest/hashroute", ""),
    (
        "docs.rs/hashroute-harness/latest/hashroute_harness",
        "harness",
    ),
];

/// The pages that stand in no folder `docs`.
const ALONE: [&str; 4] = [
    "README.md",
    "SECURITY.md",
    "harness/README.md",
    "cli/README.md",
];

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The Markdown files in a folder.
fn pages(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn core::error::Error>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(pages(&path)?);
        } else if path.extension().is_some_and(|end| end == "md") {
            found.push(path);
        }
    }
    Ok(found)
}

/// The modules of a guide, with `dialects/` before those inside it.
fn modules(package: &str) -> Result<BTreeSet<String>, Box<dyn core::error::Error>> {
    let text = fs::read_to_string(root().join(package).join("src/guide.rs"))?;
    let names = text.lines().filter_map(|line| {
        let inside = line.starts_with(' ');
        let name = line.trim().strip_prefix("pub mod ")?;
        let name = name.trim_end_matches([' ', '{', '}']);
        Some(if inside {
            format!("dialects/{name}")
        } else {
            name.to_owned()
        })
    });
    Ok(names.collect())
}

#[test]
fn every_page_is_a_module_of_its_guide() -> Outcome {
    for (_, package) in GUIDES {
        let guide = fs::read_to_string(root().join(package).join("src/guide.rs"))?;
        let folder = root().join(package).join("docs");
        let found = pages(&folder)?;
        assert!(found.len() >= 4, "{}: no pages", folder.display());
        for page in found {
            let inside = page.strip_prefix(root().join(package))?.display();
            let line = format!("include_str!(\"../{inside}\")");
            assert!(guide.contains(&line), "no module has {}", page.display());
        }
    }
    Ok(())
}

#[test]
fn links_to_a_guide_lead_to_a_page() -> Outcome {
    let mut texts = pages(&root().join("docs"))?;
    texts.extend(pages(&root().join("harness/docs"))?);
    texts.extend(ALONE.map(|name| root().join(name)));
    let mut followed = 0;
    for (address, package) in GUIDES {
        let known = modules(package)?;
        let start = format!("{address}/guide/");
        for path in &texts {
            let text = fs::read_to_string(path)?;
            for (at, _) in text.match_indices(&start) {
                let rest = &text[at + start.len()..];
                let page = rest.split([')', '#', '>']).next().unwrap_or_default();
                let page = page.trim_end_matches('/');
                let found = page.is_empty() || known.contains(page);
                assert!(found, "{}: no page {page:?} in {start}", path.display());
                followed += 1;
            }
        }
    }
    assert!(followed > 10, "{followed} links");
    Ok(())
}

/// A relative link is dead on a registry's page and in the documentation.
#[test]
fn pages_link_to_no_file() -> Outcome {
    let mut texts = pages(&root().join("docs"))?;
    texts.extend(pages(&root().join("harness/docs"))?);
    texts.extend(ALONE.map(|name| root().join(name)));
    for path in texts {
        let text = fs::read_to_string(&path)?;
        for (at, _) in text.match_indices("](") {
            let target = text[at + 2..].split(')').next().unwrap_or_default();
            let leads = target.starts_with("https://") || target.starts_with('#');
            assert!(leads, "{}: {target}", path.display());
        }
    }
    Ok(())
}
