//! What the project links: only permissive licences, and one version of everything unless a reason is written here.
//!
//! Reads `cargo metadata` without the network. Known vulnerabilities need a database that is not part of a clone:
//! `deny.toml` is for that.

#![allow(clippy::disallowed_methods, reason = "asks cargo")]

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// SPDX identifiers that ask for no more than a notice.
const LICENCES: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Crates that are there in two versions, and why that is accepted.
const DUPLICATES: &[(&str, &str)] =
    &[("syn", "some derive macros still take 2; nothing of it is in the binary")];

#[test]
fn every_dependency_has_a_permissive_licence() {
    let packages = packages();
    assert!(packages.len() > 50, "the metadata is not the whole tree");
    let refused: Vec<String> = packages
        .iter()
        .filter(|p| !is_permissive(&p.licence))
        .map(|p| format!("{} {}: {}", p.name, p.version, p.licence))
        .collect();
    assert!(refused.is_empty(), "licences that are not on the list:\n{}", refused.join("\n"));
}

#[test]
fn no_dependency_is_there_twice_without_a_reason() {
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in packages() {
        versions.entry(package.name).or_default().insert(package.version);
    }
    let twice: Vec<String> = versions
        .into_iter()
        .filter(|(_, v)| v.len() > 1)
        .map(|(name, v)| format!("{name} {v:?}"))
        .collect();
    let known =
        |line: &&String| DUPLICATES.iter().any(|(name, _)| line.starts_with(&format!("{name} ")));
    let unknown: Vec<&String> = twice.iter().filter(|line| !known(line)).collect();
    assert!(unknown.is_empty(), "two versions of one crate: {unknown:?}");
    for (name, _) in DUPLICATES {
        assert!(
            twice.iter().any(|line| line.starts_with(&format!("{name} "))),
            "{name} is there once now: take it off the list"
        );
    }
}

struct Package {
    name: String,
    version: String,
    licence: String,
}

/// Every package that a build for this machine uses, the project's own left out.
fn packages() -> Vec<Package> {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version=1",
            "--locked",
            "--offline",
            "--filter-platform",
            &host(),
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let used: BTreeSet<&str> =
        list(&metadata["resolve"]["nodes"]).iter().filter_map(|node| node["id"].as_str()).collect();
    let outside = |p: &&Value| !p["source"].is_null() && used.contains(text(&p["id"]).as_str());
    list(&metadata["packages"])
        .iter()
        .filter(outside)
        .map(|p| Package {
            name: text(&p["name"]),
            version: text(&p["version"]),
            licence: text(&p["license"]),
        })
        .collect()
}

fn host() -> String {
    let output = Command::new("rustc").arg("-vV").output().expect("rustc runs");
    let text = String::from_utf8(output.stdout).expect("text");
    let line = text.lines().find_map(|line| line.strip_prefix("host: "));
    line.expect("a host line").to_owned()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Whether an SPDX expression can be met with licences of the list. `A/B` is the old spelling of `A OR B`.
fn is_permissive(expression: &str) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    !words.is_empty() && either(&words, &mut at) && at == words.len()
}

fn either(words: &[&str], at: &mut usize) -> bool {
    let mut met = both(words, at);
    while words.get(*at) == Some(&"OR") {
        *at += 1;
        met |= both(words, at);
    }
    met
}

fn both(words: &[&str], at: &mut usize) -> bool {
    let mut met = term(words, at);
    while words.get(*at) == Some(&"AND") {
        *at += 1;
        met &= term(words, at);
    }
    met
}

fn term(words: &[&str], at: &mut usize) -> bool {
    let Some(word) = words.get(*at) else { return false };
    *at += 1;
    if *word == "(" {
        let met = either(words, at);
        *at += 1;
        return met;
    }
    let mut licence = (*word).to_owned();
    if words.get(*at) == Some(&"WITH") {
        licence = format!("{licence} WITH {}", words.get(*at + 1).unwrap_or(&""));
        *at += 2;
    }
    LICENCES.contains(&licence.as_str())
}

#[test]
fn licence_expressions_are_understood() {
    for good in ["MIT", "MIT OR GPL-3.0", "MIT/Apache-2.0", "(MIT OR Apache-2.0) AND Unicode-3.0"] {
        assert!(is_permissive(good), "{good}");
    }
    for bad in
        ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT OR GPL-3.0) AND MPL-2.0", "LGPL-2.1 OR AGPL-3.0"]
    {
        assert!(!is_permissive(bad), "{bad}");
    }
}
