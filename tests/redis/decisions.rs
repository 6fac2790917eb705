//! Each recorded request is decided as the real server did, with the table that it printed.

use std::collections::HashMap;

use hashroute::redis::{Command, CoverageRule, Decision, Health, Request, SlotRule, Table};
use serde_json::Value;

use crate::printed;
use hashroute_test_support::Outcome;

#[test]
fn every_recorded_request_is_answered_as_the_server_did() -> Outcome {
    let file: Value = serde_json::from_str(&printed("decisions.json")?)?;
    let mut checked = 0;
    for scenario in array(&file["scenarios"]) {
        let views = scenario["views"].as_object().ok_or("no views")?;
        let views: Result<HashMap<&str, Table>, _> = views
            .iter()
            .map(|(port, text)| {
                let text = text.as_str().unwrap_or_default();
                Table::from_nodes_text(text, SlotRule::REDIS).map(|table| (&**port, table))
            })
            .collect();
        let (views, policy) = (views?, policy(&scenario["settings"]));
        for case in array(&scenario["cases"]) {
            let view = views.get(&*case[0].to_string()).ok_or("no view")?;
            let answer = answer(view, policy, case)?;
            assert_eq!(
                Some(&*answer),
                case[6].as_str(),
                "{} {case}",
                scenario["name"]
            );
            checked += 1;
        }
    }
    assert!(checked > 1000, "{checked} requests");
    Ok(())
}

/// The recorded requests do not include `MIGRATE` and sharded channels.
#[test]
fn migrations_and_channels_have_rules_of_their_own() -> Outcome {
    let text = "a h:1@1 myself,master - 0 0 1 connected 0-16383 [12182->-b]\n\
                b h:2@1 master - 0 0 2 connected\n\
                c h:3@1 slave a 0 0 1 connected\n";
    let table = Table::from_nodes_text(text, SlotRule::REDIS)?;
    let decide = |server, command, health, policy| {
        let request = Request::new(command, &[b"foo"]);
        table.decide(server, &request, health, policy, |_| false)
    };
    let (healthy, policy) = (Health::Ok, CoverageRule::default());
    // A channel has no keys that could be missing.
    assert_eq!(
        decide("a", Command::Channel, healthy, policy)?,
        Decision::Serve
    );
    assert!(matches!(
        decide("a", Command::Read, healthy, policy)?,
        Decision::Ask { .. }
    ));
    assert_eq!(
        decide("a", Command::Migrate, healthy, policy)?,
        Decision::Serve
    );
    // A replica serves channels to every client, and reads after READONLY.
    assert_eq!(
        decide("c", Command::Channel, healthy, policy)?,
        Decision::Serve
    );
    assert!(matches!(
        decide("c", Command::Read, healthy, policy)?,
        Decision::Moved { .. }
    ));
    // MIGRATE is a write.
    let reads = policy.with_reads_when_down(true);
    let down = Health::Minority;
    assert_eq!(
        decide("a", Command::Migrate, down, reads)?,
        Decision::DownReadOnly
    );
    assert_eq!(decide("a", Command::Migrate, down, policy)?, Decision::Down);
    Ok(())
}

fn policy(settings: &Value) -> CoverageRule {
    CoverageRule::default()
        .with_require_full_coverage(settings["require_full_coverage"] == true)
        .with_reads_when_down(settings["reads_when_down"] == true)
}

/// Decides a case: `server, asking, readonly, write, keys, keys present, answer`.
fn answer(
    view: &Table,
    policy: CoverageRule,
    case: &Value,
) -> Result<String, Box<dyn core::error::Error>> {
    let texts = |value: &Value| -> Vec<Vec<u8>> {
        let texts = array(value).iter().filter_map(Value::as_str);
        texts.map(|text| text.as_bytes().to_vec()).collect()
    };
    let (keys, present) = (texts(&case[4]), texts(&case[5]));
    let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
    let command = if case[3] == true {
        Command::Write
    } else {
        Command::Read
    };
    let request = Request::new(command, &keys)
        .asking(case[1] == true)
        .readonly(case[2] == true);
    let server = view.myself().ok_or("a view without its server")?;
    let holds = |key: &[u8]| present.iter().any(|held| held == key);
    let decision = view.decide(server.id(), &request, view.health(policy), policy, holds)?;
    Ok(decision
        .wire(hashroute::redis::Endpoint::Ip)
        .unwrap_or("served".into()))
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], |array| array)
}
