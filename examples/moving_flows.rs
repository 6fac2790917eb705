//! What share of flows moves when a load balancer of packets gives way to a ring of this library,
//! over the same ten servers?
//!
//! `cargo run --release --features compat --example moving_flows`. Their keys are the parts of
//! packets that they hash: address and ports of a client, and for Cilium the protocol.

use hashroute::strategy::Params;
use hashroute::{Error, Node, Ring, Router, compat};

const FLOWS: u32 = 200_000;
const TCP: u8 = 6;

fn main() -> Result<(), Error> {
    for (dialect, option, port, end) in [
        ("cilium", ("protocol", "TCP"), ":80", &[TCP][..]),
        ("katran", ("version", "v1"), "", &[]),
        ("katran", ("version", "v2"), "", &[]),
    ] {
        let servers = (1..=10).map(|i| Node::new(format!("10.0.0.{i}{port}")));
        let params = Params::default().with(option.0, option.1);
        let old = compat::find(dialect)?.build(servers.clone(), &params)?;
        let new = Ring::new(servers)?;
        let moved = (0..FLOWS).filter(|i| {
            let [a, b, c, d] = i.to_be_bytes();
            let flow = [&[192, b, c, d, 0x9c, a, 0, 80], end].concat();
            old.route(&flow) != new.route(&flow)
        });
        let share = 100.0 * moved.count() as f64 / f64::from(FLOWS);
        println!("{dialect} {option:?}: {share:.1} %");
    }
    Ok(())
}
