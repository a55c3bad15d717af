//! The experiments of the study, compiled in, so that they work from any folder.

use super::study::Study;
use crate::reproduce::choose;
use anyhow::Result;

/// What stands for all of them.
const ALL: &str = "lios-all";

macro_rules! embedded {
    ($($id:literal),* $(,)?) => {
        const EMBEDDED: &[(&str, &str)] =
            &[$(($id, include_str!(concat!("../../experiments/lios/", $id, ".toml")))),*];
    };
}

embedded!(
    "lios-fig2",
    "lios-fig3",
    "lios-fig5",
    "lios-fig6",
    "lios-exp1",
    "lios-exp2",
    "lios-exp3",
    "lios-exp4",
    "lios-exp5",
    "lios-exp6",
    "lios-exp7",
    "lios-exp8",
    "lios-exp9",
    "lios-exp10",
    "lios-budgets",
    "lios-free",
    "lios-crowd",
    "lios-open",
    "lios-others",
);

/// The experiments that `id` asks for.
///
/// # Errors
/// There is none of that name; the message names those there are.
pub fn find(id: &str) -> Result<Vec<Study>> {
    let chosen = choose(EMBEDDED, ALL, id)?;
    chosen.into_iter().map(|(id, text)| Study::parse(&format!("{id}.toml"), text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_experiment_is_valid_and_named_as_its_file() {
        for ((id, text), study) in EMBEDDED.iter().zip(find(ALL).unwrap()) {
            assert_eq!(study.id, *id);
            assert!(text.starts_with("# "), "{id}: no comment that says what it is");
            assert!(!study.title.is_empty() && !study.about.is_empty(), "{id}");
        }
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments/lios");
        let files = std::fs::read_dir(folder).unwrap();
        let experiments =
            files.filter(|file| file.as_ref().unwrap().file_name().to_string_lossy().starts_with("lios-"));
        assert_eq!(experiments.count(), EMBEDDED.len(), "a file is not compiled in");
        let document = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/REPRODUCTION.md");
        let text = std::fs::read_to_string(document).unwrap();
        for (id, _) in EMBEDDED {
            assert!(text.contains(&format!("<!-- /{id} -->")), "{id} has no place in the document");
        }
        assert!(find("lios-exp11").unwrap_err().to_string().contains("lios-exp10"));
    }
}
