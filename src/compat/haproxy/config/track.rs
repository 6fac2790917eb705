//! `track`: a server that follows the health of another one.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::Section;

/// Disables the servers that follow a disabled server, in the same section or in another one. Health
/// itself is not in the file.
pub(super) fn apply(sections: &mut [Section]) {
    let mut servers = BTreeMap::new();
    for section in &*sections {
        for server in &section.servers {
            let track = server.line.track.as_deref().map(|of| target(section, of));
            let key = (section.name.clone(), server.name.clone());
            servers.insert(key, (server.line.disabled, track));
        }
    }
    for section in sections {
        let name = section.name.clone();
        for server in &mut section.servers {
            server.line.disabled = is_disabled(&servers, (name.clone(), server.name.clone()));
        }
    }
}

type Key = (String, String);

fn target(section: &Section, of: &str) -> Key {
    let (section, server) = of.rsplit_once('/').unwrap_or((&section.name, of));
    (section.into(), server.into())
}

/// Follows a chain of servers to the first that is disabled.
fn is_disabled(servers: &BTreeMap<Key, (bool, Option<Key>)>, from: Key) -> bool {
    let mut seen = Vec::new();
    let mut key = from;
    while let Some((disabled, next)) = servers.get(&key) {
        if *disabled {
            return true;
        }
        let Some(next) = next else {
            return false;
        };
        if seen.contains(&key) {
            return false;
        }
        seen.push(core::mem::replace(&mut key, next.clone()));
    }
    false
}
