//! Comparisons, and the JSON names that scripts of users depend on.

use std::collections::BTreeSet;

use hashroute::registry::Scheme;
use hashroute::strategy::{self, Params};
use hashroute::{Change, Error, HashFunction, KeyHasher, Node};
use hashroute_harness::{Activity, Comparison, Contest, Keys, compare, cost};
use serde_json::Value;

use crate::nodes;

fn contest(keys: &Keys) -> Contest<'_> {
    let schemes = strategy::ALL.iter();
    let schemes = schemes.map(|scheme| (scheme, Params::default()));
    Contest::new(keys)
        .with_nodes(nodes(5))
        .with_add([Change::Add(Node::new("new"))])
        .with_remove([Change::remove("n1")])
        .with_schemes(schemes.collect::<Vec<_>>())
        .with_costs(false)
}

/// Returns the required fields that an object lacks.
fn missing<'a>(value: &Value, names: &'a str) -> Vec<&'a str> {
    let object = value.as_object().expect("an object");
    names
        .split_whitespace()
        .filter(|name| !object.contains_key(*name))
        .collect()
}

const FIGURES: &str = "used empty min max mean stddev cv noise_cv max_over_mean p95_over_mean max_over_median top chi2 df p_value";

#[test]
fn json_fields_keep_their_names() -> Result<(), Box<dyn core::error::Error>> {
    let keys = Keys::template("user:{i}", 0..2000)?
        .with_sizes(vec![3; 2000])?
        .with_requests(vec![5; 2000])?;
    let comparison = compare(&contest(&keys).with_costs(true), &mut |_, _| ());
    let json = serde_json::to_value(&comparison)?;
    assert!(missing(&json, "scenario rows").is_empty());
    for row in json["rows"].as_array().expect("rows") {
        let names = "strategy state balance add remove refused route_ns batch_ns build_ns change_ns heap_bytes";
        assert_eq!(missing(row, names), [""; 0]);
        let balance = &row["balance"];
        assert_eq!(
            missing(
                balance,
                "strategy hash nodes keys distinct_keys bytes requests"
            ),
            [""; 0]
        );
        for figures in [balance, &balance["bytes"], &balance["requests"]] {
            assert_eq!(missing(figures, FIGURES), [""; 0]);
            assert_eq!(missing(&figures["top"][0], "n share"), [""; 0]);
        }
        let names = "name weight zone rack keys share fair_share bytes requests";
        assert_eq!(missing(&balance["nodes"][0], names), [""; 0]);
        assert_eq!(
            missing(
                &row["add"],
                "keys moved moved_share ideal_share excess excess_share flows"
            ),
            [""; 0]
        );
        assert_eq!(missing(&row["add"]["flows"][0], "from to keys"), [""; 0]);
        assert!(balance["keys"] == 2000 && balance["min"].is_u64() && balance["max"].is_u64());
    }
    Ok(())
}

#[test]
fn a_comparison_survives_a_round_trip_through_json() -> Result<(), Box<dyn core::error::Error>> {
    let keys = Keys::template("user:{i}", 0..500)?.with_sizes((0..500).collect())?;
    let comparison = compare(&contest(&keys).with_costs(true), &mut |_, _| ());
    let text = serde_json::to_string(&comparison)?;
    assert_eq!(serde_json::from_str::<Comparison>(&text)?, comparison);
    Ok(())
}

#[test]
fn a_comparison_is_deterministic_and_names_what_was_refused() -> Result<(), Error> {
    let keys = Keys::template("user:{i}", 0..2000)?;
    let mut stages = Vec::new();
    let comparison = compare(&contest(&keys), &mut |name, stage| {
        stages.push((name.to_owned(), stage));
    });
    assert_eq!(comparison, compare(&contest(&keys), &mut |_, _| ()));
    assert_eq!(
        stages[..2],
        [
            ("modulo".to_owned(), Activity::Balance),
            ("modulo".to_owned(), Activity::Add)
        ]
    );
    assert_eq!(comparison.scenario.add, ["add new=1"]);
    assert_eq!(
        (
            comparison.scenario.hash.as_str(),
            comparison.scenario.distinct_keys
        ),
        ("xxh3", 2000)
    );
    for row in &comparison.rows {
        assert!(row.balance.is_some() && row.add.is_some());
        assert_eq!(row.remove.is_none(), row.strategy == "jump");
        assert_eq!(row.refused.is_some(), row.strategy == "jump");
        assert_eq!(row.route_ns, None);
    }
    let shared: BTreeSet<_> = comparison
        .rows
        .iter()
        .map(|row| row.state.as_str())
        .collect();
    assert!(shared.is_subset(&BTreeSet::from([
        "set", "count", "history", "table", "load"
    ])));
    Ok(())
}

#[test]
fn a_strategy_that_refuses_the_nodes_keeps_its_row() -> Result<(), Error> {
    let keys = Keys::template("user:{i}", 0..100)?;
    let mut weighted = contest(&keys);
    weighted.nodes[0] = Node::new("n0").with_weight(2);
    let rows = compare(&weighted, &mut |_, _| ()).rows;
    let jump = rows
        .iter()
        .find(|row| row.strategy == "jump")
        .expect("a row");
    assert!(jump.balance.is_none() && jump.add.is_none() && jump.remove.is_none());
    assert!(
        jump.refused
            .as_ref()
            .is_some_and(|why| why.starts_with("nodes: ")),
        "{:?}",
        jump.refused
    );
    Ok(())
}

#[test]
fn a_comparison_agrees_with_its_parts() -> Result<(), Error> {
    let keys = Keys::template("user:{i}", 0..2000)?;
    let params = Params::default().with_hasher(KeyHasher::new(HashFunction::Md5));
    let ring: &Scheme = strategy::find("ring")?;
    let contest = contest(&keys).with_schemes([(ring, params.clone())]);
    let comparison = compare(&contest, &mut |_, _| ());
    let router = ring.build(nodes(5), &params)?;
    let assignment = hashroute_harness::Assignment::of(&*router, &keys);
    let balance = hashroute_harness::balance("ring", &*router, &keys, &assignment);
    assert_eq!(comparison.rows[0].balance, Some(balance));
    Ok(())
}

#[test]
fn costs_are_measured_and_allocations_counted() -> Result<(), Error> {
    let count = |run: &mut dyn FnMut()| {
        run();
        500 // as if the thousand lookups had made so many allocations
    };
    let keys = Keys::template("user:{i}", 0..1000)?;
    for strategy in strategy::ALL {
        let cost = cost(strategy, &Params::default(), &nodes(3), &keys, Some(&count))?;
        assert!(
            [cost.route_ns, cost.batch_ns, cost.build_ns]
                .iter()
                .chain(&cost.change_ns)
                .all(|ns| *ns > 0.0)
        );
        assert_eq!(cost.allocations_per_lookup, Some(0.5));
    }
    let cost = cost(
        strategy::find("jump")?,
        &Params::default(),
        &[],
        &Keys::default(),
        None,
    )?;
    assert_eq!((cost.route_ns, cost.allocations_per_lookup), (0.0, None));
    Ok(())
}

#[test]
fn a_refused_change_leaves_the_other_costs() -> Result<(), Error> {
    let keys = Keys::template("user:{i}", 0..100)?;
    let maglev = strategy::find("maglev")?;
    // The table has room for two nodes only.
    let params = Params::default().with("table-size", "2");
    let full = contest(&keys)
        .with_nodes(nodes(2))
        .with_remove([Change::Add(Node::new("other"))])
        .with_schemes([(maglev, params)])
        .with_costs(true);
    let row = compare(&full, &mut |_, _| ()).rows.remove(0);
    assert!(row.route_ns.is_some() && row.batch_ns.is_some() && row.build_ns.is_some());
    assert!(row.heap_bytes.is_some() && row.change_ns.is_none());
    let refused = row.refused.expect("no room for three");
    assert!(refused.starts_with("add, remove: "), "{refused}");
    assert_eq!(refused.matches("2 cells").count(), 1, "{refused}");
    Ok(())
}
