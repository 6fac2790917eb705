//! The Spec as one key of etcd: reading it, and changing it against its revision.

use std::time::Duration;

use etcd_client::{Client, Compare, CompareOp, ConnectOptions, Txn, TxnOp};
use hashroute::{Change, Spec};

use crate::Fallible;
use crate::view::read;

/// How long etcd may take for an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often a writer may find that another was first.
const TRIES: u32 = 100;

/// A change that was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Made {
    pub(crate) epoch: u64,
    /// One, and one more for each race that was lost.
    pub(crate) tries: u32,
}

pub(crate) async fn connect(endpoint: &str) -> Fallible<Client> {
    let options = ConnectOptions::new()
        .with_connect_timeout(PATIENCE)
        .with_timeout(PATIENCE)
        // A member that is cut off from the others says so, and does not keep us with old news.
        .with_require_leader(true);
    Ok(Client::connect([endpoint], Some(options)).await?)
}

/// Put the first Spec, where there is none.
pub(crate) async fn create(endpoint: &str, key: &str, spec: &Spec) -> Fallible<u64> {
    let epoch = put_if(&mut connect(endpoint).await?, key, spec, 0).await?;
    epoch.ok_or_else(|| format!("{key} is there already; change it with `write`").into())
}

/// Make a change to what is there now. When another writer was first, read what it left and make
/// the change to that: no change is lost, and none is made to a state that nobody has seen.
///
/// Each change has a connection of its own, since one that was left open may be dead by now. When
/// it breaks before the answer it is open whether the change was made: look before you
/// repeat it.
pub(crate) async fn change(endpoint: &str, key: &str, change: &Change) -> Fallible<Made> {
    let mut client = connect(endpoint).await?;
    for tries in 1..=TRIES {
        let answer = client.get(key, None).await?;
        let found = answer.kvs().first();
        let found = found.ok_or_else(|| format!("there is no {key}; put it with `init`"))?;
        let (mut spec, _) = read(found.value())?;
        spec.apply(change)?;
        if let Some(epoch) = put_if(&mut client, key, &spec, found.mod_revision()).await? {
            return Ok(Made { epoch, tries });
        }
    }
    Err(format!("others were first {TRIES} times in a row; try again when they are done").into())
}

/// Put the Spec unless the key has changed since `seen`, and give the revision that it has then;
/// 0 is the revision of a key that is not there.
async fn put_if(client: &mut Client, key: &str, spec: &Spec, seen: i64) -> Fallible<Option<u64>> {
    let transaction = Txn::new()
        .when([Compare::mod_revision(key, CompareOp::Equal, seen)])
        .and_then([TxnOp::put(key, spec.to_toml(), None)]);
    let answer = client.txn(transaction).await?;
    if !answer.succeeded() {
        return Ok(None);
    }
    let header = answer.header().ok_or("an answer without a revision")?;
    Ok(Some(u64::try_from(header.revision())?))
}
