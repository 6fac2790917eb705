//! Streams: parts add up to the whole, and what is counted exactly agrees with keys in memory.

use core::num::NonZero;

use hashroute::{BoundedLoad, HashTag, KeyHasher, Node, Rendezvous, Ring, Router};
use hashroute_harness::stream::{Consumer, CountSetup, Counter, KeySource, Reading, Tally, read};
use hashroute_harness::{Assignment, Balance, DumpFormat, Keys, Measure, balance};
use proptest::prelude::*;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128_with_seed};

fn ring() -> Ring {
    Ring::new((0..20).map(|i| Node::new(format!("n{i}")).with_weight(1 + i % 2))).expect("a ring")
}

fn tally(router: &dyn Router, keys: &Keys) -> Tally {
    let mut counter = Counter::new("ring", router).expect("no loads");
    counter.add(keys);
    counter.into_tally()
}

fn in_memory(router: &dyn Router, keys: &Keys) -> Balance {
    balance("ring", router, keys, &Assignment::of(router, keys))
}

/// Returns keys with sizes and requests: some occur twice, some carry nothing, one carries much.
fn mixed(count: u64) -> Keys {
    let mut keys = Keys::template("user:{i:07}:{i}", 0..count).expect("few");
    (0..count / 10).for_each(|i| keys.push(format!("again:{}", i % 7).as_bytes()));
    let len = keys.len() as u64;
    let sizes = (0..len).map(|i| if i == 5 { 40 * count } else { i % 100 });
    let requests = (0..len).map(|i| 1 + 1000 / (1 + i));
    let keys = keys.with_sizes(sizes.collect()).expect("small");
    keys.with_requests(requests.collect()).expect("small")
}

#[test]
fn up_to_its_capacity_a_stream_is_as_exact_as_memory() {
    let ring = ring();
    for count in [0, 1, 50, 3000, 65_529] {
        let keys = mixed(count);
        let streamed = tally(&ring, &keys).balance().expect("small sums");
        assert_eq!(streamed, in_memory(&ring, &keys), "{count}");
    }
}

#[test]
fn beyond_its_capacity_estimates_are_as_good_as_stated() {
    let ring = ring();
    for keys in [
        mixed(200_000),
        Keys::zipf(1, 300_000, 1 << 40, 0.7).expect("few"),
    ] {
        let tally = tally(&ring, &keys);
        let (found, exact) = (
            tally.balance().expect("small sums"),
            in_memory(&ring, &keys),
        );
        assert_eq!(found.nodes, exact.nodes);
        let errors = found.estimated.expect("beyond 65,536 keys");
        // Five standard errors: a probability below one in a million if errors are normal.
        let near = |found: f64, exact: f64, error: f64| {
            assert!(
                (found / exact - 1.0).abs() < 5.0 * error,
                "{found} {exact} {error}"
            );
        };
        let distinct = (found.distinct_keys as f64, exact.distinct_keys as f64);
        near(distinct.0, distinct.1, errors.distinct_keys_error);
        let both = errors
            .distinct_keys_error
            .hypot(errors.effective_keys_error);
        near(
            found.figures.effective_keys,
            exact.figures.effective_keys,
            both,
        );
        near(
            found.figures.keys_for_half as f64,
            exact.figures.keys_for_half as f64,
            0.01,
        );
        assert_eq!(found.verdict.cause, exact.verdict.cause);
        for (found, exact) in [
            (&found.bytes, &exact.bytes),
            (&found.requests, &exact.requests),
        ] {
            let (Some(found), Some(exact)) = (found, exact) else {
                continue;
            };
            near(
                found.effective_keys,
                exact.effective_keys,
                errors.effective_keys_error,
            );
            // Keys that are as large as the largest may come first by the error that is stated.
            let [first, largest] = [found, exact].map(|of| &of.largest[0]);
            let as_large = first.key.starts_with("again:") && largest.key.starts_with("again:");
            assert!(
                first.key == largest.key || as_large,
                "{first:?} {largest:?}"
            );
            let over = found.largest[0].share - exact.largest[0].share;
            assert!((0.0..errors.share_error).contains(&over), "{over}");
        }
    }
}

/// Writes everything that a tally reports.
fn said(tally: &Tally) -> String {
    let largest = Measure::Keys;
    let lists = [
        tally.largest_keys(largest, 100),
        tally.largest_templates(largest, 100),
        tally.largest_keys(Measure::Bytes, 100),
        tally.largest_keys(Measure::Requests, 100),
    ];
    let balance = tally.balance().expect("small sums");
    serde_json::to_string(&(balance, lists, tally.sample())).expect("plain data")
}

/// Returns the keys at these indexes.
fn part(keys: &Keys, indexes: impl Iterator<Item = usize>) -> Keys {
    let (mut part, mut sizes, mut requests) = (Keys::default(), Vec::new(), Vec::new());
    for index in indexes {
        part.push(keys.get(index).expect("a key"));
        sizes.push(keys.sizes().map_or(1, |sizes| sizes[index]));
        requests.push(keys.requests().map_or(1, |requests| requests[index]));
    }
    let part = part.with_sizes(sizes).expect("small");
    part.with_requests(requests).expect("small")
}

fn written(tally: &Tally) -> Vec<u8> {
    let mut file = Vec::new();
    tally.write(&mut file).expect("a vector takes all");
    file
}

fn read_back(file: &[u8]) -> Tally {
    let mut tallies = Tally::read_all(file);
    let tally = tallies.next().expect("one").expect("as written");
    assert!(tallies.next().is_none());
    tally
}

proptest! {
    #![proptest_config(hashroute_test_support::fixed(6))]

    #[test]
    fn parts_add_up_to_the_whole(
        count in prop_oneof![0_u64..500, 60_000_u64..80_000],
        parts in 1_usize..5,
        seed in any::<u64>(),
        on_paper in any::<bool>(),
    ) {
        let (ring, keys) = (ring(), mixed(count));
        let whole = tally(&ring, &part(&keys, 0..keys.len()));
        let of = |index: usize| {
            let seed = hashroute::hash::mix64(seed ^ index as u64);
            usize::try_from(seed % parts as u64).expect("small")
        };
        let mut sum: Option<Tally> = None;
        for number in 0..parts {
            let indexes = (0..keys.len()).rev().filter(|&index| of(index) == number);
            let mut part = tally(&ring, &part(&keys, indexes));
            if on_paper {
                part = read_back(&written(&part));
            }
            match &mut sum {
                Some(sum) => sum.merge(part).expect("one setup"),
                None => sum = Some(part),
            }
        }
        prop_assert!(said(&sum.expect("a part")) == said(&whole));
    }

    #[test]
    fn a_damaged_file_is_an_error(cut in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut file = written(&tally(&ring(), &mixed(20)));
        let index = cut.index(file.len());
        let before = core::mem::replace(&mut file[index], byte);
        // Every byte counts except the line feed.
        let read = Tally::read_all(&file[..]).next();
        let changed = byte != before && index + 1 < file.len();
        prop_assert_eq!(read.is_some_and(|read| read.is_err()), changed);
        file.truncate(index);
        prop_assert!(Tally::read_all(&file[..]).all(|tally| tally.is_err()));
    }
}

#[test]
fn threads_and_files_do_not_change_the_counts() {
    let ring = ring();
    let keys = Keys::template("user:{i}", 0..80_000).expect("few");
    let lines: Vec<u8> = keys.iter().flat_map(|key| [key, b"\n"].concat()).collect();
    let whole = said(&tally(&ring, &keys));
    for threads in [1, 3] {
        let how = Reading::default().with_threads(NonZero::new(threads));
        let counter = Counter::new("ring", &ring).expect("no loads");
        let template = KeySource::template("user:{i}", 0..80_000).expect("a template");
        let json = lines
            .split(|byte| *byte == b'\n')
            .filter(|key| !key.is_empty());
        let json: Vec<u8> = json
            .flat_map(|key| [b"\"", key, b"\"\n"].concat())
            .collect();
        let csv = [b"key\n", &lines[..]].concat();
        let sources = [
            template,
            KeySource::lines(&lines[..]),
            KeySource::jsonl(&json[..]),
            KeySource::csv(&csv[..]).expect("a header"),
        ];
        for source in sources {
            let (counter, bad) = read(source, &counter, &how).expect("readable");
            assert_eq!(bad.count, 0);
            assert!(said(&counter.into_tally()) == whole, "{threads}");
        }
    }
}

#[test]
fn bad_lines_are_counted_with_their_numbers_or_refused() {
    let jsonl: String = (1..100_001)
        .map(|line| {
            if line % 1000 == 0 {
                "?\n".into()
            } else {
                format!("\"{line}\"\n")
            }
        })
        .collect();
    let ring = ring();
    let counter = Counter::new("ring", &ring).expect("no loads");
    let source = || KeySource::jsonl(jsonl.as_bytes());
    let (found, bad) = read(source(), &counter, &Reading::default()).expect("passed over");
    let lines: Vec<_> = bad.first.iter().map(|bad| bad.line).collect();
    assert_eq!(
        (bad.count, lines),
        (100, vec![1000, 2000, 3000, 4000, 5000])
    );
    assert_eq!(found.into_tally().keys(), 99_900);
    let strict = Reading::default().with_strict(true);
    let error = read(source(), &counter, &strict).expect_err("bad lines");
    assert!(error.to_string().starts_with("line 1000: "), "{error}");

    let csv = &b"key,size\na,1\nb\nc,x\nd,2\n\"e,3\n"[..];
    let source = || KeySource::csv(csv).expect("a header");
    let (found, bad) = read(source(), &counter, &Reading::default()).expect("passed over");
    let lines: Vec<_> = bad.first.iter().map(|bad| bad.line).collect();
    assert_eq!((bad.count, lines), (3, vec![3, 4, 6]));
    let balance = found.into_tally().balance().expect("small sums");
    assert_eq!(
        (balance.keys, balance.bytes.map(|bytes| bytes.total)),
        (2, Some(3))
    );
    let error = read(source(), &counter, &strict).expect_err("bad lines");
    assert!(error.to_string().starts_with("line 3: "), "{error}");
}

#[test]
fn counts_of_different_setups_are_not_added() {
    let keys = Keys::template("{i}", 0..100).expect("few");
    let rings = [
        ring(),
        Ring::new([Node::new("n1")]).expect("a ring"),
        Ring::with_points(
            (0..20).map(|i| Node::new(format!("n{i}")).with_weight(1 + i % 2)),
            40,
        )
        .expect("a ring"),
    ];
    let [whole, few, coarse] = rings.each_ref().map(|ring| tally(ring, &keys));
    let mut sum = whole.clone();
    let mut refused = |other: Tally, why: &str| {
        let error = sum.merge(other).expect_err(why).to_string();
        assert!(error.contains(why), "{error}");
    };
    refused(few, "node = ");
    refused(coarse, "parameters");
    refused(tally(&rings[0], &mixed(9)), "key,size,requests");
    let mut other = Counter::new("circle", &rings[0]).expect("no loads");
    other.add(&keys);
    refused(other.into_tally(), "strategy = ");
    assert_eq!(said(&sum), said(&whole));
    let bounded = BoundedLoad::new(ring(), 1.25).expect("a factor");
    let error = Counter::new("bounded", &bounded).expect_err("it keeps loads");
    assert!(error.to_string().contains("loads"), "{error}");
    let mut counter = Counter::in_order("bounded", &bounded);
    counter.add(&keys);
    let streamed = counter.into_tally().balance().expect("small sums");
    let again = BoundedLoad::new(ring(), 1.25).expect("a factor");
    assert_eq!(
        streamed,
        balance("bounded", &again, &keys, &Assignment::of(&again, &keys))
    );
}

#[test]
fn sums_beyond_64_bits_are_an_error_in_every_case() {
    let ring = ring();
    let keys = |size| {
        let keys = Keys::template("{i}", 0..1).expect("few");
        keys.with_sizes(vec![size]).expect("below 2^64")
    };
    let mut sum = tally(&ring, &keys(u64::MAX));
    assert_eq!(
        sum.balance()
            .expect("just below")
            .bytes
            .map(|bytes| bytes.total),
        Some(u64::MAX)
    );
    sum.merge(tally(&ring, &keys(1))).expect("one setup");
    let error = sum.balance().expect_err("beyond");
    assert!(
        error.to_string().contains("18446744073709551616"),
        "{error}"
    );
}

#[test]
fn templates_and_heavy_keys_are_found_beyond_exact_counting() {
    let mut keys = Keys::template("user:{i}:cart", 0..90_000).expect("few");
    (0..10_000).for_each(|i| keys.push(format!("session:{i}").as_bytes()));
    (0..5000).for_each(|_| keys.push(b"hot"));
    let tally = tally(&ring(), &keys);
    let templates = tally.largest_templates(Measure::Keys, 9);
    let names: Vec<_> = templates.iter().map(|template| &*template.key).collect();
    assert_eq!(names, ["user:{i}:cart", "session:{i}", "hot"]);
    assert_eq!(templates[0].share, 90.0 / 105.0);
    let largest = tally.largest_keys(Measure::Keys, 9);
    assert_eq!((largest.len(), &*largest[0].key), (1, "hot"));
    assert!((largest[0].share - 5.0 / 105.0).abs() < 1e-4);
    assert_eq!(tally.sample().len(), 65_536);
}

#[test]
fn setups_tell_any_two_hash_tags_apart() {
    let nodes = || ["a", "b"].map(Node::new);
    let pairs = ["{}", "[]", "()", "<>", "ab", "{]", "}{", "\0\u{7f}", "//"];
    let tags = pairs.map(|pair| Some(pair.parse::<HashTag>().expect("two bytes")));
    let setups = tags.into_iter().chain([None]).map(|tag| {
        let hasher = KeyHasher::default();
        let hasher = tag.map_or(hasher.clone(), |tag| hasher.with_tag(tag));
        let router = Rendezvous::new(nodes())
            .expect("two nodes")
            .with_hasher(hasher);
        CountSetup::new("rendezvous", &router).expect("no loads")
    });
    let setups: Vec<_> = setups.collect();
    for (index, one) in setups.iter().enumerate() {
        for other in &setups[..index] {
            assert_ne!(one.routes, other.routes, "{:?} {:?}", one.tag, other.tag);
            let error = one.check(other).expect_err("another tag").to_string();
            assert!(error.contains("hash-tag"), "{error}");
        }
    }
}

#[test]
fn setups_that_differ_in_locations_name_them() {
    let ring = |node| Ring::new([node]).expect("a ring");
    let [here, there] = [("z1", "r1"), ("z1", "r2")]
        .map(|(zone, rack)| ring(Node::new("a").with_location(zone, rack)));
    let [here, there] = [here, there].map(|ring| CountSetup::new("ring", &ring).expect("no loads"));
    let error = here.check(&there).expect_err("another rack").to_string();
    for said in ["zone z1, rack r1", "zone z1, rack r2"] {
        assert!(error.contains(said), "{error}");
    }
}

/// In each format, some lines are too long for a key.
#[test]
fn a_line_too_long_for_a_key_is_a_bad_line() {
    let ring = ring();
    let counter = Counter::new("ring", &ring).expect("no loads");
    for len in [65_537, 300_000, 2_000_000] {
        let long = "x".repeat(len);
        let lines = format!("a\n{long}\nb\n{long}\nc\n{long}");
        let json = format!("\"a\"\n\"{long}\"\n\"b\"\n\"{long}\"\n\"c\"\n\"{long}\"");
        let csv = format!("key\n\n\n{lines}");
        let sources = [
            (KeySource::lines(lines.as_bytes()), [2, 4, 6]),
            (KeySource::jsonl(json.as_bytes()), [2, 4, 6]),
            (KeySource::csv(csv.as_bytes()).expect("a header"), [5, 7, 9]),
            (
                KeySource::dump(DumpFormat::Scan, lines.as_bytes(), |_| ()),
                [2, 4, 6],
            ),
        ];
        for (source, expected) in sources {
            let (found, bad) = read(source, &counter, &Reading::default()).expect("passed over");
            let lines: Vec<_> = bad.first.iter().map(|bad| bad.line).collect();
            assert_eq!(lines, expected, "{len}");
            assert!(bad.first[0].problem.contains("65536 bytes"), "{bad:?}");
            assert_eq!(found.into_tally().keys(), 3);
        }
    }
    let longest = "x".repeat(65_536);
    let (found, bad) = read(
        KeySource::lines(longest.as_bytes()),
        &counter,
        &Reading::default(),
    )
    .expect("a key");
    assert_eq!((found.into_tally().keys(), bad.count), (1, 0));
}

#[test]
fn a_quote_that_is_not_closed_costs_only_its_line() {
    let ring = ring();
    let counter = Counter::new("ring", &ring).expect("no loads");
    let many = "k,1\r\n".repeat(100_000);
    let text = format!("key,size\n\"a,1\n{many}\n\"b\nc\",1\n");
    let source = KeySource::csv(text.as_bytes()).expect("a header");
    let (found, bad) = read(source, &counter, &Reading::default()).expect("passed over");
    assert_eq!(
        (bad.count, bad.first[0].line, found.into_tally().keys()),
        (1, 2, 100_001)
    );
    let source = KeySource::csv(&b"key\n\n\"a\nb\n\nc\n"[..]).expect("a header");
    let (found, bad) = read(source, &counter, &Reading::default()).expect("passed over");
    assert_eq!(
        (bad.count, bad.first[0].line, found.into_tally().keys()),
        (1, 3, 2)
    );
}

#[test]
fn a_sum_beyond_64_bits_in_a_row_is_a_bad_line() {
    let ring = ring();
    let counter = Counter::new("ring", &ring).expect("no loads");
    let csv = format!("key,size,requests\na,{},1\nb,1,2\nc,0,4\n", u64::MAX);
    let source = KeySource::csv(csv.as_bytes()).expect("a header");
    let (found, bad) = read(source, &counter, &Reading::default()).expect("passed over");
    assert_eq!((bad.count, bad.first[0].line), (1, 3));
    let balance = found.into_tally().balance().expect("just below");
    let totals = [balance.bytes, balance.requests].map(|figures| figures.map(|f| f.total));
    assert_eq!((balance.keys, totals), (2, [Some(u64::MAX), Some(5)]));
}

/// The sample of long keys is cut at 16 MiB, however the stream is split.
#[test]
fn long_keys_do_not_take_more_memory() {
    let ring = ring();
    let key = |i: usize| format!("{i}:{}", "x".repeat(20_000 + i * 7919 % 45_000));
    let of = |indexes: &mut dyn Iterator<Item = usize>| {
        let mut keys = Keys::default();
        indexes.for_each(|index| keys.push(key(index).as_bytes()));
        tally(&ring, &keys)
    };
    let whole = of(&mut (0..500));
    let sample = whole.sample();
    let bytes: usize = sample.iter().map(|(key, _)| key.len()).sum();
    assert!((15 << 20..=16 << 20).contains(&bytes), "{bytes}");
    let errors = whole.estimated().expect("not all are in the sample");
    let expected = (sample.len() as f64).sqrt().recip();
    assert!((errors.distinct_keys_error / expected - 1.0).abs() < 1e-9);
    // Five standard errors: a probability below one in a million.
    let off = whole.distinct() as f64 / 500.0 - 1.0;
    assert!(off.abs() < 5.0 * errors.distinct_keys_error, "{off}");
    let mut sum = of(&mut (0..0));
    for part in 0..3 {
        let part = of(&mut (0..500).rev().filter(|index| index % 3 == part));
        sum.merge(read_back(&written(&part))).expect("one setup");
    }
    assert!(sum.sample() == sample);
    assert_eq!(sum.balance(), whole.balance());
}

/// A key carries two thousandths of the whole, and occurs in one part only.
#[test]
fn a_sum_lists_the_large_keys_of_its_parts() {
    let ring = ring();
    let [first, mut second] =
        [0..70_000, 70_000..140_000].map(|range| Keys::template("{i}", range).expect("few"));
    (0..300).for_each(|_| second.push(b"hot"));
    let mut sum = tally(&ring, &first);
    sum.merge(tally(&ring, &second)).expect("one setup");
    let largest = sum.largest_keys(Measure::Keys, 9);
    assert_eq!((largest.len(), &*largest[0].key), (1, "hot"));
}

/// Hot keys that share a cell of the sketch must not change the effective number of keys.
#[test]
fn hot_keys_that_collide_do_not_spoil_the_estimate() {
    // The id of a key: its lowest 16 bits give the cell in the first row.
    let cell = |key: &String| xxh3_128_with_seed(key.as_bytes(), 0x7374_7265_616d_6564) % (1 << 16);
    let mut names: Vec<_> = (0..1000).map(|i| format!("hot:{i}")).collect();
    names.sort_by_cached_key(cell);
    let pairs = names
        .windows(2)
        .filter(|pair| cell(&pair[0]) == cell(&pair[1]));
    let pairs: Vec<_> = pairs.take(4).collect();
    assert_eq!(pairs.len(), 4);
    let mut keys = Keys::template("{i}", 0..70_000).expect("few");
    for name in pairs.into_iter().flatten() {
        (0..800).for_each(|_| keys.push(name.as_bytes()));
    }
    let ring = ring();
    let found = tally(&ring, &keys).balance().expect("small sums");
    let exact = in_memory(&ring, &keys).figures.effective_keys;
    let error = found
        .estimated
        .expect("beyond 65,536 keys")
        .effective_keys_error;
    let off = found.figures.effective_keys / exact - 1.0;
    // Five standard errors: a probability below one in a million.
    assert!(off.abs() < 5.0 * error, "{}", off / error);
}

/// Replaces text in the body of a line, and updates its checksum.
fn sealed(line: &str, from: &str, to: &str) -> String {
    let (head, body) = line.trim_end().split_once(r#","body":"#).expect("a body");
    let body = body
        .strip_suffix('}')
        .expect("an object")
        .replacen(from, to, 1);
    let (head, _) = head.rsplit_once(':').expect("a checksum");
    let sum = xxh3_64(body.as_bytes());
    format!(r#"{head}:"{sum:016x}","body":{body}}}"#)
}

#[test]
fn counts_that_contradict_themselves_are_refused() {
    let text = String::from_utf8(written(&tally(&ring(), &mixed(20)))).expect("JSON");
    assert!(Tally::read_all(sealed(&text, "", "").as_bytes()).all(|tally| tally.is_ok()));
    for (from, to, why) in [
        (r#""keys":22"#, r#""keys":23"#, "the nodes hold more"),
        (
            r#"["user:{i}:{i}",[20"#,
            r#"["user:{i}:{i}",[19"#,
            "the sums over the keys",
        ),
        (
            r#""user:0000001:1""#,
            r#""user:0000002:2""#,
            "a key occurs twice",
        ),
        (r#""unreadable""#, r#""unread""#, "unknown field"),
    ] {
        let error = Tally::read_all(sealed(&text, from, to).as_bytes()).next();
        let error = error.expect("one").expect_err(why).to_string();
        assert!(error.contains(why), "{error}");
    }
    let many = tally(&ring(), &Keys::template("{i}", 0..70_000).expect("few"));
    let text = String::from_utf8(written(&many)).expect("JSON");
    let error = Tally::read_all(sealed(&text, r#""cells":[["#, r#""cells":[[9"#).as_bytes()).next();
    let error = error.expect("one").expect_err("another cell").to_string();
    assert!(error.contains("rows of cells"), "{error}");
}

#[test]
fn another_version_is_reported_before_unknown_fields() {
    let text = r#"{"format":"hashroute counts","version":9,"setups":[]}"#;
    let error = Tally::read_all(text.as_bytes())
        .next()
        .expect("one")
        .expect_err("a later one");
    assert!(error.to_string().contains("version 9: expected"), "{error}");
}

#[test]
fn sums_beyond_64_bits_are_not_written() {
    let ring = ring();
    let keys = Keys::template("{i}", 0..1).expect("few");
    let mut sum = tally(&ring, &keys.with_sizes(vec![u64::MAX]).expect("below 2^64"));
    sum.merge(sum.clone()).expect("one setup");
    let mut file = Vec::new();
    let error = sum
        .write(&mut file)
        .expect_err("no file holds it")
        .to_string();
    assert!(error.contains("2^64") && file.is_empty(), "{error}");
}
