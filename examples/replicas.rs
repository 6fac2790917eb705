//! Three copies of everything, each in another zone while there are zones.
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

    println!("three copies, a zone each:");
    show(&router, b"order:1001", 3);
    println!("five: every zone, then racks that are new, then any node:");
    show(&router, b"order:1001", 5);

    for i in (0..12).filter(|i| i % 3 == 2) {
        router.apply(&Change::remove(format!("store-{i:02}")))?;
    }
    println!("eu-3 is gone; three copies are still three:");
    show(&router, b"order:1001", 3);

    // On a hot path: a list that is used again allocates no more.
    let mut list = NodeList::new();
    for key in (0..1000).map(KeyHash::from_integer) {
        router.replicas_into(key, 3, Spread::Zones, &mut list);
        assert_eq!(list.len(), 3);
    }
    Ok(())
}
