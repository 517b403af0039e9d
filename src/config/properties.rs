//! Java's `.properties` syntax as `java.util.Properties.load` reads it: `=`, `:` or white space after the key, comments with
//! `#` and `!`, continuation lines, `\t \n \r \f \uXXXX` escapes.
//!
//! Java reads the bytes as Latin-1. A file that is UTF-8 is read as such here, any other as Latin-1.

use std::iter::Peekable;
use std::str::Chars;

/// One entry of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// Key with its escapes resolved.
    pub key: String,
    /// Value with its escapes resolved.
    pub value: String,
    /// Number of the line it starts on, from 1.
    pub line: usize,
}

/// Java refuses the whole file for this, and for nothing else.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: malformed \\uXXXX escape")]
pub struct MalformedEscape {
    /// Number of the line the entry starts on, from 1.
    pub line: usize,
}

/// The entries of a file in their order, duplicates included.
pub fn parse(bytes: &[u8]) -> Result<Vec<Property>, MalformedEscape> {
    let text = decode(bytes);
    let lines = logical_lines(&text);
    lines
        .into_iter()
        .map(|(line, text)| {
            entry(&text).ok_or(MalformedEscape { line }).map(|(key, value)| Property {
                key,
                value,
                line,
            })
        })
        .collect()
}

fn decode(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.trim_start_matches('\u{feff}').to_owned(),
        Err(_) => bytes.iter().map(|&b| char::from(b)).collect(),
    }
}

/// Joins continued lines and drops comments and blank lines; each with the number of its first line.
fn logical_lines(text: &str) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (index, raw) in natural_lines(text).enumerate() {
        let part = raw.trim_start_matches(is_blank);
        if open.is_none() && (part.is_empty() || part.starts_with(['#', '!'])) {
            continue;
        }
        let (_, joined) = open.get_or_insert_with(|| (index + 1, String::new()));
        match continued(part) {
            Some(head) => joined.push_str(head),
            None => {
                joined.push_str(part);
                lines.extend(open.take());
            }
        }
    }
    lines.extend(open);
    lines
}

/// Lines end with LF, CR or CR LF.
fn natural_lines(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r'))
}

/// The line without its last backslash if that one continues it: an odd number of them at the end.
fn continued(line: &str) -> Option<&str> {
    let backslashes = line.bytes().rev().take_while(|&b| b == b'\\').count();
    if backslashes % 2 == 1 { line.strip_suffix('\\') } else { None }
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\u{c}')
}

/// Splits key and value; `None` for a malformed escape.
fn entry(line: &str) -> Option<(String, String)> {
    let mut rest = line.chars().peekable();
    let key = unescape_until(&mut rest, |c| is_blank(c) || c == '=' || c == ':')?;
    skip_blanks(&mut rest);
    if rest.next_if(|&c| c == '=' || c == ':').is_some() {
        skip_blanks(&mut rest);
    }
    let value = unescape_until(&mut rest, |_| false)?;
    Some((key, value))
}

fn skip_blanks(rest: &mut Peekable<Chars<'_>>) {
    while rest.next_if(|&c| is_blank(c)).is_some() {}
}

/// Resolves escapes up to the first bare character that `ends`, which stays in `rest`.
fn unescape_until(rest: &mut Peekable<Chars<'_>>, ends: impl Fn(char) -> bool) -> Option<String> {
    let mut units: Vec<u16> = Vec::new();
    let mut buffer = [0; 2];
    while let Some(c) = rest.next_if(|&c| !ends(c)) {
        if c != '\\' {
            units.extend_from_slice(c.encode_utf16(&mut buffer));
            continue;
        }
        match rest.next() {
            Some('u') => units.push(four_hex_digits(rest)?),
            Some(c) => units.extend_from_slice(escaped(c).encode_utf16(&mut buffer)),
            None => {}
        }
    }
    Some(String::from_utf16_lossy(&units))
}

fn escaped(c: char) -> char {
    match c {
        't' => '\t',
        'n' => '\n',
        'r' => '\r',
        'f' => '\u{c}',
        other => other,
    }
}

fn four_hex_digits(rest: &mut Peekable<Chars<'_>>) -> Option<u16> {
    let mut unit = 0;
    for _ in 0..4 {
        let digit = rest.next()?.to_digit(16)?;
        unit = unit * 16 + u16::try_from(digit).ok()?;
    }
    Some(unit)
}
