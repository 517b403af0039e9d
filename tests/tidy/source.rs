//! The files of the project, read once, with what is test code told apart from what ships.

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::spanned::Spanned;

/// The project's folder.
pub(crate) struct Tree {
    pub(crate) root: PathBuf,
}

/// One Rust file that ships (no test file), parsed.
pub(crate) struct Source {
    /// From the project's folder, with `/`.
    pub(crate) path: String,
    /// Lines, not counting those of test modules inside.
    pub(crate) lines: usize,
    /// Without items under `#[cfg(test)]`.
    pub(crate) file: syn::File,
    /// Modules below it that are files of tests.
    test_modules: Vec<String>,
}

impl Tree {
    /// The package under test.
    pub(crate) fn of_project() -> Self {
        Self { root: PathBuf::from(env!("CARGO_MANIFEST_DIR")) }
    }

    /// What ships: `src` without its test files, which are those that a parent declares under `#[cfg(test)]`.
    pub(crate) fn product(&self) -> Vec<Source> {
        let paths = self.files(&["rs"]).into_iter().filter(|path| path.starts_with("src/"));
        let mut sources: Vec<Source> =
            paths.map(|path| Source::parse(&path, &self.read(&path))).collect();
        let tests: Vec<String> = sources.iter().flat_map(|s| s.test_modules.clone()).collect();
        sources.retain(|source| {
            let module = source.module().join("::");
            !tests.iter().any(|t| module == *t || module.starts_with(&format!("{t}::")))
        });
        sources
    }

    /// Path and text of every file that people read: code, scripts, documents, settings.
    pub(crate) fn texts(&self) -> Vec<(String, String)> {
        let kinds = ["rs", "md", "toml", "sh", "py", "go", "js", "mjs", "yml", "yaml", "xml"];
        self.files(&kinds).into_iter().map(|path| (path.clone(), self.read(&path))).collect()
    }

    /// Files with one of these endings, sorted, from the project's folder. Hidden folders and build output are left out.
    pub(crate) fn files(&self, endings: &[&str]) -> Vec<String> {
        let mut found = Vec::new();
        self.walk(Path::new(""), endings, &mut found);
        found.sort();
        found
    }

    /// The text of a file that is known to be there.
    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
    }

    fn walk(&self, folder: &Path, endings: &[&str], found: &mut Vec<String>) {
        let entries = fs::read_dir(self.root.join(folder)).expect("a folder of the project");
        for entry in entries.map(|e| e.expect("an entry of the project")) {
            let name = entry.file_name().into_string().expect("names are plain text");
            let path = folder.join(&name);
            if entry.file_type().expect("a type").is_dir() {
                if !is_left_out(&name) {
                    self.walk(&path, endings, found);
                }
            } else if endings.iter().any(|e| name.ends_with(&format!(".{e}"))) {
                found.push(path.to_str().expect("plain text").replace('\\', "/"));
            }
        }
    }
}

fn is_left_out(folder: &str) -> bool {
    let built = ["target", "node_modules", "highwater-data", "__pycache__"];
    folder.starts_with('.') || built.contains(&folder)
}

impl Source {
    /// Parses a file and takes its test items out.
    pub(crate) fn parse(path: &str, text: &str) -> Self {
        let mut file = syn::parse_file(text).unwrap_or_else(|e| panic!("{path}: {e}"));
        let below = module_of(path);
        let test_modules = test_files(&file.items)
            .map(|name| below.iter().cloned().chain([name]).collect::<Vec<_>>().join("::"))
            .collect();
        let mut test_lines = 0;
        strip_items(&mut file.items, &mut test_lines);
        let lines = text.lines().count() - test_lines;
        Self { path: path.to_owned(), lines, file, test_modules }
    }

    /// The module that this file is, below the crate: `src/log/format/mod.rs` is `[log, format]`.
    pub(crate) fn module(&self) -> Vec<String> {
        module_of(&self.path)
    }

    /// The first part of [`Source::module`]; empty for the crate's root.
    pub(crate) fn top(&self) -> String {
        self.module().first().cloned().unwrap_or_default()
    }

    /// Everything in it but the tests.
    pub(crate) fn tokens(&self) -> TokenStream {
        self.file.to_token_stream()
    }
}

fn module_of(path: &str) -> Vec<String> {
    let inside = path.trim_start_matches("src/").trim_end_matches(".rs");
    let mut parts: Vec<String> = inside.split('/').map(str::to_owned).collect();
    if parts.last().is_some_and(|last| last == "mod" || last == "lib") {
        parts.pop();
    }
    parts
}

/// Names in `#[cfg(test)] mod name;`.
fn test_files(items: &[syn::Item]) -> impl Iterator<Item = String> {
    items.iter().filter_map(|item| match item {
        syn::Item::Mod(module)
            if module.content.is_none() && module.attrs.iter().any(is_test_attribute) =>
        {
            Some(module.ident.to_string())
        }
        _ => None,
    })
}

fn strip_items(items: &mut Vec<syn::Item>, test_lines: &mut usize) {
    items.retain(|item| {
        let test = item_attributes(item).iter().any(is_test_attribute);
        if test {
            *test_lines += lines_of(item);
        }
        !test
    });
    for item in items {
        match item {
            syn::Item::Mod(module) => {
                if let Some((_, inner)) = &mut module.content {
                    strip_items(inner, test_lines);
                }
            }
            syn::Item::Impl(block) => block.items.retain(|item| match item {
                syn::ImplItem::Fn(function) => !function.attrs.iter().any(is_test_attribute),
                _ => true,
            }),
            _ => {}
        }
    }
}

/// Lines from the first to the last token.
pub(crate) fn lines_of(item: &impl Spanned) -> usize {
    let span = item.span();
    span.end().line + 1 - span.start().line
}

fn is_test_attribute(attribute: &syn::Attribute) -> bool {
    attribute.path().is_ident("test")
        || attribute.path().is_ident("cfg")
            && attribute.meta.require_list().is_ok_and(|list| list.tokens.to_string() == "test")
}

fn item_attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(i) => &i.attrs,
        syn::Item::Enum(i) => &i.attrs,
        syn::Item::Fn(i) => &i.attrs,
        syn::Item::Impl(i) => &i.attrs,
        syn::Item::Macro(i) => &i.attrs,
        syn::Item::Mod(i) => &i.attrs,
        syn::Item::Static(i) => &i.attrs,
        syn::Item::Struct(i) => &i.attrs,
        syn::Item::Trait(i) => &i.attrs,
        syn::Item::Type(i) => &i.attrs,
        syn::Item::Use(i) => &i.attrs,
        _ => &[],
    }
}

#[test]
fn test_code_does_not_count() {
    let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    use crate::app;\n}\n";
    let source = Source::parse("src/log/x.rs", text);
    assert_eq!(source.lines, 1);
    assert!(!source.tokens().to_string().contains("app"));
}

#[test]
fn files_of_tests_are_left_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |path: &str, text: &str| {
        let path = folder.path().join("src").join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
    };
    write(
        "log/mod.rs",
        "mod batch;\n#[cfg(test)]\nmod tests;\n#[cfg(test)]\npub(crate) mod bytes;",
    );
    write("log/batch.rs", "");
    write("log/tests.rs", "");
    write("log/tests/deep.rs", "");
    write("log/bytes.rs", "");
    let found = Tree { root: folder.path().to_owned() }.product();
    let paths: Vec<&str> = found.iter().map(|source| source.path.as_str()).collect();
    assert_eq!(paths, ["src/log/batch.rs", "src/log/mod.rs"]);
}

#[test]
fn a_file_knows_its_module() {
    let module = |path| Source::parse(path, "").module().join("::");
    assert_eq!(module("src/log/format/mod.rs"), "log::format");
    assert_eq!(module("src/log/batch.rs"), "log::batch");
    assert_eq!(module("src/lib.rs"), "");
    assert_eq!(module("src/app.rs"), "app");
}
