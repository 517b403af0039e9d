//! What patterns match, as RE2/J would.

use std::collections::HashMap;
use std::sync::Arc;

use crate::coordinator::pattern::Pattern;
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
    let pattern = Pattern::of_topics(pattern).expect("a pattern");
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
        assert!(Pattern::of_topics(pattern).is_err(), "{pattern}");
    }
    // Valid only together with what the pattern is wrapped in.
    assert!(Pattern::of_topics("a)|(?:b").is_err());
}

#[test]
fn names_of_any_letters_are_matched_letter_by_letter() {
    let matches = |pattern, name| Pattern::of_any_names(pattern).map(|p| p.is_match(name)).ok();
    assert_eq!(matches("caf.", "caf\u{e9}"), Some(true));
    assert_eq!(matches("app", "app-1"), Some(false), "whole names only");
    assert_eq!(matches("a|app-1", "app-1"), Some(true));
    assert_eq!(matches(r"\Qa.b\E", "a.b"), Some(true));
    assert_eq!(matches("(", "app-1"), None);
    assert_eq!(matches(")(", "app-1"), None);
    assert_eq!(matches(r"\w{1000}{1000}", "app-1"), None, "what takes too much memory");
}
