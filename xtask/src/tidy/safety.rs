//! Code that can fail: a SAFETY comment on every unsafe block, no `unwrap` outside of tests, no stubs.

use super::finding::Finding;
use super::source::Source;

/// Findings about unsafe blocks, `unwrap` and stubs in `source`.
pub fn check(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for pattern in ["unsafe {", "unsafe impl"] {
        for line in source.lines_with(pattern) {
            if !is_justified(source, line) {
                findings.push(Finding::hard(&source.path, line, "unsafe without a SAFETY comment above it"));
            }
        }
    }
    if source.is_test_file() {
        return findings;
    }
    for (pattern, message) in [
        (". unwrap (", "`unwrap` outside of tests; handle it, or `expect(\"why it holds\")`"),
        ("todo !", "a stub"),
        ("unimplemented !", "a stub"),
    ] {
        findings.extend(
            source.lines_with(pattern).into_iter().map(|line| Finding::hard(&source.path, line, message)),
        );
    }
    findings
}

/// Whether a comment with SAFETY stands on the line or above it within the same statement.
fn is_justified(source: &Source, line: usize) -> bool {
    let lines: Vec<&str> = source.text.lines().collect();
    if lines[line - 1].contains("SAFETY") {
        return true;
    }
    for above in lines[..line - 1].iter().rev().map(|above| above.trim()) {
        if above.starts_with("//") {
            if above.contains("SAFETY") {
                return true;
            }
        } else if above.is_empty() || above.ends_with([';', '{', '}']) {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::finding::one_hard;
    use super::*;

    fn found(text: &str) -> Vec<Finding> {
        check(&Source::parse("crates/graph/src/a.rs", text).unwrap())
    }

    #[test]
    fn unsafe_says_why() {
        assert!(one_hard(&found("fn f() {\n    // It is fine.\n    unsafe { g() }\n}"), "SAFETY"));
        assert!(one_hard(&found("unsafe impl Send for S {}"), "SAFETY"));
        let far = "fn f() {\n    // SAFETY: this is about g.\n    unsafe { g() };\n    unsafe { h() }\n}";
        assert!(one_hard(&found(far), "SAFETY"));
        let near = "fn f() {\n    // SAFETY: in range,\n    // and aligned.\n    let x =\n        unsafe { g() };\n}";
        assert!(found(near).is_empty());
    }

    #[test]
    fn unwrap_is_for_tests() {
        assert!(one_hard(&found("fn f() { g().unwrap(); }"), "unwrap"));
        assert!(one_hard(&found("fn f() { todo!() }"), "stub"));
        assert!(found("#[test]\nfn f() { g().unwrap(); }").is_empty());
        assert!(found("fn f() { g().unwrap_or(1); }").is_empty());
    }
}
