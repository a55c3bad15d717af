//! What a caller chooses for one search.

use crate::entry::Entry;
use crate::page_search::Expansion;
use crate::stop::Stop;
use crate::width::Width;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Largest search list.
pub const MAX_LIST: usize = 65_535;
/// Most reads one search may have in flight.
pub const MAX_WIDTH: u32 = 128;

/// How a search reads ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SearchKind {
    /// BeamSearch (DiskANN): the nearest unread candidates are read together, and expanded when all have come.
    Beam,
    /// PipeSearch (PipeANN): reads are kept in flight while the nearest candidate that has come is expanded.
    Pipe,
}

impl std::str::FromStr for SearchKind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "beam" => Ok(Self::Beam),
            "pipe" => Ok(Self::Pipe),
            _ => Err(format!("unknown search `{name}`; expected beam or pipe")),
        }
    }
}

impl std::fmt::Display for SearchKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Beam => "beam",
            Self::Pipe => "pipe",
        })
    }
}

/// Parameters of one search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchOptions {
    /// Length L of the candidate pool: larger finds more and reads more. Raised to k where it is smaller. In an index of
    /// postings: the most postings that are read.
    pub list: usize,
    /// How the search reads ahead.
    pub kind: SearchKind,
    /// How many reads it keeps in flight.
    pub width: Width,
    /// Where it begins.
    pub entry: Entry,
    /// What of a block that has come it uses.
    pub expansion: Expansion,
    /// When it ends.
    pub stop: Stop,
    /// The search fails once it has run for so long.
    pub deadline: Option<Duration>,
}

impl SearchOptions {
    /// L = 50, BeamSearch of width 4 from the medoid, the records asked for, until the pool is exhausted, no deadline.
    pub const DEFAULT: Self = Self {
        list: 50,
        kind: SearchKind::Beam,
        width: Width::Fixed(4),
        entry: Entry::Medoid,
        expansion: Expansion::Record,
        stop: Stop::Exhausted,
        deadline: None,
    };
}

impl Default for SearchOptions {
    /// [`SearchOptions::DEFAULT`].
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Options that make no search.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// k is 0.
    #[error("k is 0; ask for at least one neighbour")]
    NoNeighbours,
    /// More neighbours than the longest pool holds.
    #[error("k is {0}; expected 1 to {MAX_LIST}")]
    TooManyNeighbours(usize),
    /// The pool would be empty or too long.
    #[error("list is {0}; expected 1 to {MAX_LIST}")]
    List(usize),
    /// The width is outside its range.
    #[error("width {0} is not possible; expected 1 to {MAX_WIDTH}, and a start not above the maximum")]
    Width(Width),
    /// The navigating search is outside its range.
    #[error("entry {0} is not possible; expected a list of 1 to {MAX_LIST} and 1 to as many points")]
    Entry(Entry),
    /// More than the whole of a page.
    #[error("expansion {0} is not possible; expected at most 100 percent of a page")]
    Expansion(Expansion),
    /// The index was built without a navigation graph.
    #[error(
        "the index has no navigation graph to begin at; build it with one (`--mem-graph`), or begin at the medoid"
    )]
    NoMemGraph,
    /// An option that means nothing to a search of postings.
    #[error("{option} is not possible in an index of postings: {reason}")]
    NotOfPostings {
        /// The option and its value.
        option: String,
        /// Why, and what to give instead.
        reason: &'static str,
    },
}

impl SearchOptions {
    /// The pool length used for `k` results: the larger of the two.
    ///
    /// # Errors
    /// The options make no search.
    pub fn check(&self, k: usize) -> Result<usize, OptionsError> {
        if k == 0 {
            return Err(OptionsError::NoNeighbours);
        }
        if k > MAX_LIST {
            return Err(OptionsError::TooManyNeighbours(k));
        }
        if !(1..=MAX_LIST).contains(&self.list) {
            return Err(OptionsError::List(self.list));
        }
        if !self.width.is_valid() {
            return Err(OptionsError::Width(self.width));
        }
        if !self.entry.is_valid() {
            return Err(OptionsError::Entry(self.entry));
        }
        if !self.expansion.is_valid() {
            return Err(OptionsError::Expansion(self.expansion));
        }
        Ok(self.list.max(k))
    }
}
