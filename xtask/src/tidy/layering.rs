//! What each layer must not name: the system below `engine`, glommio outside of it, bincode outside of the codec.

use super::finding::Finding;
use super::source::Source;

/// Packages below `engine`: algorithms and formats. No thread, no clock, no output.
const BELOW_ENGINE: [&str; 9] =
    ["vector", "lios", "sim", "quant", "graph", "storage", "search", "spann", "update"];

/// Token sequences that nothing below `engine` may contain, with the reason.
const SYSTEM: [(&str, &str); 10] = [
    ("thread :: spawn", "starts a thread; use the caller's rayon pool"),
    ("thread :: scope", "starts threads; use the caller's rayon pool"),
    ("thread :: Builder", "starts a thread; use the caller's rayon pool"),
    ("Instant :: now", "reads a clock; take the time as an argument"),
    ("SystemTime", "reads a clock; take the time as an argument"),
    ("println !", "prints; return it or report to Progress"),
    ("print !", "prints; return it or report to Progress"),
    ("eprintln !", "prints; return it or report to Progress"),
    ("eprint !", "prints; return it or report to Progress"),
    ("dbg !", "prints"),
];

/// Where files may be opened below `engine`.
const FILES_ALLOWED: [&str; 2] = ["crates/storage/src/", "crates/vector/src/files/"];

/// Names that belong to one place alone.
const SINGLE_HOME: [(&str, &str); 3] = [
    ("glommio", "crates/engine/src/"),
    ("io_uring", "crates/engine/src/"),
    ("bincode", "crates/storage/src/codec.rs"),
];

/// Findings about what `source` names.
pub fn check(source: &Source) -> Vec<Finding> {
    if source.is_test_file() {
        return Vec::new();
    }
    let mut findings = Vec::new();
    if BELOW_ENGINE.contains(&source.package()) {
        for (pattern, why) in SYSTEM {
            let name = pattern.replace(' ', "");
            findings.extend(at(source, source.lines_with(pattern), &format!("`{name}` {why}")));
        }
        findings.extend(file_access(source));
    }
    for (name, home) in SINGLE_HOME {
        if !source.path.starts_with(home) {
            findings.extend(at(
                source,
                source.lines_with(name),
                &format!("`{name}` may be named in {home} only"),
            ));
        }
    }
    findings
}

fn file_access(source: &Source) -> Vec<Finding> {
    if FILES_ALLOWED.iter().any(|place| source.path.starts_with(place)) {
        return Vec::new();
    }
    let mut lines = source.lines_with("std :: fs");
    let imports = source.imports();
    lines.extend(
        imports
            .iter()
            .filter(|(path, _)| format!("{path}::").starts_with("std::fs::"))
            .map(|(_, line)| *line),
    );
    lines.sort_unstable();
    lines.dedup();
    at(source, lines, &format!("`std::fs` is for {} only", FILES_ALLOWED.join(" and ")))
}

fn at(source: &Source, lines: Vec<usize>, message: &str) -> Vec<Finding> {
    lines.into_iter().map(|line| Finding::hard(&source.path, line, message)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::finding::one_hard;
    use super::*;

    fn found(path: &str, text: &str) -> Vec<Finding> {
        check(&Source::parse(path, text).unwrap())
    }

    #[test]
    fn the_system_stays_above() {
        for (pattern, text) in [
            ("thread::spawn", "fn f() { std::thread::spawn(|| ()); }"),
            ("Instant::now", "fn f() { let t = Instant::now(); }"),
            ("SystemTime", "fn f(t: std::time::SystemTime) {}"),
            ("println!", "fn f() { println!(\"x\"); }"),
            ("eprintln!", "macro_rules! m { () => { eprintln!(\"x\") } }"),
            ("std::fs", "use std::{fs::File, io};"),
            ("std::fs", "fn f() { std::fs::read(\"x\"); }"),
            ("glommio", "fn f() { glommio::spawn(); }"),
            ("bincode", "use bincode::Encode;"),
        ] {
            let findings = found("crates/search/src/beam.rs", text);
            assert!(one_hard(&findings, pattern), "{text}: {findings:?}");
        }
    }

    #[test]
    fn each_name_has_its_home() {
        assert!(
            found("crates/engine/src/ring.rs", "use glommio::io; fn f() { std::thread::spawn(g); }")
                .is_empty()
        );
        assert!(found("crates/storage/src/codec.rs", "use bincode::Encode; use std::fs::File;").is_empty());
        assert!(found("crates/vector/src/files/bin.rs", "use std::fs::File;").is_empty());
        assert!(one_hard(&found("benches/src/device.rs", "use io_uring::IoUring;"), "io_uring"));
        assert!(one_hard(&found("crates/storage/src/manifest.rs", "use bincode::Encode;"), "bincode"));
        let test = "#[cfg(test)] mod tests { use std::fs; fn f() { println!(\"x\"); } }";
        assert!(found("crates/graph/src/prune.rs", test).is_empty());
    }
}
