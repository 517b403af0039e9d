//! How a record looks on a line.

use std::borrow::Cow;
use std::io::{self, Write};

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::fetched::Record;
use crate::types::PartitionIndex;

/// What is printed of a record.
#[derive(Clone, Debug, Args)]
pub struct LineFormat {
    /// What to print in front of the value, in this order
    #[arg(
        long,
        value_name = "FIELD,...",
        value_enum,
        value_delimiter = ',',
        conflicts_with = "json"
    )]
    print: Vec<Column>,
    /// What stands between the fields
    #[arg(long, value_name = "TEXT", default_value = "\t", hide_default_value = true)]
    separator: String,
    /// What a null key or value is printed as
    #[arg(long, value_name = "TEXT", default_value = "null")]
    null: String,
    /// One JSON object a line, with everything; bytes that are no text are replaced
    #[arg(long)]
    json: bool,
}

/// A field of a record.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Column {
    /// Milliseconds since 1970
    Timestamp,
    /// Number of the partition
    Partition,
    /// Offset in the partition
    Offset,
    /// name:value, separated by commas
    Headers,
    /// The key
    Key,
}

impl LineFormat {
    pub(super) fn write(
        &self,
        out: &mut dyn Write,
        partition: PartitionIndex,
        record: &Record,
    ) -> io::Result<()> {
        if self.json {
            return writeln!(out, "{}", json(partition, record));
        }
        for column in &self.print {
            self.write_column(*column, out, partition, record)?;
            out.write_all(self.separator.as_bytes())?;
        }
        out.write_all(self.or_null(record.value.as_deref()))?;
        out.write_all(b"\n")
    }

    fn write_column(
        &self,
        column: Column,
        out: &mut dyn Write,
        partition: PartitionIndex,
        record: &Record,
    ) -> io::Result<()> {
        match column {
            Column::Timestamp => write!(out, "{}", record.timestamp),
            Column::Partition => write!(out, "{partition}"),
            Column::Offset => write!(out, "{}", record.offset),
            Column::Key => out.write_all(self.or_null(record.key.as_deref())),
            Column::Headers => self.write_headers(out, record),
        }
    }

    fn write_headers(&self, out: &mut dyn Write, record: &Record) -> io::Result<()> {
        for (index, (name, value)) in record.headers.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(out, "{comma}{name}:")?;
            out.write_all(self.or_null(value.as_deref()))?;
        }
        Ok(())
    }

    fn or_null<'a>(&'a self, bytes: Option<&'a [u8]>) -> &'a [u8] {
        bytes.unwrap_or(self.null.as_bytes())
    }
}

fn text(bytes: &Option<Vec<u8>>) -> Option<Cow<'_, str>> {
    bytes.as_deref().map(String::from_utf8_lossy)
}

fn json(partition: PartitionIndex, record: &Record) -> Value {
    let headers: Vec<Value> =
        record.headers.iter().map(|(name, value)| json!([name, text(value)])).collect();
    json!({
        "partition": partition.get(),
        "offset": record.offset.get(),
        "timestamp": record.timestamp.get(),
        "key": text(&record.key),
        "value": text(&record.value),
        "headers": headers,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{Offset, Timestamp};

    fn line(format: &LineFormat) -> String {
        let record = Record {
            offset: Offset::new(5),
            timestamp: Timestamp::new(9),
            key: None,
            value: Some(b"v".to_vec()),
            headers: vec![("h".to_owned(), Some(b"1".to_vec())), ("n".to_owned(), None)],
        };
        let mut out = Vec::new();
        format.write(&mut out, PartitionIndex::new(2), &record).expect("memory");
        String::from_utf8(out).expect("text")
    }

    fn format(print: Vec<Column>, json: bool) -> LineFormat {
        LineFormat { print, separator: "|".to_owned(), null: "NULL".to_owned(), json }
    }

    #[test]
    fn fields_come_in_the_order_asked_for() {
        assert_eq!(line(&format(Vec::new(), false)), "v\n");
        use Column::{Headers, Key, Offset, Partition, Timestamp};
        let all = vec![Offset, Partition, Timestamp, Headers, Key];
        assert_eq!(line(&format(all, false)), "5|2|9|h:1,n:NULL|NULL|v\n");
    }

    #[test]
    fn json_tells_null_from_text() {
        let value: Value = serde_json::from_str(&line(&format(Vec::new(), true))).expect("JSON");
        assert_eq!(value["key"], Value::Null);
        assert_eq!(value["value"], "v");
        assert_eq!(value["headers"], json!([["h", "1"], ["n", null]]));
        assert_eq!(value["offset"], 5);
    }
}
