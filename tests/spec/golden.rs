//! Every later version reads these files as the same routers and writes the same bytes.
//!
//! Each file is the output of `hashroute spec write` of the version that introduced its strategy or
//! dialect. To add one, write its output to `tests/data/spec`, run this test, and replace `PINNED`
//! by the table that the failure prints.

use std::fs;
use std::path::{Path, PathBuf};

use hashroute::strategy::ALL;
use hashroute::{Router, Spec};

use crate::read;
use hashroute_test_support::Outcome;

/// File, fingerprint, and a digest of the owners of 2,000 keys.
#[rustfmt::skip]
const PINNED: &[(&str, u64, u64)] = &[
    ("bounded.toml", 0x849b_bfc4_283d_8d81, 0x69ed_4f68_1c82_4d0b),
    ("capped.toml", 0x066c_a88c_514d_d624, 0xf3be_1714_6b85_cc11),
    ("jump.toml", 0xa861_9637_78ff_bcad, 0x17c6_400a_3673_8e4e),
    ("keyed.json", 0x5847_d6da_3b4d_185f, 0x8170_d334_7d37_03ef),
    ("maglev.toml", 0xc723_fbcc_1c6b_b2f6, 0xfc39_1db5_32d0_93d6),
    ("modulo.toml", 0x4095_133e_1ab9_c3be, 0x994c_4394_a3a1_f891),
    ("nginx.json", 0x0ec2_503d_e721_3a92, 0x0987_319a_a7b6_e84d),
    ("rendezvous.toml", 0x331f_7cdc_7c0b_62d9, 0x0570_6115_7442_7217),
    ("ring.toml", 0x460b_abc4_ae79_0c46, 0x69ed_4f68_1c82_4d0b),
    ("shortlist.toml", 0x7e9f_d8a3_d7ac_d001, 0x5b4f_0758_34b3_0f53),
    ("slots.toml", 0x6c26_50fe_9e19_0047, 0xf6e3_81bf_bc1f_cf3a),
    ("tutorial.json", 0x4282_afcf_08fb_58bc, 0x2dd7_8a7c_57c8_cef8),
    ("twemproxy.toml", 0x1fc4_914a_0489_0fee, 0x297a_161c_dabd_1ca6),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/spec")
}

/// Returns FNV-1a of 64 bits, written here so that the digest does not depend on what it pins.
fn digest(router: &dyn Router) -> u64 {
    let mut digest = 0xcbf2_9ce4_8422_2325;
    for i in 0..2000 {
        let owner = router.route(format!("user:{i}").as_bytes());
        let name = owner.map_or("-", |node| node.name());
        for byte in name.bytes().chain([b'\n']) {
            digest = (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    digest
}

#[test]
fn recorded_files_are_read_and_written_the_same() -> Outcome {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder())? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.ok_or("a file without a name")?.to_owned();
        let text = fs::read_to_string(&path)?;
        let spec = read(&text);
        let written = if text.starts_with('{') {
            spec.to_json() + "\n"
        } else {
            spec.to_toml()
        };
        assert_eq!(written, text, "{name}");
        found.push((name, spec.fingerprint(), digest(&*spec.build()?)));
    }
    found.sort();
    let row = |(name, print, digest): &(String, u64, u64)| {
        let [print, digest] = [print, digest].map(|hash| {
            let hex = format!("{hash:016x}");
            format!(
                "0x{}_{}_{}_{}",
                &hex[..4],
                &hex[4..8],
                &hex[8..12],
                &hex[12..]
            )
        });
        format!("    ({name:?}, {print}, {digest}),\n")
    };
    let table: String = found.iter().map(row).collect();
    let pinned = PINNED
        .iter()
        .map(|&(name, print, digest)| (name.to_owned(), print, digest));
    assert!(
        pinned.eq(found),
        "the values have changed; they are now\n{table}"
    );
    Ok(())
}

#[test]
fn every_strategy_has_a_recorded_file() {
    for strategy in ALL {
        let path = folder().join(format!("{}.toml", strategy.name));
        assert!(path.exists(), "{}", path.display());
    }
}

/// The canonical form is JSON with its fields in one order; the fingerprint is its hash.
#[test]
fn the_canonical_bytes_are_as_documented() -> Outcome {
    let spec: Spec = fs::read_to_string(folder().join("ring.toml"))?.parse()?;
    let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/spec.md"))?;
    assert!(text.contains(&spec.canonical()), "{}", spec.canonical());
    assert!(text.contains(&format!("{:016x}", spec.fingerprint())));
    Ok(())
}
