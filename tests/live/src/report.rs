//! Does a real browser show the pages of `hashroute report` as they are meant?
//!
//! Chromium loads each page from its file without a word on its console, where the page's own
//! policy refuses every request aloud. The figures that it then
//! holds are those that the commands print as JSON. Screenshots, light, dark and narrow, and a
//! print are made for people to look at, in the folder `HASHROUTE_SHOTS` where that is set. The
//! program is built from this repository, or is the one that `HASHROUTE_PROGRAM` names.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::random::Random;
use crate::tally::{Fallible, Outcome, Tally};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const BROWSER: &str = "chromium";
/// How long the browser may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);

/// A page: its name, its arguments, and the commands whose JSON it holds, each with its field.
struct Sample {
    name: &'static str,
    args: &'static [&'static str],
    skew: bool,
    parts: &'static [(&'static str, &'static str)],
}

const SAMPLES: &[Sample] = &[
    Sample {
        name: "compare",
        args: &["--count", "10", "--range", "0..20000"],
        skew: false,
        parts: &[("comparison", "compare")],
    },
    // Names and keys that would break out of a page that does not escape them.
    Sample {
        name: "hostile",
        args: &[
            "--strategy",
            "ring,jump",
            "--nodes",
            "<script>alert(1)</script>,a\"b=2,</script>&amp,--><svg/onload=x>=1",
            "--template",
            "</title><img src=x onerror=alert(1)>{i}",
            "--range",
            "0..3000",
        ],
        skew: false,
        parts: &[("comparison", "compare")],
    },
    Sample {
        name: "skew",
        args: &[
            "--count",
            "60",
            "--strategy",
            "modulo",
            "--hash",
            "twemproxy-fnv1a-64",
            "--template",
            "metric:demo:{i}",
            "--range",
            "0..1000",
        ],
        skew: true,
        parts: &[("skew", "skew"), ("balance", "balance")],
    },
];

/// What `compare` measures anew each time, and pages leave out.
const COSTS: [&str; 6] = [
    "route_ns",
    "batch_ns",
    "build_ns",
    "change_ns",
    "heap_bytes",
    "allocations_per_lookup",
];

pub(crate) fn check(_: &mut Random) -> Outcome {
    let mut tally = Tally::new("figures of pages in Chromium");
    let folder = tempfile::tempdir()?;
    let shots = env::var_os("HASHROUTE_SHOTS").map_or_else(|| folder.path().into(), PathBuf::from);
    fs::create_dir_all(&shots)?;
    broken_pages_are_noticed(folder.path())?;
    for sample in SAMPLES {
        let page = shots.join(format!("{}.html", sample.name));
        sample.write(&page)?;
        let dom = load(&page, folder.path())?;
        nothing_broke_out(&dom)?;
        sample.compare(&dom, &mut tally)?;
        photograph(&page, folder.path())?;
    }
    Ok(tally)
}

impl Sample {
    fn write(&self, page: &Path) -> Fallible<()> {
        let page = page.display().to_string();
        let mode: &[_] = if self.skew { &["--skew"] } else { &[] };
        let args = ["report", "--out", &page].into_iter();
        let args = args
            .chain(mode.iter().copied())
            .chain(self.args.iter().copied());
        hashroute(args).map(drop)
    }

    /// Each figure against what the command prints, and the JSON inside as a whole.
    fn compare(&self, dom: &str, tally: &mut Tally) -> Fallible<()> {
        let mut truth = Value::from_iter(Vec::<(String, Value)>::new());
        for (field, command) in self.parts {
            let args = [*command, "--format", "json"].into_iter();
            let json = hashroute(args.chain(self.args.iter().copied()))?;
            truth[*field] = without_costs(serde_json::from_slice(&json)?);
        }
        let inside = between(dom, "type=\"application/json\">", "</script>")?;
        let inside: Value = serde_json::from_str(inside)?;
        if without_costs(inside) != truth {
            return Err(format!("{}: the JSON in the page is another", self.name).into());
        }
        let figures = figures(dom)?;
        if figures.len() < 20 {
            return Err(format!("{}: only {} figures", self.name, figures.len()).into());
        }
        for figure in figures {
            let value = truth.pointer(&figure.field).map(Value::to_string);
            let value = value.unwrap_or_default();
            tally.compare(self.name, figure.field.as_bytes(), &figure.value, &value);
            if !figure.is_rounded() {
                return Err(format!("{} shows {} for {value}", figure.field, figure.shown).into());
            }
        }
        Ok(())
    }
}

fn without_costs(mut json: Value) -> Value {
    let rows = |json: &mut Value| {
        let rows = json.get_mut("rows").and_then(Value::as_array_mut);
        for row in rows.into_iter().flatten().filter_map(Value::as_object_mut) {
            row.retain(|field, _| !COSTS.contains(&field.as_str()));
        }
    };
    rows(&mut json);
    json.get_mut("comparison").map(rows);
    json
}

/// A figure as it stands in the page.
#[derive(Debug)]
struct Figure {
    field: String,
    value: String,
    shown: String,
}

fn figures(dom: &str) -> Fallible<Vec<Figure>> {
    let figure = |text: &str| {
        Ok(Figure {
            field: between(text, "data-field=\"", "\"")?.into(),
            value: between(text, "value=\"", "\"")?.into(),
            shown: between(text, "\">", "</data>")?.into(),
        })
    };
    dom.split("<data ").skip(1).map(figure).collect()
}

impl Figure {
    /// Whether what is shown is the value with fewer digits; what is shown in other ways is
    /// passed over.
    fn is_rounded(&self) -> bool {
        let (text, scale) = match self.shown.strip_suffix('%') {
            Some(percent) => (percent, 100.0),
            None => (self.shown.as_str(), 1.0),
        };
        let text = text.replace(',', "");
        let (Ok(shown), Ok(value)) = (text.parse::<f64>(), self.value.parse::<f64>()) else {
            return !self.shown.is_empty() && self.value.parse::<f64>().is_ok();
        };
        let decimals = text
            .split_once('.')
            .map_or(0, |(_, decimals)| decimals.len());
        let unit = (0..decimals).fold(1.0, |unit, _| unit / 10.0);
        (shown - value * scale).abs() <= unit * 0.501
    }
}

/// Names and keys made no element of their own.
fn nothing_broke_out(dom: &str) -> Fallible<()> {
    let scripts = dom.matches("<script").count();
    if scripts != 1 || dom.contains("<img") || dom.contains("<svg/onload") {
        return Err("a name or a key became a part of the page".into());
    }
    Ok(())
}

/// Pages with faults of each kind, or silence would prove nothing.
fn broken_pages_are_noticed(folder: &Path) -> Fallible<()> {
    for (kind, body) in [
        (
            "a script that fails",
            "<script>throw new Error('x')</script>",
        ),
        (
            "a request that the policy refuses",
            "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'\"><img src='http://127.0.0.1:9/x'>",
        ),
    ] {
        let page = folder.join("broken.html");
        fs::write(&page, format!("<!DOCTYPE html><title>x</title>{body}"))?;
        if load(&page, folder).is_ok() {
            return Err(format!("the browser is silent about {kind}").into());
        }
    }
    Ok(())
}

/// The page as the browser understood it. An error when it said anything on its console.
fn load(page: &Path, folder: &Path) -> Fallible<String> {
    let (dom, log) = browse(&["--dump-dom"], page, folder)?;
    let told: Vec<_> = log
        .lines()
        .filter(|line| line.contains("CONSOLE"))
        .collect();
    if !told.is_empty() {
        return Err(format!("{}: {}", page.display(), told.join("\n")).into());
    }
    if !dom.contains("content=\"default-src 'none'; style-src 'unsafe-inline'\"") {
        return Err(format!("{}: no page with its policy; {log}", page.display()).into());
    }
    Ok(dom)
}

/// Pictures of the page for people to look at; that they are there and not empty is all that is
/// checked.
fn photograph(page: &Path, folder: &Path) -> Fallible<()> {
    const LIGHT: &str = "--blink-settings=preferredColorScheme=1";
    const DARK: &str = "--blink-settings=preferredColorScheme=0";
    for (name, size, scheme) in [
        ("light", "1200,4000", LIGHT),
        ("dark", "1200,4000", DARK),
        ("narrow", "400,4000", LIGHT),
    ] {
        let file = page.with_extension(format!("{name}.png"));
        let size = format!("--window-size={size}");
        let shot = format!("--screenshot={}", file.display());
        browse(&[&shot, &size, scheme, "--hide-scrollbars"], page, folder)?;
        made(&file)?;
    }
    let file = page.with_extension("pdf");
    let print = format!("--print-to-pdf={}", file.display());
    browse(&[&print, "--no-pdf-header-footer"], page, folder)?;
    made(&file)
}

fn made(file: &Path) -> Fallible<()> {
    if fs::metadata(file).is_ok_and(|file| file.len() > 10_000) {
        return Ok(());
    }
    Err(format!("{}: not made, or empty", file.display()).into())
}

/// What the browser writes to its outputs.
fn browse(args: &[&str], page: &Path, folder: &Path) -> Fallible<(String, String)> {
    let profile = tempfile::tempdir_in(folder)?;
    let [out, err] = ["out", "err"].map(|name| profile.path().join(name));
    let mut browser = Command::new(BROWSER)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
        ])
        .args(["--no-first-run", "--disable-background-networking"])
        .args(["--disable-component-update", "--disable-sync"])
        // What it would ask for on its own account.
        .arg("--host-resolver-rules=MAP * ~NOTFOUND")
        .args(["--enable-logging=stderr", "--v=0"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(args)
        .arg(format!("file://{}", fs::canonicalize(page)?.display()))
        .stdin(Stdio::null())
        .stdout(File::create(&out)?)
        .stderr(File::create(&err)?)
        .spawn()?;
    let start = Instant::now();
    while browser.try_wait()?.is_none() {
        if start.elapsed() > PATIENCE {
            drop(browser.kill());
            drop(browser.wait());
            return Err(format!("{BROWSER} does not end: {args:?}").into());
        }
        sleep(Duration::from_millis(50));
    }
    Ok((
        fs::read_to_string(out)?,
        String::from_utf8_lossy(&fs::read(err)?).into_owned(),
    ))
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Fallible<&'a str> {
    let found = text
        .split_once(start)
        .and_then(|(_, rest)| rest.split_once(end));
    let (found, _) = found.ok_or_else(|| format!("no {start:?} before {end:?} in the page"))?;
    Ok(found)
}

pub(crate) fn hashroute<'a>(args: impl Iterator<Item = &'a str>) -> Fallible<Vec<u8>> {
    let mut command = match env::var_os("HASHROUTE_PROGRAM") {
        Some(program) => Command::new(program),
        None => {
            let mut cargo = Command::new("cargo");
            cargo.args(["run", "--quiet", "--"]);
            cargo
        }
    };
    let output = command.args(args).current_dir(ROOT).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    Ok(output.stdout)
}
