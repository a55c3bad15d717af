//! A parsed Rust file: its syntax tree, and its tokens outside of tests with their lines. Token rules see the
//! inside of macros, which the syntax tree leaves opaque.

use anyhow::{Context, Result};
use proc_macro2::{TokenStream, TokenTree};
use std::ops::RangeInclusive;
use std::str::FromStr;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// A token and its line, from 1.
#[derive(Debug, Clone)]
pub struct Token {
    /// The token's text; `::` is one token, a literal is its source text.
    pub text: String,
    /// Line of its first character.
    pub line: usize,
}

/// One Rust file.
pub struct Source {
    /// Path below the workspace root, with `/`.
    pub path: String,
    /// The text.
    pub text: String,
    /// Its syntax tree.
    pub file: syn::File,
    /// Tokens that are not part of tests.
    pub tokens: Vec<Token>,
    tests: Vec<RangeInclusive<usize>>,
}

impl Source {
    /// Parses `text` as the file `path`.
    pub fn parse(path: &str, text: &str) -> Result<Self> {
        let file = syn::parse_file(text).with_context(|| format!("cannot parse {path}"))?;
        let mut finder = TestItems { ranges: Vec::new() };
        finder.visit_file(&file);
        let stream = TokenStream::from_str(text).map_err(|error| anyhow::anyhow!("{path}: {error}"))?;
        let mut tokens = Vec::new();
        flatten(stream, &mut tokens);
        let mut source = Self {
            path: path.to_owned(),
            text: text.to_owned(),
            file,
            tokens: Vec::new(),
            tests: finder.ranges,
        };
        tokens.retain(|token| !source.is_test_line(token.line));
        source.tokens = tokens;
        Ok(source)
    }

    /// Whether the whole file is test, bench or example code.
    pub fn is_test_file(&self) -> bool {
        let stem = self.path.rsplit('/').next().unwrap_or_default();
        matches!(stem, "tests.rs" | "test.rs") || !self.path.contains("src/")
    }

    /// Whether the line belongs to a test item.
    pub fn is_test_line(&self, line: usize) -> bool {
        self.tests.iter().any(|range| range.contains(&line))
    }

    /// Lines outside of test items.
    pub fn code_lines(&self) -> usize {
        (1..=self.text.lines().count()).filter(|&line| !self.is_test_line(line)).count()
    }

    /// The folder below `crates/`, or the first folder (`benches`, `xtask`).
    pub fn package(&self) -> &str {
        let path = self.path.strip_prefix("crates/").unwrap_or(&self.path);
        path.split('/').next().unwrap_or_default()
    }

    /// Lines where the tokens of `pattern` (separated by blanks) follow each other.
    pub fn lines_with(&self, pattern: &str) -> Vec<usize> {
        let pattern: Vec<&str> = pattern.split_whitespace().collect();
        self.tokens
            .windows(pattern.len())
            .filter(|window| window.iter().zip(&pattern).all(|(token, wanted)| token.text == *wanted))
            .map(|window| window[0].line)
            .collect()
    }

    /// Every path that a `use` outside of tests brings in, with its line: `use a::{b, c}` gives `a::b`, `a::c`.
    pub fn imports(&self) -> Vec<(String, usize)> {
        let mut finder = Imports { found: Vec::new() };
        finder.visit_file(&self.file);
        finder.found.retain(|(_, line)| !self.is_test_line(*line));
        finder.found
    }
}

fn flatten(stream: TokenStream, into: &mut Vec<Token>) {
    for tree in stream {
        let line = tree.span().start().line;
        match tree {
            TokenTree::Group(group) => {
                let open = delimiters(group.delimiter());
                into.push(Token { text: open.0.to_owned(), line });
                flatten(group.stream(), into);
                into.push(Token { text: open.1.to_owned(), line: group.span_close().start().line });
            }
            TokenTree::Punct(punct)
                if punct.as_char() == ':' && into.last().is_some_and(|last| last.text == ":") =>
            {
                into.last_mut().expect("just seen").text = "::".to_owned();
            }
            other => into.push(Token { text: other.to_string(), line }),
        }
    }
}

fn delimiters(kind: proc_macro2::Delimiter) -> (&'static str, &'static str) {
    match kind {
        proc_macro2::Delimiter::Parenthesis => ("(", ")"),
        proc_macro2::Delimiter::Brace => ("{", "}"),
        proc_macro2::Delimiter::Bracket => ("[", "]"),
        proc_macro2::Delimiter::None => ("", ""),
    }
}

/// Whether an item exists only in tests: `#[test]` or `#[cfg(test)]`.
pub fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::Path(path) => path.is_ident("test"),
        syn::Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string() == "test",
        syn::Meta::NameValue(_) => false,
    })
}

struct TestItems {
    ranges: Vec<RangeInclusive<usize>>,
}

impl TestItems {
    fn note(&mut self, span: proc_macro2::Span) {
        self.ranges.push(span.start().line..=span.end().line);
    }
}

impl<'ast> Visit<'ast> for TestItems {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attributes: &[syn::Attribute] = match item {
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Impl(item) => &item.attrs,
            syn::Item::Use(item) => &item.attrs,
            syn::Item::Struct(item) => &item.attrs,
            syn::Item::Const(item) => &item.attrs,
            _ => &[],
        };
        if is_test(attributes) {
            self.note(item.span());
        } else {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if is_test(&item.attrs) {
            self.note(item.span());
        }
    }
}

struct Imports {
    found: Vec<(String, usize)>,
}

impl Imports {
    fn walk(&mut self, prefix: &str, tree: &syn::UseTree) {
        let join = |name: &syn::Ident| format!("{prefix}{}{name}", if prefix.is_empty() { "" } else { "::" });
        match tree {
            syn::UseTree::Path(path) => self.walk(&join(&path.ident), &path.tree),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.walk(prefix, tree)),
            syn::UseTree::Name(name) => self.found.push((join(&name.ident), name.span().start().line)),
            syn::UseTree::Rename(name) => self.found.push((join(&name.ident), name.span().start().line)),
            _ => self.found.push((format!("{prefix}::*"), tree.span().start().line)),
        }
    }
}

impl<'ast> Visit<'ast> for Imports {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.walk("", &item.tree);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_set_aside_and_macros_are_seen() {
        let text = "use std::{fs, io::Read as _};\nmacro_rules! m { () => { a.unwrap() } }\n#[cfg(test)]\nmod tests {\n    fn f() { b.unwrap() }\n}\n";
        let source = Source::parse("crates/graph/src/x.rs", text).unwrap();
        assert_eq!(source.lines_with(". unwrap ("), [2]);
        assert_eq!(source.code_lines(), 2);
        assert_eq!(source.package(), "graph");
        let imports: Vec<_> = source.imports().into_iter().map(|(path, _)| path).collect();
        assert_eq!(imports, ["std::fs", "std::io::Read"]);
        assert!(!source.is_test_file());
        assert!(Source::parse("crates/graph/tests/x.rs", "").unwrap().is_test_file());
    }
}
