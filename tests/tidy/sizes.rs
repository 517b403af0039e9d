//! Sizes: what a stranger can still proofread.

use syn::visit::{self, Visit};

use crate::source::{Source, lines_of};

const FILE_LINES_MAX: usize = 600;
const FUNCTION_LINES_MAX: usize = 70;
const PARAMETERS_MAX: usize = 6;

/// Complaints about one file and its functions.
pub(crate) fn check(source: &Source) -> Vec<String> {
    let mut functions = Functions { path: &source.path, complaints: Vec::new() };
    functions.visit_file(&source.file);
    let mut complaints = functions.complaints;
    if source.lines > FILE_LINES_MAX {
        let lines = source.lines;
        complaints.push(format!("{}: {lines} lines without tests, at most 600", source.path));
    }
    complaints
}

struct Functions<'a> {
    path: &'a str,
    complaints: Vec<String>,
}

impl Functions<'_> {
    fn check(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let at = format!("{}:{}", self.path, signature.fn_token.span.start().line);
        let name = &signature.ident;
        let lines = lines_of(signature) + lines_of(body) - 1;
        if lines > FUNCTION_LINES_MAX {
            self.complaints.push(format!("{at}: `{name}` has {lines} lines, at most 70"));
        }
        let typed = |input: &&syn::FnArg| matches!(input, syn::FnArg::Typed(_));
        let parameters = signature.inputs.iter().filter(typed).count();
        if parameters > PARAMETERS_MAX {
            let text = format!("{at}: `{name}` has {parameters} parameters, at most 6");
            self.complaints.push(text);
        }
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.check(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.check(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(body) = &function.default {
            self.check(&function.sig, body);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

#[cfg(test)]
fn complaints(text: &str) -> usize {
    check(&Source::parse("src/log/x.rs", text)).len()
}

#[test]
fn long_functions_are_named() {
    let body = |lines: usize| format!("fn f() {{\n{}}}\n", "    g();\n".repeat(lines - 2));
    assert_eq!(complaints(&body(70)), 0);
    assert_eq!(complaints(&body(71)), 1);
    assert_eq!(complaints(&format!("impl X {{ {} }}", body(71))), 1);
    assert_eq!(complaints(&format!("trait X {{ {} }}", body(71))), 1);
    assert_eq!(complaints(&format!("#[cfg(test)]\nmod tests {{ {} }}", body(71))), 0);
}

#[test]
fn many_parameters_are_named() {
    assert_eq!(complaints("fn f(a: u8, b: u8, c: u8, d: u8, e: u8, g: u8) {}"), 0);
    assert_eq!(complaints("fn f(a: u8, b: u8, c: u8, d: u8, e: u8, g: u8, h: u8) {}"), 1);
    assert_eq!(
        complaints("impl X { fn f(&self, a: u8, b: u8, c: u8, d: u8, e: u8, g: u8) {} }"),
        0
    );
}

#[test]
fn long_files_are_named() {
    assert_eq!(complaints(&"use a as b;\n".repeat(600)), 0);
    assert_eq!(complaints(&"use a as b;\n".repeat(601)), 1);
    let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "use a as b;\n".repeat(700));
    assert_eq!(complaints(&tests), 0);
}
