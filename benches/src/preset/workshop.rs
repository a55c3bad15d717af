//! Indexes by recipe: what is there is used, what is missing is built, and recipes that one index serves share it.

use super::recipe::{Recipe, System};
use crate::progress::Console;
use anyhow::{Context, Result, bail};
use gleann::{BuildOptions, Metric};
use gleann_vector::VectorFile;
use std::path::PathBuf;

/// A folder of indexes over the same vectors.
#[derive(Debug)]
pub struct Workshop {
    /// Where they are.
    pub folder: PathBuf,
    /// What they are built over.
    pub source: VectorFile,
    /// How near two vectors are.
    pub metric: Metric,
    /// Most memory a build may take.
    pub memory_budget: u64,
}

impl Workshop {
    /// The index of a recipe, built unless it is there.
    ///
    /// # Errors
    /// It cannot be built.
    pub fn index(&self, recipe: &Recipe) -> Result<PathBuf> {
        let path = self.path(recipe);
        if gleann_storage::IndexDirectory::open(&path).is_ok() {
            return Ok(path);
        }
        if recipe.system == System::Spann {
            bail!(super::recipe::pending("inverted lists (spann)"));
        }
        println!("building {} …", path.display());
        std::fs::create_dir_all(&self.folder)
            .with_context(|| format!("cannot make folder {}", self.folder.display()))?;
        let progress = Console::start(false);
        let built = gleann::build(&self.source, &path, &self.options(recipe)?, &progress);
        progress.end();
        built.with_context(|| format!("building {}", path.display()))?;
        Ok(path)
    }

    /// Where the index of a recipe is, or will be.
    pub fn path(&self, recipe: &Recipe) -> PathBuf {
        self.folder.join(format!("{}.index", self.fitted(recipe).folder()))
    }

    /// What its build would be told.
    ///
    /// # Errors
    /// This build cannot make it.
    pub fn options(&self, recipe: &Recipe) -> Result<BuildOptions> {
        let base = BuildOptions {
            metric: self.metric,
            memory_budget: self.memory_budget,
            ..BuildOptions::default()
        };
        self.fitted(recipe).options(base)
    }

    /// Seconds until all of these are built, roughly; those that this build cannot make count nothing.
    ///
    /// # Errors
    /// The vectors cannot be built over.
    pub fn rough_seconds(&self, recipes: &[Recipe]) -> Result<f64> {
        let mut paths: Vec<PathBuf> = Vec::new();
        let mut seconds = 0.0;
        for recipe in recipes.iter().filter(|recipe| recipe.possible().is_ok()) {
            let path = self.path(recipe);
            if !path.join("MANIFEST").exists() && !paths.contains(&path) {
                seconds += self.options(recipe)?.plan(&self.source, &path)?.rough_seconds;
                paths.push(path);
            }
        }
        Ok(seconds)
    }

    /// A code has at most one byte a dimension.
    fn fitted(&self, recipe: &Recipe) -> Recipe {
        Recipe { pq_bytes: recipe.pq_bytes.min(self.source.dim() as u32), ..*recipe }
    }
}

/// For each recipe the one whose index serves it: itself, or one that has a navigation graph besides.
pub fn sharing(recipes: &[Recipe]) -> Vec<Recipe> {
    let serves = |other: &&Recipe, recipe: &Recipe| {
        recipe.mem_graph.is_none() && Recipe { mem_graph: None, ..**other } == *recipe
    };
    recipes
        .iter()
        .map(|recipe| {
            let richer = recipes.iter().filter(|other| serves(other, recipe));
            // The one with a graph that most presets have, not the odd one of a sweep.
            *richer.max_by_key(|other| other.mem_graph.is_some()).unwrap_or(recipe)
        })
        .collect()
}
