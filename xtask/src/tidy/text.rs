//! What no tracked text contains: paths of somebody's machine, unfinished business.

use super::finding::Finding;

// Split, so that this file does not break its own rule.
const FORBIDDEN: [(&str, &str); 6] = [
    (concat!("TO", "DO"), "unfinished business; finish it or file it"),
    (concat!("FIX", "ME"), "unfinished business; finish it or file it"),
    (concat!("/wo", "rk/"), "a path of one machine"),
    (concat!("/ho", "me/"), "a path of one machine"),
    (concat!("/ro", "ot/"), "a path of one machine"),
    (concat!("/Us", "ers/"), "a path of one machine"),
];

/// Findings in the text of `path`.
pub fn check(path: &str, content: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in content.lines().enumerate() {
        for (pattern, why) in FORBIDDEN {
            if line.match_indices(pattern).any(|(at, _)| stands_alone(line, at, pattern)) {
                findings.push(Finding::hard(path, index + 1, format!("`{pattern}`: {why}")));
            }
        }
    }
    findings
}

/// Whether the match is a word or the start of a path, not the inside of a longer one.
fn stands_alone(line: &str, at: usize, pattern: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '$' | '}');
    let before = line[..at].chars().next_back();
    let after = line[at + pattern.len()..].chars().next();
    let ends = pattern.ends_with('/') || !after.is_some_and(is_word);
    ends && !before.is_some_and(is_word)
}

#[cfg(test)]
mod tests {
    use super::super::finding::one_hard;
    use super::*;

    #[test]
    fn forbidden_words_are_found() {
        for (pattern, _) in FORBIDDEN {
            assert!(
                one_hard(&check("docs/a.md", &format!("line\nsee {pattern} there")), pattern),
                "{pattern}"
            );
        }
        assert!(check("docs/a.md", concat!("a/wo", "rk/b and METHO", "DOS")).is_empty());
    }
}
