//! The house rules that a machine can hold. Each rule is a function over parsed files (or manifests) with a test
//! that shows it an offender; `cargo xtask tidy` prints what it finds, the tests run it over this tree.

mod budgets;
mod docs;
mod finding;
mod layering;
mod manifests;
mod safety;
mod shape;
mod source;
mod text;
mod tree;

use finding::{Finding, Weight};
use std::path::Path;
use std::process::ExitCode;
use tree::Tree;

/// Every finding in the tree under `root`.
fn examine(root: &Path) -> anyhow::Result<Vec<Finding>> {
    let tree = Tree::load(root)?;
    let mut findings = Vec::new();
    for source in &tree.sources {
        findings.extend(layering::check(source));
        findings.extend(budgets::check(source));
        findings.extend(docs::check(source));
        findings.extend(safety::check(source));
        findings.extend(shape::check(source));
    }
    findings.extend(manifests::check(&tree.manifests)?);
    findings.extend(shape::axes(&tree.paths()));
    for (path, content) in &tree.texts {
        findings.extend(text::check(path, content));
    }
    findings.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    Ok(findings)
}

/// Prints the findings; fails if one breaks a hard rule.
pub fn main(root: &Path) -> ExitCode {
    let findings = match examine(root) {
        Ok(findings) => findings,
        Err(error) => {
            eprintln!("tidy: {error:#}");
            return ExitCode::FAILURE;
        }
    };
    for finding in &findings {
        println!("{finding}");
    }
    let broken = findings.iter().filter(|finding| finding.weight == Weight::Hard).count();
    println!("tidy: {broken} broken rules, {} notes", findings.len() - broken);
    if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_tree_is_tidy() {
        let findings = examine(crate::workspace_root()).unwrap();
        let broken: Vec<_> =
            findings.iter().filter(|f| f.weight == Weight::Hard).map(ToString::to_string).collect();
        assert!(broken.is_empty(), "\n{}", broken.join("\n"));
    }
}
