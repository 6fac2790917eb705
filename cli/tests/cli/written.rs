//! The settings of another system that keep most keys, and configurations that are written.

use crate::two_files::{ABC, errors, twemproxy};
use crate::{directory, file, json, run, stdout};

/// Two clients of one kind of pool: PHP's memcached with `HASH_CRC` and modula, and twemproxy, which
/// sorts its servers by name (twitter/twemproxy #655).
#[test]
fn the_best_settings_of_another_system_are_found_and_written() {
    let nodes: Vec<_> = (0..21)
        .map(|i| format!("10.0.0.{}:6379", (i * 8) % 21 + 1))
        .collect();
    let from = format!(
        "--dialect libmemcached --set hash=CRC --nodes {}",
        nodes.join(",")
    );
    let path = directory().join("best.yml");
    let best = json(&format!(
        "diff {from} --to-dialect twemproxy --best --range 0..3000 --write-config {}",
        path.display()
    ));
    assert_eq!(best["settings"][0]["kept_share"], 1.0);
    let settings = best["settings"][0]["settings"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    assert!(
        settings.contains("hash=crc32 distribution=modula"),
        "{settings}"
    );
    assert!((best["chance_share"].as_f64().unwrap_or_default() - 1.0 / 21.0).abs() < 1e-12);
    let line = format!(
        "diff {from} --to-dialect twemproxy --to-config {} --range 0..5000",
        path.display()
    );
    assert_eq!(json(&line)["moved"], 0);
    let text = stdout(&format!(
        "diff {from} --to-dialect twemproxy --best --range 0..3000"
    ));
    assert!(
        text.starts_with("With these settings twemproxy keeps all of these keys"),
        "{text}"
    );
}

/// A ring of another kind shares nothing: what stays, stays by luck.
#[test]
fn no_setting_is_better_than_luck_between_two_rings() {
    let now = twemproxy("leave.yml", &ABC);
    let line = format!("diff --dialect twemproxy --config {now} --to-dialect haproxy --best");
    let best = json(&line);
    let kept = best["settings"][0]["kept_share"]
        .as_f64()
        .unwrap_or_default();
    let chance = best["chance_share"].as_f64().unwrap_or_default();
    let luck = best["settings"][0]["luck_share"]
        .as_f64()
        .unwrap_or_default();
    assert!((chance - 6.0 / 16.0).abs() < 1e-12, "{chance}");
    assert!((kept - luck).abs() < 0.02, "{kept} {luck}");
    assert_eq!(best["tried"], 16);
    let text = stdout(&line);
    assert!(
        text.starts_with("The best setting of haproxy that was tried keeps"),
        "{text}"
    );
}

#[test]
fn the_second_set_up_is_written_as_its_system_reads_it() {
    let line = "diff --dialect nginx --nodes 10.0.0.1:80,10.0.0.2:80 --add 10.0.0.3:80=2";
    let path = directory().join("written.conf");
    stdout(&format!("{line} --write-config {}", path.display()));
    let back = format!(
        "diff --dialect nginx --nodes 10.0.0.1:80,10.0.0.2:80,10.0.0.3:80=2 --to-config {}",
        path.display()
    );
    assert_eq!(json(&back)["equal"], true);
    let (code, told) = errors("diff --nodes a --add b --write-config -");
    assert_eq!(code, Some(2));
    assert!(told.contains("--write-config"), "{told}");
}

#[test]
fn a_configuration_is_never_written_onto_an_input() {
    let keys = file("written-keys.txt", "a\nb\n");
    let line = format!(
        "diff --dialect twemproxy --nodes a:1,b:1 --to-dialect haproxy --keys {0} --write-config {0}",
        keys.display()
    );
    let output = run(&line);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code() == Some(2) && told.contains("an input: expected another file"),
        "{told}"
    );
    assert_eq!(std::fs::read_to_string(&keys).expect("a file"), "a\nb\n");
}
