//! What a preset needs of an index, and the build options that make it.

use crate::run_bench::Section;
use anyhow::Result;
use gleann::{BuildOptions, CodePlacement, MemGraphOptions, Packing, Sampling, SpannOptions};
use std::str::FromStr;

/// What kind of index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// A graph.
    Graph,
    /// Inverted lists (SPANN).
    Spann,
}

impl FromStr for System {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "graph" => Ok(System::Graph),
            "spann" => Ok(System::Spann),
            _ => Err(format!("unknown system `{text}`; expected graph or spann")),
        }
    }
}

/// How an index is built.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recipe {
    /// Graph or inverted lists.
    pub system: System,
    /// Which vector lies where.
    pub packing: Packing,
    /// Where codes are.
    pub codes: CodePlacement,
    /// The navigation graph, if there is one.
    pub mem_graph: Option<MemGraphOptions>,
    /// R.
    pub degree: u32,
    /// L of the build.
    pub build_list: u32,
    /// α of the prune.
    pub alpha: f64,
    /// Bytes of a code.
    pub pq_bytes: u32,
    /// Bytes of a page.
    pub page_size: u32,
}

impl Default for Recipe {
    fn default() -> Self {
        Self {
            system: System::Graph,
            packing: Packing::ById,
            codes: CodePlacement::Memory,
            mem_graph: None,
            degree: 64,
            build_list: 125,
            alpha: 1.2,
            pq_bytes: 32,
            page_size: 4096,
        }
    }
}

impl Recipe {
    /// Reads a `[build]` section; keys that are not there keep the default.
    ///
    /// # Errors
    /// A key is unknown, or its value out of range.
    pub fn read(section: Section) -> Result<Self> {
        Self::default().with(section)
    }

    /// Lets the values of a `[build]` section replace this recipe's.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn with(mut self, mut section: Section) -> Result<Self> {
        let section = &mut section;
        self.system = section.one("system", str::parse)?.unwrap_or(self.system);
        self.packing = section.one("packing", parse)?.unwrap_or(self.packing);
        self.codes = section.one("codes", parse)?.unwrap_or(self.codes);
        self.degree = section.count("degree", &(1..=1024))?.unwrap_or(self.degree);
        self.build_list = section.count("build_list", &(1..=65_535))?.unwrap_or(self.build_list);
        self.alpha = section.number("alpha", &(1.0..=10.0))?.unwrap_or(self.alpha);
        self.pq_bytes = section.count("pq_bytes", &(1..=65_535))?.unwrap_or(self.pq_bytes);
        self.page_size = section.one("page_size", page_size)?.unwrap_or(self.page_size);
        if section.has("mem_graph") {
            self.mem_graph = Some(read_mem_graph(section.section("mem_graph")?)?);
        }
        section.finish()?;
        Ok(self)
    }

    /// The build options that make such an index; what a recipe does not say is as in `base`.
    pub fn options(&self, base: BuildOptions) -> BuildOptions {
        BuildOptions {
            degree: self.degree as usize,
            build_list: self.build_list as usize,
            alpha: self.alpha as f32,
            pq_bytes: self.pq_bytes as usize,
            packing: self.packing,
            codes: self.codes,
            page_size: self.page_size as usize,
            mem_graph: self.mem_graph,
            ..base
        }
    }

    /// The options of a build of postings; what a recipe does not say is as in `base`.
    pub fn postings(&self, base: SpannOptions) -> SpannOptions {
        SpannOptions { page_size: self.page_size as usize, ..base }
    }

    /// The recipe of the graph alone, from which every layout of it is derived.
    pub fn graph(&self) -> Self {
        let Self { system, degree, build_list, alpha, .. } = *self;
        Self { system, degree, build_list, alpha, ..Self::default() }
    }

    /// A name that tells recipes apart; fit for a folder.
    pub fn folder(&self) -> String {
        let Self { packing, codes, degree, build_list, alpha, pq_bytes, page_size, .. } = self;
        let mut name = format!("{}-r{degree}-l{build_list}-a{alpha}-p{page_size}", packing.name());
        name += &match codes {
            CodePlacement::Memory => format!("-pq{pq_bytes}"),
            CodePlacement::Record => format!("-pq{pq_bytes}-in-record"),
            CodePlacement::Off => "-no-pq".to_owned(),
        };
        if let Some(graph) = &self.mem_graph {
            name += &format!("-m{}", graph.share);
            name += if graph.sampling == Sampling::Clustered { "-clustered" } else { "" };
        }
        if self.system == System::Spann { format!("spann-p{page_size}") } else { name }
    }
}

/// Parses what says itself what was expected.
fn parse<T: FromStr<Err: std::fmt::Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

fn read_mem_graph(mut section: Section) -> Result<MemGraphOptions> {
    let usual = MemGraphOptions::default();
    let most = 1..=65_535;
    let graph = MemGraphOptions {
        share: section.share("share")?.unwrap_or(usual.share),
        sampling: section.one("sampling", str::parse)?.unwrap_or(usual.sampling),
        degree: section.count("degree", &(1..=1024))?.map_or(usual.degree, |degree| degree as usize),
        list: section.count("list", &most)?.map_or(usual.list, |list| list as usize),
    };
    section.finish()?;
    Ok(graph)
}

fn page_size(text: &str) -> Result<u32, String> {
    let size = text.parse().ok().filter(|size| [4096, 8192, 16_384].contains(size));
    size.ok_or_else(|| "expected 4096, 8192 or 16384".to_owned())
}
