//! Three replicas of every key, in different zones as long as there are enough zones.
//!
//! `cargo run --example replicas`

use hashroute::{
    Change, Error, KeyHash, Node, NodeId, NodeList, Rendezvous, Router, RouterExt, Spread,
};

fn show(router: &dyn Router, key: &[u8], n: usize) {
    let list = router.replicas(key, n, Spread::Zones);
    let described = |id: &NodeId| {
        let node = router.nodes().get(*id)?;
        Some(format!(
            "{} ({}/{})",
            node.name(),
            node.zone()?,
            node.rack()?
        ))
    };
    println!(
        "  {}",
        list.iter()
            .filter_map(described)
            .collect::<Vec<_>>()
            .join(", ")
    );
}

fn main() -> Result<(), Error> {
    let zones = ["eu-1", "eu-2", "eu-3"];
    let nodes = (0..12).map(|i| {
        Node::new(format!("store-{i:02}")).with_location(zones[i % 3], format!("rack-{}", i / 6))
    });
    let mut router = Rendezvous::new(nodes)?;

    println!("three replicas, each in its own zone:");
    show(&router, b"order:1001", 3);
    println!("five replicas: first every zone, then new racks, then any node:");
    show(&router, b"order:1001", 5);

    for i in (0..12).filter(|i| i % 3 == 2) {
        router.apply(&Change::remove(format!("store-{i:02}")))?;
    }
    println!("without eu-3, still three replicas:");
    show(&router, b"order:1001", 3);

    // On a hot path, reuse a list: it then allocates no more.
    let mut list = NodeList::new();
    for key in (0..1000).map(KeyHash::from_integer) {
        router.replicas_into(key, 3, Spread::Zones, &mut list);
        assert_eq!(list.len(), 3);
    }
    Ok(())
}
