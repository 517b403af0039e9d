//! Accepted values, with Kafka's words for what is wrong (`ConfigDef.Range`, `ValidString`, `ValidList`).

use std::fmt;

use super::value::Value;

/// Which values of its type a setting accepts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Valid {
    /// All.
    Any,
    /// A list of at least one.
    NonEmptyList,
    /// No less than.
    AtLeast(i64),
    /// From the first to the second.
    Between(i64, i64),
    /// From the first to the second, or the third.
    BetweenOr(i64, i64, i64),
    /// A float from the first to the second.
    Ratio(f64, f64),
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// One of these texts in any case.
    OneOfIgnoringCase(&'static [&'static str]),
    /// A list of some of these texts.
    ListOf(&'static [&'static str]),
    /// `*`, or pairs of partition and broker.
    ThrottledReplicas,
    /// `earliest`, `latest` or how far back.
    OffsetReset,
}

pub(super) const ANY: Valid = Valid::Any;
pub(super) const NON_EMPTY_LIST: Valid = Valid::NonEmptyList;
pub(super) const THROTTLED_REPLICAS: Valid = Valid::ThrottledReplicas;

pub(super) const OFFSET_RESET: Valid = Valid::OffsetReset;

pub(super) const fn at_least(min: i64) -> Valid {
    Valid::AtLeast(min)
}

pub(super) const fn between(min: i64, max: i64) -> Valid {
    Valid::Between(min, max)
}

pub(super) const fn between_or(min: i64, max: i64, or: i64) -> Valid {
    Valid::BetweenOr(min, max, or)
}

pub(super) const fn ratio(min: f64, max: f64) -> Valid {
    Valid::Ratio(min, max)
}

pub(super) const fn one_of(texts: &'static [&'static str]) -> Valid {
    Valid::OneOf(texts)
}

pub(super) const fn one_of_ignoring_case(texts: &'static [&'static str]) -> Valid {
    Valid::OneOfIgnoringCase(texts)
}

pub(super) const fn list_of(texts: &'static [&'static str]) -> Valid {
    Valid::ListOf(texts)
}

/// What is wrong with a value: the part that is (where it is not the whole) and why.
pub(super) struct Objection {
    pub(super) part: Option<String>,
    pub(super) reason: String,
}

impl From<String> for Objection {
    fn from(reason: String) -> Self {
        Self { part: None, reason }
    }
}

impl Valid {
    /// Checks a value of the right type.
    pub(super) fn check(self, name: &str, value: &Value) -> Result<(), Objection> {
        match (self, value) {
            (Self::AtLeast(min), Value::Number(n)) => Ok(within(*n, min, i64::MAX)?),
            (Self::Between(min, max), Value::Number(n)) => Ok(within(*n, min, max)?),
            (Self::BetweenOr(min, max, or), Value::Number(n))
                if *n != or && (*n < min || *n > max) =>
            {
                Err(format!("Value must be between {min} and {max} or equal to {or}").into())
            }
            (Self::Ratio(min, max), Value::Double(d)) => Ok(within_ratio(*d, min, max)?),
            (Self::OneOf(texts), Value::Text(text)) if !texts.contains(&text.as_str()) => {
                Err(format!("String must be one of: {}", texts.join(", ")).into())
            }
            (Self::OneOfIgnoringCase(texts), Value::Text(text))
                if !texts.iter().any(|t| t.eq_ignore_ascii_case(text)) =>
            {
                Err(format!("String must be one of (case insensitive): {}", texts.join(", "))
                    .into())
            }
            (Self::ListOf(texts), Value::List(list)) => all_of(list, texts),
            (Self::ThrottledReplicas, Value::List(list)) => Ok(throttled_replicas(name, list)?),
            (Self::OffsetReset, Value::Text(text)) => Ok(offset_reset(name, text)?),
            _ => Ok(()),
        }
    }
}

fn within(number: i64, min: i64, max: i64) -> Result<(), String> {
    if number < min {
        return Err(format!("Value must be at least {min}"));
    }
    if number > max {
        return Err(format!("Value must be no more than {max}"));
    }
    Ok(())
}

/// NaN passes, as in Kafka.
fn within_ratio(number: f64, min: f64, max: f64) -> Result<(), String> {
    if number < min {
        return Err(format!("Value must be at least {min}"));
    }
    if number > max {
        return Err(format!("Value must be no more than {max}"));
    }
    Ok(())
}

fn all_of(list: &[String], texts: &[&str]) -> Result<(), Objection> {
    match list.iter().find(|part| !texts.contains(&part.as_str())) {
        None => Ok(()),
        Some(part) => Err(Objection {
            part: Some(part.clone()),
            reason: format!("String must be one of: {}", texts.join(", ")),
        }),
    }
}

fn throttled_replicas(name: &str, list: &[String]) -> Result<(), String> {
    let is_pair = |part: &String| {
        let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        part.split_once(':').is_some_and(|(partition, broker)| digits(partition) && digits(broker))
    };
    let wildcard = matches!(list, [one] if one == "*");
    if wildcard || list.iter().all(is_pair) {
        return Ok(());
    }
    Err(format!(
        "{name} must be the literal '*' or a list of replicas in the following format: \
         [partitionId]:[brokerId],[partitionId]:[brokerId],..."
    ))
}

fn offset_reset(name: &str, text: &str) -> Result<(), String> {
    let duration = text.strip_prefix("by_duration:");
    if matches!(text, "earliest" | "latest") || duration.is_some_and(is_iso_duration) {
        return Ok(());
    }
    Err(format!(
        "Invalid value `{text}` for configuration {name}. The value must be either 'earliest', 'latest' or of the \
         format 'by_duration:<PnDTnHnMn.nS>'."
    ))
}

/// An ISO 8601 duration in days, hours, minutes and seconds, as `java.time.Duration` reads those that are not negative.
fn is_iso_duration(text: &str) -> bool {
    let text = text.to_ascii_uppercase();
    let Some(text) = text.strip_prefix('P') else { return false };
    let (days, time) = text.split_once('T').map_or((text, None), |(days, time)| (days, Some(time)));
    let days_fit = days.is_empty() || days.strip_suffix('D').is_some_and(is_count);
    match time {
        None => days_fit && !days.is_empty(),
        Some(time) => days_fit && is_iso_time(time),
    }
}

/// `nHnMn.nS`, at least one of them.
fn is_iso_time(text: &str) -> bool {
    let mut rest = text;
    for unit in ['H', 'M'] {
        if let Some((count, after)) = rest.split_once(unit) {
            if !is_count(count) {
                return false;
            }
            rest = after;
        }
    }
    let seconds = rest.strip_suffix('S').map(|seconds| match seconds.split_once(['.', ',']) {
        Some((whole, fraction)) => {
            is_count(whole) && fraction.len() <= 9 && fraction.bytes().all(|b| b.is_ascii_digit())
        }
        None => is_count(seconds),
    });
    !text.is_empty() && (rest.is_empty() || seconds == Some(true))
}

fn is_count(digits: &str) -> bool {
    !digits.is_empty()
        && digits.bytes().all(|b| b.is_ascii_digit())
        && digits.parse::<i64>().is_ok()
}

impl fmt::Display for Valid {
    /// For people: in error messages and in the documentation. Empty if every value of the type is accepted.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Any => Ok(()),
            Self::NonEmptyList => f.write_str("at least one entry"),
            Self::AtLeast(min) => write!(f, "{min} or more"),
            Self::Between(min, max) => write!(f, "{min} to {max}"),
            Self::BetweenOr(min, max, or) => write!(f, "{min} to {max}, or {or}"),
            Self::Ratio(min, max) => write!(f, "{min} to {max}"),
            Self::OneOf(texts) => f.write_str(&texts.join(", ")),
            Self::OneOfIgnoringCase(texts) => f.write_str(&texts.join(", ").to_ascii_lowercase()),
            Self::ListOf(texts) => write!(f, "any of {}", texts.join(", ")),
            Self::ThrottledReplicas => f.write_str("partition:broker pairs, or *"),
            Self::OffsetReset => f.write_str("earliest, latest or by_duration:PnDTnHnMn.nS"),
        }
    }
}
