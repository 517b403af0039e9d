//! Holds the shape of the project: the import table and the fences of `ARCHITECTURE.md`, sizes of files and functions,
//! words that must not ship, links, and that every API has a row, a handler and a wire test.
//!
//! Each rule is a function from sources to complaints, tested beside it on small inputs that break it.

#![allow(clippy::disallowed_methods, reason = "reads the sources themselves")]

#[path = "tidy/apis.rs"]
mod apis;
#[path = "tidy/fences.rs"]
mod fences;
#[path = "tidy/layers.rs"]
mod layers;
#[path = "tidy/links.rs"]
mod links;
#[path = "tidy/paths.rs"]
mod paths;
#[path = "tidy/sizes.rs"]
mod sizes;
#[path = "tidy/source.rs"]
mod source;
#[path = "tidy/words.rs"]
mod words;

use std::sync::OnceLock;

use source::{Source, Tree};

/// Complaints about what ships, by rule. Parsing it takes longest, so it is done once for all tests.
struct Findings {
    files: usize,
    layers: Vec<String>,
    fences: Vec<String>,
    sizes: Vec<String>,
    words: Vec<String>,
    top_level: Vec<String>,
}

fn findings() -> &'static Findings {
    static FINDINGS: OnceLock<Findings> = OnceLock::new();
    FINDINGS.get_or_init(|| {
        let sources = Tree::of_project().product();
        let each = |rule: fn(&Source) -> Vec<String>| sources.iter().flat_map(rule).collect();
        Findings {
            files: sources.len(),
            layers: each(layers::check),
            fences: each(fences::check),
            sizes: each(sizes::check),
            words: each(words::check_product),
            top_level: layers::check_top_level(&sources),
        }
    })
}

/// Fails with every complaint at once, so that one run shows all there is to fix.
#[track_caller]
fn expect_none(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn there_are_sources_for_the_rules_to_hold_of() {
    assert!(findings().files > 100);
}

#[test]
fn modules_import_only_what_the_table_allows() {
    expect_none(&findings().layers);
}

#[test]
fn the_top_level_modules_are_those_of_the_table() {
    expect_none(&findings().top_level);
}

#[test]
fn external_crates_stay_behind_their_fences() {
    expect_none(&findings().fences);
}

#[test]
fn files_and_functions_stay_small() {
    expect_none(&findings().sizes);
}

#[test]
fn nothing_unfinished_ships() {
    expect_none(&findings().words);
}

#[test]
fn no_file_names_a_machine_or_leaves_work_without_an_issue() {
    let texts = Tree::of_project().texts();
    assert!(texts.len() > 100, "the texts were not found");
    let complaints: Vec<String> =
        texts.iter().flat_map(|(path, text)| words::check_text(path, text)).collect();
    expect_none(&complaints);
}

#[test]
fn links_in_the_documents_lead_somewhere() {
    expect_none(&links::check(&Tree::of_project()));
}

#[test]
fn every_api_has_one_row_one_handler_and_one_wire_test() {
    expect_none(&apis::check(&Tree::of_project()));
}
