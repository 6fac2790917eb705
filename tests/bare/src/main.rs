//! Routes keys by every strategy without a standard library and an operating system.
//!
//! The program prints a line for each strategy and exits with success if each key has the node
//! that it has on every other machine. A panic ends it with failure.

#![no_std]
#![no_main]

extern crate alloc;

use alloc::string::String;
use core::panic::PanicInfo;

use cortex_m as _; // links its critical section
use cortex_m_rt::entry;
use cortex_m_semihosting::{debug, hprintln};
use hashroute::registry::Params;
use hashroute::{
    Change, Error, HashSlots, Jump, Maglev, Node, Rendezvous, Ring, Router, RouterExt, Spread,
    scheme,
};
use static_alloc::Bump;

#[global_allocator]
static HEAP: Bump<[u8; 7 << 19]> = Bump::uninit();

/// The owners of the keys `key-0` to `key-15` among the nodes a, b and c.
const ROUTES: [(&str, &str); 8] = [
    ("modulo", "babccccabaaacbaa"),
    ("ring", "abbaabbcccbcaaba"),
    ("rendezvous", "bcbcaaccababcaac"),
    ("shortlist", "bcbcbbccabacbaac"),
    ("jump", "bbcaabacccccccac"),
    ("maglev", "acbbababbcbbabab"),
    ("slots", "ababcaaccabacbab"),
    ("bounded", "abbaabbcccbcaaba"),
];

#[entry]
fn main() -> ! {
    let status = match routes_as_elsewhere() {
        Ok(true) => debug::EXIT_SUCCESS,
        Ok(false) => debug::EXIT_FAILURE,
        Err(error) => {
            hprintln!("error: {}", error);
            debug::EXIT_FAILURE
        }
    };
    debug::exit(status);
    unreachable!("the emulator has ended the program");
}

fn routes_as_elsewhere() -> Result<bool, Error> {
    let mut equal = changes_and_replicas()?;
    for (name, expected) in ROUTES {
        let router = scheme(name)?.build(["a", "b", "c"], &Params::default())?;
        let owners = owners(&*router);
        hprintln!("{:<12} {}", name, owners);
        equal &= owners == expected;
    }
    Ok(equal)
}

fn owners(router: &dyn Router) -> String {
    let owner = |i| router.route(alloc::format!("key-{i}").as_bytes());
    (0..16).map(|i| owner(i).map_or("-", Node::name)).collect()
}

/// Returns whether five strategies give a key two nodes, and route again as before once a node has
/// joined and left.
fn changes_and_replicas() -> Result<bool, Error> {
    let nodes = ["a", "b", "c"];
    Ok(restores(Ring::new(nodes)?)?
        && restores(Rendezvous::new(nodes)?)?
        && restores(Jump::new(nodes)?)?
        && restores(Maglev::new(nodes)?)?
        && restores(HashSlots::new(nodes)?)?)
}

fn restores(mut router: impl Router) -> Result<bool, Error> {
    let before = owners(&router);
    router.apply(&Change::Add(Node::new("d")))?;
    let two = router.replicas(b"key-0", 2, Spread::Nodes).len() == 2;
    router.apply(&Change::Remove("d".into()))?;
    Ok(two && owners(&router) == before)
}

#[panic_handler]
fn panic(panic: &PanicInfo) -> ! {
    hprintln!("{}", panic);
    debug::exit(debug::EXIT_FAILURE);
    loop {}
}
