//! The shape of the tree: names that say something, one module per ablation axis, no build-time variants.

use super::finding::Finding;
use super::source::Source;

/// Names that say nothing about what is inside.
const EMPTY_NAMES: [&str; 9] = ["common", "utils", "util", "core", "helpers", "helper", "misc", "v1", "v2"];

/// Where each axis of the design space is decided: one file an axis, named as the field names it.
const AXES: [(&str, &[&str]); 1] =
    [("crates/search/src/", &["beam.rs", "pipe.rs", "width.rs", "entry.rs", "cache.rs"])];

/// Findings about names and variants in `source`.
pub fn check(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    let named_in_path = source.path.split('/').map(|part| part.trim_end_matches(".rs"));
    let declared =
        source.tokens.windows(2).filter(|pair| pair[0].text == "mod").map(|pair| pair[1].text.as_str());
    for name in named_in_path.chain(declared) {
        if EMPTY_NAMES.contains(&name) {
            findings.push(Finding::hard(
                &source.path,
                0,
                format!("a module named `{name}` says nothing; name its topic"),
            ));
        }
    }
    for line in source.lines_with("feature =") {
        findings.push(Finding::hard(
            &source.path,
            line,
            "a Cargo feature; every variant is a value in a config",
        ));
    }
    findings
}

/// Findings about axes without their module. A package that holds nothing but its `lib.rs` is not judged.
pub fn axes(paths: &[&str]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (folder, files) in AXES {
        if paths.iter().filter(|path| path.starts_with(folder)).count() <= 1 {
            continue;
        }
        for file in files {
            let path = format!("{folder}{file}");
            if !paths.contains(&path.as_str()) {
                findings.push(Finding::hard(
                    &path,
                    0,
                    "an axis of the design space has its own module; this one is missing",
                ));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::finding::one_hard;
    use super::*;

    #[test]
    fn names_say_something() {
        let source = Source::parse("crates/graph/src/utils.rs", "").unwrap();
        assert!(one_hard(&check(&source), "utils"));
        let source = Source::parse("crates/graph/src/a.rs", "mod helpers;").unwrap();
        assert!(one_hard(&check(&source), "helpers"));
        let source = Source::parse("crates/graph/src/a.rs", "#[cfg(feature = \"pipe\")]\nfn f() {}").unwrap();
        assert!(one_hard(&check(&source), "feature"));
    }

    #[test]
    fn every_axis_has_its_module() {
        let all = ["lib.rs", "beam.rs", "pipe.rs", "width.rs", "entry.rs", "cache.rs"];
        let paths: Vec<String> = all.iter().map(|file| format!("crates/search/src/{file}")).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        assert!(axes(&paths).is_empty());
        assert!(axes(&paths[..1]).is_empty());
        assert!(one_hard(&axes(&paths[..5]), "missing"));
    }
}
