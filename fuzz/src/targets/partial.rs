//! Partial files: counts and evidence, written, damaged, sealed again, read and merged.

use std::sync::OnceLock;

use arbitrary::Unstructured;
use hashroute::{Node, Rendezvous, Ring, Router};
use hashroute_harness::skew::{Gatherer, Part};
use hashroute_harness::stream::{Consumer, CountSetup, Counter, Tally};
use hashroute_harness::{InputError, Keys};
use xxhash_rust::xxh3::xxh3_64;

use crate::Outcome;
use crate::draw::{Draw, damage, damages};

/// A router with its set-up, which routes a thousand keys to tell set-ups apart: made once.
struct Made {
    name: &'static str,
    router: Box<dyn Router>,
    setup: CountSetup,
}

fn made(u: &mut Unstructured<'_>) -> &'static Made {
    static ALL: OnceLock<Vec<Made>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let nodes = |count| (0..count).map(|i| Node::new(format!("n{i}")).with_weight(i + 1));
        let ring = |count| -> Box<dyn Router> {
            Box::new(Ring::with_points(nodes(count), 2).expect("a ring"))
        };
        let rendezvous =
            |count| -> Box<dyn Router> { Box::new(Rendezvous::new(nodes(count)).expect("nodes")) };
        let rows = [
            ("ring", ring(1)),
            ("ring", ring(3)),
            ("rendezvous", rendezvous(2)),
        ];
        let made = rows.map(|(name, router)| {
            let setup = CountSetup::new(name, &*router).expect("no loads");
            Made {
                name,
                router,
                setup,
            }
        });
        made.into()
    });
    &all[u.below(all.len())]
}

fn keys(u: &mut Unstructured<'_>, columns: usize) -> Keys {
    let mut keys = Keys::default();
    for _ in 0..u.below(8) {
        let key = match u.byte() {
            0..=127 => format!("user:{}", u.below(6)).into_bytes(),
            _ => u.key(),
        };
        keys.push(&key);
    }
    let numbers = |u: &mut Unstructured<'_>| (0..keys.len()).map(|_| u.odd_number() >> 8).collect();
    let (sizes, requests): (Vec<u64>, Vec<u64>) = (numbers(u), numbers(u));
    let mut keys = keys;
    if columns & 1 > 0 {
        keys = keys.with_sizes(sizes).expect("one for each");
    }
    if columns & 2 > 0 {
        keys = keys.with_requests(requests).expect("one for each");
    }
    keys
}

/// Damages the body of a line, and seals it with the checksum of what it is now: damage that the
/// checksum finds goes no further.
fn damage_sealed(u: &mut Unstructured<'_>, line: &mut Vec<u8>) {
    const BODY: &[u8] = b"\"body\":";
    const SEAL: &[u8] = b"\"xxh3\":\"";
    let find = |line: &[u8], what: &[u8]| {
        let at = line.windows(what.len()).position(|part| part == what)?;
        Some(at + what.len())
    };
    let (Some(start), Some(seal)) = (find(line, BODY), find(line, SEAL)) else {
        return;
    };
    let end = line.len() - 2; // }\n
    let mut body = line[start..end].to_vec();
    match u.byte() {
        // A digit for a digit: the form stays good.
        0..=191 => {
            let digits: Vec<_> = (0..body.len())
                .filter(|at| body[*at].is_ascii_digit())
                .collect();
            if !digits.is_empty() {
                for _ in 0..u.range(1, 3) {
                    body[digits[u.below(digits.len())]] = b'0' + u.byte() % 10;
                }
            }
        }
        _ => damage(u, &mut body),
    }
    let sum = format!("{:016x}", xxh3_64(&body));
    line.splice(start..end, body);
    line.splice(seal..seal + 16, sum.into_bytes());
}

fn text(error: &InputError) -> bool {
    !error.to_string().is_empty()
}

/// The counts of `balance --partial`.
pub(crate) fn tallies(u: &mut Unstructured<'_>) -> Outcome {
    let Made { name, router, .. } = made(u);
    let columns = u.below(4);
    let tally = |u: &mut Unstructured<'_>| {
        let mut counter = Counter::in_order(name, &**router);
        counter.add(&keys(u, columns));
        let mut tally = counter.into_tally();
        if u.chance(30) {
            tally.add_unreadable(u.odd_number() >> 8);
        }
        tally
    };
    let (first, second) = (tally(u), tally(u));
    let write = |tally: &Tally| {
        let mut bytes = Vec::new();
        tally.write(&mut bytes).expect("memory");
        bytes
    };
    let mut bytes = write(&first);
    let whole = bytes.clone();
    let damaged = damages(u);
    if damaged {
        if u.chance(200) {
            damage_sealed(u, &mut bytes);
        } else {
            damage(u, &mut bytes);
        }
    }
    let mut accepted = false;
    for read in Tally::read_all(bytes.as_slice()) {
        match read {
            Err(error) => {
                assert!(damaged && text(&error), "{error}");
                return Outcome::Refused;
            }
            Ok(read) => {
                accepted = true;
                let again = write(&read);
                assert!(damaged || again == whole);
                if let Some(Ok(twice)) = Tally::read_all(again.as_slice()).next() {
                    assert_eq!(write(&twice), again);
                } else {
                    panic!("what we wrote is not read: {}", again.escape_ascii());
                }
                if u.chance(60) {
                    judge(read, &second, &write);
                }
            }
        }
    }
    if accepted {
        Outcome::Accepted
    } else {
        Outcome::Refused
    }
}

/// Merges two tallies in both orders, and judges the sum.
fn judge(read: Tally, second: &Tally, write: &dyn Fn(&Tally) -> Vec<u8>) {
    let (mut one, mut other) = (read.clone(), second.clone());
    let sum = read.keys().saturating_add(second.keys());
    let merged = [one.merge(second.clone()), other.merge(read)];
    assert_eq!(merged[0].is_ok(), merged[1].is_ok());
    if merged[0].is_ok() {
        assert_eq!(one.keys(), sum);
        assert_eq!(write(&one), write(&other));
        let _ = one.balance();
    }
}

/// The evidence of `skew --partial`.
pub(crate) fn evidence(u: &mut Unstructured<'_>) -> Outcome {
    let Made { router, setup, .. } = made(u);
    let columns = u.below(4);
    let part = |u: &mut Unstructured<'_>| {
        let mut gatherer = Gatherer::new(&**router);
        gatherer.add(&keys(u, columns));
        Part::from(gatherer.into_evidence())
    };
    let (first, second) = (part(u), part(u));
    let write = |part: &Part| {
        let mut bytes = Vec::new();
        part.write(setup, &mut bytes).expect("memory");
        bytes
    };
    let mut bytes = write(&first);
    let whole = bytes.clone();
    let damaged = damages(u);
    if damaged {
        if u.chance(200) {
            damage_sealed(u, &mut bytes);
        } else {
            damage(u, &mut bytes);
        }
    }
    let mut accepted = false;
    for read in Part::read_all(&**router, setup, bytes.as_slice()) {
        match read {
            Err(error) => {
                assert!(damaged && text(&error), "{error}");
                return Outcome::Refused;
            }
            Ok(mut read) => {
                accepted = true;
                assert!(damaged || write(&read) == whole);
                let mut other = second.clone();
                let merged = [other.merge(read.clone()), read.merge(second.clone())];
                assert_eq!(merged[0].is_ok(), merged[1].is_ok());
                if merged[0].is_ok() {
                    assert_eq!(write(&read), write(&other));
                }
            }
        }
    }
    if accepted {
        Outcome::Accepted
    } else {
        Outcome::Refused
    }
}
