//! Sizes: files, functions, parameters, tables of contents.

use super::finding::Finding;
use super::source::{Source, is_test};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

const FILE_LINES: (usize, usize) = (400, 600);
const FUNCTION_LINES: (usize, usize) = (40, 70);
const PARAMETERS: (usize, usize) = (4, 5);
const CONTENTS_LINES: (usize, usize) = (80, 80);

/// Findings about sizes in `source`. Tests have no budget.
pub fn check(source: &Source) -> Vec<Finding> {
    if source.is_test_file() {
        return Vec::new();
    }
    let lines = source.code_lines();
    let mut findings = Vec::new();
    let (limits, what) = if is_contents(&source.path) {
        (CONTENTS_LINES, "lines in a table of contents")
    } else {
        (FILE_LINES, "lines outside of tests")
    };
    findings.extend(Finding::over((&source.path, 0), lines, limits, what));
    let mut functions = Functions { path: &source.path, findings };
    functions.visit_file(&source.file);
    functions.findings
}

/// Whether the file is a table of contents: `lib.rs` or `mod.rs`.
fn is_contents(path: &str) -> bool {
    path.ends_with("/lib.rs") || path.ends_with("/mod.rs")
}

struct Functions<'a> {
    path: &'a str,
    findings: Vec<Finding>,
}

impl Functions<'_> {
    fn measure(&mut self, signature: &syn::Signature, body: Option<&syn::Block>) {
        let line = signature.span().start().line;
        let place = (self.path, line);
        let parameters =
            signature.inputs.iter().filter(|input| matches!(input, syn::FnArg::Typed(_))).count();
        let name = &signature.ident;
        self.findings.extend(Finding::over(
            place,
            parameters,
            PARAMETERS,
            &format!("parameters of `{name}`"),
        ));
        if let Some(body) = body {
            let lines = body.span().end().line - line + 1;
            self.findings.extend(Finding::over(place, lines, FUNCTION_LINES, &format!("lines of `{name}`")));
        }
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !is_test(&item.attrs) {
            self.measure(&item.sig, Some(&item.block));
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_test(&item.attrs) {
            self.measure(&item.sig, Some(&item.block));
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.measure(&item.sig, item.default.as_ref());
        visit::visit_trait_item_fn(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::{Weight, one_hard};
    use super::*;

    fn found(path: &str, text: &str) -> Vec<Finding> {
        check(&Source::parse(path, text).unwrap())
    }

    #[test]
    fn sizes_have_two_limits() {
        let lines = |n: usize| "const A: u8 = 0;\n".repeat(n);
        assert!(found("crates/graph/src/a.rs", &lines(400)).is_empty());
        assert_eq!(found("crates/graph/src/a.rs", &lines(401))[0].weight, Weight::Note);
        assert!(one_hard(&found("crates/graph/src/a.rs", &lines(601)), "lines outside of tests"));
        assert!(one_hard(&found("crates/graph/src/lib.rs", &lines(81)), "table of contents"));

        let body = |n: usize| format!("struct S;\nimpl S {{\nfn f(&self) {{\n{}}}\n}}\n", "g();\n".repeat(n));
        assert!(found("crates/graph/src/a.rs", &body(38)).is_empty());
        assert_eq!(found("crates/graph/src/a.rs", &body(39))[0].weight, Weight::Note);
        assert!(one_hard(&found("crates/graph/src/a.rs", &body(69)), "lines of `f`: 71, at most 70"));

        let six = "trait T { fn f(&self, a: u8, b: u8, c: u8, d: u8, e: u8, f: u8); }";
        assert!(one_hard(&found("crates/graph/src/a.rs", six), "parameters of `f`: 6"));
    }

    #[test]
    fn tests_have_no_budget() {
        let text =
            format!("#[cfg(test)]\nmod tests {{\n#[test]\nfn f() {{\n{}}}\n}}\n", "g();\n".repeat(700));
        assert!(found("crates/graph/src/a.rs", &text).is_empty());
    }
}
