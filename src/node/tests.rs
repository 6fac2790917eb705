use super::*;
use alloc::string::ToString;

#[test]
fn ids_do_not_change_and_the_lowest_unused_id_is_used_first() -> Result<(), Error> {
    let mut nodes = Nodes::new(["a", "b", "c", "d"].map(Node::new))?;
    nodes.apply(&Change::remove("c"))?;
    nodes.apply(&Change::remove("a"))?;
    assert_eq!(nodes.id("d").map(NodeId::index), Some(3));
    assert_eq!(nodes.apply(&Change::Add(Node::new("e")))?.index(), 0);
    assert_eq!(nodes.apply(&Change::Add(Node::new("f")))?.index(), 2);
    assert_eq!(nodes.apply(&Change::Add(Node::new("g")))?.index(), 4);
    Ok(())
}

#[test]
fn removing_nodes_in_reverse_order_restores_the_table() -> Result<(), Error> {
    let before = Nodes::new([Node::new("a")])?;
    let mut after = before.clone();
    after.apply(&Change::Add(Node::new("b").with_location("z", "r")))?;
    after.apply(&Change::Add(Node::new("c").with_location("z", "r")))?;
    after.apply(&Change::remove("b"))?;
    after.apply(&Change::remove("c"))?;
    assert_eq!(alloc::format!("{before:?}"), alloc::format!("{after:?}"));
    Ok(())
}

#[test]
fn a_failed_change_leaves_the_table_as_it_was() -> Result<(), Error> {
    let mut nodes = Nodes::new([Node::new("a"), Node::new("b")])?;
    let before = alloc::format!("{nodes:?}");
    for change in [
        Change::Add(Node::new("a").with_weight(9)),
        Change::Add(Node::new("")),
        Change::remove("x"),
        Change::reweight("x", 3),
    ] {
        assert!(!nodes.apply(&change).unwrap_err().to_string().is_empty());
        assert_eq!(alloc::format!("{nodes:?}"), before);
    }
    assert_eq!(Nodes::new([Node::new("")]).unwrap_err(), Error::EmptyName);
    Ok(())
}

#[test]
fn an_empty_zone_or_rack_means_none() {
    let plain = Node::new("a");
    for node in [
        plain.clone().with_zone(""),
        plain.clone().with_location("", ""),
        plain.clone().with_zone("z").with_zone(""),
    ] {
        assert_eq!(node, plain);
    }
    let node = plain.with_location("", "r");
    assert_eq!((node.zone(), node.rack()), (None, Some("r")));
    assert_eq!(node.with_zone("z").rack(), Some("r"));
}

#[test]
fn nodes_parse_back_from_their_text() -> Result<(), Error> {
    for name in ["a", "10.0.0.1:6379", "a=b", "=", "a=1", "a=b=", " é\n"] {
        for weight in [0, 1, 2, u32::MAX] {
            let node = Node::new(name).with_weight(weight);
            for text in [node.to_string(), alloc::format!("{node:#}")] {
                assert_eq!(text.parse::<Node>()?, node, "{text:?}");
            }
        }
    }
    let weight = |value: &str| {
        let expected = "a whole number from 0 to 4294967295 after the last \"=\"";
        Error::parameter("weight", value, expected)
    };
    assert_eq!("".parse::<Node>(), Err(Error::EmptyName));
    assert_eq!("=2".parse::<Node>(), Err(Error::EmptyName));
    assert_eq!("a=".parse::<Node>(), Err(weight("")));
    assert_eq!("a=-1".parse::<Node>(), Err(weight("-1")));
    assert_eq!("a=4294967296".parse::<Node>(), Err(weight("4294967296")));
    assert_eq!(Change::remove("a=b").to_string(), "remove a=b");
    assert_eq!(Change::reweight("a", 1).to_string(), "reweight a=1");
    Ok(())
}

#[test]
fn tables_with_equal_nodes_and_ids_are_equal() -> Result<(), Error> {
    let table = Nodes::new(["a", "b"])?;
    assert_eq!(table, Nodes::sorted(["b", "a"])?);
    assert_ne!(table, Nodes::new(["b", "a"])?);
    assert_ne!(
        table,
        Nodes::new([Node::new("a"), Node::new("b").with_rack("r")])?
    );
    assert_ne!(table, Nodes::new(["a"])?);
    assert!(
        table
            .ids()
            .rev()
            .eq([1, 0].iter().filter_map(|at| NodeId::from_index(*at)))
    );
    Ok(())
}
