//! twemproxy: ketama and modula with every hash, names, weights, hash tags, keys of any bytes.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write;

use hashroute::compat;

use crate::process::{Running, free_port};
use crate::random::Random;
use crate::resp::{self, Client};
use crate::tally::{Fallible, Outcome, Tally, owner};

const HASHES: [&str; 12] = [
    "one_at_a_time",
    "md5",
    "crc16",
    "crc32",
    "crc32a",
    "fnv1_64",
    "fnv1a_64",
    "fnv1_32",
    "fnv1a_32",
    "hsieh",
    "murmur",
    "jenkins",
];
const KEYS: usize = 300;

/// The port of a pool and the addresses of its servers by name.
type Pools = BTreeMap<String, (u16, BTreeMap<String, String>)>;

pub(crate) fn check(random: &mut Random) -> Outcome {
    let backends = resp::backends(12)?;
    let folder = tempfile::tempdir()?;
    let (text, pools) = configuration(random, &backends)?;
    let file = folder.path().join("nutcracker.yml");
    std::fs::write(&file, &text)?;
    let stats = free_port()?.to_string();
    let args = [
        "-c".as_ref(),
        file.as_os_str(),
        "-s".as_ref(),
        stats.as_ref(),
        OsStr::new("-a"),
        "127.0.0.1".as_ref(),
    ];
    let last = pools.values().last().ok_or("no pools")?.0;
    let _server = Running::start("nutcracker", args, &folder.path().join("log"), last)?;
    let mut tally = Tally::new(format!("{} pools", pools.len()));
    for config in compat::find("twemproxy")?.read(&text)? {
        assert!(config.unknown().is_empty(), "{:?}", config.unknown());
        let (pool, (port, addresses)) = (config.build()?, &pools[config.name()]);
        let mut client = Client::new(*port)?;
        for _ in 0..KEYS {
            let key = key(random);
            let theirs = client.get(&key)?;
            let ours = owner(&pool, &key);
            let ours = addresses.get(ours).map_or(ours, String::as_str);
            tally.compare(config.name(), &key, &theirs, ours);
        }
    }
    Ok(tally)
}

/// Returns random bytes; a third of the keys has braces.
fn key(random: &mut Random) -> Vec<u8> {
    if random.below(3) > 0 {
        return random.bytes(0..60);
    }
    let parts = [random.bytes(0..5), random.bytes(0..9), random.bytes(0..5)];
    let mut key = parts.join(random.pick(b"{}"));
    key.insert(random.below(key.len() + 1), b'{');
    key.extend(*random.pick(&[&b""[..], b"}", b"{a}"]));
    key
}

fn configuration(random: &mut Random, backends: &[String]) -> Fallible<(String, Pools)> {
    let (mut text, mut pools) = (String::new(), Pools::new());
    for (i, hash) in HASHES.iter().cycle().take(2 * HASHES.len()).enumerate() {
        let distribution = if i < HASHES.len() { "ketama" } else { "modula" };
        let (name, port) = (format!("pool{i:02}"), free_port()?);
        _ = writeln!(
            text,
            "{name}:\n  listen: 127.0.0.1:{port}\n  hash: {hash}\n  distribution: {distribution}\n  redis: true\n  \
             auto_eject_hosts: false"
        );
        if random.below(2) == 0 {
            text.push_str("  hash_tag: \"{}\"\n");
        }
        text.push_str("  servers:\n");
        let (count, named) = (1 + random.below(backends.len()), random.below(2) == 0);
        let mut addresses = BTreeMap::new();
        for (at, address) in backends.iter().take(count).enumerate() {
            _ = write!(text, "   - {address}:{}", 1 + random.below(9));
            if named {
                let name = format!("{}{at}", random.text(1..9));
                _ = write!(text, " {name}");
                addresses.insert(name, address.clone());
            }
            text.push('\n');
        }
        pools.insert(name, (port, addresses));
    }
    Ok((text, pools))
}
