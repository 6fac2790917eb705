//! libmemcached: configuration strings with every hash and distribution.

use std::ffi::{CStr, c_char, c_void};
use std::fmt::Write;

use hashroute::compat;
use libloading::{Library, Symbol};

use crate::random::Random;
use crate::tally::{Fallible, Outcome, Tally, owner};

pub(crate) const LIBRARY: &str = "libmemcached.so.11";

const POOLS: usize = 60;
const KEYS: usize = 300;

pub(crate) fn check(random: &mut Random) -> Outcome {
    // SAFETY: libmemcached has no initialisers that rely on anything.
    let library = unsafe { Library::new(LIBRARY)? };
    let mut tally = Tally::new(format!("{POOLS} configuration strings"));
    for i in 0..POOLS {
        let text = configuration(random);
        let theirs = Theirs::new(&library, &text)?;
        let configs = compat::find("libmemcached")?.read(&text)?;
        let config = configs.first().ok_or("no pool")?;
        assert!(config.unknown().is_empty(), "{:?}", config.unknown());
        let pool = config.build()?;
        for _ in 0..KEYS {
            let key = random.bytes(1..60);
            tally.compare(
                &format!("{i}: {text}"),
                &key,
                &theirs.route(&key)?,
                owner(&pool, &key),
            );
        }
    }
    Ok(tally)
}

fn configuration(random: &mut Random) -> String {
    let mut text = String::new();
    let weighted = random.below(2) == 0;
    for at in 0..1 + random.below(12) {
        let port = if random.below(2) == 0 {
            11211
        } else {
            11300 + at
        };
        _ = write!(text, "--SERVER=10.0.{}.{at}:{port}", random.below(200));
        if weighted {
            _ = write!(text, "/?{}", 1 + random.below(9));
        }
        text.push(' ');
    }
    let hash = random.pick(&[
        "MD5", "CRC", "FNV1_64", "FNV1A_64", "FNV1_32", "FNV1A_32", "JENKINS", "MURMUR",
    ]);
    let distribution = random.pick(&["MODULA", "CONSISTENT"]);
    _ = write!(text, "--HASH={hash} --DISTRIBUTION={distribution}");
    if random.below(3) == 0 {
        text.push_str(" --SORT-HOSTS");
    }
    text
}

/// A pool of the real library.
struct Theirs<'a> {
    library: &'a Library,
    pool: *mut c_void,
}

impl<'a> Theirs<'a> {
    fn new(library: &'a Library, text: &str) -> Fallible<Self> {
        // SAFETY: as declared in libmemcached/memcached.h; the text is copied.
        let pool = unsafe {
            let make: Symbol<unsafe extern "C" fn(*const c_char, usize) -> *mut c_void> =
                library.get(b"memcached")?;
            make(text.as_ptr().cast(), text.len())
        };
        if pool.is_null() {
            return Err(format!("libmemcached refuses {text:?}").into());
        }
        Ok(Self { library, pool })
    }

    fn route(&self, key: &[u8]) -> Fallible<String> {
        type Hash = unsafe extern "C" fn(*const c_void, *const c_char, usize) -> u32;
        type Position = unsafe extern "C" fn(*const c_void, u32) -> *const c_void;
        type Name = unsafe extern "C" fn(*const c_void) -> *const c_char;
        type Port = unsafe extern "C" fn(*const c_void) -> u16;
        // SAFETY: as declared in the headers; the pool lives, and the position is one of its own.
        unsafe {
            let hash: Symbol<Hash> = self.library.get(b"memcached_generate_hash")?;
            let position: Symbol<Position> =
                self.library.get(b"memcached_server_instance_by_position")?;
            let name: Symbol<Name> = self.library.get(b"memcached_server_name")?;
            let port: Symbol<Port> = self.library.get(b"memcached_server_port")?;
            let server = position(self.pool, hash(self.pool, key.as_ptr().cast(), key.len()));
            let host = CStr::from_ptr(name(server)).to_str()?;
            Ok(format!("{host}:{}", port(server)))
        }
    }
}

impl Drop for Theirs<'_> {
    fn drop(&mut self) {
        // SAFETY: made by `memcached` and freed once.
        unsafe {
            if let Ok(free) = self
                .library
                .get::<unsafe extern "C" fn(*mut c_void)>(b"memcached_free")
            {
                free(self.pool);
            }
        }
    }
}
