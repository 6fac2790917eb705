use super::*;
use alloc::format;

/// Returns nodes with weights in `spread` classes of about equal total weight.
fn cluster(count: u32, spread: u32) -> impl Iterator<Item = Node> {
    (0..count).map(move |i| {
        let octave = i.trailing_ones() % spread;
        Node::new(format!("n{i}")).with_weight((1 << octave) + i % 7 % (1 << octave))
    })
}

/// Finds the best node by comparing all nodes.
fn exhaustive(router: &Shortlist, key: u64) -> Option<NodeId> {
    let probes = Probes::new(key);
    let candidates = router.classes.iter().flat_map(|class| {
        let order = class.order(probes.order);
        let score = |at| order.score(at, &probes);
        let members = order.members().iter().copied().enumerate();
        members.map(move |(at, member)| (score(at), member))
    });
    candidates
        .map(|(score, member)| Candidate { score, member })
        .min_by(|a, b| router.order(a, b))
        .map(|best| best.member.id)
}

#[test]
fn the_search_finds_the_best_of_all() -> Result<(), Error> {
    for count in [0, 1, 2, 3, 31, 33, 127, 128, 300, 1000, 5000] {
        for spread in [1, 2, 5, 20] {
            let router = Shortlist::new(cluster(count, spread))?;
            for key in (0..60).map(KeyHash::from_integer) {
                let best = exhaustive(&router, key.get());
                assert_eq!(router.route_hash(key), best, "{count} {spread}");
            }
        }
    }
    Ok(())
}

#[test]
fn a_lookup_compares_fewer_than_300_nodes_on_average() -> Result<(), Error> {
    for count in [3000, 10_000, 40_000] {
        let router = Shortlist::new(cluster(count, 1))?;
        let order = |probes: &Probes| router.classes[0].order(probes.order);
        let looked_at = |key: KeyHash| {
            let (probes, best) = (Probes::new(key.get()), router.best(key.get())?);
            let ones = best.enough(1).min(count.ilog2());
            Some(
                order(&probes)
                    .windows(ones, &probes)
                    .map(|window| window.len())
                    .sum::<usize>(),
            )
        };
        let each = (0..1000).map(KeyHash::from_integer).filter_map(looked_at);
        // The last window contains all windows before it, so all together have fewer than twice its
        // nodes.
        assert!(each.sum::<usize>() / 1000 < 300, "{count}");
    }
    Ok(())
}

#[test]
fn changes_lead_to_the_state_of_a_new_router() -> Result<(), Error> {
    // By name: a new router gives its ids in this order.
    let mut nodes: Vec<_> = cluster(700, 4).collect();
    nodes.sort_by(|a, b| a.name().cmp(b.name()));
    let mut router = Shortlist::new([] as [Node; 0])?;
    for node in &nodes {
        router.apply(&Change::Add(node.clone().with_weight(9)))?;
        router.apply(&Change::reweight(node.name(), node.weight()))?;
    }
    let state = |router: &Shortlist| format!("{router:?}");
    assert_eq!(
        state(&router),
        state(&Shortlist::new(nodes.iter().cloned())?)
    );
    for node in nodes.drain(100..).rev() {
        router.apply(&Change::remove(node.name()))?;
    }
    assert_eq!(state(&router), state(&Shortlist::new(nodes)?));
    Ok(())
}

#[test]
fn equal_scores_go_to_the_first_name() -> Result<(), Error> {
    // Changes give ids in another order than names; a new router gives them in order of name.
    let mut router = Shortlist::new([Node::new("c")])?;
    for name in ["b", "a"] {
        router.apply(&Change::Add(Node::new(name)))?;
    }
    let members = ["c", "a", "b"].map(|name| router.nodes.id(name));
    let members = members
        .into_iter()
        .flatten()
        .map(|id| (7, Member { id, weight: 1 }));
    router.classes = alloc::vec![Class::new(0, &members.collect::<Vec<_>>())];
    for key in (0..300).map(KeyHash::from_integer) {
        let owner = router.route_hash(key);
        let owner = owner.and_then(|id| router.nodes.name(id));
        assert_eq!(owner, Some("a"));
    }
    Ok(())
}

/// The share of scores below a bound equals the bound, for scores on the list and off it.
#[test]
fn scores_are_evenly_distributed() -> Result<(), Error> {
    const KEYS: u64 = 200_000;
    let router = Shortlist::new([Node::new("a")])?;
    let score = |key: KeyHash| {
        let probes = Probes::new(key.get());
        router.classes[0].order(probes.order).score(0, &probes)
    };
    let scores: Vec<_> = (0..KEYS).map(KeyHash::from_integer).map(score).collect();
    for step in 1..64 {
        for bound in [
            u32::MAX / 64 * step,
            u32::MAX - (u32::MAX >> LISTED) / 64 * step,
        ] {
            let share = f64::from(bound) / (1_u64 << 32) as f64;
            let below = scores.iter().filter(|score| **score < bound).count();
            let off = (below as f64 - KEYS as f64 * share).abs();
            // Five standard deviations of a binomial.
            let sigma = (KEYS as f64 * share * (1.0 - share)).sqrt();
            assert!(off < 5.0 * sigma, "{bound:#x}: {below}");
        }
    }
    Ok(())
}

#[test]
fn no_score_with_fewer_ones_than_enough_is_better() -> Result<(), Error> {
    let router = Shortlist::new([Node::new("a"), Node::new("b")])?;
    let [Some(a), Some(b)] = ["a", "b"].map(|name| router.nodes.id(name)) else {
        panic!("both are members");
    };
    for i in 0..20_000_u64 {
        let (x, y) = (mix64(2 * i + 1), mix64(2 * i + 2));
        let (score, weight) = halves(x);
        let score = !(score >> (y % 32)); // near the top as often as not
        let weight = (weight >> (y >> 8 & 31)).max(1);
        let heaviest = (halves(y).1 >> (y >> 16 & 31)).max(1);
        let candidate = |score, id, weight| Candidate {
            score,
            member: Member { id, weight },
        };
        let best = candidate(score, a, weight);
        if let Some(ones) = best.enough(heaviest).checked_sub(1) {
            let other = candidate(!(u32::MAX >> ones >> 1) - 1, b, heaviest);
            assert!(
                router.order(&best, &other).is_lt(),
                "{score:#x} {weight} {heaviest}"
            );
        }
    }
    Ok(())
}
