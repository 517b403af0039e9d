//! The import table: which top-level module may name which.

use crate::paths::mentions;
use crate::source::Source;

const BASE: &[&str] = &["types", "env", "config", "observe"];

/// Module and what it may import. `app`, `main` and `cli` are the composition root: everything.
const TABLE: &[(&str, &[&str])] = &[
    ("types", &[]),
    ("env", &["types"]),
    ("config", &["types", "env"]),
    ("observe", &["types", "env", "config"]),
    ("security", BASE),
    ("storage", BASE),
    ("log", &["types", "env", "config", "observe", "storage"]),
    ("metadata", &["types", "env", "config", "observe", "storage", "log", "security"]),
    ("coordinator", &["types", "env", "config", "observe", "metadata"]),
    (
        "broker",
        &[
            "types",
            "env",
            "config",
            "observe",
            "security",
            "storage",
            "log",
            "metadata",
            "coordinator",
        ],
    ),
    ("kafka", FRONT_END),
    ("gateway", FRONT_END),
];

const FRONT_END: &[&str] =
    &["types", "env", "config", "observe", "security", "log", "metadata", "coordinator", "broker"];

const ROOT: &[&str] = &["", "app", "main", "cli"];

/// Modules whose insides the front ends may not name: only what the module re-exports.
const CLOSED_TO_FRONT_ENDS: &[&str] = &["log"];

/// What a module may name of another where that is less than all that is public: the metadata journal is a log in Kafka's
/// batch format, but no partition of the engine's.
const NARROW: &[(&str, &str, &[&str])] =
    &[("metadata", "log", &["batch", "builder", "format", "reader", "record", "scan"])];

/// Complaints about the imports of one file.
pub(crate) fn check(source: &Source) -> Vec<String> {
    let top = source.top();
    if ROOT.contains(&top.as_str()) {
        return Vec::new();
    }
    let Some((_, allowed)) = TABLE.iter().find(|(name, _)| *name == top) else {
        return vec![format!("{}: `{top}` has no row in the import table", source.path)];
    };
    let mut complaints = Vec::new();
    for mention in mentions(source) {
        let [first, module, rest @ ..] = mention.segments.as_slice() else { continue };
        if first != "crate" || *module == top {
            continue;
        }
        let at = format!("{}:{}", source.path, mention.line);
        if !allowed.contains(&module.as_str()) {
            complaints.push(format!("{at}: `{top}` must not import `{module}`"));
        } else if is_outside_narrow(&top, module, rest) {
            let path = mention.segments.join("::");
            complaints
                .push(format!("{at}: {path}: `{top}` uses the batch codec of `{module}` only"));
        } else if reaches_inside(&top, module, rest) {
            let path = mention.segments.join("::");
            complaints.push(format!("{at}: {path} is inside `{module}`: use what it re-exports"));
        }
    }
    complaints
}

fn is_outside_narrow(top: &str, module: &str, rest: &[String]) -> bool {
    let narrow = NARROW.iter().find(|(from, to, _)| *from == top && *to == module);
    narrow.is_some_and(|(_, _, names)| {
        rest.first().is_none_or(|name| !names.contains(&name.as_str()))
    })
}

/// A module is named like one (`log::segment::x`), a re-exported type or function of a type is not (`log::Slice::new`).
fn reaches_inside(top: &str, module: &str, rest: &[String]) -> bool {
    let front_end = top == "kafka" || top == "gateway";
    let into_module =
        rest.len() > 1 && rest[0].chars().next().is_some_and(|c| c.is_ascii_lowercase());
    front_end && CLOSED_TO_FRONT_ENDS.contains(&module) && into_module
}

/// Complaints about top-level modules that the table does not know.
pub(crate) fn check_top_level(sources: &[Source]) -> Vec<String> {
    let known = |top: &str| ROOT.contains(&top) || TABLE.iter().any(|(name, _)| *name == top);
    let strange = sources.iter().filter(|source| !known(&source.top()));
    strange.map(|s| format!("{}: not a top-level module of the table", s.path)).collect()
}

#[cfg(test)]
fn complaints(path: &str, text: &str) -> usize {
    check(&Source::parse(path, text)).len()
}

#[test]
fn an_edge_against_the_table_is_named() {
    assert_eq!(complaints("src/log/x.rs", "use crate::broker::Broker;"), 1);
    assert_eq!(complaints("src/log/x.rs", "use super::super::broker::Broker;"), 1);
    assert_eq!(complaints("src/types/x.rs", "fn f() -> crate::env::Env { loop {} }"), 1);
    assert_eq!(complaints("src/gateway/x.rs", "use crate::{kafka::X, broker::Y};"), 1);
    assert_eq!(complaints("src/kafka/x.rs", "use crate::storage::DataDirectory;"), 1);
    assert_eq!(complaints("src/broker/x.rs", "fn f() { m!(crate::kafka::g()) }"), 1);
}

#[test]
fn the_front_ends_see_only_what_the_engine_re_exports() {
    assert_eq!(complaints("src/kafka/x.rs", "use crate::log::segment::Segment;"), 1);
    assert_eq!(complaints("src/kafka/x.rs", "use crate::log::{Slice, Log};"), 0);
}

#[test]
fn metadata_uses_the_batch_codec_only() {
    assert_eq!(complaints("src/metadata/x.rs", "use crate::log::{Log, scan::scan};"), 1);
    assert_eq!(complaints("src/metadata/x.rs", "use crate::log::batch::BatchHeader;"), 0);
}

#[test]
fn edges_of_the_table_pass() {
    assert_eq!(complaints("src/broker/x.rs", "use crate::log::segment::Segment;"), 0);
    assert_eq!(complaints("src/cli/x.rs", "use crate::kafka::client::Client;"), 0);
    assert_eq!(complaints("src/app.rs", "use crate::gateway::x;"), 0);
}

#[test]
fn a_new_top_level_module_needs_a_row() {
    assert_eq!(check_top_level(&[Source::parse("src/util/mod.rs", "")]).len(), 1);
    assert_eq!(complaints("src/util/mod.rs", ""), 1);
}
