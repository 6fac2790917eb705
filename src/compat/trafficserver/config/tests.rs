use alloc::string::ToString;
use alloc::vec::Vec;

use crate::registry::{Config, Params};
use crate::{Error, Router, Server, compat};

const PARENTS: &str = r#"
# a comment
dest_domain=. method=get parent="p1.example:80|0.5&zeta; p2.example:8080, p3.example:80|2&a|b" round_robin=consistent_hash go_direct=false qstring=ignore
dest_domain=other.example parent="q:1" round_robin=strict
url_regex=img scheme=http primary_parent=q1:1,q2:1 round_robin=Consistent_Hash frob=1 secondary_parent="r:1"
dest_domain=. port=81 parent=q1:1 round_robin=consistent_hash
"#;

const STRATEGIES: &str = "
hosts:
  - &p1
    host: p1.example
    hash_string: zeta
    protocol:
      - scheme: https
        port: 443
      - scheme: http
        port: 80
  - &p2
    host: p2.example
    protocol: [{port: 8080}]
groups:
  - &near
    - <<: *p1
      weight: 0.5
    - <<: *p2
      weight: 2.0
strategies:
  - strategy: 'by-path'
    policy: consistent_hash
    go_direct: false
    groups: [*near]
    failover: {ring_mode: exhaust_ring, response_codes: [404]}
  - strategy: 'by-query'
    policy: consistent_hash
    hash_key: path+query
    glow: true
    groups:
      - *near
      - *near
  - strategy: turns
    policy: rr_strict
    groups: [*near]
";

fn read(text: &str) -> Result<Vec<Config>, Error> {
    compat::find("trafficserver")?.read(text)
}

fn unknown(config: &Config) -> Vec<(usize, &str)> {
    let unknown = config.unknown().iter();
    unknown
        .map(|one| (one.line, one.text.split(':').next().unwrap_or_default()))
        .collect()
}

#[test]
fn the_rules_of_a_parent_config_are_read() -> Result<(), Error> {
    let configs = read(PARENTS)?;
    let names: Vec<_> = configs.iter().map(Config::name).collect();
    assert_eq!(names, [". (line 3)", "img", ". (line 6)"]);
    let expected = [
        Server::new("p1.example:80")
            .with_weight(5)
            .with_label("zeta"),
        Server::new("p2.example:8080").with_weight(10),
        Server::new("p3.example:80")
            .with_weight(20)
            .with_label("a|b"),
    ];
    assert_eq!(configs[0].servers(), expected);
    let params = Params::default()
        .with("qstring", "ignore")
        .with("weight-scale", "10");
    assert_eq!(configs[0].params(), &params);
    assert!(configs[0].unknown().is_empty());
    assert_eq!(unknown(&configs[1]), [(5, "frob"), (5, "secondary_parent")]);
    assert_eq!(configs[1].params(), &Params::default());
    for config in &configs {
        assert!(config.build()?.route(b"/a?b").is_some());
    }
    Ok(())
}

#[test]
fn strategies_are_read_through_anchors() -> Result<(), Error> {
    let configs = read(STRATEGIES)?;
    let names: Vec<_> = configs.iter().map(Config::name).collect();
    assert_eq!(names, ["by-path", "by-query"]);
    let expected = [
        Server::new("p1.example:80")
            .with_weight(5)
            .with_label("zeta"),
        Server::new("p2.example:8080").with_weight(20),
    ];
    for (config, query) in configs.iter().zip(["ignore", "nonempty"]) {
        assert_eq!(config.servers(), expected);
        let params = Params::default()
            .with("qstring", query)
            .with("weight-scale", "10");
        assert_eq!(config.params(), &params);
    }
    assert!(configs[0].unknown().is_empty());
    assert_eq!(unknown(&configs[1]), [(29, "glow"), (30, "groups")]);
    Ok(())
}

#[test]
fn both_files_give_the_same_routes() -> Result<(), Error> {
    let parents = "dest_domain=. parent=\"p1.example:80|0.5&zeta;p2.example:8080|2\" \
                   round_robin=consistent_hash";
    let (one, two) = (read(parents)?[0].build()?, read(STRATEGIES)?[1].build()?);
    for i in 0..500 {
        let key = alloc::format!("/a/{i}?q={i}");
        let name = |router: &dyn Router| {
            let owner = router.route(key.as_bytes());
            owner.map(|node| node.name().to_string())
        };
        assert_eq!(name(&*one), name(&*two), "{key}");
    }
    Ok(())
}

#[test]
fn parents_of_one_address_are_told_apart_by_hash_strings() -> Result<(), Error> {
    let rule = |parents: &str| {
        read(&alloc::format!(
            "dest_domain=. parent=\"{parents}\" round_robin=consistent_hash"
        ))
    };
    let configs = rule("a:80&x;a:80&y;b:80")?;
    let servers = configs[0].servers().iter();
    let names: Vec<_> = servers.map(Server::name).collect();
    assert_eq!(names, ["x", "y", "b:80"]);
    assert!(rule("a:80;a:80").is_err() && rule("a:80&x;a:80&x").is_err());
    Ok(())
}

#[test]
fn an_error_names_its_line() {
    let rule = |parents: &str| {
        alloc::format!("\ndest_domain=. parent={parents} round_robin=consistent_hash")
    };
    for (text, start) in [
        (rule("a"), "line 2: parent \"a\""),
        (rule("a:x"), "line 2: port \"x\""),
        (rule("a:0"), "line 2: port \"0\""),
        (rule("a:80|x"), "line 2: weight \"x\""),
        (rule("a:80|-1"), "line 2: weight \"-1\""),
        (rule("a:80|"), "line 2: weight \"\""),
        (rule("a:80|0.0000000001"), "line 2: a weight has at most 9"),
        (rule("a:80|9999999999"), "line 2: weight"),
        (rule("a:80&"), "line 2: parent"),
        (rule(":80"), "line 2: parent"),
        (rule("\"\""), "line 2: a rule without parents"),
        (rule("\"a:80"), "line 2: a quote"),
        (rule("a:80 b"), "line 2: rule \"b\""),
        ("dest_domain=. parent=a:1".into(), "line 1: no rule"),
        (
            STRATEGIES.replace("path+query", "url"),
            "line 28: hash_key \"url\"",
        ),
        (
            STRATEGIES.replace("glow: true", "hash_algorithm: siphash13"),
            "line 29: hash_algorithm",
        ),
        (
            STRATEGIES.replace("host: p2.example", "hostname: x"),
            "line 18: a host without",
        ),
        (
            STRATEGIES.replace("{port: 8080}", "{scheme: http}"),
            "line 18: host \"p2.example\" without a port",
        ),
        (
            STRATEGIES.replace("weight: 2.0", "weight: heavy"),
            "line 19: weight \"heavy\"",
        ),
        (
            "#include hosts.yaml\nstrategies:\n  - {strategy: a, policy: consistent_hash, groups: [*x]}"
                .into(),
            "line 1: #include",
        ),
        ("hosts: []".into(), "line 1: expected a list of strategies"),
    ] {
        // The first pool that fails: the other ones are readable.
        let message = match read(&text) {
            Err(error) => error.to_string(),
            Ok(configs) => {
                let failed = configs.iter().find_map(Config::error);
                failed.map(ToString::to_string).unwrap_or_default()
            }
        };
        assert!(message.starts_with(start), "{text}: {message}");
    }
}
