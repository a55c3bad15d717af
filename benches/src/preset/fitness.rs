//! Whether an index has what a preset needs.

use super::Preset;
use super::recipe::{Recipe, System};
use anyhow::{Result, bail};
use gleann::{CodePlacement, Packing};
use gleann_storage::{IndexDirectory, IndexKind, MemberKind};
use std::path::{Path, PathBuf};

/// An index that is there, as far as presets care.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    /// Its folder.
    pub path: PathBuf,
    /// What kind it is.
    pub system: System,
    /// Which vector lies where.
    pub packing: Packing,
    /// Where codes are.
    pub codes: CodePlacement,
    /// Whether it has a navigation graph.
    pub mem_graph: bool,
}

impl Built {
    /// Looks at the index in `path`.
    ///
    /// # Errors
    /// There is none, or its manifest cannot be read.
    pub fn open(path: &Path) -> Result<Self> {
        let directory = IndexDirectory::open_any(path)?;
        let manifest = directory.manifest();
        Ok(Self {
            path: path.to_owned(),
            system: match manifest.kind {
                IndexKind::Graph => System::Graph,
                IndexKind::Postings { .. } => System::Spann,
            },
            packing: manifest.packing,
            codes: CodePlacement::of(manifest),
            mem_graph: manifest.members.iter().any(|member| member.kind == MemberKind::MemGraph),
        })
    }

    /// Refuses a preset whose needs this index does not meet.
    ///
    /// # Errors
    /// It lacks something; the message says what, and what would have it.
    pub fn serves(&self, preset: &Preset) -> Result<()> {
        let Some(lack) = self.lacks(&preset.recipe) else { return Ok(()) };
        bail!(
            "preset {}: {} {lack}; `build-index --preset {} --data FILE --out DIR` makes one that it can use",
            preset.name,
            self.path.display(),
            preset.name
        )
    }

    /// What it lacks of a recipe. Sizes are not needs: a preset runs on any degree, code or page.
    fn lacks(&self, recipe: &Recipe) -> Option<String> {
        if self.system != recipe.system {
            let name = |system| if system == System::Graph { "graph" } else { "spann" };
            return Some(format!("is a {}, it needs a {}", name(self.system), name(recipe.system)));
        }
        if recipe.system == System::Spann {
            return None;
        }
        if self.packing != recipe.packing {
            let (found, needed) = (self.packing.name(), recipe.packing.name());
            return Some(format!("is packed {found}, it needs {needed}"));
        }
        if self.codes != recipe.codes {
            let (found, needed) = (self.codes.name(), recipe.codes.name());
            return Some(format!("has its codes in `{found}`, it needs them in `{needed}`"));
        }
        let missing = recipe.mem_graph.is_some() && !self.mem_graph;
        missing.then(|| "has no navigation graph, it needs one".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_serves_what_it_has() {
        let built = |packing, codes, mem_graph| Built {
            path: "i".into(),
            system: System::Graph,
            packing,
            codes,
            mem_graph,
        };
        let plain = built(Packing::ById, CodePlacement::Memory, false);
        let full = built(Packing::PageShuffle, CodePlacement::Memory, true);
        let refused = |built: &Built, name: &str| {
            built.serves(&Preset::load(name).unwrap()).err().map(|error| error.to_string())
        };
        for name in ["baseline", "diskann", "c2"] {
            assert_eq!(refused(&plain, name), None, "{name}");
        }
        for name in ["starling", "octopusann", "c1", "c3"] {
            assert_eq!(refused(&full, name), None, "{name}");
        }
        assert!(refused(&plain, "grip").unwrap().contains("navigation graph"));
        assert!(refused(&plain, "c1").unwrap().contains("is packed by-id, it needs page-shuffle"));
        assert!(refused(&full, "diskann").unwrap().contains("it needs by-id"));
        assert!(refused(&plain, "aisaq").unwrap().contains("needs them in `record`"));
        assert!(refused(&plain, "spann").unwrap().contains("needs a spann"));
    }
}
