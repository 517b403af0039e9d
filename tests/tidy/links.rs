//! Links of the Markdown documents to files of the project.

use crate::source::Tree;

/// Complaints about links whose file is not there.
pub(crate) fn check(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    for document in tree.files(&["md"]) {
        let folder = document.rsplit_once('/').map_or("", |(folder, _)| folder);
        for target in targets(&tree.read(&document)) {
            if !tree.root.join(folder).join(&target).exists() {
                complaints.push(format!("{document}: {target} does not exist"));
            }
        }
    }
    complaints
}

/// Targets of `[text](target)` that are files: no addresses, no anchors; code blocks are left out.
fn targets(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        for after in line.split("](").skip(1) {
            let Some((target, _)) = after.split_once(')') else { continue };
            let file = target.split('#').next().unwrap_or_default();
            let address = target.contains("://") || target.starts_with("mailto:");
            if !file.is_empty() && !address {
                found.push(file.to_owned());
            }
        }
    }
    found
}

#[test]
fn links_to_files_are_found_and_others_are_not() {
    let text = "a [b](c.md#part) [d](#here) [e](https://x.y/z) `f`\n```\n[g](h.md)\n```\n[i](../j)";
    assert_eq!(targets(text), ["c.md", "../j"]);
}

#[test]
fn a_missing_file_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("docs")).expect("docs");
    std::fs::write(folder.path().join("docs/a.md"), "[there](../b.md) [gone](c.md)").expect("a.md");
    std::fs::write(folder.path().join("b.md"), "").expect("b.md");
    let complaints = check(&Tree { root: folder.path().to_owned() });
    assert_eq!(complaints, ["docs/a.md: c.md does not exist"]);
}
