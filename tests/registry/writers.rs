//! Configurations that are written read back as the same servers and the same routes.

use hashroute::compat::{self, Server};
use hashroute::registry::{Params, Scheme, Setup};
use hashroute::{Error, Router};

use crate::dialects::keys;

/// Returns all combinations of the parameters that take one of a few words, up to some hundreds.
fn settings(dialect: &Scheme) -> Vec<Params> {
    let mut all = vec![Params::default()];
    for param in dialect
        .params
        .iter()
        .filter(|param| !param.values.is_empty())
    {
        let with = |params: &Params| {
            let params = params.clone();
            let values = param.values.iter();
            values.map(move |value| params.clone().with(param.name, *value))
        };
        all = all.iter().flat_map(with).collect();
    }
    all
}

/// Returns pools of servers: plain, with weights, with labels, with a server that is down.
fn pools() -> Vec<Vec<Server>> {
    let plain = |i: u32| Server::new(format!("10.0.0.{}:11212", 9 - i));
    let pool = |of: fn(Server, u32) -> Server| (0..4).map(|i| of(plain(i), i)).collect::<Vec<_>>();
    vec![
        pool(|server, _| server),
        pool(|server, i| server.with_weight(1 + i)),
        pool(|server, i| server.with_label(format!("{}", 7 + i))),
        pool(|server, i| server.with_label(format!("cache-{i}"))),
        pool(|server, i| if i == 2 { server.down() } else { server }),
        pool(|server, i| Server::new(format!("[fd00::{i:x}]:80")).with_weight(server.weight())),
    ]
}

fn routes(dialect: &Scheme, router: &dyn Router) -> Vec<Option<String>> {
    let name = |key: Vec<u8>| Some(router.route(&key)?.name().to_owned());
    keys(dialect, 500).map(name).collect()
}

#[test]
fn a_written_configuration_reads_back_as_the_same_pool() -> Result<(), Error> {
    for dialect in compat::ALL.iter().filter(|dialect| dialect.writes_config()) {
        let mut written = 0;
        for params in settings(dialect) {
            for servers in pools() {
                let setup = Setup::new(dialect, servers, params.clone());
                let Ok(text) = dialect.write(&setup, "pool") else {
                    continue;
                };
                let read = dialect.read(&text)?.remove(0);
                assert!(read.unknown().is_empty(), "{text}");
                assert_eq!(read.servers(), setup.servers(), "{text}");
                let routers = [read.build()?, setup.build()?];
                let [ours, theirs] = routers.map(|router| routes(dialect, &*router));
                assert_eq!(ours, theirs, "{} {params:?}\n{text}", dialect.name);
                written += 1;
            }
        }
        // Each system can state at least plain servers with most of its settings.
        assert!(written >= settings(dialect).len() / 4, "{}", dialect.name);
        assert!(written >= 4, "{} {written}", dialect.name);
    }
    Ok(())
}

/// A text that would be read as something else is refused, not written.
#[test]
fn what_a_configuration_cannot_state_is_refused() -> Result<(), Error> {
    let refused = |dialect: &str, server: Server, params: Params| {
        let dialect = compat::find(dialect)?;
        let setup = Setup::new(dialect, [server], params);
        assert!(dialect.write(&setup, "pool").is_err(), "{setup:?}");
        Ok::<_, Error>(())
    };
    let none = Params::default;
    for dialect in ["haproxy", "nginx", "envoy", "twemproxy", "libmemcached"] {
        for name in ["a b:80", "a:80; down", "a:80\nx", "a:80 # x", "a\":80"] {
            refused(dialect, Server::new(name), none())?;
        }
    }
    refused("twemproxy", Server::new("no-port"), none())?;
    refused("twemproxy", Server::new("a:1").down(), none())?;
    refused(
        "twemproxy",
        Server::new("a:1"),
        none().with("char", "unsigned"),
    )?;
    refused("nginx", Server::new("a:1").with_label("b"), none())?;
    refused("envoy", Server::new("cache:80"), none())?;
    let katran = compat::find("katran")?;
    let setup = Setup::new(katran, ["10.0.0.1"], none());
    assert!(katran.write(&setup, "pool").is_err());
    Ok(())
}
