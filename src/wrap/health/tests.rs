use alloc::vec::Vec;
use core::time::Duration;

use super::{Liveness, Policy};
use crate::{Change, Error, Node, Rendezvous, Router};

const ONE: Policy = Policy {
    fail_after: 1,
    window: Duration::ZERO,
    rise: 1,
    hold: Duration::ZERO,
    max_hold: Duration::ZERO,
    max_down: 50,
};

fn filter(weights: &[u32], max_down: u8) -> Result<Liveness<Rendezvous>, Error> {
    let node = |(i, &weight): (usize, &u32)| Node::new(alloc::format!("n{i}")).with_weight(weight);
    let nodes: Vec<_> = weights.iter().enumerate().map(node).collect();
    Liveness::new(Rendezvous::new(nodes)?, Policy { max_down, ..ONE })
}

fn set<R: Router>(router: &Liveness<R>, name: &str, up: bool) -> bool {
    let id = router.nodes().id(name).expect("a member");
    if up {
        router.succeeded(id, Duration::ZERO)
    } else {
        router.failed(id, Duration::ZERO)
    }
}

#[test]
fn no_node_is_skipped_above_max_down_percent_of_the_weight() -> Result<(), Error> {
    // Of 10: 5, 6 and 10 down.
    for (max_down, skips) in [
        (49, [false; 3]),
        (50, [true, false, false]),
        (60, [true, true, false]),
        (100, [true, true, false]),
    ] {
        let router = filter(&[5, 1, 4, 0], max_down)?;
        let seen = ["n0", "n1", "n2"].map(|name| {
            assert!(set(&router, name, false));
            router.skips()
        });
        assert_eq!(seen, skips, "{max_down}");
        assert!(set(&router, "n2", true) && set(&router, "n1", true));
        assert_eq!(router.skips(), skips[0], "{max_down}");
    }
    let router = filter(&[1, 1, 0], 0)?;
    assert!(set(&router, "n2", false) && !router.skips()); // weight 0
    assert!(set(&router, "n0", false) && !router.skips());
    Ok(())
}

#[test]
fn a_change_of_weight_changes_whether_nodes_are_skipped() -> Result<(), Error> {
    let mut router = filter(&[5, 5], 50)?;
    assert!(set(&router, "n0", false) && router.skips());
    router.apply(&Change::reweight("n0", 6))?;
    assert!(!router.skips());
    router.apply(&Change::Add(Node::new("n2")))?;
    assert!(router.skips());
    Ok(())
}

#[test]
fn the_health_of_a_node_is_forgotten_when_it_leaves() -> Result<(), Error> {
    let mut router = filter(&[1, 1, 1], 50)?;
    assert!(set(&router, "n1", false) && router.skips());
    let id = router.nodes().id("n1").expect("a member");
    assert!(router.apply(&Change::Add(Node::new("n1"))).is_err() && router.is_down(id));
    router.apply(&Change::remove("n1"))?;
    assert!(!router.skips() && !router.is_down(id));
    assert!(!router.failed(id, Duration::ZERO)); // a late report, after the node left
    router.apply(&Change::Add(Node::new("new")))?;
    assert_eq!(
        (router.nodes().name(id), router.is_down(id)),
        (Some("new"), false)
    );
    router.apply(&Change::remove("new"))?;
    router.apply(&Change::Add(Node::new("n1")))?;
    assert!(!router.is_down(id));
    Ok(())
}

#[test]
fn clones_share_the_health_of_their_common_nodes() -> Result<(), Error> {
    let before = filter(&[1, 1, 1], 50)?;
    assert!(set(&before, "n0", false));
    let mut after = before.clone();
    assert!(after.skips());
    after.apply(&Change::remove("n1"))?;
    after.apply(&Change::Add(Node::new("n3")))?;
    assert!(set(&before, "n0", true) && !after.skips());
    assert!(set(&after, "n2", false) && before.skips());
    // n3 has the id of n1, but its own health.
    assert!(set(&after, "n3", false) && !set(&before, "n2", false));
    assert!(set(&before, "n1", false));
    Ok(())
}

#[test]
fn an_impossible_policy_is_refused_with_a_message() {
    let refused = |policy| Liveness::new(Rendezvous::new([Node::new("a")])?, policy).map(|_| ());
    let seconds = Duration::from_secs;
    let cases = [
        (
            Policy {
                fail_after: 0,
                ..ONE
            },
            "fail_after = \"0\" cannot be used: expected at least 1",
        ),
        (
            Policy { rise: 0, ..ONE },
            "rise = \"0\" cannot be used: expected at least 1",
        ),
        (
            Policy {
                max_down: 101,
                ..ONE
            },
            "max_down = \"101\" cannot be used: expected a percentage, at most 100",
        ),
        (
            Policy {
                hold: seconds(2),
                max_hold: seconds(1),
                ..ONE
            },
            "max_hold = \"1s\" cannot be used: expected at least the hold, 2s",
        ),
    ];
    for (policy, words) in cases {
        let error = refused(policy).expect_err("a bad policy");
        assert_eq!(alloc::string::ToString::to_string(&error), words);
    }
    assert!(refused(ONE).is_ok() && refused(Policy::default()).is_ok());
}

#[test]
fn explain_names_the_nodes_that_were_passed_over() -> Result<(), Error> {
    let router = filter(&[1, 1, 1], 50)?;
    let key = router.hash_key(b"user:42").expect("a hash");
    let owner = router.route_hash(key).expect("a node");
    let name = router.nodes().name(owner).expect("a member");
    assert!(set(&router, name, false));
    let fact = ("passed over", alloc::format!("{name} is down"));
    assert!(router.explain(key).contains(&fact));
    Ok(())
}
