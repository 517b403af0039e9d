//! Words that must not ship.

use proc_macro2::{Spacing, TokenStream, TokenTree};

use crate::source::Source;

/// Macros that mean "not finished" or "left from a hunt for a fault", or that write past the caller's writer.
const MACROS: &[&str] = &["todo", "dbg", "println", "print", "eprintln", "eprint", "unimplemented"];

/// Complaints about macros in what ships.
pub(crate) fn check_product(source: &Source) -> Vec<String> {
    let mut complaints = Vec::new();
    macros(source.tokens(), &mut |name, line| {
        if MACROS.contains(&name) {
            complaints.push(format!("{}:{line}: {name}! must not ship", source.path));
        }
    });
    complaints
}

fn macros(tokens: TokenStream, found: &mut impl FnMut(&str, usize)) {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, tree) in trees.iter().enumerate() {
        match tree {
            TokenTree::Group(group) => macros(group.stream(), found),
            TokenTree::Ident(name) if is_bang(trees.get(at + 1)) => {
                found(&name.to_string(), name.span().start().line);
            }
            _ => {}
        }
    }
}

fn is_bang(tree: Option<&TokenTree>) -> bool {
    matches!(tree, Some(TokenTree::Punct(p)) if p.as_char() == '!' && p.spacing() == Spacing::Alone)
}

/// Complaints about any text of the project: paths of one machine, and work put off without an issue that names it.
pub(crate) fn check_text(path: &str, text: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let at = format!("{path}:{}", index + 1);
        if let Some(place) = machine_paths().iter().find(|place| line.contains(place.as_str())) {
            complaints.push(format!("{at}: {place} is a path of one machine"));
        }
        if let Some(word) = put_off().iter().find(|word| is_put_off(line, word)) {
            complaints.push(format!("{at}: {word} without an issue; write {word}(#123)"));
        }
    }
    complaints
}

// Put together from parts, so that this file passes its own rule.
fn machine_paths() -> Vec<String> {
    [["/wo", "rk/"], ["/ho", "me/"], ["/Us", "ers/"], ["/root", "/."]]
        .iter()
        .map(|p| p.concat())
        .collect()
}

fn put_off() -> Vec<String> {
    [["TO", "DO"], ["FIX", "ME"], ["XX", "X:"], ["HA", "CK:"]].iter().map(|p| p.concat()).collect()
}

fn is_put_off(line: &str, word: &str) -> bool {
    let Some((before, after)) = line.split_once(word) else { return false };
    let whole = !before.ends_with(|c: char| c.is_alphanumeric() || c == '_')
        && !after.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    whole && !after.starts_with("(#")
}

#[test]
fn unfinished_macros_are_caught_also_inside_others() {
    let count = |text| check_product(&Source::parse("src/log/x.rs", text)).len();
    assert_eq!(count("fn f() { todo!() }"), 1);
    assert_eq!(count("fn f() { vec![dbg!(1)]; }"), 1);
    assert_eq!(count("fn f() { println!(\"x\"); eprintln!(); }"), 2);
    assert_eq!(count("fn f() { unimplemented!(\"log\") }"), 1);
    assert_eq!(count("/// `todo!` in a comment\nfn f(todo: u8) -> bool { todo != 1 }"), 0);
    assert_eq!(count("#[cfg(test)]\nmod tests { fn f() { println!(); } }"), 0);
}

#[test]
fn machine_paths_and_orphaned_work_are_caught() {
    let work = machine_paths().remove(0);
    assert_eq!(check_text("a.md", &format!("see {work}x")).len(), 1);
    let word = put_off().remove(0);
    assert_eq!(check_text("a.rs", &format!("// {word}: later")).len(), 1);
    assert_eq!(check_text("a.rs", &format!("// {word}(#12): later")).len(), 0);
    assert_eq!(check_text("a.rs", &format!("let MAS{word}S = 1;")).len(), 0);
}
