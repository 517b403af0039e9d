//! Properties files as `java.util.Properties.load` reads them.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::config::{MalformedEscape, Property, parse_properties};

type Read = (&'static str, &'static [(&'static str, &'static str)]);

/// Text, and what `Properties.load` of OpenJDK makes of it. Printed by Java itself.
const JAVA: &[Read] = &[
    ("a=1", &[("a", "1")]),
    ("a = 1", &[("a", "1")]),
    ("a:1", &[("a", "1")]),
    ("a 1", &[("a", "1")]),
    ("a\t=\t1", &[("a", "1")]),
    ("  a=1", &[("a", "1")]),
    ("a", &[("a", "")]),
    ("a=", &[("a", "")]),
    ("=b", &[("", "b")]),
    (":b", &[("", "b")]),
    ("a=b=c", &[("a", "b=c")]),
    ("a\\=b=c", &[("a=b", "c")]),
    ("a\\:b:c", &[("a:b", "c")]),
    ("a\\ b c", &[("a b", "c")]),
    ("#c\na=1", &[("a", "1")]),
    ("!c\na=1", &[("a", "1")]),
    ("  # c\na=1", &[("a", "1")]),
    ("a=1\\\n  2", &[("a", "12")]),
    ("a=1\\\\\nb=2", &[("a", "1\\"), ("b", "2")]),
    ("a=\\\n\n b=2", &[("a", ""), ("b", "2")]),
    ("a=x\\ty\\nz\\rq\\f\\\\", &[("a", "x\ty\nz\rq\u{c}\\")]),
    ("a=\\u0041\\u00e9", &[("a", "A\u{e9}")]),
    ("a=\\ud83d\\ude00", &[("a", "\u{1f600}")]),
    ("a=\\q", &[("a", "q")]),
    ("a=1  ", &[("a", "1  ")]),
    ("a=1\r\nb=2\rc=3", &[("a", "1"), ("b", "2"), ("c", "3")]),
    ("a==b", &[("a", "=b")]),
    ("a = : b", &[("a", ": b")]),
    ("a=1\\", &[("a", "1")]),
    ("\\#a=1", &[("#a", "1")]),
    ("a=1\\\n#not comment", &[("a", "1#not comment")]),
    ("a=1\\\r\n 2", &[("a", "12")]),
    ("\u{c}a\u{c}=\u{c}1", &[("a", "1")]),
    ("a=1\\\\\\\n2", &[("a", "1\\2")]),
    ("a:=1", &[("a", "=1")]),
    ("a =  :1", &[("a", ":1")]),
    ("\\\na=1", &[("a", "1")]),
];

#[test]
fn every_text_is_read_as_java_reads_it() {
    for (text, expected) in JAVA {
        let entries = parse_properties(text.as_bytes()).unwrap();
        let read: BTreeMap<&str, &str> =
            entries.iter().map(|entry| (entry.key.as_str(), entry.value.as_str())).collect();
        assert_eq!(read.into_iter().collect::<Vec<_>>(), *expected, "{text:?}");
    }
}

#[test]
fn entries_know_their_first_line() {
    let text = "# one\n\na=1\\\n  2\n\\\n b=3\r\nc=4";
    let lines: Vec<(String, usize)> = parse_properties(text.as_bytes())
        .unwrap()
        .into_iter()
        .map(|entry| (entry.key, entry.line))
        .collect();
    let expected = [("a", 3), ("b", 5), ("c", 7)];
    assert_eq!(lines, expected.map(|(key, line)| (key.to_owned(), line)));
}

#[test]
fn malformed_escapes_are_refused_with_their_line() {
    for text in ["x=1\na=\\u12", "x=1\na=\\uxyzw", "x=1\n\\u00=1"] {
        assert_eq!(parse_properties(text.as_bytes()), Err(MalformedEscape { line: 2 }), "{text:?}");
    }
}

#[test]
fn bytes_that_are_not_utf_8_are_latin_1_as_for_java() {
    let entries = parse_properties(b"rack=caf\xe9").unwrap();
    assert_eq!(
        entries,
        [Property { key: "rack".to_owned(), value: "caf\u{e9}".to_owned(), line: 1 }]
    );
    assert_eq!(parse_properties("rack=caf\u{e9}".as_bytes()).unwrap(), entries);
}

/// Escapes everything that has a meaning, as `Properties.store` does.
fn escaped(text: &str) -> String {
    let mut units = [0; 2];
    text.chars()
        .flat_map(|c| {
            c.encode_utf16(&mut units)
                .iter()
                .map(|unit| format!("\\u{unit:04x}"))
                .collect::<Vec<_>>()
        })
        .collect()
}

proptest! {
    #[test]
    fn whatever_is_written_escaped_is_read_back(key in ".+", value in ".*") {
        let text = format!("{}={}", escaped(&key), escaped(&value));
        let entries = parse_properties(text.as_bytes()).unwrap();
        prop_assert_eq!(entries, vec![Property { key, value, line: 1 }]);
    }

    #[test]
    fn no_bytes_are_too_much(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        if let Ok(entries) = parse_properties(&bytes) {
            prop_assert!(entries.len() <= bytes.len());
        }
    }

    #[test]
    fn no_sequence_of_special_characters_is_too_much(text in "[\\\\u0a =:#!\\n\\r\\t\\f-]{0,60}") {
        let _ = parse_properties(text.as_bytes());
    }
}
