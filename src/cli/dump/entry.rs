//! One line of the output: what it is, and its fields in order.

use serde_json::Value;

use crate::cli::moment;
use crate::types::Timestamp;

/// A batch, a record, an entry of an index, a line of a checkpoint.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub kind: &'static str,
    pub depth: usize,
    fields: Vec<Field>,
}

#[derive(Clone, Debug)]
struct Field {
    name: &'static str,
    value: Shown,
    /// JSON always has it; text leaves out what says nothing.
    in_text: bool,
}

#[derive(Clone, Debug)]
enum Shown {
    Json(Value),
    /// Milliseconds since 1970 in JSON, a date for people.
    Time(Timestamp),
    Bytes(Vec<u8>),
}

impl Entry {
    pub fn new(kind: &'static str) -> Self {
        Self { kind, depth: 1, fields: Vec::new() }
    }

    /// Belongs to the entry before it.
    pub fn below(mut self) -> Self {
        self.depth += 1;
        self
    }

    pub fn with(self, name: &'static str, value: impl Into<Value>) -> Self {
        self.push(name, Shown::Json(value.into()), true)
    }

    /// As [`Self::with`], but text shows it only where it is not `usual`.
    pub fn unless(
        self,
        name: &'static str,
        value: impl Into<Value>,
        usual: impl Into<Value>,
    ) -> Self {
        let value = value.into();
        let in_text = value != usual.into();
        self.push(name, Shown::Json(value), in_text)
    }

    pub fn time(self, name: &'static str, at: Timestamp) -> Self {
        self.push(name, Shown::Time(at), true)
    }

    /// A key or value, `None` for null.
    pub fn bytes(self, name: &'static str, bytes: Option<&[u8]>) -> Self {
        match bytes {
            Some(bytes) => self.push(name, Shown::Bytes(bytes.to_vec()), true),
            None => self.with(name, Value::Null),
        }
    }

    fn push(mut self, name: &'static str, value: Shown, in_text: bool) -> Self {
        self.fields.push(Field { name, value, in_text });
        self
    }

    /// One JSON object without its line break; `file` comes first.
    pub fn json(&self, file: &str) -> String {
        let mut line = format!("{{\"file\":{},\"kind\":\"{}\"", Value::from(file), self.kind);
        for Field { name, value, .. } in &self.fields {
            let (suffix, value) = match value {
                Shown::Json(value) => ("", value.clone()),
                Shown::Time(at) => ("", Value::from(at.get())),
                Shown::Bytes(bytes) => match str::from_utf8(bytes) {
                    Ok(text) => ("", Value::from(text)),
                    Err(_) => ("Base64", Value::from(super::decode::base64(bytes))),
                },
            };
            line.push_str(&format!(",\"{name}{suffix}\":{value}"));
        }
        line.push('}');
        line
    }

    /// One line for people, without its line break.
    pub fn text(&self) -> String {
        let mut line = format!("{}{}", "  ".repeat(self.depth), self.kind);
        for field in self.fields.iter().filter(|field| field.in_text) {
            line.push_str(&format!(" {}={}", field.name, text(&field.value)));
        }
        line
    }
}

fn text(value: &Shown) -> String {
    match value {
        // Quotes only where they help.
        Shown::Json(Value::String(text)) if is_word(text) => text.clone(),
        Shown::Json(value) => value.to_string(),
        Shown::Time(at) => moment::written(*at),
        Shown::Bytes(bytes) => match str::from_utf8(bytes) {
            Ok(text) => Value::from(text).to_string(),
            Err(_) => format!("\"{}\"", bytes.escape_ascii()),
        },
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "-_.:/+".contains(c))
}
