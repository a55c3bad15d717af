//! Indexes by recipe: what is there is used, what is missing is built, and recipes that one index serves share it. A graph
//! is built once; its other layouts are derived from it.

use super::recipe::{Recipe, System};
use crate::progress::Console;
use anyhow::{Context, Result};
use gleann::{BuildError, BuildOptions, GraphSource, Metric, Progress, SpannOptions};
use gleann_storage::{IndexDirectory, MANIFEST_NAME};
use gleann_vector::VectorFile;
use std::path::{Path, PathBuf};

/// What deriving a layout takes of the time of the graph, about.
const DERIVING: f64 = 0.2;
/// What building postings takes of the time of a graph, about.
const POSTINGS: f64 = 0.5;

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
    /// Whether layouts are derived from one graph; otherwise every index is built of the vectors.
    pub derive: bool,
}

impl Workshop {
    /// The index of a recipe, built unless it is there.
    ///
    /// # Errors
    /// It cannot be built.
    pub fn index(&self, recipe: &Recipe) -> Result<PathBuf> {
        let path = self.path(recipe);
        if path.join(MANIFEST_NAME).exists() {
            IndexDirectory::open(&path)?;
            return Ok(path);
        }
        let given = self.graph_of(recipe).map(|graph| self.index(&graph)).transpose()?;
        println!("building {} …", path.display());
        std::fs::create_dir_all(&self.folder)
            .with_context(|| format!("cannot make folder {}", self.folder.display()))?;
        let progress = Console::start(false);
        let built = self.build(recipe, given.as_deref(), (&path, &progress));
        progress.end();
        built.with_context(|| format!("building {}", path.display()))?;
        Ok(path)
    }

    fn build(
        &self,
        recipe: &Recipe,
        given: Option<&Path>,
        (path, progress): (&Path, &Console),
    ) -> Result<()> {
        let progress: &dyn Progress = progress;
        let built = match (recipe.system, given) {
            (System::Spann, _) => {
                gleann::build_spann(&self.source, path, &self.postings(recipe), progress).map(drop)
            }
            (System::Graph, None) => {
                gleann::build(&self.source, path, &self.options(recipe), progress).map(drop)
            }
            (System::Graph, Some(given)) => self.derive(recipe, given, (path, progress))?,
        };
        built.map_err(anyhow::Error::from)
    }

    fn derive(
        &self,
        recipe: &Recipe,
        given: &Path,
        (path, progress): (&Path, &dyn Progress),
    ) -> Result<Result<(), BuildError>> {
        let graph = GraphSource::from_index(given)?;
        let base = BuildOptions { memory_budget: self.memory_budget, ..graph.options() };
        let options = self.fitted(recipe).options(base);
        Ok(gleann::build_from_graph(&graph, path, &options, progress).map(drop))
    }

    /// The graph that a recipe's index is derived from, unless it is that graph itself.
    fn graph_of(&self, recipe: &Recipe) -> Option<Recipe> {
        let derived =
            self.derive && recipe.system == System::Graph && self.path(&recipe.graph()) != self.path(recipe);
        derived.then(|| recipe.graph())
    }

    /// Where the index of a recipe is, or will be.
    pub fn path(&self, recipe: &Recipe) -> PathBuf {
        let whole = if self.derive { "" } else { "-whole" };
        self.folder.join(format!("{}{whole}.index", self.fitted(recipe).folder()))
    }

    fn options(&self, recipe: &Recipe) -> BuildOptions {
        let base = BuildOptions {
            metric: self.metric,
            memory_budget: self.memory_budget,
            ..BuildOptions::default()
        };
        self.fitted(recipe).options(base)
    }

    fn postings(&self, recipe: &Recipe) -> SpannOptions {
        recipe.postings(SpannOptions {
            metric: self.metric,
            memory_budget: self.memory_budget,
            ..SpannOptions::default()
        })
    }

    /// Seconds until all of these are built, roughly.
    ///
    /// # Errors
    /// The vectors cannot be built over.
    pub fn rough_seconds(&self, recipes: &[Recipe]) -> Result<f64> {
        let mut counted: Vec<PathBuf> = Vec::new();
        let mut seconds = 0.0;
        for recipe in recipes {
            let graph = self.graph_of(recipe);
            for (recipe, share) in [(graph.as_ref(), 1.0), (Some(recipe), self.share(recipe))] {
                let Some(recipe) = recipe else { continue };
                let path = self.path(recipe);
                if path.join(MANIFEST_NAME).exists() || counted.contains(&path) {
                    continue;
                }
                let graph = self.options(&recipe.graph());
                seconds += share * graph.plan(&self.source, &path)?.rough_seconds;
                counted.push(path);
            }
        }
        Ok(seconds)
    }

    /// What a build takes of the time of a graph's.
    fn share(&self, recipe: &Recipe) -> f64 {
        match (recipe.system, self.graph_of(recipe)) {
            (System::Spann, _) => POSTINGS,
            (System::Graph, Some(_)) => DERIVING,
            (System::Graph, None) => 1.0,
        }
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
            *richer.max_by_key(|other| other.mem_graph.is_some()).unwrap_or(recipe)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::Preset;

    #[test]
    fn a_recipe_shares_the_index_of_a_richer_one() {
        let recipe = |name: &str| Preset::load(name).unwrap().recipe;
        let [plain, navigated, shuffled] = ["baseline", "grip", "c1"].map(recipe);
        assert_eq!(sharing(&[plain, navigated, shuffled]), [navigated, navigated, shuffled]);
        assert_eq!(sharing(&[plain, shuffled]), [plain, shuffled]);
        assert_eq!(navigated.graph(), plain);
        assert_eq!(recipe("aisaq").graph(), plain);
    }
}
