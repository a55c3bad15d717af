//! What a preset needs of an index, and the build options that make it.

use crate::run_bench::Section;
use anyhow::{Result, ensure};
use gleann::{BuildOptions, MemGraphOptions, Sampling};
use std::str::FromStr;

/// What kind of index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// A graph.
    Graph,
    /// Inverted lists (SPANN).
    Spann,
}

/// Which vector lies where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// In the order of the input.
    ById,
    /// Neighbours share pages.
    PageShuffle,
}

/// Where codes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codes {
    /// In memory.
    Memory,
    /// In the records, each with those of its neighbours (All-in-Storage).
    Record,
    /// Nowhere: full-precision traversal.
    Off,
}

/// A named value of a closed set.
macro_rules! names {
    ($kind:ident, $what:literal: $($variant:ident = $name:literal),* ; $expected:literal) => {
        impl $kind {
            /// The name used in presets and results.
            pub const fn name(self) -> &'static str {
                match self {
                    $($kind::$variant => $name,)*
                }
            }
        }

        impl FromStr for $kind {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                match text {
                    $($name => Ok($kind::$variant),)*
                    _ => Err(format!(concat!("unknown ", $what, " `{}`; expected ", $expected), text)),
                }
            }
        }
    };
}

names!(System, "system": Graph = "graph", Spann = "spann"; "graph or spann");
names!(Packing, "packing": ById = "by-id", PageShuffle = "page-shuffle"; "by-id or page-shuffle");
names!(Codes, "codes": Memory = "memory", Record = "record", Off = "off"; "memory, record or off");

/// How an index is built.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recipe {
    /// Graph or inverted lists.
    pub system: System,
    /// Which vector lies where.
    pub packing: Packing,
    /// Where codes are.
    pub codes: Codes,
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
            codes: Codes::Memory,
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
        self.packing = section.one("packing", str::parse)?.unwrap_or(self.packing);
        self.codes = section.one("codes", str::parse)?.unwrap_or(self.codes);
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
    ///
    /// # Errors
    /// This build cannot make it.
    pub fn options(&self, base: BuildOptions) -> Result<BuildOptions> {
        self.possible()?;
        Ok(BuildOptions {
            degree: self.degree as usize,
            build_list: self.build_list as usize,
            alpha: self.alpha as f32,
            pq_bytes: self.pq_bytes as usize,
            page_size: self.page_size as usize,
            mem_graph: self.mem_graph,
            ..base
        })
    }

    /// Whether this build can make it.
    ///
    /// # Errors
    /// It cannot; the message says what is missing.
    pub fn possible(&self) -> Result<()> {
        ensure!(self.system == System::Graph, pending("inverted lists (spann)"));
        ensure!(self.packing == Packing::ById, pending("packing page-shuffle"));
        ensure!(self.codes == Codes::Memory, pending("codes outside of memory"));
        Ok(())
    }

    /// A name that tells recipes apart; fit for a folder.
    pub fn folder(&self) -> String {
        let Self { packing, codes, degree, build_list, alpha, pq_bytes, page_size, .. } = self;
        let mut name = format!("{}-r{degree}-l{build_list}-a{alpha}-p{page_size}", packing.name());
        name += &match codes {
            Codes::Memory => format!("-pq{pq_bytes}"),
            Codes::Record => format!("-pq{pq_bytes}-in-record"),
            Codes::Off => "-no-pq".to_owned(),
        };
        if let Some(graph) = &self.mem_graph {
            name += &format!("-m{}", graph.share);
            name += if graph.sampling == Sampling::Clustered { "-clustered" } else { "" };
        }
        if self.system == System::Spann { format!("spann-p{page_size}") } else { name }
    }
}

/// What is said of an index that this build cannot make.
pub fn pending(what: &str) -> String {
    format!("this version of gleann builds no index with {what}")
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
