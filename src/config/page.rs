//! `docs/configs.md`, made from the table.

use std::fmt::Write as _;

use super::load::accepted;
use super::setting::{Scope, Setting, Status, Update};
use super::table;

const HEAD: &str = "\
# Settings

Made from the table in `src/config/table`; `highwater config explain KEY` says the same and what is in force.

Flags go before the environment, that before the properties file, that before defaults. The file is Kafka's
`server.properties`, unchanged. In the environment a setting is `KAFKA_` or, for those that start with `highwater.`,
`HIGHWATER_` and its name in upper case: `_` for a dot, `__` for an underscore, `___` for a hyphen. Unknown keys in a file or
the environment are warned about; a wrong value, and an unknown key on the command line, refuse to start.

Kafka's settings take plain numbers. Those of Highwater also take units: `64KiB`, `256MiB`, `2GiB`; `500ms`, `30s`, `5m`.

Started without a properties file, Highwater listens on 127.0.0.1:9092, keeps its data in `./highwater-data`, uses
replication factor 1 for internal topics and lets the first member of a group start at once.

What each setting does here:

- **acts**: as in Kafka.
- **later**: it is checked and shown, what it controls is not built yet.
- **no**: it is accepted, what it controls does not exist in Highwater.
";

/// The page.
pub fn settings_page() -> String {
    let mut page = HEAD.to_owned();
    page.push_str("\n## Topics\n\n");
    page.push_str("| setting | accepts | default | broker settings behind it | here | |\n|---|---|---|---|---|---|\n");
    for row in table::TOPIC {
        resource_row(&mut page, row);
    }
    page.push_str("\n## A group's own\n\n");
    page.push_str("| setting | accepts | default | broker setting behind it | here | |\n|---|---|---|---|---|---|\n");
    for row in table::GROUP {
        resource_row(&mut page, row);
    }
    for (group, rows) in table::BROKER_GROUPS {
        // Writing to a string cannot fail.
        let _ = write!(
            page,
            "\n## {group}\n\n| setting | accepts | default | changes while it runs | here | |\n|---|---|---|---|---|---|\n"
        );
        for row in *rows {
            broker_row(&mut page, row);
        }
    }
    page
}

fn resource_row(page: &mut String, row: &Setting) {
    let synonyms: Vec<String> = row.synonyms().iter().map(|name| format!("`{name}`")).collect();
    line(page, row, &synonyms.join(", "));
}

fn broker_row(page: &mut String, row: &Setting) {
    let update = match row.scope {
        Scope::Broker(Update::ReadOnly) | Scope::Topic { .. } | Scope::Group { .. } => "no",
        Scope::Broker(Update::PerBroker) => "on one broker",
        Scope::Broker(Update::ClusterWide) => "yes",
    };
    line(page, row, update);
}

fn line(page: &mut String, row: &Setting, middle: &str) {
    let default = match row.default {
        None => "not set".to_owned(),
        Some("") => "empty".to_owned(),
        Some(text) => format!("`{text}`"),
    };
    let here = match row.status {
        Status::Acts => "acts",
        Status::Later => "later",
        Status::NotHere => "no",
    };
    let _ = writeln!(
        page,
        "| `{}` | {} | {default} | {middle} | {here} | {} |",
        row.name,
        accepted(row),
        row.doc
    );
}
