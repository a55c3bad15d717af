//! Which package may depend on which, read from the `Cargo.toml` files.

use super::finding::Finding;
use anyhow::{Context, Result};
use toml::Table;

/// Packages of the workspace that each folder below `crates/` may depend on. `engine` (package `gleann`) may on all.
const LAYERS: [(&str, &[&str]); 10] = [
    ("vector", &[]),
    ("quant", &["gleann-vector"]),
    ("graph", &["gleann-vector", "gleann-quant"]),
    ("storage", &["gleann-vector"]),
    ("search", &["gleann-vector", "gleann-quant", "gleann-graph", "gleann-storage"]),
    ("lios", &[]),
    ("sim", &["gleann-lios"]),
    ("spann", &["gleann-vector", "gleann-quant", "gleann-graph", "gleann-storage", "gleann-search"]),
    (
        "update",
        &["gleann-vector", "gleann-lios", "gleann-quant", "gleann-graph", "gleann-storage", "gleann-search"],
    ),
    (
        "engine",
        &[
            "gleann-vector",
            "gleann-lios",
            "gleann-quant",
            "gleann-graph",
            "gleann-storage",
            "gleann-search",
            "gleann-spann",
            "gleann-update",
        ],
    ),
];

/// Outside packages that one folder alone may depend on.
const SINGLE_HOME: [(&str, &str); 4] =
    [("glommio", "engine"), ("io-uring", "engine"), ("flume", "engine"), ("bincode", "storage")];

/// Findings about the manifests (path, text).
pub fn check(manifests: &[(String, String)]) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for (path, text) in manifests {
        let manifest: Table = text.parse().with_context(|| format!("cannot parse {path}"))?;
        if manifest.contains_key("features") {
            findings.push(Finding::hard(path, 0, "Cargo features; every variant is a value in a config"));
        }
        if let Some(folder) = path.strip_prefix("crates/").and_then(|rest| rest.split('/').next()) {
            findings.extend(check_layer(path, folder, &manifest));
        }
    }
    Ok(findings)
}

fn check_layer(path: &str, folder: &str, manifest: &Table) -> Vec<Finding> {
    let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| *name == folder) else {
        let message = format!("`{folder}` has no place among the layers; add it to tidy's list");
        return vec![Finding::hard(path, 0, message)];
    };
    let mut findings = Vec::new();
    for name in dependencies(manifest) {
        let own = name == "gleann" || name.starts_with("gleann-");
        if own && !allowed.contains(&name.as_str()) {
            findings.push(Finding::hard(path, 0, format!("`{folder}` must not depend on `{name}`")));
        }
        if let Some((_, home)) =
            SINGLE_HOME.iter().find(|(package, home)| *package == name && *home != folder)
        {
            findings.push(Finding::hard(path, 0, format!("`{name}` is a dependency of `{home}` alone")));
        }
    }
    findings
}

/// Normal and build dependencies, those of single targets included. Tests may look further.
fn dependencies(manifest: &Table) -> Vec<String> {
    let mut tables = vec![manifest];
    if let Some(targets) = manifest.get("target").and_then(|targets| targets.as_table()) {
        tables.extend(targets.values().filter_map(|target| target.as_table()));
    }
    tables
        .into_iter()
        .flat_map(|table| ["dependencies", "build-dependencies"].map(|section| table.get(section)))
        .flatten()
        .filter_map(|section| section.as_table())
        .flat_map(|section| section.keys().cloned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::finding::one_hard;
    use super::*;

    fn found(folder: &str, text: &str) -> Vec<Finding> {
        check(&[(format!("crates/{folder}/Cargo.toml"), text.to_owned())]).unwrap()
    }

    #[test]
    fn layers_point_down() {
        assert!(found("graph", "[dependencies]\ngleann-quant.workspace = true").is_empty());
        assert!(one_hard(&found("quant", "[dependencies]\ngleann-graph.workspace = true"), "`gleann-graph`"));
        let target = "[target.'cfg(unix)'.dependencies]\ngleann = { path = \"../engine\" }";
        assert!(one_hard(&found("search", target), "`gleann`"));
        assert!(found("quant", "[dev-dependencies]\ngleann-graph.workspace = true").is_empty());
        assert!(one_hard(&found("lattice", "[package]"), "no place"));
    }

    #[test]
    fn outside_packages_have_one_home() {
        assert!(one_hard(&found("search", "[dependencies]\nglommio = \"1\""), "`engine` alone"));
        assert!(one_hard(&found("engine", "[dependencies]\nbincode = \"2\""), "`storage` alone"));
        assert!(one_hard(&found("graph", "[features]\nsaturate = []"), "features"));
    }
}
