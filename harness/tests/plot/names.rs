//! Names, their order, their weights and the titles of marks.

use hashroute::redis::{ClusterNode, SlotRule, Table};
use hashroute::{Change, Error, Node, Ring};
use hashroute_harness::plot::{self, BarOrder, BarScene, Picture, RemapScene};
use hashroute_harness::{Assignment, Keys, Measure, balance};
use roxmltree::Document;

use super::{Outcome, draw, texts};

const HOSTS: usize = 12;

/// Names of real hosts: what tells them apart is in the middle.
fn host(i: usize) -> String {
    let colour = ["blue", "green", "red"][i % 3];
    format!("cache-{colour}-{i:02}.eu-central-1.prod.example.com:6379")
}

/// Returns the text and the titles of marks, and the title that each mark has.
fn titles(picture: &Picture) -> Result<Vec<String>, roxmltree::Error> {
    let document = Document::parse(picture.svg())?;
    let groups = document
        .descendants()
        .filter(|node| node.tag_name().name() == "g");
    let titles = groups.filter_map(|group| group.first_element_child());
    Ok(titles
        .map(|title| title.text().unwrap_or_default().to_owned())
        .collect())
}

/// Pictures of nodes with these names.
fn pictures(name: fn(usize) -> String, nodes: usize, points: u32) -> Result<Vec<Picture>, Error> {
    let keys = Keys::template("user:{i}", 0..3000)?;
    let all = || (0..nodes).map(|i| Node::new(name(i)).with_weight(1 + u32::from(i % 3 == 0)));
    let ring = Ring::with_points(all(), points)?;
    let before = Assignment::of(&ring, &keys);
    let balance = balance("ring", &ring, &keys, &before);
    let change = Change::Add(Node::new(name(nodes)));
    let (changed, remap) = draw(&ring, Some(change), &keys, &[b"user:1"])?;
    let ids: Result<Vec<_>, _> = (0..nodes).map(|i| ClusterNode::new(name(i))).collect();
    let mut table = Table::with_nodes(SlotRule::REDIS, ids?)?;
    for i in 0..nodes {
        let part = |i: usize| u32::try_from(i * 16_384 / nodes).unwrap_or(0);
        table.assign(part(i)..=part(i + 1) - 1, &name(i))?;
    }
    Ok(vec![
        plot::bars(&BarScene::new(&balance, Measure::Keys))?,
        plot::bars(&BarScene::new(&balance, Measure::Keys).with_order(BarOrder::Name))?,
        plot::matrix(&RemapScene::new(&remap.expect("a change"))),
        plot::slots(&table),
        changed,
    ])
}

/// The worst picture has the same text for every node.
#[test]
fn long_names_differ_in_pictures_and_what_is_left_out_is_said() -> Outcome {
    for picture in pictures(host, HOSTS, 16)? {
        let texts = texts(&picture)?;
        for i in 0..HOSTS {
            let short = host(i)
                .replace("cache-", "")
                .replace(".eu-central-1.prod.example.com:6379", "");
            // A matrix has nodes that give or take keys only.
            let shown = texts.iter().any(|text| text.contains(&short))
                || picture.title().contains("between even nodes");
            assert!(shown, "{short} in {}: {texts:?}", picture.title());
        }
        let said = texts
            .iter()
            .any(|text| text.contains("end with .eu-central-1.prod"));
        assert!(said, "{}: {texts:?}", picture.title());
    }
    Ok(())
}

#[test]
fn every_mark_has_a_title_with_the_full_name() -> Outcome {
    for (nodes, points) in [(HOSTS, 16), (60, 160)] {
        for picture in pictures(host, nodes, points)? {
            let titles = titles(&picture)?;
            for i in 0..nodes {
                let found = titles.iter().any(|title| title.contains(&host(i)));
                // A matrix has nodes that give or take keys only.
                assert!(
                    found || picture.title().contains("between even nodes"),
                    "{i} {}",
                    picture.title()
                );
            }
            let document = Document::parse(picture.svg())?;
            let marks = document.descendants().filter(|node| {
                let class = node.attribute("class").unwrap_or_default();
                let marks = ["hr-heat", "hr-alarm", "hr-mark", "hr-band"];
                marks.contains(&class) && node.tag_name().name() != "line"
            });
            for mark in marks {
                let parent = mark.parent().and_then(|group| group.first_element_child());
                let is_hint = parent.is_some_and(|title| title.tag_name().name() == "title");
                assert!(is_hint, "{:?}", mark.attribute("class"));
            }
        }
    }
    Ok(())
}

/// Returns the names beside bars, from the top down.
fn order(picture: &Picture, names: &[&str]) -> Result<Vec<String>, roxmltree::Error> {
    let texts = texts(picture)?.into_iter();
    Ok(texts
        .filter(|text| names.contains(&text.as_str()))
        .collect())
}

#[test]
fn bars_stand_by_load_or_by_name_as_people_count() -> Outcome {
    let keys = Keys::template("{i}", 0..5000)?;
    let names = ["node-1", "node-2", "node-9", "node-10", "node-11"];
    let ring = Ring::with_points(names.map(Node::new), 4)?;
    let balance = balance("ring", &ring, &keys, &Assignment::of(&ring, &keys));
    let scene = BarScene::new(&balance, Measure::Keys);
    let by_name = plot::bars(&scene.with_order(BarOrder::Name))?;
    assert_eq!(order(&by_name, &names)?, names);
    let mut loads: Vec<_> = balance
        .nodes
        .iter()
        .map(|node| (node.keys, node.name.clone()))
        .collect();
    loads.sort();
    let fullest: Vec<_> = loads.into_iter().rev().map(|(_, name)| name).collect();
    assert_eq!(order(&plot::bars(&scene)?, &names)?, fullest);
    Ok(())
}

#[test]
fn weights_are_shown_where_they_differ() -> Outcome {
    let keys = Keys::template("{i}", 0..1000)?;
    for (weights, shown) in [([1, 1, 1], false), ([1, 2, 1], true)] {
        let nodes = (0..3)
            .zip(weights)
            .map(|(i, weight)| Node::new(format!("n{i}")).with_weight(weight));
        let ring = Ring::with_points(nodes, 4)?;
        let balance = balance("ring", &ring, &keys, &Assignment::of(&ring, &keys));
        let bars = plot::bars(&BarScene::new(&balance, Measure::Keys))?;
        for picture in [bars, draw(&ring, None, &keys, &[])?.0] {
            assert_eq!(texts(&picture)?.iter().any(|text| text == "weight"), shown);
        }
    }
    Ok(())
}
