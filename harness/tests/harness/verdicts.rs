//! The sentences and causes of a verdict.

use hashroute::{BoundedLoad, Error, Modulo, Node, Rendezvous, Ring, Router};
use hashroute_harness::{Assignment, Cause, Keys, Measure, balance};

use crate::{balance_of, nodes};

#[test]
fn one_heavy_key_is_named_alone() -> Result<(), Error> {
    let mut sizes = vec![10; 20_000];
    sizes[7] = 50_000;
    let keys = Keys::template("k{i}", 0..20_000)?.with_sizes(sizes)?;
    let verdict = balance_of(&Rendezvous::new(nodes(10))?, &keys).verdict;
    assert_eq!(
        (verdict.matter, verdict.cause),
        (Some(Measure::Bytes), Cause::HeavyKeys)
    );
    let words = verdict.text.lines().last().unwrap_or_default();
    assert!(
        words.starts_with("bytes: uneven because k7 alone carries 20.0% of the bytes ("),
        "{words}"
    );
    Ok(())
}

#[test]
fn a_verdict_counts_the_keys_that_carry_any() -> Result<(), Error> {
    let sizes = (0..20_000).map(|i| u64::from(i % 100 == 0)).collect();
    let keys = Keys::template("k{i}", 0..20_000)?.with_sizes(sizes)?;
    let verdict = balance_of(&Rendezvous::new(nodes(10))?, &keys).verdict;
    assert_eq!(verdict.cause, Cause::FewKeys);
    assert!(
        verdict.text.contains("200 distinct keys that carry any"),
        "{}",
        verdict.text
    );
    Ok(())
}

#[test]
fn an_exactly_even_load_is_even() -> Result<(), Error> {
    let router = Modulo::new(nodes(10))?;
    let keys = Keys::template("k{i}", 0..50)?;
    let ids: Vec<_> = router.nodes().iter().map(|(id, _)| Some(id)).collect();
    let assignment = Assignment::new(router.nodes(), ids.into_iter().cycle().take(50));
    let verdict = balance("test", &router, &keys, &assignment).verdict;
    assert_eq!((verdict.matter, verdict.cause), (None, Cause::Even));
    assert!(verdict.text.starts_with("keys: even ("), "{}", verdict.text);
    Ok(())
}

#[test]
fn keys_in_sentences_stay_on_their_line() -> Result<(), Error> {
    let mut keys = Keys::template("k{i}", 0..1000)?.with_sizes(vec![1; 1000])?;
    keys.push(b"\x1b[31m\n");
    let mut sizes = vec![1; 1000];
    sizes.push(9000);
    let verdict = balance_of(&Rendezvous::new(nodes(3))?, &keys.with_sizes(sizes)?).verdict;
    assert!(
        verdict.text.contains("\\u{1b}[31m\\n alone carries 90.0%"),
        "{}",
        verdict.text
    );
    assert_eq!(verdict.text.lines().count(), 2);
    Ok(())
}

#[test]
fn keys_without_a_node_count_in_no_figure() -> Result<(), Error> {
    let weighted =
        [("a", 1), ("b", 1), ("c", 3)].map(|(name, weight)| Node::new(name).with_weight(weight));
    let router = BoundedLoad::new(Ring::new(weighted)?, 1.25)?.with_cap(5);
    let keys = Keys::template("user:{i}", 0..1000)?.with_sizes(vec![2; 1000])?;
    let balance = balance_of(&router, &keys);
    let bytes = balance.bytes.expect("sizes");
    assert_eq!(
        (balance.unplaced, balance.figures.total, bytes.total),
        (989, 11, 22)
    );
    for figures in [balance.figures, bytes] {
        assert_eq!(figures.effective_keys, 11.0);
        // (1/3) (4 + 4 + 2/3) / 11
        assert!((figures.noise.cv - (26.0_f64 / 99.0).sqrt()).abs() < 1e-12);
        assert!((figures.chi2 - 0.9697).abs() < 1e-4, "{}", figures.chi2);
    }
    Ok(())
}
