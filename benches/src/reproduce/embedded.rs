//! The experiments of the study, compiled in, so that they work from any folder.

use super::study::Study;
use anyhow::{Result, bail};

macro_rules! embedded {
    ($($id:literal),* $(,)?) => {
        const EMBEDDED: &[(&str, &str)] =
            &[$(($id, include_str!(concat!("../../experiments/io/", $id, ".toml")))),*];
    };
}

embedded!(
    "io-fig2",
    "io-model",
    "io-table4",
    "io-fig10",
    "io-fig11",
    "io-table5",
    "io-table6",
    "io-fig15",
    "io-fig16",
    "io-table7",
    "io-fig19",
    "io-fig20",
    "io-fig21",
    "io-fig22",
    "io-fig23",
);

/// Figures that are part of another experiment.
const PARTS: [(&str, &str); 5] = [
    ("io-fig12", "io-fig11"),
    ("io-fig13", "io-fig11"),
    ("io-fig14", "io-fig11"),
    ("io-fig17", "io-fig16"),
    ("io-fig18", "io-fig16"),
];

/// What stands for the paper's sets.
pub const SETS: &str = include_str!("../../experiments/io/sets.toml");

/// The experiments that `id` asks for.
///
/// # Errors
/// There is none of that name; the message names those there are.
pub fn find(id: &str) -> Result<Vec<Study>> {
    let id = PARTS.iter().find(|(part, _)| *part == id).map_or(id, |(_, whole)| whole);
    let chosen = choose(EMBEDDED, "all", id)?;
    chosen.into_iter().map(|(id, text)| Study::parse(&format!("{id}.toml"), text)).collect()
}

/// The name and text of the experiments among `embedded` that `id` asks for: all of them if it is `all`.
///
/// # Errors
/// There is none of that name; the message names those there are.
pub fn choose<'e>(embedded: &'e [(&str, &str)], all: &str, id: &str) -> Result<Vec<&'e (&'e str, &'e str)>> {
    let chosen: Vec<_> = embedded.iter().filter(|(known, _)| id == all || *known == id).collect();
    if chosen.is_empty() {
        let known: Vec<&str> = embedded.iter().map(|(known, _)| *known).collect();
        bail!("no experiment is named `{id}`; there are {all}, {}", known.join(", "));
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::sets::Stands;
    use std::collections::BTreeSet;

    #[test]
    fn every_experiment_is_valid_and_named_as_its_file() {
        let studies = find("all").unwrap();
        let stands = Stands::load().unwrap();
        for ((id, text), study) in EMBEDDED.iter().zip(&studies) {
            assert_eq!(study.id, *id);
            assert!(text.starts_with("# "), "{id}: no comment that says what it is");
            assert!(!study.title.is_empty() && !study.about.is_empty() && !study.measures.is_empty(), "{id}");
            assert!(!study.places().is_empty(), "{id}: nowhere to compare");
            for set in &study.sets {
                assert!(stands.for_paper(set).is_some(), "{id}: {set}");
            }
            let names: BTreeSet<_> = study.variants.iter().map(|variant| &variant.preset.name).collect();
            assert_eq!(names.len(), study.variants.len(), "{id}: a variant twice");
        }
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments/io");
        assert_eq!(
            std::fs::read_dir(folder).unwrap().count(),
            EMBEDDED.len() + 1,
            "a file is not compiled in"
        );
    }

    #[test]
    fn every_finding_has_a_claim() {
        let studies = find("all").unwrap();
        let found: BTreeSet<u32> =
            studies.iter().flat_map(|study| &study.claims).map(|claim| claim.finding).collect();
        assert!((1..=12).all(|finding| found.contains(&finding)), "{found:?}");
        assert_eq!(find("io-fig13").unwrap()[0].id, "io-fig11");
        assert!(find("io-fig99").unwrap_err().to_string().contains("io-fig22"));
    }
}
