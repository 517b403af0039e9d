//! Regular expressions: those that members subscribe with, and those that transactions are listed by.
//!
//! Kafka matches whole names with RE2/J. The `regex` crate is of the same family: no look-around, no back-references, time
//! linear in the length of the name. What is left to bound is the size of what a pattern compiles to.

use std::collections::HashMap;
use std::sync::Arc;

use regex::bytes::{Regex, RegexBuilder};

use crate::metadata::Topic;
use crate::types::TopicName;

/// What a pattern may compile to, in bytes. Beyond it, it counts as invalid.
const COMPILED_SIZE_MAX: usize = 1 << 20;
/// What matching may remember of a pattern, in bytes.
const CACHE_SIZE_MAX: usize = 1 << 20;

/// A pattern that whole names are matched with. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Pattern(Regex);

impl Pattern {
    /// Compiles a pattern for topic names. These are ASCII: classes of all of Unicode, which are large, are taken only where a
    /// pattern asks for them.
    ///
    /// # Errors
    /// Why it is not one, on one line.
    pub(super) fn of_topics(pattern: &str) -> Result<Self, String> {
        whole(pattern, |pattern| {
            build(pattern, Letters::Ascii).or_else(|_| build(pattern, Letters::All))
        })
    }

    /// Compiles a pattern for names that may have any characters.
    ///
    /// # Errors
    /// Why it is not one, on one line.
    pub fn of_any_names(pattern: &str) -> Result<Self, String> {
        whole(pattern, |pattern| build(pattern, Letters::All))
    }

    /// True if the whole of `name` matches.
    pub fn is_match(&self, name: &str) -> bool {
        self.0.is_match(name.as_bytes())
    }

    /// Topics whose whole name matches, in order.
    pub(super) fn topics(&self, topics: &HashMap<TopicName, Arc<Topic>>) -> Vec<TopicName> {
        let matches = |name: &&TopicName| self.is_match(name.as_str());
        let mut matched: Vec<_> = topics.keys().filter(matches).cloned().collect();
        matched.sort_unstable();
        matched
    }
}

/// Compiles a pattern so that it matches whole names only.
fn whole(
    pattern: &str,
    compile: impl Fn(&str) -> Result<Regex, regex::Error>,
) -> Result<Pattern, String> {
    let pattern = without_quotes(pattern);
    // On its own first: what follows must not complete it.
    let alone = compile(&pattern);
    let compiled = alone.and_then(|_| compile(&format!(r"\A(?:{pattern})\z")));
    compiled.map(Pattern).map_err(|error| {
        let text = error.to_string();
        text.lines().last().unwrap_or_default().trim().to_owned()
    })
}

/// What classes like `\w` and `.` are made of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Letters {
    Ascii,
    All,
}

fn build(pattern: &str, letters: Letters) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern)
        .unicode(letters == Letters::All)
        .size_limit(COMPILED_SIZE_MAX)
        .dfa_size_limit(CACHE_SIZE_MAX)
        .build()
}

/// Turns `\Q...\E`, which RE2 knows and the crate does not, into escaped text.
fn without_quotes(pattern: &str) -> String {
    let mut plain = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some(start) = quote_start(rest) {
        let (before, quoted) = rest.split_at(start);
        let quoted = &quoted[2..];
        let (text, after) = quoted.split_once(r"\E").unwrap_or((quoted, ""));
        plain.push_str(before);
        plain.push_str(&regex::escape(text));
        rest = after;
    }
    plain.push_str(rest);
    plain
}

/// Where the first `\Q` is that is not an escaped backslash and a letter.
fn quote_start(pattern: &str) -> Option<usize> {
    let mut characters = pattern.char_indices();
    while let Some((index, character)) = characters.next() {
        if character == '\\' && characters.next()?.1 == 'Q' {
            return Some(index);
        }
    }
    None
}
