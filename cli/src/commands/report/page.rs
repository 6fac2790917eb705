//! An HTML page in one file: it includes its style, runs no script and loads nothing.

use hashroute_harness::plot::Picture;
use hashroute_harness::text::{is_unsafe, json_escaped, printable};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::Value;

use crate::app::shell::Shell;
use crate::failure::Failure;
use crate::output::MadeUp;

/// Forbids loading and running anything, whatever a name on the page contains.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// Says what nobody gave, at the start of a page.
pub(super) fn made_up(made_up: &MadeUp) -> impl Iterator<Item = String> {
    let lines = made_up.lines().into_iter();
    lines.map(|line| line.replacen("no", "No", 1) + ".")
}

/// A part of the page with its own heading.
pub(super) struct Section {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) body: Markup,
}

/// A page: its texts, its sections, its figures as JSON.
pub(super) struct Page<'a> {
    pub(super) title: String,
    /// Lines that say what was measured.
    pub(super) lead: Vec<String>,
    pub(super) sections: Vec<Section>,
    pub(super) json: &'a Value,
    /// The command that writes this page.
    pub(super) shell: Shell,
}

impl Page<'_> {
    /// Writes the page as HTML.
    pub(super) fn html(&self) -> Result<String, Failure> {
        let title = printable(&self.title);
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(POLICY);
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (title) " – hashroute" }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    a.skip href="#content" { "Skip to the content" }
                    header {
                        h1 { (title) }
                        @for line in &self.lead { p { (printable(line)) } }
                    }
                    (self.contents())
                    main #content tabindex="-1" {
                        p.narrow { "Tables and pictures that are wider than this window scroll sideways." }
                        @for part in &self.sections {
                            section aria-labelledby=(part.id) { h2 #(part.id) { (part.title) } (part.body) }
                        }
                    }
                    footer {
                        p { "Made by hashroute " (env!("CARGO_PKG_VERSION")) ". Write this page again:" }
                        (command(&self.shell))
                        p { "The page contains all figures as JSON, in the element " code { "hashroute-result" } "." }
                    }
                    script #hashroute-result type="application/json" { (PreEscaped(embedded(self.json)?)) }
                }
            }
        };
        Ok(visible(&page.into_string()) + "\n")
    }

    fn contents(&self) -> Markup {
        html! {
            nav aria-label="Contents" {
                ul { @for part in &self.sections { li { a href={ "#" (part.id) } { (part.title) } } } }
            }
        }
    }
}

/// Returns JSON without `<`, which could end the element early. JSON has `<` only in strings, where
/// an escape means the same.
fn embedded(json: &Value) -> Result<String, Failure> {
    let json = serde_json::to_string(json)?;
    Ok(json_escaped(&json).replace('<', "\\u003c"))
}

/// Returns a page in which every character can be seen: a name in a picture or an attribute could
/// turn the text around it.
fn visible(page: &str) -> String {
    let mut text = String::with_capacity(page.len());
    for c in page.chars() {
        if is_unsafe(c) && c != '\n' {
            text.extend(c.escape_default());
        } else {
            text.push(c);
        }
    }
    text
}

/// Shows a command.
pub(super) fn command(shell: &Shell) -> Markup {
    html! { p.command { code { (printable(&shell.to_string())) } } }
}

/// Shows a picture with the command that draws it.
pub(super) fn figure(picture: &Picture, shell: &Shell) -> Markup {
    html! {
        figure {
            div.scroll tabindex="0" role="group" aria-label=(picture.title()) { (PreEscaped(picture.svg())) }
            figcaption { (command(shell)) }
        }
    }
}

const STYLE: &str = "\
:root{color-scheme:light dark;--paper:#fff;--ink:#1b1d21;--soft:#555b66;--line:#d3d7de;--tint:#f3f5f8;--link:#0b5cad;--shade:#0006}
@media (prefers-color-scheme:dark){:root{--paper:#16181d;--ink:#e6e6e6;--soft:#a9b0bb;--line:#3a3f49;--tint:#20242b;--link:#7cc0ff;--shade:#fff8}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1rem;max-width:72rem;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,'DejaVu Sans',Verdana,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.7rem;line-height:1.25;margin:.5rem 0}
h2{font-size:1.35rem;margin:2.5rem 0 .75rem;padding-top:.75rem;border-top:1px solid var(--line)}
h3{font-size:1.1rem;margin:2rem 0 .5rem}
p,li{max-width:46rem}
p{margin:.5rem 0}
header p,caption,footer{color:var(--soft)}
a{color:var(--link)}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
.skip{position:absolute;left:-100vw}
.skip:focus{left:1rem;top:.5rem;padding:.5rem 1rem;background:var(--paper);z-index:1}
nav ul{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;margin:1rem 0;padding:0;list-style:none}
main:focus{outline:none}
.verdict{padding:.75rem 1.25rem;background:var(--tint);border-left:4px solid var(--link);border-radius:4px}
.verdict p:first-child{font-size:1.1rem;font-weight:600}
.narrow{display:none;color:var(--soft)}
.scroll{overflow-x:auto;margin:.75rem 0;\
background:linear-gradient(to right,var(--paper) 30%,transparent) left/40px 100% no-repeat local,\
linear-gradient(to left,var(--paper) 30%,transparent) right/40px 100% no-repeat local,\
linear-gradient(to right,var(--shade),transparent) left/14px 100% no-repeat scroll,\
linear-gradient(to left,var(--shade),transparent) right/14px 100% no-repeat scroll}
table{border-collapse:collapse;font-size:.92rem;overflow-wrap:normal}
caption{text-align:left;padding:.25rem 0}
th,td{padding:.3rem .75rem;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
th:first-child{padding-left:0}
tbody th{font-weight:600}
thead th{vertical-align:bottom;border-bottom:2px solid var(--line)}
.number{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
thead .number{white-space:normal}
figure{margin:1rem 0}
figure .scroll{border:1px solid var(--line);border-radius:4px}
svg{display:block;max-width:100%;height:auto;min-width:46rem}
.command,nav li{max-width:none}
code{font:.85rem/1.5 ui-monospace,'DejaVu Sans Mono',monospace;padding:.15rem .4rem;background:var(--tint);border-radius:3px;white-space:pre-wrap}
details{margin:.75rem 0}
summary{cursor:pointer}
footer{margin-top:3rem;border-top:1px solid var(--line)}
.pair{display:flex;flex-wrap:wrap;gap:0 3rem}
.pair>*{min-width:0;max-width:100%}
@media (max-width:50rem){.narrow{display:block}}
@media (min-width:84rem){body{max-width:92rem;display:grid;grid-template-columns:12rem minmax(0,1fr);column-gap:2.5rem}
header,footer{grid-column:2}nav{grid-column:1;grid-row:1/span 2;align-self:start;position:sticky;top:1rem}
nav ul{display:block}nav li{margin:.4rem 0}main{grid-column:2}}
@media (max-width:40rem){td:last-child:not(.number){min-width:14rem}}
@media print{:root{--paper:#fff;--ink:#000;--soft:#444;--line:#bbb;--tint:#f3f3f3;--link:#000}
body{display:block;max-width:none;padding:0;font-size:10pt}nav,.skip,.narrow{display:none}
.scroll{overflow:visible;background:none}svg{min-width:0}details:not([open]){display:none}table{font-size:8.5pt}th,td{padding:.2rem .4rem}
h2,h3,h3+p,summary{break-after:avoid}figure,tr,.verdict{break-inside:avoid}thead{display:table-header-group}}
";
