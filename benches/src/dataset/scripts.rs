//! The Python recipes, compiled in and written out to run.

use anyhow::Context;
use tempfile::TempDir;

macro_rules! embedded {
    ($($name:literal),+ $(,)?) => {
        [$(($name, include_str!(concat!("../../../datasets/", $name)))),+]
    };
}

const FILES: [(&str, &str); 13] = embedded![
    "catalogue.toml",
    "deep.py",
    "download.py",
    "gist.py",
    "glove.py",
    "packages.py",
    "pictures.py",
    "requirements.txt",
    "sift.py",
    "text.py",
    "torch_checkpoint.py",
    "transfer.py",
    "vectors.py",
];

/// Writes the recipes to a temporary folder that lives as long as the value returned.
///
/// # Errors
/// The system gives no temporary folder, or it cannot be written.
pub fn unpack() -> anyhow::Result<TempDir> {
    let folder = tempfile::Builder::new().prefix("gleann-recipes-").tempdir();
    let folder = folder.context("making a temporary folder for the recipes")?;
    for (name, text) in FILES {
        let path = folder.path().join(name);
        std::fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(folder)
}

/// The requirement lines of `requirements.txt` for the named Python packages, versions pinned.
///
/// # Errors
/// A package is not listed there; a test rules this out for the catalogue.
pub fn pinned(packages: &[String]) -> anyhow::Result<Vec<&'static str>> {
    let text = FILES.iter().find(|(name, _)| *name == "requirements.txt").map_or("", |(_, text)| text);
    packages
        .iter()
        .map(|package| {
            let pin = format!("{package}==");
            text.lines()
                .find(|line| line.starts_with(&pin))
                .with_context(|| format!("requirements.txt pins no version of {package}"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::catalogue::{Catalogue, Obtain};

    #[test]
    fn every_recipe_and_its_requirements_are_there() {
        let folder = unpack().unwrap();
        for set in Catalogue::load().unwrap().sets {
            if let Obtain::Packages(made) = set.obtain {
                assert!(folder.path().join(&made.script).exists(), "{}", made.script);
                assert_eq!(pinned(&made.python).unwrap().len(), made.python.len());
            }
        }
        assert!(pinned(&["torch".into()]).is_err());
    }

    #[test]
    fn no_recipe_is_forgotten() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../datasets");
        for entry in std::fs::read_dir(folder).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let shipped = !matches!(name.as_str(), "make_sample.py" | "test_download.py");
            if name.ends_with(".py") && shipped {
                assert!(FILES.iter().any(|(file, _)| *file == name), "{name} is not compiled in");
            }
        }
    }
}
