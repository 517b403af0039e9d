//! Columns of text, as wide as what is in them.

use std::io::{self, Write};

/// Rows under a heading.
#[derive(Debug)]
pub(super) struct Table<const N: usize> {
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    /// A table without rows.
    pub(super) fn new(heading: [&str; N]) -> Self {
        Self { rows: vec![heading.map(str::to_owned)] }
    }

    /// Adds a row; an empty field is shown as `-`.
    pub(super) fn push(&mut self, row: [String; N]) {
        self.rows.push(row.map(|field| if field.is_empty() { "-".to_owned() } else { field }));
    }

    /// Writes heading and rows, fields two spaces apart, nothing behind the last.
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let len = |field: &String| field.chars().count();
        let widths: [usize; N] = std::array::from_fn(|column| {
            self.rows.iter().map(|row| len(&row[column])).max().unwrap_or(0)
        });
        for row in &self.rows {
            let mut line = String::new();
            for (field, width) in row.iter().zip(widths) {
                line.push_str(&format!("{field:width$}  "));
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_stand_below_each_other() {
        let mut table = Table::new(["name", "n"]);
        table.push(["a-long-name".to_owned(), "1".to_owned()]);
        table.push(["ä".to_owned(), String::new()]);
        let mut out = Vec::new();
        table.write(&mut out).unwrap();
        let expected = "name         n\na-long-name  1\nä            -\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
