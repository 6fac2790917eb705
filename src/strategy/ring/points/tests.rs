use super::*;

fn id(index: usize) -> NodeId {
    NodeId::from_index(index).expect("small")
}

/// Inserts and removes points, spread out and close together, and compares with a sorted list.
#[test]
fn points_agree_with_a_sorted_list_after_every_change() {
    let mut points = Points::new(Vec::new());
    let mut list: Vec<Entry> = Vec::new();
    let mut state = 1_u64;
    let mut draw = || {
        state = crate::hash::mix64(state.wrapping_add(0x9e37_79b9_7f4a_7c15));
        state
    };
    for round in 0..3000_u64 {
        let crowded = if draw() % 3 == 0 { draw() % 64 } else { draw() };
        let point = if draw() % 50 == 0 { u64::MAX } else { crowded };
        // Grow for two thirds of the rounds, then shrink.
        if round < 2000 && draw() % 4 > 0 {
            let entry = (point, id(scale(draw(), 5)));
            points.insert(entry, |a, b| a < b);
            list.insert(list.partition_point(|other| *other < entry), entry);
        } else if !list.is_empty() {
            let entry = list.remove(scale(draw(), list.len()));
            points.remove(entry);
        }
        points.remove((point ^ 1 << 40, id(9)));
        assert_eq!(points.len(), list.len());
        if round % 32 == 0 {
            compare(
                &points,
                &list,
                [0, 1, 63, 64, u64::MAX, point, draw(), draw()],
            );
        }
    }
    assert!(list.len() < 500);
}

fn compare(points: &Points, list: &[Entry], hashes: [u64; 8]) {
    for hash in hashes {
        let at = list.partition_point(|(point, _)| *point < hash);
        let expected = list[at..].iter().chain(&list[..at]).copied();
        let mut walked = Vec::new();
        let _ = points.walk(hash, |entry| {
            walked.push(entry);
            ControlFlow::Continue(())
        });
        assert!(walked.into_iter().eq(expected.clone()), "{hash:#x}");
        let mut owners: Vec<_> = Vec::new();
        for (_, id) in expected.clone() {
            if !owners.contains(&id) {
                owners.push(id);
            }
        }
        for wanted in 1..=owners.len() {
            let mut out = vec![NodeId::FIRST; wanted];
            if points.distinct(hash, &mut out) {
                assert_eq!(out, owners[..wanted], "{hash:#x}");
            }
        }
        assert_eq!(
            points.owner(hash),
            expected.map(|(_, id)| id).next(),
            "{hash:#x}"
        );
    }
    let mut by_owner = list.to_vec();
    by_owner.sort_by_key(|(_, id)| *id);
    let rebuilt = Points::new(by_owner);
    if rebuilt.blocks.len() == points.blocks.len() {
        assert_eq!(alloc::format!("{rebuilt:?}"), alloc::format!("{points:?}"));
    }
}

#[test]
fn a_point_takes_at_most_32_bytes() {
    let mut points = Points::new(Vec::new());
    let draw = |i| crate::hash::mix64(i);
    let fits = |points: &Points| points.heap_bytes() <= 32 * points.len();
    for i in 1..20_000 {
        points.insert((draw(i), id(1)), |_, _| false);
        assert!(i % 100 != 0 || i < 1000 || fits(&points), "{i} added");
    }
    for i in 1..19_000 {
        points.remove((draw(i), id(1)));
        assert!(i % 100 != 0 || fits(&points), "{i} removed");
    }
}
