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

use source::{Source, Tree};

/// Fails with every complaint at once, so that one run shows all there is to fix.
#[track_caller]
fn expect_none(complaints: Vec<String>) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

fn check_each(sources: &[Source], rule: impl Fn(&Source) -> Vec<String>) {
    assert!(!sources.is_empty(), "no sources found: the rule would hold of nothing");
    expect_none(sources.iter().flat_map(rule).collect());
}

#[test]
fn modules_import_only_what_the_table_allows() {
    check_each(&Tree::of_project().product(), layers::check);
}

#[test]
fn the_top_level_modules_are_those_of_the_table() {
    expect_none(layers::check_top_level(&Tree::of_project().product()));
}

#[test]
fn external_crates_stay_behind_their_fences() {
    check_each(&Tree::of_project().product(), fences::check);
}

#[test]
fn files_and_functions_stay_small() {
    check_each(&Tree::of_project().product(), sizes::check);
}

#[test]
fn nothing_unfinished_ships() {
    check_each(&Tree::of_project().product(), words::check_product);
}

#[test]
fn no_file_names_a_machine_or_leaves_work_without_an_issue() {
    let texts = Tree::of_project().texts();
    assert!(!texts.is_empty());
    expect_none(texts.iter().flat_map(|(path, text)| words::check_text(path, text)).collect());
}

#[test]
fn links_in_the_documents_lead_somewhere() {
    expect_none(links::check(&Tree::of_project()));
}

#[test]
fn every_api_has_one_row_one_handler_and_one_wire_test() {
    expect_none(apis::check(&Tree::of_project()));
}
