//! Filling a section of docs/REPRODUCTION.md: the text between two marks is replaced.

use anyhow::{Context, Result};
use std::path::Path;

/// Replaces what stands between `<!-- ID -->` and `<!-- /ID -->` in the document.
///
/// # Errors
/// The document cannot be read or written, or has no such marks.
pub fn fill(path: &Path, id: &str, text: &str) -> Result<()> {
    let old = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let new = replaced(&old, id, text).with_context(|| {
        format!("{}: expected the marks <!-- {id} --> and <!-- /{id} -->", path.display())
    })?;
    std::fs::write(path, new).with_context(|| format!("cannot write {}", path.display()))
}

fn replaced(old: &str, id: &str, text: &str) -> Option<String> {
    let (open, close) = (format!("<!-- {id} -->"), format!("<!-- /{id} -->"));
    let begin = old.find(&open)? + open.len();
    let end = begin + old[begin..].find(&close)?;
    Some(format!("{}\n{}\n{}", &old[..begin], text.trim(), &old[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_replaced_and_the_rest_kept() {
        let old = "a\n<!-- io-fig2 -->\nold\n<!-- /io-fig2 -->\nb\n<!-- io-fig22 -->\n<!-- /io-fig22 -->\n";
        let new = replaced(old, "io-fig2", "new\n").unwrap();
        assert_eq!(
            new,
            "a\n<!-- io-fig2 -->\nnew\n<!-- /io-fig2 -->\nb\n<!-- io-fig22 -->\n<!-- /io-fig22 -->\n"
        );
        assert_eq!(replaced(&new, "io-fig2", "new"), Some(new));
        assert_eq!(replaced(old, "io-fig3", "x"), None);
    }

    /// Every experiment has its place.
    #[test]
    fn the_document_has_a_place_for_each() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/REPRODUCTION.md");
        let text = std::fs::read_to_string(path).unwrap();
        for study in super::super::embedded::find("all").unwrap() {
            assert!(replaced(&text, &study.id, "").is_some(), "{}", study.id);
        }
    }
}
