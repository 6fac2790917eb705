//! Keys: their sources, and the errors if they cannot be read.

use std::io::{self, BufReader, Read};

use hashroute::Error;
use hashroute_harness::stream::{BadLines, KeySource};
use hashroute_harness::{InputError, Keys, Rows};

fn texts(keys: &Keys) -> Vec<String> {
    keys.iter()
        .map(|key| key.escape_ascii().to_string())
        .collect()
}

#[test]
fn a_template_is_filled_with_each_number() -> Result<(), Error> {
    assert_eq!(
        texts(&Keys::template("user:{i}", 9..11)?),
        ["user:9", "user:10"]
    );
    assert_eq!(texts(&Keys::template("{i:03}/{i}", 7..8)?), ["007/7"]);
    assert_eq!(texts(&Keys::template("{i:02}", 100..101)?), ["100"]);
    assert_eq!(texts(&Keys::template("{id}{i}{}", 1..2)?), ["{id}1{}"]);
    assert_eq!(texts(&Keys::template("{{i}}", 1..2)?), ["{1}"]);
    assert_eq!(Keys::template("{i}", 5..5)?.len(), 0);
    assert_eq!(
        texts(&Keys::template("{i}", u64::MAX - 1..u64::MAX)?),
        ["18446744073709551614"]
    );
    for wrong in [
        "", "user", "{i", "{i:4}", "{i:0}", "{i:00}", "{i:0x}", "{i:0100}", "{i:0+4}", "{i:",
        "{i:04", "{j}",
    ] {
        let error = Keys::template(wrong, 0..1).unwrap_err();
        assert!(matches!(error, Error::Parameter { .. }), "{wrong}: {error}");
    }
    for (template, end) in [
        ("{i}", u64::MAX),
        ("{i:099}", 100_000_000),
        ("{i}{i}{i}{i}{i}{i}{i}{i}{i}{i}", 1 << 30),
    ] {
        let error = Keys::template(template, 0..end).unwrap_err();
        assert!(matches!(error, Error::Capacity { .. }), "{template}");
    }
    Ok(())
}

#[test]
fn a_line_is_a_key_byte_for_byte() -> Result<(), InputError> {
    assert!(Keys::lines(&b""[..])?.is_empty());
    assert_eq!(texts(&Keys::lines(&b"a\nb"[..])?), ["a", "b"]);
    assert_eq!(
        texts(&Keys::lines(&b"a\r\n\n\xc8\x00\n"[..])?),
        ["a\\r", "", "\\xc8\\x00"]
    );
    let failing = BufReader::new(Failing);
    assert!(matches!(
        Keys::lines(failing).unwrap_err(),
        InputError::Io(_)
    ));
    Ok(())
}

struct Failing;

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("unplugged"))
    }
}

#[test]
fn csv_has_keys_sizes_and_requests() -> Result<(), InputError> {
    let keys = Keys::csv(&b"size, key ,requests\n1,\"a,\"\"b\"\"\",5\n2,\xff,6\n3,,7"[..])?;
    assert_eq!(texts(&keys), ["a,\\\"b\\\"", "\\xff", ""]);
    assert_eq!(
        (keys.sizes(), keys.requests()),
        (Some(&[1, 2, 3][..]), Some(&[5, 6, 7][..]))
    );
    assert_eq!(Keys::csv(&b"key\na\n"[..])?.sizes(), None);
    assert_eq!(
        Keys::csv(&b"key,size\r\na,1\r\n"[..])?.sizes(),
        Some(&[1][..])
    );
    assert_eq!(
        texts(&Keys::csv(&b"\xef\xbb\xbfkey\na\n"[..])?),
        ["a"],
        "a byte order mark"
    );
    Ok(())
}

#[test]
fn csv_errors_name_the_line() {
    let cases: [(&[u8], u64, &str); 17] = [
        (b"key,sise\na,1\n", 1, "unknown column \"sise\""),
        (b"\n\nkey,owner\n", 3, "expected key,size,requests"),
        (b"key,key\na,b\n", 1, "\"key\" twice"),
        (b"key,size\r\na,1\r\n\r\n\r\nb,x\r\n", 5, "\"x\""),
        (b"key,size\na,1\n\"b,2\nc,3\n", 3, "a quote is not closed"),
        (b"key,\"size\n", 1, "a quote is not closed"),
        (b"\xef\xbb\xbf\nkey\n\n\"a", 4, "a quote is not closed"),
        (
            b"key,size\na,18446744073709551615\nb,1\n",
            3,
            "is too large",
        ),
        (
            b"key,requests\na,1\nb,18446744073709551615\n",
            3,
            "is too large",
        ),
        (
            b"key,size\na,1\nb,12k\n",
            3,
            "size \"12k\" is not a number: expected a whole number",
        ),
        (b"key,size\na,1\n\nb,-1\n", 4, "size \"-1\""),
        (b"key,requests\n\"two\nlines\",1\nb,\n", 4, "requests \"\""),
        (
            b"key,size\na,18446744073709551616\n",
            2,
            "from 0 to 18446744073709551615",
        ),
        (b"key,size\na\n", 2, "1 fields: expected 2"),
        (b"key\na,b\n", 2, "2 fields: expected 1"),
        (b"name,size\na,1\n", 1, "no column \"key\""),
        (b"key,size,size\na,1,1\n", 1, "\"size\" twice"),
    ];
    for (text, line, words) in cases {
        let error = Keys::csv(text).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        assert!(
            matches!(error, InputError::Line { line: found, .. } if found == line),
            "{error}"
        );
    }
    assert!(
        Keys::csv(&b""[..])
            .unwrap_err()
            .to_string()
            .contains("no column")
    );
    assert!(matches!(Keys::csv(Failing).unwrap_err(), InputError::Io(_)));
}

#[test]
fn a_closed_quote_is_no_error() -> Result<(), InputError> {
    for text in [
        "key\n\"a\"",
        "key\n\"a\n\"",
        "key\n\"a\"\"\"\n",
        "key\na\"b",
        "key\n\"\"",
        "\"key\"",
    ] {
        assert!(Keys::csv(text.as_bytes()).is_ok(), "{text}");
    }
    assert_eq!(texts(&Keys::csv(&b"key\n\n\"\"\n"[..])?), [""]);
    Ok(())
}

#[test]
fn sums_of_2_to_the_64_are_refused() -> Result<(), Error> {
    let keys = || Keys::template("{i}", 0..2);
    assert!(keys()?.with_sizes(vec![u64::MAX, 0]).is_ok());
    for wrong in [
        keys()?.with_sizes(vec![u64::MAX, 1]),
        keys()?.with_requests(vec![1, u64::MAX]),
    ] {
        let words = wrong.unwrap_err().to_string();
        assert!(
            words.contains("18446744073709551616") && words.contains("2^64"),
            "{words}"
        );
    }
    Ok(())
}

#[test]
fn json_lines_are_text_or_hexadecimal_bytes() -> Result<(), InputError> {
    assert_eq!(texts(&Keys::jsonl(&b"\xef\xbb\xbf\"a\"\n"[..])?), ["a"]);
    assert!(Keys::jsonl(&b"\"a\"\n\xef\xbb\xbf\"b\"\n"[..]).is_err());
    let text = "\"user:1\"\n  \"\\u00e9\\n\"\r\n{\"hex\":\"8bFF00\"}\n{ \"hex\" : \"\" }\n\"\"";
    let keys = Keys::jsonl(text.as_bytes())?;
    assert_eq!(
        texts(&keys),
        ["user:1", "\\xc3\\xa9\\n", "\\x8b\\xff\\x00", "", ""]
    );
    for wrong in [
        "5",
        "null",
        "[]",
        "{}",
        "{\"hex\":5}",
        "{\"hex\":\"8\"}",
        "{\"hex\":\"8g\"}",
        "{\"hex\":\"+1\"}",
        "{\"hex\":\"\",\"x\":1}",
        "{\"key\":\"a\"}",
        "user:1",
        "",
        "\"a",
        "\"a\" \"b\"",
        "{\"hex\":\"é\"}",
    ] {
        let error = Keys::jsonl(format!("\"first\"\n{wrong}\n").as_bytes()).unwrap_err();
        let words = error.to_string();
        assert!(
            matches!(error, InputError::Line { line: 2, .. }),
            "{wrong}: {words}"
        );
        assert!(words.contains("expected a string"), "{wrong}: {words}");
    }
    Ok(())
}

#[test]
fn distributions_have_their_frequencies_and_repeat_by_seed() -> Result<(), Error> {
    let keys = Keys::random(1, 1000, 8)?;
    assert_eq!((keys.len(), keys.distinct()), (1000, 1000));
    assert!(!keys.iter().eq(Keys::random(2, 1000, 8)?.iter()));
    assert_eq!(Keys::random(1, 3, 0)?.distinct(), 1);
    assert!(Keys::random(1, usize::MAX, 2).is_err() && Keys::random(1, 2, usize::MAX).is_err());
    let flat = Keys::zipf(1, 20_000, 10, 0.0)?;
    assert_eq!(flat.distinct(), 10);
    let count = |keys: &Keys, key: &[u8]| keys.iter().filter(|other| *other == key).count();
    assert!(count(&flat, b"key:10").abs_diff(2000) < 5 * 43); // five standard deviations
    let steep = Keys::zipf(1, 20_000, 1_000_000, 2.0)?;
    assert!(count(&steep, b"key:1").abs_diff(12_159) < 5 * 69); // 20,000 * 6 / pi^2
    assert!(
        steep
            .iter()
            .eq(Keys::zipf(1, 20_000, 1_000_000, 2.0)?.iter())
    );
    for (population, exponent) in [(0, 1.0), (10, -1.0), (10, f64::NAN), (10, f64::INFINITY)] {
        assert!(matches!(
            Keys::zipf(1, 10, population, exponent),
            Err(Error::Parameter { .. })
        ));
    }
    Ok(())
}

#[test]
fn distinct_keys_are_counted_exactly() -> Result<(), Error> {
    let mut keys = Keys::template("{i}", 0..5)?.with_sizes(vec![9; 5])?;
    assert_eq!(keys.distinct(), 5);
    keys.push(b"0");
    keys.push(b"5");
    assert_eq!((keys.len(), keys.distinct()), (7, 6));
    assert_eq!(keys.sizes(), Some(&[9, 9, 9, 9, 9, 1, 1][..]));
    assert_eq!((keys.get(5), keys.get(7)), (Some(&b"0"[..]), None));
    Ok(())
}

#[test]
fn columns_have_any_names_and_separators() {
    for (separator, name) in [(",", "comma"), (";", "semicolon"), ("\t", "tab")] {
        let text = "url,hits,size,region\n/a,3,10,eu\n/b,4,20,us\n".replace(',', separator);
        let columns = ["url", "size", "hits"];
        let rows = Rows::choose(text.as_bytes(), &columns).expect(name);
        let keys = KeySource::rows(rows).next_keys(&mut BadLines::default());
        let keys = keys.expect(name).expect(name);
        assert!(keys.iter().eq([b"/a", b"/b"]), "{name}");
        let numbers = (keys.sizes(), keys.requests());
        assert_eq!(numbers, (Some(&[10, 20][..]), Some(&[3, 4][..])), "{name}");
        let missing = Rows::choose(text.as_bytes(), &["path"])
            .expect_err(name)
            .to_string();
        assert!(
            missing.starts_with("line 1: no column \"path\""),
            "{missing}"
        );
        assert!(
            missing.contains("\"region\"") && missing.contains(name),
            "{missing}"
        );
        let uneven = text.replace('3', &format!("3{separator}3"));
        let mut rows = Rows::choose(uneven.as_bytes(), &columns).expect(name);
        let error = rows.advance().expect_err(name).to_string();
        assert!(
            error.starts_with("line 2: 5 fields") && error.contains(name),
            "{error}"
        );
    }
}
