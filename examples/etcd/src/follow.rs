//! A client follows the key: it watches, swaps, and keeps what it has while etcd is away.

use std::convert::Infallible;
use std::time::Duration;

use etcd_client::{Client, KeyValue, ResponseHeader, WatchOptions};
use tokio::time::{sleep, timeout};

use crate::Fallible;
use crate::store::connect;
use crate::view::{Report, View};

/// After this long without news etcd is asked for a sign, and has as long again to give it.
const QUIET: Duration = Duration::from_secs(1);

/// Between two attempts to reach etcd.
const PAUSE: Duration = Duration::from_secs(1);

/// A client and the key it follows.
#[derive(Debug)]
pub(crate) struct Follower<'a, C> {
    pub(crate) endpoint: &'a str,
    pub(crate) key: &'a str,
    pub(crate) view: &'a View,
    pub(crate) clock: C,
}

/// The first Spec: without one there is nothing to route with.
pub(crate) async fn start(endpoint: &str, key: &str, now: Duration) -> Fallible<View> {
    let answer = connect(endpoint).await?.get(key, None).await?;
    let found = answer.kvs().first();
    let found = found.ok_or_else(|| format!("there is no {key}; put it with `init`"))?;
    let cluster = header(answer.header())?.cluster_id();
    View::new(
        cluster,
        found.value(),
        u64::try_from(found.mod_revision())?,
        now,
    )
}

impl<C: Fn() -> Duration> Follower<'_, C> {
    pub(crate) async fn run(&self) -> Infallible {
        // For as long as the process lives.
        loop {
            let Err(lost) = self.connected().await;
            eprintln!("lost etcd: {lost}; routing with {}", self.report());
            sleep(PAUSE).await;
        }
    }

    /// One connection, until it is lost. It starts with reading the key, so that whatever was
    /// missed, compacted or not, is one swap; a new one each time, since a request on a dead one
    /// waits for nothing.
    async fn connected(&self) -> Fallible<Infallible> {
        let mut client = connect(self.endpoint).await?;
        let next = self.read(&mut client).await? + 1;
        let options = WatchOptions::new().with_start_revision(next);
        let mut watch = client.watch(self.key, Some(options)).await?;
        let mut asked = false;
        // Each turn waits for etcd, or for QUIET.
        loop {
            let Ok(answer) = timeout(QUIET, watch.message()).await else {
                if asked {
                    return Err("no answer".into());
                }
                watch.request_progress().await?;
                asked = true;
                continue;
            };
            let answer = answer?.ok_or("the watch has ended")?;
            if answer.canceled() {
                return Err(cancelled(answer.compact_revision(), answer.cancel_reason()));
            }
            asked = false;
            for event in answer.events() {
                self.take(event.kv());
            }
            self.view.heard((self.clock)());
        }
    }

    /// Take what the key has now, and give the revision of the store that it was read at.
    async fn read(&self, client: &mut Client) -> Fallible<i64> {
        let answer = client.get(self.key, None).await?;
        let header = header(answer.header())?;
        self.view.check_cluster(header.cluster_id())?;
        self.take(answer.kvs().first());
        Ok(header.revision())
    }

    /// Swap, or say why not.
    fn take(&self, found: Option<&KeyValue>) {
        // In an event, version 0 is a key that was deleted.
        let Some(found) = found.filter(|found| found.version() > 0) else {
            self.view.missed();
            eprintln!("{} is gone; routing with {}", self.key, self.report());
            return;
        };
        let revision = found.mod_revision();
        let swapped = u64::try_from(revision)
            .map_err(Into::into)
            .and_then(|revision| self.view.swap(found.value(), revision, (self.clock)()));
        match swapped {
            Ok(true) => println!("{}", self.report()),
            Ok(false) => {}
            Err(error) => eprintln!(
                "revision {revision} is refused: {error}; routing with {}",
                self.report()
            ),
        }
    }

    fn report(&self) -> Report {
        self.view.report((self.clock)())
    }
}

fn header(header: Option<&ResponseHeader>) -> Fallible<&ResponseHeader> {
    header.ok_or_else(|| "an answer without a header".into())
}

fn cancelled(compacted: i64, reason: &str) -> Box<dyn std::error::Error> {
    if compacted > 0 {
        return format!("the history before revision {compacted} is compacted").into();
    }
    format!("the watch is cancelled: {reason}").into()
}
