//! Every path of a file, from `use` trees, expressions and the arguments of macros alike.
//!
//! Works on tokens: `a::{b, c::d}` gives `a::b` and `a::c::d`, and what stands inside a macro's brackets is seen as well.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::source::Source;

/// One path as written, with the line it starts on. `crate` and `super` are resolved to a leading `crate`.
#[derive(Debug, PartialEq)]
pub(crate) struct Mention {
    pub(crate) segments: Vec<String>,
    pub(crate) line: usize,
}

/// All paths with at least two segments.
pub(crate) fn mentions(source: &Source) -> Vec<Mention> {
    let mut collector = Collector { module: source.module(), found: Vec::new() };
    collector.walk(source.tokens());
    collector.found
}

struct Collector {
    module: Vec<String>,
    found: Vec<Mention>,
}

impl Collector {
    fn walk(&mut self, tokens: TokenStream) {
        let trees: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < trees.len() {
            match &trees[at] {
                TokenTree::Ident(word) if word == "mod" => at = self.walk_module(&trees, at),
                TokenTree::Ident(_) => at = self.path(&trees, at, Vec::new()),
                TokenTree::Group(group) => {
                    self.walk(group.stream());
                    at += 1;
                }
                _ => at += 1,
            }
        }
    }

    fn walk_module(&mut self, trees: &[TokenTree], at: usize) -> usize {
        let (Some(TokenTree::Ident(name)), Some(TokenTree::Group(body))) =
            (trees.get(at + 1), trees.get(at + 2))
        else {
            return at + 1;
        };
        self.module.push(name.to_string());
        self.walk(body.stream());
        self.module.pop();
        at + 3
    }

    /// Follows `ident::ident::…` from `at`; returns where it stops.
    fn path(&mut self, trees: &[TokenTree], mut at: usize, mut segments: Vec<String>) -> usize {
        let line = trees[at].span().start().line;
        while let Some(TokenTree::Ident(word)) = trees.get(at) {
            segments.push(word.to_string());
            at += 1;
            if !is_double_colon(trees, at) {
                break;
            }
            at += 2;
            match trees.get(at) {
                Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                    self.group(group.stream(), &segments);
                    return at + 1;
                }
                Some(TokenTree::Punct(star)) if star.as_char() == '*' => {
                    segments.push("*".to_owned());
                    break;
                }
                _ => {}
            }
        }
        if segments.len() > 1 {
            let segments = self.resolve(segments);
            self.found.push(Mention { segments, line });
        }
        at
    }

    fn group(&mut self, tokens: TokenStream, prefix: &[String]) {
        let trees: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < trees.len() {
            match &trees[at] {
                TokenTree::Ident(word) if word == "as" => at += 2,
                TokenTree::Ident(_) => at = self.path(&trees, at, prefix.to_vec()),
                _ => at += 1,
            }
        }
    }

    fn resolve(&self, segments: Vec<String>) -> Vec<String> {
        let mut base = self.module.clone();
        let mut rest = segments.as_slice();
        let mut relative = false;
        while let Some((first, tail)) = rest.split_first() {
            match first.as_str() {
                "super" => _ = base.pop(),
                "self" if !relative => {}
                _ => break,
            }
            relative = true;
            rest = tail;
        }
        if !relative {
            return segments;
        }
        let root = std::iter::once("crate".to_owned());
        root.chain(base).chain(rest.iter().cloned()).collect()
    }
}

fn is_double_colon(trees: &[TokenTree], at: usize) -> bool {
    let colon = |i: usize| matches!(trees.get(i), Some(TokenTree::Punct(p)) if p.as_char() == ':');
    colon(at) && colon(at + 1)
}

#[test]
fn paths_are_found_wherever_they_stand() {
    let text = "use crate::{env::Clock, types};\nuse super::super::app as b;\n\
                fn f() { x!(tokio::spawn(1)); let _: std::fs::File; }\nuse a::*;";
    let source = Source::parse("src/log/batch.rs", text);
    let found: Vec<String> = mentions(&source).iter().map(|m| m.segments.join("::")).collect();
    let expected = [
        "crate::env::Clock",
        "crate::types",
        "crate::app",
        "tokio::spawn",
        "std::fs::File",
        "a::*",
    ];
    assert_eq!(found, expected);
}

#[test]
fn super_means_the_module_around() {
    let source = Source::parse("src/log/format/index.rs", "mod inner { use super::super::x::Y; }");
    assert_eq!(mentions(&source)[0].segments.join("::"), "crate::log::format::x::Y");
    let source = Source::parse("src/log/mod.rs", "use super::broker::Broker;");
    assert_eq!(mentions(&source)[0].segments.join("::"), "crate::broker::Broker");
}
