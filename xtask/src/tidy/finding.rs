//! What a rule reports.

use std::fmt;

/// Whether a finding fails the check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// Worth a look; printed only.
    Note,
    /// Breaks a rule.
    Hard,
}

/// One place where a rule is not kept.
#[derive(Debug, Clone)]
pub struct Finding {
    /// Path below the workspace root.
    pub path: String,
    /// Line, from 1; 0 for the file as a whole.
    pub line: usize,
    /// Whether it fails the check.
    pub weight: Weight,
    /// What was found, and what is expected instead.
    pub message: String,
}

impl Finding {
    /// A broken rule.
    pub fn hard(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, weight: Weight::Hard, message: message.into() }
    }

    /// A finding about a number with two limits, or `None` within both.
    pub fn over(place: (&str, usize), found: usize, limits: (usize, usize), what: &str) -> Option<Self> {
        let (soft, hard) = limits;
        let (weight, limit) = match found {
            n if n > hard => (Weight::Hard, hard),
            n if n > soft => (Weight::Note, soft),
            _ => return None,
        };
        let message = format!("{what}: {found}, at most {limit}");
        Some(Self { path: place.0.to_owned(), line: place.1, weight, message })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let weight = match self.weight {
            Weight::Note => "note",
            Weight::Hard => "error",
        };
        write!(f, "{}:{}: {weight}: {}", self.path, self.line, self.message)
    }
}

/// Test aid: whether exactly one of the findings is hard and says `part`.
#[cfg(test)]
pub fn one_hard(findings: &[Finding], part: &str) -> bool {
    let hard: Vec<_> = findings.iter().filter(|f| f.weight == Weight::Hard).collect();
    hard.len() == 1 && hard[0].message.contains(part)
}
