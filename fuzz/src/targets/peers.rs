//! The same function by another crate, or written slowly.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use arbitrary::Unstructured;
use hashroute::redis::SlotRule;
use hashroute::registry::Params;
use hashroute::strategy::{jump_hash, jump_hash_guava};
use hashroute::{HashSlots, Jump, KeyHash, KeyHasher, Node, NodeId, Router, Server, compat};
use pingora_ketama::{Bucket, Continuum};

use crate::Outcome;
use crate::draw::Draw;

/// Jump: the paper's loop in doubles, the crate `jump-consistent-hash`, our batch, Guava's form.
pub(crate) fn jump(u: &mut Unstructured<'_>) -> Outcome {
    let key = u.number();
    let buckets = match u.byte() {
        0..=199 => u.range(1, 300) as u32,
        200..=249 => u.below(1 << 20) as u32,
        _ => u32::from_le_bytes(u.take()),
    };
    let ours = jump_hash(key, buckets);
    if buckets == 0 {
        assert_eq!(ours, None);
        return Outcome::Accepted;
    }
    assert_eq!(ours, Some(paper(key, buckets)));
    assert_eq!(
        ours,
        Some(jump_consistent_hash::hash(key, buckets as usize))
    );
    let guava = jump_hash_guava(key, buckets).expect("a bucket");
    assert!(guava < buckets);
    // One bucket more moves a key to the new bucket or nowhere.
    if let Some(more) = buckets.checked_add(1) {
        let next = jump_hash(key, more);
        assert!(next == ours || next == Some(buckets));
    }
    if buckets <= 40 && u.chance(60) {
        let names = (0..buckets).map(|i| Node::new(format!("n{i}")));
        let router = Jump::new(names).expect("nodes");
        let keys: Vec<_> = (0..40)
            .map(|i| KeyHash::from_raw(key.wrapping_add(i)))
            .collect();
        let mut owners = vec![None; keys.len()];
        router.route_batch(&keys, &mut owners);
        for (key, owner) in keys.iter().zip(owners) {
            assert_eq!(
                owner.map(|id| id.index() as u32),
                jump_hash(key.get(), buckets)
            );
        }
    }
    Outcome::Accepted
}

/// The loop of the paper.
fn paper(mut key: u64, buckets: u32) -> u32 {
    let (mut bucket, mut next) = (-1_i64, 0_i64);
    while next < i64::from(buckets) {
        bucket = next;
        key = key.wrapping_mul(2_862_933_555_777_941_757).wrapping_add(1);
        next = ((bucket + 1) as f64 * ((1_i64 << 31) as f64 / ((key >> 33) + 1) as f64)) as i64;
    }
    bucket as u32
}

/// The slots of Redis: the crate `resp-rs`, and a division of polynomials bit by bit.
pub(crate) fn slots(u: &mut Unstructured<'_>) -> Outcome {
    let mut key = u.key();
    for _ in 0..u.below(4) {
        let at = u.below(key.len() + 1);
        key.insert(at, u.pick(b"{}"));
    }
    let slot = SlotRule::REDIS.slot(&key);
    assert_eq!(
        slot,
        u32::from(resp_rs::cluster::hash_slot(&key)),
        "{}",
        key.escape_ascii()
    );
    let part = KeyHasher::REDIS.part(&key);
    assert_eq!(
        KeyHasher::REDIS.raw(&key).get(),
        bitwise(part),
        "{}",
        key.escape_ascii()
    );
    if u.chance(8) {
        let table = HashSlots::with_slots(["a", "b", "c"], 100).expect("nodes");
        let table = table.with_hasher(KeyHasher::REDIS);
        let owner = table.route(&key).map(Node::name);
        let told = table
            .owner(table.slot(&key))
            .and_then(|id: NodeId| table.nodes().name(id));
        assert_eq!(owner, told);
    }
    Outcome::Accepted
}

fn bitwise(bytes: &[u8]) -> u64 {
    let mut crc = 0_u16;
    for byte in bytes {
        crc ^= u16::from(*byte) << 8;
        for _ in 0..8 {
            crc = if crc >> 15 == 1 {
                crc << 1 ^ 0x1021
            } else {
                crc << 1
            };
        }
    }
    crc.into()
}

/// nginx's ketama against the crate `pingora-ketama`, over some of sixteen servers: no two of them
/// have a point in common.
pub(crate) fn ketama(u: &mut Unstructured<'_>) -> Outcome {
    let (chosen, weighted) = (
        u16::from_le_bytes(u.take()) & u16::from_le_bytes(u.take()),
        u.chance(60),
    );
    let (mut servers, mut buckets) = (Vec::new(), Vec::new());
    for number in (0..16_u8).filter(|number| chosen >> number & 1 == 1) {
        let address = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, number)), 8080);
        let weight = if weighted { u.range(1, 3) as u32 } else { 1 };
        servers.push(Server::new(address.to_string()).with_weight(weight));
        buckets.push(Bucket::new(address, weight));
    }
    if servers.is_empty() {
        return Outcome::Refused;
    }
    let nginx = compat::find("nginx").expect("a dialect");
    let pool = nginx.build(servers, &Params::default()).expect("a pool");
    let peer = Continuum::new(&buckets);
    for _ in 0..16 {
        let key = u.key();
        if key.is_empty() {
            continue; // nginx balances it by turns
        }
        let theirs = peer.node(&key).map(|address| address.to_string());
        assert_eq!(
            pool.route(&key).map(Node::name),
            theirs.as_deref(),
            "{}",
            key.escape_ascii()
        );
    }
    Outcome::Accepted
}
