//! A spec is a router as text. Equal fingerprints mean equal routes.

mod fingerprints;
mod golden;
mod identity;
mod order;
mod refusals;

use hashroute::Spec;

/// Reads a spec and checks that it survives every format.
fn read(text: &str) -> Spec {
    let parse = |text: &str| match text.parse::<Spec>() {
        Ok(spec) => spec,
        Err(error) => panic!("{error}: {text}"),
    };
    let spec = parse(text);
    let through = parse(&parse(&spec.to_toml()).to_json());
    assert_eq!(through.canonical(), spec.canonical());
    assert_eq!(through.to_toml(), spec.to_toml());
    let serde = serde_json::to_string(&spec).expect("JSON");
    let serde: Spec = serde_json::from_str(&serde).expect("what was just written");
    assert_eq!(serde.to_json(), spec.to_json());
    spec
}
