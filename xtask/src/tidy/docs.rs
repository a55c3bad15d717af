//! Documentation: a `//!` on every file, a doc comment on everything `pub`.

use super::finding::Finding;
use super::source::{Source, is_test};
use syn::visit::{self, Visit};

/// Findings about missing documentation in `source`.
pub fn check(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !is_documented(&source.file.attrs) {
        findings.push(Finding::hard(&source.path, 1, "no `//!` that says what this file is about"));
    }
    if !source.is_test_file() {
        let mut items = PublicItems { path: &source.path, findings };
        items.visit_file(&source.file);
        findings = items.findings;
    }
    findings
}

fn is_documented(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident("doc"))
}

fn is_private_inline(item: &syn::ItemMod) -> bool {
    item.content.is_some() && matches!(item.vis, syn::Visibility::Inherited)
}

struct PublicItems<'a> {
    path: &'a str,
    findings: Vec<Finding>,
}

impl PublicItems<'_> {
    fn require(&mut self, visibility: &syn::Visibility, attributes: &[syn::Attribute], name: &syn::Ident) {
        if matches!(visibility, syn::Visibility::Public(_)) {
            self.require_always(attributes, name);
        }
    }

    fn require_always(&mut self, attributes: &[syn::Attribute], name: &syn::Ident) {
        if !is_documented(attributes) {
            let line = name.span().start().line;
            self.findings.push(Finding::hard(
                self.path,
                line,
                format!("`{name}` is public and has no doc comment"),
            ));
        }
    }

    fn require_fields(&mut self, fields: &syn::Fields) {
        for field in fields {
            if let Some(name) = &field.ident {
                self.require(&field.vis, &field.attrs, name);
            }
        }
    }
}

impl<'ast> Visit<'ast> for PublicItems<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        match item {
            // What a private inline module holds (a seal, say) is nobody's API.
            syn::Item::Mod(item) if is_test(&item.attrs) || is_private_inline(item) => return,
            syn::Item::Fn(item) => self.require(&item.vis, &item.attrs, &item.sig.ident),
            syn::Item::Struct(item) => {
                self.require(&item.vis, &item.attrs, &item.ident);
                if matches!(item.vis, syn::Visibility::Public(_)) {
                    self.require_fields(&item.fields);
                }
            }
            syn::Item::Enum(item) => self.require_enum(item),
            syn::Item::Trait(item) => self.require(&item.vis, &item.attrs, &item.ident),
            syn::Item::Type(item) => self.require(&item.vis, &item.attrs, &item.ident),
            syn::Item::Const(item) => self.require(&item.vis, &item.attrs, &item.ident),
            syn::Item::Static(item) => self.require(&item.vis, &item.attrs, &item.ident),
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        // Methods of a trait are documented where the trait is.
        if item.trait_.is_none() {
            for member in &item.items {
                match member {
                    syn::ImplItem::Fn(member) => self.require(&member.vis, &member.attrs, &member.sig.ident),
                    syn::ImplItem::Const(member) => self.require(&member.vis, &member.attrs, &member.ident),
                    _ => {}
                }
            }
        }
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        if matches!(item.vis, syn::Visibility::Public(_)) {
            for member in &item.items {
                if let syn::TraitItem::Fn(member) = member {
                    self.require_always(&member.attrs, &member.sig.ident);
                }
            }
        }
    }

    fn visit_block(&mut self, _: &'ast syn::Block) {}
}

impl PublicItems<'_> {
    fn require_enum(&mut self, item: &syn::ItemEnum) {
        self.require(&item.vis, &item.attrs, &item.ident);
        if matches!(item.vis, syn::Visibility::Public(_)) {
            for variant in &item.variants {
                self.require_always(&variant.attrs, &variant.ident);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::one_hard;
    use super::*;

    fn found(text: &str) -> Vec<Finding> {
        check(&Source::parse("crates/graph/src/a.rs", text).unwrap())
    }

    #[test]
    fn what_is_public_is_documented() {
        assert!(one_hard(&found("fn f() {}"), "no `//!`"));
        for text in [
            "pub fn name() {}",
            "pub const name: u8 = 0;",
            "/// S.\npub struct S { pub name: u8 }",
            "/// S.\npub enum E { name }",
            "struct S; impl S { pub fn name(&self) {} }",
            "/// T.\npub trait T { fn name(&self); }",
            "/// M.\npub mod inner { pub struct name; }",
        ] {
            assert!(one_hard(&found(&format!("//! A.\n{text}")), "`name` is public"), "{text}");
        }
    }

    #[test]
    fn what_is_private_need_not_be() {
        let text = "//! A.\nmod sealed { pub trait Sealed {} }\npub(crate) fn f() {}\nstruct S { a: u8 }\nimpl Clone for S { fn clone(&self) -> S { S } }\n\
                    #[cfg(test)]\nmod tests { pub fn g() {} }";
        assert!(found(text).is_empty(), "{:?}", found(text));
    }
}
