//! What a client routes with, and how old that is.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hashroute::shared::Shared;
use hashroute::{KeyHash, Node, Router, Spec};

use crate::Fallible;

/// The router of the last good Spec, and when that was last what etcd has. Times are the caller's:
/// of any clock that only goes forward.
#[derive(Debug)]
pub(crate) struct View {
    router: Shared<Box<dyn Router>>,
    /// Beside the router, for reports: no lookup waits for this lock.
    known: Mutex<Known>,
}

#[derive(Debug)]
struct Known {
    /// Of etcd: revisions of another count something else.
    cluster: u64,
    /// As it was put.
    text: Vec<u8>,
    fingerprint: u64,
    /// When etcd last had what we have.
    confirmed: Duration,
    /// Whether it has something else by now.
    behind: bool,
}

impl View {
    /// Route with the Spec in this text; the revision of its key in this cluster is the epoch.
    pub(crate) fn new(cluster: u64, text: &[u8], revision: u64, now: Duration) -> Fallible<Self> {
        let (spec, router) = read(text)?;
        Ok(Self {
            router: Shared::with_epoch(router, revision),
            known: Mutex::new(Known {
                cluster,
                text: text.to_vec(),
                fingerprint: spec.fingerprint(),
                confirmed: now,
                behind: false,
            }),
        })
    }

    /// For the threads that route: they take a reader each.
    pub(crate) fn shared(&self) -> &Shared<Box<dyn Router>> {
        &self.router
    }

    /// Refuse to follow another cluster than before.
    pub(crate) fn check_cluster(&self, cluster: u64) -> Fallible<()> {
        let known = self.known().cluster;
        if cluster != known {
            let other = format!("cluster {cluster:016x} is not {known:016x}, which was followed");
            return Err(format!("{other}: start this client again to follow it").into());
        }
        Ok(())
    }

    /// Route with this text from now on, and say whether it is another one. What is refused is not
    /// routed with: no Spec, one of a version that is not known, one of an earlier revision, and
    /// another one of the same revision.
    pub(crate) fn swap(&self, text: &[u8], revision: u64, now: Duration) -> Fallible<bool> {
        self.missed();
        let new = revision != self.router.pin().epoch();
        if new {
            let (spec, router) = read(text)?;
            let mut known = self.known();
            self.router.publish(router, revision)?;
            known.fingerprint = spec.fingerprint();
            known.text = text.to_vec();
        } else if self.known().text != text {
            // etcd lost its data, and counts anew.
            let what = "another text has the revision that we have";
            return Err(format!("{what}: start this client again to follow it").into());
        }
        self.known().behind = false;
        self.heard(now);
        Ok(new)
    }

    /// etcd has something that we do not route with; what we have ages from now on.
    pub(crate) fn missed(&self) {
        self.known().behind = true;
    }

    /// etcd has answered, with no news.
    pub(crate) fn heard(&self, now: Duration) {
        let mut known = self.known();
        if !known.behind {
            known.confirmed = now;
        }
    }

    pub(crate) fn report(&self, now: Duration) -> Report {
        let known = self.known();
        let router = self.router.pin();
        let (fingerprint, confirmed) = (known.fingerprint, known.confirmed);
        drop(known);
        Report {
            epoch: router.epoch(),
            fingerprint,
            routes: digest(&**router),
            age: now.saturating_sub(confirmed),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // Nobody panics while it is held.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a client says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Report {
    epoch: u64,
    fingerprint: u64,
    /// A hash of where 10,000 keys go.
    routes: u64,
    /// Since this was last known to be what etcd has.
    age: Duration,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "epoch {} fingerprint {:016x} routes {:016x} age {:.3} s",
            self.epoch,
            self.fingerprint,
            self.routes,
            self.age.as_secs_f64()
        )
    }
}

pub(crate) fn read(text: &[u8]) -> Fallible<(Spec, Box<dyn Router>)> {
    Ok(Spec::read(std::str::from_utf8(text)?)?)
}

/// The owners of `user:0` to `user:9999`, a name on each line, hashed.
fn digest(router: &dyn Router) -> u64 {
    let mut owners = String::new();
    for i in 0..10_000 {
        let key = format!("user:{i}");
        owners.push_str(router.route(key.as_bytes()).map_or("-", Node::name));
        owners.push('\n');
    }
    KeyHash::from_bytes(owners.as_bytes()).get()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "format = 1\nvalues = 1\nstrategy = \"ring\"\nnode = [{ name = \"a\" }, { name = \"b\" }]\n";

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn what_is_refused_changes_nothing() {
        let view = View::new(7, TWO.as_bytes(), 57, seconds(1)).unwrap();
        let before = view.report(seconds(1));
        let later = TWO.replace("format = 1", "format = 2");
        for (text, words) in [
            ("no spec", "expected"),
            (&*later, "format"),
            ("format = 1\nvalues = 1\nstrategy = \"wheel\"", "wheel"),
            (&*TWO.replace("\"b\"", "\"a\""), "\"a\""),
        ] {
            let refused = view
                .swap(text.as_bytes(), 58, seconds(2))
                .unwrap_err()
                .to_string();
            assert!(refused.contains(words), "{refused}");
        }
        assert!(view.swap(b"\xff", 58, seconds(2)).is_err());
        let stale = view
            .swap(TWO.as_bytes(), 56, seconds(2))
            .unwrap_err()
            .to_string();
        assert!(stale.contains("stale"), "{stale}");
        assert_eq!(view.report(seconds(1)), before);
    }

    #[test]
    fn a_revision_is_taken_once_and_never_for_another_text() {
        let view = View::new(7, TWO.as_bytes(), 57, seconds(0)).unwrap();
        let before = view.report(seconds(0));
        let three = TWO.replace("}]", "}, { name = \"c\" }]");
        assert!(!view.swap(TWO.as_bytes(), 57, seconds(0)).unwrap());
        assert_eq!(view.report(seconds(0)), before);

        // Of an etcd that lost its data: what we have is not what it has.
        let other = view.swap(three.as_bytes(), 57, seconds(2)).unwrap_err();
        assert!(other.to_string().contains("another text"), "{other}");
        view.heard(seconds(3));
        assert_eq!(view.report(seconds(0)), before);
        assert_eq!(view.report(seconds(3)).age, seconds(3));

        assert!(view.swap(three.as_bytes(), 60, seconds(0)).unwrap());
        let after = view.report(seconds(0));
        assert_eq!(after.epoch, 60);
        assert_ne!(after.fingerprint, before.fingerprint);
        assert_ne!(after.routes, before.routes);
    }

    #[test]
    fn another_cluster_is_not_followed() {
        let view = View::new(7, TWO.as_bytes(), 57, seconds(0)).unwrap();
        assert!(view.check_cluster(7).is_ok());
        let other = view.check_cluster(8).unwrap_err().to_string();
        assert!(
            other.contains("0000000000000008 is not 0000000000000007"),
            "{other}"
        );
    }

    #[test]
    fn the_age_is_since_etcd_had_the_same() {
        let view = View::new(7, TWO.as_bytes(), 1, seconds(10)).unwrap();
        let age = |now| view.report(seconds(now)).age;
        assert_eq!(age(13), seconds(3));
        view.heard(seconds(13));
        assert_eq!(age(13), seconds(0));
        view.swap(TWO.as_bytes(), 2, seconds(15)).unwrap();
        assert_eq!(age(16), seconds(1));

        // It answers, but with what we do not take.
        assert!(view.swap(b"no spec", 3, seconds(17)).is_err());
        view.heard(seconds(18));
        assert_eq!(age(18), seconds(3));
        view.swap(TWO.as_bytes(), 4, seconds(19)).unwrap();
        view.heard(seconds(20));
        assert_eq!(age(20), seconds(0));
    }
}
