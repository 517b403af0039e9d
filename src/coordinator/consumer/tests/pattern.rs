//! What patterns match, as RE2/J would.

use std::collections::HashMap;
use std::sync::Arc;

use super::super::pattern::Pattern;
use crate::metadata::Topic;
use crate::types::{TopicName, Uuid};

fn matched(pattern: &str) -> Vec<String> {
    let names = ["abc", "ab", "a", "b", "b.c", "a.b.c", "orders-1", "Orders-2"];
    let mut topics = HashMap::new();
    for name in names {
        let name = TopicName::new(name).expect("a name");
        let topic = Topic { id: Uuid::ZERO, name: name.clone(), partitions: Vec::new() };
        topics.insert(name, Arc::new(topic));
    }
    let pattern = Pattern::new(pattern).expect("a pattern");
    pattern.topics(&topics).iter().map(ToString::to_string).collect()
}

#[test]
fn the_whole_name_must_match() {
    assert_eq!(matched("ab"), ["ab"]);
    assert_eq!(matched("a|ab"), ["a", "ab"]);
    assert_eq!(matched("ab.*"), ["ab", "abc"]);
    assert_eq!(matched("^ab$"), ["ab"]);
    assert_eq!(matched("x"), [""; 0]);
}

#[test]
fn flags_classes_and_quotes_are_re2s() {
    assert_eq!(matched(r"(?i)orders-\d+"), ["Orders-2", "orders-1"]);
    assert_eq!(matched(r"\Qb.c\E"), ["b.c"]);
    assert_eq!(matched(r"\Qa.b\E\.c"), ["a.b.c"]);
    assert_eq!(matched(r"\Qa.b.c"), ["a.b.c"]);
    assert_eq!(matched(r"\p{Lu}rders-2"), ["Orders-2"]);
    assert_eq!(matched(r"\w{1,200}"), ["a", "ab", "abc", "b"]);
}

#[test]
fn what_is_no_pattern_or_too_large_is_refused() {
    for pattern in
        ["[", "a)", "(a", "(?=a)", r"(a)\1", "*", "(?x) a # (", "((a{1000}){1000}){1000}"]
    {
        assert!(Pattern::new(pattern).is_err(), "{pattern}");
    }
    // Valid only together with what the pattern is wrapped in.
    assert!(Pattern::new("a)|(?:b").is_err());
}
