//! One row of the API table, one handler file, one wire test: none without the others.
//!
//! The row names key, versions and handler; the handler's file says the same in its first line; the tests over a socket know
//! the messages of every key, and ask every version of every row.

use crate::source::Tree;

const TABLE: &str = "src/kafka/api_table.rs";
const HANDLERS: &str = "src/kafka/handlers/";
const WIRE_MESSAGES: &str = "tests/wire/messages.rs";
const HANDLE: &str = "pub fn handle(request: Request)";

/// One row of the table, as its source has it.
#[derive(Debug, PartialEq)]
struct Row {
    key: String,
    name: String,
    first: String,
    last: String,
    handler: String,
}

/// Complaints about APIs that lack one of the three.
pub(crate) fn check(tree: &Tree) -> Vec<String> {
    let rows = rows(&tree.read(TABLE));
    assert!(rows.len() > 10, "the table was not understood");
    let paths = tree.files(&["rs"]).into_iter().filter(|path| path.starts_with(HANDLERS));
    let handlers: Vec<(String, String)> = paths
        .map(|path| (path.trim_start_matches(HANDLERS).to_owned(), tree.read(&path)))
        .filter(|(_, text)| text.contains(HANDLE))
        .collect();
    compare(&rows, &handlers, &tree.read(WIRE_MESSAGES))
}

/// `handlers` are names and texts of the files that handle something.
fn compare(rows: &[Row], handlers: &[(String, String)], wire_messages: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    for row in rows {
        let file = format!("{}.rs", row.handler);
        match handlers.iter().find(|(name, _)| *name == file) {
            None => complaints.push(format!("{}: no handler file {file}", row.name)),
            Some((_, text)) => complaints.extend(check_head(row, &file, text)),
        }
        if row.handler != snake_case(&row.name) {
            complaints.push(format!("{}: handled by `{}`", row.name, row.handler));
        }
        let Row { key, name, .. } = row;
        if !wire_messages.contains(&format!("{key} => {name}Request, {name}Response;")) {
            complaints.push(format!("{name}: no wire test knows its messages ({WIRE_MESSAGES})"));
        }
    }
    for (file, _) in handlers {
        if !rows.iter().any(|row| format!("{}.rs", row.handler) == *file) {
            complaints.push(format!("{HANDLERS}{file}: no row of the table leads here"));
        }
    }
    complaints
}

fn check_head(row: &Row, file: &str, text: &str) -> Option<String> {
    let Row { key, name, first, last, .. } = row;
    let versions =
        if first == last { format!("version {first}") } else { format!("versions {first}-{last}") };
    let expected = format!("//! {name} ({key}), {versions}");
    let head = text.lines().next().unwrap_or_default();
    let said = head.strip_prefix(&expected).is_some_and(|rest| !rest.starts_with(char::is_numeric));
    (!said).then(|| format!("{HANDLERS}{file}: begins with `{head}`, not with `{expected}`"))
}

fn rows(table: &str) -> Vec<Row> {
    let field = |row: &str, name: &str| {
        let (_, after) = row.split_once(&format!(" {name}: "))?;
        after.split_once(",\n").map(|(value, _)| value.to_owned())
    };
    let row = |text: &str| {
        let versions = field(text, "versions")?;
        let (first, last) = versions.split_once("..=")?;
        Some(Row {
            key: field(text, "key")?,
            name: field(text, "name")?.trim_matches('"').to_owned(),
            first: first.to_owned(),
            last: last.to_owned(),
            handler: field(text, "handle")?.split("::").nth(1)?.to_owned(),
        })
    };
    table.split("    Api {\n").skip(1).filter_map(row).collect()
}

fn snake_case(name: &str) -> String {
    let mut out = String::new();
    for (index, letter) in name.char_indices() {
        if letter.is_uppercase() && index > 0 {
            out.push('_');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = "    Api {\n        key: 1,\n        name: \"FetchMore\",\n        versions: 4..=17,\n        \
                       handle: handlers::fetch_more::handle,\n    },\n";
    const HEAD: &str = "//! FetchMore (1), versions 4-17.\n";
    const WIRE: &str = "1 => FetchMoreRequest, FetchMoreResponse;";

    fn complaints(table: &str, file: &str, head: &str, wire: &str) -> usize {
        compare(&rows(table), &[(file.to_owned(), head.to_owned())], wire).len()
    }

    #[test]
    fn a_row_with_handler_and_wire_test_passes() {
        assert_eq!(complaints(ROW, "fetch_more.rs", HEAD, WIRE), 0);
    }

    #[test]
    fn each_of_the_three_is_missed() {
        assert_eq!(complaints("", "fetch_more.rs", HEAD, WIRE), 1, "no row");
        assert_eq!(complaints(ROW, "other.rs", HEAD, WIRE), 2, "no handler, and one too many");
        assert_eq!(complaints(ROW, "fetch_more.rs", HEAD, ""), 1, "no wire test");
    }

    #[test]
    fn key_and_versions_of_row_and_file_are_the_same() {
        for head in ["//! FetchMore (2), versions 4-17", "//! FetchMore (1), versions 4-1", ""] {
            assert_eq!(complaints(ROW, "fetch_more.rs", head, WIRE), 1, "{head}");
        }
        assert_eq!(complaints(ROW, "fetch_more.rs", "//! FetchMore (1), versions 4-170", WIRE), 1);
    }
}
