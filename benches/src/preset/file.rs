//! Preset files, read once and checked completely.
//!
//! ```toml
//! name = "starling"
//! about = "Starling: PQ, MemGraph, PageShuffle, PageSearch"
//!
//! [build]                     # what it needs of an index; every key may be left out
//! packing = "page-shuffle"    # by-id, page-shuffle
//! codes = "memory"            # memory, record, off
//! degree = 64                 # R
//! build_list = 125            # L of the build
//! alpha = 1.2
//! pq_bytes = 32
//! page_size = 4096
//!
//! [build.mem_graph]           # without this table there is none
//! share = 0.001
//! sampling = "random"         # random, clustered
//! degree = 48
//! list = 128
//!
//! [search]                    # one value an axis; every key may be left out
//! search = "beam"
//! width = 8
//! entry = "memgraph"
//! expansion = "page:30"
//! stop = "exhausted"
//! cache = "none"
//! ```

use super::embedded::EMBEDDED;
use super::recipe::Recipe;
use crate::run_bench::Section;
use crate::sweep::{OpenPoint, SearchPoint};
use anyhow::{Context, Result, bail, ensure};
use gleann::Entry;
use std::path::Path;

/// A system of the design space.
#[derive(Debug, Clone, PartialEq)]
pub struct Preset {
    /// What it is called in results.
    pub name: String,
    /// One line for the reader.
    pub about: String,
    /// What it needs of an index.
    pub recipe: Recipe,
    /// How it searches; the list length is the caller's.
    pub search: SearchPoint,
    /// How it opens an index: its cache; the rest is the caller's.
    pub open: OpenPoint,
}

impl Preset {
    /// The preset of that name, or in the file of that name.
    ///
    /// # Errors
    /// There is none, or it is not a preset; the message names those there are.
    pub fn load(name: &str) -> Result<Self> {
        if let Some((_, text)) = EMBEDDED.iter().find(|(known, _)| *known == name) {
            return Self::parse(&format!("{name}.toml"), text);
        }
        let path = Path::new(name);
        if !path.exists() {
            bail!("no preset is named `{name}`; there are {}, or give a file", Self::names().join(", "));
        }
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read preset {name}"))?;
        Self::parse(name, &text)
    }

    /// The names of those that are compiled in.
    pub fn names() -> Vec<&'static str> {
        EMBEDDED.iter().map(|(name, _)| *name).collect()
    }

    /// Reads and checks the text of a preset.
    ///
    /// # Errors
    /// It is not TOML, a key is unknown, missing or out of range, or the parts do not go together: the message names
    /// file, key, what was found and what was expected.
    pub fn parse(file: &str, text: &str) -> Result<Self> {
        let table: toml::Table = text.parse().with_context(|| format!("{file}: not TOML"))?;
        let mut top = Section::new(file, "", &table);
        let needed = |found: Option<String>, key: &str| {
            found.with_context(|| format!("{file}: key `{key}` is missing, expected text"))
        };
        let name = needed(top.text("name")?, "name")?;
        let about = needed(top.text("about")?, "about")?;
        let recipe = Recipe::read(top.section("build")?)?;
        let mut preset =
            Self { name, about, recipe, search: SearchPoint::default(), open: OpenPoint::default() };
        preset.read_search(top.section("search")?)?;
        top.finish()?;
        preset.check(file)?;
        Ok(preset)
    }

    /// Lets the values of a `[search]` section replace this preset's.
    ///
    /// # Errors
    /// A value is not understood, or given more than once.
    pub fn read_search(&mut self, mut section: Section) -> Result<()> {
        self.search = SearchPoint::read(&mut section, self.search)?;
        self.open = OpenPoint::read(&mut section, self.open.clone())?;
        section.finish()
    }

    /// Makes sure that build and search go together.
    ///
    /// # Errors
    /// They do not; the message names `file` and why.
    pub fn check(&self, file: &str) -> Result<()> {
        ensure!(
            self.search.entry == Entry::Medoid || self.recipe.mem_graph.is_some(),
            "{file}: key `search.entry`: found {}, but nothing builds the graph it begins at; expected \
             [build.mem_graph], or medoid",
            self.search.entry
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleann::{CachePolicy, CodePlacement, Expansion, Packing, SearchKind, Width};

    #[test]
    fn every_preset_is_legal_and_named_as_its_file() {
        for (name, text) in EMBEDDED {
            let preset = Preset::parse(name, text).unwrap();
            assert_eq!(preset.name, *name);
            assert!(text.starts_with("# "), "{name}: no comment that says what it stands for");
            assert!(preset.search.options().check(10).is_ok(), "{name}");
            let (degree, build_list) = (preset.recipe.degree, preset.recipe.build_list);
            assert_eq!((degree, build_list, preset.recipe.alpha), (64, 125, 1.2), "{name}: §5 of the paper");
        }
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("presets");
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), EMBEDDED.len(), "a file is not compiled in");
    }

    /// Table 2 and §7.1.1 of the design-space paper.
    #[test]
    fn presets_are_what_the_table_says() {
        type Row = (&'static str, [bool; 8]);
        let rows: [Row; 14] = [
            // PQ, Cache, MemGraph, PageShuffle, All-in-Storage, DynamicWidth, Pipeline, PageSearch
            ("baseline", [true, false, false, false, false, false, false, false]),
            ("diskann", [true, true, false, false, false, false, false, false]),
            ("starling", [true, false, true, true, false, false, false, true]),
            ("diskann++", [true, false, true, true, false, false, false, true]),
            ("aisaq", [true, false, false, false, true, false, false, false]),
            ("lm-diskann", [true, false, false, false, true, false, false, false]),
            ("pipeann", [true, false, true, false, false, true, true, false]),
            ("grip", [true, false, true, false, false, false, false, false]),
            ("c1", [true, false, false, true, false, false, false, true]),
            ("c2", [true, false, false, false, false, true, true, false]),
            ("c3", [true, false, true, true, false, false, false, true]),
            ("c4", [true, false, true, false, false, true, true, false]),
            ("c5", [true, false, true, true, false, true, false, true]),
            ("octopusann", [true, false, true, true, false, true, false, true]),
        ];
        for (name, expected) in rows {
            let preset = Preset::load(name).unwrap();
            let (recipe, search) = (&preset.recipe, preset.search);
            let found = [
                recipe.codes != CodePlacement::Off,
                preset.open.cache != CachePolicy::None,
                search.entry != Entry::Medoid,
                recipe.packing == Packing::PageShuffle,
                recipe.codes == CodePlacement::Record,
                matches!(search.width, Width::Dynamic { .. }),
                search.search == SearchKind::Pipe,
                matches!(search.expansion, Expansion::Page { .. }),
            ];
            assert_eq!(found, expected, "{name}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        let text = "name = \"x\"\nabout = \"y\"\n[build]\npacking = \"by-id\"\n[search]\nwidth = 8\n";
        assert!(Preset::parse("x.toml", text).is_ok());
        for (from, to, parts) in [
            ("about", "abouts", vec!["`about`", "missing"]),
            ("by-id", "by-name", vec!["`build.packing`", "found \"by-name\"", "by-id or page-shuffle"]),
            ("width = 8", "entry = \"memgraph\"", vec!["`search.entry`", "[build.mem_graph]"]),
            ("width = 8", "width = [4, 8]", vec!["`search.", "one"]),
            ("width = 8", "cache = \"lru:1MiB\"", vec!["`search.cache`"]),
            ("width = 8", "speed = 1", vec!["`search.speed`", "unknown"]),
            ("packing = \"by-id\"", "degree = 0", vec!["`build.degree`", "1 to 1024"]),
            ("packing = \"by-id\"", "mem_graph = { share = 2 }", vec!["`build.mem_graph.share`"]),
        ] {
            let error = format!("{:#}", Preset::parse("x.toml", &text.replace(from, to)).unwrap_err());
            for part in parts.iter().chain(&["x.toml"]) {
                assert!(error.contains(part), "{to}: {error}");
            }
        }
        assert!(Preset::load("freshdiskann").unwrap_err().to_string().contains("octopusann"));
    }
}
