//! Hot slots and hot hash tags.

use std::collections::BTreeMap;

use hashroute::redis::{Heat, SlotRule};
use proptest::prelude::*;

#[test]
fn a_tag_that_holds_every_key_is_reported() {
    let mut heat = Heat::new(SlotRule::REDIS, 8);
    for i in 0..10_000 {
        heat.feed(format!("{{tenant}}:{i}").as_bytes(), 1);
        heat.feed(format!("{{t{i}}}:x").as_bytes(), 1);
        if i % 2 == 0 {
            heat.feed(format!("plain:{i}").as_bytes(), 1);
        }
    }
    let top = heat
        .dominant(0.25)
        .map(|tag| (tag.tag, tag.at_most, tag.slot));
    let slot = SlotRule::REDIS.slot(b"tenant");
    assert_eq!(
        top.as_ref().map(|top| (&*top.0, top.2)),
        Some((&b"tenant"[..], slot))
    );
    assert!(top.is_some_and(|top| top.1 >= 10_000));
    assert_eq!((heat.total(), heat.tagged()), (25_000, 20_000));
    assert_eq!(heat.top_slots(1)[0].slot, slot);
}

/// With two counters, the count of a tag may be wrong by half of all requests.
#[test]
fn a_tag_above_the_share_and_the_error_is_reported() {
    let mut heat = Heat::new(SlotRule::REDIS, 4);
    heat.feed(b"{a}", 60);
    for i in 0..60 {
        heat.feed(format!("{{t{i}}}").as_bytes(), 1);
    }
    heat.feed(b"{a}", 60);
    // 120 of 180 is more than the share of 0.4 and the error of a quarter.
    assert!(heat.dominant(0.4).is_some_and(|top| *top.tag == *b"a"));
}

/// A tag that was counted from the start keeps an exact count.
#[test]
fn each_tag_is_reported_with_its_own_bounds() {
    let mut heat = Heat::new(SlotRule::REDIS, 4);
    heat.feed(b"{first}", 1000);
    for i in 0..500 {
        heat.feed(format!("{{t{i}}}").as_bytes(), 1);
    }
    heat.feed(b"{last}", 900);
    let top = heat.top_tags(2);
    let first = (&*top[0].tag, top[0].at_least, top[0].at_most);
    assert_eq!(first, (&b"first"[..], 1000, 1000));
    assert_eq!((&*top[1].tag, top[1].at_least), (&b"last"[..], 900));
    assert!(top[1].at_most > 900 && top[1].at_most <= 900 + 2400 / 4);
}

#[test]
fn absurd_input_is_counted_and_not_kept() {
    let mut heat = Heat::new(SlotRule::REDIS, 0);
    let long = [b"{".to_vec(), vec![b'x'; 1 << 20], b"}".to_vec()].concat();
    heat.feed(&long, u64::MAX);
    heat.feed(&long, u64::MAX);
    assert_eq!((heat.total(), heat.top_tags(9).len()), (u64::MAX, 0));
    heat.feed(b"{a}", u64::MAX);
    heat.feed(b"{b}", u64::MAX);
    heat.feed(b"{b}", 0);
    assert_eq!(heat.top_tags(9).len(), 1);
}

proptest! {
    #![proptest_config(hashroute_test_support::fixed(256))]

    /// The bounds of each tag hold, and no tag above the guaranteed share is missing.
    #[test]
    fn true_counts_lie_within_the_bounds(feeds in prop::collection::vec((0..20_u8, 1..50_u64), 0..300), counters in 1..12_usize) {
        let mut heat = Heat::new(SlotRule::REDIS, counters);
        let mut exact: BTreeMap<String, u64> = BTreeMap::new();
        for (tag, amount) in feeds {
            let tag = if tag < 4 { "{odd".to_owned() } else { format!("t{tag}") };
            heat.feed(format!("k{{{tag}}}").as_bytes(), amount);
            *exact.entry(tag).or_default() += amount;
        }
        let total: u64 = exact.values().sum();
        let top = heat.top_tags(usize::MAX);
        prop_assert!(top.len() <= counters);
        for tag in &top {
            let name = String::from_utf8_lossy(&tag.tag).into_owned();
            let true_count = exact.get(&name).copied().unwrap_or(0);
            prop_assert!(tag.at_least <= true_count && true_count <= tag.at_most);
            prop_assert!(tag.at_most - tag.at_least <= total / counters as u64);
            prop_assert_eq!(tag.slot, SlotRule::REDIS.slot(format!("{{{name}}}").as_bytes()));
        }
        for (name, count) in &exact {
            if *count > total / counters as u64 {
                prop_assert!(top.iter().any(|tag| *tag.tag == *name.as_bytes()), "{name}");
            }
        }
        prop_assert_eq!(heat.loads().iter().sum::<u64>(), total);
    }
}
