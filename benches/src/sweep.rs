//! The knobs of a search and their product. One grammar for the command line, experiment files and result lines.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How the graph is walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Traversal {
    /// Reads in rounds: wait for all in flight.
    Beam,
    /// Reads in a pipeline: wait for any.
    Pipe,
}

/// Reads in flight of one search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "WidthForm", into = "WidthForm")]
pub enum Width {
    /// Always this many.
    Fixed(u32),
    /// Grows from `start` to `max` as the search converges.
    Dynamic {
        /// Width while approaching.
        start: u32,
        /// Upper bound.
        max: u32,
    },
}

/// What serves the reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Engine {
    /// glommio, or the pool where io_uring is forbidden.
    Auto,
    /// io_uring on a glommio executor a core.
    Glommio,
    /// Threads that call `pread`.
    Pool,
    /// A memory map.
    Mmap,
}

/// The widths that make sense: one read to the ring's capacity.
pub const WIDTHS: std::ops::RangeInclusive<u32> = 1..=1024;

impl Width {
    /// What `dynamic` alone stands for.
    pub const DYNAMIC: Width = Width::Dynamic { start: 4, max: 32 };
}

impl fmt::Display for Traversal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Traversal::Beam => "beam",
            Traversal::Pipe => "pipe",
        })
    }
}

impl FromStr for Traversal {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "beam" => Ok(Traversal::Beam),
            "pipe" => Ok(Traversal::Pipe),
            _ => Err("expected `beam` or `pipe`".to_owned()),
        }
    }
}

impl fmt::Display for Width {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Width::Fixed(width) => f.pad(&width.to_string()),
            Width::Dynamic { start, max } => f.pad(&format!("dynamic:{start}-{max}")),
        }
    }
}

impl FromStr for Width {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse().ok().filter(|width| WIDTHS.contains(width));
        let width = match text.strip_prefix("dynamic") {
            Some("") => Some(Width::DYNAMIC),
            Some(range) => range
                .strip_prefix(':')
                .and_then(|range| range.split_once('-'))
                .and_then(|(start, max)| Some(Width::Dynamic { start: number(start)?, max: number(max)? }))
                .filter(|width| matches!(width, Width::Dynamic { start, max } if start <= max)),
            None => number(text).map(Width::Fixed),
        };
        width.ok_or_else(|| {
            format!(
                "expected a width from {} to {}, `dynamic` or `dynamic:START-MAX`",
                WIDTHS.start(),
                WIDTHS.end()
            )
        })
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Engine::Auto => "auto",
            Engine::Glommio => "glommio",
            Engine::Pool => "pool",
            Engine::Mmap => "mmap",
        })
    }
}

impl FromStr for Engine {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Engine::Auto, Engine::Glommio, Engine::Pool, Engine::Mmap]
            .into_iter()
            .find(|engine| engine.to_string() == text)
            .ok_or_else(|| "expected `auto`, `glommio`, `pool` or `mmap`".to_owned())
    }
}

/// In JSON a fixed width is a number, a dynamic one is text.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum WidthForm {
    Number(u32),
    Text(String),
}

impl TryFrom<WidthForm> for Width {
    type Error = String;

    fn try_from(form: WidthForm) -> Result<Self, String> {
        match form {
            WidthForm::Number(width) => Ok(Width::Fixed(width)),
            WidthForm::Text(text) => text.parse(),
        }
    }
}

impl From<Width> for WidthForm {
    fn from(width: Width) -> Self {
        match width {
            Width::Fixed(width) => WidthForm::Number(width),
            dynamic => WidthForm::Text(dynamic.to_string()),
        }
    }
}

/// Values to try on each axis; every combination is measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sweep {
    /// Candidate list lengths, L.
    pub list: Vec<u32>,
    /// Traversals.
    pub search: Vec<Traversal>,
    /// Widths.
    pub width: Vec<Width>,
    /// Threads; 0 stands for one per core.
    pub threads: Vec<u32>,
    /// Searches interleaved per thread.
    pub in_flight: Vec<u32>,
    /// I/O engines.
    pub engine: Vec<Engine>,
}

/// What needs the index to be opened anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenPoint {
    /// I/O engine.
    pub engine: Engine,
    /// Threads; 0 stands for one per core.
    pub threads: u32,
    /// Searches interleaved per thread.
    pub in_flight: u32,
}

/// What may change from one search to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchPoint {
    /// Traversal.
    pub search: Traversal,
    /// Width.
    pub width: Width,
    /// Candidate list length, L.
    pub list: u32,
}

impl Sweep {
    /// Combinations of the open parameters, first axis slowest.
    pub fn open_points(&self) -> Vec<OpenPoint> {
        let mut points = Vec::new();
        for &engine in &self.engine {
            for &threads in &self.threads {
                points.extend(self.in_flight.iter().map(|&in_flight| OpenPoint {
                    engine,
                    threads,
                    in_flight,
                }));
            }
        }
        points
    }

    /// Combinations of the search parameters, list length fastest.
    pub fn search_points(&self) -> Vec<SearchPoint> {
        let mut points = Vec::new();
        for &search in &self.search {
            for &width in &self.width {
                points.extend(self.list.iter().map(|&list| SearchPoint { search, width, list }));
            }
        }
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for width in [Width::Fixed(4), Width::DYNAMIC, Width::Dynamic { start: 8, max: 8 }] {
            assert_eq!(width.to_string().parse(), Ok(width));
            assert_eq!(
                serde_json::from_str::<Width>(&serde_json::to_string(&width).unwrap()).unwrap(),
                width
            );
        }
        assert_eq!("dynamic".parse(), Ok(Width::DYNAMIC));
        assert_eq!(serde_json::to_string(&Width::Fixed(4)).unwrap(), "4");
        for text in ["0", "1025", "wide", "dynamic:", "dynamic:8-4", "dynamic:0-4", "-1", "4.5"] {
            assert!(text.parse::<Width>().unwrap_err().contains("START-MAX"), "{text}");
        }
        for traversal in [Traversal::Beam, Traversal::Pipe] {
            assert_eq!(traversal.to_string().parse(), Ok(traversal));
        }
        assert!("uring".parse::<Engine>().unwrap_err().contains("`mmap`"));
    }

    #[test]
    fn a_sweep_is_a_product() {
        let sweep = Sweep {
            list: vec![10, 20, 40],
            search: vec![Traversal::Beam, Traversal::Pipe],
            width: vec![Width::Fixed(4)],
            threads: vec![1, 2],
            in_flight: vec![8],
            engine: vec![Engine::Auto],
        };
        assert_eq!(sweep.open_points().len(), 2);
        let points = sweep.search_points();
        assert_eq!(points.len(), 6);
        assert_eq!(
            (points[1].search, points[1].list, points[3].search),
            (Traversal::Beam, 20, Traversal::Pipe)
        );
    }
}
