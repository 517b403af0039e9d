//! Values: from text as Kafka's `ConfigDef.parseType` reads it, back to text as `ConfigDef.convertToString` writes it.

use std::fmt;

use super::setting::{Kind, Setting};
use super::units;
use super::valid::Valid;

/// A parsed value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Of `Boolean`.
    Boolean(bool),
    /// Of all integer kinds, sizes and times.
    Number(i64),
    /// Of `Double`.
    Double(f64),
    /// Of `String`, `Class` and `Password`.
    Text(String),
    /// Of `List`.
    List(Vec<String>),
}

/// A value that its setting does not accept; the text is Kafka's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidValue {
    /// The value or a part of it is wrong.
    #[error("Invalid value {value} for configuration {name}: {reason}")]
    Value {
        /// The setting.
        name: String,
        /// What was given; never a secret.
        value: String,
        /// What is accepted.
        reason: String,
    },
    /// `a,,b` or `a,`.
    #[error("Configuration '{name}' values must not be empty.")]
    EmptyEntry {
        /// The setting.
        name: String,
    },
    /// No entry where one is needed.
    #[error("Configuration '{name}' must not be empty. Valid values include: any non-empty value")]
    EmptyList {
        /// The setting.
        name: String,
    },
}

impl Setting {
    /// Parses and checks a value.
    pub fn parse(&self, text: &str) -> Result<Value, InvalidValue> {
        let value = self.parse_kind(text)?;
        match self.valid.check(self.name, &value) {
            Ok(()) => Ok(value),
            Err(objection) => {
                let shown = objection.part.unwrap_or_else(|| in_message(&value));
                Err(self.invalid(&shown, objection.reason))
            }
        }
    }

    /// The default, parsed; `None` where Kafka has null.
    pub fn default_value(&self) -> Option<Value> {
        self.default.map(|text| self.parse(text).expect("a test parses every default"))
    }

    fn parse_kind(&self, text: &str) -> Result<Value, InvalidValue> {
        let trimmed = text.trim();
        let number = |parsed: Option<i64>| {
            parsed.map(Value::Number).ok_or_else(|| self.not_a_number(trimmed))
        };
        match self.kind {
            Kind::Boolean if trimmed.eq_ignore_ascii_case("true") => Ok(Value::Boolean(true)),
            Kind::Boolean if trimmed.eq_ignore_ascii_case("false") => Ok(Value::Boolean(false)),
            Kind::Boolean => {
                Err(self.invalid(trimmed, "Expected value to be either true or false".to_owned()))
            }
            Kind::String | Kind::Class | Kind::Password => Ok(Value::Text(trimmed.to_owned())),
            Kind::Short => number(trimmed.parse::<i16>().ok().map(i64::from)),
            Kind::Int => number(trimmed.parse::<i32>().ok().map(i64::from)),
            Kind::Long => number(trimmed.parse::<i64>().ok()),
            Kind::Double => {
                trimmed.parse().map(Value::Double).map_err(|_| self.not_a_number(trimmed))
            }
            Kind::List => self.parse_list(trimmed),
            Kind::Bytes => self.parse_suffixed(trimmed, units::parse_bytes(trimmed)),
            Kind::Millis => self.parse_suffixed(trimmed, units::parse_millis(trimmed)),
        }
    }

    /// Duplicates are dropped, as Kafka does. An empty entry is refused, but for lists that need one: there it is passed
    /// over, because Testcontainers for .NET leaves a comma at the end of the advertised listeners.
    fn parse_list(&self, text: &str) -> Result<Value, InvalidValue> {
        let needs_one = self.valid == Valid::NonEmptyList;
        let mut list: Vec<String> = Vec::new();
        for part in text.split(',').map(str::trim).filter(|_| !text.is_empty()) {
            if part.is_empty() && needs_one {
                continue;
            }
            if part.is_empty() {
                return Err(InvalidValue::EmptyEntry { name: self.name.to_owned() });
            }
            if !list.iter().any(|seen| seen == part) {
                list.push(part.to_owned());
            }
        }
        if list.is_empty() && needs_one {
            return Err(InvalidValue::EmptyList { name: self.name.to_owned() });
        }
        Ok(Value::List(list))
    }

    fn parse_suffixed(
        &self,
        text: &str,
        parsed: Result<i64, String>,
    ) -> Result<Value, InvalidValue> {
        parsed.map(Value::Number).map_err(|reason| self.invalid(text, reason))
    }

    fn not_a_number(&self, text: &str) -> InvalidValue {
        self.invalid(text, format!("Not a number of type {}", self.kind.kafka_name()))
    }

    pub(super) fn invalid(&self, value: &str, reason: String) -> InvalidValue {
        let value = if self.is_sensitive() { "[hidden]" } else { value };
        InvalidValue::Value { name: self.name.to_owned(), value: value.to_owned(), reason }
    }
}

/// A value inside an error message: lists in brackets, as Java prints them.
fn in_message(value: &Value) -> String {
    match value {
        Value::List(list) => format!("[{}]", list.join(", ")),
        other => other.to_string(),
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean(flag) => flag.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Double(number) => f.write_str(&java_double(*number)),
            Self::Text(text) => f.write_str(text),
            Self::List(list) => f.write_str(&list.join(",")),
        }
    }
}

/// `Double.toString` of Java: scientific below 10^-3 and from 10^7 on, always with a decimal point.
fn java_double(number: f64) -> String {
    let magnitude = number.abs();
    if !number.is_finite() || magnitude == 0.0 || (1e-3..1e7).contains(&magnitude) {
        return match number {
            f64::INFINITY => "Infinity".to_owned(),
            f64::NEG_INFINITY => "-Infinity".to_owned(),
            other => format!("{other:?}"),
        };
    }
    let text = format!("{number:E}");
    match text.split_once('E') {
        Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0E{exponent}"),
        _ => text,
    }
}
