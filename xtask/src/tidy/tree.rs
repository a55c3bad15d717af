//! The files the rules look at: what git tracks, or, outside a checkout, everything but build output.

use super::source::Source;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The workspace as the rules see it. Paths are relative to the root, with `/`.
pub struct Tree {
    /// Every Rust file.
    pub sources: Vec<Source>,
    /// Every `Cargo.toml` of a member, as text.
    pub manifests: Vec<(String, String)>,
    /// Every file that is UTF-8 text, the above included.
    pub texts: Vec<(String, String)>,
}

impl Tree {
    /// Reads and parses the tree under `root`.
    pub fn load(root: &Path) -> Result<Self> {
        let mut tree = Self { sources: Vec::new(), manifests: Vec::new(), texts: Vec::new() };
        for path in tracked(root)? {
            let bytes = match fs::read(root.join(&path)) {
                Ok(bytes) => bytes,
                // Deleted and not yet committed.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error).with_context(|| format!("cannot read {path}")),
            };
            let Ok(text) = String::from_utf8(bytes) else { continue };
            if path.ends_with(".rs") {
                tree.sources.push(Source::parse(&path, &text)?);
            } else if path.ends_with("/Cargo.toml") {
                tree.manifests.push((path.clone(), text.clone()));
            }
            tree.texts.push((path, text));
        }
        anyhow::ensure!(!tree.sources.is_empty(), "no Rust files under {}", root.display());
        Ok(tree)
    }

    /// The paths of all text files.
    pub fn paths(&self) -> Vec<&str> {
        self.texts.iter().map(|(path, _)| path.as_str()).collect()
    }
}

/// Tracked files and new ones that are not ignored.
fn tracked(root: &Path) -> Result<Vec<String>> {
    let listed = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output();
    let mut paths: Vec<String> = match listed {
        Ok(output) if output.status.success() && !output.stdout.is_empty() => {
            String::from_utf8(output.stdout)?
                .split('\0')
                .filter(|path| !path.is_empty())
                .map(str::to_owned)
                .collect()
        }
        _ => walk(root)?,
    };
    paths.sort();
    paths.dedup();
    Ok(paths)
}

fn walk(root: &Path) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))? {
            let entry = entry?;
            let name = entry.file_name();
            if entry.file_type()?.is_dir() {
                if !matches!(name.to_str(), Some("target" | "data" | "results" | ".git" | ".venv")) {
                    folders.push(entry.path());
                }
            } else if let Some(path) = entry.path().strip_prefix(root)?.to_str() {
                paths.push(path.to_owned());
            }
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walking_finds_what_git_tracks() {
        let root = crate::workspace_root();
        let walked = walk(root).unwrap();
        for path in ["Cargo.toml", "xtask/src/tidy/tree.rs", "crates/vector/src/lib.rs"] {
            assert!(walked.iter().any(|found| found == path), "{path}");
            assert!(tracked(root).unwrap().iter().any(|found| found == path), "{path}");
        }
        assert!(!walked.iter().any(|path| path.starts_with("target/")));
    }
}
