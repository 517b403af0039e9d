//! `meta.properties`, the identity of a log directory (Kafka's `MetaProperties` v1).
//!
//! A Java properties file: `version=1`, `cluster.id`, `node.id`, `directory.id`, in any order, below a comment with the date.
//! Reading follows `java.util.Properties.load`, writing `java.util.Properties.store`.

use std::fmt::Write as _;

use crate::types::{BrokerId, DirectoryId, Timestamp};

/// Identity of a log directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetaProperties {
    /// `cluster.id`; 22 characters where Kafka made it, any text where an operator did.
    pub cluster_id: String,
    /// `node.id`.
    pub node_id: BrokerId,
    /// `directory.id`; absent in directories that were formatted before Kafka 3.7.
    pub directory_id: Option<DirectoryId>,
}

/// The file cannot be used; the text goes to the operator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetaPropertiesError {
    /// Not UTF-8, or a broken `\u` escape.
    #[error("it is no properties file")]
    NotProperties,
    /// A key is not there.
    #[error("`{0}` is missing")]
    Missing(&'static str),
    /// A value cannot be read.
    #[error("`{key}={value}` is malformed")]
    Malformed {
        /// The key.
        key: &'static str,
        /// Its value.
        value: String,
    },
    /// Version 0: a broker of the ZooKeeper age.
    #[error(
        "version 0 is a directory of a broker that used ZooKeeper; migrate it to KRaft with Kafka 3.9 first"
    )]
    ZooKeeper,
    /// A version of the future.
    #[error("version {0} is newer than this release understands")]
    Newer(i32),
}

impl MetaProperties {
    /// Name of the file in a log directory.
    pub const FILE_NAME: &'static str = "meta.properties";

    /// Reads the file.
    pub fn decode(bytes: &[u8]) -> Result<Self, MetaPropertiesError> {
        let text = str::from_utf8(bytes).map_err(|_| MetaPropertiesError::NotProperties)?;
        let properties = load(text).ok_or(MetaPropertiesError::NotProperties)?;
        // As in a Java map, the last of several values of one key counts.
        let find = |key: &'static str| {
            let found = properties.iter().rev().find(|(k, _)| k == key);
            found.map(|(_, value)| value.as_str()).ok_or(MetaPropertiesError::Missing(key))
        };
        let malformed =
            |key, value: &str| MetaPropertiesError::Malformed { key, value: value.into() };
        let number = |key| {
            let value = find(key)?;
            value.trim().parse::<i32>().map_err(|_| malformed(key, value))
        };
        match number("version")? {
            0 => return Err(MetaPropertiesError::ZooKeeper),
            1 => {}
            newer => return Err(MetaPropertiesError::Newer(newer)),
        }
        let directory_id = match find("directory.id") {
            Ok(value) => Some(value.parse().map_err(|_| malformed("directory.id", value))?),
            Err(_) => None,
        };
        Ok(Self {
            cluster_id: find("cluster.id")?.to_owned(),
            node_id: BrokerId::new(number("node.id")?),
            directory_id,
        })
    }

    /// Writes the file as Kafka does, with `now` in the comment.
    pub fn encode(&self, now: Timestamp) -> Vec<u8> {
        let mut text = format!("#\n#{}\n", java_date(now));
        let mut put = |key: &str, value: &str| {
            text.push_str(key);
            text.push('=');
            escape(value, &mut text);
            text.push('\n');
        };
        put("node.id", &self.node_id.to_string());
        if let Some(id) = self.directory_id {
            put("directory.id", &id.to_string());
        }
        put("version", "1");
        put("cluster.id", &self.cluster_id);
        text.into_bytes()
    }
}

/// All key-value pairs in order; `None` for a malformed escape.
fn load(text: &str) -> Option<Vec<(String, String)>> {
    logical_lines(text).iter().map(|line| split_pair(line)).collect()
}

/// Comments and blank lines dropped, lines that end in an odd number of backslashes joined with the next one.
fn logical_lines(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut pending = String::new();
    for natural in text.split(['\n', '\r']) {
        let line = natural.trim_start_matches(WHITE);
        if pending.is_empty() && (line.is_empty() || line.starts_with(['#', '!'])) {
            continue;
        }
        let backslashes = line.len() - line.trim_end_matches('\\').len();
        if backslashes % 2 == 1 {
            pending.push_str(&line[..line.len() - 1]);
        } else {
            pending.push_str(line);
            lines.push(std::mem::take(&mut pending));
        }
    }
    if !pending.is_empty() {
        lines.push(pending);
    }
    lines
}

/// White space within a line, as `Properties.load` has it.
const WHITE: [char; 3] = [' ', '\t', '\u{c}'];

/// Splits at the first `=`, `:` or white space that is not escaped.
fn split_pair(line: &str) -> Option<(String, String)> {
    let mut escaped = false;
    let end = line.char_indices().find(|&(_, c)| {
        let separates = !escaped && (c == '=' || c == ':' || WHITE.contains(&c));
        escaped = c == '\\' && !escaped;
        separates
    });
    let (key, rest) = line.split_at(end.map_or(line.len(), |(at, _)| at));
    let rest = rest.trim_start_matches(WHITE);
    let value = rest.strip_prefix(['=', ':']).unwrap_or(rest).trim_start_matches(WHITE);
    Some((unescape(key)?, unescape(value)?))
}

fn unescape(text: &str) -> Option<String> {
    // Code units, because a character outside the basic plane is written as two escapes.
    let mut units: Vec<u16> = Vec::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            units.extend_from_slice(c.encode_utf16(&mut [0; 2]));
            continue;
        }
        // A backslash at the very end was a continuation of nothing.
        let Some(c) = chars.next() else { break };
        match c {
            't' => units.push(u16::from(b'\t')),
            'n' => units.push(u16::from(b'\n')),
            'r' => units.push(u16::from(b'\r')),
            'f' => units.push(0x0c),
            'u' => {
                let hex: String = chars.by_ref().take(4).collect();
                let whole = hex.len() == 4 && hex.bytes().all(|b| b.is_ascii_hexdigit());
                let unit = u16::from_str_radix(&hex, 16).ok().filter(|_| whole)?;
                units.push(unit);
            }
            other => units.extend_from_slice(other.encode_utf16(&mut [0; 2])),
        }
    }
    String::from_utf16(&units).ok()
}

fn escape(value: &str, out: &mut String) {
    for (i, c) in value.chars().enumerate() {
        match c {
            ' ' if i == 0 => out.push_str("\\ "),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\u{c}' => out.push_str("\\f"),
            '\\' | '=' | ':' | '#' | '!' => {
                out.push('\\');
                out.push(c);
            }
            ' '..='~' => out.push(c),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    // Writing to a string cannot fail.
                    let _ = write!(out, "\\u{unit:04X}");
                }
            }
        }
    }
}

/// `java.util.Date.toString` in UTC, such as `Mon Nov 30 00:43:00 UTC 2026`.
fn java_date(now: Timestamp) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let seconds = now.get().div_euclid(1000);
    let (days, second_of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = civil_date(days);
    let (hour, minute, second) =
        (second_of_day / 3600, second_of_day / 60 % 60, second_of_day % 60);
    // Both remainders are within their tables.
    let weekday = DAYS[days.rem_euclid(7) as usize];
    let month = MONTHS[month as usize - 1];
    format!("{weekday} {month} {day:02} {hour:02}:{minute:02}:{second:02} UTC {year}")
}

/// (year, month from 1, day from 1) of a day counted from 1970-01-01: Howard Hinnant's `civil_from_days`.
fn civil_date(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `meta.properties` of a directory that Kafka 4.4.0 formatted.
    const KAFKA: &str = "#\n#Mon Nov 30 00:43:00 UTC 2026\nnode.id=1\ndirectory.id=LRQNidcbQouXy35s6tjW4Q\nversion=1\ncluster.id=Z29sZGVuLWNsdXN0ZXItMQ\n";

    #[test]
    fn kafkas_file_is_read_and_written_byte_for_byte() {
        let read = MetaProperties::decode(KAFKA.as_bytes()).unwrap();
        assert_eq!(read.node_id, BrokerId::new(1));
        assert_eq!(read.cluster_id, "Z29sZGVuLWNsdXN0ZXItMQ");
        assert_eq!(read.directory_id, "LRQNidcbQouXy35s6tjW4Q".parse().ok());
        let formatted = Timestamp::new(1_795_999_380_000);
        assert_eq!(String::from_utf8(read.encode(formatted)).unwrap(), KAFKA);
    }

    #[test]
    fn java_escapes_and_separators_are_understood() {
        let text = "! a comment\n  version : 1\r\nnode.id 7\ncluster.id = a\\u0062\\\n    c\\=\\\\d\\ \n#directory.id=x\nother=\\uD83D\\uDE00\n";
        let read = MetaProperties::decode(text.as_bytes()).unwrap();
        assert_eq!(read.cluster_id, "abc=\\d ");
        assert_eq!(read.node_id, BrokerId::new(7));
        assert_eq!(read.directory_id, None);
    }

    #[test]
    fn every_cluster_id_survives_being_written_and_read() {
        for id in
            ["plain", " led by a space", "a=b:c#d!e\\f", "tab\tline\nfeed\u{c}", "\u{e9}\u{1f600}"]
        {
            let written = MetaProperties {
                cluster_id: id.to_owned(),
                node_id: BrokerId::new(0),
                directory_id: None,
            };
            let bytes = written.encode(Timestamp::new(0));
            assert!(bytes.is_ascii());
            assert_eq!(MetaProperties::decode(&bytes), Ok(written));
        }
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        let refused = |text: &str| MetaProperties::decode(text.as_bytes()).unwrap_err();
        assert_eq!(refused(""), MetaPropertiesError::Missing("version"));
        assert_eq!(refused("version=1\nnode.id=1\n"), MetaPropertiesError::Missing("cluster.id"));
        assert_eq!(refused("version=0\nbroker.id=1\n"), MetaPropertiesError::ZooKeeper);
        assert_eq!(refused("version=2\n"), MetaPropertiesError::Newer(2));
        assert_eq!(refused("version=1\ncluster.id=\\u00\n"), MetaPropertiesError::NotProperties);
        let malformed = MetaPropertiesError::Malformed { key: "node.id", value: "one".to_owned() };
        assert_eq!(refused("version=1\ncluster.id=c\nnode.id=one\n"), malformed);
    }

    #[test]
    fn dates_are_javas() {
        let at = |ms| java_date(Timestamp::new(ms));
        assert_eq!(at(0), "Thu Jan 01 00:00:00 UTC 1970");
        assert_eq!(at(951_782_400_000), "Tue Feb 29 00:00:00 UTC 2000");
        assert_eq!(at(1_704_067_199_999), "Sun Dec 31 23:59:59 UTC 2023");
    }
}
