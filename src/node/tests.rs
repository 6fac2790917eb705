use super::*;
use alloc::string::ToString;

#[test]
fn ids_stay_and_are_reused_lowest_first() -> Result<(), Error> {
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
fn removal_in_reverse_leaves_no_trace() -> Result<(), Error> {
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
fn failed_changes_change_nothing() -> Result<(), Error> {
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
fn an_empty_zone_or_rack_is_none() {
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
